/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_channel.h: one direction of a stream: a pipe, half of a TCP connection or of a pair of unix sockets. Sends and
 * receives are joined by the positions of their bytes, however they were cut.
 *
 * A position is known (the connection's own sequence numbers) or counted, in the order in which the calls of that end
 * returned. A count is right where the call shares no moment with another call of the same end. Where it does, the bytes of
 * such calls lie in a range that is certain, in an order that is not: what joins them to the other end is contested. A call
 * that blocks may return long after others of its end: edges that were made meanwhile become contested then.
 */
#pragma once

#include "analysis/flow/flow_graph.h"

#define FLOW_ITEMS_MAX (3u << 20) /* calls that wait for the other end, of all channels: 288 MiB */

enum flow_side { FLOW_SEND, FLOW_RECEIVE };

/* Bytes that a call moved at one end. */
struct flow_item {
	uint32_t node;
	bool exact;	    /* pos is right */
	int64_t pos, bytes; /* in a channel of messages: their number, and one for each */
	int64_t moved;	    /* bytes */
	int64_t low, high;  /* where the bytes are for certain, if not exact */
	int64_t start, end; /* of the call */
	int64_t left;	    /* bytes that the other end is not known for */
	int64_t file_id;
};

struct flow_end {
	struct flow_item *items; /* that wait, by position: [first, count) */
	size_t first, count, cap;
	int64_t total;	 /* position behind what moved so far */
	int64_t ended;	 /* when the last call of this end returned */
	int64_t origin;	 /* of known positions: the first */
	bool used;	 /* a call was there */
	bool known;	 /* positions are known */
	bool from_start; /* recording began before the first byte */
	uint64_t moved;
	uint16_t place;	   /* which recording */
	uint32_t task;	   /* who was there last; FLOW_NONE: nobody */
	int64_t file_id;   /* what they used */
	struct map pieces; /* index of a piece -> its hash (flow_content.h) */
};

struct flow_channel {
	struct flow_end ends[2];
	uint32_t chain; /* the edge that was made last */
	uint8_t via;
	bool messages;	/* boundaries are kept: positions count messages */
	bool apart;	/* the ends have clocks of their own */
	bool ambiguous; /* the other end may be another one: all is contested */
	int64_t born;	/* when the first call began */
	/* sends whose task had last received from somewhere else; and from the other end, as an answer follows a request */
	uint64_t pushed, pulled;
	bool shared;   /* calls of one end shared a moment: counted positions may have been wrong */
	uint32_t late; /* receives that ended before their send began, by one clock */
};

/* What channels share. */
struct flow_channels {
	struct flow_graph *graph;
	uint64_t items;	  /* that wait */
	uint64_t dropped; /* that were given up at the limit */
	/* Each certain pair of a send and a receive of two recordings, for their clocks. May be NULL. */
	int (*pair)(void *arg, const struct flow_channel *c, uint32_t send, uint32_t receive);
	/* Each piece that both ends moved. May be NULL. */
	int (*joined)(void *arg, const struct flow_edge *e, int64_t send_at, int64_t receive_at);
	void *arg;
};

/*
 * A call of one end: node, bytes, start, end, file_id of `item` are set. `pos` is its known position, -1: none; `sure`:
 * which no other call may have. 0 or -ENOMEM.
 */
int flow_channel_take(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
		      struct flow_item *item, int64_t pos, bool sure) _must_check_;
/* A call of one end that did not end moved nobody knows how much since `start`: edges since then are contested. */
void flow_channel_break(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			int64_t start);
/* Forgets what waits. */
void flow_channel_free(struct flow_channels *all, struct flow_channel *c);
