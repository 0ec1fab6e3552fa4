/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_busy.h: busy(), the part of each call's duration that lies within the window (or the range). Nearly all
 * calls lie within one window: their whole duration is booked where they end, using summaries of blocks if possible, as
 * for sum(dur). A call that crosses an edge produces an additional row for each window that it touches, with a
 * correction: the part within the window, minus what was booked where it ended. Such rows have a number in "#more" and
 * are ignored by other aggregates.
 *
 *   SELECT window, keys, count(...), sum(CASE WHEN "#more" IS NULL THEN dur ELSE "#more" END)
 *   FROM (SELECT *, NULL AS "#more" FROM weir_rows(...)
 *         UNION ALL SELECT the window, keys, NULL, ..., the correction FROM weir_rows(... what crosses an edge))
 */
#pragma once

#include "engine/duckdb/translate/translate_source.h"

/* True if a plan has busy() and calls can cross an edge. */
bool busy_spreads(const struct plan *p);
/* The argument of count(): "*", or an expression that excludes corrections. */
const char *busy_counted(const struct plan *p);
/* Makes the argument of an aggregate null in corrections; for busy() it is the correction. */
int busy_argument(const struct plan *p, const struct plan_field *f, struct buf *arg);
/* " FROM (...) AS r": the calls and the corrections. `where`: " WHERE ..." for the calls; may be empty. */
int busy_from(const struct plan *p, const struct translate_options *opt, struct asked *a,
	      const char *where, struct buf *out);
