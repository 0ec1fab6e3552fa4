/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate_partial.h: a grouped plan in two halves: partial results, computed from some of the rows and merged with
 * those of others (in a table), and the fields computed from the merged results. When following a growing trace, a
 * refresh reads only the new blocks.
 */
#pragma once

#include "engine/duckdb/translate/translate_level.h"

struct partial {
	struct buf rows; /* SELECT of the partial results of blocks from first_block on */
	/* "SELECT ... FROM ", to be followed by the rows to merge in parentheses */
	struct buf merge;
	struct buf merge_tail; /* and this */
};

void partial_free(struct partial *p);
/* Writes the statements that compute and merge partial results. */
int partial_translate(const struct plan *p, const struct translate_options *opt,
		      struct partial *ret);
/* The fields of the plan from the table of partial results; sets their names and order in l. */
int partial_finish(const struct plan *p, const struct translate_options *opt, const char *table,
		   struct level *l, struct buf *sql);
