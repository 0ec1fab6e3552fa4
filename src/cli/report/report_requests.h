/* SPDX-License-Identifier: Apache-2.0 */
/* report_requests.h: the time of io_uring and libaio requests, which overlap, by the thread that submitted them. */
#pragma once

#include "base/cover.h"
#include "cli/report/beside/beside.h"

struct request_time {
	int64_t task;
	uint64_t io, wait,
		other; /* sums of their durations in the report's range, as in struct thread_time */
	struct cover under_way;
};

/*
 * Selected requests in the report's range, as groups of struct request_time. 0 or negative; release them by
 * report_requests_free().
 */
int report_requests(const struct report *r, struct beside_groups *ret);
void report_requests_free(struct beside_groups *g);
