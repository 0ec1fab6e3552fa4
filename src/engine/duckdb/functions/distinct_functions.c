// SPDX-License-Identifier: Apache-2.0
/*
 * distinct_functions.c: the number of distinct values, in SQL.
 *   distinct_set(x)        aggregate: the set of integers (hist/distinct.h), packed, as a BLOB
 *   distinct_set_text(x)   the same for texts
 *   distinct_merge(b)      aggregate: the union of such BLOBs
 *   distinct_count(b)      BIGINT; distinct_estimated(b): true past 4096
 */
#include "engine/duckdb/functions/aggregate.h"
#include "hist/distinct.h"

AGGREGATE_STATE(distinct_functions, distinct)

/* Never NULL: without values the set is empty. */
static size_t distinct_functions_state_pack(const void *state, uint8_t *packed)
{
	return distinct_pack(&((const struct distinct_functions_state *)state)->of, packed);
}

static const struct aggregate_sum sum = {
	.what = "the sets of distinct()",
	.bad_blob = "distinct_merge(): this BLOB is not a set made by distinct_set()",
	AGGREGATE_STATE_OPS(distinct_functions),
	.pack_max = DISTINCT_PACKED_MAX,
	.pack = distinct_functions_state_pack,
};

static void on_numbers(duckdb_function_info info, duckdb_data_chunk input,
		       duckdb_aggregate_state *states)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a = argument_of(d, input, 0);
	size_t count = d->data_chunk_get_size(input);

	for (size_t i = 0; i < count; i++) {
		struct distinct_functions_state *s = (struct distinct_functions_state *)states[i];
		uint64_t before;
		int r;

		/* often the same value as in the row before */
		if (!vector_valid(a.validity, i) ||
		    (i && states[i - 1] == states[i] && a.numbers[i - 1] == a.numbers[i] &&
		     vector_valid(a.validity, i - 1)))
			continue;
		before = distinct_memory(&s->of);
		r = distinct_add(&s->of, hash_u64((uint64_t)a.numbers[i]));
		if (unlikely(r < 0 || distinct_memory(&s->of) != before) &&
		    !aggregate_changed(info, &sum, s, before, r))
			return;
	}
}

static void on_texts(duckdb_function_info info, duckdb_data_chunk input,
		     duckdb_aggregate_state *states)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a = argument_of(d, input, 0);
	size_t count = d->data_chunk_get_size(input);

	for (size_t i = 0; i < count; i++) {
		struct distinct_functions_state *s = (struct distinct_functions_state *)states[i];
		uint64_t before = distinct_memory(&s->of);
		struct bytes text;

		if (!vector_valid(a.validity, i))
			continue;
		text = vector_string(a.texts, i);
		if (!aggregate_changed(info, &sum, s, before,
				       distinct_add(&s->of, hash_bytes(text.data, text.len))))
			return;
	}
}

#define DISTINCT_AGGREGATE(text, type, on_update)                                    \
	{                                                                            \
		.name = text, .state_size = sizeof(struct distinct_functions_state), \
		.args = {type}, .arg_count = 1, .update = on_update, .sum = &sum     \
	}

static const struct aggregate_def aggregates[] = {
	DISTINCT_AGGREGATE("distinct_set", DUCKDB_TYPE_BIGINT, on_numbers),
	DISTINCT_AGGREGATE("distinct_set_text", DUCKDB_TYPE_VARCHAR, on_texts),
	DISTINCT_AGGREGATE("distinct_merge", DUCKDB_TYPE_BLOB, NULL),
};

static const char *distinct_functions_unpack(struct bytes packed, struct distinct *set)
{
	int r = distinct_unpack(set, packed.data, packed.len);

	if (r == -EBADMSG)
		return "this BLOB is not a set made by distinct_set()";
	return r < 0 ? "Out of Memory Error: no memory for a set" : NULL;
}

static const char *distinct_functions_call_count(struct bytes packed, double with _unused_,
						 int64_t *ret)
{
	struct distinct set = {0};
	const char *wrong = distinct_functions_unpack(packed, &set);

	*ret = (int64_t)distinct_count(&set);
	distinct_free(&set);
	return wrong;
}

static const char *call_estimated(struct bytes packed, double with _unused_, int64_t *ret)
{
	struct distinct set = {0};
	const char *wrong = distinct_functions_unpack(packed, &set);

	*ret = distinct_estimated(&set);
	distinct_free(&set);
	return wrong;
}

static const struct blob_scalar scalars[] = {
	{"distinct_count", false, distinct_functions_call_count},
	{"distinct_estimated", true, call_estimated},
};

int distinct_functions_register(struct duck *e, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(aggregates) && r >= 0; i++)
		r = aggregate_register(e, &aggregates[i], err);
	for (size_t i = 0; i < ARRAY_SIZE(scalars) && r >= 0; i++)
		r = blob_scalar_register(e, &scalars[i], err);
	return r;
}
