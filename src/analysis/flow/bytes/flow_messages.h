/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_messages.h: messages that sockets sent and received: datagrams, and packets of unix sockets; those that a process
 * receives and sends on (flow_relays.c).
 */
#pragma once

#include "analysis/flow/flow_pass.h"

/* One direction of one socket, to or from one address. */
struct flow_sequence {
	struct flow_message *all;
	size_t count, cap;
	uint64_t address;	  /* its hash; 0: not known, or there is none */
	int64_t process;	  /* who sent or received them; -1: several */
	uint32_t object, partner; /* partner: the other sequence; FLOW_NONE: none yet */
	uint32_t channel;	  /* of the pair */
	enum flow_side side;
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

/* Judges what processes did with messages that they forward. */
void flow_relays_judge(struct flow_state *s);
