/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_joins.h: what threads wait for, and what they give each other to do. One pass over the calls, before memberships are known,
 * gathers
 *   futexes        whose waker the recorder knows for certain,
 *   streams        pipes, sockets whose peer is in the trace, and eventfds: the bytes of each are counted from writer to reader, so
 *                  that a read has the thread that wrote what it got; a read that found nothing starts anew with what came since,
 *   polls          which are about the stream that their thread reads next, and
 *   wait4(), waitid() of a child,
 * and puts them in order of time: a write counts from its start, as its reader may return before it. From them come
 *   hand-overs     what a thread got from one that worked on a span, it carries on from there, until it gets something else; not
 *                  where it reads the answer to what it wrote itself, nor where it has a span of its own;
 *   waits          of a thread for another.
 *
 * A wait lasts until its thread was woken: what it then waits for a CPU is not the other thread's.
 *
 * The calls that a thread does while a span waits for it belong to the span too, via wait; so do those of the thread that this one
 * waits for meanwhile, and so on. They are another thread's time: nothing sums them up with the span's own.
 */
#pragma once

#include "analysis/spans/spans.h"

#define JOIN_EVENTS_MAX	   (4u << 20) /* kept at once, 48 bytes each */
#define JOIN_INTERVALS_MAX (4u << 20) /* of calls that spans wait for, 24 bytes each */
#define JOIN_DEPTH_MAX	   8	      /* threads that wait for one another */

/* A thread waited for another. */
struct span_wait {
	int64_t start, stop;
	uint32_t task; /* of span_places, as target is */
	uint32_t target : 31;
	uint32_t idle : 1; /* for work: not on behalf of what it had been given before */
};

struct span_joins {
	struct span_wait *waits; /* by task, and of each in order of time */
	size_t wait_count, wait_cap;
	struct span_behind { /* calls of this task then are what the span waits for */
		int64_t start, stop;
		uint32_t task, span;
	} *behind; /* by task, in order of start */
	size_t behind_count, behind_cap;
	struct span_watch *watch; /* [tasks] of behind: the pass's place in it */
	size_t tasks;
	struct span_waiting *found; /* of the last call */
	size_t found_cap;
};

/* Reads the calls and finds all of it; hand-overs go to the places. 0, -EINTR, -ENOMEM. */
int span_joins_make(struct spans *s, const struct analysis_input *in,
		    const struct analysis_run *run, struct error *err);
/* Of waits: behind[]. */
int span_joins_resolve(struct spans *s);
void span_joins_free(struct span_joins *j);
/* Before each pass. */
void span_joins_restart(struct span_joins *j);

/* A span that waits for a call, and the part of the call for which it does. */
struct span_waiting {
	uint32_t span;
	int64_t part;
};
/* Those that wait for a call, which ends in order: in j->found; how many, or -ENOMEM. */
ssize_t span_joins_of(struct spans *s, const struct batch *b, size_t row, int64_t start,
		      int64_t stop);
/* The first wait of a task that ends behind `from`: an index of waits[]; those of the task end at *ret_end. */
size_t span_joins_from(const struct span_joins *j, uint32_t task, int64_t from, size_t *ret_end);
