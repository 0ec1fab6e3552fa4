/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h: the trace's order of rows, and ranges of time over them; what the stream (scan_rows.c) and an
 * engine's SQL must agree on.
 *
 * Rows of events (op, loss, mark, ...) come by their end; one whose end is not known stands where the row
 * before it ended. Ties: by trace, blocks of short calls before those of long ones, block, row. Rows of
 * dimensions and sums come as they were written, trace after trace.
 */
#pragma once

#include "store/store.h"

/* The columns that order_ends() and order_rows_in() read, as a set. */
uint64_t order_columns(enum table_id table);
/* Writes for each row when it ended; 0 where rows are not events, or have no time. */
void order_ends(const struct batch *b, int64_t *ends);

/* True where a range is open at both ends. */
static inline bool order_open(int64_t from, int64_t to)
{
	return from == INT64_MIN && to == INT64_MAX;
}
/* False where no row of the block can have ended in [from, to); nothing is decoded. */
bool order_block_in(const struct store_block *b, int64_t from, int64_t to);
/* False where the end of each row of a block of calls is known. */
bool order_block_unended(const struct store_block *b);
/* The rows of a batch, of which `ends` are by order_ends(), that stand in [from, to): each row is in one of the parts that
 * ranges cut the order into. One before which no end is known stands last. */
size_t order_rows_part(const struct batch *b, const int64_t *ends, int64_t from, int64_t to,
		       uint32_t *out);
/* False where none of the block can stand there; nothing is decoded. */
bool order_block_part(const struct store_block *b, int64_t from, int64_t to);
/* The rows (of those in `in`, or all below n where in is NULL) that ended in [from, to): whose end
 * is known; with `unended` also those whose is not. out may be in. */
size_t order_rows_in(const struct batch *b, int64_t from, int64_t to, bool unended,
		     const uint32_t *in, size_t n, uint32_t *out);

/* A number for each row of a store: ties of order_ends() are broken by it. */
#define ORDER_ROW_BITS	 16
#define ORDER_BLOCK_BITS 24
static inline int64_t order_number(const struct store_block *b, size_t block, size_t row)
{
	int64_t stream = (int64_t)b->trace << 1 | b->long_calls;

	return (stream << ORDER_BLOCK_BITS | (int64_t)block) << ORDER_ROW_BITS | (int64_t)row;
}
static inline size_t order_number_block(int64_t number)
{
	return (size_t)(number >> ORDER_ROW_BITS) & ((1u << ORDER_BLOCK_BITS) - 1);
}
static inline uint32_t order_number_row(int64_t number)
{
	return (uint32_t)(number & ((1u << ORDER_ROW_BITS) - 1));
}
