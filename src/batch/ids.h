/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids.h: ids of several recordings that are read as one. Ids are dense within a recording; that of row `own` of
 * recording k (0, 1, 2, ... in the order of reading) is k << ID_SHIFT | own, so that ids of the first are as they stand
 * in its file. No other file depends on this layout.
 */
#pragma once

#include <stdint.h>

#define ID_SHIFT    40
#define ID_OWN_MASK ((1ll << ID_SHIFT) - 1)

/* Which recording an id >= 0 belongs to. */
static inline uint64_t id_recording(int64_t id)
{
	return (uint64_t)id >> ID_SHIFT;
}

/* The id within its recording: what stands in the file. */
static inline uint64_t id_own(int64_t id)
{
	return (uint64_t)(id & ID_OWN_MASK);
}

/* The id of row `own` of a recording. What a damaged file gives stays within its recording; in the first it is left as it is. */
static inline int64_t id_compose(int64_t own, uint64_t recording)
{
	return recording ? (int64_t)(recording << ID_SHIFT | id_own(own)) : own;
}
