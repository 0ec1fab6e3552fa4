/* SPDX-License-Identifier: Apache-2.0 */
/* translate_level.h: what one SELECT of a translation gives: its columns' names in SQL, and its order. */
#pragma once

#include "base/buf.h"
#include "engine/duckdb/translate/translate.h"

struct level_field {
	char *name;	/* of the column, unique whatever the case of its letters */
	char *estimate; /* of the column that is true where the value is an estimate; NULL: never */
};

struct level_term {
	char *sql;
	bool desc;
};

struct level {
	struct level_field *fields;
	size_t count;
	/* By what the rows are ordered, in all: SQL forgets it between SELECTs. */
	struct level_term *order;
	size_t order_count, order_cap;
};

void level_free(struct level *l);
/* l becomes *next, which is emptied. */
void level_replace(struct level *l, struct level *next);
/* Gives the fields names. 0 or -ENOMEM. */
int level_name(struct level *l, const struct plan_field *fields, size_t count);
/* The same where the first fields are those of `before`. */
int level_name_more(struct level *l, const struct level *before, const struct plan_field *fields,
		    size_t count);
/* ' AS "name"' of field i. */
int level_as(const struct level *l, size_t i, struct buf *out);
/* sql_leaf_t over a level. */
int level_leaf(void *level, const struct expr *e, struct buf *out);

/* A term before or behind the others. */
int level_order_first(struct level *l, const char *sql, bool desc);
int level_order_last(struct level *l, const char *sql, bool desc);
/* " ORDER BY ...", nothing where there is no order. `of` goes before names: "s." where the same name
 * is also given to something else. */
int level_order(const struct level *l, bool reversed, const char *of, struct buf *out);
/* Puts the terms of l into the SELECT of next, so that its rows can be ordered by them. */
int level_carry_order(const struct level *l, struct level *next, struct buf *head);
void level_take_order(struct level *l, struct level *next);
/* Where e reads an estimate, its SELECT says so beside it. */
int level_carry_estimate(const struct level *l, const struct expr *e, struct level *next, size_t i,
			 struct buf *head);

/* Where an aggregate stands. */
struct aggregate_place {
	bool source;	     /* over rows: first() and last() go by row_end, row_number */
	const char *order;   /* else " ORDER BY ..." */
	double seconds;	     /* for rate(); 0: not known */
	bool from_summaries; /* over sums of rows (from_summaries.h) */
	const char *counted; /* what count() counts; NULL: rows */
	const char *max;     /* the column of their largest value, for percentiles of sums */
};
/* How long a group's rows took: its window, else the range, else the trace; 0: not known. */
double level_seconds(const struct plan_field *fields, size_t count, const struct plan *p,
		     const struct translate_options *opt);
/* Adds a key or aggregate over `arg` to a grouped SELECT, and to its GROUP BY. */
int level_grouped(struct level *next, const struct plan_field *f, size_t i, const char *arg,
		  const struct aggregate_place *place, struct buf *head, struct buf *tail);
/* An aggregate alone; the set behind a distinct(). */
int level_aggregate(const struct plan_field *f, const char *arg,
		    const struct aggregate_place *place, struct buf *out);
int level_set(const struct plan_field *f, const char *arg, const struct aggregate_place *place,
	      struct buf *out);
/* Gives field i a column that says whether it is an estimate. */
int level_estimate(struct level *l, size_t i);
