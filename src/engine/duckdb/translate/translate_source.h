/* SPDX-License-Identifier: Apache-2.0 */
/* translate_source.h: what a SELECT asks of weir_rows(). */
#pragma once

#include "engine/duckdb/translate/translate_level.h"

/* The columns that are asked for, each an expression's text, once. */
struct asked {
	enum table_id table;
	bool from_summaries; /* sums of rows, where blocks have them (from_summaries.h) */
	char **texts;
	size_t count, cap;
};

void asked_free(struct asked *a);
/* Asks for a text; the name of its column goes to out (may be NULL). */
int asked_text(struct asked *a, const char *text, struct buf *out);
/* Asks for an expression; which column it is. */
int asked_index(struct asked *a, const struct expr *e, size_t *ret);
/* Asks for what a grouped field reads; the name of its argument's column goes to out. */
int source_argument(struct asked *a, const struct plan *p, const struct plan_field *f,
		    struct buf *out);
/* Which of the rows: those that pass this filter too (NULL: all), also those that ended before or behind the range. */
struct source_part {
	const char *filter;
	bool from_start, to_end;
};
/* " FROM weir_rows(...) AS r(...)". */
int source_rows(const struct plan *p, const struct translate_options *opt, struct asked *a,
		const struct source_part *part, struct buf *out);
/* The same with what the plan's aggregates need besides, and " WHERE ..." (NULL: none). */
int source_from(const struct plan *p, const struct translate_options *opt, struct asked *a,
		const char *where, struct buf *out);
/* "weir_user(...) AS u(u0, u1, ..., u_row)". */
int source_user(const struct query_user_table *t, char name, struct buf *out);
/* The innermost SELECT; l gets its fields and their order. */
int source_translate(const struct plan *p, const struct translate_options *opt, struct level *l,
		     struct buf *sql);
