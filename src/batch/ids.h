/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ids.h: ids of several recordings that are read as one. Ids are dense within a recording; row `own` of recording k (0,
 * 1, 2, ... in reading order) has the id k << ID_SHIFT | own, so that ids of the first recording are those in its file.
 * No other source file depends on this layout.
 */
#pragma once

#include <stdint.h>

#define ID_SHIFT    40
#define ID_OWN_MASK ((1ll << ID_SHIFT) - 1)

/* Arrays and numbers with a place per recording have room for this many. */
#define ID_RECORDING_BITS 8
#define ID_RECORDINGS_MAX (1u << ID_RECORDING_BITS)

/* The recording that an id >= 0 belongs to. */
static inline uint64_t id_recording(int64_t id)
{
	return (uint64_t)id >> ID_SHIFT;
}

/* The id within its recording, as stored in the file. */
static inline uint64_t id_own(int64_t id)
{
	return (uint64_t)(id & ID_OWN_MASK);
}

/* The id of row `own` of a recording. Ids from a damaged file stay within their recording; in the first recording they
 * are unchanged. */
static inline int64_t id_compose(int64_t own, uint64_t recording)
{
	return recording ? (int64_t)(recording << ID_SHIFT | id_own(own)) : own;
}
