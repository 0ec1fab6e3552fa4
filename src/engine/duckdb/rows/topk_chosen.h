/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_chosen.h: groups by file of which a head leaves a few: `by file | sum(dur) as t, p99(dur) | sort t
 * desc | head 20`. A trace may have millions of files, and a histogram for each takes long and much
 * memory. So the files that are left over are found first, by what they are sorted by alone; then the
 * whole question is asked of them, and of the blocks that have them.
 */
#pragma once

#include "engine/duckdb/translate/translate.h"

#define CHOSEN_MAX 1000 /* files: each is a number in a filter */

/* True where it pays. */
bool topk_pays(const struct plan *p);
/* What was found, and what is left to ask. */
struct topk {
	struct plan
		plan; /* of the files that were found; its memory is that of the plan given and of this */
	struct buf only;      /* the condition that leaves them; nothing: there is none */
	struct ask_step step; /* what that took; none: nothing was found */
	struct plan_field *fields;
	struct expr *file_id;
};

void topk_free(struct topk *c);
/* Finds them, where topk_pays(). 0 or negative. */
int topk_ask(struct duck *e, const struct plan *p, struct topk *ret, struct error *err);
