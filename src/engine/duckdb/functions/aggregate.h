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
	duckdb_aggregate_update_t update; /* NULL: merges BLOBs with sum->unpack() */
	const struct aggregate_sum *sum;  /* how states are merged, packed and freed */
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
 * Operations on a state: its memory, adding a packed BLOB, merging, packing. Pointers are to complete states (struct
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
	size_t pack_max;
	/* Writes at most pack_max bytes and returns their number. Without values it returns 0, and the result is NULL. */
	size_t (*pack)(const void *state, uint8_t *packed);
};
/* The first of these operations, as NAME_state_memory() ..., for a state with a member `of` of a type with TYPE_...(). */
#define AGGREGATE_STATE(NAME, TYPE)                                                   \
	struct NAME##_state {                                                         \
		struct aggregate_owner owner;                                         \
		struct TYPE of;                                                       \
	};                                                                            \
	static uint64_t NAME##_state_memory(const void *state)                        \
	{                                                                             \
		return TYPE##_memory(&((const struct NAME##_state *)state)->of);      \
	}                                                                             \
	static int NAME##_state_unpack(void *state, const uint8_t *data, size_t len)  \
	{                                                                             \
		return TYPE##_unpack(&((struct NAME##_state *)state)->of, data, len); \
	}                                                                             \
	static int NAME##_state_merge(void *state, const void *other)                 \
	{                                                                             \
		return TYPE##_merge(&((struct NAME##_state *)state)->of,              \
				    &((const struct NAME##_state *)other)->of);       \
	}                                                                             \
	static void NAME##_state_free(void *state)                                    \
	{                                                                             \
		TYPE##_free(&((struct NAME##_state *)state)->of);                     \
	}
#define AGGREGATE_STATE_OPS(NAME)                                                                  \
	.memory = NAME##_state_memory, .unpack = NAME##_state_unpack, .merge = NAME##_state_merge, \
	.free = NAME##_state_free

/* The declaration of the aggregate whose callback runs. */
const struct aggregate_def *aggregate_of(duckdb_function_info info);
/*
 * Call after a change with result r: accounts for memory and reports a failure. False, with the error set, if the
 * statement must end.
 */
bool aggregate_changed(duckdb_function_info info, const struct aggregate_sum *sum, void *state,
		       uint64_t before, int r);
void aggregate_error(duckdb_function_info info, const char *text);

/* A scalar function; `extra` is what its callback gets. */
struct scalar_def {
	const char *name;
	duckdb_scalar_function_t call;
	void *extra;
	duckdb_delete_callback_t free_extra;
	duckdb_type args[2], result;
	unsigned int arg_count;
};
int scalar_register(struct duck *e, const struct scalar_def *def, struct error *err);

/*
 * A scalar function of one BLOB that returns BIGINT or BOOLEAN: `call` sets the value or returns an error message. It
 * gets `with`; if that is negative, the function's second argument, a DOUBLE.
 */
struct blob_scalar {
	const char *name;
	bool boolean;
	const char *(*call)(struct bytes packed, double with, int64_t *ret);
	double with;
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
