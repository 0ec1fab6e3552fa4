/* SPDX-License-Identifier: Apache-2.0 */
/*
 * block_events.h: the numbers of events in the headers of blocks. The counts that a writer is given
 * (store_note_events()) go into the header of the next block of calls or marks, as an extra; readers sum the extras.
 * Inside store/ only.
 */
#pragma once

#include "base/buf.h"
#include "batch/events.h"
#include "store/file/block.h"

/* The counts that the writer was given, and those that its blocks already contain. */
struct event_notes {
	struct event_count *now, *written; /* [count] */
	size_t count;
	struct buf text; /* the extra */
};

int events_note(struct event_notes *n, const struct event_count *cpus, size_t count) _must_check_;
/*
 * The data of an extra: counts that are in no block yet; empty if there are none. Valid until the next call. 0 or
 * -ENOMEM.
 */
int events_text(struct event_notes *n, struct bytes *ret) _must_check_;
/* Call this once the block with that extra is committed. */
void events_committed(struct event_notes *n);
void events_free(struct event_notes *n);

/* One CPU's part of an extra. */
struct event_range {
	uint64_t cpu;
	uint64_t first, numbers; /* first, first + 1, ... */
	uint64_t came;		 /* at most `numbers` */
	uint64_t filtered;
};

/* Takes the next CPU off [*p, end); false at the end, or if the rest is malformed. */
bool events_next(const uint8_t **p, const uint8_t *end, struct event_range *ret);
