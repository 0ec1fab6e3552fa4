// SPDX-License-Identifier: Apache-2.0
/*
 * click_narrow.c: restricts what is fetched of table file: the rows, if a plan's filter requires certain paths and the
 * plan reads nothing else of files (rows of other files are not needed: their path is then null, for which the filter
 * is not true); the names, if the plan only groups by files: then those in its result are fetched at the end.
 */
#include <string.h>

#include "engine/clickhouse/internal.h"
#include "query/eval/eval_rows.h"

/* True if the expression reads nothing of the file in `column` except its path. */
static bool narrow_reads_paths_alone(const struct expr *e, unsigned int column)
{
	if (!e)
		return true;
	if (e->kind == EXPR_USER || e->type.type == QUERY_ENTITY ||
	    (e->kind == EXPR_NAME && query_name_table(e->name) == TABLE_FILE &&
	     (e->name != QNAME_PATH || e->column != column)))
		return false;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (!narrow_reads_paths_alone(e->arg[i], column))
			return false;
	}
	return true;
}

static bool narrow_fields(const struct plan_field *fields, size_t count, unsigned int column)
{
	for (size_t i = 0; i < count; i++) {
		if (!narrow_reads_paths_alone(fields[i].expr, column))
			return false;
	}
	return true;
}

static bool narrow_plan(const struct plan *p, unsigned int column)
{
	bool alone = narrow_reads_paths_alone(p->where, column) &&
		     narrow_fields(p->fields, p->field_count, column);

	for (size_t s = 0; s < p->stage_count && alone; s++) {
		const struct plan_stage *stage = &p->stages[s];

		alone = stage->kind != STAGE_JOIN &&
			narrow_reads_paths_alone(stage->expr, column) &&
			narrow_fields(stage->fields, stage->field_count, column);
	}
	return alone;
}

/* A literal contained in everything that the glob matches; without a slash next to a star, which may be missing. Empty: none. */
static struct bytes narrow_literal(struct bytes glob)
{
	struct bytes best = {0};
	size_t end;

	for (size_t at = 0; at < glob.len; at = end + 1) {
		struct bytes run;

		for (end = at; end < glob.len && !memchr("*?", glob.data[end], 2); end++) {
			if (memchr("[]{}\\", glob.data[end], 5))
				return (struct bytes){0};
		}
		run = (struct bytes){glob.data + at, (uint32_t)(end - at)};
		while (run.len && run.data[0] == '/')
			run = (struct bytes){run.data + 1, run.len - 1};
		while (run.len && run.data[run.len - 1] == '/')
			run.len--;
		if (run.len > best.len)
			best = run;
	}
	return best;
}

/* The path operand of a condition, and what it is compared with; NULL: no such condition. */
static const struct expr *narrow_condition(const struct expr *e, struct bytes *ret)
{
	const struct expr *path = e->arg_count ? e->arg[0] : NULL;
	const struct expr *other = e->arg_count > 1 ? e->arg[1] : NULL;

	*ret = (struct bytes){0};
	if (e->kind == EXPR_GLOB)
		*ret = narrow_literal(e->pattern);
	if (e->kind == EXPR_COMPARE && e->cmp == COMPARE_EQ && other && other->kind == EXPR_CONST &&
	    other->type.type == QUERY_TEXT && !other->value.null)
		*ret = other->value.t;
	return ret->len && path->kind == EXPR_NAME && path->name == QNAME_PATH ? path : NULL;
}

static const struct expr *narrow_find(const struct expr *where, struct bytes *ret)
{
	const struct expr *path;

	if (where->kind != EXPR_AND)
		return narrow_condition(where, ret);
	path = narrow_find(where->arg[0], ret);
	return path ? path : narrow_find(where->arg[1], ret);
}

static bool is_file(struct query_kind k)
{
	return k.type == QUERY_ENTITY && k.entity == TABLE_FILE;
}

/* True if the expression is a file, or reads nothing of files. */
static bool narrow_reads_ids_alone(const struct expr *e)
{
	if (!e || (is_file(e->type) && (e->kind == EXPR_NAME || e->kind == EXPR_FIELD)))
		return true;
	return !(query_expr_tables(e) >> TABLE_FILE & 1);
}

static bool narrow_fields_are_ids(const struct plan_field *fields, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!narrow_reads_ids_alone(fields[i].expr))
			return false;
	}
	return true;
}

/* True if names of files are used only to print the result. */
static bool narrow_to_ids(const struct plan *p)
{
	if (!p->grouped || !narrow_reads_ids_alone(p->where) ||
	    !narrow_fields_are_ids(p->fields, p->field_count))
		return false;
	for (const struct plan_stage *s = p->stages; s < p->stages + p->stage_count; s++) {
		/* a sort by files is by their names */
		if (s->kind == STAGE_JOIN ||
		    (s->kind == STAGE_SORT && is_file(s->fields[s->keys[0].field].type)) ||
		    !narrow_reads_ids_alone(s->expr) ||
		    !narrow_fields_are_ids(s->fields, s->field_count))
			return false;
	}
	return true;
}

int click_narrow(struct click_engine *e, const struct plan *p, struct error *err)
{
	struct bytes text;
	const struct expr *path = p->where ? narrow_find(p->where, &text) : NULL;
	int r = 0;

	buf_clear(&e->narrow);
	e->by_id = narrow_to_ids(p);
	if (!path || (unsigned int)p->table >= TABLE_COUNT || schema_is_dimension(p->table) ||
	    !narrow_plan(p, path->column))
		return 0;
	/* all rows of a matching file: the last one counts */
	buf_printf(&e->narrow, " AND (recording, ifNull(id, -1)) IN (SELECT recording, "
			       "ifNull(id, -1) FROM file WHERE position(ifNull(path, ''), ");
	clickhouse_literal(text, &e->narrow);
	r = buf_printf(&e->narrow, ") > 0%s)", buf_str(&e->hosts));
	return r < 0 ? error_errno(err, r, "the files") : 0;
}
