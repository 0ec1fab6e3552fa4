/* SPDX-License-Identifier: Apache-2.0 */
/*
 * translate.h: translates a plan to one SELECT. Rows come from weir_rows(), which filters them. Grouping is by ids and
 * ENUMs; each further stage is a SELECT over the previous one; names of files, threads and processes are added last,
 * for the remaining rows.
 */
#pragma once

#include "engine/ask.h"
#include "engine/duckdb/internal.h"

/* The statement and its columns: the first `shown` are the answer, the others flag values as estimates. */
struct translation {
	struct buf sql;
	size_t shown;
	int *estimate; /* [shown]: the column with the flag, -1: never an estimate */
	const char **units;
};

void translation_free(struct translation *t);
/* The time range of the trace, for rate(); and a restriction to blocks from first_block on. */
struct translate_options {
	bool filter_in_sql;
	size_t first_block;
	int64_t first, last; /* of the trace */
	const char *only;    /* an additional condition, as text; NULL: none */
};
int translate(const struct plan *p, const struct translate_options *opt, struct translation *ret,
	      struct error *err);

struct partial;
/* For engine_follow: the partial results of new blocks, and how they are merged with earlier ones. */
int translate_keeping(const struct plan *p, const struct translate_options *opt,
		      struct partial *ret, struct error *err);
/* The answer from the table of partial results. */
int translate_kept(const struct plan *p, const struct translate_options *opt, const char *table,
		   struct translation *ret, struct error *err);
