/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rollup_where.h: an expression of the query language as part of a scan's filter: over rows of op, and over their
 * summaries where it reads nothing that those leave out.
 */
#pragma once

#include "query/eval/eval_rows.h"
#include "store/store.h"

struct scan_where {
	struct query_rows *op;
	struct query_rows *summary; /* NULL: the summaries do not say enough */
	struct expr *of_summary;    /* nodes; the same expression over the columns of summary */
	bool one_file; /* summaries say enough of blocks whose calls have no second file */
};

/* The expression must outlive it. 0 or negative with a message. */
int scan_where_new(struct scan_where **ret, const struct expr *e, struct error *err);
void scan_where_free(struct scan_where *w);
DEFINE_CLEANUP(struct scan_where *, scan_where_free)
/* Before a scan, and when dimension rows came: see eval_names(). */
int scan_where_names(struct scan_where *w, const struct dims *d, struct error *err);
/* Whether block i of the store can hold a row that it takes. */
bool scan_where_block(const struct scan_where *w, const struct store *s, size_t i);
/* Whether it takes every row of block i, by what the block's header says. */
bool scan_where_all(const struct scan_where *w, const struct store *s, size_t i);
/* Whether the summary of block i says enough: `summary` is then what takes its rows. */
bool scan_where_summary(const struct scan_where *w, const struct store *s, size_t i);
