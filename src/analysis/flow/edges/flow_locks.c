// SPDX-License-Identifier: Apache-2.0
/*
 * flow_locks.c: edges through file locks: flock(2) locks belong to an open file description and cover the whole file;
 * fcntl(2) locks cover a range and belong to a process or (F_OFD_SETLK) to a description.
 *
 * An unlock precedes every later lock that conflicts with what it released: another owner, overlapping ranges, at least
 * one of the two exclusive. If such a lock returns before the unlock has, it had waited for the unlock. The same holds
 * for an exclusive lock that its owner converts to a shared one.
 *
 * A close also releases: with fcntl everything that the process holds on the file, otherwise nothing until the last
 * descriptor of the description is closed, in whatever process. Which close that is need not be known: when a
 * conflicting lock returns without an unlock, all of the closes have happened, so each of them precedes it. The same
 * applies to an exec and the end of a process.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <string.h>
#include <sys/file.h>

#include "analysis/flow/flow_pass.h"
#include "base/array.h"
#include "schema/ops.h"

#define HELD_MAX     256 /* per file; beyond that, the lock closed first is forgotten */
#define RELEASED_MAX 128
#define WAITS_FEW    8
#define RANGE_LAST   65535 /* highest descriptor for which close_range is followed */

enum lock_end {
	LOCK_UNLOCKED,
	LOCK_CLOSED, /* by the owner's last descriptor */
	LOCK_LEFT,   /* by one of possibly many holders */
};

/* A lock request: its owner and range. */
struct lock_wish {
	uint64_t owner;
	int64_t from, to;
	bool exclusive, unknown;
};

/* A lock that returned although a conflicting one is not released yet: its release must be imminent. */
struct lock_wait {
	struct lock_wish what;
	uint32_t node;
	int64_t end;
};

struct lock_held {
	struct lock_wish what;
	uint32_t node, task;
	int64_t since, fd;
	bool left;
	struct lock_wait waits[WAITS_FEW];
	unsigned int wait_count;
};

struct lock_released {
	struct lock_wish what;
	uint32_t node, task;
	bool left; /* unless an unlock follows */
};

/* The locks of one file through one of the two interfaces. */
struct flow_lock {
	uint32_t object;
	int64_t left; /* row of the last call that left it, so that it is visited once per call */
	struct lock_held *held;
	size_t held_count, held_cap;
	struct lock_released *released; /* in order */
	size_t released_count, released_cap;
};

/* A process that has locked the file; next: the process's next such file. */
struct lock_user {
	uint32_t lock, next;
};

void flow_locks_free(struct flow_state *s)
{
	struct flow_locks *l = &s->locks;

	for (size_t i = 0; i < l->count; i++) {
		free(l->all[i].held);
		free(l->all[i].released);
	}
	free(l->all);
	free(l->users);
	map_free(&l->by_object);
	map_free(&l->by_process);
}

static uint64_t lock_key(uint32_t object, bool whole)
{
	return (uint64_t)object << 1 | whole;
}

static struct flow_lock *lock_find(const struct flow_state *s, uint32_t object, bool whole)
{
	uint64_t at;

	return map_get(&s->locks.by_object, lock_key(object, whole), &at) ? &s->locks.all[at]
									  : NULL;
}

/* NULL after an error. */
static struct flow_lock *lock_make(struct flow_state *s, uint32_t object, bool whole)
{
	struct flow_locks *l = &s->locks;
	bool is_new;
	struct flow_lock *lock = array_of_key(l->all, l->count, l->cap, &l->by_object,
					      lock_key(object, whole), &is_new);

	if (!lock)
		flow_failed(s, -ENOMEM);
	else if (is_new)
		*lock = (struct flow_lock){.object = object, .left = -1};
	return lock;
}

static void lock_use(struct flow_state *s, const struct flow_call *c, const struct flow_lock *lock)
{
	struct flow_locks *l = &s->locks;
	uint64_t process = (uint64_t)s->tasks[c->task].process_id, before = FLOW_NONE;
	uint32_t number = (uint32_t)(lock - l->all);

	map_get(&l->by_process, process, &before);
	for (uint32_t i = (uint32_t)before; i != FLOW_NONE; i = l->users[i].next) {
		if (l->users[i].lock == number)
			return;
	}
	flow_failed(s, map_set(&l->by_process, process, l->user_count));
	flow_failed(s, array_add(l->users, l->user_count, l->user_cap,
				 (struct lock_user){number, (uint32_t)before}));
}

/* ---- ranges ---- */

static bool wish_meets(const struct lock_wish *a, const struct lock_wish *b)
{
	return a->from < b->to && b->from < a->to;
}

static bool wish_conflicts(const struct lock_wish *a, const struct lock_wish *b)
{
	return a->owner != b->owner && wish_meets(a, b) && (a->exclusive || b->exclusive);
}

static void held_add(struct flow_state *s, struct flow_lock *l, const struct lock_held *h)
{
	size_t at = 0;

	if (l->held_count == HELD_MAX) {
		while (at + 1 < l->held_count && !l->held[at].left)
			at++;
		memmove(&l->held[at], &l->held[at + 1], (--l->held_count - at) * sizeof(*l->held));
	}
	flow_failed(s, array_add(l->held, l->held_count, l->held_cap, *h));
}

/* Removes a range from a lock, which may be split in two. */
static void held_cut(struct flow_state *s, struct flow_lock *l, size_t at, int64_t from, int64_t to)
{
	struct lock_held behind = l->held[at];

	if (l->held[at].what.from < from)
		l->held[at].what.to = from;
	else
		l->held[at] = l->held[--l->held_count];
	if (behind.what.to <= to)
		return;
	behind.what.from = to;
	held_add(s, l, &behind);
}

static void released_remove(struct flow_lock *l, size_t at)
{
	memmove(&l->released[at], &l->released[at + 1],
		(--l->released_count - at) * sizeof(*l->released));
}

static void released_add(struct flow_state *s, struct flow_lock *l, const struct lock_released *n)
{
	size_t at = 0;

	/* it replaces the task's previous releases of no larger range */
	while (at < l->released_count) {
		const struct lock_released *m = &l->released[at];

		if (m->task == n->task && m->what.owner == n->what.owner && m->left == n->left &&
		    m->what.from >= n->what.from && m->what.to <= n->what.to &&
		    m->what.exclusive <= n->what.exclusive && m->what.unknown >= n->what.unknown)
			break;
		at++;
	}
	if (at == l->released_count && at == RELEASED_MAX)
		at = 0;
	if (at < l->released_count)
		released_remove(l, at);
	flow_failed(s, array_add(l->released, l->released_count, l->released_cap, *n));
}

/* Removes the range from released entries for which `gone` is true. */
static void
released_cut(struct flow_state *s, struct flow_lock *l, const struct lock_wish *w, uint32_t task,
	     bool (*gone)(const struct lock_released *, const struct lock_wish *, uint32_t))
{
	for (size_t i = l->released_count; i-- > 0;) {
		struct lock_released behind = l->released[i];

		if (!wish_meets(&behind.what, w) || !gone(&behind, w, task))
			continue;
		if (behind.what.from < w->from)
			l->released[i].what.to = w->from;
		else
			released_remove(l, i);
		if (behind.what.to <= w->to || l->released_count == RELEASED_MAX)
			continue;
		behind.what.from = w->to;
		flow_failed(s, array_add(l->released, l->released_count, l->released_cap, behind));
	}
}

/* The lock `w` follows this release; anything later follows the lock. */
static bool is_passed(const struct lock_released *m, const struct lock_wish *w, uint32_t task)
{
	return !w->unknown && !m->what.unknown && (m->what.owner != w->owner || m->task == task);
}

/* Descriptors were closed, but later an unlock released the lock. */
static bool is_undone(const struct lock_released *m, const struct lock_wish *w,
		      uint32_t task _unused_)
{
	return m->left && m->what.owner == w->owner;
}

static void lock_edge(struct flow_state *s, uint32_t from, uint32_t to, uint32_t object,
		      const struct lock_wish *a, const struct lock_wish *b)
{
	int64_t pos = MAX(a->from, b->from), end = MIN(a->to, b->to);
	bool whole = !pos && end == INT64_MAX;

	flow_edge(s, &(struct flow_edge){.from = from,
					 .to = to,
					 .pos = whole ? -1 : pos,
					 .bytes = whole ? 0 : end - pos,
					 .file_id = s->objects[object].file_id,
					 .via = VIA_LOCK,
					 .certain = !a->unknown && !b->unknown});
}

/* ---- release ---- */

/* The call releases a range of a held lock, or downgrades it if only `exclusive` ends. */
static void held_released(struct flow_state *s, const struct flow_call *c, struct flow_lock *l,
			  const struct lock_held *h, const struct lock_wish *w, enum lock_end how)
{
	const struct lock_wish part = {h->what.owner, MAX(h->what.from, w->from),
				       MIN(h->what.to, w->to), h->what.exclusive,
				       h->what.unknown || w->unknown};

	/* the task that unlocks observed the lock as held */
	if (how != LOCK_LEFT && h->task != c->task && h->since <= c->start)
		lock_edge(s, h->node, c->node, l->object, &h->what, &part);
	for (unsigned int i = 0; i < h->wait_count; i++) {
		const struct lock_wait *k = &h->waits[i];

		if (k->end > c->start && wish_conflicts(&k->what, &part))
			lock_edge(s, c->node, k->node, l->object, &part, &k->what);
	}
	released_add(s, l, &(struct lock_released){part, c->node, c->task, how == LOCK_LEFT});
}

/* The owner releases its locks within the range. */
static void lock_end(struct flow_state *s, struct flow_call *c, struct flow_lock *l,
		     const struct lock_wish *w, enum lock_end how)
{
	if (how != LOCK_LEFT)
		released_cut(s, l, w, c->task, is_undone);
	for (size_t i = l->held_count; i-- > 0;) {
		struct lock_held h = l->held[i];

		if (h.what.owner != w->owner || !wish_meets(&h.what, w))
			continue;
		flow_call_node(s, c);
		held_released(s, c, l, &h, w, how);
		if (how == LOCK_LEFT)
			l->held[i].left = true;
		else
			held_cut(s, l, i, w->from, w->to);
	}
}

/* ---- locks ---- */

/* A conflicting lock is held although this one returned: its release is imminent, or no call shows it. */
static void held_passed(struct flow_state *s, struct flow_call *c, struct flow_lock *l, size_t at,
			const struct lock_wish *w)
{
	struct lock_held *h = &l->held[at];
	struct flow_task *t = &s->tasks[h->task];

	if (h->wait_count && h->waits[0].end <= c->start) { /* released for another lock before */
		held_cut(s, l, at, w->from, w->to);
		return;
	}
	if (!h->left && !h->wait_count && flow_task_stopped(s, t) != INT64_MIN &&
	    flow_task_stopped(s, t) <= c->end) /* killed */
		lock_edge(s, flow_task_last(s, t), c->node, l->object, &h->what, w);
	if (h->wait_count < WAITS_FEW)
		h->waits[h->wait_count++] = (struct lock_wait){*w, c->node, c->end};
}

static void lock_begin(struct flow_state *s, struct flow_call *c, struct flow_lock *l,
		       const struct lock_wish *w)
{
	uint32_t n = flow_call_node(s, c);

	for (size_t i = 0; i < l->released_count; i++) {
		if (wish_conflicts(&l->released[i].what, w))
			lock_edge(s, l->released[i].node, n, l->object, &l->released[i].what, w);
	}
	if (w->exclusive)
		released_cut(s, l, w, c->task, is_passed);
	for (size_t i = l->held_count; i-- > 0;) {
		const struct lock_held h = l->held[i];

		if (h.what.owner != w->owner) {
			if (wish_conflicts(&h.what, w))
				held_passed(s, c, l, i, w);
			continue;
		}
		if (!wish_meets(&h.what, w))
			continue;
		if (h.what.exclusive && !w->exclusive)
			held_released(s, c, l, &h, w, LOCK_UNLOCKED);
		held_cut(s, l, i, w->from, w->to);
	}
	lock_use(s, c, l);
	held_add(s, l,
		 &(struct lock_held){
			 .what = *w, .node = n, .task = c->task, .since = c->end, .fd = c->fd});
}

/* Locks or unlocks a range of a file, or all of it (flock). `of`: owns the lock if `shared`. */
static void locks_ask(struct flow_state *s, struct flow_call *c, const struct flow_opened *of,
		      struct lock_wish w, bool shared, bool unlocks)
{
	bool whole = c->act == FLOW_FLOCK;
	struct flow_lock *l = lock_make(s, of->object, whole);

	if (!l)
		return;
	if (shared) {
		w.owner = of->number;
		w.unknown = of->unknown;
	}
	if (unlocks)
		lock_end(s, c, l, &w, LOCK_UNLOCKED);
	else
		lock_begin(s, c, l, &w);
}

static void locks_flock(struct flow_state *s, struct flow_call *c)
{
	unsigned int what = (unsigned int)c->flags & (LOCK_SH | LOCK_EX | LOCK_UN);
	struct lock_wish w = {.to = INT64_MAX, .exclusive = what == LOCK_EX};
	struct flow_opened of;

	if (flow_opened_find(s, c, c->fd, &of))
		locks_ask(s, c, &of, w, true, what == LOCK_UN);
}

static uint64_t process_owner(const struct flow_state *s, const struct flow_call *c)
{
	return hash_u64((uint64_t)s->tasks[c->task].process_id) | 1;
}

static void locks_fcntl(struct flow_state *s, struct flow_call *c)
{
	unsigned int command = (unsigned int)c->a[1];
	bool shared = command == F_OFD_SETLK || command == F_OFD_SETLKW;
	struct lock_wish w = {process_owner(s, c), c->pos,
			      c->size > 0 && c->pos <= INT64_MAX - c->size ? c->pos + c->size
									   : INT64_MAX,
			      c->flags == F_WRLCK, false};
	struct flow_opened of;

	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
		flow_opened_same(s, c);
		return;
	}
	if (!shared && command != F_SETLK && command != F_SETLKW)
		return;
	/* the range is unknown in recordings of earlier versions */
	if (flow_opened_find(s, c, c->fd, &of) && c->pos >= 0)
		locks_ask(s, c, &of, w, shared, c->flags == F_UNLCK);
}

/* ---- descriptors ---- */

static void locks_close(struct flow_state *s, struct flow_call *c, int64_t fd)
{
	struct lock_wish w = {.to = INT64_MAX};
	struct flow_opened of;
	bool known = flow_opened_has(s, s->tasks[c->task].process_id, fd, &of);
	uint32_t object = known ? of.object : flow_object(s, c->file_id);

	for (int whole = 0; whole < 2 && object != FLOW_NONE; whole++) {
		struct flow_lock *l = lock_find(s, object, whole);

		if (!l)
			continue;
		w.owner = process_owner(s, c);
		if (!whole)
			lock_end(s, c, l, &w, LOCK_CLOSED);
		if (!known)
			continue;
		w.owner = of.number;
		w.unknown = of.unknown;
		lock_end(s, c, l, &w, LOCK_LEFT);
	}
	flow_opened_end(s, c, fd);
}

/* close_range: closes the known descriptors. */
static void locks_close_range(struct flow_state *s, struct flow_call *c)
{
	int64_t from = (int64_t)MIN(c->a[0], (uint64_t)UINT32_MAX),
		last = (int64_t)MIN(c->a[1], (uint64_t)RANGE_LAST);

	if (c->flags & CLOSE_RANGE_CLOEXEC) /* an exec will close them */
		return;
	last = MIN(last, s->descriptors.last);
	for (int64_t fd = from; fd <= last; fd++) {
		struct flow_opened of;

		if (flow_opened_has(s, s->tasks[c->task].process_id, fd, &of))
			locks_close(s, c, fd);
	}
}

void flow_locks_take(struct flow_state *s, struct flow_call *c)
{
	if (c->failed)
		return;
	switch (c->act) {
	case FLOW_FLOCK:
		locks_flock(s, c);
		break;
	case FLOW_FCNTL:
		locks_fcntl(s, c);
		break;
	case FLOW_DUP:
		if (c->ret == c->fd)
			break;
		if (strcmp(op_def(c->op)->name, "dup") != 0)
			locks_close(s, c, c->ret);
		flow_opened_same(s, c);
		break;
	default:
		if (c->fd < 0)
			locks_close_range(s, c);
		else
			locks_close(s, c, c->fd);
		break;
	}
}

/* True if the process has the held lock's description, or inherited it. */
static bool process_has(struct flow_state *s, const struct flow_call *c, const struct flow_lock *l,
			const struct lock_held *h)
{
	struct flow_opened of;

	return h->what.owner == process_owner(s, c) ||
	       (flow_opened_has(s, s->tasks[c->task].process_id, h->fd, &of) &&
		of.number == h->what.owner && of.object == l->object);
}

/* The same for one file that the process, or one of its ancestors, has locked. */
static void lock_left(struct flow_state *s, struct flow_call *c, struct flow_lock *lock)
{
	if (lock->left == c->row_id) /* like its parent, which locked the same file */
		return;
	lock->left = c->row_id;
	for (size_t k = lock->held_count; k-- > 0;) {
		if (process_has(s, c, lock, &lock->held[k]))
			lock_end(s, c, lock, &lock->held[k].what, LOCK_LEFT);
	}
}

void flow_locks_left(struct flow_state *s, struct flow_call *c)
{
	const struct flow_locks *l = &s->locks;
	int64_t process = s->tasks[c->task].process_id;
	bool ends = c->act == FLOW_EXIT || (c->status & STATUS_NORETURN);
	const struct op_def *op = op_def(c->op); /* NULL: a call without a name */
	uint64_t at;

	if (!ends && (c->act != FLOW_EXEC || c->failed))
		return;
	/* the end of one of several threads releases nothing */
	if (ends && op && !strcmp(op->name, "exit") &&
	    map_get(&s->by_process, (uint64_t)process, &at) &&
	    s->tasks[at].next_of_process != FLOW_NONE)
		return;
	for (int64_t of = process, next; of >= 0; of = next) {
		next = flow_task_parent(s, of);
		next = next == of ? -1 : next;
		if (!map_get(&l->by_process, (uint64_t)of, &at))
			continue;
		for (uint32_t i = (uint32_t)at; i != FLOW_NONE; i = l->users[i].next)
			lock_left(s, c, &l->all[l->users[i].lock]);
	}
}
