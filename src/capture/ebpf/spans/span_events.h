/* SPDX-License-Identifier: Apache-2.0 */
/* span_events.h: the records of rings of spans, taken apart and put in the order of time. */
#pragma once

#include "capture/ebpf/spans/span_rings.h"

/* A record that makes sense. Its texts follow one behind the other: name (or key of a note), service, key, value. */
struct span_event {
	int64_t time;
	uint64_t process; /* span_process.number */
	uint64_t span, parent, trace[2];
	int64_t integer;
	int32_t tid; /* of the writer, as the program has it */
	uint8_t type, flags;
	uint16_t name_len, service_len, key_len, value_len;
};

struct span_order {
	int64_t time;
	uint64_t
		at; /* of the event in span_events.data, which is also the order in which it came */
};

struct span_events {
	struct buf data;
	struct span_order *order; /* [count], by time from `next` on */
	size_t count, cap, next;
	bool sorted;
	uint64_t bad; /* records that make no sense */
};

void span_events_free(struct span_events *e);
/* Takes a chunk apart. A ring in which a record is malformed is stopped. 0 or -ENOMEM. */
int span_events_add(struct span_events *e, const struct span_chunk *c) _must_check_;
/* What a process wrote happened no later than this, when it ended. */
void span_events_limit(struct span_events *e, uint64_t process, int64_t time);
/* The first that happened before `until` or then; NULL: none. It is gone with the next call. */
const struct span_event *span_events_next(struct span_events *e, int64_t until);
