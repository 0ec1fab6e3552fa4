/* SPDX-License-Identifier: Apache-2.0 */
/* when.h: calendar times as people and weir's screens write them. */
#pragma once

#include <stddef.h>

#include "base/util.h"

/* English names, as everywhere in weir. */
extern const char when_months[12][4];

/* The relevant time range, in ns since the epoch: supplies the date that a text omits. */
struct when_frame {
	int64_t first, last;
	bool utc; /* a time without a zone is UTC, not local time */
};

/*
 * "2026-11-21T14:00:03.5", "2026-11-21 14:00", "2026-11-21", each optionally followed by "Z", "+01:00" or "-0500";
 * local time otherwise. With a frame also "22 Nov 14:00:03" and "14:00:03": the year or day is the one that puts the
 * time within the frame, else the nearest. If clocks show an hour twice, the time within the frame is meant (without a
 * frame the first); a time in an hour that they skip does not exist. -EINVAL: no such time; -ERANGE: it occurred more
 * than once within the frame.
 */
int when_parse(const char *text, size_t len, const struct when_frame *frame, int64_t *ret_ns);
