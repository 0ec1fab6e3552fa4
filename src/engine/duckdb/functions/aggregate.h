/* SPDX-License-Identifier: Apache-2.0 */
/*
 * aggregate.h: shared by weir's aggregates: their declaration, accounting of the memory of states, which the library
 * does not see, and small accessors for vectors.
 */
#pragma once

#include <errno.h>

#include "engine/duckdb/internal.h"

#define AGGREGATE_ARGS_MAX 5

struct aggregate_def {
	const char *name;
	size_t state_size; /* initialized with zeros */
	duckdb_type args[AGGREGATE_ARGS_MAX];
	unsigned int arg_count;
	duckdb_aggregate_update_t update;     /* NULL: merges BLOBs with sum->unpack() */
	duckdb_aggregate_finalize_t finalize; /* returns a BLOB */
	const struct aggregate_sum *sum;      /* how states are merged and freed */
};

/* User data of the callbacks. */
struct aggregate_extra {
	struct duck *e;
	const struct aggregate_def *def;
};

int aggregate_register(struct duck *e, const struct aggregate_def *def, struct error *err);
/* First member of every state: to which aggregate its memory is accounted. */
struct aggregate_owner {
	const struct aggregate_extra *x; /* NULL while it has no memory */
};
/*
 * Operations on a state: its memory, adding a packed BLOB, merging. Pointers are to complete states (struct
 * aggregate_owner first); functions return 0 or a negative errno.
 */
struct aggregate_sum {
	const char *what;      /* "the histograms of hist()" */
	const char *bad_blob;  /* message for -EBADMSG of unpack() */
	const char *too_large; /* message for -E2BIG; NULL: not limited */
	uint64_t (*memory)(const void *state);
	int (*unpack)(void *state, const uint8_t *data, size_t len);
	int (*merge)(void *state, const void *other);
	void (*free)(void *state);
};
/*
 * Call after a change with result r: accounts for memory and reports a failure. False, with the error set, if the
 * statement must end.
 */
bool aggregate_changed(duckdb_function_info info, const struct aggregate_sum *sum, void *state,
		       uint64_t before, int r);
void aggregate_no_memory(duckdb_function_info info);
void aggregate_error(duckdb_function_info info, const char *text);

/* A scalar function of one BLOB that returns BIGINT or BOOLEAN: `call` sets the value or returns an error message. */
struct blob_scalar {
	const char *name;
	bool boolean;
	const char *(*call)(struct bytes packed, int64_t *ret);
};
int blob_scalar_register(struct duck *e, const struct blob_scalar *s, struct error *err);

static inline bool vector_valid(const uint64_t *validity, size_t i)
{
	return !validity || (validity[i / 64] >> (i % 64) & 1);
}

/* A column of a chunk in a callback. */
struct argument {
	union {
		void *data;
		const int64_t *numbers;
		const double *reals;
		const duckdb_string_t *texts; /* and BLOBs */
	};
	const uint64_t *validity;
};

static inline struct argument argument_of(const struct duckdb_api *d, duckdb_data_chunk input,
					  unsigned int column)
{
	duckdb_vector v = d->data_chunk_get_vector(input, column);

	return (struct argument){{d->vector_get_data(v)}, d->vector_get_validity(v)};
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
