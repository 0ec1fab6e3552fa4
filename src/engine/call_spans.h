/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_spans.h: the spans of a trace as the language knows them: span.name, span.dur, span.attributes.KEY of a call are those of
 * the innermost span that it belongs to by table span_op (weir requests --keep), by context, thread or work: a call that a span
 * merely waits for is no part of it. Where a call belongs to spans of programs and to periods, it is that of the program. Of rows
 * of span, period, note and span_op they are those of the span with the row's number.
 *
 * Two lookups, both of user_values.h: from the row to the place of the span, from there to the value. Memory: 21 bytes a call that
 * belongs to a span, and 9 a span for each column that is named, texts apart; ANNOTATIONS_BYTES_MAX in all.
 */
#pragma once

#include "base/error.h"
#include "query/check/user_values.h"
#include "store/store.h"

struct call_spans;

int call_spans_new(struct call_spans **ret, struct store *s);
void call_spans_free(struct call_spans *c);
/* What query_users has of spans; it lives as long as `c`. */
const struct query_user_spans *call_spans_get(struct call_spans *c);
