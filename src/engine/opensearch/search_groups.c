// SPDX-License-Identifier: Apache-2.0
/* search_groups.c: groups as a composite aggregation, which returns all of them, page by page. */
#include "engine/opensearch/search_internal.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>

#define MS_NS 1000000

static bool is_key(const struct plan_field *f)
{
	return f->kind != FIELD_AGGREGATE;
}

bool search_groups_unended(const struct plan *p)
{
	for (size_t i = 0; i < p->field_count; i++) {
		if (p->fields[i].kind == FIELD_WINDOW)
			return true;
	}
	return false;
}

static size_t count_keys(const struct plan *p, bool unended)
{
	size_t n = 0;

	for (size_t i = 0; i < p->field_count; i++)
		n += is_key(&p->fields[i]) && !(unended && p->fields[i].kind == FIELD_WINDOW);
	return n;
}

/* "k3", "a4": the field's name in the request. */
static const char *short_name(char *room, size_t size, char kind, size_t i)
{
	snprintf(room, size, "%c%zu", kind, i);
	return room;
}

static int search_add_key(const struct search_fields *f, const struct plan_field *field, size_t i,
			  json_t *sources, struct error *err)
{
	const struct search_field *plain;
	char name[24], width[32];
	json_t *by;

	short_name(name, sizeof(name), 'k', i);
	if (field->kind == FIELD_WINDOW) {
		if (field->param[0] % MS_NS)
			return error_set(err, -EOPNOTSUPP,
					 "OpenSearch cannot group by windows that are not whole "
					 "milliseconds");
		snprintf(width, sizeof(width), "%lldms", (long long)(field->param[0] / MS_NS));
		by = json_pack("{s{s{ss,ss}}}", name, "date_histogram", "field", "@timestamp",
			       "fixed_interval", width);
	} else {
		plain = search_plain(f, "group by", field->expr, err);
		if (!plain)
			return err->code;
		by = json_pack("{s{s{ss,sb}}}", name, "terms", "field", plain->name,
			       "missing_bucket", 1);
	}
	return json_array_append_new(sources, by) < 0 ? error_errno(err, -ENOMEM, "a request") : 0;
}

/* ---- aggregates ---- */

/* Selects one document of the group. */
static json_t *top_document(const char *field, const char *sort, bool desc, bool by_place)
{
	json_t *by = json_array();
	static const char *const place[] = {"end", "rec", "part", "n"};

	if (!by_place)
		json_array_append_new(by, json_pack("{s{ss,ss}}", sort, "order",
						    desc ? "desc" : "asc", "missing", "_last"));
	for (size_t i = 0; by_place && i < ARRAY_SIZE(place); i++)
		json_array_append_new(
			by, json_pack("{s{ss}}", place[i], "order", desc ? "desc" : "asc"));
	return json_pack("{s{si,sb,s[s],so}}", "top_hits", "size", 1, "_source", 0,
			 "docvalue_fields", field, "sort", by);
}

/* The server's numbers are doubles, which is exact enough for durations and sizes. */
static bool is_small(struct query_kind kind)
{
	return kind.type == QUERY_DUR || kind.type == QUERY_SIZE;
}

static json_t *of_field(const char *kind, const char *field)
{
	return json_pack("{s{ss}}", kind, "field", field);
}

static json_t *aggregate_of(const struct plan_field *a, const char *field)
{
	switch (a->aggregate) {
	case AGGREGATE_COUNT:
		return of_field("value_count", field);
	case AGGREGATE_SUM:
	case AGGREGATE_AVG:
		return of_field("stats", field);
	case AGGREGATE_STDDEV:
		return of_field("extended_stats", field);
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
		if (is_small(a->expr->type))
			return of_field(a->aggregate == AGGREGATE_MIN ? "min" : "max", field);
		return top_document(field, field, a->aggregate == AGGREGATE_MAX, false);
	case AGGREGATE_DISTINCT:
		return json_pack("{s{ss,si}}", "cardinality", "field", field, "precision_threshold",
				 40000);
	case AGGREGATE_PERCENTILE:
		if (is_small(a->expr->type))
			return json_pack("{s{ss,s[f],sb,s{si}}}", "percentiles", "field", field,
					 "percents", a->quantile * 100, "keyed", 0, "hdr",
					 "number_of_significant_value_digits", 3);
		return json_pack("{s{ss,s[f],sb}}", "percentiles", "field", field, "percents",
				 a->quantile * 100, "keyed", 0);
	case AGGREGATE_ANY:
		return top_document(field, field, false, false);
	case AGGREGATE_FIRST:
		return top_document(field, NULL, false, true);
	case AGGREGATE_LAST:
		return top_document(field, NULL, true, true);
	default:
		return NULL;
	}
}

static bool search_is_known(enum query_aggregate a)
{
	return a <= AGGREGATE_SUM || (a >= AGGREGATE_AVG && a <= AGGREGATE_DISTINCT) ||
	       a == AGGREGATE_PERCENTILE || a >= AGGREGATE_FIRST;
}

static int add_aggregate_of(const struct search_fields *f, const struct plan_field *a, size_t i,
			    json_t *aggs, struct error *err)
{
	const struct search_field *plain;
	char name[24];
	json_t *q = NULL;

	if (!search_is_known(a->aggregate))
		return error_set(
			err, -EOPNOTSUPP,
			"OpenSearch cannot compute %s; load into ClickHouse or query the trace",
			a->name);
	if (!a->expr) /* count(): part of every bucket */
		return 0;
	short_name(name, sizeof(name), 'a', i);
	if (a->aggregate == AGGREGATE_COUNTIF) {
		q = json_pack("{so}", "filter", search_filter(f, a->expr, false, err));
	} else {
		plain = search_plain(f, "compute an aggregate of", a->expr, err);
		if (!plain)
			return err->code;
		q = aggregate_of(a, plain->name);
	}
	if (json_object_set_new(aggs, name, q) >= 0)
		return 0;
	error_errno(err, -ENOMEM, "a request"); /* unless there was another error */
	return err->code;
}

int search_groups_request(const struct search_fields *f, const struct plan *p, bool unended,
			  json_t **ret, struct error *err)
{
	_cleanup_json_ json_t *query = search_plan_filter(f, p, err), *sources = json_array(),
			      *aggs = json_object();
	json_t *groups;
	int r = query ? 0 : err->code;

	for (size_t i = 0; r >= 0 && i < p->field_count; i++) {
		if (!is_key(&p->fields[i]))
			r = add_aggregate_of(f, &p->fields[i], i, aggs, err);
		else if (!unended || p->fields[i].kind != FIELD_WINDOW)
			r = search_add_key(f, &p->fields[i], i, sources, err);
	}
	if (r < 0)
		return r;
	if (search_groups_unended(p)) {
		json_t *only = json_object_get(json_object_get(query, "bool"),
					       unended ? "filter" : "must_not");

		json_array_append_new(only, json_pack("{s{sb}}", "term", "unended", 1));
	}
	if (!json_array_size(sources)) {
		*ret = json_pack("{si,sb,sO,sO}", "size", 0, "track_total_hits", 1, "query", query,
				 "aggs", aggs);
		return *ret ? 0 : error_errno(err, -ENOMEM, "a request");
	}
	groups = json_pack("{s{si,sO},sO}", "composite", "size", SEARCH_PAGE, "sources", sources,
			   "aggs", aggs);
	*ret = json_pack("{si,sb,sO,s{so}}", "size", 0, "track_total_hits", 0, "query", query,
			 "aggs", "groups", groups);
	return *ret ? 0 : error_errno(err, -ENOMEM, "a request");
}

/* ---- the answer ---- */

static void search_number(struct value *v, struct query_kind kind, double x, bool estimate)
{
	*v = (struct value){.null = !isfinite(x), .estimate = estimate};
	if (v->null)
		return;
	if (kind.type == QUERY_FLOAT)
		v->f = x;
	else
		v->i = fabs(x) < 9.2e18 ? (int64_t)llround(x) : 0;
}

static double search_part(const json_t *a, const char *name)
{
	const json_t *x = json_object_get(a, name);

	return json_is_number(x) ? json_number_value(x) : NAN;
}

/* For sums: true if no intermediate sum can have been too large for a double. */
static bool is_exact(const json_t *stats)
{
	double most = fmax(fabs(search_part(stats, "min")), fabs(search_part(stats, "max")));

	return search_part(stats, "count") * most < SEARCH_EXACT_MAX ||
	       (search_part(stats, "min") >= 0 && search_part(stats, "sum") < SEARCH_EXACT_MAX);
}

static int document_value(struct search_rows *t, size_t column, const json_t *j)
{
	const json_t *hit = json_array_get(json_object_get(json_object_get(j, "hits"), "hits"), 0);
	const json_t *values = json_object_get(hit, "fields");
	const json_t *all = json_object_iter_value(json_object_iter((json_t *)(uintptr_t)values));

	return search_rows_set(t, column, json_array_get(all, 0));
}

static int aggregate_value(struct search_rows *t, const struct plan_field *a, const json_t *j,
			   size_t column)
{
	bool any = search_part(j, "count") > 0, estimate = false;
	double x = search_part(j, "value");

	/* a missing stream returns no aggregations: its counts are 0 */
	switch (a->aggregate) {
	case AGGREGATE_COUNT:
		x = fmax(x, 0);
		break;
	case AGGREGATE_COUNTIF:
		x = fmax(search_part(j, "doc_count"), 0);
		break;
	case AGGREGATE_SUM:
		estimate = any && !is_exact(j);
		x = any ? search_part(j, "sum") : NAN;
		break;
	case AGGREGATE_AVG:
		estimate = any && !is_exact(j);
		x = any ? search_part(j, "sum") / search_part(j, "count") : NAN;
		break;
	case AGGREGATE_STDDEV:
		x = search_part(j, "count") > 1 ? search_part(j, "std_deviation_sampling") : NAN;
		break;
	case AGGREGATE_DISTINCT:
		estimate = true;
		x = fmax(x, 0);
		break;
	case AGGREGATE_PERCENTILE:
		estimate = true;
		x = search_part(json_array_get(json_object_get(j, "values"), 0), "value");
		break;
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
		if (!is_small(a->expr->type))
			return document_value(t, column, j);
		estimate = fabs(x) >= SEARCH_EXACT_MAX;
		break;
	default:
		return document_value(t, column, j);
	}
	search_number(&t->cells[column], a->type, x, estimate);
	return 0;
}

static int read_bucket(const struct plan *p, bool unended, struct search_rows *t,
		       const json_t *bucket, int64_t count, struct error *err)
{
	const json_t *keys = json_object_get(bucket, "key");
	char name[24];
	int r = 0;

	search_rows_begin(t);
	for (size_t i = 0; r >= 0 && i < p->field_count; i++) {
		const struct plan_field *f = &p->fields[i];
		const json_t *j =
			json_object_get(is_key(f) ? keys : bucket,
					short_name(name, sizeof(name), is_key(f) ? 'k' : 'a', i));

		if (f->kind == FIELD_WINDOW && !unended)
			t->cells[i] = (struct value){.i = json_integer_value(j) * MS_NS};
		else if (is_key(f))
			r = search_rows_set(t, i, j);
		else if (!f->expr)
			t->cells[i] = (struct value){.i = count};
		else
			r = aggregate_value(t, f, j, i);
	}
	if (r < 0)
		return error_errno(err, r, "a group");
	return local_rows_add(&t->rows, t->cells, &t->env, err);
}

int search_groups_sort(const struct plan *p, struct search_rows *t)
{
	_cleanup_free_ struct sort_key *keys = calloc(p->field_count + 1, sizeof(*keys));
	struct plan_stage by_keys = {.kind = STAGE_SORT,
				     .keys = keys,
				     .fields = p->fields,
				     .field_count = p->field_count};

	if (!keys)
		return -ENOMEM;
	for (size_t i = 0; i < p->field_count; i++) {
		if (is_key(&p->fields[i]))
			keys[by_keys.key_count++].field = (unsigned int)i;
	}
	return local_sort(&t->rows, &by_keys, SIZE_MAX, &t->env);
}

int search_groups_read(const struct plan *p, bool unended, struct search_rows *t,
		       const json_t *answer, json_t **ret_after, struct error *err)
{
	const json_t *aggs = json_object_get(answer, "aggregations");
	const json_t *groups = json_object_get(aggs, "groups");
	const json_t *total = json_object_get(json_object_get(answer, "hits"), "total");
	json_t *bucket;
	size_t i;
	int r = 0;

	*ret_after = NULL;
	if (!count_keys(p, unended)) {
		int64_t count = json_integer_value(json_object_get(total, "value"));

		return unended && !count ? 0 : read_bucket(p, unended, t, aggs, count, err);
	}
	json_array_foreach(json_object_get(groups, "buckets"), i, bucket)
	{
		r = read_bucket(p, unended, t, bucket,
				json_integer_value(json_object_get(bucket, "doc_count")), err);
		if (r < 0)
			return r;
	}
	*ret_after = json_object_get(groups, "after_key");
	return 0;
}
