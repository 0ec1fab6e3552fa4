// SPDX-License-Identifier: Apache-2.0
/*
 * chrome_out.c: a timeline as Chrome's trace events, in JSON: complete events ("X") on threads, asynchronous events
 * ("b", "e") on all other tracks, whose slices may overlap those of the thread. Times are microseconds with three
 * decimals, relative to the start of the trace: readers parse them as floats, and a float of microseconds since 1970
 * has no room for nanoseconds.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "exchange/timeline/timeline.h"

struct chrome {
	struct timeline_sink head;
	int64_t base;	       /* ns since the epoch of time 0 in the file */
	uint64_t asynchronous; /* number of asynchronous events so far, used as their ids */
	bool begun;
};

static int chrome_begin(struct timeline_sink *s, int64_t at)
{
	((struct chrome *)s)->base = at;
	return buf_printf(&s->out,
			  "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"origin\":\"%" PRId64
			  "\"},\"traceEvents\":[",
			  at);
}

static int chrome_text(struct timeline_sink *s, struct bytes text)
{
	buf_append(&s->out, "\"", 1);
	json_escape(&s->out, text.data, text.len, "");
	return buf_append(&s->out, "\"", 1);
}

/* Writes the members common to all events. */
static int chrome_event(struct timeline_sink *s, const char *phase, int64_t pid, int64_t tid,
			struct bytes name)
{
	struct chrome *c = (struct chrome *)s;

	buf_printf(&s->out, "%s\n{\"ph\":\"%s\",\"pid\":%" PRId64 ",\"tid\":%" PRId64 ",\"name\":",
		   c->begun ? "," : "", phase, pid, tid);
	c->begun = true;
	return chrome_text(s, name);
}

static int chrome_dur(struct timeline_sink *s, const char *name, int64_t ns)
{
	return buf_printf(&s->out, ",\"%s\":%s%" PRId64 ".%03d", name, ns < 0 ? "-" : "",
			  ns < 0 ? -(ns / 1000) : ns / 1000, abs((int)(ns % 1000)));
}

static int chrome_time(struct timeline_sink *s, int64_t at)
{
	return chrome_dur(s, "ts", at - ((struct chrome *)s)->base);
}

/* Metadata: the name of a process or thread. Other tracks are named by their events. */
static int chrome_track(struct timeline_sink *s, const struct timeline_track *t)
{
	static const char *const kinds[] = {[TIMELINE_PROCESS] = "process_name",
					    [TIMELINE_THREAD] = "thread_name",
					    [TIMELINE_DISK] = "process_name",
					    [TIMELINE_COUNTER] = NULL};
	const char *kind = t->kind < ARRAY_SIZE(kinds) ? kinds[t->kind] : NULL;

	if (!kind)
		return buf_status(&s->out);
	chrome_event(s, "M", t->pid, t->tid, bytes_of(kind));
	buf_printf(&s->out, ",\"args\":{\"name\":");
	chrome_text(s, t->name);
	return buf_printf(&s->out, "}}");
}

static int chrome_args(struct timeline_sink *s, const struct timeline_slice *l)
{
	buf_printf(&s->out, ",\"args\":{");
	for (size_t i = 0; i < l->count; i++) {
		const struct timeline_arg *a = &l->args[i];

		buf_printf(&s->out, "%s\"%s\":", i ? "," : "", a->name);
		if (a->text.data)
			chrome_text(s, a->text);
		else
			buf_printf(&s->out, "%" PRId64, a->number);
	}
	return buf_printf(&s->out, "}");
}

static int chrome_pair(struct timeline_sink *s, const struct timeline_slice *l)
{
	const struct timeline_track *t = l->track;
	uint64_t id = ++((struct chrome *)s)->asynchronous;

	chrome_event(s, "b", t->pid, t->tid, l->name);
	chrome_time(s, l->start);
	buf_printf(&s->out, ",\"cat\":\"%s\",\"id\":%" PRIu64, l->category, id);
	chrome_args(s, l);
	buf_printf(&s->out, "}");
	chrome_event(s, "e", t->pid, t->tid, l->name);
	chrome_time(s, l->stop);
	return buf_printf(&s->out, ",\"cat\":\"%s\",\"id\":%" PRIu64 "}", l->category, id);
}

static int chrome_slice(struct timeline_sink *s, const struct timeline_slice *l)
{
	if (l->track->kind != TIMELINE_THREAD)
		return chrome_pair(s, l);
	chrome_event(s, "X", l->track->pid, l->track->tid, l->name);
	chrome_time(s, l->start);
	chrome_dur(s, "dur", l->stop - l->start);
	buf_printf(&s->out, ",\"cat\":\"%s\"", l->category);
	chrome_args(s, l);
	return buf_printf(&s->out, "}");
}

static int chrome_count(struct timeline_sink *s, const struct timeline_track *t, int64_t at,
			int64_t value)
{
	chrome_event(s, "C", t->pid, t->tid, t->name);
	chrome_time(s, at);
	return buf_printf(&s->out, ",\"args\":{\"bytes\":%" PRId64 "}}", value);
}

static int chrome_end(struct timeline_sink *s)
{
	return buf_printf(&s->out, "\n]}\n");
}

const struct timeline_ops chrome_ops = {
	.size = sizeof(struct chrome),
	.begin = chrome_begin,
	.track = chrome_track,
	.slice = chrome_slice,
	.count = chrome_count,
	.end = chrome_end,
};
