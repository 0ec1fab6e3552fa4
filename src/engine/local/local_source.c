// SPDX-License-Identifier: Apache-2.0
/* local_source.c: evaluates the source rows of a plan. */
#include <errno.h>

#include "batch/seconds.h"
#include "engine/local/local.h"
#include "query/check/user_values.h"
#include "query/eval/eval.h"

/* number of rows beyond those that a head keeps, at which they are sorted and cut */
#define CUT_ROWS 65536

/* State while reading the scan. */
struct source {
	const struct plan *p;
	const struct local_env *env;
	/* the fields, then the filter again, for calls seen from their second file */
	struct eval *eval;
	struct eval_scratch *scratch;
	size_t *at; /* [field_count]: index of its expression; SIZE_MAX: none */
	size_t count;
	struct vector *vectors;
	struct value *cells;
	struct batch *seconds;
	struct local_group *group;
	struct local_rows *rows;
	bool enough;
};

static void source_close(struct source *s)
{
	eval_scratch_free(s->scratch);
	eval_free(s->eval);
	free(s->at);
	free(s->vectors);
	free(s->cells);
	batch_free(s->seconds);
	local_group_free(s->group);
}

int local_refuses(const struct engine *e, const struct plan *p, struct error *err)
{
	bool edges = p->from != INT64_MIN || p->to != INT64_MAX, busy = false;

	for (size_t i = 0; i < p->field_count; i++) {
		edges |= p->fields[i].kind == FIELD_WINDOW;
		busy |= p->fields[i].kind == FIELD_AGGREGATE &&
			p->fields[i].aggregate == AGGREGATE_BUSY;
	}
	if (busy && edges)
		return error_set(err, -EOPNOTSUPP,
				 "%s cannot split calls between windows or at the ends of a range, "
				 "as busy() does: use sum(dur), which attributes a call to the "
				 "window in which it ends, or query the trace file",
				 engine_name(e));
	return 0;
}

static int source_open(struct source *s, struct error *err)
{
	const struct plan *p = s->p;
	_cleanup_free_ const struct expr **exprs = calloc(p->field_count + 2, sizeof(*exprs));
	int r;

	s->at = calloc(p->field_count + 1, sizeof(*s->at));
	s->vectors = calloc(p->field_count + 2, sizeof(*s->vectors));
	s->cells = calloc(p->field_count + 1, sizeof(*s->cells));
	if (!exprs || !s->at || !s->vectors || !s->cells)
		return error_errno(err, -ENOMEM, "the query");
	for (size_t i = 0; i < p->field_count; i++) {
		s->at[i] = p->fields[i].expr ? s->count : SIZE_MAX;
		if (p->fields[i].expr)
			exprs[s->count++] = p->fields[i].expr;
	}
	exprs[s->count] = p->where;
	r = eval_new(&s->eval, exprs, s->count + (p->where != NULL), err);
	if (r >= 0)
		r = eval_names(s->eval, s->env->dims, err);
	if (r >= 0)
		r = eval_scratch_new(&s->scratch, s->eval);
	if (r >= 0 && p->each_file)
		r = batch_new(&s->seconds, p->table);
	if (r >= 0 && p->grouped)
		r = local_group_new(&s->group, p->fields, p->field_count, s->env, err);
	return r < 0 ? error_errno(err, r, "the query") : 0;
}

void local_vector_value(const struct eval *e, size_t k, const struct vector *v, size_t row,
			struct value *ret)
{
	const struct bytes *words;

	*ret = (struct value){.null = v->nulls && (v->nulls[row / 64] >> (row % 64) & 1)};
	if (ret->null)
		return;
	if (v->words) {
		eval_words(e, k, &words);
		ret->t = words[v->i[row]];
	} else if (v->t) {
		ret->t = v->t[row];
	} else if (v->f) {
		ret->f = v->f[row];
	} else {
		ret->i = v->i[row];
	}
}

/* If the first stages sort and keep a few rows, drops the rows that cannot be among these. */
static int source_cut(struct source *s, struct error *err)
{
	const struct plan *p = s->p;
	const struct plan_stage *sort = p->stages, *head = p->stages + 1;
	int r = 0;

	if (p->stage_count && sort->kind == STAGE_HEAD && !sort->tail)
		s->enough = s->rows->count >= (size_t)MAX(sort->count, (int64_t)0);
	if (p->stage_count < 2 || sort->kind != STAGE_SORT || head->kind != STAGE_HEAD ||
	    head->tail || s->rows->count < (size_t)MAX(head->count, (int64_t)0) + CUT_ROWS)
		return 0;
	r = local_sort(s->rows, sort, (size_t)MAX(head->count, (int64_t)0), s->env);
	return r < 0 ? error_errno(err, r, "the query") : 0;
}

static int source_rows(struct source *s, const struct batch *b, const uint32_t *rows, size_t n,
		       struct error *err)
{
	int r = 0;

	for (size_t k = 0; k < s->count && r >= 0; k++)
		r = eval_rows(s->eval, s->scratch, k, b, rows, n, &s->vectors[k]);
	if (r < 0)
		return error_errno(err, r, "the query");
	for (size_t i = 0; i < n && r >= 0 && !s->enough; i++) {
		for (size_t f = 0; f < s->p->field_count; f++) {
			s->cells[f] = (struct value){0};
			if (s->at[f] != SIZE_MAX)
				local_vector_value(s->eval, s->at[f], &s->vectors[s->at[f]], i,
						   &s->cells[f]);
		}
		if (s->group) {
			r = local_group_row(s->group, s->cells, err);
			continue;
		}
		r = local_rows_add(s->rows, s->cells, s->env, err);
		if (r >= 0)
			r = source_cut(s, err);
	}
	return r;
}

/*
 * Adds calls that move bytes between two files, as seen from the second. Tests all rows, since a call that fails the
 * filter may pass in this view.
 */
static int source_seconds(struct source *s, const struct batch *b, const uint32_t *rows, size_t n,
			  struct error *err)
{
	_cleanup_free_ uint32_t *pass = calloc(n + 1, sizeof(*pass));
	_cleanup_(batch_freep) struct batch *some = NULL;
	ssize_t k;
	int r = pass ? batch_new(&some, b->table) : -ENOMEM;

	if (r >= 0)
		r = batch_append_rows(some, b, rows, n);
	if (r >= 0)
		batch_clear(s->seconds);
	if (r >= 0)
		r = batch_seconds(some, s->seconds);
	if (r < 0)
		return error_errno(err, r, "the query");
	if (!s->seconds->rows)
		return 0;
	if (!s->p->where) {
		for (size_t i = 0; i < s->seconds->rows; i++)
			pass[i] = (uint32_t)i;
		return source_rows(s, s->seconds, pass, s->seconds->rows, err);
	}
	k = eval_filter(s->eval, s->scratch, s->count, s->seconds, NULL, s->seconds->rows, pass);
	return k < 0 ? error_errno(err, (int)k, "the query")
		     : source_rows(s, s->seconds, pass, (size_t)k, err);
}

static int source_batch(struct source *s, const struct batch *b, const uint32_t *rows, size_t n,
			struct error *err)
{
	_cleanup_free_ uint32_t *pass = NULL;
	ssize_t k = (ssize_t)n;
	int r;

	if (!s->p->each_file)
		return source_rows(s, b, rows, n, err);
	if (s->p->where) {
		pass = calloc(n + 1, sizeof(*pass));
		k = pass ? eval_filter(s->eval, s->scratch, s->count, b, rows, n, pass) : -ENOMEM;
	}
	r = k < 0 ? error_errno(err, (int)k, "the query")
		  : source_rows(s, b, pass ? pass : rows, (size_t)k, err);
	return r < 0 ? r : source_seconds(s, b, rows, n, err);
}

static uint64_t source_columns(const struct plan *p)
{
	return p->each_file ? seconds_columns(p->table, plan_columns(p)) : plan_columns(p);
}

/* Reads the rows of a user's table into memory: query_users.load(). */
static int source_user_rows(const struct plan *p, const struct local_env *env,
			    struct local_rows *ret, struct error *err)
{
	const struct query_user_table *t = p->user;
	_cleanup_free_ struct value *cells = calloc(t->column_count + 1, sizeof(*cells));
	int r = cells ? 0 : -ENOMEM;

	for (size_t c = 0; c < t->column_count && r >= 0; c++)
		r = p->users->load(p->users, t, c, false, err);
	for (size_t i = 0; r >= 0 && i < t->columns[0].count; i++) {
		for (size_t c = 0; c < t->column_count; c++)
			query_user_at(&t->columns[c], i, &cells[c]);
		r = local_rows_add(ret, cells, env, err);
	}
	return r < 0 ? error_errno(err, r, "the table %s", t->name)
		     : local_stages(ret, p, env, err);
}

int local_ask(const struct plan *p, const struct local_env *env, struct local_rows *ret,
	      struct error *err)
{
	/* a call that fails the filter may pass it when seen from its second file */
	const struct scan_request q = {.table = p->table,
				       .columns = p->user ? 0 : source_columns(p),
				       .from = p->from,
				       .to = p->to,
				       .filter = p->each_file ? NULL : p->where};
	_cleanup_(source_close) struct source s = {.p = p, .env = env, .rows = ret};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = 0;
	int r;

	ret->fields = p->fields;
	ret->width = p->field_count;
	if (p->user)
		return source_user_rows(p, env, ret, err);
	r = source_open(&s, err);
	if (r >= 0)
		r = engine_scan_of(&scan, env->engine, &q, err);
	while (r >= 0 && !s.enough && (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		if (env->stopped && env->stopped(env->arg))
			return error_set(err, -EINTR, "interrupted");
		r = source_batch(&s, b, rows, (size_t)n, err);
	}
	if (r < 0 || n < 0)
		return r < 0 ? r : (int)n;
	if (s.group)
		r = local_group_finish(s.group, ret, err);
	return r < 0 ? r : local_stages(ret, p, env, err);
}
