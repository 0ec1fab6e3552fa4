/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/probes/probe_rows.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "capture/ebpf/probes/probe_spec.h"
#include "capture/ebpf/spans/span_stack.h"
#include "capture/ebpf/spans/spans.h"

struct probe_stack {
	struct span_stack stack;
	int32_t tid;
	uint64_t start; /* start of the thread */
};

struct probe_stacks {
	struct map threads; /* with open spans: hash of (tid, start) -> struct probe_stack */
};

static void probe_stack_free(struct probe_stack *s)
{
	span_stack_free(&s->stack);
	free(s);
}

void probe_stacks_free(struct probe_stacks *s)
{
	uint64_t key, value;
	size_t pos = 0;

	if (!s)
		return;
	while (map_next(&s->threads, &pos, &key, &value))
		probe_stack_free((void *)(uintptr_t)value);
	map_free(&s->threads);
	free(s);
}

static struct probe_stack *probe_stack_of(const struct decode *d, int32_t tid, uint64_t start)
{
	return d->probes ? kept_get(&d->probes->threads, life_key(tid, start)) : NULL;
}

/* Its process; 0 if its thread is no longer known. */
static int32_t probe_process(const struct decode *d, const struct wire_probe *w,
			     uint64_t *ret_start)
{
	const struct wire_thread *t = w->thread ? kept_get(&d->thread_records, w->thread) : NULL;

	*ret_start = t ? t->process_start : w->process_start;
	return t ? t->tgid : w->tgid;
}

static int probe_stack_add(struct decode *d, const struct wire_probe *w, struct probe_stack **ret)
{
	uint64_t start;
	int32_t pid = probe_process(d, w, &start);
	struct probe_stack *s;
	int r;

	if (!d->probes)
		d->probes = calloc(1, sizeof(*d->probes));
	s = d->probes ? calloc(1, sizeof(*s)) : NULL;
	if (!s)
		return -ENOMEM;
	span_stack_init(d, &s->stack, SPAN_SOURCE_PROBE, pid, start);
	s->tid = w->tid;
	s->start = w->start;
	r = map_set(&d->probes->threads, life_key(w->tid, w->start), (uintptr_t)s);
	if (r < 0)
		probe_stack_free(s);
	else
		*ret = s;
	return r;
}

static void probe_stack_remove(struct decode *d, struct probe_stack *s)
{
	map_del(&d->probes->threads, life_key(s->tid, s->start));
	probe_stack_free(s);
}

/* The thread's version; -1: it has made no call yet. */
static int64_t probe_thread(const struct decode *d, const struct wire_probe *w)
{
	const struct wire_thread *t = NULL;
	uint64_t version;

	if (w->thread)
		return w->thread;
	if (map_get(&d->tids, (uint32_t)w->tid, &version))
		t = kept_get(&d->thread_records, version);
	return t && t->start == w->start ? (int64_t)version : -1;
}

/* ---- attributes ---- */

static int probe_unread(struct decode *d, const struct wire_probe *w, const char *name,
			const char *arg, struct batch_set *out)
{
	char line[SPAN_NAME_LEN + PROBE_WORD_MAX + 128];
	uint64_t start;
	int n = snprintf(line, sizeof(line), "process %d, thread %d: %s of '%s' could not be read",
			 probe_process(d, w, &start), w->tid, arg, name);

	return spans_not_marked(d, line, (size_t)n, out);
}

static int probe_notes(struct decode *d, const struct probe_stack *s, const struct wire_probe *w,
		       const struct probe_point *p, const char *name, struct batch_set *out)
{
	const uint8_t *text = (const uint8_t *)(w + 1), *end = (const uint8_t *)w + w->head.size;
	int r = 0;

	for (size_t i = 0; i < p->arg_count && !r; i++) {
		const struct probe_arg *arg = &p->args[i];
		const struct bytes key = {(const uint8_t *)arg->name, strlen(arg->name)};
		bool string = arg->type == WIRE_PROBE_STRING;
		struct bytes value = {0};
		uint8_t flags = string ? 0 : SPAN_INTEGER;

		if (string) {
			if (end - text < WIRE_PROBE_TEXT)
				return -EBADMSG;
			value = (struct bytes){text,
					       MIN(w->values[i], (uint64_t)WIRE_PROBE_TEXT - 1)};
			text += WIRE_PROBE_TEXT;
		}
		if (w->unread >> i & 1) {
			if (w->values[i] ||
			    !string) /* otherwise a null pointer, which is not a loss */
				r = probe_unread(d, w, name, arg->name, out);
			continue;
		}
		flags |= w->cut >> i & 1 ? SPAN_CUT : 0;
		r = span_stack_note(d, &s->stack, key, value, (int64_t)w->values[i], flags,
				    probe_thread(d, w), (int64_t)w->head.time, out);
	}
	return r;
}

/* ---- spans ---- */

/* Whether both ends belong to one call of a function, and have the same stack pointer. */
static bool is_function(const struct probe_span *s)
{
	return s->begin.kind == PROBE_ENTRY && s->end.kind == PROBE_RETURN && !s->begin.offset &&
	       !strcmp(s->begin.name, s->end.name) && !strcmp(s->begin.path, s->end.path);
}

#define FUNCTION (1ull << 32) /* bit in the key of a function's span */

static uint64_t span_key(const struct wire_probe *w, const struct probe_span *span)
{
	return w->index / 2u | (is_function(span) ? FUNCTION : 0);
}

/* Cuts functions that cannot return any more, as another one begins above them on the stack, or the same one in their
 * place. */
static int functions_left(struct decode *d, struct probe_stack *s, const struct wire_probe *w,
			  uint64_t key, struct batch_set *out)
{
	const struct span_stack *stack = &s->stack;
	size_t at = stack->count;

	while (at) {
		const struct span_stack_open *o = &stack->open[at - 1];

		if (!(o->key & FUNCTION) || o->at > w->stack ||
		    (o->at == w->stack && o->key != key))
			break;
		at--;
	}
	return at == stack->count ? 0
				  : span_stack_end(d, &s->stack, at, true, probe_thread(d, w),
						   (int64_t)w->head.time, out);
}

/* Identifies where a span that is not a function begins. */
static uint64_t begin_place(const struct wire_probe *w)
{
	const uint64_t ident[2] = {w->stack, w->place};

	return hash_bytes(ident, sizeof(ident)) | 1;
}

/* Cuts spans that the new one proves to be over. */
static int begin_cuts(struct decode *d, struct probe_stack *s, const struct wire_probe *w,
		      const struct span_stack_open *what, struct batch_set *out)
{
	size_t at = 0;

	if (what->key & FUNCTION)
		return functions_left(d, s, w, what->key, out);
	return span_stack_find(&s->stack, what->key, what->at, &at)
		       ? span_stack_end(d, &s->stack, at, true, probe_thread(d, w),
					(int64_t)w->head.time, out)
		       : 0;
}

static int probe_begin(struct decode *d, const struct wire_probe *w, const struct probe_span *span,
		       struct batch_set *out)
{
	const struct bytes name = {(const uint8_t *)span->name, strlen(span->name)};
	struct probe_stack *s = probe_stack_of(d, w->tid, w->start);
	struct span_stack_open what = {.key = span_key(w, span)};
	size_t before;
	int r = s ? 0 : probe_stack_add(d, w, &s);

	if (r < 0)
		return r;
	what.at = what.key & FUNCTION ? w->stack : begin_place(w);
	r = begin_cuts(d, s, w, &what, out);
	before = s->stack.count;
	r = r ? r
	      : span_stack_begin(d, &s->stack, what, name, probe_thread(d, w),
				 (int64_t)w->head.time, out);
	return r || s->stack.count == before ? r
					     : probe_notes(d, s, w, &span->begin, span->name, out);
}

static int probe_no_begin(struct decode *d, const struct wire_probe *w,
			  const struct probe_span *span, struct batch_set *out)
{
	char line[SPAN_NAME_LEN + 128];
	uint64_t start;
	int n = snprintf(line, sizeof(line),
			 "process %d, thread %d: an end of '%s' has no begin on its thread during "
			 "the recording",
			 probe_process(d, w, &start), w->tid, span->name);

	return spans_not_marked(d, line, (size_t)n, out);
}

static int probe_end(struct decode *d, const struct wire_probe *w, const struct probe_span *span,
		     struct batch_set *out)
{
	struct probe_stack *s = probe_stack_of(d, w->tid, w->start);
	int64_t thread = probe_thread(d, w), time = (int64_t)w->head.time;
	uint64_t place = is_function(span) ? w->stack : 0;
	size_t at = 0;
	int r;

	if (!s || !span_stack_find(&s->stack, span_key(w, span), place, &at)) {
		if (!s || !s->stack.beyond)
			return probe_no_begin(d, w, span, out);
		s->stack.beyond--;
		return 0;
	}
	if (s->stack.beyond && !place) {
		s->stack.beyond--;
		return 0;
	}
	s->stack.beyond = 0;
	/* Inner spans have no end: cut them first, so that the notes go to this one. */
	r = at + 1 < s->stack.count ? span_stack_end(d, &s->stack, at + 1, true, thread, time, out)
				    : 0;
	r = r ? r : probe_notes(d, s, w, &span->end, span->name, out);
	r = r ? r : span_stack_end(d, &s->stack, at, false, thread, time, out);
	if (!r && !s->stack.count)
		probe_stack_remove(d, s);
	return r;
}

int decode_probe(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_probe *w = (const void *)h;
	const struct probe_spans *spans = d->opt.probe_spans;
	const struct probe_span *span;

	if (h->size < sizeof(*w) || h->size != sizeof(*w) + (size_t)h->parts * WIRE_PROBE_TEXT ||
	    !spans || w->index / 2 >= spans->count)
		return -EBADMSG;
	span = &spans->list[w->index / 2];
	return w->index % 2 ? probe_end(d, w, span, out) : probe_begin(d, w, span, out);
}

/* ---- ends ---- */

static int probe_stack_close(struct decode *d, struct probe_stack *s, enum span_status status,
			     int64_t time, struct batch_set *out)
{
	int r = span_stack_close(d, &s->stack, status, time, out);

	probe_stack_remove(d, s);
	return r;
}

int probes_thread_gone(struct decode *d, const struct wire_thread_end *w, struct batch_set *out)
{
	const struct wire_thread *t;
	struct probe_stack *s;

	if (!d->probes || w->head.size < sizeof(*w))
		return 0;
	t = kept_get(&d->thread_records, w->thread);
	s = t ? probe_stack_of(d, t->tid, t->start) : NULL;
	return s ? probe_stack_close(d, s, SPAN_STATUS_CUT, (int64_t)w->head.time, out) : 0;
}

int probes_gone(struct decode *d, int32_t pid, uint64_t process_start, int64_t time,
		struct batch_set *out)
{
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (d->probes && !r && map_next(&d->probes->threads, &pos, &key, &value)) {
		struct probe_stack *s = (void *)(uintptr_t)value;

		if (s->stack.as.pid != pid || s->stack.as.process_start != process_start)
			continue;
		r = probe_stack_close(d, s, SPAN_STATUS_CUT, time, out);
		pos = 0;
	}
	return r;
}

int probes_end(struct decode *d, struct batch_set *out)
{
	int64_t now = clock_monotonic_ns();
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (d->probes && !r && map_next(&d->probes->threads, &pos, &key, &value)) {
		struct probe_stack *s = (void *)(uintptr_t)value;
		/* the record of its end may have found no room */
		bool gone = kill(s->tid, 0) && errno == ESRCH;

		r = probe_stack_close(d, s, gone ? SPAN_STATUS_CUT : SPAN_STATUS_RUNNING, now, out);
		pos = 0;
	}
	return r;
}
