/* SPDX-License-Identifier: Apache-2.0 */
/* route_overview.h: what other answers over time share with the overview. */
#pragma once

#include "server/sums/sums.h"

/* The contents of an answer, from one pass. */
struct overview {
	struct sums_filter filter;
	struct sums_axis axis;
	struct sums *sums;
	struct sums_file *files; /* NULL: not summed */
	size_t file_count;
	int64_t from, to;
};

/* The members of struct sums_want that an overview needs. */
#define OVERVIEW_WANT(axis_)                                                        \
	.axis = (axis_), .keys = ROLLUP_OP | ROLLUP_CLASS | ROLLUP_ERR,             \
	.other_keys = ROLLUP_THREAD | ROLLUP_CLASS, .files = true, .slowest = true, \
	.failures = true

void overview_free(struct overview *o);
/* Sets the time range and the axis. */
void overview_range(const struct question *q, struct overview *o);
/* Writes the answer; share: how much of the trace o->sums covers, which is included if less than 1. */
int overview_put(struct question *q, struct buf *to, struct overview *o, bool brief, double share);

/* Members origin, from, to, step (of the buckets), asked_from, asked_to. */
void overview_put_axis(const struct question *q, struct js *j, const struct sums_axis *a,
		       int64_t from, int64_t to);
