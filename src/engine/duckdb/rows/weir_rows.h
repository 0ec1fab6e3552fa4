/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir_rows.h: weir_rows(), rows of a table as weir's language sees them:
 *
 *   FROM weir_rows('op', 'dur > 1ms && path ~ "*.sst"', ['comm', 'dir(path)', 'dur'])
 *
 * The filter (NULL: none) and the columns are expressions, as texts, so that what `--explain` prints can be
 * pasted into `weir sql`, and SQL has the language's filters. They are parsed when the
 * statement is bound and evaluated here: blocks that the filter excludes are not read, the columns
 * that it reads are decoded first, the others only where a row passed. Named arguments:
 *   ended_from, ended_to   rows that ended in [from, to), ns since the epoch
 *   first_block            blocks from this one on (what came since)
 *   numbers                only the rows with these numbers (see row_number)
 *   each_file              calls that move bytes between two files once for each, the filter tested for each
 *   summed                 groups of a block's summary as rows, where it has them: see from_summaries.h
 *   top, top_order         only rows that can be among the first `top` when sorted by the first
 *                          column, 'asc' or 'desc', nulls last (a hint: sort and cut all the same)
 * Some columns are no expressions: row_number names a row of the store, row_end is the trace's order
 * (sums/order.h), row_calls and its kin are what rows stand for (from_summaries.h).
 */
#pragma once

#include "base/map.h"
#include "engine/duckdb/internal.h"
#include "query/eval/eval.h"
#include "query/query.h"

#define ROWS_COLUMNS_MAX 128

enum rows_cell {
	ROWS_INT,    /* BIGINT, UBIGINT */
	ROWS_FLOAT,  /* DOUBLE */
	ROWS_BOOL,   /* BOOLEAN */
	ROWS_CODE,   /* a vocabulary's ENUM */
	ROWS_WORDS,  /* a text by id: ENUM of the texts there are */
	ROWS_TEXT,   /* VARCHAR, escaped */
	ROWS_PACKED, /* BLOB: packed histograms */
	ROWS_NUMBER, /* row_number */
	ROWS_END,    /* row_end */
	ROWS_CALLS,  /* row_calls ...: what a row of a summary stands for, see from_summaries.h */
	ROWS_BYTES,
	ROWS_TIME,
	ROWS_MAX,
	ROWS_HIST,
};

struct rows_column {
	char *name;
	enum rows_cell cell;
	duckdb_type type;  /* cells that are no ENUM */
	struct plan *plan; /* NULL for the special ones */
	const struct expr *expr;
	size_t k;		   /* its number among the expressions of eval */
	int direct;		   /* the column of the batch whose values it is, -1: evaluate */
	const struct words *words; /* ENUMs */
	struct words own;	   /* ROWS_WORDS: of this bind */
};

/* The rows of `numbers`, by block. */
struct rows_picked {
	int64_t *numbers; /* ascending within a block */
	size_t count;
};

/* The best `top` values of the sort key so far; shared by the threads. */
struct rows_top {
	size_t count;
	bool desc;
};

/*
 * The expressions of one call, with what was worked out for them: kept by the engine for the next
 * call with the same texts, so that a question that is asked again looks at new names only.
 */
struct rows_exprs {
	struct rows_exprs *next;
	_Atomic unsigned int uses; /* binds that hold it */
	char *key;		   /* table, filter and columns */
	size_t pin;		   /* blocks whose names it knows */
	uint64_t users;		   /* store_made_changes() when it was made: users' tables */
	struct duck *e;
	enum table_id table;
	struct plan *filter_plan;
	const struct expr *filter; /* expression 0 of eval, where there is one */
	struct eval *eval;	   /* NULL: there is nothing to evaluate */
	size_t column_count;
	struct rows_column columns[ROWS_COLUMNS_MAX];
};

#define ROWS_KEPT_MAX 4 /* kept by an engine: each may hold something by file */

struct rows_bind {
	struct duck *e;
	enum table_id table;
	size_t pin, first_block;
	int64_t from, to;
	struct rows_exprs *x;
	uint64_t filter_columns; /* decoded first: what the filter and the range read */
	const struct live *live; /* dimension tables */
	bool picked;
	struct rows_picked pick;
	struct rows_top top;
	bool from_summaries;
	bool each_file; /* of op: calls that move bytes between two files once for each, see batch/seconds.h */
};

/* rows_exprs.c: the expressions of a call; `key` as they were given. Given back with
 * rows_exprs_put(). */
int rows_exprs_get(struct duck *e, enum table_id table, const char *filter, char *const *columns,
		   size_t column_count, struct rows_exprs **ret, struct error *err);
void rows_exprs_put(struct rows_exprs *x);
/* rows_bind.c: what the arguments say. */
int rows_bind_read(struct rows_bind *b, duckdb_bind_info info, struct error *err);
void rows_bind_free(void *p);
/* False where no row of the block can pass. */
bool rows_block_passes(const struct rows_bind *b, size_t block);

/* Rows of a batch that go out: rows[0 .. count) of it. */
struct rows_slice {
	const struct batch *batch;
	const uint32_t *rows;
	size_t count;
	const struct store_block *block;
	size_t block_number;
	const int64_t *ends;	  /* of all rows of the batch, where a column asks for it */
	const struct batch *sums; /* the summary that the rows are; NULL: they are calls */
};

/* rows_fill.c: a column's values for the slice into a vector. 0 or negative. */
int rows_fill(const struct rows_bind *b, const struct rows_column *c, struct eval_scratch *scratch,
	      const struct rows_slice *s, duckdb_vector out, struct buf *text);
