// SPDX-License-Identifier: Apache-2.0
/*
 * hist_functions.c: weir's histogram in SQL.
 *   hist(x)           aggregate: the histogram of integers >= 0, packed (hist/sparse.h), a BLOB
 *   weir_hist(x)      the same, but a negative number counts as 0, as in the language
 *   hist_merge(h)     aggregate: the sum of such BLOBs; exact
 *   hist_count(h)     number of values
 *   hist_quantile(h, q), p50(h) p90(h) p95(h) p99(h) p999(h)
 *                     BIGINT, at most 1/32 from the exact value
 *
 * One histogram serves any number of percentiles. States start sparse. The library does not see their memory, so it is
 * counted and limited here: a statement that exceeds the limit fails before the machine runs out of memory.
 */
#include <errno.h>
#include <stdio.h>

#include "engine/duckdb/functions/aggregate.h"
#include "hist/sparse.h"

AGGREGATE_STATE(hist_functions, hist)

static size_t hist_functions_state_pack(const void *state, uint8_t *packed)
{
	const struct hist *h = &((const struct hist_functions_state *)state)->of;

	return hist_entries(h) ? hist_pack(h, packed) : 0;
}

static const struct aggregate_sum sum = {
	.what = "the histograms of hist()",
	.bad_blob = "hist_merge(): this BLOB is not a histogram made by hist()",
	AGGREGATE_STATE_OPS(hist_functions),
	.pack_max = HIST_PACKED_MAX,
	.pack = hist_functions_state_pack,
};

static void add_values(duckdb_function_info info, duckdb_data_chunk input,
		       duckdb_aggregate_state *states, bool lenient)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a = argument_of(d, input, 0);
	size_t count = d->data_chunk_get_size(input);

	for (size_t i = 0; i < count; i++) {
		struct hist_functions_state *s = (struct hist_functions_state *)states[i];
		uint64_t before = hist_memory(&s->of);
		int r;

		if (!vector_valid(a.validity, i))
			continue;
		if (a.numbers[i] < 0 && !lenient) {
			char text[128];

			snprintf(text, sizeof(text),
				 "hist(): a histogram holds numbers >= 0, not %lld",
				 (long long)a.numbers[i]);
			d->aggregate_function_set_error(info, text);
			return;
		}
		r = hist_add(&s->of, (uint64_t)MAX(a.numbers[i], (int64_t)0), 1);
		if (unlikely(r < 0 || hist_memory(&s->of) != before) &&
		    !aggregate_changed(info, &sum, s, before, r))
			return;
	}
}

static void on_hist(duckdb_function_info info, duckdb_data_chunk input,
		    duckdb_aggregate_state *states)
{
	add_values(info, input, states, false);
}

static void on_weir_hist(duckdb_function_info info, duckdb_data_chunk input,
			 duckdb_aggregate_state *states)
{
	add_values(info, input, states, true);
}

#define HIST_AGGREGATE(text, type, on_update)                                                    \
	{                                                                                        \
		.name = text, .state_size = sizeof(struct hist_functions_state), .args = {type}, \
		.arg_count = 1, .update = on_update, .sum = &sum                                 \
	}

static const struct aggregate_def aggregates[] = {
	HIST_AGGREGATE("hist", DUCKDB_TYPE_BIGINT, on_hist),
	HIST_AGGREGATE("weir_hist", DUCKDB_TYPE_BIGINT, on_weir_hist),
	HIST_AGGREGATE("hist_merge", DUCKDB_TYPE_BLOB, NULL),
};

static const char *hist_functions_unpack(struct bytes packed, struct hist *h)
{
	int r = hist_unpack(h, packed.data, packed.len);

	if (r == -EBADMSG)
		return "this BLOB is not a histogram made by hist()";
	return r < 0 ? "Out of Memory Error: no memory for a histogram" : NULL;
}

static const char *hist_functions_call_count(struct bytes packed, double with _unused_,
					     int64_t *ret)
{
	_cleanup_(hist_free) struct hist h = {0};
	const char *wrong = hist_functions_unpack(packed, &h);

	*ret = (int64_t)MIN(hist_total(&h), (uint64_t)INT64_MAX);
	return wrong;
}

static const char *call_quantile(struct bytes packed, double q, int64_t *ret)
{
	_cleanup_(hist_free) struct hist h = {0};
	const char *wrong = hist_functions_unpack(packed, &h);

	if (wrong)
		return wrong;
	if (!(q > 0 && q <= 1))
		return "hist_quantile(): a quantile must be above 0 and at most 1; 0.5 is the "
		       "median";
	*ret = (int64_t)MIN(hist_quantile(&h, q), (uint64_t)INT64_MAX);
	return NULL;
}

static const struct blob_scalar scalars[] = {
	{"hist_count", false, hist_functions_call_count},
	{"hist_quantile", false, call_quantile, -1},
	{"p50", false, call_quantile, 0.5},
	{"p90", false, call_quantile, 0.9},
	{"p95", false, call_quantile, 0.95},
	{"p99", false, call_quantile, 0.99},
	{"p999", false, call_quantile, 0.999},
};

int hist_functions_register(struct duck *e, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(aggregates) && r >= 0; i++)
		r = aggregate_register(e, &aggregates[i], err);
	for (size_t i = 0; i < ARRAY_SIZE(scalars) && r >= 0; i++)
		r = blob_scalar_register(e, &scalars[i], err);
	return r;
}
