// SPDX-License-Identifier: Apache-2.0
/* translate.c: translates the stages of a plan to nested SELECTs. */
#include "engine/duckdb/translate/translate.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <strings.h>

#include "engine/duckdb/translate/translate_partial.h"
#include "engine/duckdb/translate/translate_source.h"
#include "engine/duckdb/translate/sql_expr.h"

void translation_free(struct translation *t)
{
	buf_free(&t->sql);
	free(t->estimate);
	free(t->units);
	*t = (struct translation){0};
}

/*
 * Replaces the statement so far with "SELECT head FROM (statement) tail" (NULL: "*", nothing). An error of one of the
 * texts is the result.
 */
static int wrap(struct buf *sql, const struct buf *head, const struct buf *tail)
{
	_cleanup_buf_ struct buf out = {0};
	int r;

	buf_printf(&out, "SELECT %s", head ? "" : "*");
	if (head)
		buf_add(&out, head);
	buf_printf(&out, " FROM (");
	buf_add(&out, sql);
	r = buf_printf(&out, ")");
	if (tail)
		r = buf_add(&out, tail);
	if (r < 0)
		return r;
	buf_free(sql);
	*sql = out;
	out = (struct buf){0};
	return 0;
}

static int stage_where(struct level *l, const struct plan_stage *s, struct buf *sql)
{
	_cleanup_buf_ struct buf tail = {0};

	buf_printf(&tail, " WHERE ");
	sql_expr(s->expr, level_leaf, l, &tail);
	return wrap(sql, NULL, &tail);
}

static int stage_head(struct level *l, const struct plan_stage *s, struct buf *sql)
{
	_cleanup_buf_ struct buf tail = {0};

	level_order(l, s->tail, "", &tail);
	buf_printf(&tail, " LIMIT %" PRId64, MAX(s->count, (int64_t)0));
	return wrap(sql, NULL, &tail);
}

/* New keys take precedence over the previous order: sorting is stable. */
static int stage_sort(struct level *l, const struct plan_stage *s)
{
	int r = 0;

	for (size_t i = s->key_count; i > 0 && r >= 0; i--) {
		const struct sort_key *k = &s->keys[i - 1];
		const struct plan_field *f = &s->fields[k->field];
		const struct expr e = {.kind = EXPR_FIELD, .type = f->type, .column = k->field};
		_cleanup_buf_ struct buf term = {0};

		/*
		 * entities are sorted by name, and by id if names are equal; if the sort only breaks ties, by id alone,
		 * because resolving a name for each of a million files is slow
		 */
		if (f->type.type == QUERY_ENTITY && i == 1) {
			sql_expr(&e, level_leaf, l, &term);
			r = level_order_first(l, &term, k->desc);
			buf_clear(&term);
			sql_expr_text(&e, level_leaf, l, &term);
		} else {
			sql_expr(&e, level_leaf, l, &term);
		}
		if (r >= 0)
			r = level_order_first(l, &term, k->desc);
	}
	return r;
}

static int stage_select(struct level *l, const struct plan_stage *s, struct buf *sql)
{
	_cleanup_(level_free) struct level next = {0};
	_cleanup_buf_ struct buf head = {0};
	int r = level_name(&next, s->fields, s->field_count);

	if (r < 0)
		return r;
	for (size_t i = 0; i < s->field_count; i++) {
		buf_printf(&head, "%s", i ? ", " : "");
		sql_expr(s->fields[i].expr, level_leaf, l, &head);
		level_as(&next, i, &head);
		buf_fail(&head, level_carry_estimate(l, s->fields[i].expr, &next, i, &head));
	}
	buf_fail(&head, level_carry_order(l, &next, &head));
	r = wrap(sql, &head, NULL);
	if (r < 0)
		return r;
	level_replace(l, &next);
	return r;
}

static int stage_group(struct level *l, const struct plan_stage *s,
		       const struct translate_options *opt, const struct plan *p, struct buf *sql)
{
	_cleanup_(level_free) struct level next = {0};
	_cleanup_buf_ struct buf head = {0}, order = {0}, tail = {0};
	struct aggregate_place place = {.seconds =
						level_seconds(s->fields, s->field_count, p, opt)};
	int r = level_name(&next, s->fields, s->field_count);

	if (r < 0)
		return r;
	buf_fail(&head, level_order(l, false, "", &order));
	place.order = buf_str(&order);
	for (size_t i = 0; i < s->field_count; i++) {
		const struct plan_field *f = &s->fields[i];
		_cleanup_buf_ struct buf arg = {0};

		if (f->expr)
			buf_fail(&head, sql_expr(f->expr, level_leaf, l, &arg));
		buf_fail(&head, level_grouped(&next, f, i, buf_str(&arg), &place, &head, &tail));
	}
	r = wrap(sql, &head, &tail);
	if (r < 0)
		return r;
	level_replace(l, &next);
	return r;
}

/* The row of a dimension table whose id is in a field; j1, j2, ... are its columns. */
static int join_rows(const struct level *l, const struct plan_stage *s, struct buf *tail)
{
	_cleanup_buf_ struct buf names = {0};

	buf_printf(tail, "weir_rows('%s', NULL, ['id'", schema_table(s->table)->name);
	for (size_t i = l->count; i < s->field_count; i++) {
		_cleanup_buf_ struct buf text = {0};

		buf_fail(tail, expr_text(s->fields[i].expr, s->table, &text));
		buf_printf(tail, ", ");
		sql_string(buf_str(&text), text.len, tail);
		buf_printf(&names, ", j%zu", i - l->count + 1);
	}
	buf_printf(tail, "]) AS d(j0");
	buf_add(tail, &names);
	buf_printf(tail, ") ON j0 = s.");
	return sql_name(l->fields[s->column].name, tail);
}

/* The row of a user's table whose key is a field's value; j0, j1, ... are its columns. */
static int join_user_rows(struct level *l, const struct plan_stage *s, struct buf *tail)
{
	const struct expr field = {
		.kind = EXPR_FIELD, .type = s->fields[s->column].type, .column = s->column};

	source_user(s->user, 'j', tail);
	buf_printf(tail, " ON j%zu = ", s->key);
	return s->user->columns[s->key].type.type == QUERY_TEXT
		       ? sql_expr_text(&field, level_leaf, l, tail)
		       : sql_expr(&field, level_leaf, l, tail);
}

/* Adds the columns of a joined table. */
static int stage_join(struct level *l, const struct plan_stage *s, struct buf *sql)
{
	_cleanup_(level_free) struct level next = {0};
	_cleanup_buf_ struct buf head = {0}, tail = {0};
	int r = level_name_more(&next, l, s->fields, s->field_count);

	if (r < 0)
		return r;
	buf_printf(&head, "s.*");
	for (size_t i = l->count; i < s->field_count; i++) {
		buf_printf(&head, ", j%zu", s->user ? s->fields[i].expr->column : i - l->count + 1);
		level_as(&next, i, &head);
	}
	buf_printf(&tail, " AS s LEFT JOIN ");
	buf_fail(&tail, s->user ? join_user_rows(l, s, &tail) : join_rows(l, s, &tail));
	r = wrap(sql, &head, &tail);
	if (r < 0)
		return r;
	level_take_order(l, &next);
	level_replace(l, &next);
	return r;
}

static int translate_stage(struct level *l, const struct plan_stage *s,
			   const struct translate_options *opt, const struct plan *p,
			   struct buf *sql)
{
	switch (s->kind) {
	case STAGE_WHERE:
		return stage_where(l, s, sql);
	case STAGE_SORT:
		return stage_sort(l, s);
	case STAGE_HEAD:
		return stage_head(l, s, sql);
	case STAGE_SELECT:
		return stage_select(l, s, sql);
	case STAGE_GROUP:
		return stage_group(l, s, opt, p, sql);
	case STAGE_JOIN:
		return stage_join(l, s, sql);
	}
	return -EINVAL;
}

/* One column of the answer: entities by name, texts as text. */
static int translate_show(struct level *l, const struct plan_field *f, size_t i, struct buf *head)
{
	const struct expr e = {.kind = EXPR_FIELD, .type = f->type, .column = (unsigned int)i};
	bool text = f->type.type == QUERY_ENTITY || f->type.type == QUERY_CODE ||
		    f->type.type == QUERY_TEXT;

	if (text)
		sql_expr_shown(&e, level_leaf, l, head);
	else
		sql_expr(&e, level_leaf, l, head);
	return level_as(l, i, head);
}

/* Adds the answer's columns, then the columns that flag estimates. */
static int translate_finish(struct level *l, const struct plan *p, struct translation *t)
{
	size_t count, shown = 0, extra = 0;
	const struct plan_field *fields = plan_output(p, &count);
	_cleanup_buf_ struct buf head = {0}, estimates = {0}, order = {0};

	t->estimate = calloc(count + 1, sizeof(*t->estimate));
	t->units = calloc(count + 1, sizeof(*t->units));
	if (!t->estimate || !t->units)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (fields[i].hidden)
			continue;
		buf_printf(&head, "%s", shown ? ", " : "");
		translate_show(l, &fields[i], i, &head);
		t->estimate[shown] = -1;
		t->units[shown] = query_kind_unit(fields[i].type);
		if (l->fields[i].estimate) {
			t->estimate[shown] = (int)extra++;
			buf_printf(&estimates, ", ");
			sql_name(l->fields[i].estimate, &estimates);
		}
		shown++;
	}
	for (size_t i = 0; i < shown; i++)
		t->estimate[i] += t->estimate[i] < 0 ? 0 : (int)shown;
	t->shown = shown;
	buf_add(&head, &estimates);
	/* order by the original ids, not by the names that replace them */
	buf_printf(&order, " AS s");
	level_order(l, false, "s.", &order);
	return wrap(&t->sql, &head, &order);
}

static int translate_stages(const struct plan *p, const struct translate_options *opt,
			    struct level *l, struct translation *t)
{
	int r = 0;

	for (size_t i = 0; i < p->stage_count && r >= 0; i++)
		r = translate_stage(l, &p->stages[i], opt, p, &t->sql);
	return r < 0 ? r : translate_finish(l, p, t);
}

int translate(const struct plan *p, const struct translate_options *opt, struct translation *ret,
	      struct error *err)
{
	_cleanup_(level_free) struct level l = {0};
	int r = source_translate(p, opt, &l, &ret->sql);

	if (r >= 0)
		r = translate_stages(p, opt, &l, ret);
	return r < 0 ? error_errno(err, r, "cannot translate the query") : 0;
}

/* Keeps rows unchanged, with texts as text; only the first ones if the plan limits them. */
static int keep_rows(const struct plan *p, const struct translate_options *opt, struct partial *ret)
{
	_cleanup_(level_free) struct level l = {0};
	const struct plan_stage *s = p->stages, *end = s + p->stage_count;
	int r = source_translate(p, opt, &l, &ret->rows);
	_cleanup_buf_ struct buf head = {0};

	for (size_t i = 0; i < p->field_count && r >= 0; i++) {
		enum query_type type = p->fields[i].type.type;
		bool word = type == QUERY_TEXT || type == QUERY_CODE;

		buf_printf(&head, "%s", i ? ", " : "");
		sql_name(l.fields[i].name, &head);
		buf_printf(&head, "%s", word ? "::VARCHAR" : "");
		r = level_as(&l, i, &head);
	}
	if (r < 0)
		return r;
	for (size_t i = 0; i < l.order_count; i++)
		buf_printf(&head, "%s%s", head.len ? ", " : "", l.order[i].sql);
	buf_printf(&ret->merge, "SELECT * FROM ");
	r = wrap(&ret->rows, &head, NULL);
	if (r >= 0 && s < end && s->kind == STAGE_SORT)
		r = stage_sort(&l, s++);
	if (r < 0 || s == end || s->kind != STAGE_HEAD)
		return r;
	level_order(&l, s->tail, "", &ret->merge_tail);
	return buf_printf(&ret->merge_tail, " LIMIT %" PRId64, MAX(s->count, (int64_t)0));
}

static int kept_rows(const struct plan *p, const char *table, struct level *l, struct buf *sql)
{
	int r = level_name(l, p->fields, p->field_count);

	if (r >= 0 && p->table == TABLE_OP)
		r = level_order_last(l, "\"#end\"", false);
	if (r < 0)
		return r;
	r = level_order_last(l, "\"#row\"", false);
	return r < 0 ? r : buf_printf(sql, "SELECT * FROM %s", table);
}

int translate_keeping(const struct plan *p, const struct translate_options *opt,
		      struct partial *ret, struct error *err)
{
	int r = p->grouped ? partial_translate(p, opt, ret) : keep_rows(p, opt, ret);

	return r < 0 ? error_errno(err, r, "cannot translate the query") : 0;
}

int translate_kept(const struct plan *p, const struct translate_options *opt, const char *table,
		   struct translation *ret, struct error *err)
{
	_cleanup_(level_free) struct level l = {0};
	int r = p->grouped ? partial_finish(p, opt, table, &l, &ret->sql)
			   : kept_rows(p, table, &l, &ret->sql);

	if (r >= 0)
		r = translate_stages(p, opt, &l, ret);
	return r < 0 ? error_errno(err, r, "cannot translate the query") : 0;
}
