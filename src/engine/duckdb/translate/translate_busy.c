// SPDX-License-Identifier: Apache-2.0
/* translate_busy.c: divides durations between windows. */
#include "engine/duckdb/translate/translate_busy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine/duckdb/translate/sql_expr.h"

/* The end of a call, or the last time it was seen running. */
#define SPAN_END "start + dur"

static const struct plan_field *window_of(const struct plan *p)
{
	for (size_t i = 0; i < p->field_count; i++) {
		if (p->fields[i].kind == FIELD_WINDOW)
			return &p->fields[i];
	}
	return NULL;
}

bool busy_spreads(const struct plan *p)
{
	bool edges = window_of(p) || p->from != INT64_MIN || p->to != INT64_MAX;

	for (size_t i = 0; edges && p->grouped && i < p->field_count; i++) {
		if (p->fields[i].kind == FIELD_AGGREGATE &&
		    p->fields[i].aggregate == AGGREGATE_BUSY)
			return true;
	}
	return false;
}

const char *busy_counted(const struct plan *p)
{
	return busy_spreads(p) ? "CASE WHEN \"#more\" IS NULL THEN 1 END" : "*";
}

int busy_argument(const struct plan *p, const struct plan_field *f, struct buf *arg)
{
	_cleanup_buf_ struct buf plain = {0};
	int r;

	if (f->kind != FIELD_AGGREGATE || !arg->len || !busy_spreads(p))
		return 0;
	r = buf_append(&plain, arg->data, arg->len);
	buf_clear(arg);
	if (r < 0)
		return r;
	return buf_printf(arg, "CASE WHEN \"#more\" IS NULL THEN %s%s END", buf_str(&plain),
			  f->aggregate == AGGREGATE_BUSY ? " ELSE \"#more\"" : "");
}

/* A constant in the syntax of the language. */
static int put_constant(enum query_type type, int64_t v, struct buf *out)
{
	struct expr e = {.kind = EXPR_CONST, .type = {.type = type}, .value = {.i = v}};

	return expr_text(&e, TABLE_OP, out);
}

/* "A op B" for a bound of the range, if the range has it. */
static int put_edge(const char *before, int64_t edge, struct buf *out)
{
	int r = edge == INT64_MIN || edge == INT64_MAX ? 0 : buf_printf(out, "%s", before);

	if (r < 0 || edge == INT64_MIN || edge == INT64_MAX)
		return r;
	return put_constant(QUERY_TIME, edge, out);
}

/* A filter for calls that cross an edge. */
static int put_crossing(const struct plan *p, struct buf *out)
{
	const struct plan_field *window = window_of(p);
	int r = buf_printf(out, "(false");

	if (r >= 0 && window) {
		r = buf_printf(out, " || bucket(start, ");
		if (r >= 0)
			r = put_constant(QUERY_DUR, window->param[0], out);
		if (r >= 0)
			r = buf_printf(out, ") != ");
		if (r >= 0)
			r = expr_text(window->expr, TABLE_OP, out);
	}
	if (r < 0)
		return r;
	r = put_edge(" || start < ", p->from, out);
	if (r < 0)
		return r;
	r = put_edge(" || stop >= ", p->to, out);
	if (r < 0)
		return r;
	r = buf_printf(out, ")");
	return r < 0 ? r : put_edge(" && start < ", p->to, out);
}

/* A filter for calls unfinished at the end of recording: they have no end in a query, but a duration. */
static int put_unfinished(const struct plan *p, struct buf *out)
{
	int r = buf_printf(out, "status has unfinished && " SPAN_END " is not null");

	if (r < 0)
		return r;
	r = put_edge(" && " SPAN_END " >= ", p->from, out);
	return r < 0 ? r : put_edge(" && start < ", p->to, out);
}

/* True if the sums include unfinished calls: a range excludes them. */
static bool has_unfinished(const struct plan *p)
{
	return p->from == INT64_MIN && p->to == INT64_MAX;
}

/*
 * The part of a call within the range ("#lo" to "#hi") and within the window at "#at", minus what is booked there as a
 * whole: the full duration in the window in which it ended, nothing (NULL) if it is unfinished.
 */
static int busy_put_part(const struct plan *p, struct buf *out)
{
	const struct plan_field *window = window_of(p);

	if (!window)
		buf_printf(out, "\"#hi\" - \"#lo\" - CASE WHEN \"#ended\"");
	else
		buf_printf(out,
			   "CASE WHEN \"#at\" IS NULL THEN 0 ELSE \"#at\" + least(%" PRId64
			   ", \"#hi\" - \"#at\") - greatest(\"#lo\", \"#at\") END - "
			   "CASE WHEN \"#at\" IS NULL OR \"#ended\" AND \"#at\" = "
			   "weir_bucket(\"#stop\", %" PRId64 ")",
			   window->param[0], window->param[0]);
	if (p->to != INT64_MAX)
		buf_printf(out, " AND \"#stop\" < %" PRId64, p->to);
	return buf_printf(out, " THEN \"dur\" ELSE 0 END AS \"#more\"");
}

/* Finds the columns that are group keys: corrections have them, too. */
static int find_keys(const struct plan *p, struct asked *a, size_t *ret_window, bool **ret)
{
	bool *keys = calloc(a->count + 1, sizeof(*keys));

	if (!keys)
		return -ENOMEM;
	*ret = keys;
	*ret_window = SIZE_MAX;
	for (size_t i = 0; i < p->field_count; i++) {
		const struct plan_field *f = &p->fields[i];
		size_t at;
		int r = f->kind == FIELD_AGGREGATE ? 0 : asked_index(a, f->expr, &at);

		if (r < 0)
			return r;
		if (f->kind == FIELD_WINDOW)
			*ret_window = at;
		else if (f->kind != FIELD_AGGREGATE)
			keys[at] = true;
	}
	return 0;
}

/* Expands a call to one row per window. */
static int put_windows(const struct plan *p, int64_t width, struct buf *out)
{
	_cleanup_buf_ struct buf list = {0};
	int r = buf_printf(&list,
			   "range(weir_bucket(\"#lo\", %1$" PRId64
			   "), weir_bucket(\"#last\", %1$" PRId64 ") + 1, %1$" PRId64 ")",
			   width);

	if (r < 0)
		return r;
	if (!has_unfinished(p))
		return buf_printf(out, ", unnest(%s) AS \"#at\"", buf_str(&list));
	return buf_printf(out,
			  ", unnest(CASE WHEN \"#ended\" THEN %1$s ELSE list_append(%1$s, NULL) "
			  "END) AS \"#at\"",
			  buf_str(&list));
}

/* "SELECT *, \"#ended\", \"#stop\" FROM weir_rows(...)". */
static int put_spans(const struct plan *p, const struct translate_options *opt, struct asked *c,
		     bool ended, struct buf *out)
{
	_cleanup_buf_ struct buf filter = {0}, stop = {0};
	struct source_part part = {.to_end = true, .from_start = !ended};
	int r = ended ? put_crossing(p, &filter) : put_unfinished(p, &filter);

	part.filter = buf_str(&filter);
	if (r < 0)
		return r;
	r = asked_text(c, SPAN_END, &stop);
	if (r < 0)
		return r;
	r = buf_printf(out, "SELECT *, %s AS \"#ended\", %s AS \"#stop\"", ended ? "true" : "false",
		       buf_str(&stop));
	return r < 0 ? r : source_rows(p, opt, c, &part, out);
}

/* " FROM (...)": each call that crosses an edge, with its part within the range, once per window. */
static int put_crossing_rows(const struct plan *p, const struct translate_options *opt,
			     struct asked *c, struct buf *out)
{
	const struct plan_field *window = window_of(p);
	int r = buf_printf(out, " FROM (SELECT *");

	if (r >= 0 && window)
		r = put_windows(p, window->param[0], out);
	if (r >= 0 && window)
		r = buf_printf(out, " FROM (SELECT *");
	if (r >= 0 && p->from != INT64_MIN)
		r = buf_printf(out, ", greatest(\"start\", %" PRId64 ") AS \"#lo\"", p->from);
	else if (r >= 0)
		r = buf_printf(out, ", \"start\" AS \"#lo\"");
	if (r >= 0 && p->to != INT64_MAX)
		r = buf_printf(out,
			       ", least(\"#stop\", %" PRId64
			       ") AS \"#hi\", least(\"#stop\", %" PRId64 ") AS \"#last\"",
			       p->to, p->to - 1);
	else if (r >= 0)
		r = buf_printf(out, ", \"#stop\" AS \"#hi\", \"#stop\" AS \"#last\"");
	if (r < 0)
		return r;
	r = buf_printf(out, " FROM (");
	if (r < 0)
		return r;
	r = put_spans(p, opt, c, true, out);
	if (r < 0)
		return r;
	r = buf_printf(out, " UNION ALL ");
	if (r < 0)
		return r;
	r = put_spans(p, opt, c, false, out);
	return r < 0 ? r : buf_printf(out, "))%s", window ? ")" : "");
}

static int put_corrections(const struct plan *p, const struct translate_options *opt,
			   struct asked *a, struct buf *out)
{
	_cleanup_(asked_free) struct asked c = {.table = p->table};
	_cleanup_buf_ struct buf part = {0};
	_cleanup_free_ bool *keys = NULL;
	size_t window;
	int r = find_keys(p, a, &window, &keys);

	if (r < 0)
		return r;
	r = asked_text(&c, "start", NULL);
	if (r < 0)
		return r;
	r = asked_text(&c, SPAN_END, NULL);
	if (r < 0)
		return r;
	r = asked_text(&c, "dur", NULL);
	if (r < 0)
		return r;
	r = buf_printf(out, "SELECT ");
	if (r < 0)
		return r;
	for (size_t i = 0; i < a->count && r >= 0; i++) {
		if (i == window)
			r = buf_printf(out, "\"#at\"");
		else if (keys[i])
			r = asked_text(&c, a->texts[i], out);
		else
			r = buf_printf(out, "NULL");
		if (r >= 0)
			r = buf_printf(out, ", ");
	}
	if (r < 0)
		return r;
	busy_put_part(p, out);
	return put_crossing_rows(p, opt, &c, out);
}

int busy_from(const struct plan *p, const struct translate_options *opt, struct asked *a,
	      const char *where, struct buf *out)
{
	struct source_part all = {0};
	int r = buf_printf(out, " FROM (SELECT *, NULL::BIGINT AS \"#more\"");

	if (r < 0)
		return r;
	r = source_rows(p, opt, a, &all, out);
	if (r < 0)
		return r;
	buf_printf(out, "%s UNION ALL ", where);
	r = put_corrections(p, opt, a, out);
	return r < 0 ? r : buf_printf(out, ") AS r");
}
