/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_locks.h: locks whose waits look like those of queues. A runtime may build its lock from a condition variable:
 * CPython's global lock is one, and a thread that acquires it continues its own work, not that of the thread that
 * released it. Such a futex is recognized by its use: its waits are timed and short, and the threads that wake others
 * also wait there themselves. Threads that give work to a pool do not wait in its queue.
 */
#pragma once

#include "base/map.h"

struct span_locks {
	struct span_word {
		uint32_t wakes, of_waiters; /* of_waiters: wakes by threads that also wait there */
		bool idle;		    /* a timed wait ran out that was too long for a lock */
	} *words;
	size_t count, cap;
	struct map by_word; /* hash of process and address -> index of the word */
	struct map waiters; /* hash of word and task */
};

struct span_futex_wait {
	int64_t process_id, dur;
	uint64_t address;
	uint32_t task;
	bool timed, ran_out;
};

/* Notes a wait. *ret: its word; SPAN_NONE if no timed wait for it has been seen. 0 or -ENOMEM. */
int span_locks_wait(struct span_locks *l, const struct span_futex_wait *w, uint32_t *ret);
/* Call when all waits are known: notes the thread that ended one. */
void span_locks_woken(struct span_locks *l, uint32_t word, uint32_t waker);
/* Call after that. */
bool span_locks_is_lock(const struct span_locks *l, uint32_t word);
void span_locks_free(struct span_locks *l);
