/* SPDX-License-Identifier: Apache-2.0 */
/*
 * batch: rows of one table, column by column; the only thing that moves between modules. May use schema.
 *
 * A column holds either int64_t values or byte strings (column_is_bytes()). A column that is null in every row
 * is absent (its pointers are NULL) and costs nothing. Otherwise a bit set in `nulls` marks a null row;
 * `nulls` is NULL if no row is null. The value of a null row is 0.
 *
 * Every fixed-width column is int64_t in memory, whatever its type, so that there is one encoder, one decoder and one
 * way to read a value.
 *
 *   struct batch *b; batch_new(&b, TABLE_OP);
 *   size_t row = batch_add_row(b);                     // one more row, every column null
 *   batch_set(b, OP_TID, row, 4711);                   // the first value makes the column present
 *   batch_set_bytes(...)                               // byte columns are filled in row order
 */
#pragma once

#include "base/map.h"
#include "base/util.h"
#include "schema/schema.h"

#define BATCH_ROWS_MAX 65536 /* rows in a batch, and in a block of the trace file */

struct column {
	int64_t *val;	 /* [rows], NULL if every row is null */
	uint64_t *nulls; /* bit set: null; NULL if no row is null */
	uint32_t *ends;	 /* byte columns: end of row i in data; [rows] */
	uint8_t *data;
	size_t data_len, data_cap;
	/* memory of an absent column, kept for reuse; room for spare_cap rows */
	int64_t *spare_val;
	uint64_t *spare_nulls;
	uint32_t *spare_ends;
	size_t spare_cap;
};

struct batch {
	enum table_id table;
	const struct table_def *def;
	size_t rows;
	size_t cap; /* row capacity of the present columns; kept by batch_clear() */
	size_t ready; /* rows [rows, ready) of the present columns are null already: batch_add_row() then costs nothing */
	int64_t row_id; /* id of row 0, the others are consecutive: identifies a stored call; -1: not in a stored block */
	int64_t *row_ids;	 /* ids of rows of several traces; NULL: consecutive from row_id */
	uint32_t *numbers;	 /* row i is number numbers[i] of the block; NULL: number i */
	bool has_bytes;		 /* some byte column is present */
	struct column columns[]; /* def->column_count */
};

/* An empty batch. 0 or -ENOMEM. */
int batch_new(struct batch **ret, enum table_id table) _must_check_;
/* The same for a table outside the schema (TABLE_OWN); the definition must outlive the batch. */
int batch_new_of(struct batch **ret, enum table_id table, const struct table_def *def) _must_check_;
void batch_free(struct batch *b);
DEFINE_CLEANUP(struct batch *, batch_free)
/* Removes all rows but keeps the memory; columns become absent until set again. */
void batch_clear(struct batch *b);

/* Adds a row of nulls. Returns its number, or -ENOMEM, -ENOSPC at BATCH_ROWS_MAX. */
ssize_t batch_add_row(struct batch *b) _must_check_;
/* batch_set() for a column that may still be absent or have no null bits. 0 or -ENOMEM. */
int batch_set_slow(struct batch *b, unsigned int column, size_t row, int64_t value) _must_check_;
/* Sets a value of an integer column (any type except bytes). 0 or -ENOMEM. */
static inline _must_check_ int batch_set(struct batch *b, unsigned int column, size_t row,
					 int64_t value)
{
	struct column *c = &b->columns[column];

	if (unlikely(!c->val || !c->nulls))
		return batch_set_slow(b, column, row, value);
	assert(row < b->rows);
	c->val[row] = value;
	c->nulls[row / 64] &= ~(1ull << (row % 64));
	return 0;
}
/* Sets a byte column; `row` must be the last row added. At most UINT32_MAX bytes per column of a batch. */
int batch_set_bytes(struct batch *b, unsigned int column, size_t row, const void *data,
		    size_t len) _must_check_;
/* batch_set_bytes() for a row that may already have a value. */
int batch_replace_bytes(struct batch *b, unsigned int column, size_t row, const void *data,
			size_t len) _must_check_;
static inline int batch_set_str(struct batch *b, unsigned int column, size_t row, const char *text)
{
	return batch_set_bytes(b, column, row, text, __builtin_strlen(text));
}
/*
 * Makes an absent column present, with room for every row, so that a decoder can fill val[] in place: with `nulls` all
 * rows are null, else all values are 0 and there is no null bitmap. 0 or -ENOMEM.
 */
int batch_make_column(struct batch *b, unsigned int column, bool nulls) _must_check_;
/* The same without initialization: the caller fills every value (or end) and, with `nulls`, every null bit. */
int batch_make_column_unset(struct batch *b, unsigned int column, bool nulls) _must_check_;
/* Makes a column absent (null in every row); keeps the memory. */
void batch_drop_column(struct batch *b, unsigned int column);
/* Sets the row count of an empty batch, for decoders; columns are added afterwards. */
void batch_resize(struct batch *b, size_t rows);
/* Makes a value null again. */
void batch_set_null(struct batch *b, unsigned int column, size_t row);

static inline bool batch_has(const struct batch *b, unsigned int column)
{
	return b->columns[column].val || b->columns[column].ends;
}

static inline bool batch_is_null(const struct batch *b, unsigned int column, size_t row)
{
	const struct column *c = &b->columns[column];

	return !batch_has(b, column) || (c->nulls && (c->nulls[row / 64] >> (row % 64) & 1));
}

/* The value, or `otherwise` if it is null. */
static inline int64_t batch_get(const struct batch *b, unsigned int column, size_t row,
				int64_t otherwise)
{
	return batch_is_null(b, column, row) ? otherwise : b->columns[column].val[row];
}

/* The bytes; {NULL, 0} if null. Valid while the batch is unchanged. */
static inline struct bytes batch_get_bytes(const struct batch *b, unsigned int column, size_t row)
{
	const struct column *c = &b->columns[column];
	uint32_t start;

	if (batch_is_null(b, column, row))
		return (struct bytes){NULL, 0};
	start = row ? c->ends[row - 1] : 0;
	return (struct bytes){c->data + start, c->ends[row] - start};
}

/* The permanent id of a row of op; -1: not in a stored block. */
static inline int64_t batch_row_id(const struct batch *b, size_t row)
{
	if (b->row_id < 0)
		return -1;
	if (b->row_ids)
		return b->row_ids[row];
	return b->row_id + (int64_t)(b->numbers ? b->numbers[row] : row);
}

/* Appends rows [from, to) of src (same table). 0 or -ENOMEM, -ENOSPC past BATCH_ROWS_MAX. */
int batch_append(struct batch *dst, const struct batch *src, size_t from, size_t to) _must_check_;
/* Appends rows src[rows[0..count)] in that order. */
int batch_append_rows(struct batch *dst, const struct batch *src, const uint32_t *rows,
		      size_t count) _must_check_;

/* One batch per table: what a source delivers at once. NULL: no rows of that table. */
struct batch_set {
	struct batch *tables[TABLE_COUNT];
};

/* The batch of a table, created on first use. 0 or -ENOMEM. */
int batch_set_table(struct batch_set *s, enum table_id table, struct batch **ret) _must_check_;
/* Adds a row to the batch of a table. 0, or -ENOMEM or -ENOSPC (past BATCH_ROWS_MAX) with *ret_b NULL. */
int batch_set_add_row(struct batch_set *s, enum table_id table, struct batch **ret_b,
		      size_t *ret_row) _must_check_;
/*
 * A row being filled, for code that sets many values: after the first failure, further values are not set, and `r` is
 * its error.
 *
 *	struct batch_row row = batch_set_row(out, TABLE_IRQ);
 *
 *	row_set(&row, IRQ_START, w->start);
 *	row_set_if(&row, w->raised, IRQ_RAISED, w->raised);
 *	return row.r;
 */
struct batch_row {
	struct batch *b;
	size_t at;
	int r; /* 0 or negative errno */
};
/* Adds a row: to a batch, or to the batch of a table in a set. */
struct batch_row batch_row(struct batch *b);
struct batch_row batch_set_row(struct batch_set *s, enum table_id table);

static inline void row_set(struct batch_row *row, unsigned int column, int64_t value)
{
	if (likely(row->r >= 0))
		row->r = batch_set(row->b, column, row->at, value);
}

/* If `there` is false, the value stays null and is not evaluated. */
#define row_set_if(row, there, column, value)        \
	do {                                         \
		if (there)                           \
			row_set(row, column, value); \
	} while (0)

static inline void row_set_bytes(struct batch_row *row, unsigned int column, const void *data,
				 size_t len)
{
	if (likely(row->r >= 0))
		row->r = batch_set_bytes(row->b, column, row->at, data, len);
}

static inline void row_set_str(struct batch_row *row, unsigned int column, const char *text)
{
	row_set_bytes(row, column, text, __builtin_strlen(text));
}

/* An empty text stays null. */
static inline void row_set_text(struct batch_row *row, unsigned int column, struct bytes text)
{
	if (text.len)
		row_set_bytes(row, column, text.data, text.len);
}

/* Adds a row of `mark`: an event at one moment ("weir.stopped", "duration"). 0 or negative. */
int batch_set_add_mark(struct batch_set *s, int64_t at, const char *name, const void *text,
		       size_t len) _must_check_;
void batch_set_clear(struct batch_set *s);
void batch_set_free(struct batch_set *s);
#define _cleanup_batch_set_ _cleanup_(batch_set_free)
/* Rows of all tables together. */
size_t batch_set_count(const struct batch_set *s);
