/* SPDX-License-Identifier: Apache-2.0 */
/*
 * order.h: the order of rows in a trace, and time ranges over it. The stream (scan_rows.c) and the SQL of an engine
 * must agree on it.
 *
 * Event rows (op, loss, mark, ...) are ordered by their end; a row without a known end takes the end of the row before
 * it. Ties are broken by trace, then blocks of short calls before those of long ones, then block, then row. Rows of
 * dimensions and sums keep the order in which they were written, trace after trace.
 */
#pragma once

#include "store/store.h"

/* The set of columns that order_ends() and order_rows_in() read. */
uint64_t order_columns(enum table_id table);
/* Writes the end of each row; 0 for rows that are not events or have no time. */
void order_ends(const struct batch *b, int64_t *ends);

/* True if the range is open at both ends. */
static inline bool order_open(int64_t from, int64_t to)
{
	return from == INT64_MIN && to == INT64_MAX;
}
/* False if no row of the block can have ended in [from, to); decodes nothing. */
bool order_block_in(const struct store_block *b, int64_t from, int64_t to);
/* False if the end of each row of a block of calls is known. */
bool order_block_unended(const struct store_block *b);
/*
 * The rows of a batch whose position in the order is in [from, to), given their `ends` from order_ends(). Ranges that
 * partition time partition the rows. Rows before any known end are placed last.
 */
size_t order_rows_part(const struct batch *b, const int64_t *ends, int64_t from, int64_t to,
		       uint32_t *out);
/* False if no row of the block can have such a position; decodes nothing. */
bool order_block_part(const struct store_block *b, int64_t from, int64_t to);
/*
 * The rows (of those in `in`, or all below n if `in` is NULL) with a known end in [from, to); `unended` adds those
 * without a known end. `out` may be `in`.
 */
size_t order_rows_in(const struct batch *b, int64_t from, int64_t to, bool unended,
		     const uint32_t *in, size_t n, uint32_t *out);

/* A unique number for each row of a store; it breaks ties of order_ends(). */
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
