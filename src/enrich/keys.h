/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h: maps a source's keys to the dense ids of the trace, 0, 1, 2, ... in order of first appearance. Starts as {0}.
 */
#pragma once

#include "base/idmap.h"

struct keys {
	struct idmap ids;
	int64_t next; /* the next id */
};

void keys_free(struct keys *k);
/* The id of a key, assigned when the key is new. 0 or negative. */
int keys_add(struct keys *k, int64_t key, int64_t *ret_id) _must_check_;

/* The id of a key, -1 if it was never added. */
static inline int64_t keys_find(struct keys *k, int64_t key)
{
	return idmap_get(&k->ids, key);
}
