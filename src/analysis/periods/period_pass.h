/* SPDX-License-Identifier: Apache-2.0 */
/* period_pass.h: the calls of a trace as events of definitions, in order of time, into a matcher. */
#pragma once

#include "analysis/analysis.h"
#include "analysis/periods/match.h"

struct period_pass {
	uint64_t rows;	 /* calls that were looked at */
	uint64_t events; /* of them, for one definition or the other */
	uint64_t losses; /* rows of loss that cut what was open */
};

/*
 * Events come in order of (time, thread, call), of one call its beginning before its end, of one event ends before begins. The
 * end of a call is known when its row comes; its beginning only then as well, which may be an hour later: where a definition
 * asks for beginnings, the events of the whole range are gathered, those sorted, and both merged.
 */
int period_pass_run(const struct period_set *set, const struct analysis_input *in,
		    const struct analysis_run *run, struct period_matches *to,
		    struct period_pass *ret, struct error *err);
