// SPDX-License-Identifier: Apache-2.0
/* flow_graph.c: nodes, edges, Lamport numbers and causal pasts. */
#include "analysis/flow/flow_graph.h"

#include <errno.h>

#include "base/array.h"

#define ROW_NONE  ((1ull << FLOW_ROW_BITS) - 1)
#define FILE_NONE ((1ull << FLOW_FILE_BITS) - 1)

void flow_graph_free(struct flow_graph *g)
{
	free(g->nodes);
	free(g->edges);
	free(g->actors);
	free(g->actor_of);
	free(g->order);
	free(g->lamport);
	*g = (struct flow_graph){0};
}

/* The index of the thread's version, or of the request. FLOW_NONE: out of memory. */
static uint32_t graph_actor(struct flow_graph *g, const struct flow_operation *o)
{
	uint32_t last;

	if (grow((void **)&g->actor_of, &g->actor_of_cap, (size_t)o->task + 1,
		 sizeof(*g->actor_of)) < 0)
		return FLOW_NONE;
	while (g->actor_of_count <= o->task)
		g->actor_of[g->actor_of_count++] = FLOW_NONE;
	last = g->actor_of[o->task];
	if (last != FLOW_NONE && g->actors[last].thread_id == o->thread_id)
		return last;
	if (array_add(g->actors, g->actor_count, g->actor_cap,
		      (struct flow_actor){o->thread_id, o->task}) < 0)
		return FLOW_NONE;
	return g->actor_of[o->task] = (uint32_t)g->actor_count - 1;
}

uint32_t flow_graph_node(struct flow_graph *g, const struct flow_operation *o)
{
	uint32_t actor;
	bool row;

	if (g->node_count >= FLOW_NODES_MAX) {
		g->left_out++;
		return FLOW_NONE;
	}
	actor = graph_actor(g, o);
	if (actor == FLOW_NONE ||
	    grow((void **)&g->nodes, &g->node_cap, g->node_count + 1, sizeof(*g->nodes)) < 0) {
		flow_graph_failed(g, -ENOMEM);
		return FLOW_NONE;
	}
	/* of a damaged trace, these may differ */
	row = o->row_id >= 0 && id_recording(o->row_id) == id_recording(o->thread_id);
	g->nodes[g->node_count] = (struct flow_node){
		.start = o->start,
		.dur = o->dur,
		.row = row ? id_own(o->row_id) : ROW_NONE,
		.op = o->op,
		.actor = actor,
		.in = FLOW_NONE,
	};
	g->tasks = MAX(g->tasks, o->task + 1);
	return (uint32_t)g->node_count++;
}

int64_t flow_node_row(const struct flow_graph *g, const struct flow_node *n)
{
	return n->row == ROW_NONE
		       ? -1
		       : id_compose((int64_t)n->row, id_recording(flow_node_thread(g, n)));
}

int64_t flow_edge_file(const struct flow_graph *g, const struct flow_arc *e)
{
	uint64_t own = (uint64_t)e->file_high << 32 | e->file_low;

	return own == FILE_NONE ? -1
				: id_compose((int64_t)own,
					     id_recording(flow_node_thread(g, &g->nodes[e->to])));
}

uint32_t flow_edge_bytes(int64_t n)
{
	return n > UINT32_MAX ? UINT32_MAX : n < 0 ? 0 : (uint32_t)n;
}

int64_t flow_edge_pos(int64_t pos)
{
	return pos < 0 || pos >= 1ll << (FLOW_POS_BITS - 1) ? -1 : pos;
}

bool flow_graph_edge(struct flow_graph *g, const struct flow_edge *e)
{
	struct flow_node *to;
	uint64_t file = FILE_NONE;

	if (e->from == FLOW_NONE || e->to == FLOW_NONE || e->from == e->to)
		return false;
	assert(e->from < g->node_count && e->to < g->node_count);
	to = &g->nodes[e->to];
	/* implied by program order */
	if (flow_node_task(g, to) == flow_node_task(g, &g->nodes[e->from]) && e->via != VIA_EXEC)
		return false;
	if (g->edge_count >= FLOW_EDGES_MAX) {
		g->left_out++;
		return false;
	}
	if (grow((void **)&g->edges, &g->edge_cap, g->edge_count + 1, sizeof(*g->edges)) < 0) {
		flow_graph_failed(g, -ENOMEM);
		return false;
	}
	if (e->file_id >= 0 && id_recording(e->file_id) == id_recording(flow_node_thread(g, to)))
		file = MIN(id_own(e->file_id), FILE_NONE);
	g->edges[g->edge_count] = (struct flow_arc){
		.from = e->from,
		.to = e->to,
		.next_in = to->in,
		.chain = e->chain,
		.bytes = flow_edge_bytes(e->bytes),
		.file_low = (uint32_t)file,
		.file_high = file >> 32,
		.pos = flow_edge_pos(e->pos),
		.via = e->via,
		.certainty = e->certain ? CERTAINTY_CERTAIN : CERTAINTY_CONTESTED,
	};
	to->in = (uint32_t)g->edge_count++;
	g->by_via[e->via][e->certain ? CERTAINTY_CERTAIN : CERTAINTY_CONTESTED]++;
	return true;
}

void flow_graph_contest(struct flow_graph *g, uint32_t edge)
{
	struct flow_arc *e = &g->edges[edge];

	if (e->certainty != CERTAINTY_CERTAIN)
		return;
	e->certainty = CERTAINTY_CONTESTED;
	g->by_via[e->via][CERTAINTY_CERTAIN]--;
	g->by_via[e->via][CERTAINTY_CONTESTED]++;
}

/* ---- numbers ---- */

/*
 * Each task is a list of its nodes; at[] is the first one without a number. A node is numbered after all nodes that
 * lead to it; the tasks waiting for this form a stack. If a task on the stack is waited for again, the edges form a
 * cycle (for example between two calls that each took part of the other's bytes), and the edge is ignored.
 */
struct numbering {
	struct flow_graph *g;
	uint32_t *next; /* [nodes]: next node of the same task */
	struct numbering_task {
		uint32_t at;
		uint32_t last; /* highest number so far */
		bool waits;    /* on the stack */
	} *tasks;
	uint32_t *stack; /* [tasks] */
	size_t depth, done;
};

static void numbering_free(struct numbering *n)
{
	free(n->next);
	free(n->tasks);
	free(n->stack);
}

static struct numbering_task *numbering_of(const struct numbering *n, uint32_t node)
{
	return &n->tasks[flow_node_task(n->g, &n->g->nodes[node])];
}

static int numbering_start(struct numbering *n)
{
	struct flow_graph *g = n->g;

	n->next = malloc((g->node_count + 1) * sizeof(*n->next));
	n->tasks = calloc(g->tasks + 1, sizeof(*n->tasks));
	n->stack = malloc((g->tasks + 1) * sizeof(*n->stack));
	free(g->order);
	g->order = malloc((g->node_count + 1) * sizeof(*g->order));
	free(g->lamport);
	g->lamport = calloc(g->node_count + 1, sizeof(*g->lamport));
	if (!g->lamport || !n->next || !n->tasks || !n->stack || !g->order)
		return -ENOMEM;
	for (uint32_t t = 0; t < g->tasks; t++)
		n->tasks[t].at = FLOW_NONE;
	for (uint32_t i = (uint32_t)g->node_count; i-- > 0;) {
		struct numbering_task *t = numbering_of(n, i);

		n->next[i] = t->at;
		t->at = i;
	}
	return 0;
}

/* Numbers the node and returns FLOW_NONE, or returns a node without a number that leads to it. */
static uint32_t numbering_try(struct numbering *n, uint32_t node)
{
	struct flow_graph *g = n->g;
	struct numbering_task *task = numbering_of(n, node);
	uint32_t highest = task->last;

	for (uint32_t e = g->nodes[node].in; e != FLOW_NONE; e = g->edges[e].next_in) {
		const struct flow_arc *edge = &g->edges[e];
		uint32_t before = g->lamport[edge->from];

		if (edge->certainty != CERTAINTY_CERTAIN)
			continue;
		if (!before && !numbering_of(n, edge->from)->waits)
			return edge->from;
		g->cycles += !before;
		highest = MAX(highest, before);
	}
	task->last = g->lamport[node] = highest + 1;
	task->at = n->next[node];
	g->order[n->done++] = node;
	return FLOW_NONE;
}

static void numbering_wait(struct numbering *n, uint32_t node)
{
	n->stack[n->depth++] = node;
	numbering_of(n, node)->waits = true;
}

/* Numbers the task's nodes up to and including `node`. */
static void numbering_task(struct numbering *n, uint32_t node)
{
	numbering_wait(n, node);
	while (n->depth) {
		uint32_t want = n->stack[n->depth - 1], missing;
		struct numbering_task *task = numbering_of(n, want);

		if (n->g->lamport[want]) {
			task->waits = false;
			n->depth--;
			continue;
		}
		missing = numbering_try(n, task->at);
		if (missing != FLOW_NONE)
			numbering_wait(n, missing);
	}
}

int flow_graph_number(struct flow_graph *g)
{
	_cleanup_(numbering_free) struct numbering n = {.g = g};
	int r = numbering_start(&n);

	if (r < 0)
		return r;
	for (uint32_t i = 0; i < g->node_count; i++) {
		if (!g->lamport[i])
			numbering_task(&n, i);
	}
	assert(n.done == g->node_count);
	return 0;
}

/* ---- the past ---- */

void flow_graph_past(const struct flow_graph *g, uint32_t node, bool certain, struct flow_past *ret)
{
	size_t i = g->node_count;

	for (uint32_t t = 0; t < g->tasks; t++)
		ret[t] = (struct flow_past){FLOW_NONE, FLOW_NONE};
	while (i && g->order[i - 1] != node)
		i--;
	ret[flow_node_task(g, &g->nodes[node])].node = node;
	while (i-- > 0) {
		uint32_t at = g->order[i], last = ret[flow_node_task(g, &g->nodes[at])].node;

		if (last == FLOW_NONE || at > last)
			continue;
		for (uint32_t e = g->nodes[at].in; e != FLOW_NONE; e = g->edges[e].next_in) {
			const struct flow_arc *edge = &g->edges[e];
			struct flow_past *p = &ret[flow_node_task(g, &g->nodes[edge->from])];

			if (certain && edge->certainty != CERTAINTY_CERTAIN)
				continue;
			if (p->node == FLOW_NONE || edge->from > p->node)
				*p = (struct flow_past){edge->from, e};
		}
	}
}
