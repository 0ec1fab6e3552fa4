/* SPDX-License-Identifier: Apache-2.0 */
/*
 * id_array.h: a 32-bit number for each id of a dimension table, in one array per recording, as ids are dense within
 * one. Ids of recordings beyond ID_RECORDINGS_MAX, and ids that are far out of range, as in a damaged trace, have no
 * slot. Starts as {0}.
 */
#pragma once

#include "batch/dims.h"

#define ID_ARRAY_NONE UINT32_MAX /* no number was set for the id */

struct id_array {
	uint32_t *values[ID_RECORDINGS_MAX];
	size_t count[ID_RECORDINGS_MAX];
};

void id_array_free(struct id_array *a);
/* The slot of an id; NULL if it has none, or none yet. */
static inline uint32_t *id_array_at(const struct id_array *a, int64_t id)
{
	uint64_t recording = id_recording(id), own = id_own(id);

	return id >= 0 && recording < ID_RECORDINGS_MAX && own < a->count[recording]
		       ? &a->values[recording][own]
		       : NULL;
}
/* The same, created if the id can have one; else *ret is NULL. 0 or -ENOMEM. */
int id_array_need(struct id_array *a, const struct dims *d, enum table_id table, int64_t id,
		  uint32_t **ret) _must_check_;
