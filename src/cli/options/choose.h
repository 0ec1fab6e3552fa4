/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: the selection over a stored trace, by ids: which threads and files it takes. */
#pragma once

#include "analysis/rollup/rollup_scan.h"
#include "batch/dims.h"
#include "cli/record/record_where.h"
#include "engine/annotations.h"
#include "schema/select.h"

struct choice {
	struct annotations *annotations; /* that --where may name; NULL where there is none */
	struct map threads, files;	 /* the ids that are chosen, where the selection says so */
	struct where where;
	struct scan_where *scan_where;
	struct scan_filter filter; /* refers to the maps and the selection; from and to are open */
};

/* Ids are either those of the recorder or of the process's own pid namespace. 0 or -ENOMEM. */
int choice_make(struct choice *ret, const struct select *s, const struct dims *d);
/* Adds what --where says; after choice_make(). 0 or negative with a message; -EINVAL is wrong usage. */
int choice_where(struct choice *c, const struct option_list *list, const struct store *s,
		 struct error *err);
void choice_free(struct choice *c);
