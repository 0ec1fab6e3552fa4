/* SPDX-License-Identifier: Apache-2.0 */
/* heap.h: binary heaps in arrays; items[0] is the last one in the order of a function as for qsort(). */
#pragma once

#include <stddef.h>

typedef int heap_order_fn(const void *a, const void *b);

#define HEAP_ITEM_MAX 128 /* bytes */

/* Restores the heap after the item at index `at` was replaced by one that comes earlier. */
void heap_sink(void *items, size_t count, size_t size, size_t at, heap_order_fn *order);
/* Restores the heap after an item was appended; `count` includes it. */
void heap_raise(void *items, size_t count, size_t size, heap_order_fn *order);
/*
 * Offers an item to the `max` that come first, of which items[0 .. count) are known: appends it, or puts it in place of
 * the last one. They are a heap. Returns their number.
 */
size_t heap_keep(void *items, size_t count, size_t max, size_t size, const void *item,
		 heap_order_fn *order);
/* Moves the `max` items that come first to the front, sorted. Sorting all takes longer if they are many. */
void heap_first(void *items, size_t count, size_t max, size_t size, heap_order_fn *order);
