/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown.h: the largest part of a filter that the kernel programs can test (schema/call_filter.h). It
 * passes a superset: every row for which the whole filter is true passes the kernel's part. A session evaluates the whole
 * filter again (query/eval/eval_rows.h), so that the kernel's part only has to be no smaller.
 *
 * Each test is made where it is cheapest:
 * - of the call and its class: once, when plans are made, as a bit of the call's plan. Calls that can never pass are
 *   not even timed;
 * - of a path or a thread's name: when a version of the file or thread is sent, as a bit of that version. A call looks at
 *   the bits of its file or its program. Of a pattern the folder or the beginning is tested;
 * - of numbers that are at hand when the call ends: then. A call that returns a descriptor is tested once more when its file
 *   is known;
 * - of everything else (addresses, positions, flags, control groups, ...): by the recorder alone.
 * Calls left out after they ended are counted (wire_cpu.filtered) and take no sequence number.
 */
#pragma once

#include "query/plan/plan.h"
#include "schema/call_filter.h"
#include "schema/ops.h"

/*
 * Splits the kernel's part off `e` (ret->count is 0 if there is none). `ops` has a bit for each call that can occur
 * (query_pushdown_ops()); NULL: any.
 */
void query_pushdown(const struct expr *e, const uint64_t *ops, struct call_filter *ret);
/*
 * Removes from `ops` (a bit for each call) the calls for which the filter can never be true: they need not even
 * be timed. Calls that carry information which the filter needs for other calls stay.
 * Returns 1 if it removed some, 0 if none; -ENOMEM, or -EINVAL with a message.
 */
int query_pushdown_ops(const struct expr *e, uint64_t ops[OP_CODE_CALLS / 64], struct error *err);
/* Writes the kernel's part as text of the language, for --explain. 0 or -ENOMEM. */
int query_pushdown_text(const struct call_filter *f, struct buf *out);
