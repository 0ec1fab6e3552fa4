// SPDX-License-Identifier: Apache-2.0
/*
 * flow_locks.c: edges through flock and eventfd.
 *
 * An unlock precedes the next conflicting lock of the file; where the lock is seen to return before the unlock does, it
 * waits for it here. A close releases as well, unless another descriptor has the same open file, which is not known:
 * contested. What fcntl locks is in a structure that is not recorded.
 *
 * A read of an eventfd takes the sum of all writes since the read before: it follows them all. Descriptors are told apart
 * within one process.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>

#include "analysis/flow/flow_pass.h"

#define LOCK_FEW 8

struct flow_holder {
	uint64_t who; /* process and descriptor; 0: free */
	bool exclusive;
	int64_t since;
};

struct flow_moment {
	uint32_t node;
	bool exclusive, contested;
	int64_t start, end;
};

/* Of one file, or one eventfd. */
struct flow_lock {
	struct flow_holder holders[LOCK_FEW];
	struct flow_moment released[LOCK_FEW]; /* or writes; in order */
	unsigned int released_count;
	struct flow_moment
		waits[LOCK_FEW]; /* locks that returned before what they waited for; or reads */
	unsigned int wait_count;
	bool semaphore;
};

struct flow_locks {
	struct flow_lock *all;
	size_t count, cap;
	struct map by_object, by_eventfd, of_fd; /* of_fd: holders that a close may release */
};

void flow_locks_free(struct flow_state *s)
{
	if (!s->locks)
		return;
	free(s->locks->all);
	map_free(&s->locks->by_object);
	map_free(&s->locks->by_eventfd);
	map_free(&s->locks->of_fd);
	free(s->locks);
	s->locks = NULL;
}

static uint64_t who_of(const struct flow_state *s, const struct flow_call *c)
{
	const uint64_t key[] = {(uint64_t)s->tasks[c->task].process_id, (uint64_t)c->fd};

	return hash_bytes(key, sizeof(key)) | 1;
}

static struct flow_lock *lock_of(struct flow_state *s, struct map *by, uint64_t key)
{
	struct flow_locks *l = s->locks;
	uint64_t at;

	if (map_get(by, key, &at))
		return &l->all[at];
	if (grow((void **)&l->all, &l->cap, l->count + 1, sizeof(*l->all)) < 0 ||
	    map_set(by, key, l->count) < 0)
		return NULL;
	l->all[l->count] = (struct flow_lock){0};
	return &l->all[l->count++];
}

static void moment_add(struct flow_moment *list, unsigned int *count, const struct flow_moment *m)
{
	if (*count == LOCK_FEW) { /* the oldest is implied by none, but is the least likely */
		memmove(list, list + 1, (LOCK_FEW - 1) * sizeof(*list));
		--*count;
	}
	list[(*count)++] = *m;
}

static int lock_edge(struct flow_state *s, const struct flow_moment *from, uint32_t to,
		     int64_t file_id, enum block_via via, bool contested)
{
	return flow_edge(s, &(struct flow_edge){.from = from->node,
						.to = to,
						.pos = -1,
						.file_id = file_id,
						.via = (uint8_t)via,
						.certainty = contested || from->contested
								     ? CERTAINTY_CONTESTED
								     : CERTAINTY_CERTAIN});
}

/* ---- flock ---- */

static int lock_taken(struct flow_state *s, struct flow_call *c, struct flow_lock *l,
		      bool exclusive)
{
	int64_t n = flow_call_node(s, c);
	uint64_t who = who_of(s, c);
	bool waits = false;
	int r = n < 0 ? (int)n : 0;

	for (unsigned int i = 0; i < l->released_count && r >= 0; i++) {
		struct flow_moment *m = &l->released[i];

		if (exclusive || m->exclusive)
			r = lock_edge(s, m, (uint32_t)n, c->file_id, VIA_LOCK, false);
	}
	for (size_t i = 0; i < LOCK_FEW; i++) {
		struct flow_holder *h = &l->holders[i];

		if (h->who == who)
			h->who = 0; /* converted */
		waits |= h->who && (exclusive || h->exclusive) && h->since <= c->start;
	}
	if (waits)
		moment_add(l->waits, &l->wait_count,
			   &(struct flow_moment){(uint32_t)n, exclusive, false, c->start, c->end});
	if (exclusive)
		l->released_count = 0;
	for (size_t i = 0; i < LOCK_FEW; i++) {
		if (l->holders[i].who)
			continue;
		l->holders[i] = (struct flow_holder){who, exclusive, c->end};
		break;
	}
	return r < 0 ? r : map_set(&s->locks->of_fd, who, (uint64_t)(l - s->locks->all));
}

static int lock_released(struct flow_state *s, struct flow_call *c, struct flow_lock *l, bool sure)
{
	uint64_t who = who_of(s, c);
	struct flow_holder *h = NULL;
	int64_t n;
	int r = 0;

	for (size_t i = 0; i < LOCK_FEW && !h; i++)
		h = l->holders[i].who == who ? &l->holders[i] : NULL;
	if (!h)
		return 0;
	n = flow_call_node(s, c);
	if (n < 0)
		return (int)n;
	struct flow_moment m = {(uint32_t)n, h->exclusive, !sure, c->start, c->end};

	for (unsigned int i = 0; i < l->wait_count && r >= 0; i++) {
		const struct flow_moment *w = &l->waits[i];

		if (w->end > c->start && w->start < c->end && (w->exclusive || h->exclusive))
			r = lock_edge(s, &m, w->node, c->file_id, VIA_LOCK, false);
	}
	l->wait_count = 0;
	h->who = 0;
	(void)map_del(&s->locks->of_fd, who);
	moment_add(l->released, &l->released_count, &m);
	return r;
}

static int locks_flock(struct flow_state *s, struct flow_call *c)
{
	unsigned int what = (unsigned int)c->flags & (LOCK_SH | LOCK_EX | LOCK_UN);
	int64_t at = flow_object(s, c->file_id);
	struct flow_lock *l;

	if (at < 0 || at == FLOW_NONE)
		return at < 0 ? (int)at : 0;
	l = lock_of(s, &s->locks->by_object, (uint64_t)at);
	if (!l)
		return -ENOMEM;
	return what == LOCK_UN ? lock_released(s, c, l, true)
			       : lock_taken(s, c, l, what == LOCK_EX);
}

/* ---- eventfd ---- */

int flow_eventfd_move(struct flow_state *s, struct flow_call *c, enum flow_side side)
{
	struct flow_lock *l;
	int64_t n;
	unsigned int left = 0;
	int r = 0;
	uint64_t at;

	if (!s->locks || !map_get(&s->locks->by_eventfd, who_of(s, c), &at))
		return 0; /* made before recording, or by another process */
	l = &s->locks->all[at];
	n = flow_call_node(s, c);
	if (n < 0)
		return (int)n;
	const struct flow_moment me = {(uint32_t)n, false, l->semaphore, c->start, c->end};

	if (side == FLOW_SEND) {
		for (unsigned int i = 0; i < l->wait_count && r >= 0; i++) {
			if (l->waits[i].end > c->start)
				r = lock_edge(s, &me, l->waits[i].node, c->file_id, VIA_EVENTFD,
					      l->wait_count > 1);
		}
		l->wait_count = 0;
		moment_add(l->released, &l->released_count, &me);
		return r;
	}
	for (unsigned int i = 0; i < l->released_count && r >= 0; i++) {
		bool before = l->released[i].end <= c->start;

		r = lock_edge(s, &l->released[i], me.node, c->file_id, VIA_EVENTFD,
			      !before && l->released_count > 1);
		if (!before && l->released_count > 1)
			l->released[left++] = l->released[i];
	}
	if (!l->released_count)
		moment_add(l->waits, &l->wait_count, &me);
	l->released_count = left;
	return r;
}

int flow_locks_take(struct flow_state *s, struct flow_call *c)
{
	uint64_t at;
	struct flow_lock *l;

	if (c->failed)
		return 0;
	if (!s->locks) {
		if (c->act == FLOW_CLOSE)
			return 0;
		s->locks = calloc(1, sizeof(*s->locks));
		if (!s->locks)
			return -ENOMEM;
	}
	switch (c->act) {
	case FLOW_FLOCK:
		return locks_flock(s, c);
	case FLOW_EVENTFD:
		l = lock_of(s, &s->locks->by_eventfd, who_of(s, c));
		if (!l)
			return -ENOMEM;
		*l = (struct flow_lock){.semaphore = (c->flags & EFD_SEMAPHORE) != 0};
		return 0;
	default:
		if (!map_get(&s->locks->of_fd, who_of(s, c), &at))
			return 0;
		return lock_released(s, c, &s->locks->all[at], false);
	}
}
