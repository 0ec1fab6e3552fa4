// SPDX-License-Identifier: Apache-2.0
/* span_waits.c: derives the calls that spans wait for from the waits of threads. */
#include <errno.h>

#include "analysis/spans/span_joins.h"
#include "base/array.h"
#include "schema/vocab.h"

/* Position of the pass in the intervals in which spans wait for a task. */
struct span_watch {
	size_t from, to, next; /* indexes in behind[] */
	size_t *open;	       /* intervals that calls may still overlap */
	size_t count, cap;
};

void span_joins_free(struct span_joins *j)
{
	for (size_t i = 0; i < j->tasks; i++)
		free(j->watch[i].open);
	free(j->watch);
	free(j->waits);
	free(j->behind);
	free(j->found);
	free(j);
}

size_t span_joins_from(const struct span_joins *j, uint32_t task, int64_t from, size_t *ret_end)
{
	const struct span_wait *w = j->waits;
	size_t end = array_first(i, 0, j->wait_count, w[i].task > task);

	*ret_end = end;
	return array_first(i, 0, end, w[i].task == task && w[i].stop > from);
}

/* ---- intervals in which spans wait ---- */

struct resolving {
	struct spans *s;
	uint32_t waiter; /* it sleeps: its own calls are not what it waits for */
	uint32_t span;
};

static int wait_add(struct resolving *v, uint32_t task, int64_t start, int64_t stop,
		    unsigned int depth)
{
	struct span_joins *j = v->s->joins;
	size_t end, at;

	if (start >= stop || task == v->waiter)
		return 0;
	if (j->behind_count == JOIN_INTERVALS_MAX) {
		v->s->unjoined++;
		return 0;
	}
	if (array_add(j->behind, j->behind_count, j->behind_cap,
		      (struct span_behind){start, stop, task, v->span}) < 0)
		return -ENOMEM;
	if (depth == JOIN_DEPTH_MAX)
		return 0;
	for (at = span_joins_from(j, task, start, &end); at < end && j->waits[at].start < stop;
	     at++) {
		const struct span_wait *w = &j->waits[at];
		int r = wait_add(v, w->target, MAX(start, w->start), MIN(stop, w->stop), depth + 1);

		if (r < 0)
			return r;
	}
	return 0;
}

static int behind_order(const void *a, const void *b)
{
	const struct span_behind *x = a, *y = b;

	return ORDER(x->task, y->task) ?: ORDER(x->start, y->start) ?: ORDER(x->span, y->span) ?: ORDER(x->stop, y->stop);
}

int span_joins_resolve(struct spans *s)
{
	struct span_joins *j = s->joins;
	uint32_t spans[SPAN_LANES_MAX];
	int r = 0;

	for (size_t i = 0; i < j->wait_count && r >= 0; i++) {
		const struct span_wait *w = &j->waits[i];
		size_t n = span_places_look(s->places, w->task, w->start, !w->idle, spans);

		for (size_t k = 0; k < n && r >= 0; k++) {
			struct resolving v = {.s = s, .waiter = w->task, .span = spans[k]};

			r = wait_add(&v, w->target, w->start, MIN(w->stop, s->all[spans[k]].stop),
				     0);
		}
	}
	if (r < 0)
		return r;
	array_sort(j->behind, j->behind_count, behind_order);
	j->tasks = span_places_tasks(s->places);
	j->watch = calloc(j->tasks + 1, sizeof(*j->watch));
	if (!j->watch)
		return -ENOMEM;
	for (size_t i = 0; i < j->behind_count; i++) {
		struct span_watch *w = &j->watch[j->behind[i].task];

		if (w->from == w->to)
			w->from = w->next = i;
		w->to = i + 1;
	}
	return 0;
}

/* ---- the pass ---- */

void span_joins_restart(struct span_joins *j)
{
	for (size_t i = 0; i < j->tasks; i++) {
		j->watch[i].next = j->watch[i].from;
		j->watch[i].count = 0;
	}
}

static int found_order(const void *a, const void *b)
{
	const struct span_waiting *x = a, *y = b;

	return ORDER(x->span, y->span);
}

/* Merges entries of one span, which come from several of its threads, or several waits. */
static size_t found_unite(struct span_waiting *all, size_t count)
{
	size_t kept = 0;

	array_sort(all, count, found_order);
	for (size_t i = 0; i < count; i++) {
		if (kept && all[kept - 1].span == all[i].span)
			all[kept - 1].part += all[i].part;
		else
			all[kept++] = all[i];
	}
	return kept;
}

ssize_t span_joins_of(struct spans *s, uint32_t task, const struct batch *b, size_t row,
		      int64_t start, int64_t stop)
{
	struct span_joins *j = s->joins;
	struct span_watch *w = task < j->tasks ? &j->watch[task] : NULL;
	int64_t kind = batch_get(b, OP_KIND, row, KIND_SYSCALL);
	size_t n = 0, kept = 0;

	if (!w || (w->next == w->to && !w->count))
		return 0;
	for (; w->next < w->to && j->behind[w->next].start < stop; w->next++) {
		if (array_add(w->open, w->count, w->cap, w->next) < 0)
			return -ENOMEM;
	}
	if (grow((void **)&j->found, &j->found_cap, w->count, sizeof(*j->found)) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < w->count; i++) {
		const struct span_behind *k = &j->behind[w->open[i]];
		int64_t part = MIN(stop, k->stop) - MAX(start, k->start);

		/* a thread's calls are sequential; requests that it submitted end in between */
		if (k->stop > start || kind != KIND_SYSCALL)
			w->open[kept++] = w->open[i];
		if (part > 0 && (kind == KIND_SYSCALL || kind == KIND_FAULT || stop <= k->stop))
			j->found[n++] = (struct span_waiting){k->span, part};
	}
	w->count = kept;
	return (ssize_t)found_unite(j->found, n);
}
