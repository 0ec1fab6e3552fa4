/* SPDX-License-Identifier: Apache-2.0 */
/*
 * user.h: tables of a user's own, appended to a closed trace (weir annotate). docs/FORMAT.md, "User
 * tables". Nothing that was recorded is touched; a later table of a name replaces the earlier. A new index
 * and end mark follow, so that older readers see a closed trace. Calls are keyed by block number and row,
 * which never change.
 */
#pragma once

#include "store/store.h"

#define USER_NAME_MAX	 63u
#define USER_COLUMN_MAX	 255u /* bytes of a column's name */
#define USER_COLUMNS_MAX 256u

enum user_type {
	USER_INT = 1,
	USER_UINT = 2,
	USER_FLOAT = 3,
	USER_BOOL = 4,
	USER_TIME = 5, /* ns since the epoch */
	USER_TEXT = 6,
	USER_BLOB = 7,
	USER_TYPES,
};

struct user_column {
	char *name;
	enum user_type type;
};

/* One version of a table of one trace; lives as long as the store. */
struct user_table {
	char name[USER_NAME_MAX + 1];
	uint32_t trace;
	size_t column_count;
	struct user_column *columns;
	uint64_t rows;
	size_t block_count;
	struct user_block *blocks;
};

static inline bool user_type_is_bytes(enum user_type type)
{
	return type == USER_TEXT || type == USER_BLOB;
}

/* A letter or _, then letters, digits and _; at most USER_NAME_MAX. Names differ in more than case. */
bool user_name_ok(const char *name, size_t len);

/* ---- reading ---- */

/*
 * Places of tables: a name of a trace keeps its own, also while the table is dropped. Safe beside
 * store_refresh().
 */
size_t store_user_count(const struct store *s);
/* The table at a place; NULL while it is dropped. */
const struct user_table *store_user_table(const struct store *s, size_t i);
/* Grows with each table that came, was replaced or dropped. */
uint64_t store_user_changes(const struct store *s);

/* Rows of a block, unpacked; a reader of one thread. */
struct user_reader;
int user_reader_new(struct user_reader **ret, const struct store *s) _must_check_;
void user_reader_free(struct user_reader *r);
DEFINE_CLEANUP(struct user_reader *, user_reader_free)
/* Unpacks block i of a table: the number of rows, -EBADMSG where it is damaged, which is counted in
 * store_damage(); go on with the next. */
ssize_t user_read(struct user_reader *r, const struct user_table *t, size_t i, struct error *err);
bool user_is_null(const struct user_reader *r, size_t column, size_t row);
/* The value's 64 bits; a float's are those of a double. */
uint64_t user_value(const struct user_reader *r, size_t column, size_t row);
struct bytes user_bytes(const struct user_reader *r, size_t column, size_t row);

/* ---- writing ---- */

struct user_writer;

/* -EINVAL with the reason: a name that cannot be, columns of one name, too many. */
int user_writer_new(struct user_writer **ret, const char *name, const struct user_column *columns,
		    size_t count, struct error *err);
void user_writer_free(struct user_writer *w);
DEFINE_CLEANUP(struct user_writer *, user_writer_free)
/* The next value of the row, column by column; after the last column the row is whole. */
int user_put_null(struct user_writer *w) _must_check_;
int user_put(struct user_writer *w, uint64_t value) _must_check_;
int user_put_bytes(struct user_writer *w, struct bytes v) _must_check_;
uint64_t user_writer_rows(const struct user_writer *w);
/*
 * Appends the table to the file, all or nothing; without columns it is a tombstone. `s` is the file
 * alone, opened. -EBUSY: it is being written; -EINVAL: it was never closed; on a failure the file is
 * as it was.
 */
int user_append(struct user_writer *w, struct store *s, struct error *err);
