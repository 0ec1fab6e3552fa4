/* SPDX-License-Identifier: Apache-2.0 */
/* value.h: a value of a vector as text. */
#pragma once

#include "engine/duckdb/internal.h"

/* Appends row `row` of the vector, which is of type `type`, as DuckDB would write it; "NULL" inside
 * lists and structs, nothing for a NULL at the top. 0 or -ENOMEM. */
int value_text(const struct duckdb_api *d, duckdb_vector v, duckdb_logical_type type, size_t row,
	       bool nested, struct buf *out);
bool value_is_null(const struct duckdb_api *d, duckdb_vector v, size_t row);
/* A TIMESTAMP of any unit as nanoseconds since the epoch, cut to int64_t. */
int64_t value_time(const struct duckdb_api *d, duckdb_vector v, duckdb_type type, size_t row);
