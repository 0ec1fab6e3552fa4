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

struct flow_contexts {
	struct flow_span *all; /* sorted by task and start */
	size_t count, cap;
};

void flow_contexts_free(struct flow_state *s)
{
	if (s->contexts)
		free(s->contexts->all);
	free(s->contexts);
	s->contexts = NULL;
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
	struct flow_contexts *x = s->contexts;
	struct bytes trace = batch_get_bytes(b, SPAN_TRACE_ID, row);
	struct flow_span k = {.ids = context_ids(trace, batch_get_bytes(b, SPAN_SPAN_ID, row)),
			      .parent_ids =
				      context_ids(trace, batch_get_bytes(b, SPAN_PARENT_ID, row)),
			      .start = batch_get(b, SPAN_START, row, INT64_MIN),
			      .node = FLOW_NONE};
	int64_t dur = batch_get(b, SPAN_DUR, row, -1),
		thread = batch_get(b, SPAN_THREAD_ID, row, -1),
		task = thread < 0 ? -1 : flow_task_of(s, thread);

	k.stop = dur < 0 ? INT64_MAX : add_sat_signed(k.start, dur);
	if (thread < 0 || !k.ids)
		return 0;
	if (task < 0)
		return (int)task;
	if (x->count == SPANS_MAX) {
		s->graph.left_out++;
		return 0;
	}
	if (grow((void **)&x->all, &x->cap, x->count + 1, sizeof(*x->all)) < 0)
		return -ENOMEM;
	k.task = (uint32_t)task;
	x->all[x->count++] = k;
	return 0;
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
	int r;

	s->contexts = calloc(1, sizeof(*s->contexts));
	if (!s->contexts)
		return -ENOMEM;
	r = analysis_scan(NULL, s->run, &q, flow_context_row, s, err);
	if (r < 0)
		return r;
	array_sort(s->contexts->all, s->contexts->count, compare_contexts);
	for (size_t i = s->contexts->count; i-- > 0;)
		s->tasks[s->contexts->all[i].task].span = (uint32_t)i;
	return 0;
}

int flow_contexts_call(struct flow_state *s, struct flow_call *c)
{
	struct flow_contexts *x = s->contexts;
	struct flow_task *t = &s->tasks[c->task];
	int64_t n;

	while (t->span != FLOW_NONE && x->all[t->span].start <= c->start) {
		if (x->all[t->span].stop > c->start) { /* otherwise no call began in it */
			n = flow_call_node(s, c);
			if (n < 0)
				return (int)n;
			x->all[t->span].node = (uint32_t)n;
		}
		t->span = t->span + 1 < x->count && x->all[t->span + 1].task == c->task
				  ? t->span + 1
				  : FLOW_NONE;
	}
	return 0;
}

static int context_edge(struct flow_state *s, const struct flow_span *parent,
			const struct flow_span *k)
{
	const struct flow_task *a = &s->tasks[parent->task], *b = &s->tasks[k->task];
	const struct flow_node *from, *to;

	if (a->process_id == b->process_id || parent->node == FLOW_NONE || k->node == FLOW_NONE)
		return 0;
	from = &s->graph.nodes[parent->node];
	to = &s->graph.nodes[k->node];
	/* the parent's thread made no call before */
	if (a->machine == b->machine && from->start >= to->start)
		return 0;
	return flow_edge(
		s, &(struct flow_edge){.from = parent->node,
				       .to = k->node,
				       .pos = -1,
				       .file_id = -1,
				       .via = VIA_CONTEXT,
				       .certainty = a->machine == b->machine &&
								    flow_node_end(from) <= to->start
							    ? CERTAINTY_CERTAIN
							    : CERTAINTY_CONTESTED});
}

int flow_contexts_end(struct flow_state *s)
{
	const struct flow_contexts *x = s->contexts;
	struct map by_ids = {0};
	uint64_t at;
	int r = 0;

	for (size_t i = 0; i < x->count && r >= 0; i++)
		r = map_set(&by_ids, x->all[i].ids, i);
	for (size_t i = 0; i < x->count && r >= 0; i++) {
		if (x->all[i].parent_ids && map_get(&by_ids, x->all[i].parent_ids, &at))
			r = context_edge(s, &x->all[at], &x->all[i]);
	}
	map_free(&by_ids);
	return r;
}
