/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user_values.h: users' own tables (weir annotate), in addition to the schema's. `from NAME` reads one. A row
 * of any table of the schema also has the columns of a user's table, from the row with the same key.
 *
 *   owner(file_id, team): `team` of a call is that of owner's row for the call's file, or null
 *
 * The key is the first column that the other table has as well (file_id, path, tid, ..., row_id), and each
 * of its values occurs once. engine/annotations.h makes the struct from a trace; it must outlive all
 * plans.
 *
 * A user's column is thus a function of its key, an expression like any other: one that depends on an id is computed
 * once per id, blocks are skipped by it, and engines need not know of it.
 */
#pragma once

#include "base/error.h"
#include "query/expr.h"

/* The values of a column, by row of the table; filled by query_users.load. Texts are no escapes. */
struct query_user_column {
	const char *name;
	struct query_kind type; /* BOOL, INT, UINT, DUR, SIZE, FLOAT, TIME, TEXT */
	const int64_t *ints;	/* all but TEXT; the bits of FLOAT */
	const struct bytes *texts;
	const uint8_t *nulls; /* 1: null */
	size_t count;	      /* of values */
	/* Where it is a key: rows with a key, ascending by it. */
	const uint32_t *rows;
	size_t row_count;
};

struct query_user_table {
	const char *name;
	struct query_user_column *columns;
	size_t column_count;
};

/*
 * The spans of a trace (engine/call_spans.h): span.NAME is a column of the span that a row belongs to. A row has a key, of which a
 * lookup of two columns, key and place, knows the place of the span: of rows of op row_id, of those that have a span's
 * number that. Columns are found by their names; those of attributes are made as they are named.
 */
struct query_user_spans {
	const struct query_user_table *span, *of_call, *of_number;
	/* -ENOENT: there is none; other failures have a message. With `look` nothing is read. Any thread, as the next. */
	ssize_t (*find)(const struct query_user_spans *s, struct bytes name, bool look,
			struct error *err);
	/* Reads all columns, and the lookup by the call or by the number. */
	int (*load)(const struct query_user_spans *s, bool of_call, struct error *err);
};

struct query_users {
	const struct query_user_spans *spans;	      /* NULL: none */
	const struct query_user_table *const *tables; /* names differ in more than case */
	size_t count;
	/*
	 * Loads the values of a column, and with `key` its order. -EINVAL: a value of the key occurs
	 * more than once; -ENOMEM; -EFBIG: the column exceeds the memory limit. May be called from
	 * any thread. NULL: only names are known, and plans cannot be run.
	 */
	int (*load)(const struct query_users *u, const struct query_user_table *t, size_t column,
		    bool key, struct error *err);
};

/* The value of a row. */
void query_user_at(const struct query_user_column *c, size_t row, struct value *ret);
/* The value of EXPR_USER for a row whose key is `key` (not null). */
void query_user_value(const struct expr *e, const struct value *key, struct value *ret);
