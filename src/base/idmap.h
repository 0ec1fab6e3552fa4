/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idmap.h: keys >= 0 -> numbers below 2^32 - 1, for keys that follow one another, as ids do.
 *
 * A metadata storm makes millions of file versions, numbered one after another, so numbers lie in
 * pages by key: about 5 bytes each, where a hash slot takes 24 or more. Keys that are far apart cost
 * a page each and are right all the same. Starts as {0}.
 */
#pragma once

#include "base/map.h"

#define IDMAP_PAGE 64 /* keys of a page: 256 bytes */
#define IDMAP_NONE UINT32_MAX

struct idmap {
	struct map pages; /* key / IDMAP_PAGE -> uint32_t[IDMAP_PAGE] */
	uint64_t last_page;
	uint32_t *last; /* the page of the last key; most calls repeat one of the last few keys */
};

void idmap_free(struct idmap *m);
/* 0, -ENOMEM, or -EOVERFLOW for a number that is too large. */
int idmap_set(struct idmap *m, int64_t key, int64_t id) _must_check_;
/* The page of a key, NULL where there is none. */
uint32_t *idmap_page(struct idmap *m, uint64_t page);
/* The number of a key, -1 where it was never set. Several threads may look at once. */
int64_t idmap_find(const struct idmap *m, int64_t key);

/* The same for one thread, quick where the key is near the one before. */
static inline int64_t idmap_get(struct idmap *m, int64_t key)
{
	uint64_t page = (uint64_t)key / IDMAP_PAGE;
	const uint32_t *ids =
		likely(m->last && m->last_page == page) ? m->last : idmap_page(m, page);
	uint32_t id = ids ? ids[(uint64_t)key % IDMAP_PAGE] : IDMAP_NONE;

	return id == IDMAP_NONE ? -1 : (int64_t)id;
}
