/* SPDX-License-Identifier: Apache-2.0 */
/*
 * call_spans.h: the spans of a trace for the language. For a call, span.name, span.dur, span.attributes.KEY are those
 * of the innermost span to which table span_op (weir requests --keep) assigns it by context, thread or work; calls that
 * a span merely waits for do not belong to it. If a call belongs to a program's span and to a period, the program's
 * span is used. For rows of span, period, note and span_op they are those of the span with the row's number.
 *
 * There are two lookups, both as in user_values.h: from the row to the position of the span, and from there to the
 * value. Memory: 21 bytes per call that belongs to a span, plus 9 bytes per span for each column used, without texts;
 * ANNOTATIONS_BYTES_MAX in total.
 */
#pragma once

#include "base/error.h"
#include "query/check/user_values.h"
#include "store/store.h"

struct call_spans;

int call_spans_new(struct call_spans **ret, struct store *s);
void call_spans_free(struct call_spans *c);
/* The spans as struct query_users needs them; valid as long as `c`. */
const struct query_user_spans *call_spans_get(struct call_spans *c);
