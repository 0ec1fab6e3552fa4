/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_channel.h: one direction of a stream: a pipe, half of a TCP connection or of a pair of unix sockets. Sends and
 * receives are joined by the positions of their bytes, however these were divided into calls.
 *
 * A position is known (the connection's own sequence numbers) or counted, in the order in which the calls of that end
 * returned. A count is exact if the call does not overlap in time with another call of the same end. Otherwise the
 * bytes of the overlapping calls are in a range that is certain, in an uncertain order, and their edges to the other
 * end are contested. A call that blocks may return long after others of its end: edges made in the meantime then become
 * contested.
 *
 * Calls whose content was lost have no known position, and are counted from the last known one. This is right unless calls
 * between them are missing; if the next known position is where the count has arrived, none is. An end that had none so far is
 * counted from 0 until a position is known, and moved there then.
 */
#pragma once

#include "analysis/flow/flow_graph.h"

/* calls that wait for the other end, over all channels: 288 MiB */
#define FLOW_ITEMS_MAX (3u << 20)

#define FLOW_RUN_MAX 4

enum flow_side { FLOW_SEND, FLOW_RECEIVE };

/* Bytes that a call moved at one end. */
struct flow_item {
	uint32_t node;
	bool exact;	    /* pos is exact */
	int64_t pos, bytes; /* in a channel of messages: index of the first, and their number */
	int64_t moved;	    /* bytes */
	int64_t low, high;  /* range in which the bytes certainly are, if not exact */
	int64_t start, end; /* of the call */
	int64_t left;	    /* bytes not yet matched with the other end */
	int64_t file_id;
};

struct flow_end {
	struct flow_item *items; /* waiting items by position: [first, count) */
	size_t first, count, cap;
	int64_t total;	 /* position after the bytes moved so far */
	int64_t ended;	 /* return of the last call of this end */
	int64_t origin;	 /* first of the known positions */
	bool used;	 /* a call used this end */
	bool known;	 /* positions are known */
	bool from_start; /* recording began before the first byte */
	uint64_t moved;
	int64_t unseen;	   /* bytes whose content is not known */
	int64_t next;	   /* in a channel of messages: the place of the next one's bytes */
	uint16_t place;	   /* which recording */
	uint32_t task;	   /* last user; FLOW_NONE: none */
	int64_t file_id;   /* file used by the calls */
	struct map pieces; /* index of a piece -> its hash (flow_content.h) */
	/* calls without a position since the last known one: more than fit in `run` if run_count is larger */
	uint32_t run[FLOW_RUN_MAX], run_count;
};

/* A call that is joined later (flow_anchors.c); one that did not end has no node. */
struct flow_logged {
	uint64_t hash;
	int64_t bytes, moved; /* as in flow_item; moved: start of a call that did not end */
	uint32_t node;
	uint8_t side;
	bool hashed;
};

struct flow_channel {
	struct flow_end ends[2];
	uint32_t chain; /* last edge made */
	uint8_t via;
	bool messages;	/* message boundaries are preserved: positions count messages */
	bool open;	/* messages of one end of a socket, whose other ends may be several */
	bool apart;	/* the ends have different clocks */
	bool ambiguous; /* the peer may be another one: all edges are contested */
	int64_t born;	/* start of the first call */
	/* sends whose task last received from elsewhere; and from this peer, like a response to a request */
	uint64_t pushed, pulled;
	bool shared;   /* calls of one end overlapped: counted positions may be wrong */
	bool deferred; /* its calls are joined at the end */
	struct flow_logged *log;
	size_t log_count, log_cap;
	uint32_t late; /* receives that ended before their send began, by the same clock */
};

/* State shared by channels. */
struct flow_channels {
	struct flow_graph *graph;
	uint64_t items;	  /* waiting */
	uint64_t dropped; /* dropped at the limit */
	/* Called for each certain pair of a send and a receive in two recordings, for their clocks. May be NULL. */
	void (*pair)(void *arg, const struct flow_channel *c, uint32_t send, uint32_t receive);
	void *arg;
	/* calls without a position on ends with known ones: node * 2 + side -> 1 */
	struct map counted;
};

/*
 * Adds a call of one end: node, bytes, start, end, file_id of `item` are set. `pos` is its known position, -1: none;
 * `sure`: no other call can have it. An error is noted in the graph.
 */
void flow_channel_take(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
		       struct flow_item *item, int64_t pos, bool sure);
/* An unfinished call of one end has moved an unknown number of bytes since `start`: edges since then become contested. */
void flow_channel_break(struct flow_channels *all, struct flow_channel *c, enum flow_side side,
			int64_t start);
/* True if an edge between the two calls may be wrong if the stream has calls that are missing. */
bool flow_channel_counts(const struct flow_channels *all, const struct flow_channel *c,
			 uint32_t send, uint32_t receive);
/* Drops the waiting calls. */
void flow_channel_clear(struct flow_channels *all, struct flow_channel *c);
void flow_channel_free(struct flow_channels *all, struct flow_channel *c);
