// SPDX-License-Identifier: Apache-2.0
/* local_stages.c: runs the stages of a plan over rows in memory. */
#include <errno.h>
#include <string.h>

#include "base/map.h"
#include "engine/local/local.h"
#include "query/check/user_values.h"
#include "query/eval/eval_fields.h"
#include "query/eval/pattern.h"

static int local_failed(int r, struct error *err)
{
	if (r == -EOVERFLOW)
		return error_set(err, r,
				 "the regular expression takes too many steps on a text: simplify "
				 "it (nested repeats take exponential time)");
	return error_errno(err, r, "a stage of the query");
}

static bool env_stopped(const struct local_env *env)
{
	return env->stopped && env->stopped(env->arg);
}

/* The values of all fields of a stage for one row. Texts are copied to `texts`, since evaluations reuse their memory. */
struct stage_row {
	struct eval_fields *eval;
	const struct plan_field *fields;
	size_t count;
	struct value *cells;
	struct strpool texts;
};

static void stage_row_free(struct stage_row *s)
{
	eval_fields_free(s->eval);
	free(s->cells);
	strpool_free(&s->texts);
}

static int stage_row_new(struct stage_row *s, const struct plan_field *fields, size_t count,
			 const struct local_env *env, struct error *err)
{
	_cleanup_free_ const struct expr **exprs = calloc(count + 1, sizeof(*exprs));
	size_t n = 0;
	int r;

	s->fields = fields;
	s->count = count;
	s->cells = calloc(count + 1, sizeof(*s->cells));
	if (!exprs || !s->cells)
		return error_errno(err, -ENOMEM, "a stage of the query");
	for (size_t i = 0; i < count; i++) {
		if (fields[i].expr)
			exprs[n++] = fields[i].expr;
	}
	r = eval_fields_new(&s->eval, exprs, n, err);
	if (r < 0)
		return r;
	eval_fields_dims(s->eval, env->dims);
	return r;
}

/* True if the value depends on an estimate. */
static bool reads_estimate(const struct expr *e, const struct value *fields)
{
	if (e->kind == EXPR_FIELD)
		return fields[e->column].estimate;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (reads_estimate(e->arg[i], fields))
			return true;
	}
	return false;
}

static int stage_row_fill(struct stage_row *s, const struct local_rows *from, size_t row)
{
	const struct value *cells = from->cells + row * from->width;
	int r = 0;

	if (s->texts.bytes > 1u << 20)
		strpool_free(&s->texts);
	for (size_t i = 0; i < s->count && r >= 0; i++) {
		const struct plan_field *f = &s->fields[i];

		s->cells[i] = (struct value){0};
		if (!f->expr)
			continue;
		r = eval_fields_value(s->eval, f->expr, cells, &s->cells[i]);
		if (r >= 0 && s->cells[i].t.data && !s->cells[i].null)
			r = strpool_add(&s->texts, s->cells[i].t.data, s->cells[i].t.len,
					&s->cells[i].t);
		s->cells[i].estimate = reads_estimate(f->expr, cells);
	}
	return r;
}

static int local_stage_where(struct local_rows *r, const struct plan_stage *s,
			     const struct local_env *env, struct error *err)
{
	_cleanup_(eval_fields_freep) struct eval_fields *eval = NULL;
	const struct expr *e = s->expr;
	size_t kept = 0;
	int k = eval_fields_new(&eval, &e, 1, err);

	if (k < 0)
		return k;
	eval_fields_dims(eval, env->dims);
	for (size_t i = 0; i < r->count; i++) {
		struct value v;

		k = eval_fields_value(eval, e, r->cells + i * r->width, &v);
		if (k < 0)
			return local_failed(k, err);
		if (v.null || !v.i)
			continue;
		memmove(r->cells + kept * r->width, r->cells + i * r->width,
			r->width * sizeof(*r->cells));
		kept++;
	}
	r->count = kept;
	return 0;
}

static int local_stage_select(struct local_rows *r, const struct plan_stage *s,
			      const struct local_env *env, struct error *err)
{
	_cleanup_(local_rows_free) struct local_rows next = {.fields = s->fields,
							     .width = s->field_count};
	_cleanup_(stage_row_free) struct stage_row row = {0};
	int k = stage_row_new(&row, s->fields, s->field_count, env, err);

	for (size_t i = 0; i < r->count && k >= 0; i++) {
		k = stage_row_fill(&row, r, i);
		if (k < 0)
			return local_failed(k, err);
		k = local_rows_add(&next, row.cells, env, err);
	}
	if (k < 0)
		return k;
	local_rows_take(r, &next);
	return 0;
}

static int local_stage_group(struct local_rows *r, const struct plan_stage *s,
			     const struct local_env *env, struct error *err)
{
	_cleanup_(local_rows_free) struct local_rows next = {0};
	_cleanup_(stage_row_free) struct stage_row row = {0};
	_cleanup_(local_group_freep) struct local_group *g = NULL;
	int k = stage_row_new(&row, s->fields, s->field_count, env, err);

	if (k >= 0)
		k = local_group_new(&g, s->fields, s->field_count, env, err);
	for (size_t i = 0; i < r->count && k >= 0; i++) {
		if (env_stopped(env))
			return error_set(err, -EINTR, "interrupted");
		k = stage_row_fill(&row, r, i);
		if (k < 0)
			return local_failed(k, err);
		k = local_group_row(g, row.cells, err);
	}
	if (k >= 0)
		k = local_group_finish(g, &next, err);
	if (k < 0)
		return k;
	local_rows_take(r, &next);
	return 0;
}

/* ---- joins ---- */

/* The required rows of a dimension table: id -> row of `cells`, which has the joined columns. */
struct joined {
	const struct plan_stage *stage;
	size_t from, width; /* range of the stage's fields that are joined */
	struct map wanted, rows;
	struct local_rows cells;
};

static void joined_free(struct joined *j)
{
	map_free(&j->wanted);
	map_free(&j->rows);
	local_rows_free(&j->cells);
}

static int joined_row(struct joined *j, const struct eval *e, struct eval_scratch *scratch,
		      const struct batch *b, uint32_t row, const struct local_env *env,
		      struct error *err)
{
	_cleanup_free_ struct value *cells = calloc(j->width + 1, sizeof(*cells));
	int r = cells ? 0 : -ENOMEM;

	for (size_t i = 0; i < j->width && r >= 0; i++) {
		struct vector v;

		r = eval_rows(e, scratch, i, b, &row, 1, &v);
		if (r >= 0)
			local_vector_value(e, i, &v, 0, &cells[i]);
	}
	if (r >= 0)
		r = map_set(&j->rows, (uint64_t)batch_get(b, 0, row, 0), j->cells.count);
	if (r < 0)
		return local_failed(r, err);
	return local_rows_add(&j->cells, cells, env, err);
}

/* Reads the rows of the table to which the field refers. */
static int joined_read(struct joined *j, const struct local_rows *from, const struct local_env *env,
		       struct error *err)
{
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	_cleanup_free_ const struct expr **exprs = calloc(j->width + 1, sizeof(*exprs));
	const struct scan_request q = {
		.table = j->stage->table, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	_cleanup_(eval_freep) struct eval *e = NULL;
	_cleanup_(eval_scratch_freep) struct eval_scratch *scratch = NULL;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = 0;
	int r = exprs ? 0 : -ENOMEM;

	for (size_t i = 0; i < from->count && r >= 0; i++) {
		const struct value *v = &from->cells[i * from->width + j->stage->column];

		r = v->null ? 0 : map_set(&j->wanted, (uint64_t)v->i, 1);
	}
	for (size_t i = 0; i < j->width && r >= 0; i++)
		exprs[i] = j->stage->fields[j->from + i].expr;
	if (r >= 0)
		r = eval_new(&e, exprs, j->width, err);
	if (r >= 0)
		r = eval_names(e, env->dims, err);
	if (r >= 0)
		r = eval_scratch_new(&scratch, e);
	if (r < 0)
		return local_failed(r, err);
	r = engine_scan_of(&scan, env->engine, &q, err);
	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		for (ssize_t i = 0; i < n && r >= 0; i++) {
			int64_t id = batch_get(b, 0, rows[i], -1);

			if (id >= 0 && map_get(&j->wanted, (uint64_t)id, NULL))
				r = joined_row(j, e, scratch, b, rows[i], env, err);
		}
	}
	return r < 0 ? r : (int)n;
}

/* Loads the columns of a user's table; its key was loaded when the plan was made. */
static int joined_user_load(const struct plan_stage *s, const struct plan *p, struct error *err)
{
	int r = 0;

	for (size_t c = 0; c < s->user->column_count && r >= 0; c++)
		r = p->users->load(p->users, s->user, c, c == s->key, err);
	return r;
}

/* A key in the table's form: the word of a code. */
static int joined_user_key(const struct plan_stage *s, const struct plan_field *f,
			   const struct value *cell, struct buf *word, struct value *ret)
{
	int r = 0;

	*ret = *cell;
	if (cell->null || f->type.type != QUERY_CODE ||
	    s->user->columns[s->key].type.type != QUERY_TEXT)
		return 0;
	buf_clear(word);
	r = query_code_text(f->type.vocab, cell->i, word);
	ret->t = (struct bytes){word->data, (uint32_t)word->len};
	return r;
}

/* The columns of the table's row for a value of the field. */
static int joined_cells(const struct joined *j, const struct plan_field *f, const struct value *v,
			struct buf *word, struct value *ret)
{
	const struct plan_stage *s = j->stage;
	struct expr of = {.kind = EXPR_USER, .user = s->user, .user_key = s->key};
	struct value key;
	uint64_t at;
	int r = s->user ? joined_user_key(s, f, v, word, &key) : 0;

	for (size_t c = 0; c < j->width && r >= 0; c++) {
		ret[c] = (struct value){.null = true};
		if (!s->user || key.null)
			continue;
		of.user_column = s->fields[j->from + c].expr->column;
		query_user_value(&of, &key, &ret[c]);
	}
	if (!s->user && !v->null && map_get(&j->rows, (uint64_t)v->i, &at))
		memcpy(ret, j->cells.cells + at * j->width, j->width * sizeof(*ret));
	return r;
}

static int local_stage_join(struct local_rows *r, const struct plan *p, const struct plan_stage *s,
			    const struct local_env *env, struct error *err)
{
	_cleanup_(local_rows_free) struct local_rows next = {.fields = s->fields,
							     .width = s->field_count};
	_cleanup_(joined_free) struct joined j = {
		.stage = s, .from = r->width, .width = s->field_count - r->width};
	_cleanup_free_ struct value *cells = calloc(s->field_count + 1, sizeof(*cells));
	_cleanup_buf_ struct buf word = {0};
	int k = cells ? 0 : -ENOMEM;

	j.cells.width = j.width;
	if (k >= 0)
		k = s->user ? joined_user_load(s, p, err) : joined_read(&j, r, env, err);
	for (size_t i = 0; i < r->count && k >= 0; i++) {
		memcpy(cells, r->cells + i * r->width, r->width * sizeof(*cells));
		k = joined_cells(&j, &r->fields[s->column], &cells[s->column], &word,
				 cells + r->width);
		if (k >= 0)
			k = local_rows_add(&next, cells, env, err);
	}
	if (k < 0)
		return error_errno(err, k, "a join");
	local_rows_take(r, &next);
	return 0;
}

/* The rows of a sort that the stage after it keeps. */
static size_t local_stage_head(const struct plan *p, size_t i)
{
	const struct plan_stage *next = i + 1 < p->stage_count ? &p->stages[i + 1] : NULL;

	return next && next->kind == STAGE_HEAD && !next->tail
		       ? (size_t)MAX(next->count, (int64_t)0)
		       : SIZE_MAX;
}

static int local_stage(struct local_rows *r, const struct plan *p, size_t i,
		       const struct local_env *env, struct error *err)
{
	const struct plan_stage *s = &p->stages[i];
	int k = 0;

	switch (s->kind) {
	case STAGE_WHERE:
		return local_stage_where(r, s, env, err);
	case STAGE_SORT:
		k = local_sort(r, s, local_stage_head(p, i), env);
		return k < 0 ? local_failed(k, err) : 0;
	case STAGE_HEAD:
		(s->tail ? local_rows_tail : local_rows_head)(r, (size_t)MAX(s->count, (int64_t)0));
		return 0;
	case STAGE_SELECT:
		return local_stage_select(r, s, env, err);
	case STAGE_GROUP:
		return local_stage_group(r, s, env, err);
	case STAGE_JOIN:
		return local_stage_join(r, p, s, env, err);
	}
	return error_set(err, -EOPNOTSUPP, "a stage of the query is not supported here");
}

int local_stages(struct local_rows *r, const struct plan *p, const struct local_env *env,
		 struct error *err)
{
	int k = 0;

	for (size_t i = 0; i < p->stage_count && k >= 0; i++)
		k = env_stopped(env) ? error_set(err, -EINTR, "interrupted")
				     : local_stage(r, p, i, env, err);
	return k;
}
