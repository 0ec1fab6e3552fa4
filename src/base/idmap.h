/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idmap.h: keys >= 0 -> numbers below 2^32 - 1, for keys that follow one another, as ids do.
 *
 * A metadata storm makes millions of file versions, numbered one after another, so numbers lie in
 * pages by key. A page some way behind a new one is packed. A key costs 0.3 bytes where the numbers
 * follow in even steps, 2 where they lie close together, else 5; a hash slot takes 24 or more. Keys that
 * are far apart cost a page each and are right all the same. Starts as {0}.
 */
#pragma once

#include "base/map.h"

#define IDMAP_PAGE 64 /* keys of a page: 256 bytes */
#define IDMAP_WIDE 64 /* pages behind a new one that are left as they are */
#define IDMAP_NONE UINT32_MAX

struct idmap {
	struct map pages; /* key / IDMAP_PAGE -> uint32_t[IDMAP_PAGE], or packed */
	uint64_t last_page;
	uint32_t *last; /* the page of the last key; most calls repeat one of the last few keys */
};

void idmap_free(struct idmap *m);
/* 0, -ENOMEM, or -EOVERFLOW for a number that is too large. */
int idmap_set(struct idmap *m, int64_t key, int64_t id) _must_check_;
/* The number of a key, -1 where it was never set. Several threads may look at once. */
int64_t idmap_find(const struct idmap *m, int64_t key);

/* idmap_find() for a single thread; remembers the page. */
int64_t idmap_look(struct idmap *m, int64_t key);

/* idmap_look(), fast if the key is in the page of the previous one. */
static inline int64_t idmap_get(struct idmap *m, int64_t key)
{
	uint32_t id;

	if (unlikely(!m->last || m->last_page != (uint64_t)key / IDMAP_PAGE))
		return idmap_look(m, key);
	id = m->last[(uint64_t)key % IDMAP_PAGE];
	return id == IDMAP_NONE ? -1 : (int64_t)id;
}
