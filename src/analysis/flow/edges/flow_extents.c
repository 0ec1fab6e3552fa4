// SPDX-License-Identifier: Apache-2.0
/* flow_extents.c: the map from bytes to their last writer. */
#include "analysis/flow/edges/flow_extents.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

#define LEAF_MAX   128u
#define LEAF_FIRST 4u
#define NOBODY	   UINT32_MAX

/* Bytes from `from` up to the next boundary were written by `writer`. */
struct flow_boundary {
	int64_t from;
	uint32_t writer;
};

struct flow_leaf {
	uint32_t count, cap; /* count is at least 1 */
	struct flow_boundary all[];
};

struct flow_cursor {
	size_t leaf;
	uint32_t at;
};

void flow_extents_free(struct flow_extents *x, struct flow_extents_room *room)
{
	for (size_t i = 0; i < x->count; i++) {
		room->used -= x->leaves[i]->count;
		free(x->leaves[i]);
	}
	free(x->leaves);
	*x = (struct flow_extents){0};
}

/* The first boundary at or after `pos`; leaf == count: none. */
static struct flow_cursor extents_find(const struct flow_extents *x, int64_t pos)
{
	/* the first leaf that begins after pos */
	size_t low = array_first(i, 0, x->count, x->leaves[i]->all[0].from > pos);
	const struct flow_leaf *l;
	uint32_t from;

	if (!low)
		return (struct flow_cursor){0, 0};
	l = x->leaves[low - 1];
	from = (uint32_t)array_first(i, 0, l->count, l->all[i].from >= pos);
	return from == l->count ? (struct flow_cursor){low, 0}
				: (struct flow_cursor){low - 1, from};
}

static const struct flow_boundary *boundary(const struct flow_extents *x, struct flow_cursor c)
{
	return c.leaf < x->count ? &x->leaves[c.leaf]->all[c.at] : NULL;
}

static const struct flow_boundary *boundary_before(const struct flow_extents *x,
						   struct flow_cursor c)
{
	if (c.at)
		return &x->leaves[c.leaf]->all[c.at - 1];
	if (!c.leaf)
		return NULL;
	return &x->leaves[c.leaf - 1]->all[x->leaves[c.leaf - 1]->count - 1];
}

static void extents_step(const struct flow_extents *x, struct flow_cursor *c)
{
	if (++c->at < x->leaves[c->leaf]->count)
		return;
	c->leaf++;
	c->at = 0;
}

bool flow_extents_next(const struct flow_extents *x, int64_t *pos, int64_t to,
		       struct flow_extent *ret)
{
	struct flow_cursor c = extents_find(x, *pos);
	const struct flow_boundary *b = boundary(x, c),
				   *at = b && b->from == *pos ? b : boundary_before(x, c);

	if (b && b->from == *pos)
		extents_step(x, &c);
	while (*pos < to) {
		const struct flow_boundary *next = boundary(x, c);
		int64_t end = next ? MIN(next->from, to) : to;

		if (at && at->writer != NOBODY) {
			*ret = (struct flow_extent){*pos, end, at->writer};
			*pos = end;
			return true;
		}
		*pos = end;
		at = next;
		if (!next)
			return false;
		extents_step(x, &c);
	}
	return false;
}

/* ---- changes ---- */

static void extents_drop_leaf(struct flow_extents *x, size_t leaf)
{
	free(x->leaves[leaf]);
	x->count--;
	memmove(&x->leaves[leaf], &x->leaves[leaf + 1], (x->count - leaf) * sizeof(*x->leaves));
}

/* Removes the boundaries in [from, to]. */
static void extents_remove(struct flow_extents *x, struct flow_extents_room *room, int64_t from,
			   int64_t to)
{
	struct flow_cursor c = extents_find(x, from);

	while (c.leaf < x->count) {
		struct flow_leaf *l = x->leaves[c.leaf];
		uint32_t last = c.at;

		while (last < l->count && l->all[last].from <= to)
			last++;
		if (last == c.at)
			return;
		room->used -= last - c.at;
		memmove(&l->all[c.at], &l->all[last], (l->count - last) * sizeof(*l->all));
		l->count -= last - c.at;
		if (c.at < l->count)
			return;
		if (l->count)
			c.leaf++;
		else
			extents_drop_leaf(x, c.leaf);
		c.at = 0;
	}
}

static int extents_new_leaf(struct flow_extents *x, size_t leaf, uint32_t cap)
{
	struct flow_leaf *l;

	if (grow((void **)&x->leaves, &x->cap, x->count + 1, sizeof(*x->leaves)) < 0)
		return -ENOMEM;
	l = malloc(sizeof(*l) + cap * sizeof(*l->all));
	if (!l)
		return -ENOMEM;
	*l = (struct flow_leaf){.cap = cap};
	memmove(&x->leaves[leaf + 1], &x->leaves[leaf], (x->count - leaf) * sizeof(*x->leaves));
	x->leaves[leaf] = l;
	x->count++;
	return 0;
}

/* Makes room for another boundary: enlarges the leaf, or splits it in half. */
static int extents_make_room(struct flow_extents *x, struct flow_cursor *c)
{
	struct flow_leaf *l = x->leaves[c->leaf];
	uint32_t half = l->count / 2;
	int r;

	if (l->count < l->cap)
		return 0;
	if (l->cap < LEAF_MAX) {
		uint32_t cap = MIN(l->cap * 4, LEAF_MAX);

		l = realloc(l, sizeof(*l) + cap * sizeof(*l->all));
		if (!l)
			return -ENOMEM;
		l->cap = cap;
		x->leaves[c->leaf] = l;
		return 0;
	}
	/* appending: keep leaves full */
	if (c->leaf == x->count - 1 && c->at == l->count)
		half = l->count - 1;
	r = extents_new_leaf(x, c->leaf + 1, LEAF_MAX);
	if (r < 0)
		return r;
	x->leaves[c->leaf + 1]->count = l->count - half;
	memcpy(x->leaves[c->leaf + 1]->all, &l->all[half], (l->count - half) * sizeof(*l->all));
	l->count = half;
	if (c->at > half) {
		c->leaf++;
		c->at -= half;
	}
	return 0;
}

static int extents_insert(struct flow_extents *x, struct flow_extents_room *room, int64_t from,
			  uint32_t writer)
{
	struct flow_cursor c = extents_find(x, from);
	const struct flow_boundary *before = boundary_before(x, c);
	struct flow_leaf *l;
	int r;

	if (before ? before->writer == writer : writer == NOBODY)
		return 0;
	if (room->used >= FLOW_BOUNDARIES_MAX)
		return -ENOSPC;
	/* append to the previous leaf instead of inserting before this one */
	if (!c.at && c.leaf) {
		c.leaf--;
		c.at = x->leaves[c.leaf]->count;
	}
	r = x->count ? extents_make_room(x, &c) : extents_new_leaf(x, 0, LEAF_FIRST);
	if (r < 0)
		return r;
	l = x->leaves[c.leaf];
	memmove(&l->all[c.at + 1], &l->all[c.at], (l->count - c.at) * sizeof(*l->all));
	l->all[c.at] = (struct flow_boundary){from, writer};
	l->count++;
	room->used++;
	return 0;
}

int flow_extents_put(struct flow_extents *x, struct flow_extents_room *room, int64_t from,
		     int64_t to, uint32_t writer)
{
	const struct flow_boundary *at;
	uint32_t behind;
	int r;

	assert(from < to);
	/* the writer from `to` on, determined before anything is removed */
	struct flow_cursor c = extents_find(x, to);

	at = boundary(x, c);
	if (!at || at->from != to)
		at = boundary_before(x, c);
	behind = at ? at->writer : NOBODY;
	extents_remove(x, room, from, to);
	r = extents_insert(x, room, from, writer);
	return r < 0 ? r : extents_insert(x, room, to, behind);
}
