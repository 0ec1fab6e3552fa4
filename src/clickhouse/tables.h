/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h: the tables for traces in ClickHouse. Each table except those of sums has one of the same name, with its
 * columns and these (so does a user's own table, with its name and columns in lower case):
 *
 *   recording  UInt32  the recording (table `recording`)
 *   block_no   UInt64  the file and the block in it: clickhouse_block_no(); with `recording` it identifies a loaded block
 *   row_no     UInt64  for op the call's row_id, else the row's index in its block
 *   ended      Int64   when it ended, ns (sums/order.h); 0 for dimension rows; in a table made
 *                      after recording the row's generation: the newest in table `made`, or `own`, is in force
 *   day        Date    of the block's first row, so that a block is in one partition and is inserted atomically; the
 *                      other rows ended within a day of it, else it is CLICKHOUSE_DAY_NONE
 *
 * The trace's order is (ended, recording, block_no, row_no). A code `x` is a number in x_code; `x` is an alias for
 * its word. In op `start` is an alias too: nearly always ended - dur (start_kind 0; 3: the call had not ended), else
 * null (1) or start_odd (2).
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "schema/schema.h"

/* The day of blocks whose rows ended on several days: 2106-02-07, the last Date of 18.16. */
#define CLICKHOUSE_DAY_NONE 49709
#define CLICKHOUSE_DAY_NS   86400000000000ll

enum { START_IS_BEFORE_END, START_IS_NULL, START_IS_ODD, START_UNFINISHED };

static inline uint64_t clickhouse_block_no(uint64_t part, bool long_calls, uint64_t seq)
{
	return part << 33 | (uint64_t)long_calls << 32 | (uint32_t)seq;
}

/* True for a user's own table, which never has the name of a schema table (store/made/made.h). */
static inline bool clickhouse_is_own(const struct table_def *t)
{
	return schema_table_find(t->name) < 0;
}
/* True for tables that are loaded. */
bool clickhouse_has_table(enum table_id table);
/* The column for a column of the schema: "dur", "op_code"; and its type. */
int clickhouse_column_of(const struct table_def *t, unsigned int column,
			 struct buf *out) _must_check_;
static inline _must_check_ int clickhouse_column(enum table_id table, unsigned int column,
						 struct buf *out)
{
	return clickhouse_column_of(schema_table(table), column, out);
}
const char *clickhouse_type(const struct column_def *c);
/*
 * CREATE DATABASE and all CREATE TABLE, each ended by ";\n", for a version (18016); rows may be dropped `keep_ns`
 * after they ended (0: never; before 19.6 partitions are dropped by hand).
 */
int clickhouse_ddl(const char *database, unsigned int version, int64_t keep_ns,
		   struct buf *out) _must_check_;

/* ---- own.c: users' own tables (weir annotate) ---- */

/* Appends `name` in backquotes and in lower case, as names that differ only in case are the same. */
int clickhouse_own_name(const char *name, struct buf *out) _must_check_;
/* -EINVAL if the database cannot have a table of this name or with these columns; the message gives the reason. */
int clickhouse_own_refuses(const struct table_def *t, struct error *err);
/* CREATE TABLE, ended by ";\n". */
int clickhouse_own_ddl(const struct table_def *t, unsigned int version, int64_t keep_ns,
		       struct buf *out) _must_check_;
/* The name and type of each column as in the table: "file_id Nullable(Int64),team Nullable(String)". */
int clickhouse_own_layout(const struct table_def *t, struct buf *out) _must_check_;
/*
 * Table `own` records which generation of a table is in force, and its columns as weir has them: type, unit and name
 * of each, concatenated, each ended by NUL ("shape"; without columns the table was dropped). When reading, `text`
 * gets NULs and must outlive the columns, which the caller frees; -EBADMSG: malformed.
 */
int clickhouse_shape_put(const struct table_def *t, struct buf *out);
int clickhouse_shape_get(struct bytes text, struct column_def **ret, unsigned int *ret_count);
/*
 * "SELECT recording, part, generation, rows, title, shape, name" for the generations in force, of `name` or of all
 * tables (NULL); `also`: " AND ..."
 */
int clickhouse_own_in_force(const char *name, const char *also, struct buf *out) _must_check_;
