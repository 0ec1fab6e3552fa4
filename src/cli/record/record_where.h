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

/*
 * Makes the part of it that the kernel tests while recording (count 0: none), and takes calls that cannot pass out of the
 * selection. Nothing where there is no --where.
 */
int where_push(const struct where *w, struct select *s, struct call_filter *ret, struct error *err);
/* --explain: which part goes where. 0 or -ENOMEM. */
int where_explain(const struct where *w, const struct call_filter *k, const struct select *s,
		  FILE *out);
