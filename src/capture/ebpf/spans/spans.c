/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ebpf/spans/spans.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "capture/ebpf/spans/markers.h"
#include "capture/ebpf/probes/probe_rows.h"
#include "capture/ebpf/spans/span_rows.h"

#define LOOKED_MAX 65536 /* processes whose mappings are not examined again */
#define MARKS_MAX  32	 /* about unreadable data; further cases are only counted */
#define LAST_MAX   64	 /* turns of copying a process's rest, to which a child may add */
#define EVENTS_BYTES_MAX \
	(64u << 20) /* not delivered yet; beyond this the program's rings fill up */
#define IDLE_LOOK_NS (NSEC_PER_SEC / 4)
/* A look examines all mappings of a process, which may announce endlessly: after this many, looks are at least LOOK_NS
 * apart. */
#define LOOKS_AT_ONCE SPAN_MEMORIES_MAX
#define LOOK_NS	      (NSEC_PER_SEC / 10)

/* For a process that announced memory: when it was examined, and the last deferred announcement. */
struct look {
	struct announcement put_off;
	int64_t last;
	uint32_t count;
	bool waits;
};

struct spans {
	struct span_rings *rings;
	struct span_events events;
	struct span_rows rows;
	struct recent looked;  /* hash of (pid, start) of processes whose mappings were examined */
	uint64_t refused, bad; /* already in rows of loss */
	uint64_t unread;       /* unreadable memories and rings not yet in rows of loss */
	uint64_t not_marked;   /* single ones not yet in rows of loss */
	uint64_t markers_lost; /* already in rows of loss */
	struct map looks;      /* hash of (pid, start) -> struct look, until the process ends */
	size_t looks_waiting, marks;
	int64_t since, idle_looked;
};

int spans_new(struct spans **ret)
{
	_cleanup_(spans_freep) struct spans *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	span_rows_init(&s->rows);
	s->looked.max = LOOKED_MAX;
	s->since = clock_monotonic_ns();
	r = span_rings_new(&s->rings);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(s);
	return 0;
}

struct span_rows *spans_rows(struct spans *s)
{
	return &s->rows;
}

struct span_rings *spans_rings(struct spans *s)
{
	return s->rings;
}

void spans_free(struct spans *s)
{
	if (!s)
		return;
	kept_free(&s->looks);
	span_events_free(&s->events);
	span_rows_free(&s->rows);
	recent_free(&s->looked);
	span_rings_free(s->rings);
	free(s);
}

/* ---- unreadable data ---- */

static int why_mark(struct decode *d, const char *text, size_t len, struct batch_set *out)
{
	if (d->spans->marks++ >= MARKS_MAX)
		return 0;
	return batch_set_add_mark(out, clock_monotonic_ns() + d->opt.clock_offset, "weir.spans",
				  text, len);
}

int spans_not_marked(struct decode *d, const char *text, size_t len, struct batch_set *out)
{
	d->spans->not_marked++;
	return why_mark(d, text, len, out);
}

static int unread_mark(struct decode *d, int32_t pid, int32_t tid, const char *why,
		       struct batch_set *out)
{
	char text[256];
	int n;

	d->spans->unread++;
	n = tid ? snprintf(text, sizeof(text),
			   "spans of thread %d of process %d are no longer read: %s", tid, pid, why)
		: snprintf(text, sizeof(text), "spans of process %d are not recorded: %s", pid,
			   why);
	return why_mark(d, text, (size_t)n, out);
}

static int span_loss_row(struct decode *d, enum loss_cause cause, int64_t thread, uint64_t count,
			 int64_t now, struct batch_set *out)
{
	struct batch_row row = batch_set_row(out, TABLE_LOSS);

	row_set(&row, LOSS_START, d->spans->since + d->opt.clock_offset);
	row_set(&row, LOSS_STOP, now + d->opt.clock_offset);
	row_set_if(&row, thread >= 0, LOSS_THREAD_ID, thread);
	row_set(&row, LOSS_CAUSE, cause);
	row_set_str(&row, LOSS_OF, "span");
	row_set_if(&row, count, LOSS_EVENTS, (int64_t)count);
	return row.r;
}

static bool is_thread(const struct wire_thread *t, int32_t pid, int32_t tid_inside)
{
	return t->tgid == pid && t->tid_ns == tid_inside;
}

/* The version of a live thread, by its process and its tid in its own pid namespace. */
static bool thread_find(const struct decode *d, int32_t pid, int32_t tid_inside, uint32_t *ret)
{
	const struct wire_thread *t = NULL;
	uint64_t key, record;
	size_t pos = 0;

	/* usually both namespaces are the same */
	if (map_get(&d->tids, (uint32_t)tid_inside, &key))
		t = kept_get(&d->thread_records, key);
	while (!(t && is_thread(t, pid, tid_inside))) {
		if (!map_next(&d->thread_records, &pos, &key, &record))
			return false;
		t = (const void *)(uintptr_t)record;
	}
	*ret = t->thread;
	return true;
}

/* The current or last version of a process's thread. */
static int64_t thread_of(struct decode *d, struct span_process *p, int32_t tid)
{
	uint64_t version;
	uint32_t found;

	if (thread_find(d, p->pid, tid, &found)) {
		(void)!map_set(&p->threads, (uint32_t)tid, found); /* else it is looked up again */
		return found;
	}
	return map_get(&p->threads, (uint32_t)tid, &version) ? (int64_t)version : -1;
}

/* The increase of a counter owned by the program; a decrease is not a loss. */
static uint64_t grown(uint64_t *seen, uint64_t now)
{
	uint64_t more = now > *seen && now - *seen < UINT64_MAX / 4 ? now - *seen : 0;

	*seen = now;
	return more;
}

static int process_losses(struct decode *d, struct span_process *p, int64_t now,
			  struct batch_set *out)
{
	uint32_t count = p->asks ? 0 : span_rings_count(p);
	uint64_t more = p->asks ? 0 : grown(&p->lost, span_control_of(p)->lost);
	int r = more ? span_loss_row(d, CAUSE_SPAN_FULL, -1, more, now, out) : 0;

	for (uint32_t i = 0; i < count && !r; i++) {
		volatile struct span_ring *shared = span_ring_of(p, i);
		struct span_ring_read *ring = &p->rings[i];
		uint64_t ends = shared->lost_ends;

		if (ring->stopped && ring->reason) {
			r = unread_mark(d, p->pid, ring->tid, ring->reason, out);
			ring->reason = NULL;
		}
		p->lost_ends |= ends > 0;
		more = grown(&ring->lost, shared->lost_begins + shared->lost_notes + ends);
		if (more && !r)
			r = span_loss_row(d, CAUSE_SPAN_FULL, thread_of(d, p, ring->tid), more, now,
					  out);
	}
	return r;
}

int spans_losses(struct decode *d, int64_t now, struct batch_set *out)
{
	struct spans *s = d->spans;
	struct span_process *p;
	size_t pos = 0;
	uint64_t more = grown(&s->markers_lost, markers_lost(d));
	int r = more ? span_loss_row(d, CAUSE_SPAN_FULL, -1, more, now, out) : 0;

	while (!r && (p = span_rings_next(s->rings, &pos)))
		r = process_losses(d, p, now, out);
	if (!r && s->rows.refused > s->refused)
		r = span_loss_row(d, CAUSE_SPAN_FULL, -1, s->rows.refused - s->refused, now, out);
	if (!r && s->unread) /* the number is unknown */
		r = span_loss_row(d, CAUSE_SPAN_UNREAD, -1, 0, now, out);
	if (!r && s->not_marked)
		r = span_loss_row(d, CAUSE_SPAN_UNREAD, -1, s->not_marked, now, out);
	s->not_marked = 0;
	s->refused = s->rows.refused;
	s->unread = 0;
	s->since = now;
	return r;
}

/* ---- events ---- */

static int events_take(struct spans *s)
{
	struct bytes b = span_rings_take(s->rings);
	const uint8_t *at = b.data;
	int r = 0;

	while (at < b.data + b.len && r >= 0) {
		const struct span_chunk *c = (const void *)at;

		r = c->process->rings[c->ring].stopped ? 0 : span_events_add(&s->events, c);
		at += sizeof(*c) + c->len;
	}
	return r;
}

int spans_take(struct spans *s)
{
	return s->events.data.len < EVENTS_BYTES_MAX ? events_take(s) : 0;
}

static struct span_process *process_by(struct spans *s, int32_t pid, uint64_t number)
{
	struct span_process *p;
	size_t pos = 0;

	while ((p = span_rings_next(s->rings, &pos))) {
		if (number ? p->number == number : p->pid == pid)
			return p;
	}
	return NULL;
}

/* Whether memory that the process itself created is read. */
static bool reads_own(struct spans *s, int32_t pid)
{
	struct span_process *p;
	size_t pos = 0;

	while ((p = span_rings_next(s->rings, &pos))) {
		if (p->pid == pid && !p->asks)
			return true;
	}
	return false;
}

static void service_look(struct span_process *p)
{
	for (size_t i = 0; i < sizeof(p->service) - 1; i++)
		p->service[i] = span_control_of(p)->service[i];
}

static int events_give(struct decode *d, int64_t until, size_t most, struct batch_set *out)
{
	struct spans *s = d->spans;
	const struct span_event *e = NULL;
	struct span_process *p = NULL;
	size_t count = 0;
	int r = 0;

	while (count < most && !r && (e = span_events_next(&s->events, until))) {
		int64_t thread;

		if (!p || p->number != e->process) {
			p = process_by(s, 0, e->process);
			assert(p); /* it is closed only after its events were delivered */
			service_look(p);
		}
		thread = thread_of(d, p, e->tid);
		count++;
		if (d->opt.select->tid_count && thread < 0)
			continue;
		r = span_rows_event(&s->rows, p, e, thread, d->opt.clock_offset, out);
	}
	return r < 0 ? r : e != NULL;
}

/* ---- looking for announced memory ---- */

static int attach(struct decode *d, const struct announcement *a, uint64_t addr,
		  struct batch_set *out)
{
	struct span_process *new[SPAN_MEMORIES_MAX];
	const char *why;
	size_t count;
	int r = span_rings_attach(d->spans->rings, a->pid, addr, new, &count, &why);

	for (size_t i = 0; i < count; i++) {
		new[i]->process_start = a->process_start;
		/* if the announcement was not seen, or deferred, use the program's time */
		new[i]->announced = MIN(new[i]->born, new[i]->attached);
		if (addr || new[i]->announced < a->time)
			new[i]->announced = a->time;
	}
	if (count && !a->time)
		r = decode_announcer_add(d, WIRE_ANNOUNCE_SPAN, a->pid, a->process_start,
					 new[0]->announced);
	if (r == -ENOMEM)
		return r;
	if (!r && a->time && !count) /* none of the announced memories exists */
		r = -ENOENT;
	return r == -ENOSPC || (r < 0 && !reads_own(d->spans, a->pid))
		       ? unread_mark(d, a->pid, 0, why, out)
		       : 0;
}

static struct look *look_get(const struct spans *s, const struct announcement *a)
{
	return kept_get(&s->looks, life_key(a->pid, a->process_start));
}

/* Attaches announced memory, or defers that. */
static int span_look(struct decode *d, const struct announcement *a, struct batch_set *out)
{
	struct spans *s = d->spans;
	struct look *l = look_get(s, a);
	int64_t now = clock_monotonic_ns();

	if (!l) {
		l = calloc(1, sizeof(*l));
		if (!l ||
		    map_set(&s->looks, life_key(a->pid, a->process_start), (uintptr_t)l) < 0) {
			free(l);
			return -ENOMEM;
		}
	}
	if (l->waits || (l->count >= LOOKS_AT_ONCE && now - l->last < LOOK_NS)) {
		s->looks_waiting += !l->waits;
		l->waits = true;
		l->put_off = *a;
		return 0;
	}
	l->count++;
	l->last = now;
	return attach(d, a, a->addr, out);
}

/* Looks for all memory of processes whose announcements were deferred long enough, or of all. */
static int looks_give(struct decode *d, bool all, struct batch_set *out)
{
	struct spans *s = d->spans;
	int64_t now = clock_monotonic_ns();
	uint64_t key, value;
	size_t pos = 0;
	int r = 0;

	while (s->looks_waiting && !r && map_next(&s->looks, &pos, &key, &value)) {
		struct look *l = (void *)(uintptr_t)value;

		if (!l->waits || (!all && now - l->last < LOOK_NS))
			continue;
		l->waits = false;
		s->looks_waiting--;
		l->last = now;
		r = attach(d, &l->put_off, 0, out);
	}
	return r;
}

/* The process executes another program, or ended: deferred memory can no longer be found, unless it belongs to that
 * program. */
static int look_end(struct decode *d, const struct announcement *a, struct batch_set *out)
{
	struct spans *s = d->spans;
	struct look *l = look_get(s, a);
	bool waits = l && l->waits;

	if (!l || (a->event == ANNOUNCE_EXEC && waits && l->put_off.time > a->time))
		return 0;
	s->looks_waiting -= waits;
	map_del(&s->looks, life_key(a->pid, a->process_start));
	free(l);
	return waits && !reads_own(s, a->pid)
		       ? unread_mark(d, a->pid, 0, "it ended before their memory was found", out)
		       : 0;
}

int spans_give(struct decode *d, int64_t until, struct batch_set *out)
{
	struct spans *s = d->spans;
	int64_t now;
	int r = looks_give(d, false, out);

	r = r ? r : events_give(d, until, SPANS_TURN, out);
	if (r)
		return r;
	now = clock_monotonic_ns();
	if (!s->rows.open.count || now - s->idle_looked < IDLE_LOOK_NS || until == INT64_MAX)
		return 0;
	s->idle_looked = now;
	return span_rows_idle(&s->rows, until, d->opt.clock_offset, out);
}

/* ---- processes that come and go ---- */

/* Takes all data of a process, which wrote none after that time. */
static int process_last(struct spans *s, struct span_process *p, bool gone, int64_t time)
{
	bool all = p->left;
	int r = 0;

	if (p->left)
		return 0;
	for (int i = 0; i < LAST_MAX && !all && !r; i++) {
		all = span_rings_last(s->rings, p);
		r = events_take(s);
	}
	span_rings_leave(s->rings, p, gone);
	r = r ? r : events_take(s);
	span_events_limit(&s->events, p->number, time);
	return r;
}

/* Closes a process whose events were delivered: adds rows for its open spans, and detaches it. */
static int process_close(struct decode *d, struct span_process *p, enum span_status status,
			 int64_t time, struct batch_set *out)
{
	struct spans *s = d->spans;
	int r = process_losses(d, p, MAX(clock_monotonic_ns(), s->since), out);

	r = r ? r
	      : span_rows_close(&s->rows, p, p->lost_ends ? SPAN_STATUS_CUT : status, time,
				d->opt.clock_offset, out);
	span_rings_detach(s->rings, p);
	return r;
}

/* Whether it was found after an exec whose record comes only now. */
static bool is_newer(const struct span_process *p, int64_t exec)
{
	return p->announced > exec;
}

int spans_first(struct decode *d, const struct wire_head *h, struct batch_set *out)
{
	const struct wire_thread_end *end = (const void *)h;
	const struct wire_thread *t = (const void *)h;
	bool ends = h->type == WIRE_THREAD_END, exec;
	struct span_process *p;
	size_t pos = 0;
	int32_t pid;
	int r = 0;

	if ((!ends && h->type != WIRE_THREAD) || h->size < (ends ? sizeof(*end) : sizeof(*t)))
		return 0;
	exec = !ends && t->reason == WIRE_THREAD_EXEC;
	pid = ends ? end->tgid : t->tgid;
	if (!process_by(d->spans, pid, 0))
		return 0;
	while ((exec || (ends && end->process_ended)) && !r &&
	       (p = span_rings_next(d->spans->rings, &pos))) {
		if (p->pid == pid && !(exec && is_newer(p, (int64_t)h->time)))
			r = process_last(d->spans, p, true, (int64_t)h->time);
	}
	return r ? r : events_give(d, (int64_t)h->time, SPANS_TURN, out);
}

int spans_announced(struct decode *d, const struct announcement *a, struct batch_set *out)
{
	struct span_process *p;
	size_t pos = 0;
	int r = 0;

	if (a->event == ANNOUNCE_MADE)
		return span_look(d, a, out);
	r = look_end(d, a, out);
	while (!r && (p = span_rings_next(d->spans->rings, &pos))) {
		if (p->pid != a->pid || (a->event == ANNOUNCE_EXEC && is_newer(p, a->time)))
			continue;
		r = process_close(d, p, SPAN_STATUS_CUT, a->time, out);
		pos = 0;
	}
	return r;
}

int spans_look(struct decode *d, const struct wire_thread *w, struct batch_set *out)
{
	const struct announcement a = {.pid = w->tgid, .process_start = w->process_start};
	uint64_t hash = life_key(w->tgid, w->process_start);
	int r;

	/* The command is weir itself until its execve. */
	if (w->reason != WIRE_THREAD_SEEN || w->ppid == (int32_t)getpid() ||
	    w->tgid == (int32_t)getpid() || recent_get(&d->spans->looked, hash, NULL))
		return 0;
	r = recent_set(&d->spans->looked, hash, 1);
	return r ? r : attach(d, &a, 0, out);
}

int spans_end(struct decode *d, struct batch_set *out)
{
	struct spans *s = d->spans;
	struct span_process *p;
	size_t pos = 0;
	bool gone;
	int r = 0;

	/* All processes first: a span of one may be the parent of another's. */
	r = looks_give(d, true, out);
	while (!r && (p = span_rings_next(s->rings, &pos)))
		r = process_last(s, p, false, clock_monotonic_ns());
	r = r ? r : events_give(d, INT64_MAX, SPANS_TURN, out);
	pos = 0;
	if (r)
		return r;
	p = span_rings_next(s->rings, &pos);
	if (!p) {
		r = markers_end(d, out);
		return r ? r : probes_end(d, out);
	}
	/* the record of its end may have found no room */
	gone = kill(p->pid, 0) && errno == ESRCH;
	r = process_close(d, p, gone ? SPAN_STATUS_CUT : SPAN_STATUS_RUNNING, clock_monotonic_ns(),
			  out);
	return r ? r : 1;
}
