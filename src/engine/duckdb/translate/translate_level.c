// SPDX-License-Identifier: Apache-2.0
/* translate_level.c: names, order and aggregates of one SELECT of a translation. */
#include "engine/duckdb/translate/translate_level.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/duckdb/translate/sql_expr.h"
#include "engine/duckdb/translate/from_summaries.h"

/* ---- names ---- */

static void order_free(struct level *l)
{
	for (size_t i = 0; i < l->order_count; i++)
		free(l->order[i].sql);
	free(l->order);
	l->order = NULL;
	l->order_count = l->order_cap = 0;
}

void level_free(struct level *l)
{
	for (size_t i = 0; i < l->count; i++) {
		free(l->fields[i].name);
		free(l->fields[i].estimate);
	}
	free(l->fields);
	order_free(l);
	*l = (struct level){0};
}

void level_replace(struct level *l, struct level *next)
{
	level_free(l);
	*l = *next;
	*next = (struct level){0};
}

/* Names in SQL are case-insensitive. */
static bool is_taken(const struct level *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++) {
		if (!strcasecmp(l->fields[i].name, name))
			return true;
	}
	return false;
}

static char *unique_name(const struct level *l, const char *name)
{
	char *text = NULL;

	if (!is_taken(l, name))
		return strdup(name);
	for (unsigned int n = 2;; n++) {
		if (asprintf(&text, "%s %u", name, n) < 0)
			return NULL;
		if (!is_taken(l, text))
			return text;
		free(text);
	}
}

int level_name_more(struct level *l, const struct level *before, const struct plan_field *fields,
		    size_t count)
{
	l->fields = calloc(count + 1, sizeof(*l->fields));
	if (!l->fields)
		return -ENOMEM;
	while (l->count < count) {
		struct level_field f = {0};
		size_t i = l->count;

		f.name = before && i < before->count ? strdup(before->fields[i].name)
						     : unique_name(l, fields[i].name);
		if (!f.name)
			return -ENOMEM;
		if (before && i < before->count && before->fields[i].estimate) {
			f.estimate = strdup(before->fields[i].estimate);
			if (!f.estimate) {
				free(f.name);
				return -ENOMEM;
			}
		}
		l->fields[l->count++] = f;
	}
	return 0;
}

int level_name(struct level *l, const struct plan_field *fields, size_t count)
{
	return level_name_more(l, NULL, fields, count);
}

int level_as(const struct level *l, size_t i, struct buf *out)
{
	buf_printf(out, " AS ");
	return sql_name(l->fields[i].name, out);
}

int level_leaf(void *level, const struct expr *e, struct buf *out)
{
	const struct level *l = level;

	if (e->kind != EXPR_FIELD || e->column >= l->count)
		return -EINVAL;
	return sql_name(l->fields[e->column].name, out);
}

/* ---- order ---- */

static int order_insert(struct level *l, size_t at, const char *sql, bool desc)
{
	int r = grow((void **)&l->order, &l->order_cap, l->order_count + 1, sizeof(*l->order));
	char *copy = r < 0 ? NULL : strdup(sql);

	if (!copy)
		return -ENOMEM;
	memmove(l->order + at + 1, l->order + at, (l->order_count - at) * sizeof(*l->order));
	l->order[at] = (struct level_term){copy, desc};
	l->order_count++;
	return 0;
}

int level_order_first(struct level *l, struct buf *sql, bool desc)
{
	return buf_status(sql) < 0 ? buf_status(sql) : order_insert(l, 0, buf_str(sql), desc);
}

int level_order_last(struct level *l, const char *sql, bool desc)
{
	return order_insert(l, l->order_count, sql, desc);
}

int level_order_field(struct level *l, size_t i)
{
	_cleanup_buf_ struct buf name = {0};
	int r = sql_name(l->fields[i].name, &name);

	return r < 0 ? r : level_order_last(l, buf_str(&name), false);
}

/* A term that already occurs earlier has no effect. */
static bool is_repeated(const struct level *l, size_t i)
{
	for (size_t k = 0; k < i; k++) {
		if (!strcmp(l->order[k].sql, l->order[i].sql))
			return true;
	}
	return false;
}

int level_order(const struct level *l, bool reversed, const char *of, struct buf *out)
{
	for (size_t i = 0; i < l->order_count; i++) {
		bool desc = l->order[i].desc != reversed;

		if (is_repeated(l, i))
			continue;
		buf_printf(out, "%s%s%s %s NULLS %s", i ? ", " : " ORDER BY ",
			   l->order[i].sql[0] == '"' ? of : "", l->order[i].sql,
			   desc ? "DESC" : "ASC", reversed ? "FIRST" : "LAST");
	}
	return buf_status(out);
}

int level_carry_order(const struct level *l, struct level *next, struct buf *head)
{
	int r = 0;

	for (size_t i = 0; i < l->order_count && r >= 0; i++) {
		char name[32];

		if (is_repeated(l, i))
			continue;
		snprintf(name, sizeof(name), "\"#%zu\"", i);
		r = buf_printf(head, ", %s AS %s", l->order[i].sql, name);
		if (r >= 0)
			r = level_order_last(next, name, l->order[i].desc);
	}
	return r;
}

void level_take_order(struct level *l, struct level *next)
{
	order_free(next);
	next->order = TAKE_PTR(l->order);
	next->order_count = l->order_count;
	next->order_cap = l->order_cap;
	l->order_count = l->order_cap = 0;
}

/* ---- estimates ---- */

int level_estimate(struct level *l, size_t i)
{
	if (l->fields[i].estimate)
		return 0;
	return asprintf(&l->fields[i].estimate, "~%zu", i) < 0 ? -ENOMEM : 0;
}

/* The estimate flags of fields of l that e reads, joined by OR. */
static int estimates_of(const struct level *l, const struct expr *e, struct buf *out)
{
	if (e->kind == EXPR_FIELD && l->fields[e->column].estimate) {
		buf_printf(out, "%s", out->len ? " OR " : "");
		return sql_name(l->fields[e->column].estimate, out);
	}
	for (unsigned int i = 0; i < e->arg_count; i++)
		estimates_of(l, e->arg[i], out);
	return buf_status(out);
}

int level_carry_estimate(const struct level *l, const struct expr *e, struct level *next, size_t i,
			 struct buf *head)
{
	_cleanup_buf_ struct buf of = {0};
	int r = estimates_of(l, e, &of);

	if (r < 0 || !of.len)
		return r;
	r = level_estimate(next, i);
	if (r < 0)
		return r;
	buf_printf(head, ", (%s) AS ", buf_str(&of));
	return sql_name(next->fields[i].estimate, head);
}

/* ---- aggregates ---- */

double level_seconds(const struct plan_field *fields, size_t count, const struct plan *p,
		     const struct translate_options *opt)
{
	int64_t from = MAX(p->from, opt->first), to = MIN(p->to, opt->last);

	for (size_t i = 0; i < count; i++) {
		if (fields[i].kind == FIELD_WINDOW)
			return (double)fields[i].param[0] / 1e9;
	}
	return opt->first == INT64_MIN || to <= from ? 0 : (double)(to - from) / 1e9;
}

/* The set of values that distinct() counts. */
int level_set(const struct plan_field *f, const char *arg, const struct aggregate_place *place,
	      struct buf *out)
{
	if (f->expr->type.type == QUERY_CODE && !place->source) /* ENUMs only occur there */
		return buf_printf(out, "distinct_set_text((%s)::VARCHAR)", arg);
	switch (f->expr->type.type) {
	case QUERY_FLOAT:
	case QUERY_TEXT:
		return buf_printf(out, "distinct_set_text((%s)::VARCHAR)", arg);
	case QUERY_CODE:
		return buf_printf(out, "distinct_set(enum_code(%s)::BIGINT)", arg);
	case QUERY_UINT:
		return buf_printf(out, "distinct_set(weir_signed(%s))", arg);
	case QUERY_BOOL:
		return buf_printf(out, "distinct_set((%s)::BIGINT)", arg);
	default:
		return buf_printf(out, "distinct_set(%s)", arg);
	}
}

static int write_distinct(struct level *next, const struct plan_field *f, size_t i, const char *arg,
			  const struct aggregate_place *place, struct buf *out)
{
	int r = level_estimate(next, i);

	if (r < 0)
		return r;
	buf_printf(out, "distinct_count(");
	level_set(f, arg, place, out);
	buf_printf(out, ")");
	level_as(next, i, out);
	buf_printf(out, ", distinct_estimated(");
	level_set(f, arg, place, out);
	buf_printf(out, ") AS ");
	return sql_name(next->fields[i].estimate, out);
}

static int write_rate(const struct plan_field *f, const char *arg, double seconds, struct buf *out)
{
	if (!(seconds > 0))
		return buf_printf(out, "NULL::DOUBLE");
	if (!f->expr)
		return buf_printf(out, "count(%s) / '%.17g'::DOUBLE", arg, seconds);
	return buf_printf(out, "weir_finite(sum(%s)::DOUBLE / '%.17g'::DOUBLE)", arg, seconds);
}

/* Means and deviations of durations and sizes are integers. */
static int translate_level_write_mean(const struct plan_field *f, const char *function,
				      const char *arg, struct buf *out)
{
	if (f->type.type == QUERY_FLOAT)
		return buf_printf(out, "weir_finite(%s(%s))", function, arg);
	return buf_printf(out, "TRY_CAST(round(%s(%s)) AS BIGINT)", function, arg);
}

static int write_ends(const struct plan_field *f, const char *arg,
		      const struct aggregate_place *place, struct buf *out)
{
	bool first = f->aggregate == AGGREGATE_FIRST;

	if (!place->source)
		return buf_printf(out, "%s(%s%s)", first ? "first" : "last", arg, place->order);
	return buf_printf(out, "%s(%s, " ROW_PLACE ")", first ? "arg_min_null" : "arg_max_null",
			  arg);
}

static int write_hist(const struct plan_field *f, const char *arg, struct buf *out)
{
	bool merge = f->expr->type.type == QUERY_HIST;

	if (f->aggregate == AGGREGATE_HIST)
		return buf_printf(out, "%s(%s)", merge ? "hist_merge" : "weir_hist", arg);
	if (merge)
		return buf_printf(out, "hist_quantile(hist_merge(%s), %.15g)", arg, f->quantile);
	/* the middle of the largest value's bucket may exceed the value */
	return buf_printf(out, "least(hist_quantile(weir_hist(%s), %.15g), max(%s))", arg,
			  f->quantile, arg);
}

static int write_tally(const struct plan_field *f, const char *arg, struct buf *out)
{
	const int64_t *v = f->param;

	switch (f->aggregate) {
	case AGGREGATE_QUANTIZE:
		return buf_printf(out, "quantize(%s)", arg);
	case AGGREGATE_LQUANTIZE:
		return buf_printf(out, "lquantize(%s, %lld, %lld, %lld)", arg, (long long)v[0],
				  (long long)v[1], (long long)v[2]);
	default:
		return buf_printf(out, "llquantize(%s, %lld, %lld, %lld, %lld)", arg,
				  (long long)v[0], (long long)v[1], (long long)v[2],
				  (long long)v[3]);
	}
}

static int write_sum(const struct plan_field *f, const char *arg, struct buf *out)
{
	if (f->type.type == QUERY_FLOAT)
		return buf_printf(out, "weir_finite(sum(%s))", arg);
	return buf_printf(out, "TRY_CAST(sum(%s) AS BIGINT)", arg);
}

int level_aggregate(const struct plan_field *f, const char *arg,
		    const struct aggregate_place *place, struct buf *out)
{
	const char *rows = place->counted ? place->counted : "*";

	if (place->from_summaries && from_summaries_differ(f))
		return from_summaries_aggregate(f, arg, place, out);
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
		return buf_printf(out, "count(%s)", f->expr ? arg : rows);
	case AGGREGATE_COUNTIF:
		return buf_printf(out, "count(*) FILTER (WHERE %s)", arg);
	case AGGREGATE_SUM:
	case AGGREGATE_BUSY:
		return write_sum(f, arg, out);
	case AGGREGATE_AVG:
		return translate_level_write_mean(f, "avg", arg, out);
	case AGGREGATE_STDDEV:
		return translate_level_write_mean(f, "stddev_samp", arg, out);
	case AGGREGATE_MIN:
	case AGGREGATE_ANY: /* deterministic */
		return buf_printf(out, "min(%s)", arg);
	case AGGREGATE_MAX:
		return buf_printf(out, "max(%s)", arg);
	case AGGREGATE_RATE:
		return write_rate(f, f->expr ? arg : rows, place->seconds, out);
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		return write_hist(f, arg, out);
	case AGGREGATE_QUANTIZE:
	case AGGREGATE_LQUANTIZE:
	case AGGREGATE_LLQUANTIZE:
		return write_tally(f, arg, out);
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		return write_ends(f, arg, place, out);
	default:
		return -EINVAL;
	}
}

int level_grouped(struct level *next, const struct plan_field *f, size_t i, const char *arg,
		  const struct aggregate_place *place, struct buf *head, struct buf *tail)
{
	buf_printf(head, "%s", i ? ", " : "");
	if (f->kind == FIELD_KEY || f->kind == FIELD_WINDOW || f->kind == FIELD_EXPR) {
		buf_printf(head, "%s", arg);
		buf_printf(tail, "%s%zu", tail->len ? ", " : " GROUP BY ", i + 1);
		buf_fail(head, level_order_field(next, i));
		return level_as(next, i, head);
	}
	if (f->aggregate == AGGREGATE_DISTINCT)
		return write_distinct(next, f, i, arg, place, head);
	buf_fail(head, level_aggregate(f, arg, place, head));
	return level_as(next, i, head);
}
