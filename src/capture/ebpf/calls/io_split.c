/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/calls/io_split.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"

struct io_split_call {
	uint64_t start;
	size_t count, cap;
	bool over; /* the limit was exceeded */
	struct io_request *list;
};

static struct io_split_call *io_split_get(const struct io_split *s, uint32_t thread)
{
	uint64_t at;

	return map_get(&s->calls, thread, &at) ? (struct io_split_call *)(uintptr_t)at : NULL;
}

static void call_free(struct io_split_call *c)
{
	if (c)
		free(c->list);
	free(c);
}

static void calls_forget(struct io_split *s)
{
	uint64_t key, value;
	size_t pos = 0;

	while (map_next(&s->calls, &pos, &key, &value)) {
		struct io_split_call *c = (struct io_split_call *)(uintptr_t)value;

		s->forgotten = MAX(s->forgotten, c->start);
		call_free(c);
	}
	map_clear(&s->calls);
}

void io_split_free(struct io_split *s)
{
	calls_forget(s);
	map_free(&s->calls);
}

static int call_new(struct io_split *s, uint32_t thread, struct io_split_call **ret)
{
	struct io_split_call *c = calloc(1, sizeof(*c));
	int r;

	/* most belong to threads that ended and make no more calls */
	if (s->calls.count >= IO_SPLIT_CALLS_MAX)
		calls_forget(s);
	r = c ? map_set(&s->calls, thread, (uintptr_t)c) : -ENOMEM;
	if (r < 0) {
		call_free(c);
		return r;
	}
	*ret = c;
	return 0;
}

int io_split_request(struct io_split *s, uint32_t thread, uint64_t start,
		     const struct io_request *request)
{
	struct io_split_call *c = io_split_get(s, thread);
	int r = c ? 0 : call_new(s, thread, &c);

	if (r < 0 || start < c->start) /* of an earlier call, which has ended */
		return r;
	if (start > c->start) {
		c->start = start;
		c->count = 0;
		c->over = false;
	}
	if (c->count >= IO_SPLIT_REQUESTS_MAX) {
		c->over = true;
		return 0;
	}
	return array_add(c->list, c->count, c->cap, *request);
}

struct span {
	uint64_t from, to;
};

static int span_order(const void *x, const void *y)
{
	const struct span *a = x, *b = y;

	return ORDER(a->from, b->from);
}

/* How much of a wait is covered by spans, which are sorted. */
static uint64_t covered(const struct span *spans, size_t count, const struct wire_wait *wait)
{
	uint64_t at = wait->from, sum = 0;

	for (size_t i = 0; i < count && spans[i].from < wait->to; i++) {
		uint64_t from = MAX(spans[i].from, at), to = MIN(spans[i].to, wait->to);

		if (to <= from)
			continue;
		sum += to - from;
		at = to;
	}
	return sum;
}

/* The part of the waits in which at least one request was queued, or in the device. */
static uint64_t all_covered(const struct io_split_call *c, bool device,
			    const struct wire_wait *waits, size_t count)
{
	struct span spans[IO_SPLIT_REQUESTS_MAX];
	uint64_t sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < c->count; i++) {
		const struct io_request *q = &c->list[i];
		uint64_t from = device || !q->queued ? q->issued : q->queued;

		if (from)
			spans[n++] = (struct span){from, q->end};
	}
	array_sort(spans, n, span_order);
	for (size_t i = 0; i < count; i++)
		sum += covered(spans, n, &waits[i]);
	return sum;
}

bool io_split_take(struct io_split *s, uint32_t thread, uint64_t start,
		   const struct wire_wait *waits, size_t count, struct io_parts *ret)
{
	struct io_split_call *c = io_split_get(s, thread);
	bool known = start > s->forgotten;

	*ret = (struct io_parts){0};
	if (c && c->start == start) {
		known = known && !c->over;
		ret->device = all_covered(c, true, waits, count);
		ret->queued = all_covered(c, false, waits, count) - ret->device;
	}
	if (c && c->start <= start) {
		map_del(&s->calls, thread);
		call_free(c);
	}
	return known;
}
