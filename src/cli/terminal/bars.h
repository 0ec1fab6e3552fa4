/* SPDX-License-Identifier: Apache-2.0 */
/* bars.h: the characters of bars and spark lines: blocks, or ASCII if the locale has none. */
#pragma once

#include "base/buf.h"

/*
 * True if block characters can be shown: the locale's encoding is UTF-8, or no locale is set (a bare container), as
 * terminals are UTF-8 today. LC_ALL=C selects ASCII.
 */
bool bars_utf8(void);
/* One column with the height count / max: " ▁▂▃▄▅▆▇█", or " .:-=+*%@"; never a blank for a nonzero count. */
const char *bars_shade(uint64_t count, uint64_t max);
/* "█▆▃ ▁": a column for each of n counts, the highest full. 0 or -ENOMEM. */
int bars_spark(struct buf *out, const uint64_t *counts, size_t n);
/*
 * Appends a bar over `part` (0 to 1) of `width` columns, in eighths of a column if possible, padded with blanks. 0 or
 * -ENOMEM.
 */
int bars_lying(struct buf *out, double part, size_t width);
/* "≥" or ">=": before a figure that is known as a lower bound. */
const char *bars_at_least(void);
