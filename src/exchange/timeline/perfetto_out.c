// SPDX-License-Identifier: Apache-2.0
/*
 * perfetto_out.c: a timeline as Perfetto's protobuf: one sequence of packets with interned names. Field numbers are
 * those of trace_packet.proto, track_event.proto, track_descriptor.proto, interned_data.proto, debug_annotation.proto,
 * clock_snapshot.proto.
 */
#include <string.h>

#include "base/protobuf.h"
#include "exchange/internal.h"
#include "exchange/timeline/timeline.h"

#define CLOCK_REAL 1 /* BuiltinClock */
#define CLOCK_BOOT 6 /* the default clock of timestamps */
#define SEQUENCE   1
#define CLEARED	   1 /* SequenceFlags: the first packet */
#define NEEDED	   2 /* packets that use interned names */

enum interned { INTERN_NAME, INTERN_CATEGORY, INTERN_ARG, INTERN_TEXT, INTERN_COUNT };

/* InternedData: field number of each kind. All hold {iid = 1, name or str = 2}. */
static const uint32_t interned_fields[INTERN_COUNT] = {2, 1, 3, 29};

struct perfetto {
	struct timeline_sink head;
	struct intern names, categories, args;
	struct map texts;				/* timeline_arg.text_id + 1 -> iid */
	struct buf packet, event, part, text, interned; /* messages under construction */
	uint64_t text_count;
	bool begun;
};

/* Programs choose arbitrary bytes as text; a proto3 string must be UTF-8. */
static int perfetto_text(struct perfetto *p, struct buf *to, uint32_t field, struct bytes text)
{
	buf_clear(&p->text);
	text_mend(text, true, &p->text);
	return protobuf_message(to, field, &p->text);
}

/* Trace.packet: p->packet with the fields that every packet of the sequence has. */
static int perfetto_put_packet(struct perfetto *p, uint32_t flags)
{
	protobuf_uint(&p->packet, 10, SEQUENCE);
	if (!p->begun)
		flags |= CLEARED;
	p->begun = true;
	if (flags)
		protobuf_uint(&p->packet, 13, flags);
	return protobuf_message(&p->head.out, 1, &p->packet);
}

/* ---- names ---- */

/* Adds the definition of a name to the packet's InternedData. */
static int perfetto_define(struct perfetto *p, enum interned kind, uint64_t iid, struct bytes text)
{
	buf_clear(&p->part);
	protobuf_uint(&p->part, 1, iid);
	perfetto_text(p, &p->part, 2, text);
	return protobuf_message(&p->interned, interned_fields[kind], &p->part);
}

static int perfetto_intern(struct perfetto *p, enum interned kind, struct intern *of,
			   struct bytes text, uint64_t *ret_iid)
{
	size_t before = of->count;
	uint32_t id;
	int r = intern_add(of, text.data, text.len, &id);

	if (r < 0)
		return r;
	*ret_iid = id + 1ull; /* 0 means none */
	return of->count > before ? perfetto_define(p, kind, *ret_iid, text) : 0;
}

/* Interns a text that has a number. */
static int perfetto_intern_text(struct perfetto *p, int64_t id, struct bytes text,
				uint64_t *ret_iid)
{
	int r;

	if (map_get(&p->texts, (uint64_t)id + 1, ret_iid))
		return 0;
	*ret_iid = ++p->text_count;
	r = map_set(&p->texts, (uint64_t)id + 1, *ret_iid);
	return r < 0 ? r : perfetto_define(p, INTERN_TEXT, *ret_iid, text);
}

/* ---- packets ---- */

/* ClockSnapshot: both clocks are set to the wall clock, so that the viewer can show the time of day. */
static int perfetto_begin(struct timeline_sink *s, int64_t at)
{
	static const uint32_t clocks[] = {CLOCK_BOOT, CLOCK_REAL};
	struct perfetto *p = (struct perfetto *)s;

	for (size_t i = 0; i < ARRAY_SIZE(clocks); i++) {
		_cleanup_buf_ struct buf clock = {0};

		protobuf_uint(&clock, 1, clocks[i]);
		protobuf_uint(&clock, 2, (uint64_t)at);
		protobuf_message(&p->event, 1, &clock);
	}
	protobuf_uint(&p->event, 2, CLOCK_BOOT);
	protobuf_message(&p->packet, 6, &p->event);
	return perfetto_put_packet(p, 0);
}

/* ProcessDescriptor, with the arguments as its command line. */
static void perfetto_process(struct perfetto *p, const struct timeline_track *t)
{
	struct bytes rest = t->argv;

	protobuf_uint(&p->part, 1, (uint64_t)t->pid);
	while (rest.len) {
		struct bytes one = {rest.data, strnlen((const char *)rest.data, rest.len)};
		size_t skip = MIN(one.len + 1, rest.len);

		perfetto_text(p, &p->part, 2, one);
		rest = (struct bytes){rest.data + skip, rest.len - skip};
	}
	perfetto_text(p, &p->part, 6, t->name);
	protobuf_message(&p->event, 3, &p->part);
}

static void perfetto_thread(struct perfetto *p, const struct timeline_track *t)
{
	protobuf_uint(&p->part, 1, (uint64_t)t->pid);
	protobuf_uint(&p->part, 2, (uint64_t)t->tid);
	perfetto_text(p, &p->part, 5, t->name);
	protobuf_message(&p->event, 4, &p->part);
}

/* CounterDescriptor: SIZE_BYTES. */
static void perfetto_counter(struct perfetto *p)
{
	protobuf_uint(&p->part, 3, 3);
	protobuf_message(&p->event, 8, &p->part);
}

static int perfetto_track(struct timeline_sink *s, const struct timeline_track *t)
{
	struct perfetto *p = (struct perfetto *)s;

	buf_clear(&p->packet);
	buf_clear(&p->event);
	buf_clear(&p->part);
	protobuf_uint(&p->event, 1, t->id);
	if (t->parent)
		protobuf_uint(&p->event, 5, t->parent);
	if (t->kind == TIMELINE_PROCESS)
		perfetto_process(p, t);
	else if (t->kind == TIMELINE_THREAD)
		perfetto_thread(p, t);
	else
		perfetto_text(p, &p->event, 2, t->name);
	if (t->kind == TIMELINE_COUNTER)
		perfetto_counter(p);
	protobuf_message(&p->packet, 60, &p->event);
	return perfetto_put_packet(p, 0);
}

/* DebugAnnotation. */
static int perfetto_arg(struct perfetto *p, const struct timeline_arg *a)
{
	_cleanup_buf_ struct buf note = {0};
	uint64_t name, text = 0;
	int r = perfetto_intern(p, INTERN_ARG, &p->args, bytes_of(a->name), &name);

	if (r >= 0 && a->text.data && a->text_id >= 0)
		r = perfetto_intern_text(p, a->text_id, a->text, &text);
	if (r < 0)
		return r;
	protobuf_uint(&note, 1, name);
	if (!a->text.data)
		protobuf_uint(&note, 4, (uint64_t)a->number);
	else if (a->text_id < 0)
		perfetto_text(p, &note, 6, a->text);
	else
		protobuf_uint(&note, 17, text);
	return protobuf_message(&p->event, 4, &note);
}

/* A packet with the TrackEvent in p->event. */
static int perfetto_event(struct perfetto *p, int64_t at, uint32_t flags)
{
	buf_clear(&p->packet);
	protobuf_uint(&p->packet, 8, (uint64_t)at);
	protobuf_message(&p->packet, 11, &p->event);
	if (p->interned.len)
		protobuf_message(&p->packet, 12, &p->interned);
	buf_clear(&p->interned);
	return perfetto_put_packet(p, flags);
}

/* Arrows, as fixed64: viewers connect the slices of events with the same flow id in order of time. */
static void perfetto_arrows(struct buf *to, uint32_t field, const struct timeline_arrow *all,
			    size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint8_t number[8];

		for (size_t k = 0; k < sizeof(number); k++)
			number[k] = (uint8_t)(all[i].number >> 8 * k);
		buf_varint(to, (uint64_t)field << 3 | 1);
		buf_append(to, number, sizeof(number));
	}
}

static int perfetto_slice_begin(struct perfetto *p, const struct timeline_slice *l)
{
	uint64_t name, category;
	int r = perfetto_intern(p, INTERN_NAME, &p->names, l->name, &name);

	if (r >= 0)
		r = perfetto_intern(p, INTERN_CATEGORY, &p->categories, bytes_of(l->category),
				    &category);
	if (r < 0)
		return r;
	buf_clear(&p->event);
	protobuf_uint(&p->event, 9, 1); /* TYPE_SLICE_BEGIN */
	protobuf_uint(&p->event, 11, l->track->id);
	protobuf_uint(&p->event, 10, name);
	protobuf_uint(&p->event, 3, category);
	for (size_t i = 0; i < l->count; i++) {
		r = perfetto_arg(p, &l->args[i]);
		if (r < 0)
			return r;
	}
	perfetto_arrows(&p->event, 47, l->out, l->out_count);
	return perfetto_event(p, l->start, NEEDED);
}

static int perfetto_slice(struct timeline_sink *s, const struct timeline_slice *l)
{
	struct perfetto *p = (struct perfetto *)s;
	int r = perfetto_slice_begin(p, l);

	if (r < 0)
		return r;
	buf_clear(&p->event);
	protobuf_uint(&p->event, 9, 2); /* TYPE_SLICE_END */
	protobuf_uint(&p->event, 11, l->track->id);
	/* on the end event, which follows the other call's start: this call may have begun to wait before it */
	perfetto_arrows(&p->event, 48, l->in, l->in_count);
	return perfetto_event(p, l->stop, 0);
}

static int perfetto_count(struct timeline_sink *s, const struct timeline_track *t, int64_t at,
			  int64_t value)
{
	struct perfetto *p = (struct perfetto *)s;

	buf_clear(&p->event);
	protobuf_uint(&p->event, 9, 4); /* TYPE_COUNTER */
	protobuf_uint(&p->event, 11, t->id);
	protobuf_uint(&p->event, 30, (uint64_t)value);
	return perfetto_event(p, at, 0);
}

static int perfetto_end(struct timeline_sink *s)
{
	return 0;
}

static void perfetto_free(struct timeline_sink *s)
{
	struct perfetto *p = (struct perfetto *)s;

	intern_free(&p->names);
	intern_free(&p->categories);
	intern_free(&p->args);
	map_free(&p->texts);
	buf_free(&p->packet);
	buf_free(&p->event);
	buf_free(&p->part);
	buf_free(&p->text);
	buf_free(&p->interned);
}

const struct timeline_ops perfetto_ops = {
	.size = sizeof(struct perfetto),
	.arrows = true,
	.begin = perfetto_begin,
	.track = perfetto_track,
	.slice = perfetto_slice,
	.count = perfetto_count,
	.end = perfetto_end,
	.free = perfetto_free,
};
