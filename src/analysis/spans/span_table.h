/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_table.h: table span_sum: where the time of each span went, as in `weir requests --log`, and the peer that it
 * waited for longest. For SQL, in particular that of rules.
 *
 * A turn is a write to a socket and the first read from it that follows, in one span or its descendants: a request and
 * its response. Sockets with the same peer address count as one.
 */
#pragma once

#include "analysis/spans/spans.h"

/* True if the traces have spans, marked or from periods. */
bool span_table_has_spans(const struct store *s);
/* True if the table exists and covers all spans and calls recorded so far. */
bool span_table_is_current(const struct store *s);
/* Makes it for the run's range; stored in the trace if the range covers all of it. 0 or negative. */
int span_table_make(const struct analysis_input *in, const struct analysis_run *run,
		    struct error *err);
