/* SPDX-License-Identifier: Apache-2.0 */
/*
 * row_stream.h: a plan without groups, order and joins as steps over the rows of its table, which any scan can take
 * one after another: no engine is needed. What later stages say of fields is said of the row itself.
 *
 *   head 100 | where dur > 1ms | select dur, path
 *     -> { head 100 }, { where dur > 1ms }; fields dur, path
 */
#pragma once

#include "query/plan/plan.h"

struct stream_step {
	const struct expr *where; /* over a row of the table; NULL: a head */
	uint64_t count;		  /* so many of the rows that come so far */
};

struct plan_stream {
	struct stream_step *steps;
	size_t step_count;
	const struct expr **fields; /* over a row: those of plan_output() that are not hidden */
	size_t field_count;
	struct plan_arena *arena; /* memory of what is not the plan's */
};

/* 1; 0 where the plan is no stream, or its expressions together are too large; -ENOMEM. The plan must
 * outlive it. */
int plan_stream_new(struct plan_stream **ret, const struct plan *p);
void plan_stream_free(struct plan_stream *s);
DEFINE_CLEANUP(struct plan_stream *, plan_stream_free)
