/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown.h: the largest part of a filter that the kernel programs can test (schema/call_filter.h). What
 * it lets pass is a superset: every row for which the whole filter is true passes the kernel's part.
 */
#pragma once

#include "query/plan/plan.h"
#include "schema/call_filter.h"
#include "schema/ops.h"

/* What is asked of control groups: parts of the filter that read nothing else of a call. */
struct pushdown_cgroups {
	uint32_t count;
	struct pushdown_cgroup {
		const struct expr *expr; /* of the filter */
		bool want;		 /* false: it must be false */
	} tests[FILTER_CGROUPS_MAX];
};

/*
 * Cuts `e` into the kernel's part (ret->count is 0 where there is none) and says whether that is
 * all of it (*ret_rest false: user space need not test again). `ops`: a bit for each call that there
 * can be, where query_pushdown_ops() says so; NULL: any. `ret_cgroups`: the tests of FILTER_CGROUP by number.
 */
void query_pushdown(const struct expr *e, const uint64_t *ops, struct call_filter *ret,
		    struct pushdown_cgroups *ret_cgroups, bool *ret_rest);
/*
 * Takes out of `ops` (a bit for each call) those for which the filter is never true: such calls need not even
 * be timed; calls that say what the filter asks of others stay.
 * 1: some were, 0: none; negative: -ENOMEM, or -EINVAL with a message.
 */
int query_pushdown_ops(const struct expr *e, uint64_t ops[OP_CODE_CALLS / 64], struct error *err);
/* The kernel's part as text of the language, for --explain. 0 or -ENOMEM. */
int query_pushdown_text(const struct call_filter *f, const struct pushdown_cgroups *cgroups,
			struct buf *out);
