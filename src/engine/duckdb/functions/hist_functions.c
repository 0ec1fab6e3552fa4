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
#include <string.h>

#include "engine/duckdb/functions/aggregate.h"
#include "hist/sparse.h"

struct hist_state {
	struct aggregate_owner owner;
	struct hist hist;
};

static uint64_t hist_functions_state_memory(const void *state)
{
	return hist_memory(&((const struct hist_state *)state)->hist);
}

static int hist_functions_state_unpack(void *state, const uint8_t *data, size_t len)
{
	return hist_unpack(&((struct hist_state *)state)->hist, data, len);
}

static int hist_functions_state_merge(void *state, const void *other)
{
	return hist_merge(&((struct hist_state *)state)->hist,
			  &((const struct hist_state *)other)->hist);
}

static void hist_functions_state_free(void *state)
{
	hist_free(&((struct hist_state *)state)->hist);
}

static const struct aggregate_sum sum = {
	.what = "the histograms of hist()",
	.bad_blob = "hist_merge(): this BLOB is not a histogram made by hist()",
	.memory = hist_functions_state_memory,
	.unpack = hist_functions_state_unpack,
	.merge = hist_functions_state_merge,
	.free = hist_functions_state_free,
};

static void add_values(duckdb_function_info info, duckdb_data_chunk input,
		       duckdb_aggregate_state *states, bool lenient)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct argument a = argument_of(d, input, 0);
	size_t count = d->data_chunk_get_size(input);

	for (size_t i = 0; i < count; i++) {
		struct hist_state *s = (struct hist_state *)states[i];
		uint64_t before = hist_memory(&s->hist);
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
		r = hist_add(&s->hist, (uint64_t)MAX(a.numbers[i], (int64_t)0), 1);
		if (unlikely(r < 0 || hist_memory(&s->hist) != before) &&
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

static void hist_functions_on_finalize(duckdb_function_info info, duckdb_aggregate_state *source,
				       duckdb_vector result, idx_t count, idx_t offset)
{
	const struct duckdb_api *d = duckdb_loaded();
	uint8_t packed[HIST_PACKED_MAX];

	for (size_t i = 0; i < count; i++) {
		const struct hist *h = &((const struct hist_state *)source[i])->hist;
		size_t row = offset + i;

		if (!hist_entries(h)) { /* no values: NULL, as for sum() */
			vector_set_null(d, result, row);
			continue;
		}
		d->vector_assign_string_element_len(result, row, (const char *)packed,
						    hist_pack(h, packed));
	}
}

#define HIST_AGGREGATE(text, type, on_update)                                                \
	{                                                                                    \
		.name = text, .state_size = sizeof(struct hist_state), .args = {type},       \
		.arg_count = 1, .update = on_update, .finalize = hist_functions_on_finalize, \
		.sum = &sum                                                                  \
	}

static const struct aggregate_def aggregates[] = {
	HIST_AGGREGATE("hist", DUCKDB_TYPE_BIGINT, on_hist),
	HIST_AGGREGATE("weir_hist", DUCKDB_TYPE_BIGINT, on_weir_hist),
	HIST_AGGREGATE("hist_merge", DUCKDB_TYPE_BLOB, NULL),
};

struct scalar {
	const char *name;
	double quantile; /* 0: hist_count; below 0: the second argument */
};

static const struct scalar scalars[] = {
	{"hist_count", 0}, {"hist_quantile", -1}, {"p50", 0.5},	   {"p90", 0.9},
	{"p95", 0.95},	   {"p99", 0.99},	  {"p999", 0.999},
};

/* Evaluates a scalar for one row: 0, or negative with the error set. */
static int scalar_row(const struct duckdb_api *d, duckdb_function_info info, const struct scalar *f,
		      struct bytes packed, double q, int64_t *ret)
{
	_cleanup_(hist_free) struct hist h = {0};
	uint64_t v;
	int r = hist_unpack(&h, packed.data, packed.len);

	if (r < 0) {
		d->scalar_function_set_error(
			info, r == -EBADMSG ? "this BLOB is not a histogram made by hist()"
					    : "Out of Memory Error: no memory for a histogram");
		return r;
	}
	if (f->quantile != 0 && !(q > 0 && q <= 1)) {
		d->scalar_function_set_error(info, "hist_quantile(): a quantile must be above 0 "
						   "and at most 1; 0.5 is the median");
		return -EINVAL;
	}
	v = f->quantile == 0 ? hist_total(&h) : hist_quantile(&h, q);
	*ret = (int64_t)MIN(v, (uint64_t)INT64_MAX);
	return 0;
}

static void on_scalar(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct scalar *f = d->scalar_function_get_extra_info(info);
	struct argument a = argument_of(d, input, 0), q = {0};
	int64_t *out = d->vector_get_data(output);

	if (f->quantile < 0)
		q = argument_of(d, input, 1);
	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		if (!vector_valid(a.validity, i) || !vector_valid(q.validity, i)) {
			vector_set_null(d, output, i);
			continue;
		}
		if (scalar_row(d, info, f, vector_string(a.texts, i),
			       q.data ? q.reals[i] : f->quantile, &out[i]) < 0)
			return;
	}
}

static int register_scalar(struct duck *e, const struct scalar *s, struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_scalar_function f = d->create_scalar_function();
	duckdb_logical_type blob = d->create_logical_type(DUCKDB_TYPE_BLOB);
	duckdb_logical_type number = d->create_logical_type(DUCKDB_TYPE_DOUBLE);
	duckdb_logical_type out = d->create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_state state;

	d->scalar_function_set_name(f, s->name);
	d->scalar_function_add_parameter(f, blob);
	if (s->quantile < 0)
		d->scalar_function_add_parameter(f, number);
	d->scalar_function_set_return_type(f, out);
	d->scalar_function_set_extra_info(f, (void *)s, NULL);
	d->scalar_function_set_function(f, on_scalar);
	state = d->register_scalar_function(e->con, f);
	d->destroy_logical_type(&blob);
	d->destroy_logical_type(&number);
	d->destroy_logical_type(&out);
	d->destroy_scalar_function(&f);
	return state ? error_set(err, -EIO, "DuckDB refuses the function %s", s->name) : 0;
}

int hist_functions_register(struct duck *e, struct error *err)
{
	int r = 0;

	for (size_t i = 0; i < ARRAY_SIZE(aggregates) && r >= 0; i++)
		r = aggregate_register(e, &aggregates[i], err);
	for (size_t i = 0; i < ARRAY_SIZE(scalars) && r >= 0; i++)
		r = register_scalar(e, &scalars[i], err);
	return r;
}
