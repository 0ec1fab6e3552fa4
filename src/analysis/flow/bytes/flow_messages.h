/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_messages.h: messages that sockets sent and received: datagrams, packets of unix sockets, and those found in streams
 * (flow_frames.c); those that a process receives and sends on (flow_relays.c).
 */
#pragma once

#include "analysis/flow/flow_pass.h"
#include "base/buf.h"

/* What shows the borders of messages. */
enum flow_framing {
	FRAMED_BY_SOCKET, /* datagrams, packets */
	/* in a stream: */
	FRAMED_BY_CALL,	 /* each call moves one */
	FRAMED_BY_LINE,	 /* a newline follows each one */
	FRAMED_AS_LINE,	 /* each one ends with a newline */
	FRAMED_BY_NUL,	 /* a NUL byte follows each one */
	FRAMED_BY_COUNT, /* "123 " precedes it: octet counting (RFC 6587) */
	FRAMED_BY_2,	 /* its size precedes it, most significant byte first, as in DNS */
	FRAMED_BY_4,
	FRAMED_BY_4_LITTLE, /* least significant byte first */
	FLOW_FRAMINGS,
};

/* One direction of one socket, to or from one address. */
struct flow_sequence {
	struct flow_message *all;
	size_t count, cap;
	uint64_t address;	  /* its hash; 0: not known, or there is none */
	int64_t process;	  /* who sent or received them; -1: several */
	uint32_t object, partner; /* partner: the other sequence; FLOW_NONE: none yet */
	uint32_t channel;	  /* of the pair */
	enum flow_side side;
	enum flow_framing framing;
	/* of a stream: the beginning of a message, the call that moved it, and the position after it; -1: unknown */
	struct buf begun;
	uint32_t begun_by;
	int64_t next;
	bool useless; /* of a stream: its messages are not framed in this way */
	/* of a stream: messages of more than a few bytes that were found in this way, and dropped */
	uint32_t dropped;
	/*
	 * unknown: has messages without content, or matches with several sequences; unhashed: the former; anyone: the
	 * other address is not known
	 */
	bool unknown, unhashed, anyone;
};

static inline uint64_t flow_sequence_key(uint32_t object, enum flow_side side, uint64_t address)
{
	return address ^ hash_u64((uint64_t)object << 1 | side);
}

/* Of a message that a process moved, by its content. */
static inline uint64_t flow_message_key(int64_t process, enum flow_side side, uint64_t hash,
					int64_t size)
{
	return hash_u64(((uint64_t)process << 1 | side) ^ hash_u64(hash + (uint64_t)size));
}

/* In the place of the content: the process moved messages in this direction; it moved bytes of streams (in any: FLOW_SEND). */
#define FLOW_MOVES_MESSAGES 0
#define FLOW_MOVES_STREAMS  1

/* flow_frames.c: of each stream, leaves the sequence whose messages the process moved elsewhere, if there is one. */
void flow_frames_end(struct flow_state *s);
/* Judges what processes did with messages that they forward. */
void flow_relays_judge(struct flow_state *s);
