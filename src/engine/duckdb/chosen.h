/* SPDX-License-Identifier: Apache-2.0 */
/*
 * chosen.h: groups by file of which a head leaves a few: `by file | sum(dur) as t, p99(dur) | sort t
 * desc | head 20`. A trace may have millions of files, and a histogram for each takes long and much
 * memory. So the files that are left over are found first, by what they are sorted by alone; then the
 * whole question is asked of them, and of the blocks that have them.
 */
#pragma once

#include "engine/duckdb/translate.h"

#define CHOSEN_MAX 1000 /* files: each is a number in a filter */

/* True where it pays. */
bool chosen_pays(const struct plan *p);
/* The statement that gives the ids of the files that are left over. */
int chosen_translate(const struct plan *p, const struct translate_options *opt, struct buf *sql,
		     struct error *err);
/* Runs it; the condition that leaves these files goes to `only`, nothing where there are none. `steps`
 * (may be NULL) gets the result, for what its steps took. */
int chosen_ask(struct engine *e, const struct plan *p, const struct translate_options *opt,
	       struct buf *only, struct engine_result **steps, struct error *err);
