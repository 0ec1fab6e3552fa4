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
	uint32_t node;
	int64_t from, to, end;
	bool exclusive, unknown;
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

struct flow_locks {
	struct flow_lock *all;
	size_t count, cap;
	struct map by_object;
	struct lock_user *users;
	size_t user_count, user_cap;
	struct map by_process; /* -> last of its lock_user entries */
};

void flow_locks_free(struct flow_state *s)
{
	struct flow_locks *l = s->locks;

	if (!l)
		return;
	for (size_t i = 0; i < l->count; i++) {
		free(l->all[i].held);
		free(l->all[i].released);
	}
	free(l->all);
	free(l->users);
	map_free(&l->by_object);
	map_free(&l->by_process);
	free(l);
	s->locks = NULL;
}

static uint64_t lock_key(uint32_t object, bool whole)
{
	return (uint64_t)object << 1 | whole;
}

static struct flow_lock *lock_find(const struct flow_state *s, uint32_t object, bool whole)
{
	uint64_t at;

	return s->locks && map_get(&s->locks->by_object, lock_key(object, whole), &at)
		       ? &s->locks->all[at]
		       : NULL;
}

static struct flow_lock *lock_make(struct flow_state *s, uint32_t object, bool whole)
{
	struct flow_locks *l = s->locks ? s->locks : calloc(1, sizeof(*l));
	struct flow_lock *lock;
	bool is_new;

	s->locks = l;
	if (!l)
		return NULL;
	lock = array_of_key(l->all, l->count, l->cap, &l->by_object, lock_key(object, whole),
			    &is_new);
	if (lock && is_new)
		*lock = (struct flow_lock){.object = object, .left = -1};
	return lock;
}

static int lock_use(struct flow_state *s, const struct flow_call *c, const struct flow_lock *lock)
{
	struct flow_locks *l = s->locks;
	uint64_t process = (uint64_t)s->tasks[c->task].process_id, before;
	uint32_t number = (uint32_t)(lock - l->all);
	bool any = map_get(&l->by_process, process, &before);

	for (uint32_t i = any ? (uint32_t)before : FLOW_NONE; i != FLOW_NONE;
	     i = l->users[i].next) {
		if (l->users[i].lock == number)
			return 0;
	}
	if (grow((void **)&l->users, &l->user_cap, l->user_count + 1, sizeof(*l->users)) < 0 ||
	    map_set(&l->by_process, process, l->user_count) < 0)
		return -ENOMEM;
	l->users[l->user_count++] = (struct lock_user){number, any ? (uint32_t)before : FLOW_NONE};
	return 0;
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

static int held_add(struct flow_lock *l, const struct lock_held *h)
{
	size_t at = 0;

	if (l->held_count == HELD_MAX) {
		while (at + 1 < l->held_count && !l->held[at].left)
			at++;
		memmove(&l->held[at], &l->held[at + 1], (--l->held_count - at) * sizeof(*l->held));
	}
	return array_add(l->held, l->held_count, l->held_cap, *h);
}

/* Removes a range from a lock, which may be split in two. */
static int held_cut(struct flow_lock *l, size_t at, int64_t from, int64_t to)
{
	struct lock_held behind = l->held[at];

	if (l->held[at].what.from < from)
		l->held[at].what.to = from;
	else
		l->held[at] = l->held[--l->held_count];
	if (behind.what.to <= to)
		return 0;
	behind.what.from = to;
	return held_add(l, &behind);
}

static int released_add(struct flow_lock *l, const struct lock_released *n)
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
		memmove(&l->released[at], &l->released[at + 1],
			(--l->released_count - at) * sizeof(*l->released));
	return array_add(l->released, l->released_count, l->released_cap, *n);
}

/* Removes the range from released entries for which `gone` is true. */
static int released_cut(struct flow_lock *l, const struct lock_wish *w, uint32_t task,
			bool (*gone)(const struct lock_released *, const struct lock_wish *,
				     uint32_t))
{
	for (size_t i = l->released_count; i-- > 0;) {
		struct lock_released behind = l->released[i];

		if (!wish_meets(&behind.what, w) || !gone(&behind, w, task))
			continue;
		if (behind.what.from < w->from)
			l->released[i].what.to = w->from;
		else
			memmove(&l->released[i], &l->released[i + 1],
				(--l->released_count - i) * sizeof(behind));
		if (behind.what.to <= w->to || l->released_count == RELEASED_MAX)
			continue;
		behind.what.from = w->to;
		if (array_add(l->released, l->released_count, l->released_cap, behind) < 0)
			return -ENOMEM;
	}
	return 0;
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

static int lock_edge(struct flow_state *s, uint32_t from, uint32_t to, uint32_t object,
		     const struct lock_wish *a, const struct lock_wish *b)
{
	int64_t pos = MAX(a->from, b->from), end = MIN(a->to, b->to);
	bool whole = !pos && end == INT64_MAX;

	return flow_edge(s,
			 &(struct flow_edge){
				 .from = from,
				 .to = to,
				 .pos = whole ? -1 : pos,
				 .bytes = whole ? 0 : (uint32_t)MIN(end - pos, (int64_t)UINT32_MAX),
				 .file_id = s->objects[object].file_id,
				 .via = VIA_LOCK,
				 .certainty = a->unknown || b->unknown ? CERTAINTY_CONTESTED
								       : CERTAINTY_CERTAIN});
}

/* ---- release ---- */

/* The call releases a range of a held lock, or downgrades it if only `exclusive` ends. */
static int held_released(struct flow_state *s, const struct flow_call *c, struct flow_lock *l,
			 const struct lock_held *h, const struct lock_wish *w, enum lock_end how)
{
	const struct lock_wish part = {h->what.owner, MAX(h->what.from, w->from),
				       MIN(h->what.to, w->to), h->what.exclusive,
				       h->what.unknown || w->unknown};
	int r = 0;

	/* the task that unlocks observed the lock as held */
	if (how != LOCK_LEFT && h->task != c->task && h->since <= c->start)
		r = lock_edge(s, h->node, c->node, l->object, &h->what, &part);
	for (unsigned int i = 0; i < h->wait_count && r >= 0; i++) {
		const struct lock_wait *k = &h->waits[i];
		const struct lock_wish wait = {0, k->from, k->to, k->exclusive, k->unknown};

		if (k->end > c->start && wish_conflicts(&wait, &part))
			r = lock_edge(s, c->node, k->node, l->object, &part, &wait);
	}
	return r < 0 ? r
		     : released_add(l, &(struct lock_released){part, c->node, c->task,
							       how == LOCK_LEFT});
}

/* The owner releases its locks within the range. */
static int lock_end(struct flow_state *s, struct flow_call *c, struct flow_lock *l,
		    const struct lock_wish *w, enum lock_end how)
{
	int r = how == LOCK_LEFT ? 0 : released_cut(l, w, c->task, is_undone);

	for (size_t i = l->held_count; i-- > 0 && r >= 0;) {
		struct lock_held h = l->held[i];
		int64_t n;

		if (h.what.owner != w->owner || !wish_meets(&h.what, w))
			continue;
		n = flow_call_node(s, c);
		r = n < 0 ? (int)n : held_released(s, c, l, &h, w, how);
		if (r >= 0 && how == LOCK_LEFT)
			l->held[i].left = true;
		else if (r >= 0)
			r = held_cut(l, i, w->from, w->to);
	}
	return r;
}

/* ---- locks ---- */

/* A conflicting lock is held although this one returned: its release is imminent, or no call shows it. */
static int held_passed(struct flow_state *s, struct flow_call *c, struct flow_lock *l, size_t at,
		       const struct lock_wish *w)
{
	struct lock_held *h = &l->held[at];
	struct flow_task *t = &s->tasks[h->task];
	int64_t n;
	int r;

	if (h->wait_count && h->waits[0].end <= c->start) /* released for another lock before */
		return held_cut(l, at, w->from, w->to);
	if (!h->left && !h->wait_count && flow_task_stopped(s, t) != INT64_MIN &&
	    flow_task_stopped(s, t) <= c->end) { /* killed */
		n = flow_task_last(s, t);
		r = n < 0 ? (int)n : lock_edge(s, (uint32_t)n, c->node, l->object, &h->what, w);
		if (r < 0)
			return r;
	}
	if (h->wait_count == WAITS_FEW)
		return 0;
	h->waits[h->wait_count++] =
		(struct lock_wait){c->node, w->from, w->to, c->end, w->exclusive, w->unknown};
	return 0;
}

static int lock_begin(struct flow_state *s, struct flow_call *c, struct flow_lock *l,
		      const struct lock_wish *w)
{
	int64_t n = flow_call_node(s, c);
	int r = n < 0 ? (int)n : 0;

	for (size_t i = 0; i < l->released_count && r >= 0; i++) {
		if (wish_conflicts(&l->released[i].what, w))
			r = lock_edge(s, l->released[i].node, c->node, l->object,
				      &l->released[i].what, w);
	}
	if (r >= 0 && w->exclusive)
		r = released_cut(l, w, c->task, is_passed);
	for (size_t i = l->held_count; i-- > 0 && r >= 0;) {
		const struct lock_held h = l->held[i];

		if (h.what.owner != w->owner) {
			r = wish_conflicts(&h.what, w) ? held_passed(s, c, l, i, w) : 0;
			continue;
		}
		if (!wish_meets(&h.what, w))
			continue;
		if (h.what.exclusive && !w->exclusive)
			r = held_released(s, c, l, &h, w, LOCK_UNLOCKED);
		if (r >= 0)
			r = held_cut(l, i, w->from, w->to);
	}
	if (r >= 0)
		r = lock_use(s, c, l);
	return r < 0 ? r
		     : held_add(l, &(struct lock_held){.what = *w,
						       .node = c->node,
						       .task = c->task,
						       .since = c->end,
						       .fd = c->fd});
}

static int locks_flock(struct flow_state *s, struct flow_call *c)
{
	unsigned int what = (unsigned int)c->flags & (LOCK_SH | LOCK_EX | LOCK_UN);
	struct lock_wish w = {.to = INT64_MAX, .exclusive = what == LOCK_EX};
	struct flow_opened of;
	struct flow_lock *l;
	int r = flow_opened_find(s, c, c->fd, &of);

	if (r < 0 || of.object == FLOW_NONE)
		return r;
	l = lock_make(s, of.object, true);
	if (!l)
		return -ENOMEM;
	w.owner = of.number;
	w.unknown = of.unknown;
	return what == LOCK_UN ? lock_end(s, c, l, &w, LOCK_UNLOCKED) : lock_begin(s, c, l, &w);
}

static uint64_t process_owner(const struct flow_state *s, const struct flow_call *c)
{
	return hash_u64((uint64_t)s->tasks[c->task].process_id) | 1;
}

static int locks_fcntl(struct flow_state *s, struct flow_call *c)
{
	unsigned int command = (unsigned int)c->a[1];
	bool shared = command == F_OFD_SETLK || command == F_OFD_SETLKW;
	struct lock_wish w = {process_owner(s, c), c->pos,
			      c->size > 0 && c->pos <= INT64_MAX - c->size ? c->pos + c->size
									   : INT64_MAX,
			      c->flags == F_WRLCK, false};
	struct flow_opened of;
	struct flow_lock *l;
	int r;

	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		return flow_opened_same(s, c);
	if (!shared && command != F_SETLK && command != F_SETLKW)
		return 0;
	r = flow_opened_find(s, c, c->fd, &of);
	/* the range is unknown in recordings of earlier versions */
	if (r < 0 || of.object == FLOW_NONE || c->pos < 0)
		return r;
	l = lock_make(s, of.object, false);
	if (!l)
		return -ENOMEM;
	if (shared) {
		w.owner = of.number;
		w.unknown = of.unknown;
	}
	return c->flags == F_UNLCK ? lock_end(s, c, l, &w, LOCK_UNLOCKED) : lock_begin(s, c, l, &w);
}

/* ---- descriptors ---- */

static int locks_close(struct flow_state *s, struct flow_call *c, int64_t fd)
{
	struct lock_wish w = {.to = INT64_MAX};
	struct flow_opened of;
	bool known = flow_opened_has(s, s->tasks[c->task].process_id, fd, &of);
	int64_t object = known ? of.object : flow_object(s, c->file_id);
	int r = object < 0 ? (int)object : 0;

	for (int whole = 0; whole < 2 && r >= 0 && object != FLOW_NONE; whole++) {
		struct flow_lock *l = lock_find(s, (uint32_t)object, whole);

		if (!l)
			continue;
		w.owner = process_owner(s, c);
		if (!whole)
			r = lock_end(s, c, l, &w, LOCK_CLOSED);
		w.owner = of.number;
		w.unknown = known && of.unknown;
		if (known && r >= 0)
			r = lock_end(s, c, l, &w, LOCK_LEFT);
	}
	return r < 0 ? r : flow_opened_end(s, c, fd);
}

/* close_range: closes the known descriptors. */
static int locks_close_range(struct flow_state *s, struct flow_call *c)
{
	int64_t from = (int64_t)MIN(c->a[0], (uint64_t)UINT32_MAX),
		last = (int64_t)MIN(c->a[1], (uint64_t)RANGE_LAST);
	int r = 0;

	if (c->flags & CLOSE_RANGE_CLOEXEC) /* an exec will close them */
		return 0;
	last = MIN(last, flow_opened_last(s));
	for (int64_t fd = from; fd <= last && r >= 0; fd++) {
		struct flow_opened of;

		if (flow_opened_has(s, s->tasks[c->task].process_id, fd, &of))
			r = locks_close(s, c, fd);
	}
	return r;
}

int flow_locks_take(struct flow_state *s, struct flow_call *c)
{
	int r = 0;

	if (c->failed)
		return 0;
	switch (c->act) {
	case FLOW_FLOCK:
		return locks_flock(s, c);
	case FLOW_FCNTL:
		return locks_fcntl(s, c);
	case FLOW_DUP:
		if (c->ret == c->fd)
			return 0;
		if (strcmp(op_def(c->op)->name, "dup") != 0)
			r = locks_close(s, c, c->ret);
		return r < 0 ? r : flow_opened_same(s, c);
	default:
		return c->fd < 0 ? locks_close_range(s, c) : locks_close(s, c, c->fd);
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

int flow_locks_left(struct flow_state *s, struct flow_call *c)
{
	struct flow_locks *l = s->locks;
	int64_t process = s->tasks[c->task].process_id;
	bool ends = c->act == FLOW_EXIT || (c->status & STATUS_NORETURN);
	const struct op_def *op = op_def(c->op); /* NULL: a call without a name */
	uint64_t at;
	int r = 0;

	if (!ends && (c->act != FLOW_EXEC || c->failed))
		return 0;
	/* the end of one of several threads releases nothing */
	if (ends && op && !strcmp(op->name, "exit") &&
	    map_get(&s->by_process, (uint64_t)process, &at) &&
	    s->tasks[at].next_of_process != FLOW_NONE)
		return 0;
	for (int64_t of = process, next; of >= 0 && r >= 0; of = next) {
		next = flow_task_parent(s, of);
		next = next == of ? -1 : next;
		if (!map_get(&l->by_process, (uint64_t)of, &at))
			continue;
		for (uint32_t i = (uint32_t)at; i != FLOW_NONE && r >= 0; i = l->users[i].next) {
			struct flow_lock *lock = &l->all[l->users[i].lock];

			/* like its parent, which locked the same file */
			if (lock->left == c->row_id)
				continue;
			lock->left = c->row_id;
			for (size_t k = lock->held_count; k-- > 0 && r >= 0;) {
				if (process_has(s, c, lock, &lock->held[k]))
					r = lock_end(s, c, lock, &lock->held[k].what, LOCK_LEFT);
			}
		}
	}
	return r;
}
