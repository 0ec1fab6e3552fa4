/* SPDX-License-Identifier: Apache-2.0 */
/*
 * clip.h: what the time of threads in calls is within a range, as `weir report` tells it: a call counts for the
 * part of it that lies in the range, also one that still ran at the end. Sums by thread have whole calls that ended
 * in the range; here is what is to be added to them. Only blocks with calls across an edge are read.
 */
#pragma once

#include "server/sums/pass.h"

/* Starts as {0}. Values are int64_t, ns, often negative; keys are tasks (names_task()). */
struct clip {
	const struct question *q;
	struct map io, wait;
};

void clip_free(struct clip *c);
/* For the question's range and filter. 0, or negative with q->err. */
int clip_find(struct question *q, const struct pass_filter *pass_filter, struct clip *ret);
/* The part of a sum of whole calls that lies within the range. */
uint64_t clip_time(const struct map *m, int64_t task, uint64_t whole);
