/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_export.c: the graph of `weir flow` for other tools: GraphViz's language, and the text that ShiViz reads (a
 * host, its vector clock as JSON, and an event on a line of its own). Both suit only graphs that a person can read,
 * so the first part of a larger one is written and the rest is counted.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/flow/flow.h"
#include "cli/analysis/flow_screen.h"
#include "cli/terminal/format.h"
#include "names/names.h"
#include "schema/ops.h"

#define DOT_EDGES_MAX	  5000
#define SHIVIZ_EVENTS_MAX 20000
#define SHIVIZ_TASKS_MAX  500

/* "n2:store-9921": a name without blanks. */
static int put_flow_lane(const struct flow_state *s, const struct flow_node *n, struct buf *to)
{
	_cleanup_buf_ struct buf place = {0}, who = {0};
	int r = flow_place_name(s, flow_node_place(&s->graph, n), &place);

	if (r < 0)
		return r;
	r = names_thread(s->dims, flow_node_thread(&s->graph, n), &who);
	if (r < 0)
		return r;
	format_safe(to, place.data, place.len);
	buf_printf(to, ":");
	r = format_safe(to, who.data, who.len);
	if (r < 0)
		return r;
	for (size_t i = 0; r >= 0 && i < to->len; i++) {
		if (strchr(" \t\"\\{}", to->data[i]))
			to->data[i] = '-';
	}
	return r;
}

/* ---- GraphViz ---- */

static int dot_node(const struct flow_state *s, uint32_t node)
{
	_cleanup_buf_ struct buf lane = {0};
	const struct flow_node *n = &s->graph.nodes[node];
	char room[32];
	int r = put_flow_lane(s, n, &lane);

	if (r < 0)
		return r;
	printf("  n%u [label=\"%s\\n%s\", group=t%u];\n", node, buf_str(&lane),
	       op_name(n->op, room), flow_node_task(&s->graph, n));
	return r;
}

/* Nodes that have edges, in order; those of one task are joined by dashed lines. */
static int flow_dot(const struct flow_state *s)
{
	const struct flow_graph *g = &s->graph;
	size_t edges = MIN(g->edge_count, (size_t)DOT_EDGES_MAX);
	_cleanup_free_ uint32_t *last = malloc((g->tasks + 1) * sizeof(*last));
	_cleanup_free_ bool *has = calloc(g->node_count + 1, sizeof(*has));
	int r = last && has ? 0 : -ENOMEM;

	if (r < 0)
		return r;
	memset(last, 0xff, (g->tasks + 1) * sizeof(*last));
	printf("digraph flow {\n  rankdir=LR;\n  node [shape=box];\n");
	for (size_t i = 0; i < edges; i++)
		has[g->edges[i].from] = has[g->edges[i].to] = true;
	for (uint32_t i = 0; i < g->node_count && r >= 0; i++) {
		uint32_t *before = &last[flow_node_task(g, &g->nodes[i])];

		if (!has[i])
			continue;
		r = dot_node(s, i);
		if (*before != FLOW_NONE)
			printf("  n%u -> n%u [style=dashed, weight=10];\n", *before, i);
		*before = i;
	}
	for (size_t i = 0; i < edges && r >= 0; i++)
		printf("  n%u -> n%u [label=\"%s\"%s];\n", g->edges[i].from, g->edges[i].to,
		       vocab_word("via", g->edges[i].via),
		       g->edges[i].certainty == CERTAINTY_CERTAIN ? "" : ", style=dotted");
	if (g->edge_count > edges)
		printf("  // %zu more edges are left out\n", g->edge_count - edges);
	printf("}\n");
	return r;
}

/* ---- ShiViz ---- */

struct shiviz {
	const struct flow_state *s;
	uint32_t *lane_of; /* task -> lane; FLOW_NONE */
	struct buf names[SHIVIZ_TASKS_MAX];
	size_t lanes;
	uint32_t *vectors;  /* [events][lanes] */
	uint32_t *event_of; /* node -> event; FLOW_NONE */
};

static void shiviz_free(struct shiviz *z)
{
	for (size_t i = 0; i < z->lanes; i++)
		buf_free(&z->names[i]);
	free(z->lane_of);
	free(z->vectors);
	free(z->event_of);
}

static bool shiviz_shows(const struct flow_graph *g, const bool *sends, uint32_t node)
{
	return g->nodes[node].in != FLOW_NONE || sends[node];
}

/* A request of io_uring has a lane of its own beside that of its thread: "n2:store-9921.2". */
static int shiviz_name(struct shiviz *z, const struct flow_node *n)
{
	struct buf *to = &z->names[z->lanes++];
	int r = put_flow_lane(z->s, n, to);
	size_t same = 1, len = to->len;

	for (size_t i = 0; r >= 0 && i + 1 < z->lanes; i++) {
		const struct buf *of = &z->names[i];

		same += of->len >= len && !memcmp(of->data, to->data, len) &&
			(of->len == len || of->data[len] == '.');
	}
	return r < 0 || same == 1 ? r : buf_printf(to, ".%zu", same);
}

/* Chooses the first events, in an order in which all edges point forward, and their lanes. */
static int shiviz_choose(struct shiviz *z, size_t *ret_events, uint64_t *ret_left)
{
	const struct flow_graph *g = &z->s->graph;
	_cleanup_free_ bool *sends = calloc(g->node_count + 1, sizeof(*sends));
	int r = 0;

	z->lane_of = malloc((g->tasks + 1) * sizeof(*z->lane_of));
	z->event_of = malloc((g->node_count + 1) * sizeof(*z->event_of));
	if (!sends || !z->lane_of || !z->event_of)
		return -ENOMEM;
	memset(z->lane_of, 0xff, (g->tasks + 1) * sizeof(*z->lane_of));
	memset(z->event_of, 0xff, (g->node_count + 1) * sizeof(*z->event_of));
	for (size_t i = 0; i < g->edge_count; i++)
		sends[g->edges[i].from] = true;
	for (size_t i = 0; i < g->node_count && r >= 0; i++) {
		uint32_t node = g->order[i],
			 *lane = &z->lane_of[flow_node_task(g, &g->nodes[node])];

		if (!shiviz_shows(g, sends, node))
			continue;
		if (*ret_events == SHIVIZ_EVENTS_MAX ||
		    (*lane == FLOW_NONE && z->lanes == SHIVIZ_TASKS_MAX)) {
			++*ret_left;
			continue;
		}
		if (*lane == FLOW_NONE) {
			*lane = (uint32_t)z->lanes;
			r = shiviz_name(z, &g->nodes[node]);
		}
		z->event_of[node] = (uint32_t)(*ret_events)++;
	}
	return r;
}

static void shiviz_event(struct shiviz *z, uint32_t node, uint32_t *last)
{
	const struct flow_graph *g = &z->s->graph;
	const struct flow_node *n = &g->nodes[node];
	uint32_t lane = z->lane_of[flow_node_task(g, n)],
		 *v = &z->vectors[z->event_of[node] * z->lanes];
	char room[32];
	bool first = true;

	if (last[lane] != FLOW_NONE)
		memcpy(v, &z->vectors[last[lane] * z->lanes], z->lanes * sizeof(*v));
	for (uint32_t e = n->in; e != FLOW_NONE; e = g->edges[e].next_in) {
		uint32_t from = z->event_of[g->edges[e].from];

		if (from == FLOW_NONE || g->edges[e].certainty != CERTAINTY_CERTAIN)
			continue;
		for (size_t i = 0; i < z->lanes; i++)
			v[i] = MAX(v[i], z->vectors[from * z->lanes + i]);
	}
	v[lane]++;
	last[lane] = z->event_of[node];
	printf("%s {", buf_str(&z->names[lane]));
	for (size_t i = 0; i < z->lanes; i++) {
		if (!v[i])
			continue;
		printf("%s\"%s\":%u", first ? "" : ", ", buf_str(&z->names[i]), v[i]);
		first = false;
	}
	printf("}\n%s at %s\n", op_name(n->op, room),
	       format_when(flow_clock_corrected(z->s->clocks, flow_node_place(g, n), n->start),
			   FORMAT_UTC)
		       .s);
}

static int flow_shiviz(const struct flow_state *s)
{
	_cleanup_(shiviz_free) struct shiviz z = {.s = s};
	_cleanup_free_ uint32_t *last = malloc(SHIVIZ_TASKS_MAX * sizeof(*last));
	size_t events = 0;
	uint64_t left = 0;
	int r = last ? shiviz_choose(&z, &events, &left) : -ENOMEM;

	if (r < 0)
		return r;
	memset(last, 0xff, SHIVIZ_TASKS_MAX * sizeof(*last));
	z.vectors = calloc(events * z.lanes + 1, sizeof(*z.vectors));
	if (!z.vectors)
		return -ENOMEM;
	for (size_t i = 0; i < s->graph.node_count; i++) {
		if (z.event_of[s->graph.order[i]] != FLOW_NONE)
			shiviz_event(&z, s->graph.order[i], last);
	}
	if (left)
		fprintf(stderr, "weir: flow: %s more events are left out: select a range\n",
			format_count(left).s);
	return 0;
}

int flow_export(const struct flow_state *s, const char *as)
{
	int r = !strcmp(as, "dot") ? flow_dot(s) : flow_shiviz(s);

	fflush(stdout);
	return r;
}
