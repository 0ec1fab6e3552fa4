/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown.h: the largest part of a filter that the kernel programs can test (schema/call_filter.h). It
 * passes a superset: every row for which the whole filter is true passes the kernel's part. A session evaluates the whole
 * filter again (query/eval/eval_rows.h), so that the kernel's part only has to be no smaller.
 *
 * Each test is made where it is cheapest:
 * - of the call and its class: once, when plans are made, as a bit of the call's plan. Calls that can never pass are
 *   not even timed;
 * - of a path, a device, an inode or a thread's name: when a version of the file or thread is sent, as a bit of that
 *   version. A call looks at the bits of its file, its second file or its program. Of a pattern the folder, the
 *   beginning or the end is tested;
 * - of an address: when the record of a socket is sent, and over the address that a call was given;
 * - of a control group: by the recorder, once for each group (record/judge.h);
 * - of the rest: at exit. Calls with parts of variable size are tested twice, by what is known at once and by their
 *   whole record.
 * Calls left out after they ended are counted (wire_cpu.filtered) and take no sequence number.
 */
#pragma once

#include "query/plan/plan.h"
#include "schema/call_filter.h"
#include "schema/ops.h"

/* Parts of the filter that depend on a call's control group only; the recorder tests them per group. */
struct pushdown_cgroups {
	uint32_t count;
	struct pushdown_cgroup {
		const struct expr *expr; /* of the filter */
		bool want;		 /* false: it must be false */
	} tests[FILTER_CGROUPS_MAX];
};

/*
 * Splits the kernel's part off `e` (ret->count is 0 if there is none). *ret_rest is false if this is
 * all of `e`, so that user space need not test again. `ops` has a bit for each call that can occur
 * (query_pushdown_ops()); NULL: any. *ret_cgroups gets the tests of FILTER_CGROUP by number.
 */
void query_pushdown(const struct expr *e, const uint64_t *ops, struct call_filter *ret,
		    struct pushdown_cgroups *ret_cgroups, bool *ret_rest);
/*
 * Removes from `ops` (a bit for each call) the calls for which the filter can never be true: they need not even
 * be timed. Calls that carry information which the filter needs for other calls stay.
 * Returns 1 if it removed some, 0 if none; -ENOMEM, or -EINVAL with a message.
 */
int query_pushdown_ops(const struct expr *e, uint64_t ops[OP_CODE_CALLS / 64], struct error *err);
/* Writes the kernel's part as text of the language, for --explain. 0 or -ENOMEM. */
int query_pushdown_text(const struct call_filter *f, const struct pushdown_cgroups *cgroups,
			struct buf *out);
