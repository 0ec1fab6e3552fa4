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

static uint64_t tally_memory(const struct tally *t)
{
	return t->cap * sizeof(struct tally_entry);
}

AGGREGATE_STATE(tally_functions, tally)

static size_t tally_functions_state_pack(const void *state, uint8_t *packed)
{
	const struct tally *t = &((const struct tally_functions_state *)state)->of;

	tally_pack(t, packed);
	return (size_t)t->count * TALLY_ENTRY_BYTES;
}

static const struct aggregate_sum sum = {
	.what = "the tallies of quantize(), lquantize() and llquantize()",
	.bad_blob = "tally_merge(): this BLOB is not a tally made by quantize(), lquantize() or "
		    "llquantize()",
	.too_large = "a tally has at most 4096 buckets: use larger steps",
	AGGREGATE_STATE_OPS(tally_functions),
	.pack_max = TALLY_BUCKETS_MAX * TALLY_ENTRY_BYTES,
	.pack = tally_functions_state_pack,
};

/* The lower bound of the bucket of v[0], given the other arguments. Returns an error message, or NULL. */
static const char *bucket_of_row(const int64_t *v, unsigned int count, int64_t *ret)
{
	const char *wrong = NULL;

	switch (count) {
	case 1:
		*ret = tally_quantize(v[0]);
		break;
	case 4:
		wrong = tally_lquantize_wrong(v[1], v[2], v[3]);
		*ret = wrong ? 0 : tally_lquantize(v[0], v[1], v[2], v[3]);
		break;
	default:
		wrong = tally_llquantize_wrong(v[1], v[2], v[3], v[4]);
		*ret = wrong ? 0 : tally_llquantize(v[0], v[1], v[2], v[3], v[4]);
		break;
	}
	return wrong;
}

static void on_tally(duckdb_function_info info, duckdb_data_chunk input,
		     duckdb_aggregate_state *states)
{
	const struct duckdb_api *d = duckdb_loaded();
	const unsigned int count = aggregate_of(info)->arg_count;
	size_t rows = d->data_chunk_get_size(input);
	struct argument a[AGGREGATE_ARGS_MAX];

	for (unsigned int k = 0; k < count; k++)
		a[k] = argument_of(d, input, k);
	for (size_t i = 0; i < rows; i++) {
		struct tally_functions_state *s = (struct tally_functions_state *)states[i];
		uint64_t before = tally_memory(&s->of);
		int64_t v[AGGREGATE_ARGS_MAX], bucket;
		const char *wrong;
		bool valid = true;

		for (unsigned int k = 0; k < count; k++) {
			valid &= vector_valid(a[k].validity, i);
			v[k] = a[k].numbers[i];
		}
		if (!valid)
			continue;
		wrong = bucket_of_row(v, count, &bucket);
		if (wrong)
			aggregate_error(info, wrong);
		if (wrong ||
		    !aggregate_changed(info, &sum, s, before, tally_add(&s->of, bucket, 1)))
			return;
	}
}

#define NUMBER DUCKDB_TYPE_BIGINT
#define TALLY_AGGREGATE(text, on_update, count, ...)                                        \
	{                                                                                   \
		.name = text, .state_size = sizeof(struct tally_functions_state),           \
		.args = {__VA_ARGS__}, .arg_count = count, .update = on_update, .sum = &sum \
	}

static const struct aggregate_def aggregates[] = {
	TALLY_AGGREGATE("quantize", on_tally, 1, NUMBER),
	TALLY_AGGREGATE("lquantize", on_tally, 4, NUMBER, NUMBER, NUMBER, NUMBER),
	TALLY_AGGREGATE("llquantize", on_tally, 5, NUMBER, NUMBER, NUMBER, NUMBER, NUMBER),
	TALLY_AGGREGATE("tally_merge", NULL, 1, DUCKDB_TYPE_BLOB),
};

int tally_functions_register(struct duck *e, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(aggregates) && r >= 0; i++)
		r = aggregate_register(e, &aggregates[i], err);
	return r;
}
