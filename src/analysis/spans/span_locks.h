/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_locks.h: locks that wait as queues do. A runtime may make its lock of a condition variable: CPython's global lock does, and
 * a thread that gets it goes on with its own work, not with that of the thread that gave it up. Such a futex is known by its use:
 * its waits are timed and none lasts long, and those who wake threads there wait there themselves. Who gives work to a pool
 * does not wait in its queue.
 */
#pragma once

#include "base/map.h"

struct span_locks {
	struct span_word {
		uint32_t wakes, of_waiters; /* in thread's own waits */
		bool idle;		    /* a timed wait ran out that was no lock's */
	} *words;
	size_t count, cap;
	struct map by_word; /* hash of process and address -> word + 1 */
	struct map waiters; /* hash of word and task */
};

struct span_futex_wait {
	int64_t process_id, dur;
	uint64_t address;
	uint32_t task;
	bool timed, ran_out;
};

/* Takes a wait into account: its word, or SPAN_NONE in *ret, which none with a time has been for. 0 or -ENOMEM. */
int span_locks_wait(struct span_locks *l, const struct span_futex_wait *w, uint32_t *ret);
/* Once all waits are known: who ended one. */
void span_locks_woken(struct span_locks *l, uint32_t word, uint32_t waker);
/* Once all of these are. */
bool span_locks_is_lock(const struct span_locks *l, uint32_t word);
void span_locks_free(struct span_locks *l);
