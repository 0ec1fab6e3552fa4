/* SPDX-License-Identifier: Apache-2.0 */
/*
 * idmap.h: keys >= 0 -> numbers below 2^32 - 1, for mostly consecutive keys, as ids are.
 *
 * A metadata storm creates millions of file versions, numbered consecutively, so numbers are stored in pages by key. A
 * page some distance behind a new one is packed. A key takes 0.3 bytes if the numbers increase in even steps, 2 if they
 * are close together, else 5; a hash slot takes 24 or more. Keys that are far apart cost a page each but still work.
 * Starts as {0}.
 */
#pragma once

#include "base/map.h"

#define IDMAP_PAGE 64 /* keys per page: 256 bytes */
#define IDMAP_WIDE 64 /* this many pages behind a new one stay unpacked */
#define IDMAP_NONE UINT32_MAX

struct idmap {
	struct map pages; /* key / IDMAP_PAGE -> uint32_t[IDMAP_PAGE], or packed */
	uint64_t last_page;
	uint32_t *last; /* the page of the last key; most calls repeat one of the last few keys */
};

void idmap_free(struct idmap *m);
/* 0, -ENOMEM, or -EOVERFLOW for a number that is too large. */
int idmap_set(struct idmap *m, int64_t key, int64_t id) _must_check_;
/* The number of a key, -1 if it was never set. Safe for several concurrent readers. */
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
