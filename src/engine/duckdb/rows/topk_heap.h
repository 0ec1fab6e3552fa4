/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_heap.h: the best N values that a scan has seen, so that rows and whole blocks which cannot be among
 * the first N any more are left out. Shared by the threads of a scan; `worst` is looked at without
 * the lock, an old value only lets more pass. Whoever sorts afterwards gets a superset, ties
 * included. Blocks are read best first, by their headers, so that one scan suffices for the slowest N
 * rows with all of their columns.
 */
#pragma once

#include "store/store.h"

struct top;

#define TOP_COUNT_MAX 100000 /* above, sorting everything is as good */

/* 0, also with *ret NULL where count is too large to be worth it; -ENOMEM. */
int top_new(struct top **ret, size_t count, bool desc, bool is_unsigned);
void top_free(struct top *t);
/* Sorts structs of `size` bytes whose first member is a block's number (size_t): best first. */
void top_sort_blocks(const struct top *t, const struct store *s, unsigned int column, void *blocks,
		     size_t count, size_t size);
/* False where no row of the block can be among the first. */
bool top_block(const struct top *t, const struct store_block *b, unsigned int column);
/*
 * Writes to out those of rows in[0 .. n) that can be among the first and remembers their values.
 * Values (NULL: all null) and null bits are by row where by_row, else by place in `in`. out may be
 * in.
 */
size_t top_choose(struct top *t, const int64_t *values, const uint64_t *nulls, const uint32_t *in,
		  size_t n, uint32_t *out, bool by_row);
