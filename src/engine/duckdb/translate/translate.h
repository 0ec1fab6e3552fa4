/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate.h: a plan as one SELECT. Rows come from weir_rows(), which filters; what is grouped is
 * grouped by ids and ENUMs; each further stage is a SELECT over the one before; names of files,
 * threads and processes are put in last, for the rows that are left.
 */
#pragma once

#include "engine/ask.h"
#include "engine/duckdb/internal.h"

/* The statement, and what its columns are: `shown` of them answer the plan, the others say of which
 * the value is an estimate. */
struct translation {
	struct buf sql;
	size_t shown;
	int *estimate; /* [shown]: the column that says so, -1: it is none */
	const char **units;
};

void translation_free(struct translation *t);
/* Where the answer begins and ends, for rate(); blocks from first_block on alone. */
struct translate_options {
	bool filter_in_sql;
	size_t first_block;
	int64_t first, last; /* of the trace */
	const char *only;    /* one more condition, as a text; NULL: none */
};
int translate(const struct plan *p, const struct translate_options *opt, struct translation *ret,
	      struct error *err);

struct partial;
/* For engine_follow: what is kept of new blocks and how it is added to what was kept before. */
int translate_keeping(const struct plan *p, const struct translate_options *opt,
		      struct partial *ret, struct error *err);
/* The answer from the table of what was kept. */
int translate_kept(const struct plan *p, const struct translate_options *opt, const char *table,
		   struct translation *ret, struct error *err);
