/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.h: the time of calls within a range, where each call counts with the part of it that lies in the range, even if it
 * still ran when the trace ended. Other sums count whole calls that ended in the range; this module computes the difference. It
 * reads only blocks with calls that cross an edge of the range or have no end.
 */
#pragma once

#include "sums/slowest.h"

/* Starts as {0}. */
struct clip {
	struct map by;		  /* thread_id << 4 | class -> int64_t: ns, often negative */
	struct call_ref *running; /* calls that had not ended, in any range: the longest first */
	size_t running_count, running_cap; /* at most BATCH_ROWS_MAX */
	uint64_t running_all;		   /* how many there are */
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
/* For the calls of a pass: of `w` ask, stopped and workers are read. 0 or negative with a message but for -EINTR. */
int clip_find(const struct walk *w, struct clip *ret, struct error *err);
/* How long a call ran within the range; one without a start from the trace's first to its last. */
int64_t clip_part(const struct store *s, int64_t from, int64_t to, const struct batch *op,
		  size_t row);
