// SPDX-License-Identifier: Apache-2.0
/* press_cells.c: sums by window and group. A group's cells are sorted by time; calls are added to the last ones. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/features/press/press.h"
#include "base/array.h"
#include "base/saturate.h"

static void press_groups_clear(struct press_cells *p)
{
	for (size_t i = 0; i < p->group_count; i++)
		free(p->groups[i].cells);
	p->group_count = 0;
}

void press_cells_free(struct press_cells *p)
{
	press_groups_clear(p);
	free(p->groups);
	map_free(&p->by_key);
}

/* Appends a group without cells. */
static int press_group_new(struct press_cells *p, uint64_t key, uint32_t device, uint32_t process)
{
	int r = grow((void **)&p->groups, &p->group_cap, p->group_count + 1, sizeof(*p->groups));

	if (r >= 0)
		r = map_set(&p->by_key, key, p->group_count);
	if (r < 0)
		return r;
	p->groups[p->group_count++] = (struct press_group){
		.key = key, .device = device, .process = process, .thread_id = -1};
	return 0;
}

int press_group_find(struct press_cells *p, uint64_t key, uint32_t device, uint32_t process,
		     uint32_t *ret)
{
	uint64_t known;
	int r;

	if (!map_get(&p->by_key, key, &known)) {
		if (p->group_count >= PRESS_GROUPS_MAX) {
			r = press_cells_fold(p);
			if (r < 0)
				return r;
		}
		known = p->group_count;
		r = press_group_new(p, key, device, process);
		if (r < 0)
			return r;
	}
	*ret = (uint32_t)known;
	return 0;
}

/* ---- cells ---- */

static void press_cell_merge(struct press_cell *to, const struct press_cell *from)
{
	for (int k = 0; k < PRESS_KINDS; k++) {
		to->calls[k] += from->calls[k];
		to->durs[k] = add_sat_signed(to->durs[k], from->durs[k]);
	}
	to->time = add_sat_signed(to->time, from->time);
	to->bytes = add_sat_signed(to->bytes, from->bytes);
	to->longest = MAX(to->longest, from->longest);
}

/* Merges cells of the same window in a sorted array; returns the number of cells left. */
static size_t press_cells_unite(struct press_cell *cells, size_t count)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (kept && cells[kept - 1].window == cells[i].window)
			press_cell_merge(&cells[kept - 1], &cells[i]);
		else
			cells[kept++] = cells[i];
	}
	return kept;
}

/* The index of a window's cell, searched backwards from *at, or created. */
static int press_cell_at(struct press_cells *p, struct press_group *g, uint32_t window, size_t *at)
{
	size_t i = *at;
	int r;

	while (i > 0 && g->cells[i - 1].window > window)
		i--;
	if (i > 0 && g->cells[i - 1].window == window) {
		*at = i - 1;
		return 0;
	}
	r = grow((void **)&g->cells, &g->cap, g->count + 1, sizeof(*g->cells));
	if (r < 0)
		return r;
	memmove(&g->cells[i + 1], &g->cells[i], (g->count - i) * sizeof(*g->cells));
	g->cells[i] = (struct press_cell){.window = window};
	g->count++;
	p->count++;
	*at = i;
	return 0;
}

static uint32_t press_window(const struct press_cells *p, int64_t at)
{
	uint64_t since = (uint64_t)at - (uint64_t)p->origin;

	return at <= p->origin
		       ? 0
		       : (uint32_t)MIN(since / (uint64_t)p->width, (uint64_t)UINT32_MAX - 1);
}

static int press_spread(struct press_cells *p, struct press_group *g, const struct press_call *call)
{
	uint32_t first = press_window(p, call->start), last = press_window(p, call->stop);
	/* windows are processed from the last to the first, so none is searched twice */
	size_t at = g->count;
	int r = 0;

	for (uint32_t w = last; r >= 0 && w + 1 > first; w--) {
		int64_t from = p->origin + (int64_t)w * p->width, begun = MAX(call->start, from),
			to = MIN(call->stop, from + p->width);
		struct press_cell *c;

		r = press_cell_at(p, g, w, &at);
		if (r < 0)
			return r;
		c = &g->cells[at];
		c->time = add_sat_signed(c->time, MAX(to - begun, 0));
		if (w == last && call->ended) {
			c->calls[call->kind]++;
			c->durs[call->kind] = add_sat_signed(
				c->durs[call->kind], MAX(call->stop - call->start - call->runq, 0));
			c->bytes = add_sat_signed(c->bytes, call->bytes);
			c->longest = MAX(c->longest, call->stop - call->start);
		}
		if (w == 0)
			break;
	}
	return r;
}

/* Doubles the length of windows. */
static void press_widen(struct press_cells *p)
{
	p->width *= 2;
	p->count = 0;
	for (size_t i = 0; i < p->group_count; i++) {
		struct press_group *g = &p->groups[i];

		for (size_t k = 0; k < g->count; k++)
			g->cells[k].window /= 2;
		g->count = press_cells_unite(g->cells, g->count);
		p->count += g->count;
	}
}

int press_cells_add(struct press_cells *p, uint32_t group, const struct press_call *call)
{
	struct press_group *g = &p->groups[group];
	int r;

	/* a long call, or one with an invalid duration, must not fill an unlimited number of windows */
	while (press_window(p, call->stop) - press_window(p, call->start) > PRESS_SPAN_MAX)
		press_widen(p);

	g->time = add_sat_signed(g->time, call->stop - call->start);
	r = press_spread(p, g, call);
	if (r < 0 || p->count <= PRESS_CELLS_MAX)
		return r;
	r = press_cells_fold(p);
	while (r >= 0 && p->count > PRESS_CELLS_MAX / 2)
		press_widen(p);
	return r;
}

/* ---- folding ---- */

static int press_group_order(const void *a, const void *b)
{
	const struct press_group *x = a, *y = b;
	bool xo = x->process == FEATURE_NONE, yo = y->process == FEATURE_NONE;

	return ORDER(x->device, y->device) ?: ORDER(xo, yo) ?: ORDER(y->time, x->time) ?: ORDER(x->key, y->key);
}

static int press_cell_order(const void *a, const void *b)
{
	const struct press_cell *x = a, *y = b;

	return ORDER(x->window, y->window);
}

/* Merges groups [0 .. count) into one, that of all others. */
static int press_fold_groups(struct press_group *g, size_t count)
{
	struct press_group others = {.key = ~(uint64_t)g->device,
				     .device = g->device,
				     .process = FEATURE_NONE,
				     .thread_id = -1};
	int r;

	for (size_t i = 0; i < count; i++) {
		r = grow((void **)&others.cells, &others.cap, others.count + g[i].count,
			 sizeof(*others.cells));
		if (r < 0) {
			free(others.cells);
			return r;
		}
		if (g[i].count)
			memcpy(others.cells + others.count, g[i].cells,
			       g[i].count * sizeof(*others.cells));
		others.count += g[i].count;
		others.time = add_sat_signed(others.time, g[i].time);
	}
	for (size_t i = 0; i < count; i++)
		free(g[i].cells);
	array_sort(others.cells, others.count, press_cell_order);
	others.count = press_cells_unite(others.cells, others.count);
	g[0] = others;
	return 0;
}

/* Reindexes the groups. */
static int press_groups_index(struct press_cells *p)
{
	int r = 0;

	map_clear(&p->by_key);
	p->count = 0;
	p->epoch++;
	for (size_t i = 0; i < p->group_count && r >= 0; i++) {
		p->count += p->groups[i].count;
		r = map_set(&p->by_key, p->groups[i].key, i);
	}
	return r;
}

int press_cells_fold(struct press_cells *p)
{
	size_t kept = 0;
	int r = 0;

	if (!p->group_count)
		return 0;
	array_sort(p->groups, p->group_count, press_group_order);
	for (size_t from = 0, to, named; from < p->group_count; from = to) {
		for (to = from;
		     to < p->group_count && p->groups[to].device == p->groups[from].device;)
			to++;
		named = MIN(to - from, (size_t)PRESS_GROUPS);
		if (r >= 0 && to - from > named + 1) {
			r = press_fold_groups(&p->groups[from + named], to - from - named);
			named += r >= 0;
		} else {
			named = to - from; /* a single remaining group keeps its name */
		}
		if (r < 0)
			named = to - from;
		memmove(&p->groups[kept], &p->groups[from], named * sizeof(*p->groups));
		kept += named;
	}
	p->group_count = kept;
	return r < 0 ? r : press_groups_index(p);
}
