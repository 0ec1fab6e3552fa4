/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_graph.h: happens-before as a graph of operations. Nodes are the operations that an edge may begin or end at, numbered in
 * the order in which they were read, so that the numbers of one task rise in its program order, which is implicit. Edges are
 * direct: nothing that follows from program order and other edges is stored.
 *
 * flow_graph_number() gives every node one Lamport number, over certain edges, and an order in which every edge leads forward,
 * in O(nodes + edges). The past of an operation is one backward pass over that order with one number per task. Vectors per
 * operation would take gigabytes: Lamport, "Time, Clocks, and the Ordering of Events", 1978, for the numbers; Fidge and
 * Mattern, 1988, for what is left out.
 *
 *   struct flow_graph g = {0};
 *   a = flow_graph_node(&g, &(struct flow_node){...});
 *   flow_graph_edge(&g, &(struct flow_edge){.from = a, .to = b, .via = VIA_PIPE, .certainty = CERTAINTY_CERTAIN});
 *   flow_graph_number(&g);
 */
#pragma once

#include "base/map.h"
#include "schema/vocab.h"

#define FLOW_NONE	UINT32_MAX  /* no node, edge, task or object */
#define FLOW_NODES_MAX	(12u << 20) /* 576 MiB; operations beyond are counted as left out */
#define FLOW_EDGES_MAX	(10u << 20) /* 400 MiB */
#define FLOW_OVERLAPPED (1u << 31)  /* in maps of writers: another write shared a moment with it */

/* An operation: a write(2) of thread 17, with all that a screen needs of it. */
struct flow_node {
	int64_t row_id, start, dur; /* row of op, -1: none; ns */
	int64_t thread_id;	    /* the version */
	uint32_t
		task; /* who made it; a request of io_uring, which no program order holds, is a task alone */
	uint32_t in;	    /* the edge that was added last to lead here */
	uint16_t op, place; /* its code; which recording */
};

struct flow_edge {
	uint32_t from, to;
	uint32_t next_in; /* the edge that was added before to lead to `to` */
	uint32_t chain;	  /* the one before over the same channel (flow_channel.h) */
	int64_t pos;	  /* in the file or stream; -1: nowhere */
	int64_t file_id;  /* of the side that took it; -1: none */
	uint32_t bytes;	  /* UINT32_MAX: that or more */
	uint8_t via, certainty;
};

struct flow_graph {
	struct flow_node *nodes;
	size_t node_count, node_cap;
	struct flow_edge *edges;
	size_t edge_count, edge_cap;
	uint32_t *order;   /* nodes, every edge forward; by flow_graph_number() */
	uint32_t *lamport; /* [nodes] 1, 2, ...; likewise, so that nodes stay as they are */
	uint32_t tasks;	   /* one past the highest */
	uint64_t cycles;   /* certain edges that contradict others, ignored in numbering */
	uint64_t left_out; /* nodes and edges beyond the limits */
	uint64_t by_via[VIA_COUNT][CERTAINTY_COUNT];
};

void flow_graph_free(struct flow_graph *g);
/* Adds a node; its number, FLOW_NONE at the limit (counted), or -ENOMEM. */
int64_t flow_graph_node(struct flow_graph *g, const struct flow_node *n) _must_check_;
/* Adds an edge; 0 where it leads nowhere (a FLOW_NONE end, or within one task) or beyond the limit; 1, or -ENOMEM. */
int flow_graph_edge(struct flow_graph *g, const struct flow_edge *e) _must_check_;
/* Makes an edge contested. */
void flow_graph_contest(struct flow_graph *g, uint32_t edge);
/* Lamport numbers and order[]. 0 or -ENOMEM. */
int flow_graph_number(struct flow_graph *g) _must_check_;
/* What precedes an operation in another task: the last node of that task from which it follows, by which edge. */
struct flow_past {
	uint32_t node; /* FLOW_NONE: it follows from none */
	uint32_t edge; /* FLOW_NONE: in the operation's own task */
};
/*
 * The past of `node`, for each of g->tasks. With `certain` over certain edges only; else the contested ones that contradict
 * no certain one count as well. After flow_graph_number().
 */
void flow_graph_past(const struct flow_graph *g, uint32_t node, bool certain,
		     struct flow_past *ret);
static inline int64_t flow_node_end(const struct flow_node *n)
{
	return n->start + n->dur;
}
