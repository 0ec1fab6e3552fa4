/* SPDX-License-Identifier: Apache-2.0 */
/*
 * weir_rows.h: weir_rows(), the rows of a table as weir's language sees them:
 *
 *   FROM weir_rows('op', 'dur > 1ms && path ~ "*.sst"', ['comm', 'dir(path)', 'dur'])
 *
 * The filter (NULL: none) and the columns are expressions given as text, so that output of `--explain` can be pasted
 * into `weir sql`, and SQL has the language's filters. They are parsed when the statement is bound and evaluated here:
 * blocks that the filter excludes are not read, the columns that it needs are decoded first, and the others only if a
 * row passed. Named arguments:
 *   ended_from, ended_to   rows that ended in [from, to), ns since the epoch
 *   first_block            blocks from this one on (those added since)
 *   numbers                only the rows with these numbers (see row_number)
 *   each_file              a call that moves bytes between two files once for each, with the filter applied to each
 *   summed                 groups of a block's summary as rows, if it has one: see from_summaries.h
 *   top, top_order         only rows that can be among the first `top` when sorted by the first
 *                          column, 'asc' or 'desc', nulls last (a hint: the caller must still sort and limit)
 *
 * Some columns are not expressions: row_number identifies a row of the store, row_end is its position in the trace's
 * order (sums/order.h), row_calls and similar ones are the sums that rows represent (from_summaries.h).
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
	ROWS_WORDS,  /* a text by id: ENUM of the existing texts */
	ROWS_TEXT,   /* VARCHAR, escaped */
	ROWS_PACKED, /* BLOB: packed histograms */
	ROWS_NUMBER, /* row_number */
	ROWS_END,    /* row_end */
	/* row_calls ...: sums that a row of a summary represents, see from_summaries.h */
	ROWS_CALLS,
	ROWS_BYTES,
	ROWS_TIME,
	ROWS_MAX,
	ROWS_HIST,
	/* columns of weir_<table>(), taken from a column of the batch; ROWS_INT and ROWS_CODE likewise */
	ROWS_STORED, /* bytes, escaped: VARCHAR */
	ROWS_NAME,   /* the same: ENUM of the existing texts */
	ROWS_ARGV,   /* words separated by NUL, with shell quoting: VARCHAR */
	ROWS_BLOB,   /* unchanged bytes */
	ROWS_SQL,    /* text as SQL wrote it, escaped only if it is not UTF-8: VARCHAR */
	ROWS_TRUTH,  /* BOOLEAN */
	ROWS_INODE,  /* the file over all versions of the one in the column */
	ROWS_ID, /* row_id: permanent id of the row: trace << 40 | block << 16 | row in the block */
};

struct rows_column {
	char *name;
	enum rows_cell cell;
	duckdb_type type;  /* for cells that are not ENUMs */
	struct plan *plan; /* NULL for columns that are not expressions */
	const struct expr *expr;
	size_t k;		    /* its index among the expressions of eval */
	int direct;		    /* the batch column with its values, -1: evaluate */
	const struct words *words;  /* for ENUMs */
	struct words own;	    /* ROWS_WORDS: owned by this bind */
	const struct intern *texts; /* ROWS_NAME */
	unsigned int named;	    /* for op_named: index of the name + 1; 0: not one */
};

/* The rows listed in `numbers`, by block. */
struct rows_picked {
	int64_t *numbers; /* ascending within a block */
	size_t count;
};

/* The `top` argument: keep the best rows by the sort key. */
struct rows_top {
	size_t count;
	bool desc;
};

/*
 * The expressions of a call with their resolved names. The engine caches them for the next call with the same texts, so
 * that a repeated query only resolves new names.
 */
struct rows_exprs {
	struct rows_exprs *next;
	_Atomic unsigned int uses; /* number of binds that use it */
	char *key;		   /* table, filter and columns */
	size_t pin;		   /* number of blocks whose names are resolved */
	uint64_t users;		   /* store_made_changes() when it was made, for users' tables */
	struct duck *e;
	enum table_id table;
	/* texts become ENUMs if the table they come from has few rows, not if they are few */
	bool by_rows;
	struct plan *filter_plan;
	const struct expr *filter; /* expression 0 of eval, if there is a filter */
	struct eval *eval;	   /* NULL: nothing to evaluate */
	size_t column_count;
	struct rows_column columns[ROWS_COLUMNS_MAX];
};

#define ROWS_KEPT_MAX 4 /* size of an engine's cache: an entry may hold data by file */

struct rows_bind {
	struct duck *e;
	enum table_id table;
	const struct rows_column *columns; /* the columns of x, or of the table */
	size_t column_count;
	size_t pin, first_block;
	int64_t from, to;
	struct rows_exprs *x;
	uint64_t filter_columns; /* decoded first: columns that the filter and the range read */
	const struct live *live; /* for dimension tables */
	bool picked;
	struct rows_picked pick;
	struct rows_top top;
	bool from_summaries;
	/* op: calls that move bytes between two files once for each, see batch/seconds.h */
	bool each_file;
	struct rows_table *of; /* additional state of weir_<table>(); NULL for weir_rows() */
};

/* rows_exprs.c: the expressions of a call, from the cache if possible. Return them with rows_exprs_put(). */
int rows_exprs_get(struct duck *e, enum table_id table, const char *filter, bool by_rows,
		   const char *const *columns, size_t column_count, struct rows_exprs **ret,
		   struct error *err);
void rows_exprs_put(struct rows_exprs *x);
/* rows_bind.c: reads the arguments. */
int rows_bind_read(struct rows_bind *b, duckdb_bind_info info, struct error *err);
void rows_bind_free(void *p);
/* A named numeric argument of a table function; false if it is missing or NULL. */
bool rows_argument(const struct duckdb_api *d, duckdb_bind_info info, const char *name,
		   int64_t *ret);
/* Sets the columns needed for row selection; call after expressions and range are set. */
void rows_bind_filter(struct rows_bind *b);
/* False if no row of the block can pass. */
bool rows_block_passes(const struct rows_bind *b, size_t block);

/* Rows of a batch to output: rows[0 .. count). */
struct rows_slice {
	const struct batch *batch;
	const uint32_t *rows;
	size_t count;
	const struct store_block *block;
	size_t block_number;
	const int64_t *ends;	  /* of all rows of the batch, if a column needs it */
	const struct batch *sums; /* the summary to which the rows belong; NULL: rows are calls */
};

/* Declares the columns of a bind, and the estimated number of rows. */
void rows_declare(duckdb_bind_info info, const struct rows_bind *b);
/* weir_rows.c: the scan, the same for all table functions. */
void rows_set_scan(const struct duckdb_api *d, duckdb_table_function f);
/* rows_fill.c: copies a column's values for the slice to a vector. 0 or negative. */
int rows_fill(const struct rows_exprs *x, const struct rows_column *c, struct eval_scratch *scratch,
	      const struct rows_slice *s, duckdb_vector out, struct buf *text);
/* rows_bytes.c: the same for ROWS_STORED, ROWS_ARGV, ROWS_BLOB, ROWS_SQL. */
int rows_bytes(const struct duckdb_api *d, const struct rows_column *c, const struct rows_slice *s,
	       duckdb_vector out, struct buf *scratch);

/* ---- weir_tables.c: tables as stored ---- */

struct rows_table {
	const struct table_def *def;
	struct buf filter; /* the arguments as a filter in the language */
	bool late;	   /* names are resolved once it is known which are read */
	/*
	 * For TABLE_OWN: the current generations, one per trace. With `plain`, for translated plans, values are those
	 * of the language: times are numbers, BLOBs are texts, and the last column is the row's number in the order of
	 * the table.
	 */
	bool plain;
	const struct store_made **parts;
	size_t part_count;
	size_t count;
	struct rows_column columns[ROWS_COLUMNS_MAX];
};
void rows_table_free(struct rows_table *t);
/* Replaces columns of names with their expressions; *ret: the expressions, NULL: those in b->x. 0 or negative. */
int rows_table_names(const struct rows_bind *b, const struct rows_column **outputs, size_t count,
		     struct rows_exprs **ret, struct error *err);
/* table_made.c: finds the tables with a name; reports an error if their columns differ. */
int made_find(const struct duck *e, struct rows_table *t, const char *name, struct error *err);
/*
 * table_filter.c: converts the arguments "start", "stop", "files", "threads", if the table accepts them, to a filter of
 * the language.
 */
void filter_declare(const struct duckdb_api *d, duckdb_table_function f, enum table_id table);
int filter_read(const struct duckdb_api *d, duckdb_bind_info info, enum table_id table,
		struct buf *out, struct error *err);
