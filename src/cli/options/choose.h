/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: the selection over a stored trace, as one filter. */
#pragma once

#include "cli/options/conditions.h"
#include "engine/annotations.h"
#include "record/record_where.h"
#include "sums/scan.h"

struct choice {
	struct annotations *annotations; /* that --where may name; NULL where there is none */
	struct where where;		 /* what --where says alone */
	struct buf text; /* the whole selection in the language; empty: everything is chosen */
	struct sums_filter chosen; /* of it, with its plan */
	const struct expr *expr;   /* of the plan; NULL where everything is chosen */
	struct scan_filter filter; /* from and to are open */
};

/*
 * Makes the filter of what `f` (from which read_flags_select() made `s`) and `where` say together. 0 or negative with a
 * message; -EINVAL is wrong usage. Without a store there is the plan alone: users' tables and the scan's filter are of one.
 */
int choice_make(struct choice *ret, const struct select_flags *f, const struct select *s,
		const struct option_list *where, struct store *store, struct error *err);
/* Before a scan of blocks that came since: looks at the threads and files that came with them. */
int choice_names(struct choice *c, struct store *store, struct error *err);
void choice_free(struct choice *c);
