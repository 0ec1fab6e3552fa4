/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate.h: what weir's aggregates share: declaring one, counting the memory of its states, which
 * the library does not see, and small access to vectors.
 */
#pragma once

#include <errno.h>

#include "engine/duckdb/internal.h"

#define AGGREGATE_ARGS_MAX 5

struct aggregate_def {
	const char *name;
	size_t state_size; /* begins as zeros */
	duckdb_type args[AGGREGATE_ARGS_MAX];
	unsigned int arg_count;
	duckdb_aggregate_update_t update;
	duckdb_aggregate_combine_t combine;
	duckdb_aggregate_finalize_t finalize; /* gives a BLOB */
	duckdb_aggregate_destroy_t destroy;
};

/* What DuckDB keeps for the callbacks. */
struct aggregate_extra {
	struct engine *e;
	const struct aggregate_def *def;
};

int aggregate_register(struct engine *e, const struct aggregate_def *def, struct error *err);
/* The first member of every state: who counts its memory. */
struct aggregate_owner {
	struct engine *e; /* NULL while it has no memory */
};
/* Counts what a state grew by; false, with the error set, past the bound. `what`: "the histograms of
 * hist()". */
bool aggregate_account(duckdb_function_info info, struct aggregate_owner *o, uint64_t before,
		       uint64_t after, const char *what);
/* Gives memory back when a state goes. */
void aggregate_release(struct aggregate_owner *o, uint64_t bytes);
void aggregate_no_memory(duckdb_function_info info);
void aggregate_error(duckdb_function_info info, const char *text);

/* A scalar over one BLOB that gives a BIGINT or BOOLEAN: `call` writes the value; its text is an
 * error. */
struct blob_scalar {
	const char *name;
	bool boolean;
	const char *(*call)(struct bytes packed, int64_t *ret);
};
int blob_scalar_register(struct engine *e, const struct blob_scalar *s, struct error *err);

static inline bool vector_valid(const uint64_t *validity, size_t i)
{
	return !validity || (validity[i / 64] >> (i % 64) & 1);
}

static inline struct bytes vector_string(const duckdb_string_t *s, size_t i)
{
	uint32_t length = s[i].value.inlined.length;

	return (struct bytes){(const uint8_t *)(length <= 12 ? s[i].value.inlined.inlined
							     : s[i].value.pointer.ptr),
			      length};
}

static inline void vector_set_null(const struct duckdb_api *d, duckdb_vector v, size_t i)
{
	uint64_t *validity;

	d->vector_ensure_validity_writable(v);
	validity = d->vector_get_validity(v);
	validity[i / 64] &= ~(1ull << (i % 64));
}
