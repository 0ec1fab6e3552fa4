// SPDX-License-Identifier: Apache-2.0
/* search_rows.c: plans without groups: single documents. */
#include "engine/opensearch/search_internal.h"

#include <errno.h>

static json_t *sort_by(const char *field, bool desc)
{
	return json_pack("{s{ss,ss}}", field, "order", desc ? "desc" : "asc", "missing", "_last");
}

/* Sorts in the trace's order. */
static json_t *sort_by_place(json_t *sort)
{
	static const char *const place[] = {"end", "rec", "part", "n"};

	for (size_t i = 0; i < ARRAY_SIZE(place); i++)
		json_array_append_new(sort, sort_by(place[i], false));
	return sort;
}

static const char *field_name(const struct search_fields *f, const struct expr *e,
			      struct error *err)
{
	const struct search_field *found;

	if (e->kind == EXPR_STOP)
		return "end";
	found = search_plain(f, "give", e, err);
	return found ? found->name : NULL;
}

/*
 * Leaves a sort and a head at the beginning of the stages to the server, too. *ret_limit: maximum number of rows
 * needed. Rows that it cannot sort as weir does (unsigned numbers) are all requested, in its own order.
 */
static json_t *first_stages(const struct search_fields *f, const struct plan *p, size_t *ret_limit)
{
	const struct plan_stage *s = p->stages, *sort = NULL;
	json_t *by = json_array();
	struct error ignored = {0};

	*ret_limit = SIZE_MAX;
	if (p->stage_count && s->kind == STAGE_SORT) {
		sort = s++;
		for (size_t i = 0; i < sort->key_count; i++) {
			const struct plan_field *field = &p->fields[sort->keys[i].field];

			if (field->type.type == QUERY_UINT) {
				json_decref(by);
				return sort_by_place(json_array());
			}
			json_array_append_new(by, sort_by(field_name(f, field->expr, &ignored),
							  sort->keys[i].desc));
		}
	}
	if (s < p->stages + p->stage_count && s->kind == STAGE_HEAD && !s->tail)
		*ret_limit = (size_t)MAX(s->count, 0);
	return sort_by_place(by);
}

int search_rows_request(const struct search_fields *f, const struct plan *p, json_t **ret,
			size_t *ret_limit, struct error *err)
{
	_cleanup_json_ json_t *query = search_plan_filter(f, p, err), *fields = json_array();

	if (!query)
		return err->code;
	for (size_t i = 0; i < p->field_count; i++) {
		const char *name = field_name(f, p->fields[i].expr, err);

		if (!name)
			return err->code;
		json_array_append_new(fields, json_string(name));
	}
	json_array_append_new(fields, json_string("unended"));
	*ret = json_pack("{sb,sb,sO,sO,so}", "_source", 0, "track_total_hits", 0, "docvalue_fields",
			 fields, "query", query, "sort", first_stages(f, p, ret_limit));
	if (!*ret)
		return error_errno(err, -ENOMEM, "a request");
	json_object_set_new(*ret, "size",
			    json_integer((json_int_t)MIN(*ret_limit, (size_t)SEARCH_PAGE)));
	return 0;
}

int search_rows_read(const struct search_fields *f, const struct plan *p, struct search_rows *t,
		     const json_t *hits, struct error *err)
{
	json_t *hit;
	size_t i;

	json_array_foreach(hits, i, hit)
	{
		const json_t *values = json_object_get(hit, "fields");
		bool unended = json_object_get(values, "unended");
		int r = 0;

		search_rows_begin(t);
		for (size_t c = 0; r >= 0 && c < p->field_count; c++) {
			const struct expr *e = p->fields[c].expr;
			const json_t *all = json_object_get(values, field_name(f, e, err));

			if (e->kind != EXPR_STOP || !unended)
				r = search_rows_set(t, c, json_array_get(all, 0));
		}
		if (r < 0)
			return error_errno(err, r, "a document");
		r = local_rows_add(&t->rows, t->cells, &t->env, err);
		if (r < 0)
			return r;
	}
	return 0;
}
