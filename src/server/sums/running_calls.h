/* SPDX-License-Identifier: Apache-2.0 */
/*
 * running_calls.h: calls that are running while a trace grows and have no row in it yet: those of the recorder's last
 * mark ("weir.running", capture/ebpf/calls/running.h), without those that returned according to a later row.
 */
#pragma once

#include "server/sums/pass.h"

struct running_call {
	int64_t thread_id, tid, op, start;
	int64_t until; /* time until which it is known to have run */
};

struct running_calls {
	struct running_call *calls;
	size_t count, cap;
};

/* How long it is known to have run. */
int64_t running_calls_dur(const struct running_call *c);
void running_calls_free(struct running_calls *r);
/*
 * Finds the calls that pass the filter. Values that are known only at return, and files, are unknown. *ret starts as
 * {0}. 0 or negative.
 */
int running_calls_find(struct question *q, const struct sums_filter *filter,
		       struct running_calls *ret);
