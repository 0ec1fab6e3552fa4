/* SPDX-License-Identifier: Apache-2.0 */
/*
 * local: operations that an engine behind an address cannot leave to its server, done here on rows from the server:
 * partial groups are added up, further stages run, names resolved. Values are those of the language (query/eval/), so
 * that all such engines share its logic, nulls, orders and texts, without a dialect's.
 *
 *   local_group_new(&g, p->fields, p->field_count, ...);   // or rows, if the plan does not group
 *   local_group_at(g, keys, &at); local_add_...(g, at, field, ...);
 *   local_group_finish(g, &rows, err);
 *   local_stages(&rows, p, env, err);
 *   local_result(&rows, p, env, ret, err);
 *
 * Rows are in the language's order: source rows in the trace's order, groups in the order of their keys.
 */
#pragma once

#include "base/strpool.h"
#include "engine/ask.h"
#include "query/eval/eval.h"

struct local_rows {
	const struct plan_field *fields; /* of the plan */
	size_t width;
	struct value *cells; /* [count * width]; texts are in `texts` */
	size_t count, cap;   /* number of rows; capacity in cells */
	struct strpool texts;
};

/* Context of stages. */
struct local_env {
	struct engine *engine;	 /* its scan() reads the rows of a join */
	const struct dims *dims; /* its ids are those in the engine's batches */
	uint64_t memory_max;
	double seconds; /* length of the range, for rate(); 0: unknown */
	bool (*stopped)(void *arg);
	void *arg;
};

void local_rows_free(struct local_rows *r);
/* Replaces the rows by those of another, which is then empty. */
void local_rows_take(struct local_rows *r, struct local_rows *from);
/* Appends a row of r->width cells. 0, or -ENOMEM with a message if the limit is exceeded. */
int local_rows_add(struct local_rows *r, const struct value *cells, const struct local_env *env,
		   struct error *err);
/* Keeps the first `count` rows; the second: the last. */
void local_rows_head(struct local_rows *r, size_t count);
void local_rows_tail(struct local_rows *r, size_t count);
/* Compares two values of a kind in sort order, nulls last. Entities by id. */
int local_compare(struct query_kind kind, const struct value *a, const struct value *b);
/* Sorts stably by the stage's keys, and keeps the first `head` rows. */
int local_sort(struct local_rows *r, const struct plan_stage *s, size_t head,
	       const struct local_env *env);

/* ---- groups ---- */

struct local_group;
/* `fields` are those of the plan's source or of a STAGE_GROUP. */
int local_group_new(struct local_group **ret, const struct plan_field *fields, size_t count,
		    const struct local_env *env, struct error *err);
void local_group_free(struct local_group *g);
DEFINE_CLEANUP(struct local_group *, local_group_free)
/* Finds the group of a row: `cells` by field, of which only keys are read. */
int local_group_at(struct local_group *g, const struct value *cells, size_t *ret,
		   struct error *err);
/* Adds a row: each cell of an aggregate has the value of its argument. */
int local_group_row(struct local_group *g, const struct value *cells, struct error *err);
/* Partial aggregates computed by a server; a group may receive several. */
struct local_part {
	uint64_t count;	    /* number of rows, or of those whose argument is not null */
	__int128 sum;	    /* of integers */
	double fsum;	    /* of floats */
	struct value value; /* of MIN, MAX, ANY, FIRST, LAST; null: none */
	int64_t order[4];   /* FIRST, LAST: position of the row with the value */
	double mean, m2;    /* STDDEV: over `count` values */
};
int local_add_part(struct local_group *g, size_t at, size_t field, const struct local_part *p,
		   struct error *err);
/*
 * Adds `count` equal values, for DISTINCT, PERCENTILE, HIST and tallies; for HIST and tallies the value is the bucket's
 * number and its lower bound, respectively.
 */
int local_add_value(struct local_group *g, size_t at, size_t field, const struct value *v,
		    uint64_t count, struct error *err);
/* Adds the largest value of a PERCENTILE's argument. */
void local_add_max(struct local_group *g, size_t at, size_t field, int64_t max);
/* Tells which stage follows, if any: if it sorts by all keys, the groups can be returned in any order. */
void local_group_before(struct local_group *g, const struct plan_stage *next);
/* Returns the groups as rows, in the order of their keys. */
int local_group_finish(struct local_group *g, struct local_rows *ret, struct error *err);

/* ---- plans ---- */

/* Runs the stages. */
int local_stages(struct local_rows *r, const struct plan *p, const struct local_env *env,
		 struct error *err);
/* Runs a complete plan over the rows of the engine's scan(). */
int local_ask(const struct plan *p, const struct local_env *env, struct local_rows *ret,
	      struct error *err);
/* -EOPNOTSUPP if local_ask() cannot run the plan: busy() by windows. */
int local_refuses(const struct engine *e, const struct plan *p, struct error *err);
/* The value in row `row` of the result of eval_rows() for expression k. */
void local_vector_value(const struct eval *e, size_t k, const struct vector *v, size_t row,
			struct value *ret);
/* Converts the rows to an engine's result; *r is emptied. */
int local_result(struct local_rows *r, const struct plan *p, const struct local_env *env,
		 struct engine_result **ret, struct error *err);
