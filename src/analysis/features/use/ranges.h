/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.h: a set of byte ranges [from, to), each with an owner: which bytes of a file were read, or who wrote them
 * last.
 *
 * Ranges are sorted and disjoint; adjacent ranges of one owner are merged. An access that follows the previous one
 * costs a few comparisons; any other a binary search and a move of the ranges after it. If a set with a single owner
 * contains many pages (random reads of a database), whole pages are stored as bits, and only the rest as ranges: exact
 * for any number of pages, at constant cost.
 *
 * Memory is bounded: a set has at most RANGES_MAX ranges, and all sets together the memory of their struct ranges_room.
 * A set that would exceed this joins ranges with the smallest gaps between them and is `inexact` from then on: it
 * covers at least what was added. Since precision is then lost anyway, it keeps fewer ranges (RANGES_INEXACT) and is
 * faster.
 *
 *   struct ranges_room room = {.max = 32 << 20};
 *   struct ranges seen = {0};
 *   fresh = ranges_put(&seen, &room, 0, 4096, 0);   // 4096
 *   fresh = ranges_put(&seen, &room, 0, 8192, 0);   // 4096: the second half
 *   ranges_free(&seen, &room);
 */
#pragma once

#include "base/util.h"

#define RANGES_MAX     2048 /* 48 KiB, of which an insertion moves half on average */
#define RANGES_INEXACT 256
#define RANGES_PAGE    4096
#define RANGES_PAGED   256 /* number of ranges, mostly whole pages, from which on pages are bits */
#define RANGES_PAGES   (1u << 20) /* stored as bits: the first 4 GiB of a file, in 128 KiB */

struct range {
	int64_t from, to;
	uint32_t owner;
};

struct ranges_room {
	size_t used, max; /* bytes */
};

/* Initialized with {0}. */
struct ranges {
	struct range *many; /* [cap]; NULL: `one` is the array */
	struct range one;
	uint32_t count, cap;
	uint32_t recent; /* index of the range used last */
	bool inexact;
	bool owned;	 /* owners differ; set before use */
	uint32_t tried;	 /* number of ranges at the last attempt to convert them to pages */
	uint32_t words;	 /* length of pages */
	uint64_t *pages; /* NULL: only ranges. Bit i: [i * RANGES_PAGE, (i + 1) * RANGES_PAGE) */
};

void ranges_free(struct ranges *r, struct ranges_room *room);
/* The ranges that are not pages. */
static inline const struct range *ranges_array(const struct ranges *r)
{
	return r->many ? r->many : &r->one;
}
/* The first range that ends after `pos`, clipped to begin at `pos`. False: none. */
bool ranges_next(const struct ranges *r, int64_t pos, struct range *ret);
/* Number of ranges. */
uint64_t ranges_count(const struct ranges *r);
/*
 * Adds [from, to), 0 <= from < to; parts of other owners change to the new owner. Returns the number of bytes not in
 * the set before.
 */
int64_t ranges_put_slow(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			uint32_t owner);
static inline int64_t ranges_put(struct ranges *r, struct ranges_room *room, int64_t from,
				 int64_t to, uint32_t owner)
{
	struct range *v = r->many ? r->many : &r->one, *last;

	assert(from >= 0 && from < to);
	last = r->count ? &v[r->count - 1] : NULL;
	if (likely(last && last->to == from && last->owner == owner && !r->pages)) {
		last->to = to;
		return to - from;
	}
	return ranges_put_slow(r, room, from, to, owner);
}
/* Removes [from, to), from < to. Returns the number of bytes removed; *ret_owned, unless NULL: those of `owner` among them. */
int64_t ranges_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
		   uint32_t owner, int64_t *ret_owned);
/* Number of bytes of [from, to) in the set, except those of `but` (UINT32_MAX: of all owners). */
int64_t ranges_within(const struct ranges *r, int64_t from, int64_t to, uint32_t but);
/* The index of the first range that ends after `pos`; count: none. */
uint32_t ranges_find(const struct ranges *r, int64_t pos);
/* Number of bytes in the set. */
int64_t ranges_total(const struct ranges *r);
/* Changes the owner `from` to `to`. */
void ranges_give(struct ranges *r, uint32_t from, uint32_t to);
