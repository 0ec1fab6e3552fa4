/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local: what an engine behind an address cannot leave to its server, done here, over rows that the server sent: partial groups
 * are added up, later stages run, names are looked up. The values are those of the language (query/eval/), so that every such
 * engine has its logic, nulls, orders and texts without a dialect's.
 *
 *   local_group_new(&g, p->fields, p->field_count, ...);   // or rows, where the plan does not group
 *   local_group_at(g, keys, &at); local_add_...(g, at, field, ...);
 *   local_group_finish(g, &rows, err);
 *   local_stages(&rows, p, env, err);
 *   local_result(&rows, p, env, ret, err);
 *
 * Rows stand in the order that the language gives them: of source rows the trace's, of groups that of their keys.
 */
#pragma once

#include "base/strpool.h"
#include "engine/ask.h"
#include "query/eval/eval.h"

struct local_rows {
	const struct plan_field *fields; /* of the plan */
	size_t width;
	struct value *cells; /* [count * width]; texts are in `texts` */
	uint8_t *estimates;  /* the same; NULL: no value is one */
	size_t count, cap;   /* rows; cells */
	struct strpool texts;
};

/* What stages need besides. */
struct local_env {
	struct engine *engine;	 /* whose scan() gives the rows of a join */
	const struct dims *dims; /* ids are those of its batches */
	uint64_t memory_max;
	double seconds; /* for rate(): of the range; 0: not known */
	bool (*stopped)(void *arg);
	void *arg;
};

void local_rows_free(struct local_rows *r);
/* Appends a row of r->width cells, and which are estimates (NULL: none). 0, -ENOMEM with a message where the bound is met. */
int local_rows_add(struct local_rows *r, const struct value *cells, const uint8_t *estimates,
		   const struct local_env *env, struct error *err);
/* Keeps the first `count` rows; the last. */
void local_rows_head(struct local_rows *r, size_t count);
void local_rows_tail(struct local_rows *r, size_t count);
/* Orders two values of a kind as a sort does, nulls behind all others. Entities by id. */
int local_compare(struct query_kind kind, const struct value *a, const struct value *b);
/* Sorts stably by the stage's keys. */
int local_sort(struct local_rows *r, const struct plan_stage *s, const struct local_env *env);

/* ---- groups ---- */

struct local_group;
/* `fields` are those of the plan's source or of a STAGE_GROUP. */
int local_group_new(struct local_group **ret, const struct plan_field *fields, size_t count,
		    const struct local_env *env, struct error *err);
void local_group_free(struct local_group *g);
DEFINE_CLEANUP(struct local_group *, local_group_free)
/* The group of a row: `cells` by field, of which keys are looked at. */
int local_group_at(struct local_group *g, const struct value *cells, size_t *ret,
		   struct error *err);
/* A row: the value of every aggregate's argument in its cell. */
int local_group_row(struct local_group *g, const struct value *cells, struct error *err);
/* Parts of aggregates that a server worked out; they may come several times for a group. */
struct local_part {
	uint64_t count;	    /* rows, or those whose argument is known */
	__int128 sum;	    /* of whole numbers */
	double fsum;	    /* of floats */
	struct value value; /* MIN, MAX, ANY, FIRST, LAST; null: none */
	int64_t order[4];   /* FIRST, LAST: of the row that has the value */
	double mean, m2;    /* STDDEV: of `count` values */
};
int local_add_part(struct local_group *g, size_t at, size_t field, const struct local_part *p,
		   struct error *err);
/* `count` values that are equal, in the eyes of DISTINCT, PERCENTILE, HIST and tallies: for these two the bucket's number,
 * and its lower end. */
int local_add_value(struct local_group *g, size_t at, size_t field, const struct value *v,
		    uint64_t count, struct error *err);
/* Largest value of a PERCENTILE's argument. */
void local_add_max(struct local_group *g, size_t at, size_t field, int64_t max);
/* The groups as rows, by their keys. */
int local_group_finish(struct local_group *g, struct local_rows *ret, struct error *err);

/* ---- plans ---- */

/* Runs the stages from number `first` on. */
int local_stages(struct local_rows *r, const struct plan *p, size_t first,
		 const struct local_env *env, struct error *err);
/* All of a plan over the rows that the engine's scan() gives. */
int local_ask(const struct plan *p, const struct local_env *env, struct local_rows *ret,
	      struct error *err);
/* -EOPNOTSUPP where local_ask() cannot answer the plan: busy() by windows. */
int local_refuses(const struct engine *e, const struct plan *p, struct error *err);
/* Value `row` of what eval_rows() gave for expression k. */
void local_vector_value(const struct eval *e, size_t k, const struct vector *v, size_t row,
			struct value *ret);
/* The rows as an engine's result; *r is emptied. */
int local_result(struct local_rows *r, const struct plan *p, const struct local_env *env,
		 struct engine_result **ret, struct error *err);
