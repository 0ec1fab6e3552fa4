// SPDX-License-Identifier: Apache-2.0
/* topk_chosen.c: which groups a head leaves over. */
#include "engine/duckdb/rows/topk_chosen.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "engine/duckdb/rows/topk_files.h"
#include "engine/duckdb/library/duckdb_result.h"
#include "engine/duckdb/translate/sql_expr.h"
#include "engine/duckdb/translate/from_summaries.h"

#define VERSIONS_MAX (2 * CHOSEN_MAX) /* of the files that are left over */
#define SEVERAL_MAX \
	10000 /* files that several use, versions included: a filter finds each by halving */

/* ---- the plan without what it is not sorted by ---- */

static bool is_sorted_by(const struct plan_stage *sort, size_t field)
{
	for (size_t i = 0; i < sort->key_count; i++) {
		if (sort->keys[i].field == field)
			return true;
	}
	return false;
}

/* States that take much memory, or long. */
static bool is_heavy(const struct plan_field *f)
{
	switch (f->aggregate) {
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
	case AGGREGATE_DISTINCT:
	case AGGREGATE_QUANTIZE:
	case AGGREGATE_LQUANTIZE:
	case AGGREGATE_LLQUANTIZE:
		return true;
	default:
		return false;
	}
}

static bool topk_chosen_is_file(const struct expr *e)
{
	return (e->kind == EXPR_COLUMN || (e->kind == EXPR_NAME && e->name == QNAME_FILE)) &&
	       e->column == OP_FILE_ID;
}

/* The number of the key where files are the only one, else -1. */
static int file_key(const struct plan *p)
{
	int key = -1;

	for (size_t i = 0; i < p->field_count; i++) {
		const struct plan_field *f = &p->fields[i];

		if (f->kind == FIELD_AGGREGATE)
			continue;
		if (key >= 0 || f->kind != FIELD_KEY || !topk_chosen_is_file(f->expr))
			return -1;
		key = (int)i;
	}
	return key;
}

static bool is_cut(const struct plan *p)
{
	return p->table == TABLE_OP && p->grouped && !p->user && p->stage_count >= 2 &&
	       p->stages[0].kind == STAGE_SORT && p->stages[1].kind == STAGE_HEAD &&
	       !p->stages[1].tail && p->stages[1].count > 0 && p->stages[1].count <= CHOSEN_MAX &&
	       file_key(p) >= 0;
}

/* The same plan, whose aggregates are count() where nothing is sorted by them. The fields are the
 * caller's to free. */
static int lighten(const struct plan *p, struct plan *ret)
{
	struct plan_field *fields = calloc(p->field_count + 1, sizeof(*fields));

	if (!fields)
		return -ENOMEM;
	memcpy(fields, p->fields, p->field_count * sizeof(*fields));
	for (size_t i = 0; i < p->field_count; i++) {
		if (fields[i].kind != FIELD_AGGREGATE || is_sorted_by(&p->stages[0], i))
			continue;
		fields[i].aggregate = AGGREGATE_COUNT;
		fields[i].expr = NULL;
		fields[i].type = (struct query_kind){.type = QUERY_INT};
	}
	*ret = *p;
	ret->fields = fields;
	ret->stage_count = 2;
	return 0;
}

/* A distinct() that has to be over 1 by what the expression says; -1: none. */
static int several_of(const struct plan *p, const struct expr *e)
{
	const struct expr *field, *least;
	int found;

	if (e->kind == EXPR_AND) {
		found = several_of(p, e->arg[0]);
		return found >= 0 ? found : several_of(p, e->arg[1]);
	}
	if (e->kind != EXPR_COMPARE || (e->cmp != COMPARE_GT && e->cmp != COMPARE_GE))
		return -1;
	field = e->arg[0];
	least = e->arg[1];
	if (field->kind != EXPR_FIELD || field->column >= p->field_count ||
	    p->fields[field->column].kind != FIELD_AGGREGATE ||
	    p->fields[field->column].aggregate != AGGREGATE_DISTINCT || least->kind != EXPR_CONST ||
	    least->value.null || least->type.type != QUERY_INT)
		return -1;
	return least->value.i >= (e->cmp == COMPARE_GT ? 1 : 2) ? (int)field->column : -1;
}

/* The distinct() of which only files with several are wanted: it is of what summaries know; -1: none. */
static int several_field(const struct plan *p)
{
	struct plan_field fields[2];
	struct plan light = *p;
	size_t stage = 0;
	int key, field;

	while (stage < p->stage_count && p->stages[stage].kind == STAGE_SORT)
		stage++; /* which leaves none out */
	if (p->table != TABLE_OP || !p->grouped || p->user || stage == p->stage_count ||
	    p->stages[stage].kind != STAGE_WHERE)
		return -1;
	key = file_key(p);
	field = key < 0 ? -1 : several_of(p, p->stages[stage].expr);
	if (field < 0)
		return -1;
	fields[0] = p->fields[key];
	fields[1] = p->fields[field];
	light.fields = fields;
	light.field_count = ARRAY_SIZE(fields);
	return from_summaries_answer(&light) ? field : -1;
}

/* True where it pays to find what a head leaves with a statement of its own. */
static bool statement_pays(const struct plan *p)
{
	_cleanup_free_ struct plan_field *fields = NULL;
	struct plan light;
	bool heavy = false;

	for (size_t i = 0; i < p->field_count; i++) {
		const struct plan_field *f = &p->fields[i];

		if (f->kind != FIELD_AGGREGATE || !is_heavy(f))
			continue;
		if (is_sorted_by(&p->stages[0], i))
			return false; /* it is needed of all */
		heavy = true;
	}
	if (lighten(p, &light) < 0)
		return false;
	fields = light.fields;
	return heavy || (from_summaries_answer(&light) && !from_summaries_answer(p));
}

/* The field that the files are sorted by, downwards, ties by file; -1: they are sorted otherwise. */
static int sorted_value(const struct plan *p)
{
	const struct plan_stage *sort = &p->stages[0];

	return sort->key_count == 2 && sort->keys[0].desc && !sort->keys[1].desc &&
			       (int)sort->keys[1].field == file_key(p)
		       ? (int)sort->keys[0].field
		       : -1;
}

bool topk_pays(const struct plan *p)
{
	int value;

	if (!is_cut(p))
		return several_field(p) >= 0;
	value = sorted_value(p);
	return statement_pays(p) ||
	       (value >= 0 && topk_files_adds(&p->fields[value]) && from_summaries_answer(p));
}

/* ---- asking ---- */

int topk_translate(const struct plan *p, const struct translate_options *opt, struct buf *sql,
		   struct error *err)
{
	_cleanup_free_ struct plan_field *fields = NULL;
	struct plan light;
	int r;

	if (!is_cut(p) || !statement_pays(p))
		return 0;
	r = lighten(p, &light);
	if (r < 0)
		return error_errno(err, r, "cannot translate the query");
	fields = light.fields;
	return translate_field(&light, opt, (size_t)file_key(p), sql, err);
}

/* The ids that come out; `null` where one is. 0 or -ENOMEM. */
static int topk_chosen_read_ids(struct engine_result *r, struct map *ids, bool *null)
{
	int e = 0;

	while (e >= 0 && engine_result_next(r)) {
		if (engine_result_is_null(r, 0))
			*null = true;
		else
			e = map_set(ids, (uint64_t)engine_result_int(r, 0), 0);
	}
	return e;
}

/* A file is told by its newest version: which versions they are that belong to those of `ids`. */
static int topk_chosen_put_versions(struct duck *e, const struct map *ids, struct buf *only,
				    struct error *err)
{
	int r = names_load_files(e, err);
	const struct dims *d = store_dims_few(e->store);
	size_t rows = dims_rows(d, TABLE_FILE), count = 0;

	for (size_t i = 0; i < rows && r >= 0; i++) {
		int64_t id = dims_id_at(d, TABLE_FILE, i);

		if (!map_get(ids, (uint64_t)dims_latest_file(d, id), NULL))
			continue;
		if (count == VERSIONS_MAX)
			return -E2BIG;
		r = buf_printf(only, "%s%" PRId64, count++ ? ", " : "file_id in (", id);
	}
	return r < 0 || !count ? r : buf_printf(only, ")");
}

static int topk_chosen_put_ids(const struct map *ids, struct buf *only)
{
	uint64_t id, unused;
	bool any = false;
	size_t at = 0;
	int r = 0;

	while (r >= 0 && map_next(ids, &at, &id, &unused)) {
		r = buf_printf(only, "%s%" PRId64, any ? ", " : "file_id in (", (int64_t)id);
		any = true;
	}
	return r < 0 || !any ? r : buf_printf(only, ")");
}

/* Calls without a file too. */
static int put_none(const struct plan *p, struct buf *only)
{
	const struct expr *key = p->fields[file_key(p)].expr;

	return buf_printf(only, "%s%s is null", only->len ? " || " : "",
			  key->kind == EXPR_NAME ? "file" : "file_id");
}

/* The condition that leaves the files of the result; nothing where there are too many versions. */
static int put_only(struct duck *e, const struct plan *p, struct engine_result *result,
		    struct buf *only, struct error *err)
{
	const struct expr *key = p->fields[file_key(p)].expr;
	_cleanup_(map_free) struct map ids = {0};
	bool null = false;
	int r = topk_chosen_read_ids(result, &ids, &null);

	if (r >= 0)
		r = key->kind == EXPR_NAME ? topk_chosen_put_versions(e, &ids, only, err)
					   : topk_chosen_put_ids(&ids, only);
	if (r == -E2BIG) {
		buf_clear(only);
		return 0;
	}
	return r < 0 || !null ? r : put_none(p, only);
}

/* ---- without a statement ---- */

/* Where each file that is left has one version, its id is as good as what it is called, which costs a look at all files. */
static int lighten_key(struct topk *c, const struct plan *p)
{
	size_t key = (size_t)file_key(p);

	c->fields = calloc(p->field_count + 1, sizeof(*c->fields));
	c->file_id = calloc(1, sizeof(*c->file_id));
	if (!c->fields || !c->file_id)
		return -ENOMEM;
	memcpy(c->fields, p->fields, p->field_count * sizeof(*c->fields));
	*c->file_id = (struct expr){
		.kind = EXPR_COLUMN, .type = p->fields[key].expr->type, .column = OP_FILE_ID};
	c->fields[key].expr = c->file_id;
	c->plan.fields = c->fields;
	return 0;
}

/* 1; 0 where it takes a statement. */
static int find_by_sums(struct duck *e, const struct plan *p, struct topk_files_found *found,
			struct error *err)
{
	size_t key = (size_t)file_key(p);
	int value = is_cut(p) ? sorted_value(p) : several_field(p);

	if (value < 0)
		return 0;
	return is_cut(p) ? topk_files_files(e, p, key, (size_t)value, (size_t)p->stages[1].count,
					    found, err)
			 : topk_files_several(e, p, key, (size_t)value, SEVERAL_MAX, found, err);
}

/* The condition that leaves what was found. 0 or -ENOMEM. */
static int put_found(const struct plan *p, const struct topk_files_found *found, struct buf *only)
{
	int r = topk_chosen_put_ids(&found->ids, only);

	if (r >= 0 && found->null)
		r = put_none(p, only);
	/* no file has a number below 0 */
	return r < 0 || only->len ? r : buf_printf(only, "file_id < 0");
}

/* 1; 0 where it takes a statement. */
static int topk_chosen_add_up(struct duck *e, const struct plan *p, struct topk *c,
			      struct error *err)
{
	int64_t began = clock_monotonic_ns();
	struct topk_files_found found = {0};
	int r = find_by_sums(e, p, &found, err);

	if (r > 0 && found.ids.count <= (is_cut(p) ? VERSIONS_MAX : SEVERAL_MAX))
		r = put_found(p, &found, &c->only);
	if (r >= 0 && c->only.len && !found.null) {
		/* of several versions a filter on names may have left out some */
		c->plan.where = found.versions ? topk_files_where(p, (size_t)file_key(p))
					       : topk_files_rest(e, p, (size_t)file_key(p));
		if (!found.versions)
			r = lighten_key(c, p);
	}
	map_free(&found.ids);
	if (r < 0 || !c->only.len)
		return r < 0 ? r : 0;
	snprintf(c->step.what, sizeof(c->step.what), "scan op, by file");
	c->step.rows = found.files;
	c->step.time_ns = clock_monotonic_ns() - began;
	return 1;
}

void topk_free(struct topk *c)
{
	buf_free(&c->only);
	engine_result_free(c->first);
	free(c->fields);
	free(c->file_id);
}

/* With a statement. */
static int topk_chosen_find_files(struct duck *e, const struct plan *p,
				  const struct translate_options *opt, struct topk *c,
				  struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	int r = topk_translate(p, opt, &sql, err);

	if (r >= 0)
		r = duck_run_text(e, buf_str(&sql), &c->first, err);
	return r < 0 ? r : put_only(e, p, c->first, &c->only, err);
}

int topk_ask(struct duck *e, const struct plan *p, const struct translate_options *opt,
	     struct topk *ret, struct error *err)
{
	int r;

	ret->plan = *p;
	r = topk_chosen_add_up(e, p, ret, err);
	if (r == 0 && is_cut(p) && statement_pays(p))
		r = topk_chosen_find_files(e, p, opt, ret, err);
	if (r >= 0 && atomic_load(&e->interrupted))
		r = error_set(err, -EINTR, "interrupted");
	return MIN(r, 0);
}
