// SPDX-License-Identifier: Apache-2.0
/*
 * span_covers.c: how much of a span is covered by its calls: the length of the union of intervals that come roughly in
 * order of their ends. A span has covers while it receives calls. If all covers together take too much memory, those of
 * ended spans are reduced to lengths. A call that began before that and ends after it makes the lengths estimates,
 * which are marked (blurred). Unlike in base/cover.h, parts of a wait may come out of order, and memory is bounded.
 */
#include <errno.h>
#include <string.h>

#include "analysis/spans/spans.h"
#include "base/array.h"

#define SPAN_COVER_BYTES (64u << 20) /* of all covers together */
#define SPAN_PIECES_OPEN 4096	     /* kept for an open span when there are too many */

static int64_t span_cover_length(const struct span_cover *c)
{
	int64_t sum = c->before;

	for (uint32_t i = 0; i < c->count; i++)
		sum += c->pieces[i].stop - c->pieces[i].start;
	return sum;
}

static int span_cover_resize(struct spans *s, struct span_cover *c, uint32_t cap)
{
	struct span_piece *p = cap ? realloc(c->pieces, cap * sizeof(*p)) : NULL;

	if (cap && !p)
		return -ENOMEM;
	if (!cap)
		free(c->pieces);
	s->cover_bytes += cap * sizeof(*p);
	s->cover_bytes -= c->cap * sizeof(*p);
	c->pieces = p;
	c->cap = cap;
	return 0;
}

/* Replaces the pieces [from, to) with one. 0 or -ENOMEM. */
static int span_cover_put(struct spans *s, struct span_cover *c, uint32_t from, uint32_t to,
			  struct span_piece piece)
{
	/* most spans have few pieces: do not use grow(), which starts with 16 */
	int r = c->count == c->cap ? span_cover_resize(s, c, c->cap ? c->cap * 2 : 2) : 0;

	if (r < 0)
		return r;
	if (to < c->count)
		memmove(c->pieces + from + 1, c->pieces + to, (c->count - to) * sizeof(*c->pieces));
	c->pieces[from] = piece;
	c->count = c->count - to + from + 1;
	return 0;
}

/* *blurred is set if it overlaps dropped pieces. 0 or -ENOMEM. */
static int span_cover_add(struct spans *s, struct span_cover *c, int64_t start, int64_t stop,
			  bool *blurred)
{
	uint32_t from, to = c->count;

	*blurred |= start < c->until;
	start = MAX(start, c->until);
	if (start >= stop)
		return 0;
	while (to && c->pieces[to - 1].start > stop) /* parts of a wait may be far back */
		to--;
	for (from = to; from && c->pieces[from - 1].stop >= start; from--) {
		start = MIN(start, c->pieces[from - 1].start);
		stop = MAX(stop, c->pieces[from - 1].stop);
	}
	return span_cover_put(s, c, from, to, (struct span_piece){start, stop});
}

/* Replaces all but the last pieces with their total length. */
static void span_cover_forget(struct spans *s, struct span_cover *c, uint32_t keep)
{
	uint32_t gone = c->count > keep ? c->count - keep : 0;

	if (!gone)
		return;
	for (uint32_t i = 0; i < gone; i++)
		c->before += c->pieces[i].stop - c->pieces[i].start;
	c->until = c->pieces[gone - 1].stop;
	c->count -= gone;
	memmove(c->pieces, c->pieces + gone, c->count * sizeof(*c->pieces));
	(void)span_cover_resize(s, c, c->count); /* if shrinking fails, the old array stays */
}

/* ---- covers of a span ---- */

/* The cover that holds the pieces of a cover. */
static struct span_cover *covers_in(struct span_covers *m, unsigned int cover)
{
	while (cover && !(m->apart >> cover & 1))
		cover--;
	return &m->by[cover];
}

/* Gives a cover its own pieces, since it differs from the one before it from now on. */
static int covers_part(struct spans *s, struct span_covers *m, unsigned int cover)
{
	const struct span_cover *from = covers_in(m, cover);
	struct span_cover *to = &m->by[cover];
	int r;

	if (!cover || m->apart >> cover & 1)
		return 0;
	*to = (struct span_cover){.before = from->before, .until = from->until};
	r = span_cover_resize(s, to, from->count);
	if (r < 0)
		return r;
	if (from->count)
		memcpy(to->pieces, from->pieces, from->count * sizeof(*to->pieces));
	to->count = from->count;
	m->apart |= (uint8_t)(1u << cover);
	return 0;
}

static struct span_covers *covers_of(struct spans *s, struct span *k)
{
	struct span_covers *m;

	if (k->sums.covers)
		return &s->covers[k->sums.covers - 1];
	if (array_add(s->covers, s->covers_count, s->covers_cap,
		      (struct span_covers){.span = (uint32_t)(k - s->all),
					   .by[0].until = k->sums.until}) < 0)
		return NULL;
	m = &s->covers[s->covers_count - 1];
	s->cover_bytes += sizeof(*m);
	k->sums.covers = (uint32_t)s->covers_count;
	return m;
}

int span_covers_add(struct spans *s, struct span *k, unsigned int cover, int64_t start,
		    int64_t stop)
{
	struct span_covers *m;
	int r;

	if (start >= stop)
		return 0;
	m = covers_of(s, k);
	if (!m)
		return -ENOMEM;
	r = covers_part(s, m, cover);
	for (unsigned int c = cover; c < SPAN_COVERS && r >= 0; c++) {
		if (c == cover || m->apart >> c & 1)
			r = span_cover_add(s, &m->by[c], start, stop, &k->sums.blurred);
	}
	return r;
}

/* Reduces the covers of a span to lengths. */
static void covers_give_up(struct spans *s, struct span_covers *m)
{
	struct span_sums *sums = &s->all[m->span].sums;

	for (unsigned int c = 0; c < SPAN_COVERS; c++)
		sums->length[c] += span_cover_length(covers_in(m, c));
	for (unsigned int c = 0; c < SPAN_COVERS; c++) {
		span_cover_forget(s, &m->by[c], 0);
		sums->until = MAX(sums->until, m->by[c].until);
	}
	sums->covers = 0;
	s->cover_bytes -= sizeof(*m);
}

void span_covers_trim(struct spans *s, int64_t now)
{
	size_t kept = 0;

	if (s->cover_bytes <= MAX(s->cover_bytes_most, (size_t)SPAN_COVER_BYTES))
		return;
	for (size_t i = 0; i < s->covers_count; i++) {
		struct span_covers *m = &s->covers[i];

		if (s->all[m->span].stop < now) {
			covers_give_up(s, m);
			continue;
		}
		for (unsigned int c = 0; c < SPAN_COVERS; c++)
			span_cover_forget(s, &m->by[c], SPAN_PIECES_OPEN);
		s->covers[kept] = *m;
		s->all[m->span].sums.covers = (uint32_t)++kept;
	}
	s->covers_count = kept;
	/* for many spans open at the same time */
	s->cover_bytes_most = MAX(s->cover_bytes * 2, (size_t)SPAN_COVER_BYTES);
}

void spanset_settle(struct spans *s)
{
	for (size_t i = 0; i < s->covers_count; i++)
		covers_give_up(s, &s->covers[i]);
	free(s->covers);
	s->covers = NULL;
	s->covers_count = s->covers_cap = 0;
}
