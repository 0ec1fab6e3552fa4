/* SPDX-License-Identifier: Apache-2.0 */
/* translate_level.h: the result of one SELECT of a translation: the SQL names of its columns, and its order. */
#pragma once

#include "base/buf.h"
#include "engine/duckdb/translate/translate.h"

/* A row's place in one number: row_number has at most 62 bits. */
#define ROW_PLACE "row_end::HUGEINT * 4611686018427387904 + row_number"

struct level_field {
	char *name;	/* of the column, unique ignoring case */
	char *estimate; /* the column that is true if the value is an estimate; NULL: never */
};

struct level_term {
	char *sql;
	bool desc;
};

struct level {
	struct level_field *fields;
	size_t count;
	/* The complete sort order: SQL does not preserve it between SELECTs. */
	struct level_term *order;
	size_t order_count, order_cap;
};

void level_free(struct level *l);
/* Moves *next to l. */
void level_replace(struct level *l, struct level *next);
/* Assigns names to the fields. 0 or -ENOMEM. */
int level_name(struct level *l, const struct plan_field *fields, size_t count);
/* The same; the first fields keep the names in `before`. */
int level_name_more(struct level *l, const struct level *before, const struct plan_field *fields,
		    size_t count);
/* ' AS "name"' of field i. */
int level_as(const struct level *l, size_t i, struct buf *out);
/* sql_leaf_t over a level. */
int level_leaf(void *level, const struct expr *e, struct buf *out);

/* Adds a term before or after the others. */
int level_order_first(struct level *l, struct buf *sql, bool desc);
int level_order_last(struct level *l, const char *sql, bool desc);
/* Adds field i after the others. */
int level_order_field(struct level *l, size_t i);
/*
 * " ORDER BY ...", empty if there is no order. `of` is a prefix of names: "s." if the same name is also given to
 * something else.
 */
int level_order(const struct level *l, bool reversed, const char *of, struct buf *out);
/* Adds the terms of l to the SELECT list of next, so that its rows can be ordered by them. */
int level_carry_order(const struct level *l, struct level *next, struct buf *head);
void level_take_order(struct level *l, struct level *next);
/* If e reads an estimate, adds a column to the SELECT that flags it. */
int level_carry_estimate(const struct level *l, const struct expr *e, struct level *next, size_t i,
			 struct buf *head);

/* The context of an aggregate. */
struct aggregate_place {
	bool source;	     /* over rows: first() and last() use row_end and row_number */
	const char *order;   /* otherwise " ORDER BY ..." */
	double seconds;	     /* for rate(); 0: unknown */
	bool from_summaries; /* over sums of rows (from_summaries.h) */
	const char *counted; /* argument of count(); NULL: rows */
	const char *max;     /* the column with the largest value of sums, for percentiles */
};
/* The time covered by a group's rows: its window, else the range, else the trace; 0: unknown. */
double level_seconds(const struct plan_field *fields, size_t count, const struct plan *p,
		     const struct translate_options *opt);
/* Adds a key or aggregate over `arg` to a grouped SELECT, and to its GROUP BY. */
int level_grouped(struct level *next, const struct plan_field *f, size_t i, const char *arg,
		  const struct aggregate_place *place, struct buf *head, struct buf *tail);
/* Writes only the aggregate; the second: the set for a distinct(). */
int level_aggregate(const struct plan_field *f, const char *arg,
		    const struct aggregate_place *place, struct buf *out);
int level_set(const struct plan_field *f, const char *arg, const struct aggregate_place *place,
	      struct buf *out);
/* Adds a column that flags field i as an estimate. */
int level_estimate(struct level *l, size_t i);
