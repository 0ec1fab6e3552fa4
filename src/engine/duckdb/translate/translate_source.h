/* SPDX-License-Identifier: Apache-2.0 */
/* translate_source.h: the columns and rows that a SELECT requests from weir_rows(). */
#pragma once

#include "engine/duckdb/translate/translate_level.h"

/* The requested columns: texts of expressions, without duplicates. */
struct asked {
	enum table_id table;
	bool from_summaries; /* sums of rows, if blocks have them (from_summaries.h) */
	char **texts;
	size_t count, cap;
};

void asked_free(struct asked *a);
/* Requests a text; appends the name of its column to `out` (may be NULL). */
int asked_text(struct asked *a, const char *text, struct buf *out);
/* Requests an expression; *ret is the index of its column. */
int asked_index(struct asked *a, const struct expr *e, size_t *ret);
/* Requests what a grouped field reads; appends the name of its argument's column to `out`. */
int source_argument(struct asked *a, const struct plan *p, const struct plan_field *f,
		    struct buf *out);
/*
 * Restricts the rows to those that also pass this filter (NULL: all), or extends them to those that ended before or
 * after the range.
 */
struct source_part {
	const char *filter;
	bool from_start, to_end;
};
/* " FROM weir_rows(...) AS r(...)". */
int source_rows(const struct plan *p, const struct translate_options *opt, struct asked *a,
		const struct source_part *part, struct buf *out);
/* The same with columns that the plan's aggregates also need, and " WHERE ..." (NULL: none). */
int source_from(const struct plan *p, const struct translate_options *opt, struct asked *a,
		const char *where, struct buf *out);
/* "weir_user(...) AS u(u0, u1, ..., u_row)". */
int source_user(const struct query_user_table *t, char name, struct buf *out);
/* Writes the innermost SELECT; sets the fields of l and their order. */
int source_translate(const struct plan *p, const struct translate_options *opt, struct level *l,
		     struct buf *sql);
