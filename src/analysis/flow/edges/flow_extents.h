/* SPDX-License-Identifier: Apache-2.0 */
/*
 * flow_extents.h: the last writer of each byte of a file: sorted boundaries, in leaves of up to 128 with a directory. A
 * write costs two searches and a move within a leaf, regardless of the size of the map. Exact.
 *
 *   struct flow_extents x = {0};
 *   flow_extents_put(&x, &room, 0, 100, 7);
 *   flow_extents_put(&x, &room, 10, 20, 8);
 *   for (int64_t pos = 0; flow_extents_next(&x, &pos, 100, &e);)      // 0..10 of 7, 10..20 of 8, 20..100 of 7
 */
#pragma once

#include "base/util.h"

#define FLOW_BOUNDARIES_MAX (12u << 20) /* over all files: 192 MiB plus a third */

struct flow_leaf;

/* Initialized with {0}. */
struct flow_extents {
	struct flow_leaf **leaves;
	size_t count, cap;
};

struct flow_extents_room {
	uint64_t used; /* boundaries in all maps */
};

struct flow_extent {
	int64_t from, to;
	uint32_t writer;
};

void flow_extents_free(struct flow_extents *x, struct flow_extents_room *room);
/* [from, to) was written by `writer`; FLOW_NONE: removed. 0, -ENOMEM, or -ENOSPC at the limit of all maps. */
int flow_extents_put(struct flow_extents *x, struct flow_extents_room *room, int64_t from,
		     int64_t to, uint32_t writer) _must_check_;
/* The first piece with a writer in [*pos, to), clipped to it; *pos is set to its end. False: none. */
bool flow_extents_next(const struct flow_extents *x, int64_t *pos, int64_t to,
		       struct flow_extent *ret);
