/* SPDX-License-Identifier: Apache-2.0 */
/* record_where.h: a filter (--where) over rows of op, divided between kernel and recorder. */
#pragma once

#include "query/kernel/pushdown.h"
#include "query/query.h"
#include "schema/select.h"

struct where {
	struct plan *plan;	 /* NULL: no --where */
	const struct expr *expr; /* in the plan; NULL likewise */
};

/*
 * All expressions must hold. Names may also be those of `users` (NULL: none). -EINVAL with a one-line message that
 * contains the position.
 */
int where_parse(struct where *w, const char *const *texts, size_t count,
		const struct query_users *users, struct error *err);
void where_free(struct where *w);

/*
 * Extracts the part that the kernel evaluates while recording (count 0: none), and removes calls that cannot pass from
 * the selection. Does nothing without --where.
 */
int where_push(const struct where *w, struct select *s, struct call_filter *ret, struct error *err);
/* Appends lines that show which part is evaluated where (--explain). 0 or -ENOMEM. */
int where_explain(const struct where *w, const struct call_filter *k, const struct select *s,
		  struct buf *out);
