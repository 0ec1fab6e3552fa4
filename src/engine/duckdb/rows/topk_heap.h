/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_heap.h: the best N values that a scan has seen, used to skip rows and whole blocks that cannot be among the
 * first N. It is shared by the threads of a scan. `worst` is read without the lock: a stale value only lets more rows
 * pass. The caller sorts a superset of the result, including ties. Blocks are read in order of the best value in their
 * headers, so that one scan suffices to find the slowest N rows with all of their columns.
 */
#pragma once

#include "store/store.h"

struct top;

#define TOP_COUNT_MAX 100000 /* beyond this, sorting all rows is as fast */

/* 0, with *ret NULL if count is too large to pay off; -ENOMEM. */
int top_new(struct top **ret, size_t count, bool desc, bool is_unsigned);
void top_free(struct top *t);
/* Sorts structs of `size` bytes whose first member is a block number (size_t), best block first. */
void top_sort_blocks(const struct top *t, const struct store *s, unsigned int column, void *blocks,
		     size_t count, size_t size);
/* False if no row of the block can be among the first. */
bool top_block(const struct top *t, const struct store_block *b, unsigned int column);
/*
 * Writes to `out` the rows of in[0 .. n) that can be among the first, and adds their values. Values (NULL: all null)
 * and null bits are indexed by row if by_row, else by position in `in`. `out` may be `in`.
 */
size_t top_choose(struct top *t, const int64_t *values, const uint64_t *nulls, const uint32_t *in,
		  size_t n, uint32_t *out, bool by_row);
