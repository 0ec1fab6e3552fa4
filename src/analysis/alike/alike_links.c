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

/* ---- disjoint sets: each element has its parent, at first itself ---- */

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

/* ---- links ---- */

static int link_compare(const void *a, const void *b)
{
	const struct alike_link *x = a, *y = b;

	return ORDER(y->exact, x->exact) ?: ORDER(x->a, y->a) ?: ORDER(x->b, y->b);
}

/* Drops links between kinds that more similar links connect. */
static int links_thin(struct alike *a)
{
	_cleanup_free_ uint32_t *parent = array_indexes(a->kind_count);
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

static uint64_t link_band_of(const struct alike *a, uint32_t s, unsigned int band)
{
	uint64_t ret;

	memcpy(&ret, a->signatures + (size_t)s * ALIKE_HASHES + (size_t)band * ALIKE_BAND,
	       sizeof(ret));
	return ret;
}
_Static_assert(ALIKE_BAND * sizeof(uint16_t) == sizeof(uint64_t), "a band is one number");

/* True if the two were already compared in an earlier band. */
static bool link_compared(const struct alike *a, uint32_t s, uint32_t t, unsigned int band)
{
	for (unsigned int i = 0; i < band; i++) {
		if (link_band_of(a, s, i) == link_band_of(a, t, i))
			return true;
	}
	return false;
}

static int link_pair(struct alike *a, const struct link_bands *l, uint32_t s, uint32_t t,
		     unsigned int band)
{
	struct alike_link link = {.a = l->kinds[t], .b = l->kinds[s]};

	if (link_compared(a, s, t, band))
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
		uint64_t key = link_band_of(a, s, band), before = ALIKE_NONE;
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

static int alike_group_compare(const void *a, const void *b, void *arg)
{
	const struct alike_group *all = arg, *x = &all[*(const uint32_t *)a],
				 *y = &all[*(const uint32_t *)b];

	return ORDER(y->bytes, x->bytes) ?: ORDER(x->first, y->first);
}

/*
 * Numbers the groups, by their roots. Each file is a kind, so a group needs at least two kinds. Equal calls are one
 * kind, which is a group by itself if it has several calls.
 */
static void groups_number(struct alike *a, uint32_t *parent, uint32_t *number)
{
	memset(number, 0xff, a->kind_count * sizeof(*number));
	for (size_t i = 0; i < a->kind_count; i++) {
		uint32_t root = join_root(parent, (uint32_t)i);
		bool alone = a->unit == ALIKE_FILES || a->kinds[i].calls < 2;

		if ((root != i || !alone) && number[root] == ALIKE_NONE)
			number[root] = (uint32_t)a->group_count++;
	}
}

static void groups_fill(struct alike *a, uint32_t *parent, const uint32_t *number, double least)
{
	for (size_t i = 0; i < a->kind_count; i++) {
		struct alike_kind *k = &a->kinds[i];
		struct alike_group *g;

		k->group = number[join_root(parent, (uint32_t)i)];
		if (k->group == ALIKE_NONE)
			continue;
		g = &a->groups[k->group];
		if (!g->kinds++) {
			g->first = (uint32_t)i;
			g->least = 1;
		}
		g->calls += k->calls;
		g->bytes += (uint64_t)k->bytes * (a->unit == ALIKE_FILES ? 1 : k->calls);
	}
	for (size_t i = 0; i < a->link_count; i++) {
		struct alike_group *g;

		if ((double)a->links[i].exact < least)
			continue;
		g = &a->groups[a->kinds[a->links[i].a].group];
		g->least = MIN(g->least, a->links[i].exact);
	}
}

/* Ranks groups by size; a kind then has the rank of its group. */
static void groups_rank(struct alike *a, uint32_t *number)
{
	array_sort_by(a->ranked, a->group_count, alike_group_compare, a->groups);
	for (size_t i = 0; i < a->group_count; i++)
		number[a->ranked[i]] = (uint32_t)i;
	for (size_t i = 0; i < a->kind_count; i++) {
		struct alike_kind *k = &a->kinds[i];

		k->group = k->group == ALIKE_NONE ? ALIKE_NONE : number[k->group];
	}
}

int alike_make_groups(struct alike *a, double least)
{
	_cleanup_free_ uint32_t *parent = array_indexes(a->kind_count), *number = NULL;

	number = malloc((a->kind_count + 1) * sizeof(*number));
	if (!parent || !number)
		return -ENOMEM;
	for (size_t i = 0; i < a->link_count; i++) {
		if ((double)a->links[i].exact >= least)
			alike_join(parent, a->links[i].a, a->links[i].b);
	}
	groups_number(a, parent, number);
	a->groups = calloc(a->group_count + 1, sizeof(*a->groups));
	a->ranked = array_indexes(a->group_count);
	if (!a->groups || !a->ranked)
		return -ENOMEM;
	groups_fill(a, parent, number, least);
	groups_rank(a, number);
	return 0;
}
