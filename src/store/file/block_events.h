/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_events.h: the numbers of events in the headers of blocks. What a writer learns (store_note_events()) goes into the
 * header of the next block of calls or marks, as an extra; readers add these up. Inside store/ only.
 */
#pragma once

#include "base/buf.h"
#include "batch/events.h"
#include "store/file/block.h"

/* The counts that a writer has, and those that its blocks have. */
struct event_notes {
	struct event_count *now, *written; /* [count] */
	size_t count;
	struct buf text; /* of the extra */
};

int events_note(struct event_notes *n, const struct event_count *cpus, size_t count) _must_check_;
/* The data of an extra: the counts that no block has yet; empty if there are none. Valid until the next call. 0 or
 * -ENOMEM. */
int events_text(struct event_notes *n, struct bytes *ret) _must_check_;
/* The block with that extra was committed. */
void events_committed(struct event_notes *n);
void events_free(struct event_notes *n);

/* What an extra says of one CPU. */
struct event_range {
	uint64_t cpu;
	uint64_t first, numbers; /* first, first + 1, ... */
	uint64_t came;		 /* at most `numbers` */
	uint64_t filtered;
};

/* Takes the next CPU off [*p, end); false at the end, or where the rest is malformed. */
bool events_next(const uint8_t **p, const uint8_t *end, struct event_range *ret);
