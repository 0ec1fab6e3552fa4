/* SPDX-License-Identifier: Apache-2.0 */
/*
 * from_summaries.h: queries for groups of calls that the summaries of blocks can answer exactly, with a tenth of the
 * rows. For each window of 100 ms, op, thread, file, err and class, a summary holds the number of calls, their bytes,
 * time, longest time and histogram of times.
 *
 * weir_rows(..., summed := true) returns one row per group of a summary as if it were a call, with the sums that it
 * represents in separate columns: row_calls, row_bytes, row_time, row_max, row_hist. Groups of many blocks that agree
 * in everything read are combined (preaggregate.h). If a block's summary does not give the same result as its rows (it
 * is missing or damaged, calls were unfinished, a column was null, a time range begins or ends in it), the rows
 * themselves are returned, with row_calls 1.
 */
#pragma once

#include "engine/duckdb/translate/translate_level.h"
#include "engine/duckdb/rows/weir_rows.h"

/* from_summaries_plan.c: true if the plan uses only what a summary has. */
bool from_summaries_answer(const struct plan *p);
/* The column of weir_rows() to which a field's aggregate applies; NULL: the field's own expression. */
const char *from_summaries_column(const struct plan_field *f);
/* Writes the aggregate over that column. */
int from_summaries_aggregate(const struct plan_field *f, const char *arg,
			     const struct aggregate_place *place, struct buf *out);
/* True if from_summaries_aggregate() is needed: other aggregates do not depend on the number of calls. */
bool from_summaries_differ(const struct plan_field *f);
