/* SPDX-License-Identifier: Apache-2.0 */
/* period_pass.h: passes the calls of a trace to a matcher, as events of definitions, in order of time. */
#pragma once

#include "analysis/analysis.h"
#include "analysis/periods/match.h"

struct period_pass {
	uint64_t rows;	 /* calls read */
	uint64_t events; /* events that they are, for any definition */
	uint64_t losses; /* rows of loss that cut open periods */
	uint64_t late;	 /* events processed after later ones, in a growing trace */
};

/*
 * Events are sorted by (time, thread, call); a call's beginning precedes its end; for one event, ends precede begins.
 * The row of a call comes at its end, so its beginning may become known an hour late. If definitions use beginnings,
 * all events of the range are therefore collected, beginnings are sorted, and both lists are merged.
 */
int period_pass_run(const struct period_set *set, const struct analysis_input *in,
		    const struct analysis_run *run, struct period_matches *to,
		    struct period_pass *ret, struct error *err);

/*
 * The same for a single growing trace. Events are delayed by FOLLOW_HOLD_NS, since calls over 100 ms come in separate
 * blocks. A beginning is known when its call ends; if that takes longer, it is processed late, after later events.
 */
#define FOLLOW_HOLD_NS 700000000ll
#define FOLLOW_ROWS    65536 /* approximate number of matches per step */

struct period_follow;
/* `to` must be live. The set and `to` must outlive it. */
int period_follow_new(struct period_follow **ret, const struct period_set *set,
		      const struct analysis_input *in, const struct analysis_run *run,
		      struct period_matches *to, struct error *err);
void period_follow_free(struct period_follow *f);
/* Finds periods that have ended. 1: there may be more, 0: the trace has ended, and open periods are still running. */
int period_follow_next(struct period_follow *f, struct period_pass *sums, struct error *err);
