// SPDX-License-Identifier: Apache-2.0
/*
 * translate_source.c: the innermost SELECT of a translation: rows filtered by weir_rows(), then the plan's fields of
 * each row or group.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/duckdb/translate/translate_busy.h"
#include "engine/duckdb/translate/sql_expr.h"
#include "engine/duckdb/translate/from_summaries.h"

void asked_free(struct asked *a)
{
	for (size_t i = 0; i < a->count; i++)
		free(a->texts[i]);
	free(a->texts);
}

/* True for a plain word, which is readable as a column name; other expressions are named by number. */
static bool translate_source_is_plain(const char *text)
{
	for (const char *c = text; *c; c++) {
		if (!(*c >= 'a' && *c <= 'z') && *c != '_' && !(*c >= '0' && *c <= '9'))
			return false;
	}
	return *text && !(*text >= '0' && *text <= '9');
}

static int column_name(const struct asked *a, size_t i, struct buf *out)
{
	return translate_source_is_plain(a->texts[i]) ? sql_name(a->texts[i], out)
						      : buf_printf(out, "c%zu", i);
}

int asked_text(struct asked *a, const char *text, struct buf *out)
{
	size_t i = 0;
	int r;

	while (i < a->count && strcmp(a->texts[i], text))
		i++;
	if (i == a->count) {
		r = grow((void **)&a->texts, &a->cap, a->count + 1, sizeof(*a->texts));
		if (r < 0)
			return r;
		a->texts[i] = strdup(text);
		if (!a->texts[i])
			return -ENOMEM;
		a->count++;
	}
	return out ? column_name(a, i, out) : 0;
}

/* Requests an expression; appends its column's name to `out` (may be NULL). */
static int ask_expr(struct asked *a, const struct expr *e, struct buf *out)
{
	_cleanup_buf_ struct buf text = {0};
	int r = expr_text(e, a->table, &text);

	return r < 0 ? r : asked_text(a, buf_str(&text), out);
}

int asked_index(struct asked *a, const struct expr *e, size_t *ret)
{
	_cleanup_buf_ struct buf text = {0};
	size_t i = 0;
	int r = expr_text(e, a->table, &text);

	if (r >= 0)
		r = asked_text(a, buf_str(&text), NULL);
	while (r >= 0 && strcmp(a->texts[i], buf_str(&text)))
		i++;
	*ret = i;
	return r;
}

/* sql_leaf_t over rows. */
static int asked_leaf(void *asked, const struct expr *e, struct buf *out)
{
	return ask_expr(asked, e, out);
}

/* The sort field, if the scan may drop rows that cannot be among the first; only if it also evaluates the filter. */
static const struct plan_field *top_field(const struct plan *p, const struct translate_options *opt,
					  bool *ret_desc, int64_t *ret_count)
{
	return opt->filter_in_sql ? NULL : plan_first_key(p, ret_desc, ret_count);
}

/* The filter for the scan; empty: none. */
static int filter_text(const struct plan *p, const struct translate_options *opt,
		       const struct source_part *part, struct buf *out)
{
	bool where = p->where && (!opt->filter_in_sql || part->filter);

	if (where && (opt->only || part->filter))
		buf_printf(out, "(");
	if (where)
		expr_text(p->where, p->table, out);
	if (opt->only)
		buf_printf(out, "%s(%s)", where ? ") && " : "", opt->only);
	if (part->filter)
		buf_printf(out, "%s(%s)", opt->only ? " && " : where ? ") && " : "", part->filter);
	return buf_status(out);
}

int source_rows(const struct plan *p, const struct translate_options *opt, struct asked *a,
		const struct source_part *part, struct buf *out)
{
	_cleanup_buf_ struct buf filter = {0};
	bool desc = false;
	int64_t top = 0;
	/* count() alone: weir_rows() needs some column, which is not read */
	int r = a->count ? 0 : asked_text(a, "row_number", NULL);

	if (r >= 0)
		r = filter_text(p, opt, part, &filter);
	if (r < 0)
		return r;
	buf_printf(out, " FROM weir_rows('%s', ", schema_table(p->table)->name);
	if (filter.len)
		sql_string(buf_str(&filter), filter.len, out);
	else
		buf_printf(out, "NULL");
	for (size_t i = 0; i < a->count; i++) {
		buf_printf(out, "%s", i ? ", " : ", [");
		sql_string(a->texts[i], strlen(a->texts[i]), out);
	}
	buf_printf(out, "]");
	if (p->from != INT64_MIN && !part->from_start)
		buf_printf(out, ", ended_from := %" PRId64, p->from);
	if (p->to != INT64_MAX && !part->to_end)
		buf_printf(out, ", ended_to := %" PRId64, p->to);
	if (p->each_file)
		buf_printf(out, ", each_file := true");
	if (a->from_summaries)
		buf_printf(out, ", summed := true");
	if (opt->first_block)
		buf_printf(out, ", first_block := %zu", opt->first_block);
	if (top_field(p, opt, &desc, &top))
		buf_printf(out, ", top := %" PRId64 ", top_order := '%s'", top,
			   desc ? "desc" : "asc");
	buf_printf(out, ") AS r(");
	for (size_t i = 0; i < a->count; i++) {
		buf_printf(out, "%s", i ? ", " : "");
		column_name(a, i, out);
	}
	return buf_printf(out, ")");
}

int source_from(const struct plan *p, const struct translate_options *opt, struct asked *a,
		const char *where, struct buf *out)
{
	static const struct source_part all;
	int r;

	if (busy_spreads(p))
		return busy_from(p, opt, a, where ? where : "", out);
	r = source_rows(p, opt, a, &all, out);
	return r < 0 ? r : buf_printf(out, "%s", where ? where : "");
}

static int translate_source_write_rows(const struct plan *p, struct asked *a, struct level *l,
				       struct buf *head)
{
	int r = 0;

	for (size_t i = 0; i < p->field_count; i++) {
		buf_printf(head, "%s", i ? ", " : "");
		buf_fail(head, ask_expr(a, p->fields[i].expr, head));
		level_as(l, i, head);
	}
	if (p->table == TABLE_OP) {
		buf_fail(head, asked_text(a, "row_end", NULL));
		buf_printf(head, "%srow_end AS \"#end\"", head->len ? ", " : "");
		r = level_order_last(l, "\"#end\"", false);
	}
	if (r < 0)
		return r;
	buf_fail(head, asked_text(a, "row_number", NULL));
	r = buf_printf(head, "%srow_number AS \"#row\"", head->len ? ", " : "");
	return r < 0 ? r : level_order_last(l, "\"#row\"", false);
}

int source_argument(struct asked *a, const struct plan *p, const struct plan_field *f,
		    struct buf *out)
{
	const char *sum = a->from_summaries ? from_summaries_column(f) : NULL;
	int r = 0;

	if (a->from_summaries && f->kind == FIELD_AGGREGATE && from_summaries_differ(f))
		r = asked_text(a, "row_calls", NULL);
	if (r >= 0 && sum)
		r = asked_text(a, sum, out);
	else if (r >= 0 && f->expr)
		r = ask_expr(a, f->expr, out);
	if (r >= 0)
		r = busy_argument(p, f, out);
	if (r < 0 || f->kind != FIELD_AGGREGATE ||
	    (f->aggregate != AGGREGATE_FIRST && f->aggregate != AGGREGATE_LAST))
		return r;
	r = asked_text(a, "row_end", NULL);
	return r < 0 ? r : asked_text(a, "row_number", NULL);
}

static int write_groups(const struct plan *p, const struct translate_options *opt, struct asked *a,
			struct level *l, struct buf *head, struct buf *tail)
{
	struct aggregate_place place = {.source = true,
					.from_summaries = a->from_summaries,
					.order = "",
					.counted = busy_counted(p),
					.seconds =
						level_seconds(p->fields, p->field_count, p, opt)};
	int r = 0;

	for (size_t i = 0; i < p->field_count && r >= 0; i++) {
		_cleanup_buf_ struct buf arg = {0}, max = {0};

		r = source_argument(a, p, &p->fields[i], &arg);
		if (r >= 0 && a->from_summaries && p->fields[i].kind == FIELD_AGGREGATE &&
		    p->fields[i].aggregate == AGGREGATE_PERCENTILE)
			r = asked_text(a, "row_max", &max);
		place.max = buf_str(&max);
		if (r >= 0)
			r = level_grouped(l, &p->fields[i], i, buf_str(&arg), &place, head, tail);
	}
	return r;
}

int source_user(const struct query_user_table *t, char name, struct buf *out)
{
	buf_printf(out, "weir_user('%s', plain := true) AS %c(", t->name, name);
	for (size_t i = 0; i < t->column_count; i++)
		buf_printf(out, "%c%zu, ", name, i);
	return buf_printf(out, "%c_row)", name);
}

/* Reads a user's table in its order. */
static int user_translate(const struct plan *p, struct level *l, struct buf *sql)
{
	int r = level_name(l, p->fields, p->field_count);

	if (r < 0)
		return r;
	buf_printf(sql, "SELECT ");
	for (size_t i = 0; i < p->field_count; i++) {
		buf_printf(sql, "u%zu", i);
		level_as(l, i, sql);
		buf_printf(sql, ", ");
	}
	buf_printf(sql, "u_row AS \"#row\" FROM ");
	r = source_user(p->user, 'u', sql);
	return r < 0 ? r : level_order_last(l, "\"#row\"", false);
}

int source_translate(const struct plan *p, const struct translate_options *opt, struct level *l,
		     struct buf *sql)
{
	_cleanup_(asked_free) struct asked a = {.table = p->table,
						.from_summaries = !opt->filter_in_sql &&
								  from_summaries_answer(p)};
	_cleanup_buf_ struct buf head = {0}, tail = {0}, where = {0};
	bool desc;
	int64_t top;
	const struct plan_field *key;
	int r;

	if (p->user)
		return user_translate(p, l, sql);
	key = top_field(p, opt, &desc, &top);
	r = level_name(l, p->fields, p->field_count);
	if (r >= 0 && key) /* the hint refers to the first column */
		r = ask_expr(&a, key->expr, NULL);
	if (r >= 0)
		r = p->grouped ? write_groups(p, opt, &a, l, &head, &tail)
			       : translate_source_write_rows(p, &a, l, &head);
	if (r >= 0 && p->where && opt->filter_in_sql) {
		buf_printf(&where, " WHERE ");
		r = sql_expr(p->where, asked_leaf, &a, &where);
	}
	if (r < 0)
		return r;
	buf_printf(sql, "SELECT ");
	buf_add(sql, &head);
	buf_fail(sql, source_from(p, opt, &a, buf_str(&where), sql));
	return buf_add(sql, &tail);
}
