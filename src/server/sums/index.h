/* SPDX-License-Identifier: Apache-2.0 */
/*
 * index.h: what `weir serve` keeps in memory of a trace's summaries, so that nothing that was asked of
 * all of it decodes all of it again: a segment for every SEGMENT_BLOCKS blocks of op. Threads of its
 * own make them once, when the server starts and, where a trace grows, as blocks come. Blocks that no
 * segment holds (without a summary, with calls that still run, beyond INDEX_BYTES_MAX) are read from
 * the trace by who asks.
 */
#pragma once

#include <pthread.h>

#include "server/sums/segment.h"

#define INDEX_BYTES_MAX	  (384ull << 20) /* of all segments */
#define INDEX_THREADS_MAX 4u

struct index;

/*
 * Starts the threads, which do nothing before index_extend(). `lock` is held for reading by who decodes, for
 * writing by who changes the store. 0 or -ENOMEM.
 */
int index_new(struct index **ret, const struct store *s, pthread_rwlock_t *lock,
	      unsigned int threads) _must_check_;
void index_free(struct index *x);
/* Takes the blocks that came since. The lock is held, or nobody else is there yet. 0 or -ENOMEM. */
int index_extend(struct index *x) _must_check_;

/* The segments that there were when it was asked for; each block is in one of them at most. */
struct index_view {
	atomic_uint refs;
	size_t count;
	struct segment *segments[];
};

/*
 * Waits until what was there at the start is done, or stopped(arg). NULL where there is no memory for it: then every
 * block is read.
 */
struct index_view *index_view(struct index *x, bool (*stopped)(const void *arg), const void *arg);
/* The same, but waits no longer than `until` (of the monotonic clock) once there is a segment; then *ret_all is false. */
struct index_view *index_view_until(struct index *x, int64_t until, bool *ret_all,
				    bool (*stopped)(const void *arg), const void *arg);
/* Does not wait: for who can do with less. */
struct index_view *index_view_now(struct index *x);
void index_view_free(struct index_view *v);
DEFINE_CLEANUP(struct index_view *, index_view_free)
