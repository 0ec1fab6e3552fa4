// SPDX-License-Identifier: Apache-2.0
/* span_joins.c: collects calls that can connect threads, sorts them by time, and derives waits and hand-overs. */
#include "analysis/spans/span_joins.h"

#include <errno.h>
#include <sys/socket.h>

#include "analysis/spans/span_locks.h"
#include "analysis/spans/span_streams.h"
#include "base/array.h"
#include "base/map.h"
#include "base/saturate.h"
#include "names/names.h"
#include "schema/ops.h"
#include "schema/vocab.h"

/* ns after the end of the last span within which its calls may end */
#define JOIN_AHEAD 1000000000ll
#define JOIN_COLUMNS                                                                            \
	(1ull << OP_START | 1ull << OP_DUR | 1ull << OP_THREAD_ID | 1ull << OP_KIND |           \
	 1ull << OP_OP | 1ull << OP_CLASS | 1ull << OP_RET | 1ull << OP_BYTES | 1ull << OP_FD | \
	 1ull << OP_FILE_ID | 1ull << OP_FD2 | 1ull << OP_FILE2_ID | 1ull << OP_A0 |            \
	 1ull << OP_A1 | 1ull << OP_A3 | 1ull << OP_RUNQ | 1ull << OP_WAKER_ID)

enum join_kind {
	JOIN_WRITE, /* what: the stream that it writes to */
	JOIN_READ,
	JOIN_POLL,
	JOIN_WOKEN, /* what: the task that woke it */
	JOIN_CHILD, /* what: the task of the child that ended, or SPAN_NONE */
};

struct join_event {
	int64_t start, stop, woken; /* woken: from then on it only waited for a CPU */
	uint32_t task, what;
	/* for a write, the stream that this end reads; for a wait for work, its word in span_locks */
	uint32_t own;
	uint32_t bytes : 30;
	uint32_t waited : 1; /* a read that found nothing; a wait for work */
	uint32_t pad : 1;
	uint8_t kind;
};

/* State of a task during the evaluation. */
struct join_task {
	int64_t poll_start, poll_stop,
		poll_woken; /* a poll whose purpose is not known yet; 0: none */
	uint32_t epoch;	    /* number of the work that it was given last */
	uint32_t origin;    /* the stream from which that came; SPAN_NONE: through a futex */
	uint32_t spans[SPAN_LANES_MAX];
	int64_t begun; /* with a futex: when it was woken, or had finished its work; 0: never */
	uint8_t count;
	bool answers; /* it wakes threads that wait for the work that they gave it */
	bool paused;  /* it polls for new work: the previous work only continues with a response */
};

struct joining {
	struct spans *s;
	const struct dims *dims;
	struct span_joins *j;
	struct join_event *events;
	size_t count, cap;
	struct join_task *tasks;
	size_t task_count;
	struct span_streams streams;
	struct span_locks locks;
	uint32_t epochs;
	uint8_t roles[OP_CODE_MAX]; /* enum join_role */
	int64_t futex, futex_wait;
};

enum join_role { ROLE_NONE, ROLE_READ, ROLE_WRITE, ROLE_SPLICE, ROLE_POLL, ROLE_FUTEX, ROLE_CHILD };

static void joining_free(struct joining *g)
{
	free(g->events);
	free(g->tasks);
	span_streams_free(&g->streams);
	span_locks_free(&g->locks);
}

static void join_roles(struct joining *g)
{
	static const struct {
		const char *op;
		uint8_t role;
	} roles[] = {
		{"read", ROLE_READ},	    {"readv", ROLE_READ},	{"preadv2", ROLE_READ},
		{"recvfrom", ROLE_READ},    {"recvmsg", ROLE_READ},	{"recvmmsg", ROLE_READ},
		{"write", ROLE_WRITE},	    {"writev", ROLE_WRITE},	{"pwritev2", ROLE_WRITE},
		{"sendto", ROLE_WRITE},	    {"sendmsg", ROLE_WRITE},	{"sendmmsg", ROLE_WRITE},
		{"sendfile", ROLE_WRITE},   {"splice", ROLE_SPLICE},	{"poll", ROLE_POLL},
		{"ppoll", ROLE_POLL},	    {"select", ROLE_POLL},	{"pselect6", ROLE_POLL},
		{"epoll_wait", ROLE_POLL},  {"epoll_pwait", ROLE_POLL}, {"epoll_pwait2", ROLE_POLL},
		{"accept", ROLE_POLL},	    {"accept4", ROLE_POLL},	{"futex", ROLE_FUTEX},
		{"futex_wait", ROLE_FUTEX}, {"wait4", ROLE_CHILD},	{"waitid", ROLE_CHILD},
	};

	for (size_t i = 0; i < ARRAY_SIZE(roles); i++) {
		int code = op_find(roles[i].op);

		assert(code >= 0 && code < OP_CODE_MAX);
		g->roles[code] = roles[i].role;
	}
}

/* ---- collection ---- */

static bool join_is_full(const struct joining *g)
{
	return g->count == JOIN_EVENTS_MAX;
}

static int join_put(struct joining *g, const struct join_event *e)
{
	if (join_is_full(g)) {
		g->s->unjoined++;
		return 0;
	}
	return array_add(g->events, g->count, g->cap, *e);
}

/*
 * The stream that a call reads or writes; SPAN_NONE: none. Once events are full no stream is created: 0 means that
 * there is one.
 */
static int join_stream(struct joining *g, const struct batch *b, size_t row, unsigned int column,
		       bool write, uint32_t *ret)
{
	int64_t file = batch_get(b, column, row, -1),
		fd = batch_get(b, column == OP_FILE2_ID ? OP_FD2 : OP_FD, row, -1);
	int r;

	if (!join_is_full(g))
		return span_streams_find(&g->streams, file, fd, batch_get(b, OP_THREAD_ID, row, -1),
					 write, ret);
	r = span_streams_named(&g->streams, file, fd, write);
	*ret = r > 0 ? 0 : SPAN_NONE;
	return MIN(r, 0);
}

static int join_write(struct joining *g, const struct batch *b, size_t row, unsigned int column,
		      struct join_event *e)
{
	int r = join_stream(g, b, row, column, true, &e->what);

	if (r >= 0)
		r = join_stream(g, b, row, column, false, &e->own);
	if (r < 0 || e->what == SPAN_NONE)
		return r;
	e->kind = JOIN_WRITE;
	return join_put(g, e);
}

static int join_read(struct joining *g, const struct batch *b, size_t row, struct join_event *e)
{
	int r = join_stream(g, b, row, OP_FILE_ID, false, &e->what);

	if (r < 0 || e->what == SPAN_NONE)
		return r;
	if (!join_is_full(g))
		g->streams.all[e->what].read = true;
	e->kind = JOIN_READ;
	e->waited = batch_get(b, OP_CLASS, row, CLASS_OTHER) == CLASS_WAIT;
	return join_put(g, e);
}

/* A futex wait that another thread ended. */
static int join_futex(struct joining *g, const struct batch *b, size_t row, struct join_event *e)
{
	int64_t waker = batch_get(b, OP_WAKER_ID, row, -1);
	bool idle = span_places_is_idle(g->s->places, b, row);
	struct span_futex_wait w = {
		.process_id = names_process_of(g->dims, batch_get(b, OP_THREAD_ID, row, -1)),
		.dur = e->woken - e->start,
		.address = (uint64_t)batch_get(b, OP_A0, row, 0),
		.task = e->task,
		.timed = batch_get(b, OP_A3, row, 0) != 0,
		.ran_out = batch_get(b, OP_RET, row, 0) == -ETIMEDOUT,
	};

	if (idle && span_locks_wait(&g->locks, &w, &e->own) < 0)
		return -ENOMEM;
	if (waker < 0 && !idle)
		return 0;
	e->what = waker < 0 ? SPAN_NONE : span_places_task(g->s->places, waker, true);
	if (waker >= 0 && e->what == SPAN_NONE)
		return -ENOMEM;
	e->kind = JOIN_WOKEN;
	e->waited = idle;
	return join_put(g, e);
}

static int join_child(struct joining *g, const struct batch *b, size_t row, struct join_event *e)
{
	int64_t pid = batch_get(b, OP_RET, row, -1),
		child = span_streams_child(&g->streams, batch_get(b, OP_THREAD_ID, row, -1), pid,
					   e->start, e->stop);

	if (child < 0)
		return 0;
	e->what = span_places_task(g->s->places, child, true);
	if (e->what == SPAN_NONE)
		return -ENOMEM;
	e->kind = JOIN_CHILD;
	return join_put(g, e);
}

/* The role of a call; most have none. */
static enum join_role join_role_of(const struct joining *g, const struct batch *b, size_t row)
{
	int64_t op = batch_get(b, OP_OP, row, -1);
	enum join_role role = op >= 0 && op < OP_CODE_MAX ? g->roles[op] : ROLE_NONE;
	bool bytes = role == ROLE_READ || role == ROLE_WRITE || role == ROLE_SPLICE;

	if (role == ROLE_NONE || (bytes && batch_get(b, OP_RET, row, -1) <= 0) ||
	    ((role == ROLE_READ || role == ROLE_WRITE) && batch_is_null(b, OP_FILE_ID, row)))
		return ROLE_NONE;
	if (role != ROLE_WRITE && batch_get(b, OP_KIND, row, KIND_SYSCALL) != KIND_SYSCALL)
		return ROLE_NONE;
	return batch_get(b, OP_THREAD_ID, row, -1) < 0 ? ROLE_NONE : role;
}

static int join_take(struct joining *g, const struct batch *b, size_t row, enum join_role role,
		     int64_t end)
{
	int64_t ret = batch_get(b, OP_RET, row, -1),
		dur = MAX(batch_get(b, OP_DUR, row, 0), (int64_t)0),
		thread = batch_get(b, OP_THREAD_ID, row, -1),
		bytes = MAX(batch_get(b, OP_BYTES, row, ret), (int64_t)1),
		runq = MAX(batch_get(b, OP_RUNQ, row, 0), (int64_t)0);
	struct join_event e = {.start = MAX(batch_get(b, OP_START, row, end - dur), (int64_t)0),
			       .own = SPAN_NONE,
			       .what = SPAN_NONE};
	int r;

	e.stop = add_sat_signed(e.start, dur);
	e.woken = MAX(e.stop - runq, e.start);
	e.bytes = (uint32_t)MIN(bytes, (int64_t)(1 << 29));
	e.task = span_places_task(g->s->places, thread, true);
	if (e.task == SPAN_NONE)
		return -ENOMEM;
	switch (role) {
	case ROLE_WRITE:
		return join_write(g, b, row, OP_FILE_ID, &e);
	case ROLE_SPLICE:
		r = join_read(g, b, row, &e);
		return r < 0 ? r : join_write(g, b, row, OP_FILE2_ID, &e);
	case ROLE_READ:
		return join_read(g, b, row, &e);
	case ROLE_FUTEX:
		return join_futex(g, b, row, &e);
	case ROLE_CHILD:
		return ret > 0 ? join_child(g, b, row, &e) : 0;
	default:
		e.kind = JOIN_POLL;
		return join_put(g, &e);
	}
}

static int join_row(void *arg, const struct batch *b, uint32_t row, int64_t end)
{
	struct joining *g = arg;
	enum join_role role = join_role_of(g, b, row);

	return role == ROLE_NONE ? 0 : join_take(g, b, row, role, end);
}

static int join_gather(struct joining *g, const struct analysis_input *in,
		       const struct analysis_run *run, struct error *err)
{
	struct scan_request q = {.table = TABLE_OP, .columns = JOIN_COLUMNS};

	spanset_range(g->s, &q.from, &q.to);
	q.to = add_sat_signed(q.to, JOIN_AHEAD);
	return analysis_scan(in, run, &q, join_row, g, err);
}

/* ---- evaluation ---- */

/* A wait for a futex that is a lock is not a wait for work: the thread continues its previous work. */
static void join_locks(struct joining *g)
{
	for (size_t i = 0; i < g->count; i++) {
		const struct join_event *e = &g->events[i];

		if (e->kind == JOIN_WOKEN && e->own != SPAN_NONE && e->what != SPAN_NONE)
			span_locks_woken(&g->locks, e->own, e->what);
	}
	for (size_t i = 0; i < g->count; i++) {
		struct join_event *e = &g->events[i];

		if (e->kind == JOIN_WOKEN && e->own != SPAN_NONE)
			e->waited &= !span_locks_is_lock(&g->locks, e->own);
	}
}

static int join_wait(struct joining *g, uint32_t task, uint32_t target, int64_t start, int64_t stop,
		     bool idle)
{
	struct span_joins *j = g->j;

	if (target == SPAN_NONE || target == task || stop <= start)
		return 0;
	assert(target <= INT32_MAX); /* each thread takes more memory than a byte */
	return array_add(j->waits, j->wait_count, j->wait_cap,
			 (struct span_wait){start, stop, task, target & INT32_MAX, idle});
}

/* A poll turns out to be for new work: the thread's previous work had ended before. */
static int join_pause(struct joining *g, uint32_t task)
{
	struct join_task *t = &g->tasks[task];
	int r = 0;

	if (t->poll_stop && t->count && !t->paused)
		r = span_places_hand(g->s->places, task, t->poll_start, NULL, 0);
	t->paused |= t->poll_stop != 0;
	t->poll_start = t->poll_stop = 0;
	return r;
}

/* From `since` on the task works on what `from` works on at time `at`; `from` may be none. */
static int join_give(struct joining *g, const struct join_event *e, int64_t since, uint32_t from,
		     int64_t at, uint32_t origin)
{
	struct join_task *t = &g->tasks[e->task];
	size_t n = from == SPAN_NONE ? 0 : span_places_look(g->s->places, from, at, true, t->spans);

	t->count = (uint8_t)n;
	t->origin = origin;
	t->epoch = ++g->epochs;
	t->paused = false;
	return span_places_hand(g->s->places, e->task, since, t->spans, n);
}

/* The task continues with the work that it had before the poll. */
static int join_resume(struct joining *g, const struct join_event *e)
{
	struct join_task *t = &g->tasks[e->task];
	bool paused = t->paused;

	t->paused = false;
	return paused && t->count
		       ? span_places_hand(g->s->places, e->task, e->start, t->spans, t->count)
		       : 0;
}

static int join_wrote(struct joining *g, const struct join_event *e)
{
	struct join_task *t = &g->tasks[e->task];
	struct span_stream *own = e->own == SPAN_NONE ? NULL : &g->streams.all[e->own];
	int r = 0;

	/* it waits for room in a stream to which it is writing */
	if (t->poll_stop && own && own->asked == e->task + 1 && own->epoch == t->epoch)
		t->poll_start = t->poll_stop = 0;
	else
		r = join_pause(g, e->task);
	if (r >= 0 && own && own->asked == e->task + 1 && own->epoch == t->epoch)
		r = join_resume(g, e);
	if (own) {
		own->asked = e->task + 1;
		own->epoch = t->epoch;
	}
	return r < 0 ? r
		     : span_stream_wrote(
			       &g->streams.all[e->what],
			       &(struct span_written){e->start, e->stop, e->task, e->bytes});
}

static int join_got(struct joining *g, const struct join_event *e)
{
	struct join_task *t = &g->tasks[e->task];
	struct span_stream *q = &g->streams.all[e->what];
	bool answer = q->asked == e->task + 1 && q->epoch == t->epoch && t->origin != e->what;
	struct span_written w = {.task = SPAN_NONE};
	int64_t start = t->poll_stop ? t->poll_start : e->start,
		woken = t->poll_stop && !e->waited ? t->poll_woken : e->woken;
	int r = 0;

	span_stream_read(q, e->waited ? e->start : INT64_MIN, e->stop, e->bytes, &w);
	if (t->poll_stop || e->waited)
		r = join_wait(g, e->task, w.task, start, woken, !answer);
	if (r < 0)
		return r;
	if (answer) {
		t->poll_start = t->poll_stop = 0;
		return join_resume(g, e);
	}
	if (!t->poll_stop && e->waited && t->count && !t->paused)
		r = span_places_hand(g->s->places, e->task, e->start, NULL, 0);
	if (r >= 0)
		r = join_pause(g, e->task);
	/* what was immediately available there is read for the new work, not for the previous one */
	return r < 0 ? r
		     : join_give(g, e, e->waited || t->poll_stop ? e->stop : e->start, w.task,
				 w.start, e->what);
}

/* True if two lists of spans have a request in common. */
static bool join_shares(const struct spans *s, const uint32_t *a, size_t a_count, const uint32_t *b,
			size_t b_count)
{
	for (size_t i = 0; i < a_count; i++) {
		for (size_t k = 0; k < b_count; k++) {
			if (s->all[a[i]].root == s->all[b[k]].root)
				return true;
		}
	}
	return false;
}

/* Work given to a thread that responds ends with the span that waited for the response. */
static int join_over(struct joining *g, uint32_t task, int64_t at)
{
	struct join_task *t = &g->tasks[task];
	int64_t stop = t->begun;

	if (!t->answers || !t->count || t->origin != SPAN_NONE)
		return 0;
	for (size_t i = 0; i < t->count; i++)
		stop = MAX(stop, g->s->all[t->spans[i]].stop);
	return stop < at ? span_places_hand(g->s->places, task, stop, NULL, 0) : 0;
}

/*
 * A pool thread that wakes a thread which waited within a span has done that span's work: everything since it was
 * woken, or since it finished its previous work, was for the span. A busy thread takes the next job from its queue
 * without waiting. The thread that last woke it is therefore not necessarily the one for which it works, and what it
 * does next is unknown until it wakes a thread or is woken.
 */
static int join_done(struct joining *g, const struct join_event *e)
{
	struct join_task *t = e->what == SPAN_NONE ? NULL : &g->tasks[e->what];
	uint32_t waits[SPAN_LANES_MAX], own[SPAN_LANES_MAX];
	int64_t since;
	size_t n;
	int r = 0;

	if (!t || !t->begun || t->origin != SPAN_NONE || t->paused ||
	    span_places_look(g->s->places, e->what, e->woken, false, own))
		return 0;
	n = span_places_look(g->s->places, e->task, e->woken, false, waits);
	if (!n)
		return 0;
	t->answers = true;
	if (!join_shares(g->s, waits, n, t->spans, t->count)) {
		since = MAX(t->begun, g->s->all[waits[0]].start);
		r = join_over(g, e->what, since);
		if (r >= 0)
			r = span_places_hand(g->s->places, e->what, since, waits, n);
	}
	t->count = 0;
	t->begun = e->woken;
	return r < 0 ? r : span_places_hand(g->s->places, e->what, e->woken, NULL, 0);
}

/* A wait for work that another thread ended. */
static int join_woken(struct joining *g, const struct join_event *e)
{
	int r = join_over(g, e->task, e->start);

	if (r >= 0)
		r = join_pause(g, e->task);
	if (r >= 0)
		r = join_give(g, e, e->stop, e->what, e->woken, SPAN_NONE);
	if (r < 0)
		return r;
	g->tasks[e->task].begun = e->stop;
	return join_done(g, e);
}

static int join_follow(struct joining *g, const struct join_event *e)
{
	int r;

	switch (e->kind) {
	case JOIN_WRITE:
		return join_wrote(g, e);
	case JOIN_READ:
		return join_got(g, e);
	case JOIN_POLL:
		r = join_pause(g, e->task);
		g->tasks[e->task].poll_start = e->start;
		g->tasks[e->task].poll_stop = MAX(e->stop, (int64_t)1);
		g->tasks[e->task].poll_woken = e->woken;
		return r;
	case JOIN_WOKEN:
		r = join_wait(g, e->task, e->what, e->start, e->woken, e->waited);
		return r < 0 || !e->waited ? r : join_woken(g, e);
	default:
		return join_wait(g, e->task, e->what, e->start, e->woken, false);
	}
}

/* Sort key of events: a write counts at its start, a wait at its end. */
static int64_t join_at(const struct join_event *e)
{
	return e->kind == JOIN_WRITE ? e->start : e->kind == JOIN_WOKEN ? e->woken : e->stop;
}

static int join_order(const void *a, const void *b, void *events)
{
	const struct join_event *all = events, *x = &all[*(const uint32_t *)a],
				*y = &all[*(const uint32_t *)b];

	/* a write before the read of it */
	int r = ORDER(join_at(x), join_at(y)) ?: ORDER(x->kind, y->kind);

	return r ?: ORDER(x->task, y->task) ?: ORDER(x->stop, y->stop) ?: ORDER(x, y);
}

static int wait_order(const void *a, const void *b)
{
	const struct span_wait *x = a, *y = b;

	return ORDER(x->task, y->task) ?: ORDER(x->start, y->start) ?: ORDER(x->stop, y->stop);
}

static int join_simulate(struct joining *g)
{
	/* sort indexes: sorting takes as much additional memory as what is sorted */
	_cleanup_free_ uint32_t *order = array_indexes(g->count);
	int r = 0;

	g->task_count = span_places_tasks(g->s->places);
	g->tasks = calloc(g->task_count + 1, sizeof(*g->tasks));
	if (!g->tasks || !order)
		return -ENOMEM;
	for (size_t i = 0; i < g->task_count; i++)
		g->tasks[i].origin = SPAN_NONE;
	array_sort_by(order, g->count, join_order, g->events);
	for (size_t i = 0; i < g->count && r >= 0; i++)
		r = join_follow(g, &g->events[order[i]]);
	for (size_t i = 0; i < g->task_count && r >= 0; i++) {
		r = join_over(g, (uint32_t)i, INT64_MAX);
		if (r >= 0)
			r = join_pause(g, (uint32_t)i);
	}
	array_sort(g->j->waits, g->j->wait_count, wait_order);
	return r;
}

int span_joins_make(struct spans *s, const struct analysis_input *in,
		    const struct analysis_run *run, struct error *err)
{
	_cleanup_(joining_free) struct joining g = {.s = s, .dims = store_dims(run->store)};
	int r;

	s->joins = calloc(1, sizeof(*s->joins));
	if (!s->joins)
		return -ENOMEM;
	g.j = s->joins;
	join_roles(&g);
	if (!s->count)
		return 0;
	r = span_streams_new(&g.streams, g.dims);
	if (r >= 0)
		r = join_gather(&g, in, run, err);
	join_locks(&g);
	if (r >= 0)
		r = join_simulate(&g);
	free(TAKE_PTR(g.events)); /* before more memory is allocated */
	return r < 0 ? r : span_joins_resolve(s);
}
