// SPDX-License-Identifier: Apache-2.0
#include "base/heap.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/util.h"

static void *heap_at(void *items, size_t size, size_t i)
{
	return (char *)items + i * size;
}

static void heap_swap(void *a, void *b, size_t size)
{
	char was[HEAP_ITEM_MAX];

	assert(size <= sizeof(was));
	memcpy(was, a, size);
	memcpy(a, b, size);
	memcpy(b, was, size);
}

void heap_sink(void *items, size_t count, size_t size, size_t at, heap_order_fn *order)
{
	for (size_t child; (child = 2 * at + 1) < count; at = child) {
		if (child + 1 < count &&
		    order(heap_at(items, size, child + 1), heap_at(items, size, child)) > 0)
			child++;
		if (order(heap_at(items, size, child), heap_at(items, size, at)) <= 0)
			return;
		heap_swap(heap_at(items, size, child), heap_at(items, size, at), size);
	}
}

void heap_raise(void *items, size_t count, size_t size, heap_order_fn *order)
{
	for (size_t at = count - 1, above; at; at = above) {
		above = (at - 1) / 2;
		if (order(heap_at(items, size, at), heap_at(items, size, above)) <= 0)
			return;
		heap_swap(heap_at(items, size, at), heap_at(items, size, above), size);
	}
}

size_t heap_keep(void *items, size_t count, size_t max, size_t size, const void *item,
		 heap_order_fn *order)
{
	assert(max > 0 && count <= max);
	if (count < max) {
		memcpy(heap_at(items, size, count++), item, size);
		heap_raise(items, count, size, order);
	} else if (order(item, items) < 0) {
		memcpy(items, item, size);
		heap_sink(items, count, size, 0, order);
	}
	return count;
}

void heap_first(void *items, size_t count, size_t max, size_t size, heap_order_fn *order)
{
	assert(max > 0);
	for (size_t i = 1; i < max && max < count; i++)
		heap_raise(items, i + 1, size, order);
	for (size_t i = max; i < count; i++) {
		if (order(heap_at(items, size, i), items) >= 0)
			continue;
		heap_swap(items, heap_at(items, size, i), size);
		heap_sink(items, max, size, 0, order);
	}
	if (count)
		qsort(items, MIN(count, max), size, order);
}
