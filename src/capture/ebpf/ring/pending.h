/* SPDX-License-Identifier: Apache-2.0 */
/* pending.h: records that wait until nothing earlier can still come, ordered by time. */
#pragma once

#include "capture/ebpf/internal.h"

struct pending {
	uint64_t time; /* of a call its end */
	const struct wire_head *record;
	struct chunk *chunk;
};

struct pending_list {
	struct pending *items;
	size_t at, count; /* those before `at` were given */
	size_t cap;
	struct pending *merged; /* room for pending_sort() */
	size_t merged_cap;
};

void pending_free(struct pending_list *l);
/*
 * Appends a record of a ring whose own begin at `first`, and takes a reference of its chunk. `follows`: others than calls
 * directly before it belong to it and took their time later; they stay before it. 0 or -ENOMEM.
 */
int pending_add(struct pending_list *l, const struct wire_head *record, struct chunk *c,
		size_t first, bool follows);
/* Orders by time what comes as a few ordered runs, one per ring and round. 0 or -ENOMEM. */
int pending_sort(struct pending_list *l);
/* Forgets what was given. */
void pending_compact(struct pending_list *l);
