/* SPDX-License-Identifier: Apache-2.0 */
/* overview.h: what other answers over time have in common with the overview. */
#pragma once

#include "server/sums.h"

/* Members origin, from, to, step (of the buckets), asked_from, asked_to. */
void overview_put_axis(const struct question *q, struct js *j, const struct sums_axis *a,
		       int64_t from, int64_t to);
