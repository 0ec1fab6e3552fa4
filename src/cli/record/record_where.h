/* SPDX-License-Identifier: Apache-2.0 */
/* record_where.h: what --where says, over the rows of op. */
#pragma once

#include <stdio.h>

#include "cli/options/shared.h"
#include "query/kernel/pushdown.h"
#include "query/query.h"

struct where {
	struct plan *plan;	 /* NULL: no --where */
	const struct expr *expr; /* of the plan; NULL likewise */
};

/* All that is given must hold. Names may be those of `users` too (NULL: none). -EINVAL: a line that says what and where. */
int where_parse(struct where *w, const struct option_list *list, const struct query_users *users,
		struct error *err);
void where_free(struct where *w);

/* The part of it that the kernel tests while recording. */
struct where_kernel {
	struct call_filter filter;	 /* count 0: none */
	struct pushdown_cgroups cgroups; /* what the recorder tests for it */
	bool rest;			 /* it is not all */
	bool fewer_ops;			 /* the set of calls was narrowed */
};

/* Cuts it off; takes calls that cannot pass out of the selection. Nothing where there is no --where. */
int where_push(const struct where *w, struct select *s, struct where_kernel *ret,
	       struct error *err);
/* --explain: which part goes where. 0 or -ENOMEM. */
int where_explain(const struct where *w, const struct where_kernel *k, const struct select *s,
		  FILE *out);
