/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_joins.h: what threads wait for, and what work they pass to each other. A pass over the calls, before memberships
 * are known, collects
 *   futexes        with a waker that the recorder knows for certain,
 *   streams        pipes, sockets whose peer is in the trace, and eventfds: their bytes are counted from writer to reader, so
 *                  that the writer of what a read returned is known; a read that found nothing starts again with later writes,
 *   polls          which refer to the stream that their thread reads next, and
 *   wait4(), waitid() of a child,
 * and sorts them by time; a write counts at its start, because its reader may return before it does. The results are
 *   hand-overs     a thread that received something from one that worked on a span continues that work until it receives
 *                  something else; except if it reads the response to what it wrote itself, or has a span of its own;
 *   waits          of a thread for another.
 * A wait lasts until its thread was woken: the time that it then waits for a CPU is not the other thread's.
 *
 * Calls that a thread makes while a span waits for it also belong to the span, via wait; likewise those of the thread
 * for which it waits in turn, and so on. They are another thread's time, and are never added to the span's own.
 */
#pragma once

#include "analysis/spans/spans.h"

#define JOIN_EVENTS_MAX	   (4u << 20) /* in memory at the same time, 48 bytes each */
#define JOIN_INTERVALS_MAX (4u << 20) /* in which spans wait for calls of a task, 24 bytes each */
#define JOIN_DEPTH_MAX	   8	      /* length of a chain of waiting threads */

/* A thread waited for another. */
struct span_wait {
	int64_t start, stop;
	uint32_t task; /* index in span_places, like target */
	uint32_t target : 31;
	uint32_t idle : 1; /* a wait for work, not on behalf of earlier work */
};

struct span_joins {
	struct span_wait *waits; /* by task, then in order of time */
	size_t wait_count, wait_cap;
	struct span_behind { /* during this time the span waits for calls of this task */
		int64_t start, stop;
		uint32_t task, span;
	} *behind; /* by task, then in order of start */
	size_t behind_count, behind_cap;
	struct span_watch *watch; /* [tasks]: position of the pass in behind */
	size_t tasks;
	struct span_waiting *found; /* result for the last call */
	size_t found_cap;
};

/* Reads the calls and finds waits and hand-overs; the latter are added to the places. 0, -EINTR, -ENOMEM. */
int span_joins_make(struct spans *s, const struct analysis_input *in,
		    const struct analysis_run *run, struct error *err);
/* Derives behind[] from the waits. */
int span_joins_resolve(struct spans *s);
void span_joins_free(struct span_joins *j);
/* Call before each pass. */
void span_joins_restart(struct span_joins *j);

/* A span that waits for a call, and the duration for which it does. */
struct span_waiting {
	uint32_t span;
	int64_t part;
};
/*
 * The spans that wait for a task's call, in j->found; calls must come in the order of their ends. Returns their number,
 * or -ENOMEM.
 */
ssize_t span_joins_of(struct spans *s, uint32_t task, const struct batch *b, size_t row,
		      int64_t start, int64_t stop);
/* The first wait of a task that ends after `from`, as index in waits[]; *ret_end is the end of the task's waits. */
size_t span_joins_from(const struct span_joins *j, uint32_t task, int64_t from, size_t *ret_end);
