// SPDX-License-Identifier: Apache-2.0
/*
 * click_top.c: for plans that sort and keep only the first rows. The server first computes the worst value that can be
 * among them, and then sends only rows at least as good. Rows added meanwhile can only displace some of these.
 */
#include <errno.h>
#include <stdio.h>

#include "engine/clickhouse/internal.h"

/* Excludes unsigned values, which may not fit the signed number read back. */
static const struct plan_field *top_key(const struct plan *p, bool *ret_desc, int64_t *ret_count)
{
	const struct plan_field *f = plan_first_key(p, ret_desc, ret_count);

	/* of dimension rows only the newest counts */
	if ((unsigned int)p->table >= TABLE_COUNT || schema_is_dimension(p->table))
		return NULL;
	return f && f->type.type != QUERY_UINT ? f : NULL;
}

static int top_sql(struct click_engine *e, const struct plan *p, const struct plan_field *f,
		   bool desc, int64_t count, struct buf *out)
{
	_cleanup_buf_ struct buf key = {0};
	struct click_writer w = {.engine = e, .table = p->table, .out = &key};
	bool all;
	int r = click_expr(&w, f->expr);

	if (r >= 0)
		r = buf_printf(
			out, "SELECT count(), %s(k) FROM (SELECT assumeNotNull(%s) AS k FROM `%s`",
			desc ? "min" : "max", buf_str(&key), schema_table(p->table)->name);
	w.out = out;
	if (r >= 0)
		r = click_where(&w, p->where, p->from, p->to, &all);
	if (r >= 0 && !all)
		return -EOPNOTSUPP;
	return r < 0 ? r
		     : buf_printf(out, " AND isNotNull(%s) ORDER BY k%s LIMIT %lld)", buf_str(&key),
				  desc ? " DESC" : "", (long long)count);
}

int click_top(struct click_engine *e, const struct plan *p, struct click_top *ret,
	      struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	long long found, last;
	bool desc;
	int64_t count;
	const struct plan_field *f = top_key(p, &desc, &count);
	int r = f ? top_sql(e, p, f, desc, count, &sql) : -EOPNOTSUPP;

	ret->plan = *p;
	if (r == -EOPNOTSUPP)
		return 0;
	if (r < 0)
		return error_errno(err, r, "the query");
	r = click_query_text(e, &e->server, buf_str(&sql), &answer, err);
	if (r < 0)
		return r;
	/* fewer rows than wanted have a value: nulls are among the result */
	if (sscanf(buf_str(&answer), "%lld %lld", &found, &last) != 2 || found < count)
		return 0;
	ret->edge = (struct expr){.kind = EXPR_CONST, .type = f->type, .value = {.i = last}};
	ret->compare = (struct expr){.kind = EXPR_COMPARE,
				     .type = {.type = QUERY_BOOL},
				     .cmp = desc ? COMPARE_GE : COMPARE_LE,
				     .arg = {f->expr, &ret->edge},
				     .arg_count = 2};
	ret->both = (struct expr){.kind = EXPR_AND,
				  .type = {.type = QUERY_BOOL},
				  .arg = {p->where, &ret->compare},
				  .arg_count = 2};
	ret->plan.where = p->where ? &ret->both : &ret->compare;
	return 0;
}
