/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running_calls.h: calls that run while a trace grows, of which it has no row yet: what its recorder last said of them (marks
 * "weir.running", capture/ebpf/calls/running.h), without those that a later row shows to have returned.
 */
#pragma once

#include "server/sums/pass.h"

struct running_call {
	int64_t thread_id, tid, op, start;
	int64_t until; /* it is known to have run until then */
};

struct running_calls {
	struct running_call *calls;
	size_t count, cap;
};

/* For how long it is known to have run. */
int64_t running_calls_dur(const struct running_call *c);
void running_calls_free(struct running_calls *r);
/* Those that the filter lets pass, of which nothing is known that shows at the return alone, and no file. *ret starts as
 * {0}. 0 or negative. */
int running_calls_find(struct question *q, const struct sums_filter *filter,
		       struct running_calls *ret);
