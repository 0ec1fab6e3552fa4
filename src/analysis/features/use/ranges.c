/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/features/use/ranges.h"

#include "analysis/features/use/ranges_internal.h"

#include <string.h>

#define FIRST_CAP 4

static struct range *ranges_items(struct ranges *r)
{
	return r->many ? r->many : &r->one;
}

void ranges_free(struct ranges *r, struct ranges_room *room)
{
	assert(room->used >= r->cap * sizeof(*r->many));
	room->used -= r->cap * sizeof(*r->many);
	free(r->many);
	ranges_pages_free(r, room);
	*r = (struct ranges){.owned = r->owned};
}

uint32_t ranges_find(const struct ranges *r, int64_t pos)
{
	const struct range *v = ranges_array(r), *low = v;

	/* a range used now is usually just after the one used before */
	for (uint32_t i = r->recent; i < r->count && i < r->recent + 2; i++) {
		if (v[i].to > pos && (i == 0 || v[i - 1].to <= pos))
			return i;
	}
	/* branchless: the position is unpredictable */
	for (uint32_t n = r->count, half; n; n -= half) {
		half = (n + 1) / 2;
		low += half & -(uint32_t)(low[half - 1].to <= pos);
	}
	return (uint32_t)(low - v);
}

/*
 * Joins ranges across gaps that are at most the mean gap, rounded up; at least one below the mean, or the first one, is
 * joined.
 */
static void ranges_join_close(struct ranges *r)
{
	struct range *v = ranges_items(r);
	int64_t gaps = 0, mean;
	uint32_t to = 0;

	assert(r->count > 1);
	for (uint32_t i = 1; i < r->count; i++)
		gaps += v[i].from - v[i - 1].to;
	mean = gaps / (r->count - 1) + (gaps % (r->count - 1) != 0);
	for (uint32_t i = 1; i < r->count; i++) {
		int64_t gap = v[i].from - v[to].to;

		/* if gaps are equal, as after strided reads, every second one */
		if (gap > mean || (gap == mean && i % 2 == 0)) {
			v[++to] = v[i];
			continue;
		}
		if (v[i].to - v[i].from > v[to].to - v[to].from)
			v[to].owner = v[i].owner;
		v[to].to = v[i].to;
	}
	r->count = to + 1;
	r->recent = 0;
	r->inexact = true;
}

static uint32_t ranges_most(const struct ranges *r)
{
	return r->inexact ? RANGES_INEXACT : RANGES_MAX;
}

/* Makes room for `want` ranges; false: there is none. */
static bool ranges_make_room(struct ranges *r, struct ranges_room *room, uint32_t want)
{
	uint32_t cap = MAX((uint32_t)FIRST_CAP, r->cap * 2);
	struct range *more;

	if (want <= 1 || want <= r->cap)
		return want <= ranges_most(r);
	if (want > ranges_most(r) || room->used + (cap - r->cap) * sizeof(*more) > room->max)
		return false;
	more = realloc(r->many, cap * sizeof(*more));
	if (!more)
		return false;
	if (!r->many)
		more[0] = r->one;
	room->used += (cap - r->cap) * sizeof(*more);
	r->many = more;
	r->cap = cap;
	return true;
}

/* Replaces ranges [low, high) with `count` others. False: too many. */
static bool ranges_replace(struct ranges *r, struct ranges_room *room, uint32_t low, uint32_t high,
			   const struct range *with, uint32_t count)
{
	uint32_t after = r->count - (high - low) + count;
	struct range *v;

	assert(low <= high && high <= r->count);
	if (after > r->count && !ranges_make_room(r, room, after))
		return false;
	v = ranges_items(r);
	if (after != r->count)
		memmove(v + low + count, v + high, (r->count - high) * sizeof(*v));
	memcpy(v + low, with, count * sizeof(*v));
	r->count = after;
	r->recent = low;
	return true;
}

/* Called if there is no room for another range: reduces their number by at least a quarter. */
static void ranges_make_fewer(struct ranges *r)
{
	uint32_t want = MIN((uint32_t)RANGES_INEXACT, r->count) * 3 / 4;

	r->inexact = true;
	while (r->count > MAX(want, 1u))
		ranges_join_close(r);
}

static int64_t ranges_shared(const struct range *v, int64_t from, int64_t to)
{
	int64_t low = MAX(v->from, from), high = MIN(v->to, to);

	return MAX((int64_t)0, high - low);
}

int64_t ranges_array_put(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			 uint32_t owner)
{
	struct range with[3], add = {from, to, owner}, right = {0};
	uint32_t low = ranges_find(r, from), high, n = 0;
	struct range *v = ranges_items(r);
	int64_t had = 0;

	if (low > 0 && v[low - 1].to == from && v[low - 1].owner == owner)
		low--;
	else if (low < r->count && v[low].from <= from && v[low].to >= to &&
		 v[low].owner == owner) {
		r->recent = low;
		return 0;
	}
	for (high = low; high < r->count; high++) {
		struct range *at = &v[high];

		if (at->from > to || (at->from == to && at->owner != owner))
			break;
		had += ranges_shared(at, from, to);
		if (at->owner == owner) {
			add.from = MIN(add.from, at->from);
			add.to = MAX(add.to, at->to);
			continue;
		}
		if (at->from < from)
			with[n++] = (struct range){at->from, from, at->owner};
		if (at->to > to)
			right = (struct range){to, at->to, at->owner};
	}
	assert(n <= 1 && had <= to - from);
	with[n++] = add;
	if (right.to)
		with[n++] = right;
	if (ranges_replace(r, room, low, high, with, n))
		return to - from - had;
	if (r->pages && ranges_round_pages(r, room))
		return ranges_pages_put(r, room, from, to);
	r->inexact = true;
	if (r->count > 1) {
		ranges_make_fewer(r);
		return ranges_array_put(r, room, from, to, owner);
	}
	*v = (struct range){MIN(v->from, from), MAX(v->to, to), owner};
	return to - from - had;
}

int64_t ranges_put_slow(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			uint32_t owner)
{
	if (r->pages)
		return ranges_pages_put(r, room, from, to);
	if (unlikely(r->count >= RANGES_PAGED && r->count >= 2 * r->tried) && !r->owned &&
	    ranges_make_pages(r, room))
		return ranges_pages_put(r, room, from, to);
	return ranges_array_put(r, room, from, to, owner);
}

int64_t ranges_array_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
			 uint32_t owner, int64_t *ret_owned)
{
	uint32_t low = ranges_find(r, from), high, n = 0;
	struct range *v = ranges_items(r), with[2];
	int64_t had = 0, owned = 0;

	assert(from < to);
	for (high = low; high < r->count && v[high].from < to; high++) {
		had += ranges_shared(&v[high], from, to);
		if (v[high].owner == owner)
			owned += ranges_shared(&v[high], from, to);
		if (v[high].from < from)
			with[n++] = (struct range){v[high].from, from, v[high].owner};
		if (v[high].to > to)
			with[n++] = (struct range){to, v[high].to, v[high].owner};
	}
	if (ret_owned)
		*ret_owned = owned;
	if (low == high)
		return 0;
	if (!ranges_replace(r, room, low, high, with, n)) {
		/* a hole splits one range, and there is no room for two: keep the larger part */
		assert(n == 2 && high == low + 1);
		v[low] = with[0].to - with[0].from > with[1].to - with[1].from ? with[0] : with[1];
		r->inexact = true;
	}
	return had;
}

int64_t ranges_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to,
		   uint32_t owner, int64_t *ret_owned)
{
	int64_t paged = r->pages ? ranges_pages_cut(r, room, from, to) : 0;
	int64_t had = paged + ranges_array_cut(r, room, from, to, owner, ret_owned);

	if (ret_owned && owner == 0)
		*ret_owned += paged;
	return had;
}

int64_t ranges_within(const struct ranges *r, int64_t from, int64_t to, uint32_t but)
{
	const struct range *v = ranges_array(r);
	int64_t sum = r->pages && but != 0 ? ranges_pages_within(r, from, to) : 0;

	for (uint32_t i = ranges_find(r, from); i < r->count && v[i].from < to; i++) {
		if (v[i].owner != but)
			sum += ranges_shared(&v[i], from, to);
	}
	return sum;
}

int64_t ranges_total(const struct ranges *r)
{
	return ranges_within(r, 0, INT64_MAX, UINT32_MAX);
}

bool ranges_next(const struct ranges *r, int64_t pos, struct range *ret)
{
	const struct range *v = ranges_array(r);
	uint32_t i = ranges_find(r, pos);
	struct range page;
	bool paged = r->pages && ranges_pages_next(r, pos, &page);

	if (i >= r->count && !paged)
		return false;
	*ret = i < r->count && (!paged || v[i].from < page.from) ? v[i++] : page;
	ret->from = MAX(ret->from, pos);
	/* extend by adjacent ranges and pages */
	for (bool more = r->pages; more;) {
		more = false;
		if (i < r->count && v[i].from <= ret->to) {
			ret->to = MAX(ret->to, v[i++].to);
			more = true;
		}
		if (ranges_pages_next(r, ret->to, &page) && page.from == ret->to) {
			ret->to = page.to;
			more = true;
		}
	}
	return true;
}

uint64_t ranges_count(const struct ranges *r)
{
	struct range at = {0};
	uint64_t n = 0;

	if (!r->pages)
		return r->count;
	while (ranges_next(r, at.to, &at))
		n++;
	return n;
}

void ranges_give(struct ranges *r, uint32_t from, uint32_t to)
{
	struct range *v = ranges_items(r);

	for (uint32_t i = 0; i < r->count; i++)
		v[i].owner = v[i].owner == from ? to : v[i].owner;
}
