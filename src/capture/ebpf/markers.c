/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/markers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "capture/ebpf/load.h"
#include "capture/ebpf/span_rows.h"
#include "capture/ebpf/spans.h"
#include "calls.skel.h"

#define PREFIX	   "/dev/null/weir/"
#define SHOWN_MAX  100		/* bytes of a marker in a mark */
#define OF_SCRIPTS (1ull << 63) /* beside numbers of processes that have rings */

struct marker_open {
	uint64_t span, name; /* its id; hash of its whole name */
};

/* A process that has spans open. */
struct marker_process {
	struct span_process
		as;	   /* what span_rows.h needs of it: pid, process_start, number, marks */
	uint64_t trace[2]; /* of the outermost span, and so of all */
	size_t count, cap;
	size_t beyond; /* how many began with MARKERS_OPEN_MAX open, whose ends are to come */
	struct marker_open *open;
};

struct markers {
	struct map processes; /* hash of (pid, start) -> struct marker_process */
	uint64_t number;
	uint64_t ids; /* how many were made */
};

/* A marker, taken apart. */
struct marker {
	enum { MARKER_BEGIN, MARKER_END, MARKER_NOTE } kind;
	struct bytes name, value; /* value.data NULL: a note without one */
};

static void marking_free(struct marker_process *p)
{
	free(p->open);
	free(p);
}

void markers_free(struct markers *m)
{
	uint64_t key, value;
	size_t pos = 0;

	if (!m)
		return;
	while (map_next(&m->processes, &pos, &key, &value))
		marking_free((void *)(uintptr_t)value);
	map_free(&m->processes);
	free(m);
}

static uint64_t marking_key(int32_t pid, uint64_t process_start)
{
	const uint64_t ident[2] = {(uint32_t)pid, process_start};

	return hash_bytes(ident, sizeof(ident));
}

static struct marker_process *marking_find(const struct markers *m, uint64_t key)
{
	uint64_t value;

	return m && map_get(&m->processes, key, &value) ? (void *)(uintptr_t)value : NULL;
}

static int marking_add(struct decode *d, const struct wire_thread *t, struct marker_process **ret)
{
	struct marker_process *p;
	int r;

	if (!d->markers)
		d->markers = calloc(1, sizeof(*d->markers));
	p = d->markers ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	p->as.pid = t->tgid;
	p->as.process_start = t->process_start;
	p->as.number = OF_SCRIPTS | ++d->markers->number;
	p->as.marks = true;
	r = map_set(&d->markers->processes, marking_key(t->tgid, t->process_start), (uintptr_t)p);
	if (r < 0)
		marking_free(p);
	else
		*ret = p;
	return r;
}

static void marking_remove(struct markers *m, struct marker_process *p)
{
	map_del(&m->processes, marking_key(p->as.pid, p->as.process_start));
	marking_free(p);
}

/* An id that no other recording has either, and never 0. */
static uint64_t marker_id(struct decode *d, const struct marker_process *p, int64_t time)
{
	const uint64_t ident[4] = {(uint32_t)p->as.pid, p->as.process_start,
				   (uint64_t)(time + d->opt.clock_offset), ++d->markers->ids};
	uint64_t id = hash_bytes(ident, sizeof(ident));

	return id ? id : 1;
}

static bool text_after(struct bytes text, const char *word, struct bytes *ret)
{
	size_t len = strlen(word);

	if (text.len <= len || memcmp(text.data, word, len) != 0)
		return false;
	*ret = (struct bytes){text.data + len, text.len - len};
	return true;
}

static bool marker_parse(struct bytes text, struct marker *ret)
{
	const uint8_t *equals;

	*ret = (struct marker){.kind = MARKER_BEGIN};
	if (text_after(text, "begin:", &ret->name))
		return true;
	ret->kind = MARKER_END;
	if (text_after(text, "end:", &ret->name))
		return true;
	ret->kind = MARKER_NOTE;
	if (!text_after(text, "note:", &ret->name) || ret->name.data[0] == '=')
		return false;
	equals = memchr(ret->name.data, '=', ret->name.len);
	if (equals) {
		size_t key = (size_t)(equals - ret->name.data);

		ret->value = (struct bytes){equals + 1, ret->name.len - key - 1};
		ret->name.len = key;
	}
	return true;
}

/* ---- what span_rows.h makes rows of ---- */

static int marker_event(struct decode *d, const struct marker_process *p, struct span_event *head,
			const struct marker *m, int64_t thread, struct batch_set *out)
{
	struct {
		struct span_event head;
		uint8_t text[SPAN_NAME_LEN + SPAN_VALUE_LEN];
	} e = {.head = *head};

	e.head.process = p->as.number;
	e.head.name_len = (uint16_t)MIN(m->name.len, (size_t)SPAN_NAME_LEN);
	e.head.value_len = (uint16_t)MIN(m->value.len, (size_t)SPAN_VALUE_LEN);
	memcpy(e.text, m->name.data, e.head.name_len);
	if (e.head.value_len)
		memcpy(e.text + e.head.name_len, m->value.data, e.head.value_len);
	return span_rows_event(spans_rows(d->spans), &p->as, &e.head, thread, d->opt.clock_offset,
			       out);
}

static int marker_begin(struct decode *d, struct marker_process *p, const struct marker *m,
			int64_t thread, int64_t time, struct batch_set *out)
{
	struct span_event e = {.type = SPAN_BEGIN, .time = time};
	int r;

	if (p->count >= MARKERS_OPEN_MAX) {
		p->beyond++;
		spans_rows(d->spans)->refused++;
		return 0;
	}
	r = grow((void **)&p->open, &p->cap, p->count + 1, sizeof(*p->open));
	if (r < 0)
		return r;
	e.span = marker_id(d, p, time);
	if (p->count) {
		e.parent = p->open[p->count - 1].span;
	} else {
		p->trace[0] = marker_id(d, p, time);
		p->trace[1] = marker_id(d, p, time);
	}
	memcpy(e.trace, p->trace, sizeof(e.trace));
	p->open[p->count++] = (struct marker_open){e.span, hash_bytes(m->name.data, m->name.len)};
	return marker_event(d, p, &e, m, thread, out);
}

/* False: none of that name is open. */
static bool marker_find(const struct marker_process *p, struct bytes name, size_t *ret)
{
	uint64_t hash = hash_bytes(name.data, name.len);

	for (size_t i = p ? p->count : 0; i > 0; i--) {
		if (p->open[i - 1].name == hash) {
			*ret = i - 1;
			return true;
		}
	}
	return false;
}

static int marker_end(struct decode *d, struct marker_process *p, size_t at, const struct marker *m,
		      int64_t thread, int64_t time, struct batch_set *out)
{
	struct span_event e = {.type = SPAN_END, .time = time};
	int r = 0;

	while (p->count > at && !r) { /* the innermost first; what the end does not name is cut */
		e.span = p->open[--p->count].span;
		e.flags = p->count > at ? SPAN_CUT : 0;
		r = marker_event(d, p, &e, m, thread, out);
	}
	if (!p->count && !p->beyond)
		marking_remove(d->markers, p);
	return r;
}

/* A note of a process that has no span open has a row, too, without a span. */
static int marker_note(struct decode *d, const struct marker_process *p, const struct marker *m,
		       int64_t thread, int64_t time, struct batch_set *out)
{
	static const struct marker_process none = {.as.number = OF_SCRIPTS};
	struct span_event e = {.type = SPAN_NOTE, .time = time};

	if (p && p->count)
		e.span = p->open[p->count - 1].span;
	if (!m->value.data)
		e.flags |= SPAN_EVENT;
	if (m->value.len > SPAN_VALUE_LEN)
		e.flags |= SPAN_CUT;
	return marker_event(d, p ? p : &none, &e, m, thread, out);
}

/* ---- calls ---- */

/* One that becomes no row: counted, with a mark that says why. */
static int marker_unused(struct decode *d, int32_t pid, struct bytes text, const char *why,
			 struct batch_set *out)
{
	char line[SHOWN_MAX + 256];
	int n = snprintf(line, sizeof(line), "process %d: '%.*s' %s", pid,
			 (int)MIN(text.len, (size_t)SHOWN_MAX), (const char *)text.data, why);

	return spans_not_marked(d, line, (size_t)n, out);
}

static int marker_take(struct decode *d, const struct wire_op *w, struct bytes text,
		       const struct wire_thread *t, struct batch_set *out)
{
	struct marker_process *p = marking_find(d->markers, marking_key(t->tgid, t->process_start));
	int64_t thread = w->thread, end = (int64_t)w->head.time;
	int64_t start = w->start ? (int64_t)w->start : end;
	struct marker m;
	size_t at = 0;
	int r = 0;

	if (!marker_parse(text, &m))
		return marker_unused(d, t->tgid, text,
				     "marks nothing: write begin:NAME, end:NAME or note:KEY=VALUE",
				     out);
	switch (m.kind) {
	case MARKER_BEGIN:
		r = p ? 0 : marking_add(d, t, &p);
		return r ? r : marker_begin(d, p, &m, thread, end, out);
	case MARKER_NOTE:
		return marker_note(d, p, &m, thread, start, out);
	default:
		if (p && p->beyond) {
			p->beyond--;
			return 0;
		}
		if (!marker_find(p, m.name, &at))
			return marker_unused(d, t->tgid, text,
					     "has no begin in this process while it was recorded",
					     out);
		return marker_end(d, p, at, &m, thread, start, out);
	}
}

int markers_call(struct decode *d, const struct wire_op *w, const struct wire_name *path,
		 struct batch_set *out)
{
	const struct bytes whole = {(const uint8_t *)(path + 1), path->len};
	struct bytes text;
	uint64_t record;

	if (w->ret != -ENOTDIR || w->status & (STATUS_UNFINISHED | STATUS_NORETURN) ||
	    !(d->opt.plans[w->nr].flags & WIRE_PLAN_MARKS) || path->error ||
	    !text_after(whole, PREFIX, &text))
		return 0;
	if (!map_get(&d->thread_records, w->thread, &record))
		return marker_unused(d, (int32_t)w->tid, text, "is of an unknown process", out);
	return marker_take(d, w, text, (const void *)(uintptr_t)record, out);
}

uint64_t markers_lost(const struct decode *d)
{
	return d->opt.loaded ? d->opt.loaded->skel->data_calls_shared->markers_lost : 0;
}

/* ---- ends ---- */

static int marking_close(struct decode *d, struct marker_process *p, enum span_status status,
			 int64_t time, struct batch_set *out)
{
	int r = span_rows_close(spans_rows(d->spans), &p->as, status, time, d->opt.clock_offset,
				out);

	marking_remove(d->markers, p);
	return r;
}

int markers_gone(struct decode *d, int32_t pid, uint64_t process_start, int64_t time,
		 struct batch_set *out)
{
	struct marker_process *p = marking_find(d->markers, marking_key(pid, process_start));

	return p ? marking_close(d, p, SPAN_STATUS_CUT, time, out) : 0;
}

int markers_end(struct decode *d, struct batch_set *out)
{
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (d->markers && !r && map_next(&d->markers->processes, &pos, &key, &value)) {
		struct marker_process *p = (void *)(uintptr_t)value;
		/* its end may have found no room in a ring */
		bool gone = kill(p->as.pid, 0) && errno == ESRCH;

		r = marking_close(d, p, gone ? SPAN_STATUS_CUT : SPAN_STATUS_RUNNING,
				  clock_monotonic_ns(), out);
		pos = 0;
	}
	return r;
}
