/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h: in which tables traces lie in ClickHouse. Each table but those of sums has one of its name, with its columns and these
 * (a user's own table too, whose name and columns are in lower case there):
 *
 *   recording  UInt32  which recording (table `recording`)
 *   block_no   UInt64  which block of which of its files: clickhouse_block_no(); with `recording` a block is loaded once
 *   row_no     UInt64  of op the call's row_id, else the row's place in its block
 *   ended      Int64   when it ended, ns (sums/order.h); 0 of rows that describe; of a table that was made
 *                      after recording which generation the row is of: the newest that is in table `made`, or `own`, counts
 *   day        Date    of the block's first row: it is in one partition, so that it is there as a whole or not at all; the
 *                      others ended within a day of it, or it is CLICKHOUSE_DAY_NONE
 *
 * The trace's order is (ended, recording, block_no, row_no). A code `x` is a number in x_code; `x` is an alias with its word,
 * for people. Of op `start` is an alias too: nearly always ended - dur (start_kind 0; 3: the call had not ended), else null (1) or
 * start_odd (2).
 */
#pragma once

#include "base/buf.h"
#include "base/error.h"
#include "base/map.h"
#include "schema/schema.h"

/* The day of blocks whose rows ended on several: 2106-02-07, the last that Date of 18.16 reaches. */
#define CLICKHOUSE_DAY_NONE 49709
#define CLICKHOUSE_DAY_NS   86400000000000ll

enum { START_IS_BEFORE_END, START_IS_NULL, START_IS_ODD, START_UNFINISHED };

static inline uint64_t clickhouse_block_no(uint64_t part, bool long_calls, uint64_t seq)
{
	return part << 33 | (uint64_t)long_calls << 32 | (uint32_t)seq;
}

/* True of a user's own table: names of the schema are never those of one (store/made/made.h). */
static inline bool clickhouse_is_own(const struct table_def *t)
{
	return schema_table_find(t->name) < 0;
}
/* True for tables that are loaded. */
bool clickhouse_has_table(enum table_id table);
/* The column that holds a column of the schema: "dur", "op_code"; its type. */
int clickhouse_column_of(const struct table_def *t, unsigned int column, struct buf *out);
static inline int clickhouse_column(enum table_id table, unsigned int column, struct buf *out)
{
	return clickhouse_column_of(schema_table(table), column, out);
}
const char *clickhouse_type(const struct column_def *c);
/*
 * CREATE DATABASE and all CREATE TABLE, each ended by ";\n", for a version (18016); rows may go `keep_ns` after they ended (0:
 * never; before 19.6 partitions are dropped by hand).
 */
int clickhouse_ddl(const char *database, unsigned int version, int64_t keep_ns, struct buf *out);

/* ---- own.c: users' own tables (weir annotate) ---- */

/* `name` in backquotes and, as names differ in more than case, in lower case. */
int clickhouse_own_name(const char *name, struct buf *out);
/* -EINVAL where the database cannot have a table of this name, or one with these columns; the message says why. */
int clickhouse_own_refuses(const struct table_def *t, struct error *err);
/* CREATE TABLE, ended by ";\n". */
int clickhouse_own_ddl(const struct table_def *t, unsigned int version, int64_t keep_ns,
		       struct buf *out);
/* Of each column its name and type as the table has them: "file_id Nullable(Int64),team Nullable(String)". */
int clickhouse_own_layout(const struct table_def *t, struct buf *out);
/*
 * Table `own` says which generation of a table is in force, and what its columns are as weir has them: type, unit and name of
 * each, one behind the other, each ended by NUL ("shape"; without columns the table was dropped). Reading, `text` gets NULs and
 * must outlive the columns, which the caller frees; -EBADMSG: it is none.
 */
int clickhouse_shape_put(const struct table_def *t, struct buf *out);
int clickhouse_shape_get(struct bytes text, struct column_def **ret, unsigned int *ret_count);
/* "SELECT recording, part, generation, rows, title, shape, name" of what is in force, of all tables or of `name` (NULL: all);
 * `also`: " AND ..." */
int clickhouse_own_in_force(const char *name, const char *also, struct buf *out);
