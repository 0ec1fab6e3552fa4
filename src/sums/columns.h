/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h: maps columns of op to columns of summary, and presents rows of a summary as if they were calls. For each
 * window of 100 ms, op, thread, file, err and class, a summary holds the number of calls, their bytes, time, longest
 * time and a histogram of times (store/summary/).
 */
#pragma once

#include "store/store.h"

/* The columns of summary that correspond to columns of op; always includes SUMMARY_CALLS, which every reader needs. */
uint64_t sums_columns_of(uint64_t op_columns);
/* The columns of op that a summary lacks. The start is one: a summary has only the window in which the call ended. */
uint64_t sums_columns_missing(uint64_t op_columns);

/* Presents a batch of summary as a batch of op, without a copy. Each row starts at its window and has a duration of 0. */
struct sums_view;
int sums_view_new(struct sums_view **ret) _must_check_;
void sums_view_free(struct sums_view *v);
DEFINE_CLEANUP(struct sums_view *, sums_view_free)
/* Valid until the next call, and no longer than `sums`. */
const struct batch *sums_view_rows(struct sums_view *v, const struct batch *sums);
