/* SPDX-License-Identifier: Apache-2.0 */
/* slowest.h: the longest calls of a pass that was summed already. */
#pragma once

#include "server/sums/sums.h"

/*
 * The `max` longest calls that are I/O, longest first, in a batch of op; (*ret_rows)[i] is the number of the i-th.
 * Reads the blocks that sums noted, those with the longest calls first. 0 or negative.
 */
int slowest_find(struct question *q, const struct pass_filter *pass_filter, const struct sums *sums,
		 size_t max, struct batch **ret, int64_t **ret_rows);
