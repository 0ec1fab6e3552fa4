/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h: a source's keys -> the dense ids of the trace, 0, 1, 2, ... in order of first appearance.
 * Most calls repeat a key of the last few, so a small direct-mapped cache stands before the hash
 * map. Starts as {0}.
 */
#pragma once

#include "base/map.h"

#define KEYS_CACHE 64 /* power of two; 1 KiB, so it stays in the first-level cache */

struct keys {
	struct map map;
	int64_t next; /* the next id */
	struct {
		uint64_t key_plus_1; /* 0: empty */
		int64_t id;
	} cache[KEYS_CACHE];
};

void keys_free(struct keys *k);
/* The id of a key, given on first sight. 0 or -ENOMEM. */
int keys_add(struct keys *k, int64_t key, int64_t *ret_id) _must_check_;
/* The id of a key, -1 where it was never added. */
int64_t keys_find_slow(struct keys *k, int64_t key);

static inline int64_t keys_find(struct keys *k, int64_t key)
{
	size_t slot = ((uint64_t)key ^ (uint64_t)key >> 32) & (KEYS_CACHE - 1);

	if (likely(k->cache[slot].key_plus_1 == (uint64_t)key + 1))
		return k->cache[slot].id;
	return keys_find_slow(k, key);
}
