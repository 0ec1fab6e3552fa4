// SPDX-License-Identifier: Apache-2.0
/*
 * flow_requests.c: requests of io_uring and libaio. A request follows the call that submitted it, and precedes its
 * thread's first io_uring_enter that waited for completions and returned after it completed. A program that reaps
 * completions without a call leaves no record of when.
 */
#include "analysis/flow/flow_pass.h"

#include <errno.h>

#include "base/array.h"

#define ENTER_GETEVENTS 1u

void flow_requests_take(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	uint32_t submit = FLOW_NONE, n = flow_call_node(s, c);

	if (n == FLOW_NONE)
		return;
	for (unsigned int i = 0; i < MIN(t->enter_count, (unsigned int)FLOW_ENTERS); i++) {
		const struct flow_moment *e = &t->enters[i];

		if (e->start <= c->start && c->start <= e->end)
			submit = e->node;
	}
	if (submit != FLOW_NONE)
		flow_edge_of_calls(s, VIA_URING, submit, n, c->file_id, true);
	else if (c->status & STATUS_POLLED)
		return; /* the submitting thread is unknown */
	else		/* the submitting call has not ended */
		flow_failed(s, array_add(t->loose.all, t->loose.count, t->loose.cap,
					 flow_call_moment(c)));
	flow_failed(s, array_add(t->done.all, t->done.count, t->done.cap, flow_call_moment(c)));
}

void flow_requests_enter(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	uint32_t n = flow_call_node(s, c);
	bool waited = (c->flags & ENTER_GETEVENTS) && !c->failed;
	size_t left = 0;

	for (size_t i = 0; i < t->loose.count; i++) {
		if (c->start <= t->loose.all[i].start && t->loose.all[i].start <= c->end)
			flow_edge_of_calls(s, VIA_URING, n, t->loose.all[i].node, -1, true);
		else if (t->loose.all[i].start > c->end)
			t->loose.all[left++] = t->loose.all[i];
	}
	t->loose.count = left;
	left = 0;
	for (size_t i = 0; i < t->done.count; i++) {
		bool inside = t->done.all[i].start >= c->start && t->done.all[i].start <= c->end;

		/* submitted and completed within one call: a single operation in the graph */
		if (waited && !inside && t->done.all[i].end <= c->end)
			flow_edge_of_calls(s, VIA_URING, t->done.all[i].node, n, -1,
					   t->done.all[i].end >= c->start);
		else if (!inside)
			t->done.all[left++] = t->done.all[i];
	}
	t->done.count = left;
	if (n != FLOW_NONE)
		t->enters[t->enter_count++ % FLOW_ENTERS] = flow_call_moment(c);
}
