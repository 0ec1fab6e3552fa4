// SPDX-License-Identifier: Apache-2.0
/*
 * request_path.c: the critical path of a request: for each point of its time, the thread for which it was waiting.
 *
 * It begins on the request's thread. While a thread waits for another (span_joins.h), the path continues on that
 * thread, and on the thread for which that one waits in turn; before and after waits it is on the thread itself. A wait
 * for an unknown thread stays on the path as a wait. This is the bounded form of the critical path of Giraldeau and
 * Dagenais ("Wait analysis of distributed systems using kernel tracing", IEEE TPDS, 2016), as shown by Trace Compass:
 * what a thread did before another waited for it is not on the path, even if it could have been done earlier. The path
 * therefore covers the request's time exactly once, and its parts add up to the duration.
 *
 * An event loop works on several requests in turn, and waits for all of them at once. For such a thread, the child
 * spans determine for whom it waits; of overlapping ones, the one that began first.
 *
 * Time is linear in the number of waits on the path, with a lookup in logarithmic time for each.
 */
#include <errno.h>
#include <string.h>

#include "analysis/spans/requests.h"
#include "analysis/spans/span_joins.h"
#include "base/array.h"
#include "base/map.h"
#include "base/saturate.h"
#include "schema/vocab.h"

struct path_walk {
	struct requests *q;
	struct requests_path *p;
	uint32_t on[JOIN_DEPTH_MAX + 1]; /* tasks that wait for the current one */
};

static int path_put(struct path_walk *w, uint32_t task, int64_t start, int64_t stop)
{
	struct requests_path *p = w->p;

	if (start >= stop)
		return 0;
	if (p->count && p->all[p->count - 1].task == task && p->all[p->count - 1].stop == start) {
		p->all[p->count - 1].stop = stop;
		return 0;
	}
	return array_add(p->all, p->count, p->cap,
			 (struct requests_segment){
				 .start = start,
				 .stop = stop,
				 .task = task,
				 .thread_id = span_places_thread(w->q->spans.places, task)});
}

/* True for a thread that waits further up: it cannot be waited for. */
static bool path_is_on(const struct path_walk *w, uint32_t task, unsigned int depth)
{
	for (unsigned int i = 0; i <= depth; i++) {
		if (w->on[i] == task)
			return true;
	}
	return false;
}

static int path_of_task(struct path_walk *w, uint32_t task, int64_t from, int64_t to,
			unsigned int depth)
{
	const struct span_joins *j = w->q->spans.joins;
	size_t end, i = span_joins_from(j, task, from, &end);
	int r = 0;

	w->on[depth] = task;
	for (; i < end && j->waits[i].start < to && r >= 0; i++) {
		int64_t start = MAX(j->waits[i].start, from), stop = MIN(j->waits[i].stop, to);

		if (start >= stop || depth == JOIN_DEPTH_MAX ||
		    path_is_on(w, j->waits[i].target, depth))
			continue;
		r = path_put(w, task, from, start);
		if (r >= 0)
			r = path_of_task(w, j->waits[i].target, start, stop, depth + 1);
		from = stop;
	}
	return r < 0 ? r : path_put(w, task, from, to);
}

/* True if another request's span is on the thread while this one is open: the thread runs an event loop. */
static bool path_is_loop(const struct requests *q, const struct span *of, uint32_t task)
{
	const struct spans *s = &q->spans;

	for (uint32_t i = 0; i < s->count && s->all[i].start < of->stop; i++) {
		const struct span *k = &s->all[i];

		if (k->stop > of->start && k->root != of->root && k->period == of->period &&
		    k->thread_id >= 0 && span_places_task(s->places, k->thread_id, false) == task)
			return true;
	}
	return false;
}

static int path_of_span(struct path_walk *w, const struct span *k, int64_t from, int64_t to)
{
	const struct spans *s = &w->q->spans;
	uint32_t task = span_places_task(s->places, k->thread_id, false);
	int r = 0;

	if (task == SPAN_NONE)
		return 0;
	if (!path_is_loop(w->q, k, task))
		return path_of_task(w, task, from, to, 0);
	for (uint32_t c = k->first_child; c != SPAN_NONE && r >= 0; c = s->all[c].next_sibling) {
		int64_t start = MAX(s->all[c].start, from), stop = MIN(s->all[c].stop, to);

		if (start >= stop || s->all[c].thread_id < 0)
			continue;
		r = path_put(w, task, from, start);
		if (r >= 0)
			r = path_of_span(w, &s->all[c], start, stop);
		from = stop;
	}
	return r < 0 ? r : path_put(w, task, from, to);
}

/* ---- activity of its threads ---- */

static int segment_order(const void *a, const void *b)
{
	const struct requests_segment *x = a, *y = b;

	return ORDER(x->task, y->task) ?: ORDER(x->start, y->start);
}

static int segment_order_time(const void *a, const void *b)
{
	const struct requests_segment *x = a, *y = b;

	return ORDER(x->start, y->start);
}

/* The first segment of a task that ends after `from`; segments are sorted by task. */
static size_t path_find(const struct requests_path *p, uint32_t task, int64_t from)
{
	const struct requests_segment *s = p->all;

	return array_first(i, 0, p->count, (ORDER(s[i].task, task) ?: ORDER(s[i].stop, from)) > 0);
}

/* The time of a task's interval that is on the path; with `add` it is added to the task's segments as this part. */
static int64_t path_part(struct requests_path *p, uint32_t task, int64_t start, int64_t stop,
			 enum span_time add)
{
	int64_t sum = 0;

	for (size_t i = path_find(p, task, start);
	     i < p->count && p->all[i].task == task && p->all[i].start < stop; i++) {
		int64_t part = MIN(stop, p->all[i].stop) - MAX(start, p->all[i].start);

		sum += part;
		if (add < SPAN_TIMES)
			p->all[i].time[add] += part;
	}
	return sum;
}

/* 1: the call is new. Several spans of a tree may have waited for one call, which is then listed below each. */
static int path_first(struct map *seen, const struct requests_call *c)
{
	uint64_t key = hash_u64((uint64_t)c->thread_id);

	key = hash_u64(key ^ (uint64_t)c->start);
	key = hash_u64(key ^ (uint64_t)c->stop ^ (uint64_t)c->op << 48) | 1;
	return map_get(seen, key, NULL) ? 0 : map_set(seen, key, 1) < 0 ? -ENOMEM : 1;
}

/* After the wait was over, its thread waited only for a CPU: that part of the call is no longer a wait. */
static void path_call(const struct requests *q, struct requests_path *p, struct requests_call *c,
		      uint32_t task, bool add)
{
	bool waits = c->time == SPAN_LOCK || c->time == SPAN_WAIT;
	int64_t runq = waits && q->spans.sched ? MAX(c->runq, (int64_t)0) : 0,
		woken = runq > c->stop - c->start ? c->start : c->stop - runq;

	c->critical = path_part(p, task, c->start, woken, add ? c->time : SPAN_TIMES) +
		      path_part(p, task, woken, c->stop, add ? SPAN_STALLED : SPAN_TIMES);
}

/* Attributes calls to the path. Requests of io_uring, and faults within calls, are concurrent with their thread's activity. */
static int path_calls(struct requests *q, struct requests_path *p)
{
	_cleanup_(map_free) struct map seen = {0};
	int r = 0;

	for (size_t i = 0; i < q->tree.call_count && r >= 0; i++) {
		struct requests_call *c = &q->tree.calls[i];
		uint32_t task = span_places_task(q->spans.places, c->thread_id, false);

		if (c->disk || c->aside || task == SPAN_NONE)
			continue;
		r = path_first(&seen, c);
		if (r >= 0)
			path_call(q, p, c, task, r > 0);
	}
	return r;
}

static int path_stall(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	struct requests *q = arg;
	int64_t start = batch_get(b, SCHED_START, row, 0),
		dur = MAX(batch_get(b, SCHED_DUR, row, 0), (int64_t)0),
		thread = batch_get(b, SCHED_THREAD_ID, row, -1);
	uint32_t task = thread < 0 ? SPAN_NONE : span_places_task(q->spans.places, thread, false);

	if (task != SPAN_NONE && batch_is_null(b, SCHED_OP, row))
		path_part(&q->tree.path, task, start, add_sat_signed(start, dur), SPAN_STALLED);
	return 0;
}

/* Attributes times outside of calls in which a thread on the path had no CPU. */
static int path_stalls(struct requests *q, const struct analysis_input *in, struct error *err)
{
	const struct scan_request request = {.table = TABLE_SCHED,
					     .columns = 1ull << SCHED_START | 1ull << SCHED_DUR |
							1ull << SCHED_THREAD_ID | 1ull << SCHED_OP,
					     .from = q->spans.all[q->tree.of].start,
					     .to = INT64_MAX};

	return analysis_scan(in, &in->runs[0], &request, path_stall, q, err);
}

static void path_lines(struct requests *q, struct requests_path *p)
{
	for (size_t i = 0; i < q->tree.count; i++) {
		struct requests_line *l = &q->tree.lines[i];
		int64_t thread = q->spans.all[l->span].thread_id;
		uint32_t task = span_places_task(q->spans.places, thread, false);

		for (uint32_t k = l->from; k < l->to; k++)
			l->critical = add_sat_signed(l->critical, q->tree.calls[k].critical);
		if (l->from == l->to && task != SPAN_NONE)
			l->critical = path_part(p, task, l->start, l->stop, SPAN_TIMES);
	}
}

/* Sums by thread, most time first. */
static int path_threads(struct requests_path *p)
{
	for (size_t i = 0; i < p->count; i++) {
		struct requests_segment *s = &p->all[i], *t = NULL;
		int64_t in_calls = 0;

		for (unsigned int k = SPAN_PROGRAM + 1; k < SPAN_TIMES; k++)
			in_calls += s->time[k];
		s->time[SPAN_PROGRAM] = MAX(s->stop - s->start - in_calls, (int64_t)0);
		if (!i || s->task != p->all[i - 1].task) {
			if (array_add(p->threads, p->thread_count, p->thread_cap,
				      (struct requests_segment){.task = s->task,
								.thread_id = s->thread_id}) < 0)
				return -ENOMEM;
		}
		t = &p->threads[p->thread_count - 1];
		t->stop += s->stop - s->start; /* its total time */
		for (unsigned int k = 0; k < SPAN_TIMES; k++)
			t->time[k] += s->time[k];
	}
	return 0;
}

static int path_order_most(const void *a, const void *b)
{
	const struct requests_segment *x = a, *y = b;

	return ORDER(y->stop, x->stop) ?: ORDER(x->thread_id, y->thread_id);
}

int requests_make_path(struct requests *q, const struct analysis_input *in, struct error *err)
{
	const struct span *k = &q->spans.all[q->tree.of];
	struct requests_path *p = &q->tree.path;
	struct path_walk w = {.q = q, .p = p};
	uint32_t task = span_places_task(q->spans.places, k->thread_id, false);
	int r;

	if (task == SPAN_NONE || k->stop <= k->start)
		return 0;
	r = path_of_span(&w, k, k->start, k->stop);
	if (r < 0)
		return r;
	array_sort(p->all, p->count, segment_order);
	r = path_calls(q, p);
	if (r >= 0 && q->spans.sched)
		r = path_stalls(q, in, err);
	if (r < 0)
		return r;
	path_lines(q, p);
	r = path_threads(p);
	if (r < 0)
		return r;
	array_sort(p->threads, p->thread_count, path_order_most);
	array_sort(p->all, p->count, segment_order_time);
	return 0;
}

/* ---- the member of the document ---- */

static int path_put_times(struct buf *to, const int64_t time[static SPAN_TIMES])
{
	buf_printf(to, "{");
	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		buf_printf(to, "%s\"%s\": %lld", i ? ", " : "", span_time_word(i),
			   (long long)time[i]);
	return buf_printf(to, "}");
}

int requests_put_path(const struct requests *q, struct buf *to)
{
	const struct requests_path *p = &q->tree.path;
	int64_t time[SPAN_TIMES] = {0}, all = 0;

	for (size_t i = 0; i < p->thread_count; i++) {
		all += p->threads[i].stop;
		for (unsigned int k = 0; k < SPAN_TIMES; k++)
			time[k] += p->threads[i].time[k];
	}
	buf_printf(to, ",\n\"critical_path\": {\"time\": %lld, \"segments\": %zu, \"parts\": ",
		   (long long)all, p->count);
	path_put_times(to, time);
	buf_printf(to, ", \"threads\": [");
	for (size_t i = 0; i < p->thread_count; i++) {
		buf_printf(to, "%s{\"thread_id\": %lld, \"time\": %lld, \"parts\": ", i ? ", " : "",
			   (long long)p->threads[i].thread_id, (long long)p->threads[i].stop);
		path_put_times(to, p->threads[i].time);
		buf_printf(to, "}");
	}
	return buf_printf(to, "]}");
}
