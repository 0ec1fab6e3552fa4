/* SPDX-License-Identifier: Apache-2.0 */
/* array.h: growing, sorting and searching arrays. */
#pragma once

#include "base/map.h"

/*
 * Adds a value at items[count] and increments the count. 0 or -ENOMEM. Count and capacity may be of any integer type
 * that is wide enough; the value may be an initializer in a compound literal, and may use the old count.
 */
#define array_add(items, count, cap, ...)                                                       \
	({                                                                                      \
		size_t cap_ = (cap);                                                            \
		int r_ = grow((void **)&(items), &cap_, (size_t)(count) + 1, sizeof(*(items))); \
		if (r_ >= 0) {                                                                  \
			(cap) = (__typeof__(cap))cap_;                                          \
			(items)[(count)] = (__VA_ARGS__);                                       \
			(count)++;                                                              \
		}                                                                               \
		r_;                                                                             \
	})

/*
 * The element of a key, in an array whose indexes the map holds. A new element is zeroed, and *ret_new (bool, may be
 * NULL) is true. NULL: out of memory, nothing changed. Count and capacity are of type size_t.
 */
#define array_of_key(items, count, cap, map, key, ret_new)                                       \
	((__typeof__(items))array_element((void **)&(items), &(count), &(cap), sizeof(*(items)), \
					  map, key, ret_new))
void *array_element(void **items, size_t *count, size_t *cap, size_t size, struct map *map,
		    uint64_t key, bool *ret_new) _must_check_;

/* Compares two numbers or pointers: -1, 0, 1. Chain with ?: for secondary keys. */
#define ORDER(a, b)                                 \
	({                                          \
		const __typeof__((a) + 0) x_ = (a); \
		const __typeof__((b) + 0) y_ = (b); \
		(x_ > y_) - (x_ < y_);              \
	})

/* qsort() and qsort_r() for arrays that may be empty, and then NULL. */
#define array_sort(items, count, order)                               \
	do {                                                          \
		if (count)                                            \
			qsort(items, count, sizeof(*(items)), order); \
	} while (0)
#define array_sort_by(items, count, order, ...)                                      \
	do {                                                                         \
		if (count)                                                           \
			qsort_r(items, count, sizeof(*(items)), order, __VA_ARGS__); \
	} while (0)

/* The numbers 0, 1, ... count - 1, to sort them instead of the items. NULL: no memory. The caller frees them. */
uint32_t *array_indexes(size_t count) _must_check_;

/* Comparison functions for plain numbers, for the two above. */
int order_u32(const void *a, const void *b);
int order_u64(const void *a, const void *b);
int order_i64(const void *a, const void *b);

/*
 * Binary search: the first i of [from, to) for which the expression holds, given that it holds for all later ones; `to`
 * if there is none.
 */
#define array_first(i, from, to, holds)                       \
	({                                                    \
		size_t low_ = (from), high_ = (to);           \
		while (low_ < high_) {                        \
			size_t i = low_ + (high_ - low_) / 2; \
			if (holds)                            \
				high_ = i;                    \
			else                                  \
				low_ = i + 1;                 \
		}                                             \
		low_;                                         \
	})
