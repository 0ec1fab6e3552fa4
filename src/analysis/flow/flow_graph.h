/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_graph.h: happens-before as a graph of operations. Nodes are the operations at which edges begin or end, numbered
 * in the order in which they were read; numbers of one task therefore increase in its program order, which is implicit.
 * Edges are direct: anything that follows from program order and other edges is not stored.
 *
 * flow_graph_number() assigns each node a Lamport number, over certain edges, and an order in which every edge leads
 * forward, in O(nodes + edges). The past of an operation is one backward pass over that order with one number per task.
 * Vector clocks per operation would take gigabytes. Lamport, "Time, Clocks, and the Ordering of Events", 1978, for the
 * numbers; Fidge and Mattern, 1988, for vector clocks.
 *
 *   struct flow_graph g = {0};
 *   a = flow_graph_node(&g, &(struct flow_operation){...});
 *   flow_graph_edge(&g, &(struct flow_edge){.from = a, .to = b, .via = VIA_PIPE, .certainty = CERTAINTY_CERTAIN});
 *   flow_graph_number(&g);
 */
#pragma once

#include "base/map.h"
#include "batch/ids.h"
#include "schema/vocab.h"

#define FLOW_NONE      UINT32_MAX  /* no node, edge, task or object */
#define FLOW_NODES_MAX (12u << 20) /* 384 MiB; further operations are counted as left out */
#define FLOW_EDGES_MAX (14u << 20) /* 448 MiB */
#define FLOW_ROW_BITS  48
#define FLOW_FILE_BITS 36
#define FLOW_POS_BITS  53
/* flag in maps of writers: the write overlapped in time with another */
#define FLOW_OVERLAPPED (1u << 31)

/* An operation, for example a write(2) of thread 17, with all data that a screen shows of it. */
struct flow_operation {
	int64_t row_id, start, dur; /* row of op, -1: none; ns */
	int64_t thread_id;	    /* version of the thread */
	/* its task; a request of io_uring, which has no program order, is a task of its own */
	uint32_t task;
	uint16_t op; /* code of the call */
};

struct flow_edge {
	uint32_t from, to;
	uint32_t chain;	 /* the previous edge over the same channel (flow_channel.h) */
	int64_t pos;	 /* in the file or stream; -1: unknown */
	int64_t file_id; /* of the receiving side; -1: none */
	int64_t bytes;	 /* stored up to UINT32_MAX */
	uint8_t via;
	bool certain; /* otherwise contested */
};

/* Who performed operations. */
struct flow_actor {
	int64_t thread_id;
	uint32_t task;
};

/* Both as stored, in 32 bytes each: a graph of 10 M calls has more than 10 M of both. */
struct flow_node {
	int64_t start, dur;
	uint64_t row : FLOW_ROW_BITS,
		       op : 16; /* row within the recording of the thread; all ones: none */
	uint32_t actor;		/* index in flow_graph.actors */
	uint32_t in;		/* the last edge added that leads here */
};

struct flow_arc {
	uint32_t from, to;
	uint32_t next_in; /* the previous edge added that leads to `to` */
	uint32_t chain, bytes;
	uint32_t file_low;	     /* the file within the recording of `to`; all ones: none */
	int64_t pos : FLOW_POS_BITS; /* positions beyond 4 PiB are stored as unknown */
	uint64_t file_high : FLOW_FILE_BITS - 32, via : 5, certainty : 2;
};

_Static_assert(sizeof(struct flow_node) == 32 && sizeof(struct flow_arc) == 32,
	       "limits are in MiB");
_Static_assert(VIA_COUNT <= 1 << 5 && CERTAINTY_COUNT <= 1 << 2, "they fit in flow_arc");

struct flow_graph {
	struct flow_node *nodes;
	size_t node_count, node_cap;
	struct flow_arc *edges;
	size_t edge_count, edge_cap;
	struct flow_actor *actors;
	size_t actor_count, actor_cap;
	uint32_t *actor_of; /* [tasks]: the last one of each */
	size_t actor_of_count, actor_of_cap;
	uint32_t *order;   /* set by flow_graph_number(): nodes, every edge leads forward */
	uint32_t *lamport; /* [nodes]: 1, 2, ...; separate, so that nodes are not modified */
	uint32_t tasks;	   /* number of the highest task + 1 */
	uint64_t cycles;   /* certain edges that contradict others, ignored in numbering */
	uint64_t left_out; /* nodes and edges beyond the limits */
	int r;		   /* 0, or the first error: nothing can be relied upon after it */
	uint64_t by_via[VIA_COUNT][CERTAINTY_COUNT];
};

void flow_graph_free(struct flow_graph *g);
/* Notes an error, unless there is one already. */
static inline void flow_graph_failed(struct flow_graph *g, int r)
{
	if (r < 0 && g->r >= 0)
		g->r = r;
}
/* Adds a node; returns its index, or FLOW_NONE at the limit (counted) and after an error. */
uint32_t flow_graph_node(struct flow_graph *g, const struct flow_operation *o);
/* Adds an edge; false if an end is FLOW_NONE, both ends are in one task, at the limit (counted), and after an error. */
bool flow_graph_edge(struct flow_graph *g, const struct flow_edge *e);
/* Makes an edge contested. */
void flow_graph_contest(struct flow_graph *g, uint32_t edge);
/* Computes Lamport numbers and order[]. 0 or -ENOMEM. */
int flow_graph_number(struct flow_graph *g) _must_check_;
/* For one task, its last node that precedes an operation, and the edge through which it does. */
struct flow_past {
	uint32_t node; /* FLOW_NONE: no node of the task precedes it */
	uint32_t edge; /* FLOW_NONE: in the operation's own task */
};
/*
 * Computes the past of `node`, for each of g->tasks. `certain`: over certain edges only; otherwise also over contested
 * edges that contradict no certain edge. Call flow_graph_number() before.
 */
void flow_graph_past(const struct flow_graph *g, uint32_t node, bool certain,
		     struct flow_past *ret);
static inline int64_t flow_node_end(const struct flow_node *n)
{
	return n->start + n->dur;
}
static inline uint32_t flow_node_task(const struct flow_graph *g, const struct flow_node *n)
{
	return g->actors[n->actor].task;
}
static inline int64_t flow_node_thread(const struct flow_graph *g, const struct flow_node *n)
{
	return g->actors[n->actor].thread_id;
}
/* Index of the recording. */
static inline uint16_t flow_node_place(const struct flow_graph *g, const struct flow_node *n)
{
	return (uint16_t)MIN(id_recording(flow_node_thread(g, n)), (uint64_t)UINT16_MAX);
}
/* Its row of op; -1: none. */
int64_t flow_node_row(const struct flow_graph *g, const struct flow_node *n);
/* The file of the receiving side; -1: none. */
int64_t flow_edge_file(const struct flow_graph *g, const struct flow_arc *e);
/* The position, and the number of bytes, as stored. */
int64_t flow_edge_pos(int64_t pos);
uint32_t flow_edge_bytes(int64_t n);
