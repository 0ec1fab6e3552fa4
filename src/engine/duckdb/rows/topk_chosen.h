/* SPDX-License-Identifier: Apache-2.0 */
/*
 * topk_chosen.h: groups by file of which a head keeps a few: `by file | sum(dur) as t, p99(dur) | sort t desc | head
 * 20`. A trace may have millions of files, and a histogram for each takes much time and memory. So the files to keep
 * are found first, using only the sort key; the complete query then runs over these files, and over the blocks that
 * contain them.
 */
#pragma once

#include "engine/duckdb/translate/translate.h"

#define CHOSEN_MAX 1000 /* files; each becomes a number in a filter */

/* True if this is faster. */
bool topk_pays(const struct plan *p);
/* The files found, and the query that remains to be run. */
struct topk {
	/* restricted to the files found; refers to memory of the given plan and of this struct */
	struct plan plan;
	struct buf only;      /* condition that selects them; empty: none */
	struct ask_step step; /* what finding them took; empty: nothing was found */
	struct plan_field *fields;
	struct expr *file_id;
};

void topk_free(struct topk *c);
/* Finds the files if topk_pays(). 0 or negative. */
int topk_ask(struct duck *e, const struct plan *p, struct topk *ret, struct error *err);
