/* SPDX-License-Identifier: Apache-2.0 */
/*
 * keys.h: a source's keys -> the dense ids of the trace, 0, 1, 2, ... in order of first appearance.
 *
 * A metadata storm makes millions of file versions, and sources number them one after another, so
 * ids lie in pages by key: about 5 bytes each, where a hash slot takes 24 or more. Keys that are
 * far apart cost a page each and are right all the same. Both start as {0}.
 */
#pragma once

#include "base/map.h"

#define IDMAP_PAGE 64 /* keys of a page: 256 bytes */
#define IDMAP_NONE UINT32_MAX

/* key >= 0 -> id < IDMAP_NONE */
struct idmap {
	struct map pages; /* key / IDMAP_PAGE -> uint32_t[IDMAP_PAGE] */
	uint64_t last_page;
	uint32_t *last; /* the page of the last key; most calls repeat one of the last few keys */
};

void idmap_free(struct idmap *m);
/* 0, -ENOMEM, or -EOVERFLOW for an id that is too large. */
int idmap_set(struct idmap *m, int64_t key, int64_t id) _must_check_;
/* The page of a key, NULL where there is none. */
uint32_t *idmap_page(struct idmap *m, uint64_t page);

/* The id of a key, -1 where it was never set. */
static inline int64_t idmap_get(struct idmap *m, int64_t key)
{
	uint64_t page = (uint64_t)key / IDMAP_PAGE;
	const uint32_t *ids =
		likely(m->last && m->last_page == page) ? m->last : idmap_page(m, page);
	uint32_t id = ids ? ids[(uint64_t)key % IDMAP_PAGE] : IDMAP_NONE;

	return id == IDMAP_NONE ? -1 : (int64_t)id;
}

struct keys {
	struct idmap ids;
	int64_t next; /* the next id */
};

void keys_free(struct keys *k);
/* The id of a key, given on first sight. 0 or negative. */
int keys_add(struct keys *k, int64_t key, int64_t *ret_id) _must_check_;

/* The id of a key, -1 where it was never added. */
static inline int64_t keys_find(struct keys *k, int64_t key)
{
	return idmap_get(&k->ids, key);
}
