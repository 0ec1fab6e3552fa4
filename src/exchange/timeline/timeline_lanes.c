// SPDX-License-Identifier: Apache-2.0
/* timeline_lanes.c: assigns slices to tracks of one name so that slices of a track never cross. */
#include <errno.h>
#include <stdlib.h>

#include "exchange/timeline/timeline.h"

/* Slices of a lane stored separately; older ones are merged into one. A slice that began long ago then goes to another lane. */
#define LANE_SLICES_MAX 64

void timeline_lanes_free(struct timeline_lanes *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->all[i].slices);
	free(l->all);
	*l = (struct timeline_lanes){0};
}

/*
 * A slice that ends after `start` must also begin after it: viewers cannot tell which of two slices with equal starts
 * is the outer one.
 */
static bool lane_is_free(const struct timeline_lane *l, int64_t start)
{
	for (size_t i = l->count; i-- > 0 && l->slices[i].stop > start;) {
		if (l->slices[i].start <= start)
			return false;
	}
	return true;
}

size_t timeline_lanes_find(const struct timeline_lanes *l, int64_t start)
{
	for (size_t i = 0; i < l->count; i++) {
		if (lane_is_free(&l->all[i], start))
			return i;
	}
	return l->count;
}

int timeline_lanes_add(struct timeline_lanes *l, const struct timeline_track *t)
{
	struct timeline_lane *all = reallocarray(l->all, l->count + 1, sizeof(*all));

	if (!all)
		return -ENOMEM;
	l->all = all;
	l->all[l->count++] = (struct timeline_lane){.track = *t};
	return 0;
}

int timeline_lanes_take(struct timeline_lanes *l, size_t i, int64_t start, int64_t stop)
{
	struct timeline_lane *lane = &l->all[i];

	assert(i < l->count && start <= stop);
	if (!lane->slices) {
		lane->slices = calloc(LANE_SLICES_MAX, sizeof(*lane->slices));
		if (!lane->slices)
			return -ENOMEM;
	}
	while (lane->count && lane->slices[lane->count - 1].start >= start)
		lane->count--;
	if (lane->count == LANE_SLICES_MAX) {
		lane->slices[1].start = lane->slices[0].start;
		lane->count--;
		memmove(lane->slices, lane->slices + 1, lane->count * sizeof(*lane->slices));
	}
	lane->slices[lane->count++] = (struct lane_slice){start, stop};
	return 0;
}
