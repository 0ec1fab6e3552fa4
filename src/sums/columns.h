/* SPDX-License-Identifier: Apache-2.0 */
/*
 * columns.h: which column of a summary is which of op, and rows of a summary read as if they were calls. A summary has, by
 * window of 100 ms, op, thread, file, err and class, how many calls there were, their bytes, time, longest time and a
 * histogram of times (store/summary/).
 */
#pragma once

#include "store/store.h"

/* The columns of summary behind columns of op; SUMMARY_CALLS, which each reader needs, is always among them. */
uint64_t sums_columns_of(uint64_t op_columns);
/* Those columns of op that a summary lacks. The start is among them: a summary has only the window in which the call ended. */
uint64_t sums_columns_missing(uint64_t op_columns);

/* A batch of summary as a batch of op, without a copy. Each row starts at its window and takes no time. */
struct sums_view;
int sums_view_new(struct sums_view **ret) _must_check_;
void sums_view_free(struct sums_view *v);
DEFINE_CLEANUP(struct sums_view *, sums_view_free)
/* Valid as long as `sums` is, until the next call. */
const struct batch *sums_view_rows(struct sums_view *v, const struct batch *sums);
