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

#define ROWS_COLUMNS_MAX (2 * SCHEMA_COLUMNS_MAX)

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
	/* of weir_<table>(), of a column of the batch; ROWS_INT and ROWS_CODE likewise */
	ROWS_STORED, /* bytes, escaped: VARCHAR */
	ROWS_NAME,   /* the same: ENUM of the texts there are */
	ROWS_ARGV,   /* words separated by NUL, as a shell would take them: VARCHAR */
	ROWS_BLOB,   /* bytes as they are */
	ROWS_SQL,    /* a text as SQL had it, escaped only where it is no UTF-8: VARCHAR */
	ROWS_TRUTH,  /* BOOLEAN */
	ROWS_INODE,  /* the file over all versions of that in the column */
	ROWS_ID, /* row_id: where the row is for good: trace << 40 | block << 16 | row of the block */
};

struct rows_column {
	char *name;
	enum rows_cell cell;
	duckdb_type type;  /* cells that are no ENUM */
	struct plan *plan; /* NULL for the special ones */
	const struct expr *expr;
	size_t k;		    /* its number among the expressions of eval */
	int direct;		    /* the column of the batch whose values it is, -1: evaluate */
	const struct words *words;  /* ENUMs */
	struct words own;	    /* ROWS_WORDS: of this bind */
	const struct intern *texts; /* ROWS_NAME */
	unsigned int named;	    /* of op_named: number of the name, and one; 0: it is none */
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
	bool by_rows; /* texts are ENUMs where the table that they are from has few rows, not where they are few */
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
	const struct rows_column *columns; /* those of x, or of the table */
	size_t column_count;
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
	struct rows_table *of; /* what weir_<table>() has besides; NULL: it is weir_rows() */
};

/* rows_exprs.c: the expressions of a call; `key` as they were given. Given back with
 * rows_exprs_put(). */
int rows_exprs_get(struct duck *e, enum table_id table, const char *filter, bool by_rows,
		   const char *const *columns, size_t column_count, struct rows_exprs **ret,
		   struct error *err);
void rows_exprs_put(struct rows_exprs *x);
/* rows_bind.c: what the arguments say. */
void rows_bind_free(void *p);
/* A named argument of a table function, a number; false where it was not given, or is NULL. */
bool rows_argument(const struct duckdb_api *d, duckdb_bind_info info, const char *name,
		   int64_t *ret);
/* Notes the columns that choosing rows asks for, once expressions and range stand. */
void rows_bind_filter(struct rows_bind *b);
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

/* The columns of a bind, and how many rows there may be. */
void rows_declare(duckdb_bind_info info, const struct rows_bind *b);
/* weir_rows.c: the scan, the same for all table functions. */
void rows_set_scan(const struct duckdb_api *d, duckdb_table_function f);
/* rows_fill.c: a column's values for the slice into a vector. 0 or negative. */
int rows_fill(const struct rows_exprs *x, const struct rows_column *c, struct eval_scratch *scratch,
	      const struct rows_slice *s, duckdb_vector out, struct buf *text);
/* rows_bytes.c: the same of ROWS_STORED, ROWS_ARGV, ROWS_BLOB, ROWS_SQL. */
int rows_bytes(const struct duckdb_api *d, const struct rows_column *c, const struct rows_slice *s,
	       duckdb_vector out, struct buf *scratch);

/* ---- weir_tables.c: the tables as they are stored ---- */

struct rows_table {
	const struct table_def *def;
	struct buf filter; /* of the arguments, as a text of the language */
	bool late;	   /* names are looked up when it is known which are asked for */
	/* Of TABLE_OWN: the generations that are in force, one of a trace each. With `plain` the values are as the language has
	 * them, for translations: times are numbers, BLOBs texts, and the last column is the row's number in the order of the
	 * table. */
	bool plain;
	const struct store_made **parts;
	size_t part_count;
	size_t count;
	struct rows_column columns[ROWS_COLUMNS_MAX];
};
void rows_table_free(struct rows_table *t);
/* Puts the expressions of names in the place of their columns; *ret: where they are, NULL: in b->x. 0 or negative. */
int rows_table_names(const struct rows_bind *b, const struct rows_column **outputs, size_t count,
		     struct rows_exprs **ret, struct error *err);
/* table_made.c: finds the tables of a name; where their columns differ the error says so. */
int made_find(const struct duck *e, struct rows_table *t, const char *name, struct error *err);
/* table_filter.c: the arguments "start", "stop", "files", "threads", where the table takes them: a filter of the language. */
void filter_declare(const struct duckdb_api *d, duckdb_table_function f, enum table_id table);
int filter_read(const struct duckdb_api *d, duckdb_bind_info info, enum table_id table,
		struct buf *out, struct error *err);
