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

int flow_requests_take(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	uint32_t submit = FLOW_NONE;
	int64_t n = flow_call_node(s, c);
	int r;

	if (n < 0 || n == FLOW_NONE)
		return n < 0 ? (int)n : 0;
	for (unsigned int i = 0; i < MIN(t->enter_count, (unsigned int)FLOW_ENTERS); i++) {
		const struct flow_wake *e = &t->enters[i];

		if (e->start <= c->start && c->start <= e->end)
			submit = e->node;
	}
	if (submit != FLOW_NONE)
		r = flow_edge_of_calls(s, VIA_URING, submit, (uint32_t)n, c->file_id, true);
	else if (c->status & STATUS_POLLED)
		return 0; /* the submitting thread is unknown */
	else		  /* the submitting call has not ended */
		r = array_add(t->loose, t->loose_count, t->loose_cap,
			      (struct flow_woken){(uint32_t)n, c->start, c->end, 0});
	return r < 0 ? r
		     : array_add(t->done, t->done_count, t->done_cap,
				 (struct flow_woken){(uint32_t)n, c->start, c->end, 0});
}

int flow_requests_enter(struct flow_state *s, struct flow_call *c)
{
	struct flow_task *t = &s->tasks[c->task];
	int64_t n = flow_call_node(s, c);
	bool waited = (c->flags & ENTER_GETEVENTS) && !c->failed;
	size_t left = 0;
	int r = n < 0 ? (int)n : 0;

	for (size_t i = 0; i < t->loose_count && r >= 0; i++) {
		if (c->start <= t->loose[i].start && t->loose[i].start <= c->end)
			r = flow_edge_of_calls(s, VIA_URING, (uint32_t)n, t->loose[i].node, -1,
					       true);
		else if (t->loose[i].start > c->end)
			t->loose[left++] = t->loose[i];
	}
	t->loose_count = left;
	left = 0;
	for (size_t i = 0; i < t->done_count && r >= 0; i++) {
		bool inside = t->done[i].start >= c->start && t->done[i].start <= c->end;

		/* submitted and completed within one call: a single operation in the graph */
		if (waited && !inside && t->done[i].end <= c->end)
			r = flow_edge_of_calls(s, VIA_URING, t->done[i].node, (uint32_t)n, -1,
					       t->done[i].end >= c->start);
		else if (!inside)
			t->done[left++] = t->done[i];
	}
	t->done_count = left;
	if (r >= 0 && n != FLOW_NONE)
		t->enters[t->enter_count++ % FLOW_ENTERS] =
			(struct flow_wake){.node = (uint32_t)n, .start = c->start, .end = c->end};
	return r;
}
