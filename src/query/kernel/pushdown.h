/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown.h: the largest part of a filter that the kernel programs can test (schema/call_filter.h). It
 * passes a superset: every row for which the whole filter is true passes the kernel's part.
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
