/* SPDX-License-Identifier: Apache-2.0 */
/* duckdb_value.h: a value of a vector as text. */
#pragma once

#include "engine/duckdb/internal.h"

/*
 * Appends row `row` of the vector, which has type `type`, in DuckDB's notation; a NULL is "NULL" inside lists and
 * structs, and empty at the top level. 0 or -ENOMEM.
 */
int value_text(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type, size_t row,
	       bool nested, struct buf *out);
bool value_is_null(const struct duckdb_api *d, duckdb_vector v, size_t row);
/* A TIMESTAMP of any unit as nanoseconds since the epoch, limited to int64_t. */
int64_t value_time(const struct duckdb_api *d, duckdb_vector v, duckdb_type type, size_t row);

/*
 * Values of a known type; 0 for NULL and for other types. Wider integers are reduced to their low 64 bits; times are
 * nanoseconds.
 */
int64_t value_int(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		  size_t row);
double value_float(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		   size_t row);
/* The bytes of a VARCHAR or BLOB, stored in the vector. */
struct bytes value_string(const struct duckdb_api *d, duckdb_vector v, size_t row);
/* The ordinal of an ENUM. */
uint32_t value_ordinal(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type,
		       size_t row);
