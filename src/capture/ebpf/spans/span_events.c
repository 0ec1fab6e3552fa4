/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/spans/span_events.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

/* How long before it was attached a program may have written the current records: SPAN_EARLY_NS, with a margin. */
#define OLDEST_NS (10 * (int64_t)SPAN_EARLY_NS)

void span_events_free(struct span_events *e)
{
	buf_free(&e->data);
	free(e->order);
	*e = (struct span_events){0};
}

/* Keeps the order of the ring; rejects timestamps in the future or too far in the past. */
static int64_t event_time(const struct span_chunk *c, struct span_ring_read *ring, uint64_t stamp)
{
	int64_t t = span_time(c, stamp);

	t = MIN(t, c->until);
	t = MAX(t, c->process->attached - OLDEST_NS);
	ring->last = MAX(ring->last, t);
	return ring->last;
}

static int event_put(struct span_events *e, const struct span_event *ev, const void *name,
		     const void *rest, size_t rest_len)
{
	const size_t before = e->data.len;
	static const uint8_t zeros[8];
	int r = grow((void **)&e->order, &e->cap, e->count + 1, sizeof(*e->order));

	r = r ? r : buf_append(&e->data, ev, sizeof(*ev));
	r = r ? r : buf_append(&e->data, name, ev->name_len);
	r = r ? r : buf_append(&e->data, rest, rest_len);
	r = r ? r : buf_append(&e->data, zeros, -e->data.len & 7);
	if (r < 0) {
		e->data.len = before;
		return r;
	}
	e->sorted &= !e->count || e->order[e->count - 1].time <= ev->time;
	e->order[e->count++] = (struct span_order){ev->time, before};
	return 0;
}

static int begin_add(struct span_events *e, const struct span_chunk *c, struct span_event *ev,
		     const struct span_begin *b)
{
	char name[SPAN_NAME_LEN];
	const void *text = name;

	if (b->head.size < sizeof(*b) || b->name_len > b->head.size - sizeof(*b) || !b->span)
		return -EBADMSG;
	ev->span = b->span;
	ev->parent = b->parent;
	ev->trace[0] = b->trace[0];
	ev->trace[1] = b->trace[1];
	ev->name_len = (uint16_t)b->name_len;
	if (b->head.name)
		ev->name_len = (uint16_t)span_name_read(c->process, b->head.name, name);
	else
		text = b + 1;
	return event_put(e, ev, text, NULL, 0);
}

static int note_add(struct span_events *e, const struct span_chunk *c, struct span_event *ev,
		    const struct span_note *n)
{
	char name[SPAN_NAME_LEN];
	const void *text = name;
	const uint8_t *value;

	if (n->head.size < sizeof(*n) ||
	    (size_t)n->key_len + n->value_len > n->head.size - sizeof(*n) ||
	    (n->head.flags & SPAN_INTEGER && n->value_len != sizeof(ev->integer)))
		return -EBADMSG;
	value = (const uint8_t *)(n + 1) + n->key_len;
	ev->span = n->span;
	ev->name_len = n->key_len;
	ev->value_len = n->value_len;
	if (n->head.name)
		ev->name_len = (uint16_t)span_name_read(c->process, n->head.name, name);
	else
		text = n + 1;
	if (n->head.flags & SPAN_INTEGER) {
		memcpy(&ev->integer, value, sizeof(ev->integer));
		ev->value_len = 0;
	}
	return event_put(e, ev, text, value, ev->value_len);
}

static int blkin_add(struct span_events *e, struct span_event *ev, const struct span_blkin *b)
{
	const uint8_t *texts = (const uint8_t *)(b + 1);
	size_t rest;

	if (b->head.size < sizeof(*b)) /* then none of it is read */
		return -EBADMSG;
	rest = (size_t)b->service_len + b->key_len;
	if (b->name_len + rest + b->value_len > b->head.size - sizeof(*b) ||
	    (b->head.flags & SPAN_INTEGER && b->value_len != sizeof(ev->integer)))
		return -EBADMSG;
	ev->trace[1] = b->trace;
	ev->span = b->span;
	ev->parent = b->parent;
	ev->name_len = b->name_len;
	ev->service_len = b->service_len;
	ev->key_len = b->key_len;
	ev->value_len = b->value_len;
	if (b->head.flags & SPAN_INTEGER) {
		memcpy(&ev->integer, texts + b->name_len + rest, sizeof(ev->integer));
		ev->value_len = 0;
	}
	return event_put(e, ev, texts, texts + b->name_len, rest + ev->value_len);
}

/* A record of valid size. -EBADMSG: malformed. */
static int record_add(struct span_events *e, const struct span_chunk *c,
		      struct span_ring_read *ring, const struct span_head *h)
{
	struct span_event ev = {.process = c->process->number,
				.tid = ring->tid,
				.type = h->type,
				.flags = h->flags};

	if (h->type == SPAN_FILL)
		return 0;
	if (h->size < sizeof(*h))
		return -EBADMSG;
	ev.time = event_time(c, ring, h->time);
	switch (h->type) {
	case SPAN_THREAD:
		if (h->size < sizeof(struct span_thread))
			return -EBADMSG;
		ring->tid = ((const struct span_thread *)h)->tid;
		return 0;
	case SPAN_BEGIN:
		return begin_add(e, c, &ev, (const struct span_begin *)h);
	case SPAN_NOTE:
		return note_add(e, c, &ev, (const struct span_note *)h);
	case SPAN_END:
		if (h->size < sizeof(struct span_end))
			return -EBADMSG;
		ev.span = ((const struct span_end *)h)->span;
		return event_put(e, &ev, NULL, NULL, 0);
	case SPAN_BLKIN:
		return blkin_add(e, &ev, (const struct span_blkin *)h);
	default:
		return -EBADMSG;
	}
}

int span_events_add(struct span_events *e, const struct span_chunk *c)
{
	struct span_ring_read *ring = &c->process->rings[c->ring];
	const uint8_t *data = (const uint8_t *)(c + 1);
	uint32_t at = 0;
	int r = 0;

	if (!e->count)
		e->sorted = true;
	while (at < c->len && !r) {
		const struct span_head *h = (const void *)(data + at);

		/* A filler of 8 bytes has no time field; it is not read. */
		r = h->size < 8 || h->size % 8 || h->size > c->len - at ||
				    (h->size > SPAN_RECORD_MAX && h->type != SPAN_FILL)
			    ? -EBADMSG
			    : record_add(e, c, ring, h);
		at += r ? 0 : h->size;
	}
	if (r != -EBADMSG)
		return r;
	e->bad++;
	ring->stopped = true;
	ring->reason = "a record is malformed";
	return 0;
}

static int by_time(const void *a, const void *b)
{
	const struct span_order *x = a, *y = b;

	return ORDER(x->time, y->time) ?: ORDER(x->at, y->at);
}

/* Delivered events are dropped once they are half of all. */
static void events_compact(struct span_events *e)
{
	struct span_events n = {0};
	size_t left = e->count - e->next;

	if (!left) {
		e->data.len = e->count = e->next = 0;
		e->sorted = true;
		return;
	}
	if (e->next < 4096 || e->next < left || buf_reserve(&n.data, e->data.len) < 0)
		return; /* retry later */
	for (size_t i = e->next; i < e->count; i++) {
		const struct span_event *ev = (const void *)(e->data.data + e->order[i].at);
		size_t len =
			sizeof(*ev) + ev->name_len + ev->service_len + ev->key_len + ev->value_len;
		size_t at = n.data.len;

		memcpy(n.data.data + at, ev, align_up(len, 8));
		n.data.len += align_up(len, 8);
		e->order[i - e->next] = (struct span_order){e->order[i].time, at};
	}
	buf_free(&e->data);
	e->data = n.data;
	e->count = left;
	e->next = 0;
}

void span_events_limit(struct span_events *e, uint64_t process, int64_t time)
{
	for (size_t i = e->next; i < e->count; i++) {
		struct span_event *ev = (void *)(e->data.data + e->order[i].at);

		if (ev->process != process || ev->time <= time)
			continue;
		ev->time = e->order[i].time = time;
		e->sorted = false;
	}
}

const struct span_event *span_events_next(struct span_events *e, int64_t until)
{
	if (!e->sorted && e->next < e->count)
		qsort(e->order + e->next, e->count - e->next, sizeof(*e->order), by_time);
	e->sorted = true;
	if (e->next >= e->count || e->order[e->next].time > until) {
		events_compact(e);
		return NULL;
	}
	return (const void *)(e->data.data + e->order[e->next++].at);
}
