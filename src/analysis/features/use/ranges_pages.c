/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/features/use/ranges_internal.h"

#include <string.h>

#define WORD_PAGES 64
#define WORD_BYTES ((int64_t)WORD_PAGES * RANGES_PAGE)

static bool ranges_pages_has(const struct ranges *r, int64_t page)
{
	return page / WORD_PAGES < r->words && r->pages[page / WORD_PAGES] >> page % WORD_PAGES & 1;
}

/* The bits of pages [first, end) in a word. */
static uint64_t ranges_pages_bits(int64_t word, int64_t first, int64_t end)
{
	int64_t from = word * WORD_PAGES, low = MAX(first - from, (int64_t)0),
		high = MIN(end - from, (int64_t)WORD_PAGES);

	assert(low < high);
	return (high == WORD_PAGES ? ~0ull : (1ull << high) - 1) & ~0ull << low;
}

void ranges_pages_free(struct ranges *r, struct ranges_room *room)
{
	room->used -= r->words * sizeof(*r->pages);
	free(r->pages);
	r->pages = NULL;
	r->words = 0;
}

/* Makes room for pages below `end`; false: there is none. */
static bool ranges_pages_reserve(struct ranges *r, struct ranges_room *room, int64_t end)
{
	int64_t words = (end + WORD_PAGES - 1) / WORD_PAGES;
	uint64_t *more;

	if (words <= r->words)
		return true;
	if (end > RANGES_PAGES)
		return false;
	words = MAX(words, (int64_t)r->words * 2);
	words = MIN(words, (int64_t)RANGES_PAGES / WORD_PAGES);
	if (room->used + (size_t)(words - r->words) * sizeof(*more) > room->max)
		return false;
	more = realloc(r->pages, (size_t)words * sizeof(*more));
	if (!more)
		return false;
	memset(more + r->words, 0, (size_t)(words - r->words) * sizeof(*more));
	room->used += (size_t)(words - r->words) * sizeof(*more);
	r->pages = more;
	r->words = (uint32_t)words;
	return true;
}

/* Sets the bits; returns how many were not set before. */
static int64_t ranges_pages_set(struct ranges *r, int64_t first, int64_t end)
{
	int64_t fresh = 0;

	for (int64_t i = first / WORD_PAGES; i * WORD_PAGES < end; i++) {
		uint64_t bits = ranges_pages_bits(i, first, end) & ~r->pages[i];

		fresh += __builtin_popcountll(bits);
		r->pages[i] |= bits;
	}
	return fresh;
}

bool ranges_make_pages(struct ranges *r, struct ranges_room *room)
{
	struct range *v = r->many, *kept;
	uint32_t whole = 0, count = r->count;

	assert(!r->owned && !r->pages && v);
	r->tried = count;
	for (uint32_t i = 0; i < count; i++)
		whole += v[i].from % RANGES_PAGE == 0 && v[i].to % RANGES_PAGE == 0;
	if (r->inexact || whole < count / 4 * 3 ||
	    !ranges_pages_reserve(r, room,
				  MIN(v[count - 1].to / RANGES_PAGE + 1, (int64_t)RANGES_PAGES)))
		return false;
	kept = malloc(count * sizeof(*kept));
	if (!kept) {
		ranges_pages_free(r, room);
		return false;
	}
	memcpy(kept, v, count * sizeof(*kept));
	r->count = r->recent = 0;
	for (uint32_t i = 0; i < count; i++)
		ranges_pages_put(r, room, kept[i].from, kept[i].to);
	free(kept);
	return true;
}

bool ranges_round_pages(struct ranges *r, struct ranges_room *room)
{
	uint32_t kept = 0, count = r->count;
	struct range *v = r->many ? r->many : &r->one;

	for (uint32_t i = 0; i < count; i++) {
		int64_t end = (v[i].to + RANGES_PAGE - 1) / RANGES_PAGE;

		if (ranges_pages_reserve(r, room, end))
			ranges_pages_set(r, v[i].from / RANGES_PAGE, end);
		else
			v[kept++] = v[i];
	}
	r->count = kept;
	r->recent = 0;
	r->inexact = true;
	return kept < count;
}

/* Adds a part of a page. */
static int64_t ranges_pages_put_part(struct ranges *r, struct ranges_room *room, int64_t from,
				     int64_t to)
{
	if (from >= to || ranges_pages_has(r, from / RANGES_PAGE))
		return 0;
	return ranges_array_put(r, room, from, to, 0);
}

int64_t ranges_pages_put(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to)
{
	int64_t first = (from + RANGES_PAGE - 1) / RANGES_PAGE, end = to / RANGES_PAGE, fresh, pos;
	struct range page;

	if (to > (int64_t)RANGES_PAGES * RANGES_PAGE || !ranges_pages_reserve(r, room, end)) {
		/* as ranges, except where there are pages */
		for (fresh = 0, pos = from; pos < to; pos = page.to) {
			if (!ranges_pages_next(r, pos, &page))
				page = (struct range){.from = to, .to = to};
			if (pos < MIN(page.from, to))
				fresh += ranges_array_put(r, room, pos, MIN(page.from, to), 0);
		}
		return fresh;
	}
	if (first >= end) { /* contains no whole page */
		pos = MIN(to, first * RANGES_PAGE);
		return ranges_pages_put_part(r, room, from, pos) +
		       ranges_pages_put_part(r, room, pos, to);
	}
	fresh = ranges_pages_set(r, first, end) * RANGES_PAGE;
	if (r->count > 0) /* remove ranges within the new pages */
		fresh -= ranges_array_cut(r, room, first * RANGES_PAGE, end * RANGES_PAGE, 0, NULL);
	fresh = MAX(fresh, (int64_t)0); /* ranges that were joined may overlap pages */
	fresh += ranges_pages_put_part(r, room, from, first * RANGES_PAGE);
	return fresh + ranges_pages_put_part(r, room, end * RANGES_PAGE, to);
}

int64_t ranges_pages_cut(struct ranges *r, struct ranges_room *room, int64_t from, int64_t to)
{
	int64_t had = ranges_pages_within(r, from, to), first = from / RANGES_PAGE, end, last;
	bool before = ranges_pages_has(r, first) && from % RANGES_PAGE, behind;

	to = MIN(to, (int64_t)r->words * WORD_BYTES);
	if (had == 0)
		return 0;
	last = to / RANGES_PAGE;
	behind = ranges_pages_has(r, last) && to % RANGES_PAGE;
	end = (to + RANGES_PAGE - 1) / RANGES_PAGE;
	for (int64_t i = first / WORD_PAGES; i * WORD_PAGES < end; i++)
		r->pages[i] &= ~ranges_pages_bits(i, first, end);
	if (before)
		ranges_array_put(r, room, first * RANGES_PAGE, from, 0);
	if (behind)
		ranges_array_put(r, room, to, (last + 1) * RANGES_PAGE, 0);
	return had;
}

int64_t ranges_pages_within(const struct ranges *r, int64_t from, int64_t to)
{
	int64_t sum = 0, first = from / RANGES_PAGE, end;

	to = MIN(to, (int64_t)r->words * WORD_BYTES);
	if (from >= to)
		return 0;
	end = (to + RANGES_PAGE - 1) / RANGES_PAGE;
	for (int64_t i = first / WORD_PAGES; i * WORD_PAGES < end; i++)
		sum += __builtin_popcountll(r->pages[i] & ranges_pages_bits(i, first, end));
	sum *= RANGES_PAGE;
	if (ranges_pages_has(r, first))
		sum -= from % RANGES_PAGE;
	if (ranges_pages_has(r, end - 1))
		sum -= end * RANGES_PAGE - to;
	return sum;
}

bool ranges_pages_next(const struct ranges *r, int64_t pos, struct range *ret)
{
	int64_t page = pos / RANGES_PAGE, word = page / WORD_PAGES, end;
	uint64_t bits;

	if (word >= r->words)
		return false;
	bits = r->pages[word] & ~0ull << page % WORD_PAGES;
	while (!bits) {
		if (++word >= r->words)
			return false;
		bits = r->pages[word];
	}
	page = word * WORD_PAGES + __builtin_ctzll(bits);
	for (end = page + 1; ranges_pages_has(r, end);) {
		bool whole = end % WORD_PAGES == 0 && r->pages[end / WORD_PAGES] == ~0ull;

		end += whole ? WORD_PAGES : 1;
	}
	*ret = (struct range){.from = page * RANGES_PAGE, .to = end * RANGES_PAGE};
	return true;
}
