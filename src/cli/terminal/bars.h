/* SPDX-License-Identifier: Apache-2.0 */
/* bars.h: the characters that bars and spark lines are drawn with: blocks, or ASCII where the locale has none. */
#pragma once

#include "base/buf.h"

/*
 * True where block characters can be shown: the locale's characters are UTF-8, or nobody has
 * chosen a locale (a bare container), as terminals are UTF-8 today. LC_ALL=C asks for ASCII.
 */
bool bars_utf8(void);
/* One column whose height is count / max: " ▁▂▃▄▅▆▇█", or " .:-=+*%@"; never a blank for a count. */
const char *bars_shade(uint64_t count, uint64_t max);
/* "█▆▃ ▁": a column for each of n counts, the highest full. 0 or -ENOMEM. */
int bars_spark(struct buf *out, const uint64_t *counts, size_t n);
/* A bar over `part` (0 to 1) of `width` columns, in eighths of one where that can be shown, and
 * blanks for the rest. 0 or -ENOMEM. */
int bars_lying(struct buf *out, double part, size_t width);
/* "≥" or ">=": before a figure that is known as a lower bound. */
const char *bars_at_least(void);
