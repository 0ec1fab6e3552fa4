/* SPDX-License-Identifier: Apache-2.0 */
/* span_events.h: parses the records of span rings and orders them by time. */
#pragma once

#include "capture/ebpf/spans/span_rings.h"

/* A valid record. Its texts follow in sequence: name (or key of a note), service, key, value. */
struct span_event {
	int64_t time;
	uint64_t process; /* span_process.number */
	uint64_t span, parent, trace[2];
	int64_t integer;
	int32_t tid; /* of the writer, in the program's pid namespace */
	uint8_t type, flags;
	uint16_t name_len, service_len, key_len, value_len;
};

struct span_order {
	int64_t time;
	uint64_t
		at; /* position of the event in span_events.data, which is also the order of arrival */
};

struct span_events {
	struct buf data;
	struct span_order *order; /* [count], sorted by time from `next` on */
	size_t count, cap, next;
	bool sorted;
	uint64_t bad; /* malformed records */
};

void span_events_free(struct span_events *e);
/* Parses a chunk. A ring with a malformed record is stopped. 0 or -ENOMEM. */
int span_events_add(struct span_events *e, const struct span_chunk *c) _must_check_;
/* Limits the times of a process's events to the time when it ended. */
void span_events_limit(struct span_events *e, uint64_t process, int64_t time);
/* The first event at or before `until`; NULL: none. Valid until the next call. */
const struct span_event *span_events_next(struct span_events *e, int64_t until);
