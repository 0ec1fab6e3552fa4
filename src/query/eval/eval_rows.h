/* SPDX-License-Identifier: Apache-2.0 */
/*
 * eval_rows.h: a filter over the batches of a stream: the evaluation of one expression, and the state that each thread
 * needs for it.
 *
 *   query_rows_new(&q, plan->where, &err);
 *   query_cursor_new(&cursor, q);                        // one per thread
 *   query_rows_names(q, dims, &err);                 // before rows that refer to new ids
 *   n = query_cursor_rows(cursor, batch, &rows, &err);   // the rows for which it is true
 */
#pragma once

#include "query/eval/eval.h"

struct query_rows;
struct query_cursor;

/* Prepares the filter. The expression must outlive it. */
int query_rows_new(struct query_rows **ret, const struct expr *e, struct error *err);
void query_rows_free(struct query_rows *q);
DEFINE_CLEANUP(struct query_rows *, query_rows_free)
/* The set of dimension tables that an expression needs: a bit for each enum table_id. */
uint32_t query_expr_tables(const struct expr *e);
/* The same for the filter. */
uint32_t query_rows_tables(const struct query_rows *q);
/* True if rows of files are not needed once query_rows_names() has seen them: see eval_remembers(). */
bool query_rows_forget_files(const struct query_rows *q);
/* Computes the names that were added or changed, as eval_names() does. */
int query_rows_names(struct query_rows *q, const struct dims *d, struct error *err);

int query_cursor_new(struct query_cursor **ret, const struct query_rows *q);
void query_cursor_free(struct query_cursor *s);
DEFINE_CLEANUP(struct query_cursor *, query_cursor_free)
/*
 * Finds the rows for which the filter is true, in order; *ret is valid until the next call. Returns their number, or
 * negative with a message.
 */
ssize_t query_cursor_rows(struct query_cursor *s, const struct batch *b, const uint32_t **ret,
			  struct error *err);
