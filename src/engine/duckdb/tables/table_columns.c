// SPDX-License-Identifier: Apache-2.0
/* table_columns.c: the SQL columns of each table: those of the schema, a TIMESTAMP_NS beside each point
 * in time, and the names that op_named adds. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/tables/table_scan.h"

/* What op_named adds; docs/howto/sql.md lists them. */
static const struct {
	const char *name;
	enum cell cell;
	unsigned int column;
	enum name source;
} named_columns[] = {
	{"comm", CELL_NAME, OP_THREAD_ID, NAME_COMM},
	{"exe", CELL_NAME, OP_THREAD_ID, NAME_EXE},
	{"pid", CELL_NUMBER, OP_THREAD_ID, NAME_PID},
	{"ppid", CELL_NUMBER, OP_THREAD_ID, NAME_PPID},
	{"uid", CELL_NUMBER, OP_THREAD_ID, NAME_UID},
	{"process_id", CELL_NUMBER, OP_THREAD_ID, NAME_PROCESS_ID},
	{"cgroup", CELL_NAME, OP_THREAD_ID, NAME_CGROUP},
	{"container", CELL_NAME, OP_THREAD_ID, NAME_CONTAINER},
	{"unit", CELL_NAME, OP_THREAD_ID, NAME_UNIT},
	{"host", CELL_NAME, OP_THREAD_ID, NAME_HOST},
	{"path", CELL_NAME, OP_FILE_ID, NAME_PATH},
	{"hostpath", CELL_NAME, OP_FILE_ID, NAME_HOSTPATH},
	{"file_name", CELL_NAME, OP_FILE_ID, NAME_FILE},
	{"file_type", CELL_NUMBER_CODE, OP_FILE_ID, NAME_FILE_TYPE},
	{"inode_id", CELL_NUMBER, OP_FILE_ID, NAME_INODE},
	{"path2", CELL_NAME, OP_FILE2_ID, NAME_PATH},
	{"file2_name", CELL_NAME, OP_FILE2_ID, NAME_FILE},
	{"inode2_id", CELL_NUMBER, OP_FILE2_ID, NAME_INODE},
	{"peer", CELL_PEER, OP_PEER_ID, NAME_PEER},
	{"stack", CELL_NAME, OP_STACK_ID, NAME_STACK},
	{"kstack", CELL_NAME, OP_KSTACK_ID, NAME_STACK},
};

/* Byte columns of dimension tables that are ENUMs, by the row's own id. */
static const struct {
	enum table_id table;
	unsigned int column;
	enum name source;
} enum_columns[] = {
	{TABLE_THREAD, THREAD_COMM, NAME_COMM},
	{TABLE_THREAD, THREAD_EXE, NAME_EXE},
	{TABLE_FILE, FILE_PATH, NAME_PATH},
	{TABLE_FILE, FILE_HOSTPATH, NAME_HOSTPATH},
};

static int bytes_column(struct scan_bind *b, unsigned int column, struct scan_column *c,
			struct error *err)
{
	for (size_t i = 0; i < ARRAY_SIZE(enum_columns); i++) {
		if (enum_columns[i].table == b->table && enum_columns[i].column == column &&
		    !names_many(b->e, enum_columns[i].source)) {
			c->cell = CELL_NAME;
			c->column = 0; /* the id */
			return names_texts(b->e, enum_columns[i].source, &c->words, err);
		}
	}
	c->cell = CELL_TEXT;
	c->type = DUCKDB_TYPE_VARCHAR;
	if (b->table == TABLE_SUMMARY && column == SUMMARY_HIST) {
		c->cell = CELL_BLOB;
		c->type = DUCKDB_TYPE_BLOB;
	} else if (b->table == TABLE_PROCESS && column == PROCESS_ARGV) {
		c->cell = CELL_ARGV;
	}
	return 0;
}

static int schema_column(struct scan_bind *b, unsigned int column, struct error *err)
{
	const struct column_def *def = &b->def->columns[column];
	struct scan_column *c = &b->columns[b->column_count++];

	snprintf(c->name, sizeof(c->name), "%s", def->name);
	c->column = column;
	c->cell = CELL_INT64;
	switch (def->type) {
	case COLUMN_BYTES:
		return bytes_column(b, column, c, err);
	case COLUMN_CODE: /* of a table that this weir does not know there may be no words */
		c->words = b->plain ? NULL : duck_vocab(b->e, def->name);
		c->cell = c->words ? CELL_CODE : CELL_INT64;
		c->type = DUCKDB_TYPE_BIGINT;
		return 0;
	case COLUMN_UINT:
		c->type = DUCKDB_TYPE_UBIGINT;
		return 0;
	case COLUMN_FLOAT:
		c->type = DUCKDB_TYPE_DOUBLE;
		return 0;
	case COLUMN_BOOL:
		c->cell = CELL_BOOL;
		c->type = DUCKDB_TYPE_BOOLEAN;
		return 0;
	case COLUMN_TEXT:
		c->cell = CELL_SQL;
		c->type = DUCKDB_TYPE_VARCHAR;
		return 0;
	case COLUMN_BLOB:
		c->cell = b->plain ? CELL_TEXT : CELL_BLOB;
		c->type = b->plain ? DUCKDB_TYPE_VARCHAR : DUCKDB_TYPE_BLOB;
		return 0;
	case COLUMN_TIME:
		c->type = b->table == TABLE_OWN && !b->plain ? DUCKDB_TYPE_TIMESTAMP_NS
							     : DUCKDB_TYPE_BIGINT;
		return 0;
	default:
		c->type = DUCKDB_TYPE_BIGINT;
		return 0;
	}
}

static void time_column(struct scan_bind *b, unsigned int column)
{
	struct scan_column *c = &b->columns[b->column_count++];

	snprintf(c->name, sizeof(c->name), "%s_time", b->def->columns[column].name);
	c->cell = CELL_INT64;
	c->type = DUCKDB_TYPE_TIMESTAMP_NS;
	c->column = column;
}

static int named_column(struct scan_bind *b, size_t i, struct error *err)
{
	struct scan_column *c = &b->columns[b->column_count++];

	snprintf(c->name, sizeof(c->name), "%s", named_columns[i].name);
	c->cell = named_columns[i].cell;
	c->column = named_columns[i].column;
	c->column2 = OP_FILE_ID;
	c->source = named_columns[i].source;
	c->type = DUCKDB_TYPE_BIGINT;
	if (c->cell == CELL_NUMBER_CODE)
		c->words = duck_vocab(b->e, "type");
	if (c->cell != CELL_NAME && c->cell != CELL_PEER)
		return 0;
	if (!names_many(b->e, c->source))
		return names_texts(b->e, c->source, &c->words, err);
	c->cell = c->cell == CELL_NAME ? CELL_NAME_TEXT : CELL_PEER_TEXT;
	c->type = DUCKDB_TYPE_VARCHAR;
	return 0;
}

int sql_columns(struct scan_bind *b, bool named, struct error *err)
{
	const struct table_def *def = b->def;
	int r = 0;

	static_assert(SCHEMA_COLUMNS_MAX + ARRAY_SIZE(named_columns) + OP_COLUMNS + 1 <=
			      SCAN_COLUMNS_MAX,
		      "room for all");
	for (unsigned int i = 0; i < def->column_count && r >= 0; i++)
		r = schema_column(b, i, err);
	for (unsigned int i = 0; b->table != TABLE_OWN && i < def->column_count && r >= 0; i++) {
		if (def->columns[i].type == COLUMN_TIME)
			time_column(b, i);
	}
	for (size_t i = 0; named && i < ARRAY_SIZE(named_columns) && r >= 0; i++)
		r = named_column(b, i, err);
	return r;
}

int sql_prepare(struct scan_bind *b, size_t column, struct error *err)
{
	struct scan_column *c;
	int r = 0;

	if (b->def->kind == TABLE_IS_DIMENSION && !b->live)
		r = names_live(b->e, b->table, &b->live, err);
	if (r < 0 || column >= b->column_count)
		return r;
	c = &b->columns[column];
	switch (c->cell) {
	case CELL_NUMBER:
	case CELL_NUMBER_CODE:
		return names_numbers(b->e, c->source, &c->numbers, err);
	case CELL_NAME_TEXT:
	case CELL_PEER_TEXT:
		return names_need(b->e, c->source, err);
	default:
		return 0;
	}
}

void sql_row_id(struct scan_bind *b, const char *name)
{
	struct scan_column *c = &b->columns[b->column_count++];

	assert(b->column_count <= SCAN_COLUMNS_MAX);
	snprintf(c->name, sizeof(c->name), "%s", name);
	c->cell = CELL_ROW;
	c->type = DUCKDB_TYPE_BIGINT;
}
