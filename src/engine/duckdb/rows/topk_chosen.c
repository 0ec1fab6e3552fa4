// SPDX-License-Identifier: Apache-2.0
/* topk_chosen.c: finds the groups that a head keeps. */
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

#define VERSIONS_MAX (2 * CHOSEN_MAX) /* versions of the files kept */

/* Aggregates whose state is large or slow. */
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

/* The index of the key if files are the only key, else -1. */
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

/* The field by which the files are sorted descending, ties by file; -1: another order. */
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
	int value = is_cut(p) ? sorted_value(p) : -1;
	struct plan_field fields[2];
	struct plan light = *p;
	bool pays;

	if (value < 0 || !topk_files_adds(&p->fields[value]))
		return false;
	fields[0] = p->fields[file_key(p)];
	fields[1] = p->fields[value];
	light.fields = fields;
	light.field_count = ARRAY_SIZE(fields);
	pays = from_summaries_answer(&light);
	for (size_t i = 0; i < p->field_count && !pays; i++)
		pays = p->fields[i].kind == FIELD_AGGREGATE && is_heavy(&p->fields[i]);
	return pays;
}

/* ---- running ---- */

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

/* Adds calls without a file. */
static int put_none(const struct plan *p, struct buf *only)
{
	const struct expr *key = p->fields[file_key(p)].expr;

	return buf_printf(only, "%s%s is null", only->len ? " || " : "",
			  key->kind == EXPR_NAME ? "file" : "file_id");
}

/* If each remaining file has a single version, its id can replace its name as key; names require reading all files. */
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

/* Writes the condition that selects the files found. 0 or -ENOMEM. */
static int put_found(const struct plan *p, const struct topk_files_found *found, struct buf *only)
{
	int r = topk_chosen_put_ids(&found->ids, only);

	if (r >= 0 && found->null)
		r = put_none(p, only);
	/* false for every file: ids are not negative */
	return r < 0 || only->len ? r : buf_printf(only, "file_id < 0");
}

void topk_free(struct topk *c)
{
	buf_free(&c->only);
	free(c->fields);
	free(c->file_id);
}

int topk_ask(struct duck *e, const struct plan *p, struct topk *ret, struct error *err)
{
	int64_t began = clock_monotonic_ns();
	struct topk_files_found found = {0};
	size_t key = (size_t)file_key(p);
	int r = topk_files_files(e, p, key, (size_t)sorted_value(p), (size_t)p->stages[1].count,
				 &found, err);

	ret->plan = *p;
	if (r > 0 && found.ids.count <= VERSIONS_MAX)
		r = put_found(p, &found, &ret->only);
	if (r >= 0 && ret->only.len && !found.null) {
		/* a filter on names may have excluded some versions of a file */
		ret->plan.where =
			found.versions ? topk_files_where(p, key) : topk_files_rest(e, p, key);
		if (!found.versions)
			r = lighten_key(ret, p);
	}
	map_free(&found.ids);
	if (r >= 0 && ret->only.len) {
		snprintf(ret->step.what, sizeof(ret->step.what), "scan op, by file");
		ret->step.rows = found.files;
		ret->step.time_ns = clock_monotonic_ns() - began;
	}
	if (r >= 0 && atomic_load(&e->interrupted))
		r = error_set(err, -EINTR, "interrupted");
	return MIN(r, 0);
}
