/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/ring/pending.h"

#include <errno.h>
#include <string.h>

void pending_free(struct pending_list *l)
{
	free(l->items);
	free(l->merged);
	*l = (struct pending_list){0};
}

int pending_add(struct pending_list *l, const struct wire_head *record, struct chunk *c,
		size_t first, bool follows)
{
	int r = grow((void **)&l->items, &l->cap, l->count + 1, sizeof(*l->items));

	if (r < 0)
		return r;
	for (size_t i = l->count; follows && i-- > first;) {
		struct pending *p = &l->items[i];

		if (wire_is_call(p->record) || p->time < record->time)
			break;
		p->time = record->time;
	}
	l->items[l->count++] = (struct pending){.time = record->time, .record = record, .chunk = c};
	c->refs++;
	return 0;
}

/* Merges two adjacent runs of `from` into `to`. */
static void merge_runs(const struct pending *from, struct pending *to, size_t a, size_t mid,
		       size_t end)
{
	size_t i = a, j = mid, k = a;

	while (i < mid && j < end)
		to[k++] = from[j].time < from[i].time ? from[j++] : from[i++];
	while (i < mid)
		to[k++] = from[i++];
	while (j < end)
		to[k++] = from[j++];
}

static size_t run_end(const struct pending *p, size_t from, size_t count)
{
	while (from + 1 < count && p[from].time <= p[from + 1].time)
		from++;
	return from + 1;
}

int pending_sort(struct pending_list *l)
{
	size_t n = l->count;

	if (grow((void **)&l->merged, &l->merged_cap, n, sizeof(*l->merged)) < 0)
		return -ENOMEM;
	while (run_end(l->items, 0, n) < n) {
		struct pending *swap = l->items;
		size_t cap = l->cap;

		for (size_t a = 0; a < n;) {
			size_t mid = run_end(l->items, a, n),
			       end = mid < n ? run_end(l->items, mid, n) : n;

			merge_runs(l->items, l->merged, a, mid, end);
			a = end;
		}
		l->items = l->merged;
		l->merged = swap;
		l->cap = l->merged_cap;
		l->merged_cap = cap;
	}
	return 0;
}

void pending_compact(struct pending_list *l)
{
	if (!l->at)
		return;
	memmove(l->items, l->items + l->at, (l->count - l->at) * sizeof(*l->items));
	l->count -= l->at;
	l->at = 0;
}
