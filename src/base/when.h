/* SPDX-License-Identifier: Apache-2.0 */
/* when.h: times of the calendar, as people and weir's own screens write them. */
#pragma once

#include <stddef.h>

#include "base/util.h"

/* English names, as everywhere in weir. */
extern const char when_months[12][4];

/* The time range in question, in ns since the epoch: supplies the date that a text leaves out. */
struct when_frame {
	int64_t first, last;
	bool utc; /* a time without a zone is UTC, not local time */
};

/*
 * "2026-11-21T14:00:03.5", "2026-11-21 14:00", "2026-11-21", each with "Z", "+01:00" or "-0500" behind it
 * where it is not local time. With a frame also "22 Nov 14:00:03" and "14:00:03": in the year, on the day in which that lies within
 * the frame, else in the nearest of its own. Of an hour that clocks show twice the one within the frame (without a frame the
 * first); a time in an hour that they skip does not exist. -EINVAL: no such time; -ERANGE: it came more than once within the frame.
 */
int when_parse(const char *text, size_t len, const struct when_frame *frame, int64_t *ret_ns);
