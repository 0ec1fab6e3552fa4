/* SPDX-License-Identifier: Apache-2.0 */
/* choose.h: the selection over a stored trace, by ids: which threads and files it takes. */
#pragma once

#include "analysis/rollup/scan.h"
#include "batch/dims.h"
#include "schema/select.h"

struct choice {
	struct map threads, files; /* the ids that are chosen, where the selection says so */
	struct scan_filter filter; /* refers to the maps and the selection; from and to are open */
};

/* Ids are either those of the recorder or of the process's own pid namespace. 0 or -ENOMEM. */
int choice_make(struct choice *ret, const struct select *s, const struct dims *d);
void choice_free(struct choice *c);
