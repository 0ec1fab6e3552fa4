// SPDX-License-Identifier: Apache-2.0
/*
 * alike_links.c: pairs of similar kinds, and groups of them. In a group each kind is similar to at least one other
 * (single linkage), so only a maximum spanning forest of the pairs found is kept (Kruskal, 1956): at any threshold it
 * connects the same kinds as all pairs do.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#include "analysis/alike/alike.h"

#define STOPPED_EVERY 4096

/* ---- disjoint sets ---- */

static uint32_t join_root(uint32_t *parent, uint32_t x)
{
	while (parent[x] != x)
		x = parent[x] = parent[parent[x]];
	return x;
}

/* Joins two sets; false: they were already joined. */
static bool alike_join(uint32_t *parent, uint32_t x, uint32_t y)
{
	x = join_root(parent, x);
	y = join_root(parent, y);
	parent[MAX(x, y)] = MIN(x, y);
	return x != y;
}

static uint32_t *join_new(size_t count)
{
	uint32_t *parent = malloc((count + 1) * sizeof(*parent));

	for (size_t i = 0; parent && i < count; i++)
		parent[i] = (uint32_t)i;
	return parent;
}

/* ---- links ---- */

static int link_compare(const void *a, const void *b)
{
	const struct alike_link *x = a, *y = b;

	return ORDER(y->exact, x->exact) ?: ORDER(x->a, y->a) ?: ORDER(x->b, y->b);
}

/* Drops links between kinds that more similar links connect. */
static int links_thin(struct alike *a)
{
	_cleanup_free_ uint32_t *parent = join_new(a->kind_count);
	size_t n = 0;

	if (!parent)
		return -ENOMEM;
	array_sort(a->links, a->link_count, link_compare);
	for (size_t i = 0; i < a->link_count; i++) {
		if (alike_join(parent, a->links[i].a, a->links[i].b))
			a->links[n++] = a->links[i];
	}
	a->link_count = n;
	return 0;
}

static int link_add(struct alike *a, const struct alike_link *l)
{
	/* a forest has fewer links than there are kinds */
	int r = a->link_count >= ALIKE_LINKS_MAX ? links_thin(a) : 0;

	if (r < 0)
		return r;
	return array_add(a->links, a->link_count, a->link_cap, *l);
}

/* ---- candidates ---- */

struct link_bands {
	uint32_t *kinds; /* of each signature */
	uint32_t *next;	 /* previous signature in its bucket; ALIKE_NONE */
	uint32_t *depth; /* number of signatures before it */
};

static const uint32_t *signature_of(const struct alike *a, uint32_t s)
{
	return a->signatures + (size_t)s * ALIKE_HASHES;
}

/* True if the two were already compared in an earlier band. */
static bool link_compared(const uint32_t *x, const uint32_t *y, unsigned int band)
{
	for (unsigned int i = 0; i < band; i++) {
		if (!memcmp(x + i * ALIKE_BAND, y + i * ALIKE_BAND, ALIKE_BAND * sizeof(*x)))
			return true;
	}
	return false;
}

static int link_pair(struct alike *a, const struct link_bands *l, uint32_t s, uint32_t t,
		     unsigned int band)
{
	const uint32_t *x = signature_of(a, s), *y = signature_of(a, t);
	struct alike_link link = {.a = l->kinds[t], .b = l->kinds[s]};

	if (memcmp(x + band * ALIKE_BAND, y + band * ALIKE_BAND, ALIKE_BAND * sizeof(*x)) != 0 ||
	    link_compared(x, y, band))
		return 0;
	if (!alike_can(a, link.a, link.b, ALIKE_LEAST))
		return 0;
	link.estimate = (float)alike_estimate(a, link.a, link.b);
	if (link.estimate < (float)(ALIKE_LEAST - ALIKE_MARGIN))
		return 0;
	a->compared++;
	link.exact = (float)alike_exact(a, link.a, link.b);
	return link.exact < (float)ALIKE_LEAST ? 0 : link_add(a, &link);
}

static int link_band(struct alike *a, struct link_bands *l, unsigned int band)
{
	_cleanup_(map_free) struct map buckets = {0};
	int r = 0;

	for (uint32_t s = 0; s < a->signature_count && r >= 0; s++) {
		const uint32_t *x = signature_of(a, s) + band * ALIKE_BAND;
		uint64_t key = hash_u64(hash_u64((uint64_t)x[0] << 32 | x[1]) ^
					((uint64_t)x[2] << 32 | x[3])),
			 before = ALIKE_NONE;
		unsigned int near = 0;

		if (s % STOPPED_EVERY == 0 && analysis_stopped(a->in))
			return -EINTR;

		l->next[s] = map_get(&buckets, key, &before) ? (uint32_t)before : ALIKE_NONE;
		l->depth[s] = before == ALIKE_NONE ? 0 : l->depth[before] + 1;
		r = map_set(&buckets, key, s);
		for (uint32_t t = l->next[s]; t != ALIKE_NONE && near < ALIKE_NEAR_MAX && r >= 0;
		     t = l->next[t], near++)
			r = link_pair(a, l, s, t, band);
		a->pairs_left_out += l->depth[s] > near ? l->depth[s] - near : 0;
	}
	return r;
}

int alike_link_kinds(struct alike *a)
{
	size_t count = a->signature_count + 1;
	_cleanup_free_ uint32_t *kinds = malloc(count * sizeof(*kinds)),
				*next = malloc(count * sizeof(*next)),
				*depth = malloc(count * sizeof(*depth));
	struct link_bands l = {kinds, next, depth};
	int r = kinds && next && depth ? 0 : -ENOMEM;

	for (size_t i = 0; i < a->kind_count && r >= 0; i++) {
		if (a->kinds[i].signature != ALIKE_NONE)
			kinds[a->kinds[i].signature] = (uint32_t)i;
	}
	for (unsigned int band = 0; band < ALIKE_BANDS && r >= 0; band++)
		r = link_band(a, &l, band);
	return r < 0 ? r : links_thin(a);
}

/* ---- groups ---- */

static int alike_group_compare(const void *a, const void *b)
{
	const struct alike_group *x = a, *y = b;

	return ORDER(y->bytes, x->bytes) ?: ORDER(x->first, y->first);
}

/*
 * Each file is a kind, so a group needs at least two kinds. Equal calls are one kind, which is a group by itself if it
 * has several calls.
 */
static bool group_is(const struct alike *a, const struct alike_group *g)
{
	return a->unit == ALIKE_FILES ? g->kinds > 1 : g->calls > 1;
}

/* Sets each group at the number of its first kind; entries that are not groups get number ALIKE_NONE. */
static void groups_fill(struct alike *a, struct alike_group *all, uint32_t *parent, double least)
{
	for (size_t i = 0; i < a->kind_count; i++) {
		struct alike_group *g = &all[join_root(parent, (uint32_t)i)];
		const struct alike_kind *k = &a->kinds[i];

		g->first = g->kinds ? g->first : (uint32_t)i;
		g->least = g->kinds ? g->least : 1;
		g->kinds++;
		g->calls += k->calls;
		g->bytes += (uint64_t)k->bytes * (a->unit == ALIKE_FILES ? 1 : k->calls);
	}
	for (size_t i = 0; i < a->link_count; i++) {
		struct alike_group *g = &all[join_root(parent, a->links[i].a)];

		if ((double)a->links[i].exact >= least)
			g->least = MIN(g->least, a->links[i].exact);
	}
}

int alike_make_groups(struct alike *a, double least)
{
	_cleanup_free_ uint32_t *parent = join_new(a->kind_count), *number = NULL;
	struct alike_group *all = calloc(a->kind_count + 1, sizeof(*all));
	size_t n = 0;

	a->groups = all;
	number = malloc((a->kind_count + 1) * sizeof(*number));
	if (!parent || !all || !number)
		return -ENOMEM;
	memset(number, 0xff, (a->kind_count + 1) * sizeof(*number));
	for (size_t i = 0; i < a->link_count; i++) {
		if ((double)a->links[i].exact >= least)
			alike_join(parent, a->links[i].a, a->links[i].b);
	}
	groups_fill(a, all, parent, least);
	for (size_t i = 0; i < a->kind_count; i++) {
		if (all[i].kinds && group_is(a, &all[i]))
			all[n++] = all[i];
	}
	a->group_count = n;
	array_sort(all, n, alike_group_compare);
	for (size_t i = 0; i < n; i++) {
		all[i].number = (uint32_t)i + 1;
		number[join_root(parent, all[i].first)] = (uint32_t)i;
	}
	for (size_t i = 0; i < a->kind_count; i++)
		a->kinds[i].group = number[join_root(parent, (uint32_t)i)];
	return 0;
}
