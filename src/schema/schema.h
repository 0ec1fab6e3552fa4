/* SPDX-License-Identifier: Apache-2.0 */
/*
 * schema: the contents of a trace. Tables and columns (tables.h), vocabularies (vocab.h), operations and their
 * arguments (ops.h), the records that kernel and recorder share (wire.h), and the selection that the kernel can
 * evaluate (select.h). May use base.
 *
 * schema.h: the tables of tables.h as enums and as data.
 *
 *   OP_START is column 0 of table TABLE_OP: schema_table(TABLE_OP)->columns[OP_START].name == "start"
 */
#pragma once

#include <limits.h>

#include "base/util.h"
#include "schema/tables.h"

enum table_id {
#define TABLE(T, ...) TABLE_##T,
	SCHEMA_TABLES(TABLE)
#undef TABLE
		TABLE_COUNT,
};

/* A table outside the schema: the file that contains it declares its columns (store/made/made.h). */
#define TABLE_OWN TABLE_COUNT

enum schema_kind {
	TABLE_IS_EVENTS,
	TABLE_IS_DIMENSION,
	TABLE_IS_SUMS,
	TABLE_IS_MADE,
};

enum column_type {
	COLUMN_INT,
	COLUMN_UINT,
	COLUMN_ID,
	COLUMN_TIME,
	COLUMN_DUR,
	COLUMN_SIZE,
	COLUMN_CODE,
	COLUMN_BYTES,
	/* only in tables that a file declares: */
	COLUMN_FLOAT, /* the 64 bits of a double */
	COLUMN_BOOL,  /* 0 or 1 */
	COLUMN_TEXT,  /* UTF-8; \xHH stands for an invalid byte, as in SQL */
	COLUMN_BLOB,
	COLUMN_TYPES,
};

static inline bool column_is_bytes(enum column_type type)
{
	return type == COLUMN_BYTES || type == COLUMN_TEXT || type == COLUMN_BLOB;
}

/* OP_START, ..., OP_COLUMNS; THREAD_ID, ...: the number of a column in its table. */
#define SCHEMA_ENUM(T, t, N, n, type, unit, doc) T##_##N,
#define TABLE(T, t, ...)			 enum t##_column{SCHEMA_##T(SCHEMA_ENUM) T##_COLUMNS};
SCHEMA_TABLES(TABLE)
#undef TABLE
#undef SCHEMA_ENUM

#define SCHEMA_COLUMNS_MAX 64 /* a column set fits one uint64_t; the widest table has 28 */

#define NO_COLUMN UINT_MAX

struct column_def {
	const char *name;
	enum column_type type;
	const char *
		unit; /* "ns", "bytes", ""; of a reference ">thread": schema_unit(), schema_refers() */
	const char *doc;
};

struct table_def {
	const char *name;
	const char *doc;
	enum schema_kind kind;
	unsigned int start, dur,
		stop; /* columns with a row's start, duration and end, or NO_COLUMN */
	const struct column_def *columns;
	unsigned int column_count;
};

/* The name of a column type in files and other stores. And its inverse; -1: unknown. */
const char *column_type_name(enum column_type type);
int column_type_find(const char *name);
/* The definition of a table; never NULL for id < TABLE_COUNT. */
const struct table_def *schema_table(enum table_id id);
static inline bool schema_is_dimension(enum table_id id)
{
	return schema_table(id)->kind == TABLE_IS_DIMENSION;
}
/* The dimension tables in the order in which their rows are enriched and stored: a row follows those it refers to. */
#define SCHEMA_DIMENSION_COUNT 6
extern const enum table_id schema_dimensions[SCHEMA_DIMENSION_COUNT];
/* The columns that determine when a row of the table ended; 0 if it has none. */
uint64_t schema_end_columns(enum table_id id);
/* The unit of a column's values: "ns", "bytes", "" for plain numbers, references and texts. */
const char *schema_unit(const struct column_def *c);
/* The dimension table whose ids the column holds (thread.task and file.inode refer to their own table), TABLE_OP for
 * the row_id of a call, or -1. */
int schema_refers(const struct table_def *t, unsigned int column);
/* The id of a table or column by name, or -1. */
int schema_table_find(const char *name);
int schema_column_find(enum table_id table, const char *name);
