// SPDX-License-Identifier: Apache-2.0
/*
 * tally_functions.c: counts by value in SQL, as a BLOB (hist/tally.h).
 *   quantize(x)                              by power of two
 *   lquantize(x, from, to, step)             by equal steps
 *   llquantize(x, base, low, high, steps)    by steps within each power of the base
 *   tally_merge(t)                           the sum of such BLOBs
 */
#include <stdio.h>

#include "engine/duckdb/functions/aggregate.h"
#include "hist/tally.h"

struct tally_state {
	struct aggregate_owner owner;
	struct tally tally;
};

static uint64_t tally_functions_state_memory(const void *state)
{
	return ((const struct tally_state *)state)->tally.cap * sizeof(struct tally_entry);
}

static int tally_functions_state_unpack(void *state, const uint8_t *data, size_t len)
{
	return tally_unpack(&((struct tally_state *)state)->tally, data, len);
}

static int tally_functions_state_merge(void *state, const void *other)
{
	return tally_merge(&((struct tally_state *)state)->tally,
			   &((const struct tally_state *)other)->tally);
}

static void tally_functions_state_free(void *state)
{
	tally_free(&((struct tally_state *)state)->tally);
}

static const struct aggregate_sum sum = {
	.what = "the tallies of quantize(), lquantize() and llquantize()",
	.bad_blob = "tally_merge(): this BLOB is not a tally made by quantize(), lquantize() or "
		    "llquantize()",
	.too_large = "a tally has at most 4096 buckets: use larger steps",
	.memory = tally_functions_state_memory,
	.unpack = tally_functions_state_unpack,
	.merge = tally_functions_state_merge,
	.free = tally_functions_state_free,
};

static void arguments_of(const struct duckdb_api *d, duckdb_data_chunk input, unsigned int count,
			 struct argument *ret)
{
	for (unsigned int i = 0; i < count; i++)
		ret[i] = argument_of(d, input, i);
}

static bool all_valid(const struct argument *a, unsigned int count, size_t row)
{
	for (unsigned int i = 0; i < count; i++) {
		if (!vector_valid(a[i].validity, row))
			return false;
	}
	return true;
}

static void on_quantize(duckdb_function_info info, duckdb_data_chunk input,
			duckdb_aggregate_state *states)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a[1];

	arguments_of(d, input, 1, a);
	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		struct tally_state *s = (struct tally_state *)states[i];
		uint64_t before = tally_functions_state_memory(s);

		if (all_valid(a, 1, i) &&
		    !aggregate_changed(info, &sum, s, before,
				       tally_add(&s->tally, tally_quantize(a[0].numbers[i]), 1)))
			return;
	}
}

static void on_lquantize(duckdb_function_info info, duckdb_data_chunk input,
			 duckdb_aggregate_state *states)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a[4];

	arguments_of(d, input, 4, a);
	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		struct tally_state *s = (struct tally_state *)states[i];
		uint64_t before = tally_functions_state_memory(s);
		int64_t from = a[1].numbers[i], to = a[2].numbers[i], step = a[3].numbers[i];
		const char *wrong;

		if (!all_valid(a, 4, i))
			continue;
		wrong = tally_lquantize_wrong(from, to, step);
		if (wrong) {
			aggregate_error(info, wrong);
			return;
		}
		if (!aggregate_changed(info, &sum, s, before,
				       tally_add(&s->tally,
						 tally_lquantize(a[0].numbers[i], from, to, step),
						 1)))
			return;
	}
}

static void on_llquantize(duckdb_function_info info, duckdb_data_chunk input,
			  duckdb_aggregate_state *states)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a[5];

	arguments_of(d, input, 5, a);
	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		struct tally_state *s = (struct tally_state *)states[i];
		uint64_t before = tally_functions_state_memory(s);
		int64_t v = a[0].numbers[i], base = a[1].numbers[i], low = a[2].numbers[i],
			high = a[3].numbers[i], steps = a[4].numbers[i];
		const char *wrong;

		if (!all_valid(a, 5, i))
			continue;
		wrong = tally_llquantize_wrong(base, low, high, steps);
		if (wrong) {
			aggregate_error(info, wrong);
			return;
		}
		if (!aggregate_changed(
			    info, &sum, s, before,
			    tally_add(&s->tally, tally_llquantize(v, base, low, high, steps), 1)))
			return;
	}
}

static void tally_functions_on_finalize(duckdb_function_info info, duckdb_aggregate_state *source,
					duckdb_vector result, idx_t count, idx_t offset)
{
	const struct duckdb_api *d = duckdb_loaded();
	_cleanup_free_ uint8_t *packed = malloc(TALLY_BUCKETS_MAX * TALLY_ENTRY_BYTES);

	if (!packed) {
		aggregate_no_memory(info);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		const struct tally *t = &((const struct tally_state *)source[i])->tally;

		if (!t->count) { /* no values: NULL, as for sum() */
			vector_set_null(d, result, offset + i);
			continue;
		}
		tally_pack(t, packed);
		d->vector_assign_string_element_len(result, offset + i, (const char *)packed,
						    (size_t)t->count * TALLY_ENTRY_BYTES);
	}
}

#define NUMBER DUCKDB_TYPE_BIGINT
#define TALLY_AGGREGATE(text, on_update, count, ...)                                              \
	{                                                                                         \
		.name = text, .state_size = sizeof(struct tally_state), .args = {__VA_ARGS__},    \
		.arg_count = count, .update = on_update, .finalize = tally_functions_on_finalize, \
		.sum = &sum                                                                       \
	}

static const struct aggregate_def aggregates[] = {
	TALLY_AGGREGATE("quantize", on_quantize, 1, NUMBER),
	TALLY_AGGREGATE("lquantize", on_lquantize, 4, NUMBER, NUMBER, NUMBER, NUMBER),
	TALLY_AGGREGATE("llquantize", on_llquantize, 5, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER),
	TALLY_AGGREGATE("tally_merge", NULL, 1, DUCKDB_TYPE_BLOB),
};

int tally_functions_register(struct duck *e, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(aggregates) && r >= 0; i++)
		r = aggregate_register(e, &aggregates[i], err);
	return r;
}
