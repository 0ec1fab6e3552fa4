/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_partial.h: a grouped plan in two halves: what can be worked out from some of the rows and added up
 * with the same of others (a table of partial results), and the fields made from the sum. Following a
 * trace that grows, a refresh reads only the new blocks.
 */
#pragma once

#include "engine/duckdb/translate/translate_level.h"

struct partial {
	struct buf rows;  /* SELECT that gives partial results of blocks from first_block on */
	struct buf merge; /* "SELECT ... FROM ", behind which what is merged stands in brackets, */
	struct buf merge_tail; /* and then this */
};

void partial_free(struct partial *p);
/* The halves that bring partial results about. */
int partial_translate(const struct plan *p, const struct translate_options *opt,
		      struct partial *ret);
/* The fields of the plan from the table of partial results; l gets their names and order. */
int partial_finish(const struct plan *p, const struct translate_options *opt, const char *table,
		   struct level *l, struct buf *sql);
