/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_values.h: tables of a user's own (weir annotate) beside the schema's. `from NAME` asks one; and a row
 * of any table of the schema has the columns of a user's table too: of that row whose key is the same.
 *
 *   owner(file_id, team): team of a call is what owner says of the call's file, null where nothing
 *
 * The key is the first column that the asked table has as well (file_id, path, tid, ..., row_id), and each
 * of its values stands once. Who reads a trace makes the struct (engine/annotations.h); it outlives
 * all plans.
 */
#pragma once

#include "base/error.h"
#include "query/expr.h"

/* The values of a column, by row of the table; filled by query_users.load. Texts are no escapes. */
struct query_user_column {
	const char *name;
	struct query_kind type; /* BOOL, INT, UINT, DUR, SIZE, FLOAT, TIME, TEXT */
	const int64_t *ints;	/* all but FLOAT and TEXT */
	const double *floats;
	const struct bytes *texts;
	const uint8_t *nulls; /* 1: null */
	/* Where it is a key: rows with a key, ascending by it. */
	const uint32_t *rows;
	size_t row_count;
};

struct query_user_table {
	const char *name;
	struct query_user_column *columns;
	size_t column_count;
	uint32_t number; /* its place among those of the trace, for who made it */
};

struct query_users {
	const struct query_user_table *const *tables; /* names differ in more than case */
	size_t count;
	/*
	 * Brings the values of a column into memory, and its order where `key`: -EINVAL where a value
	 * stands more than once, -ENOMEM, -EFBIG: more than is held. Any thread. NULL: names
	 * alone are known, plans are not run.
	 */
	int (*load)(const struct query_users *u, const struct query_user_table *t, size_t column,
		    bool key, struct error *err);
};

/* What EXPR_USER says of a row whose key is `key` (not null). */
void query_user_value(const struct expr *e, const struct value *key, struct value *ret);
