/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_stream.h: a plan without groups, sorts and joins, as steps over the rows of its table that any scan can run
 * without an engine. Expressions of later stages over fields become expressions over the row.
 *
 *   head 100 | where dur > 1ms | select dur, path
 *     -> { head 100 }, { where dur > 1ms }; fields dur, path
 *
 * Groups, sorts and joins need an engine: a second implementation of each aggregate could give different answers.
 */
#pragma once

#include "query/plan/plan.h"

struct stream_step {
	const struct expr *where; /* over a row of the table; NULL: this step is a head */
	uint64_t count;		  /* number of rows to pass */
};

struct plan_stream {
	struct stream_step *steps;
	size_t step_count;
	const struct expr **fields; /* over a row: those of plan_output() that are not hidden */
	size_t field_count;
	struct arena *arena; /* memory that the plan does not own */
};

/* Returns 1; 0 if the plan is not a stream, or its expressions together are too large; or -ENOMEM.
 * The plan must outlive the stream. */
int plan_stream_new(struct plan_stream **ret, const struct plan *p);
void plan_stream_free(struct plan_stream *s);
DEFINE_CLEANUP(struct plan_stream *, plan_stream_free)
