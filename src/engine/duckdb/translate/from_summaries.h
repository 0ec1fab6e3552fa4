/* SPDX-License-Identifier: Apache-2.0 */
/*
 * from_summaries.h: questions about groups of calls that the summaries of blocks answer, a tenth of the rows
 * and exactly. A summary has, by 100 ms, op, thread, file, err and class, how many calls there were,
 * their bytes, time, longest time and histogram of times.
 *
 * weir_rows(..., summed := true) gives one row per group of a summary as if it were a call, and what
 * it stands for in columns of their own: row_calls, row_bytes, row_time, row_max, row_hist. Groups
 * of many blocks that differ in nothing that is asked for come as one (preaggregate.h). Where a block's
 * summary does not say the same as its rows would (there is none, it is damaged, calls had not ended, a
 * column was null, a range of time begins or ends in it), the rows come instead, each for itself:
 * row_calls is 1.
 */
#pragma once

#include "engine/duckdb/translate/translate_level.h"
#include "engine/duckdb/rows/weir_rows.h"

/* from_summaries_plan.c: true where the plan asks for nothing that a summary does not have. */
bool from_summaries_answer(const struct plan *p);
/* The column of weir_rows() that a field's aggregate is over; NULL: the field's own expression. */
const char *from_summaries_column(const struct plan_field *f);
/* The aggregate over it. */
int from_summaries_aggregate(const struct plan_field *f, const char *arg,
			     const struct aggregate_place *place, struct buf *out);
/* True where from_summaries_aggregate() is needed: others do not count calls. */
bool from_summaries_differ(const struct plan_field *f);
