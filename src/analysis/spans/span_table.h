/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span_table.h: table span_sum: where the time of each span went, as `weir requests --log` shows it, and which peer it asked for
 * longest. For questions in SQL, those of rules above all.
 *
 * A turn is a write to a socket and the first read from it that follows, in one span or those below it: a question and its
 * answer. Sockets of one peer's address count as one.
 */
#pragma once

#include "analysis/spans/spans.h"

/* True where the traces have spans, marked or of periods. */
bool span_table_has_spans(const struct store *s);
/* True where the table is there, of all spans and calls that are recorded by now. */
bool span_table_is_current(const struct store *s);
/* Makes it anew, of the run's range; kept in the trace where it is of all of it. 0 or negative. */
int span_table_make(const struct analysis_input *in, const struct analysis_run *run,
		    struct error *err);
