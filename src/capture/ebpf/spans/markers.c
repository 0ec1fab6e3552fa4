/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/spans/markers.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "capture/ebpf/load/load.h"
#include "capture/ebpf/spans/span_stack.h"
#include "capture/ebpf/spans/spans.h"
#include "calls.skel.h"

#define PREFIX	  "/dev/null/weir/"
#define SHOWN_MAX 100 /* bytes of a marker shown in a mark */

struct markers {
	struct map processes; /* with open spans: hash of (pid, start) -> struct span_stack */
};

/* A parsed marker. */
struct marker {
	enum { MARKER_BEGIN, MARKER_END, MARKER_NOTE } kind;
	struct bytes name, value; /* value.data NULL: a note without one */
};

static void marking_free(struct span_stack *p)
{
	span_stack_free(p);
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

static struct span_stack *marking_find(const struct markers *m, uint64_t key)
{
	return m ? kept_get(&m->processes, key) : NULL;
}

static int marking_add(struct decode *d, const struct wire_thread *t, struct span_stack **ret)
{
	struct span_stack *p;
	int r;

	if (!d->markers)
		d->markers = calloc(1, sizeof(*d->markers));
	p = d->markers ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return -ENOMEM;
	span_stack_init(d, p, SPAN_SOURCE_MARKER, t->tgid, t->process_start);
	r = map_set(&d->markers->processes, life_key(t->tgid, t->process_start), (uintptr_t)p);
	if (r < 0)
		marking_free(p);
	else
		*ret = p;
	return r;
}

static void marking_remove(struct markers *m, struct span_stack *p)
{
	map_del(&m->processes, life_key(p->as.pid, p->as.process_start));
	marking_free(p);
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

static uint64_t marker_key(const struct marker *m)
{
	return hash_bytes(m->name.data, m->name.len);
}

static int marker_end(struct decode *d, struct span_stack *p, size_t at, int64_t thread,
		      int64_t time, struct batch_set *out)
{
	int r = span_stack_end(d, p, at, false, thread, time, out);

	if (!p->count && !p->beyond)
		marking_remove(d->markers, p);
	return r;
}

/* A note of a process without an open span also has a row, without a span. */
static int marker_note(struct decode *d, const struct span_stack *p, const struct marker *m,
		       int64_t thread, int64_t time, struct batch_set *out)
{
	static const struct span_stack none = {.as.source = SPAN_SOURCE_MARKER};

	return span_stack_note(d, p ? p : &none, m->name, m->value, 0,
			       m->value.data ? 0 : SPAN_EVENT, thread, time, out);
}

/* ---- calls ---- */

/* A marker that becomes no row: counts it, and adds a mark with the reason. */
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
	struct span_stack *p = marking_find(d->markers, life_key(t->tgid, t->process_start));
	int64_t thread = w->thread, end = (int64_t)w->head.time;
	int64_t start = w->start ? (int64_t)w->start : end;
	struct marker m;
	size_t at = 0;
	int r = 0;

	if (!marker_parse(text, &m))
		return marker_unused(d, t->tgid, text,
				     "is not a mark: write begin:NAME, end:NAME or note:KEY=VALUE",
				     out);
	switch (m.kind) {
	case MARKER_BEGIN:
		r = p ? 0 : marking_add(d, t, &p);
		return r ? r
			 : span_stack_begin(d, p, (struct span_stack_open){.key = marker_key(&m)},
					    m.name, thread, end, out);
	case MARKER_NOTE:
		return marker_note(d, p, &m, thread, start, out);
	default:
		if (p && p->beyond) {
			p->beyond--;
			return 0;
		}
		if (!p || !span_stack_find(p, marker_key(&m), 0, &at))
			return marker_unused(d, t->tgid, text,
					     "has no begin in this process during the recording",
					     out);
		return marker_end(d, p, at, thread, start, out);
	}
}

int markers_call(struct decode *d, const struct wire_op *w, const struct wire_name *path,
		 struct batch_set *out)
{
	const struct bytes whole = {(const uint8_t *)(path + 1), path->len};
	const struct wire_thread *t;
	struct bytes text;

	if (w->ret != -ENOTDIR || w->status & (STATUS_UNFINISHED | STATUS_NORETURN) ||
	    !(d->opt.plans[w->nr].flags & WIRE_PLAN_MARKS) || path->error ||
	    !text_after(whole, PREFIX, &text))
		return 0;
	t = kept_get(&d->thread_records, w->thread);
	if (!t)
		return marker_unused(d, (int32_t)w->tid, text, "belongs to an unknown process",
				     out);
	return marker_take(d, w, text, t, out);
}

uint64_t markers_lost(const struct decode *d)
{
	return d->opt.loaded ? d->opt.loaded->skel->data_calls_shared->markers_lost : 0;
}

/* ---- ends ---- */

static int marking_close(struct decode *d, struct span_stack *p, enum span_status status,
			 int64_t time, struct batch_set *out)
{
	int r = span_stack_close(d, p, status, time, out);

	marking_remove(d->markers, p);
	return r;
}

int markers_gone(struct decode *d, int32_t pid, uint64_t process_start, int64_t time,
		 struct batch_set *out)
{
	struct span_stack *p = marking_find(d->markers, life_key(pid, process_start));

	return p ? marking_close(d, p, SPAN_STATUS_CUT, time, out) : 0;
}

int markers_end(struct decode *d, struct batch_set *out)
{
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (d->markers && !r && map_next(&d->markers->processes, &pos, &key, &value)) {
		struct span_stack *p = (void *)(uintptr_t)value;
		/* the record of its end may have found no room */
		bool gone = kill(p->as.pid, 0) && errno == ESRCH;

		r = marking_close(d, p, gone ? SPAN_STATUS_CUT : SPAN_STATUS_RUNNING,
				  clock_monotonic_ns(), out);
		pos = 0;
	}
	return r;
}
