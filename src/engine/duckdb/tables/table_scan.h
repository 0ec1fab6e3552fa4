/* SPDX-License-Identifier: Apache-2.0 */
/* table_scan.h: a table of a trace as a table function: its columns, its arguments, one scan of it. */
#pragma once

#include "base/map.h"
#include "engine/duckdb/internal.h"

/* How a column of SQL is made from a column of the batch. */
enum cell {
	CELL_INT64,	  /* the value's 64 bits: BIGINT, UBIGINT, TIMESTAMP_NS */
	CELL_CODE,	  /* vocabulary word: ENUM */
	CELL_TEXT,	  /* bytes, escaped: VARCHAR */
	CELL_ARGV,	  /* words separated by NUL, as a shell would take them: VARCHAR */
	CELL_BLOB,	  /* bytes as they are */
	CELL_BOOL,	  /* BOOLEAN */
	CELL_SQL,	  /* text as SQL had it, escaped only where it is no UTF-8: VARCHAR */
	CELL_NAME,	  /* text that hangs on the id in the column: ENUM */
	CELL_NAME_TEXT,	  /* the same where there are many: VARCHAR */
	CELL_NUMBER,	  /* number that hangs on the id: BIGINT */
	CELL_NUMBER_CODE, /* number that hangs on the id and is a code: ENUM */
	CELL_ROW,	  /* where the row is: trace << 40 | block << 16 | row of the block */
	CELL_PEER,	  /* peer of peer_id's file, else of file_id's: ENUM */
	CELL_PEER_TEXT,	  /* VARCHAR */
};

struct scan_column {
	char name[MADE_COLUMN_MAX + 1];
	enum cell cell;
	unsigned int column;	       /* of the batch */
	unsigned int column2;	       /* CELL_PEER: OP_FILE_ID */
	duckdb_type type;	       /* for cells that are no ENUM */
	const struct words *words;     /* ENUMs */
	enum name source;	       /* of cells by an id */
	const struct numbers *numbers; /* CELL_NUMBER, CELL_NUMBER_CODE; from sql_prepare() on */
};

#define SCAN_COLUMNS_MAX (SCHEMA_COLUMNS_MAX * 2)

/* What a scan is asked for: the arguments of the function. */
struct scan_filter {
	bool by_time, by_file, by_thread;
	int64_t start, stop;	   /* rows that overlap [start, stop) */
	struct map files, threads; /* sets of ids */
};

struct scan_table {
	struct duck *e;
	enum table_id table; /* TABLE_OWN: weir_user(name) */
	bool named;	     /* op_named: names joined */
};

struct scan_bind {
	struct duck *e;
	enum table_id table;
	const struct table_def *def;
	size_t pin;
	/* Of TABLE_OWN: the generations that are in force, one of a trace each. With `plain` the values are as the language has
	 * them, for translations: times are numbers, BLOBs texts, and the last column is the row's number in the order of the
	 * table. */
	const struct store_made **parts;
	size_t part_count;
	bool plain;
	struct scan_filter filter;
	const struct live *live; /* dimension tables; from sql_prepare() on */
	size_t column_count;
	struct scan_column columns[SCAN_COLUMNS_MAX];
};

/* table_columns.c: adds the place of a row, which names a call for good. */
void sql_row_id(struct scan_bind *b, const char *name);
/* table_made.c: finds the tables of a name; where their columns differ the error says so. */
int made_find(struct scan_bind *b, const char *name, struct error *err);
/* Fills columns of *b for the table. */
int sql_columns(struct scan_bind *b, bool named, struct error *err);
/* Before rows are read: which rows hold, and what `column` of them needs (SIZE_MAX: nothing more). */
int sql_prepare(struct scan_bind *b, size_t column, struct error *err);

/* table_filter.c: which columns of a table the arguments mean; UINT_MAX: the table has none such. */
struct filter_columns {
	unsigned int start, dur_or_stop, file, thread;
	bool stop_is_time; /* dur_or_stop is a point in time */
};
struct filter_columns filter_columns_of(enum table_id table);
/* Names of the arguments that the table takes: "start", "stop", "files", "threads". */
void filter_declare(const struct duckdb_api *d, duckdb_table_function f, enum table_id table);
int filter_read(const struct duckdb_api *d, duckdb_bind_info info, enum table_id table,
		struct scan_filter *f, struct error *err);
void filter_free(struct scan_filter *f);
static inline bool filter_any(const struct scan_filter *f)
{
	return f->by_time || f->by_file || f->by_thread;
}
/* The columns that filter_rows() reads, as a set. */
uint64_t filter_column_set(const struct scan_filter *f, enum table_id table);
/* False where no row of the block can pass; nothing is decoded. */
bool filter_block(const struct scan_filter *f, const struct store *s, size_t block);
/* Writes the numbers of the rows that pass to out, from those given (NULL: all of the batch); how
 * many. */
size_t filter_rows(const struct scan_filter *f, const struct batch *b, const uint32_t *rows,
		   size_t count, uint32_t *out);

/* table_fill.c: rows [from, from + count) of the selection (sel NULL: of the batch) into a vector. 0 or
 * -ENOMEM. */
int fill_vector(struct duck *e, const struct scan_column *c, const struct batch *b,
		const uint32_t *sel, size_t from, size_t count, duckdb_vector out,
		struct buf *scratch);
