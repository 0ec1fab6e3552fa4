// SPDX-License-Identifier: Apache-2.0
/* span_locks.c: finds futexes with timed waits that are locks. */
#include "analysis/spans/span_locks.h"

#include <errno.h>

#include "analysis/spans/spans.h"
#include "base/array.h"

/* ns; a lock polls (CPython's 5 ms), an idle worker waits for seconds */
#define LOCK_WAIT_MAX 50000000ll
#define LOCK_OTHERS   16 /* one in this many wakes may be by a thread that was never seen waiting */
#define WORDS_MAX     (1u << 20)

static uint64_t lock_waiter(uint32_t word, uint32_t task)
{
	return hash_u64((uint64_t)word << 32 | task);
}

int span_locks_wait(struct span_locks *l, const struct span_futex_wait *w, uint32_t *ret)
{
	/* a condition variable has two words, of four bytes each, that it uses in turn */
	uint64_t key = hash_u64((uint64_t)w->process_id ^ hash_u64(w->address >> 3)), at;
	struct span_word *word;

	*ret = SPAN_NONE;
	if (!map_get(&l->by_word, key, &at)) {
		if (!w->timed || l->count == WORDS_MAX)
			return 0;
		if (!array_of_key(l->words, l->count, l->cap, &l->by_word, key, NULL))
			return -ENOMEM;
		at = l->count - 1;
	}
	word = &l->words[at];
	word->idle |= w->ran_out && w->dur > LOCK_WAIT_MAX;
	*ret = (uint32_t)at;
	return map_set(&l->waiters, lock_waiter(*ret, w->task), 1);
}

void span_locks_woken(struct span_locks *l, uint32_t word, uint32_t waker)
{
	l->words[word].wakes++;
	l->words[word].of_waiters += map_get(&l->waiters, lock_waiter(word, waker), NULL);
}

bool span_locks_is_lock(const struct span_locks *l, uint32_t word)
{
	const struct span_word *w = &l->words[word];

	assert(w->of_waiters <= w->wakes);
	return !w->idle && w->wakes - w->of_waiters <= w->wakes / LOCK_OTHERS;
}

void span_locks_free(struct span_locks *l)
{
	free(l->words);
	map_free(&l->by_word);
	map_free(&l->waiters);
}
