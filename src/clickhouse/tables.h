/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tables.h: in which tables traces lie in ClickHouse. Each table but those of sums has one of its name, with the columns
 * of the schema and these:
 *
 *   recording  UInt32  which recording (table `recording`)
 *   block_no   UInt64  which block of which of its files: clickhouse_block_no(); with `recording` a block is loaded once
 *   row_no     UInt64  of op the call's row_id, else the row's place in its block
 *   ended      Int64   when it ended, ns (sums/order.h); 0 of rows that describe; of a table that was made
 *                      after recording which generation the row is of: the newest that is in table `made` counts
 *   day        Date    of the block's first row: it is in one partition, so that it is there as a whole or not at all; the
 *                      others ended within a day of it, or it is CLICKHOUSE_DAY_NONE
 *
 * The trace's order is (ended, recording, block_no, row_no). A code `x` is a number in x_code; `x` is an alias with its word,
 * for people. Of op `start` is an alias too: nearly always ended - dur (start_kind 0; 3: the call had not ended), else null (1) or
 * start_odd (2).
 */
#pragma once

#include "base/buf.h"
#include "schema/schema.h"

/* The day of blocks whose rows ended on several: 2106-02-07, the last that Date of 18.16 reaches. */
#define CLICKHOUSE_DAY_NONE 49709
#define CLICKHOUSE_DAY_NS   86400000000000ll

enum { START_IS_BEFORE_END, START_IS_NULL, START_IS_ODD, START_UNFINISHED };

static inline uint64_t clickhouse_block_no(uint64_t part, bool long_calls, uint64_t seq)
{
	return part << 33 | (uint64_t)long_calls << 32 | (uint32_t)seq;
}

/* True for tables that are loaded. */
bool clickhouse_has_table(enum table_id table);
/* The column that holds a column of the schema: "dur", "op_code"; its type. */
int clickhouse_column(enum table_id table, unsigned int column, struct buf *out) _must_check_;
const char *clickhouse_type(const struct column_def *c);
/*
 * CREATE DATABASE and all CREATE TABLE, each ended by ";\n", for a version (18016); rows may go `keep_ns` after they ended (0:
 * never; before 19.6 partitions are dropped by hand).
 */
int clickhouse_ddl(const char *database, unsigned int version, int64_t keep_ns,
		   struct buf *out) _must_check_;
