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

/* from_summaries.c: a block's summary as rows of op. */
#define SUMMED_WINDOW_NS 100000000ll /* of a summary */
struct from_summaries_view;
int from_summaries_view_new(struct from_summaries_view **ret);
void from_summaries_view_free(struct from_summaries_view *v);
/* The summary's columns behind columns of op, and behind a cell of rows_column. */
uint64_t from_summaries_columns(uint64_t op_columns);
uint64_t from_summaries_cell_columns(enum rows_cell cell);
/* False where the rows have to be read: judged by the header of the block of op. */
bool from_summaries_say_enough(const struct store_block *op, uint64_t op_columns,
			       uint64_t summary_columns);
/* True where all calls of the block ended in [from, to): by the headers of it and its summary. */
bool from_summaries_within(const struct store_block *op, const struct store_block *summary,
			   int64_t from, int64_t to);
/* The batch of a summary as rows of op, valid as long as it is. NULL where it does not tell of all
 * rows of the block (`hists`: its histograms are wanted, and must tell of them too). */
const struct batch *from_summaries_as_rows(struct from_summaries_view *v,
					   const struct batch *summary,
					   const struct store_block *op, bool hists);
/* The same of what was gathered from several. */
const struct batch *from_summaries_gathered(struct from_summaries_view *v,
					    const struct batch *sums);
