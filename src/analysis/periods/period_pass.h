/* SPDX-License-Identifier: Apache-2.0 */
/* period_pass.h: the calls of a trace as events of definitions, in order of time, into a matcher. */
#pragma once

#include "analysis/analysis.h"
#include "analysis/periods/match.h"

struct period_pass {
	uint64_t rows;	 /* calls that were looked at */
	uint64_t events; /* of them, for one definition or the other */
	uint64_t losses; /* rows of loss that cut what was open */
	uint64_t late;	 /* events that came behind later ones, of a trace that grows */
};

/*
 * Events come in order of (time, thread, call), of one call its beginning before its end, of one event ends before begins. The
 * end of a call is known when its row comes; its beginning only then as well, which may be an hour later: where a definition
 * asks for beginnings, the events of the whole range are gathered, those sorted, and both merged.
 */
int period_pass_run(const struct period_set *set, const struct analysis_input *in,
		    const struct analysis_run *run, struct period_matches *to,
		    struct period_pass *ret, struct error *err);

/*
 * The same of a trace that grows, which is one. Events are held back for FOLLOW_HOLD_NS, as calls of over 100 ms come in
 * blocks of their own; a beginning is known when its call ends, and where that takes longer it comes late: behind events that
 * were later.
 */
#define FOLLOW_HOLD_NS 700000000ll
#define FOLLOW_ROWS    65536 /* matches at once, roughly */

struct period_follow;
/* `to` is live. The set and `to` must outlive it. */
int period_follow_new(struct period_follow **ret, const struct period_set *set,
		      const struct analysis_input *in, const struct analysis_run *run,
		      struct period_matches *to, struct error *err);
void period_follow_free(struct period_follow *f);
/* Finds what has ended by now. 1: there may be more, 0: the trace has ended, and what is open still runs. */
int period_follow_next(struct period_follow *f, struct period_pass *sums, struct error *err);
