/* SPDX-License-Identifier: Apache-2.0 */
/* record_where.h: a filter (--where) over the rows of op, and how kernel and recorder share it. */
#pragma once

#include "query/kernel/pushdown.h"
#include "query/query.h"
#include "schema/select.h"

struct where {
	struct plan *plan;	 /* NULL: no --where */
	const struct expr *expr; /* of the plan; NULL likewise */
};

/*
 * All that is given must hold; each text is an expression. Names may be those of `users` too (NULL: none). -EINVAL: a line
 * that says what and where.
 */
int where_parse(struct where *w, const char *const *texts, size_t count,
		const struct query_users *users, struct error *err);
void where_free(struct where *w);

/*
 * Makes the part of it that the kernel tests while recording (count 0: none), and takes calls that cannot pass out of the
 * selection. Nothing where there is no --where.
 */
int where_push(const struct where *w, struct select *s, struct call_filter *ret, struct error *err);
/* Adds lines that say which part is tested where (--explain). 0 or -ENOMEM. */
int where_explain(const struct where *w, const struct call_filter *k, const struct select *s,
		  struct buf *out);
