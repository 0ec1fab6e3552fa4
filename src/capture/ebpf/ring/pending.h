/* SPDX-License-Identifier: Apache-2.0 */
/* pending.h: records that wait, ordered by time, until no earlier one can arrive. */
#pragma once

#include "capture/ebpf/internal.h"

struct pending {
	uint64_t time; /* for a call its end */
	const struct wire_head *record;
	struct chunk *chunk;
};

struct pending_list {
	struct pending *items;
	size_t at, count; /* those before `at` were delivered */
	size_t cap;
	struct pending *merged; /* scratch space of pending_sort() */
	size_t merged_cap;
};

void pending_free(struct pending_list *l);
/*
 * Appends a record of a ring whose own records begin at `first`, and takes a reference to its chunk. `follows`: the
 * records other than calls directly before it belong to it and have later times; they stay before it. 0 or -ENOMEM.
 */
int pending_add(struct pending_list *l, const struct wire_head *record, struct chunk *c,
		size_t first, bool follows);
/* Sorts by time; the input consists of a few sorted runs, one per ring and round. 0 or -ENOMEM. */
int pending_sort(struct pending_list *l);
/* Drops what was delivered. */
void pending_compact(struct pending_list *l);
