/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_busy.h: busy(), the part of each call's duration that lies within the window (or the range).
 *
 * Nearly all calls lie within one window: their whole duration is booked where they end, by their blocks'
 * summaries where those answer, as for sum(dur). A call that crosses an edge comes a second time, as a row for
 * each window that it touches, with what has to be added there: the part within the window, less what was
 * booked where it ended. Such rows have a number in "#more" and count for nothing else.
 *
 *   SELECT window, keys, count(...), sum(CASE WHEN "#more" IS NULL THEN dur ELSE "#more" END)
 *   FROM (SELECT *, NULL AS "#more" FROM weir_rows(...)
 *         UNION ALL SELECT the window, keys, NULL, ..., the correction FROM weir_rows(... what crosses an edge))
 */
#pragma once

#include "engine/duckdb/translate/translate_source.h"

/* True where a plan has busy() and calls can cross an edge. */
bool busy_spreads(const struct plan *p);
/* What count() counts: "*", or rows that are calls. */
const char *busy_counted(const struct plan *p);
/* Makes the argument of an aggregate null in rows that are corrections; busy()'s is the correction there. */
int busy_argument(const struct plan *p, const struct plan_field *f, struct buf *arg);
/* " FROM (...) AS r": the calls and the corrections. `where`: " WHERE ..." for the calls, may be empty. */
int busy_from(const struct plan *p, const struct translate_options *opt, struct asked *a,
	      const char *where, struct buf *out);
