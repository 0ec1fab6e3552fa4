/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_values.h: users' own tables (weir annotate), in addition to the schema's. `from NAME` reads one. Rows of
 * schema tables also have the columns of a user's table, taken from its row with the same key.
 *
 *   owner(file_id, team): `team` of a call is that of owner's row for the call's file, or null
 *
 * The key is the first column that the other table also has (file_id, path, tid, ..., row_id). Each of its values
 * occurs once. engine/annotations.h makes the struct from a trace; it must outlive all plans.
 *
 * A user's column is thus a function of its key, an ordinary expression: if it depends on an id it is computed once
 * per id, it can exclude blocks, and engines need no support for it.
 */
#pragma once

#include "base/error.h"
#include "query/expr.h"

/* The values of a column, by row of the table; filled by query_users.load. Texts are unescaped bytes. */
struct query_user_column {
	const char *name;
	struct query_kind type; /* BOOL, INT, UINT, DUR, SIZE, FLOAT, TIME, TEXT */
	const int64_t *ints;	/* all types but TEXT; FLOAT as its bits */
	const struct bytes *texts;
	const uint8_t *nulls; /* 1: null */
	size_t count;	      /* number of values */
	/* If the column is a key: the rows that have a key, in ascending order of it. */
	const uint32_t *rows;
	size_t row_count;
};

struct query_user_table {
	const char *name;
	struct query_user_column *columns;
	size_t column_count;
};

/*
 * The spans of a trace (engine/call_spans.h): span.NAME is a column of the span that a row belongs to. A lookup of
 * two columns, key and place, maps a row's key to the position of its span. The key is row_id for rows of op, the
 * span's number for rows that have one. Columns are found by name; those of attributes are made on first use.
 */
struct query_user_spans {
	const struct query_user_table *span, *of_call, *of_number;
	/*
	 * -ENOENT: there is none; other failures have a message. With `look` nothing is read. This and the next may
	 * be called from any thread.
	 */
	ssize_t (*find)(const struct query_user_spans *s, struct bytes name, bool look,
			struct error *err);
	/* Reads all columns, and the lookup by call or by number. */
	int (*load)(const struct query_user_spans *s, bool of_call, struct error *err);
};

struct query_users {
	const struct query_user_spans *spans;	      /* NULL: none */
	const struct query_user_table *const *tables; /* names ignore case */
	size_t count;
	/*
	 * Loads the values of a column, and with `key` the order of its rows. -EINVAL: a value of the key occurs more
	 * than once; -ENOMEM; -EFBIG: the column exceeds the memory limit. May be called from any thread. NULL: only
	 * names can be resolved; plans cannot be run.
	 */
	int (*load)(const struct query_users *u, const struct query_user_table *t, size_t column,
		    bool key, struct error *err);
};

/* The value of a row. */
void query_user_at(const struct query_user_column *c, size_t row, struct value *ret);
/* The value of EXPR_USER for a row whose key is `key` (not null). */
void query_user_value(const struct expr *e, const struct value *key, struct value *ret);
