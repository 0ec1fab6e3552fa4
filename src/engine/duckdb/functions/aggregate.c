// SPDX-License-Identifier: Apache-2.0
/* aggregate.c: shared by weir's aggregates. */
#include "engine/duckdb/functions/aggregate.h"

#include <stdio.h>
#include <string.h>

static const struct aggregate_extra *extra_of(duckdb_function_info info)
{
	return duckdb_loaded()->aggregate_function_get_extra_info(info);
}

const struct aggregate_def *aggregate_of(duckdb_function_info info)
{
	return extra_of(info)->def;
}

void aggregate_error(duckdb_function_info info, const char *text)
{
	duckdb_loaded()->aggregate_function_set_error(info, text);
}

static void aggregate_no_memory(duckdb_function_info info)
{
	aggregate_error(info, "Out of Memory Error: no memory for an aggregate");
}

/* Counts memory by which a state grew; false, with the error set, if the limit is exceeded. */
static bool account(duckdb_function_info info, struct aggregate_owner *o, uint64_t before,
		    uint64_t after, const char *what)
{
	struct duck *e;
	char text[256];

	if (likely(after <= before)) {
		if (unlikely(after < before) && o->x)
			atomic_fetch_sub(&o->x->e->state_bytes, before - after);
		return true;
	}
	if (!o->x)
		o->x = extra_of(info);
	e = o->x->e;
	if (atomic_fetch_add(&e->state_bytes, after - before) + (after - before) <=
	    e->state_bytes_max)
		return true;
	snprintf(text, sizeof(text),
		 "Out of Memory Error: %s need more than %llu MiB: group by fewer keys, or raise "
		 "--memory",
		 what, (unsigned long long)(e->state_bytes_max >> 20));
	aggregate_error(info, text);
	return false;
}

bool aggregate_changed(duckdb_function_info info, const struct aggregate_sum *sum, void *state,
		       uint64_t before, int r)
{
	if (r == -EBADMSG)
		aggregate_error(info, sum->bad_blob);
	else if (r == -E2BIG && sum->too_large)
		aggregate_error(info, sum->too_large);
	else if (r < 0)
		aggregate_no_memory(info);
	return account(info, state, before, sum->memory(state), sum->what) && r >= 0;
}

/* ---- callbacks common to all aggregates ---- */

static idx_t on_size(duckdb_function_info info)
{
	return aggregate_of(info)->state_size;
}

static void aggregate_on_init(duckdb_function_info info, duckdb_aggregate_state state)
{
	memset((void *)state, 0, aggregate_of(info)->state_size);
}

static void on_merge(duckdb_function_info info, duckdb_data_chunk input,
		     duckdb_aggregate_state *states)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct aggregate_sum *sum = aggregate_of(info)->sum;
	struct argument a = argument_of(d, input, 0);
	size_t count = d->data_chunk_get_size(input);

	for (size_t i = 0; i < count; i++) {
		void *s = states[i];
		struct bytes packed;
		uint64_t before;

		if (!vector_valid(a.validity, i))
			continue;
		packed = vector_string(a.texts, i);
		before = sum->memory(s);
		if (!aggregate_changed(info, sum, s, before,
				       sum->unpack(s, packed.data, packed.len)))
			return;
	}
}

static void on_combine(duckdb_function_info info, duckdb_aggregate_state *source,
		       duckdb_aggregate_state *target, idx_t count)
{
	const struct aggregate_sum *sum = aggregate_of(info)->sum;

	for (size_t i = 0; i < count; i++) {
		void *s = target[i];
		uint64_t before = sum->memory(s);

		if (!aggregate_changed(info, sum, s, before, sum->merge(s, source[i])))
			return;
	}
}

static void on_finalize(duckdb_function_info info, duckdb_aggregate_state *source,
			duckdb_vector result, idx_t count, idx_t offset)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct aggregate_sum *sum = aggregate_of(info)->sum;
	_cleanup_free_ uint8_t *packed = malloc(sum->pack_max);

	if (!packed) {
		aggregate_no_memory(info);
		return;
	}
	for (size_t i = 0; i < count; i++) {
		size_t len = sum->pack(source[i], packed);

		if (len)
			d->vector_assign_string_element_len(result, offset + i,
							    (const char *)packed, len);
		else
			vector_set_null(d, result, offset + i);
	}
}

static void on_destroy(duckdb_aggregate_state *states, idx_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct aggregate_owner *o = (struct aggregate_owner *)states[i];
		const struct aggregate_extra *x = o->x;

		if (!x)
			continue;
		atomic_fetch_sub(&x->e->state_bytes, x->def->sum->memory(o));
		x->def->sum->free(o);
	}
}

int aggregate_register(struct duck *e, const struct aggregate_def *def, struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_aggregate_function f = d->create_aggregate_function();
	duckdb_logical_type out = d->create_logical_type(DUCKDB_TYPE_BLOB);
	struct aggregate_extra *x = malloc(sizeof(*x));
	duckdb_state state;

	if (!f || !out || !x) {
		free(x);
		d->destroy_logical_type(&out);
		d->destroy_aggregate_function(&f);
		return error_errno(err, -ENOMEM, "cannot declare %s", def->name);
	}
	*x = (struct aggregate_extra){e, def};
	d->aggregate_function_set_name(f, def->name);
	for (unsigned int i = 0; i < def->arg_count; i++) {
		duckdb_logical_type in = d->create_logical_type(def->args[i]);

		d->aggregate_function_add_parameter(f, in);
		d->destroy_logical_type(&in);
	}
	d->aggregate_function_set_return_type(f, out);
	d->aggregate_function_set_functions(f, on_size, aggregate_on_init,
					    def->update ? def->update : on_merge, on_combine,
					    on_finalize);
	d->aggregate_function_set_destructor(f, on_destroy);
	d->aggregate_function_set_extra_info(f, x, free);
	state = d->register_aggregate_function(e->con, f);
	d->destroy_logical_type(&out);
	d->destroy_aggregate_function(&f);
	return state ? error_set(err, -EIO, "DuckDB refuses the aggregate %s", def->name) : 0;
}

/* ---- scalars ---- */

int scalar_register(struct duck *e, const struct scalar_def *def, struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_scalar_function s = d->create_scalar_function();
	duckdb_logical_type result = d->create_logical_type(def->result);
	duckdb_state state;

	d->scalar_function_set_name(s, def->name);
	for (unsigned int i = 0; i < def->arg_count; i++) {
		duckdb_logical_type type = d->create_logical_type(def->args[i]);

		d->scalar_function_add_parameter(s, type);
		d->destroy_logical_type(&type);
	}
	d->scalar_function_set_return_type(s, result);
	if (def->extra)
		d->scalar_function_set_extra_info(s, def->extra, def->free_extra);
	d->scalar_function_set_function(s, def->call);
	state = d->register_scalar_function(e->con, s);
	d->destroy_logical_type(&result);
	d->destroy_scalar_function(&s);
	return state ? error_set(err, -EIO, "DuckDB refuses the function %s", def->name) : 0;
}

static void on_blob_scalar(duckdb_function_info info, duckdb_data_chunk input, duckdb_vector output)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct blob_scalar *f = d->scalar_function_get_extra_info(info);
	struct argument a = argument_of(d, input, 0), with = {0};
	void *out = d->vector_get_data(output);

	if (f->with < 0)
		with = argument_of(d, input, 1);
	for (size_t i = 0; i < d->data_chunk_get_size(input); i++) {
		const char *wrong;
		int64_t v = 0;

		if (!vector_valid(a.validity, i) || !vector_valid(with.validity, i)) {
			vector_set_null(d, output, i);
			continue;
		}
		wrong = f->call(vector_string(a.texts, i), with.data ? with.reals[i] : f->with, &v);
		if (wrong) {
			d->scalar_function_set_error(info, wrong);
			return;
		}
		if (f->boolean)
			((bool *)out)[i] = v != 0;
		else
			((int64_t *)out)[i] = v;
	}
}

int blob_scalar_register(struct duck *e, const struct blob_scalar *s, struct error *err)
{
	const struct scalar_def def = {.name = s->name,
				       .call = on_blob_scalar,
				       .extra = (void *)s,
				       .args = {DUCKDB_TYPE_BLOB, DUCKDB_TYPE_DOUBLE},
				       .result = s->boolean ? DUCKDB_TYPE_BOOLEAN
							    : DUCKDB_TYPE_BIGINT,
				       .arg_count = s->with < 0 ? 2 : 1};

	return scalar_register(e, &def, err);
}
