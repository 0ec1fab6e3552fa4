// SPDX-License-Identifier: Apache-2.0
/*
 * flow_contexts.c: edges from span contexts: a span whose parent is in another process was caused by what that process
 * did since the parent began. The edge leads from the parent's thread's first call within the parent to the first call
 * of the span's thread within the span. It is certain if the former ended before the latter began, by one clock. Across
 * machines only the context gives their order, and which calls it lies between is unknown: contested.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/flow/flow_pass.h"
#include "base/array.h"
#include "base/saturate.h"

#define SPANS_MAX (1u << 20) /* 48 MiB; further spans are counted as left out */

struct flow_span {
	uint64_t ids, parent_ids; /* hashes of trace and span ids; 0: unknown */
	int64_t start, stop;	  /* INT64_MAX: unknown */
	uint32_t task, node;	  /* node: its first call; FLOW_NONE: none yet */
};

void flow_contexts_free(struct flow_state *s)
{
	free(s->contexts.all);
}

static uint64_t context_ids(struct bytes trace, struct bytes span)
{
	return trace.len && span.len ? hash_u64(hash_bytes(trace.data, trace.len)) ^
					       hash_bytes(span.data, span.len)
				     : 0;
}

static int flow_context_row(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	struct flow_state *s = arg;
	struct flow_contexts *x = &s->contexts;
	struct bytes trace = batch_get_bytes(b, SPAN_TRACE_ID, row);
	struct flow_span k = {.ids = context_ids(trace, batch_get_bytes(b, SPAN_SPAN_ID, row)),
			      .parent_ids =
				      context_ids(trace, batch_get_bytes(b, SPAN_PARENT_ID, row)),
			      .start = batch_get(b, SPAN_START, row, INT64_MIN),
			      .node = FLOW_NONE};
	int64_t dur = batch_get(b, SPAN_DUR, row, -1),
		thread = batch_get(b, SPAN_THREAD_ID, row, -1);

	k.stop = dur < 0 ? INT64_MAX : add_sat_signed(k.start, dur);
	if (thread < 0 || !k.ids)
		return 0;
	k.task = flow_task_of(s, thread);
	if (x->count < SPANS_MAX)
		flow_failed(s, array_add(x->all, x->count, x->cap, k));
	else
		s->graph.left_out++;
	return s->graph.r;
}

static int compare_contexts(const void *a, const void *b)
{
	const struct flow_span *p = a, *q = b;

	return ORDER(p->task, q->task) ?: ORDER(p->start, q->start);
}

int flow_contexts_load(struct flow_state *s, struct error *err)
{
	const struct scan_request q = {.table = TABLE_SPAN,
				       .columns = 1ull << SPAN_START | 1ull << SPAN_DUR |
						  1ull << SPAN_THREAD_ID | 1ull << SPAN_TRACE_ID |
						  1ull << SPAN_SPAN_ID | 1ull << SPAN_PARENT_ID,
				       .from = s->run->from,
				       .to = s->run->to};
	struct flow_contexts *x = &s->contexts;
	int r = analysis_scan(NULL, s->run, &q, flow_context_row, s, err);

	if (r < 0)
		return r;
	array_sort(x->all, x->count, compare_contexts);
	for (size_t i = x->count; i-- > 0;)
		s->tasks[x->all[i].task].span = (uint32_t)i;
	return 0;
}

void flow_contexts_call(struct flow_state *s, struct flow_call *c)
{
	struct flow_contexts *x = &s->contexts;
	struct flow_task *t = &s->tasks[c->task];

	while (t->span != FLOW_NONE && x->all[t->span].start <= c->start) {
		if (x->all[t->span].stop > c->start) /* otherwise no call began in it */
			x->all[t->span].node = flow_call_node(s, c);
		t->span = t->span + 1 < x->count && x->all[t->span + 1].task == c->task
				  ? t->span + 1
				  : FLOW_NONE;
	}
}

static void context_edge(struct flow_state *s, const struct flow_span *parent,
			 const struct flow_span *k)
{
	const struct flow_task *a = &s->tasks[parent->task], *b = &s->tasks[k->task];
	const struct flow_node *from, *to;

	if (a->process_id == b->process_id || parent->node == FLOW_NONE || k->node == FLOW_NONE)
		return;
	from = &s->graph.nodes[parent->node];
	to = &s->graph.nodes[k->node];
	/* the parent's thread made no call before */
	if (a->machine == b->machine && from->start >= to->start)
		return;
	flow_edge_of_calls(s, VIA_CONTEXT, parent->node, k->node, -1,
			   a->machine == b->machine && flow_node_end(from) <= to->start);
}

void flow_contexts_end(struct flow_state *s)
{
	const struct flow_contexts *x = &s->contexts;
	struct map by_ids = {0};
	uint64_t at;

	for (size_t i = 0; i < x->count; i++)
		flow_failed(s, map_set(&by_ids, x->all[i].ids, i));
	for (size_t i = 0; i < x->count; i++) {
		if (x->all[i].parent_ids && map_get(&by_ids, x->all[i].parent_ids, &at))
			context_edge(s, &x->all[at], &x->all[i]);
	}
	map_free(&by_ids);
}
