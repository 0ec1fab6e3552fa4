/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: the selection over a stored trace, as one filter. */
#pragma once

#include "cli/options/conditions.h"
#include "engine/annotations.h"
#include "record/record_where.h"
#include "sums/scan.h"

struct choice {
	struct annotations *annotations; /* tables that --where may name; NULL: none */
	struct where where;		 /* the filter of --where alone */
	struct buf text;	   /* the whole selection in the language; empty: everything */
	struct sums_filter chosen; /* the compiled selection, with its plan */
	const struct expr *expr;   /* the plan's filter; NULL: everything */
	struct scan_filter filter; /* from and to are open */
};

/*
 * Makes the filter that combines `s` (which read_flags_select() made of `f`) and `where`. 0 or negative with a
 * message; -EINVAL is wrong usage. Without a store only the plan is made: users' tables and the scan's filter need
 * one.
 */
int choice_make(struct choice *ret, const struct select_flags *f, const struct select *s,
		const struct option_list *where, struct store *store, struct error *err);
void choice_free(struct choice *c);
