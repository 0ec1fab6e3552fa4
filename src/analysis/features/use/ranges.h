/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ranges.h: a set of ranges of bytes [from, to), each with an owner: which bytes of a file were read, or who wrote them last.
 * Sorted, disjoint; neighbours of one owner are one range. What follows the range used before costs a few comparisons, anything
 * else a binary search and a move of the ranges behind it.
 *
 * A set of one owner that has become many pages (random reads of a database) keeps whole pages as bits, and as ranges only the
 * rest: exact, however many they are, and each as quick as the first.
 *
 * Bounded: a set has at most RANGES_MAX ranges, all sets together the memory of their struct ranges_room. A set that would
 * have more joins those with the smallest gaps between them and is `inexact` from then on: it covers at least
 * what was added. As precision is gone by then, it also has fewer ranges (RANGES_INEXACT) and is quicker.
 *
 *   struct ranges_room room = {.max = 32 << 20};
 *   struct ranges seen = {0};
 *   fresh = ranges_put(&seen, &room, 0, 4096, 0);   // 4096
 *   fresh = ranges_put(&seen, &room, 0, 8192, 0);   // 4096: the second half
 *   ranges_free(&seen, &room);
 */
#pragma once

#include "base/util.h"

#define RANGES_MAX     2048 /* 48 KiB, of which an insertion moves half */
#define RANGES_INEXACT 256
#define RANGES_PAGE    4096
#define RANGES_PAGED   256 /* from so many ranges on, most of them whole pages, pages are bits */
#define RANGES_PAGES   (1u << 20) /* that can be bits: the first 4 GiB of a file, in 128 KiB */

struct range {
	int64_t from, to;
	uint32_t owner;
};

struct ranges_room {
	size_t used, max; /* bytes */
};

/* Starts as {0}. */
struct ranges {
	struct range *many; /* [cap]; NULL: `one` is the array */
	struct range one;
	uint32_t count, cap;
	uint32_t recent; /* number of the range that was used last */
	bool inexact;
	bool owned;	 /* owners differ: set before use */
	uint32_t tried;	 /* with so many ranges it was tried to make pages of them */
	uint32_t words;	 /* of pages */
	uint64_t *pages; /* NULL: all are ranges. Bit i: [i * RANGES_PAGE, (i + 1) * RANGES_PAGE) */
};

void ranges_free(struct ranges *r, struct ranges_room *room);
/* The ranges that are no pages. */
static inline const struct range *ranges_array(const struct ranges *r)
{
	return r->many ? r->many : &r->one;
}
/* The first range that ends beyond `pos`, from there on or from where it begins. False: there is none. */
bool ranges_next(const struct ranges *r, int64_t pos, struct range *ret);
/* How many ranges. */
uint64_t ranges_count(const struct ranges *r);
/* Adds [from, to), 0 <= from < to; what other owners had of it is the new owner's. The bytes that no one had before. */
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
/* Removes [from, to), from < to. Bytes that were there; *ret_owned, unless NULL: those of `owner` among them. */
int64_t ranges_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
		   uint32_t owner, int64_t *ret_owned);
/* Bytes of [from, to) in the set, those of `but` left out (UINT32_MAX: of all owners). */
int64_t ranges_within(const struct ranges *r, int64_t from, int64_t to, uint32_t but);
/* Bytes of the set. */
int64_t ranges_total(const struct ranges *r);
/* What is one owner's becomes another's. */
void ranges_give(struct ranges *r, uint32_t from, uint32_t to);
