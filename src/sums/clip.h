/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.h: the time of calls within a range. Each call counts with the part of its time that lies in the range, even if
 * it was still running when the trace ended. Other sums count complete calls that ended in the range; this module
 * computes the difference. It reads only blocks with calls that cross an edge of the range or have no end.
 */
#pragma once

#include "sums/slowest.h"

/* Initialized with {0}. */
struct clip {
	struct map by;		  /* thread_id << 4 | class -> int64_t: ns to add, often negative */
	struct call_ref *running; /* unfinished calls, regardless of the range, longest first */
	size_t running_count, running_cap; /* at most BATCH_ROWS_MAX */
	uint64_t running_all;		   /* total number of unfinished calls */
};

void clip_free(struct clip *c);
#define _cleanup_clip_ _cleanup_(clip_free)
static inline int64_t clip_thread(uint64_t key)
{
	return (int64_t)key >> 4;
}
static inline int64_t clip_class(uint64_t key)
{
	return (int64_t)(key & 15);
}
/*
 * Runs over the calls of a pass. Reads only ask, stopped and workers of `w`. 0, -EINTR, or another negative errno with
 * a message.
 */
int clip_find(const struct walk *w, struct clip *ret, struct error *err);
/* Time in ns that a call ran within the range. A call without a start counts from the first to the last time of the trace. */
int64_t clip_part(const struct store *s, int64_t from, int64_t to, const struct batch *op,
		  size_t row);
