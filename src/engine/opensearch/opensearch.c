// SPDX-License-Identifier: Apache-2.0
/* opensearch.c: sends queries to OpenSearch and reads the answers. */
#include "engine/opensearch/opensearch.h"

#include <errno.h>
#include <stdio.h>

#include "engine/opensearch/search_internal.h"

#define PATH_BYTES 300

static struct search_engine *search_engine_of(struct engine *e)
{
	return (struct search_engine *)e;
}

static void search_engine_free(struct engine *e)
{
	json_decref(search_engine_of(e)->recordings);
	search_close(&search_engine_of(e)->server);
	free(e);
}

/* Reads a page of the recordings of one machine, from its calls; *after: where the next page begins, NULL: no more. */
static int choose_page(struct search_engine *e, const char *host, json_t **after, struct error *err)
{
	_cleanup_json_ json_t *answer = NULL, *before = TAKE_PTR(*after);
	json_t *body, *groups, *bucket;
	char path[PATH_BYTES];
	size_t i;
	int r;

	snprintf(path, sizeof(path), "/%.100s-op/_search", e->server.prefix);
	body = json_pack("{si,s{s{ss}},s{s{s{si,s[{s{s{ss}}}],sO*}}}}", "size", 0, "query", "term",
			 "host", host, "aggs", "recs", "composite", "size", SEARCH_PAGE, "sources",
			 "rec", "terms", "field", "rec", "after", before);
	r = search_json(&e->server, "POST", path, body, &answer, err);
	if (r < 0)
		return r;
	groups = json_object_get(json_object_get(answer, "aggregations"), "recs");
	json_array_foreach(json_object_get(groups, "buckets"), i, bucket) json_array_append(
		e->recordings, json_object_get(json_object_get(bucket, "key"), "rec"));
	*after = json_incref(json_object_get(groups, "after_key"));
	return 0;
}

/* Adds a machine's recordings to the chosen ones. */
static int choose_host(struct search_engine *e, const char *host, struct error *err)
{
	size_t before = json_array_size(e->recordings);
	_cleanup_json_ json_t *after = NULL;
	int r;

	do
		r = choose_page(e, host, &after, err);
	while (r >= 0 && after);
	if (r < 0)
		return r;
	if (json_array_size(e->recordings) == before)
		return error_set(err, -ENOENT, "OpenSearch has no recording of host '%.100s'",
				 host);
	if (json_array_size(e->recordings) > SEARCH_TERMS_MAX)
		return error_set(err, -E2BIG,
				 "--host: these hosts have %zu recordings, but OpenSearch accepts "
				 "at most %d in a query: use --where 'host == \"%.100s\"'",
				 json_array_size(e->recordings), SEARCH_TERMS_MAX, host);
	return 0;
}

static int search_choose_hosts(struct search_engine *e, const struct engine_options *opt,
			       struct error *err)
{
	int r = 0;

	if (!opt || !opt->host_count)
		return 0;
	e->recordings = json_array();
	if (!e->recordings)
		return error_errno(err, -ENOMEM, "the hosts");
	for (size_t i = 0; i < opt->host_count && r >= 0; i++)
		r = choose_host(e, opt->hosts[i], err);
	return r;
}

json_t *search_of_hosts(const struct search_engine *e, json_t *query)
{
	if (!e->recordings || !query)
		return query;
	return json_pack("{s{s[o,{s{sO}}]}}", "bool", "filter", query, "terms", "rec",
			 e->recordings);
}

static int search_engine_connect(struct engine **ret, const char *address,
				 const struct engine_options *opt, struct error *err)
{
	struct search_engine *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return error_errno(err, -ENOMEM, "%.200s", address);
	e->engine.ops = &opensearch_engine;
	e->memory_max = opt && opt->memory_max ? opt->memory_max : ENGINE_MEMORY_DEFAULT;
	r = search_connect(&e->server, address, err);
	if (r >= 0)
		r = search_choose_hosts(e, opt, err);
	if (r < 0) {
		search_engine_free(&e->engine);
		return r;
	}
	*ret = &e->engine;
	return 0;
}

static void search_engine_interrupt(struct engine *e)
{
	atomic_store(&search_engine_of(e)->stopped, true);
	net_client_stop(search_engine_of(e)->server.client);
}

/*
 * Searches the data stream of a table; takes ownership of the body. -ENOENT: no calls were ever loaded. A table of
 * which no row was loaded has no stream; it is treated as empty.
 */
static int ask_stream(struct search_engine *e, enum table_id table, const char *query, json_t *body,
		      json_t **ret, struct error *err)
{
	char path[PATH_BYTES];

	snprintf(path, sizeof(path), "/%.100s-%s/_search?ignore_unavailable=%s%s", e->server.prefix,
		 schema_table(table)->name, table == TABLE_OP ? "false" : "true", query);
	return search_json(&e->server, "POST", path, json_incref(body), ret, err);
}

static json_t *hits_of(const json_t *answer)
{
	return json_object_get(json_object_get(answer, "hits"), "hits");
}

/* Queries one end of the time range of calls. */
static int range_end(struct search_engine *e, bool last, int64_t *ret, struct error *err)
{
	_cleanup_json_ json_t *answer = NULL;
	_cleanup_json_ json_t *body =
		json_pack("{si,sb,s[s],so,s[{ss}]}", "size", 1, "_source", 0, "docvalue_fields",
			  last ? "end" : "start", "query",
			  search_of_hosts(e, json_pack("{s{s[{s{sb}}]}}", "bool", "must_not",
						       "term", "unended", 1)),
			  "sort", last ? "end" : "start", last ? "desc" : "asc");
	const json_t *values;
	int r = ask_stream(e, TABLE_OP, "", body, &answer, err);

	*ret = INT64_MIN;
	if (r < 0)
		return r;
	values = json_object_get(json_array_get(hits_of(answer), 0), "fields");
	values = json_array_get(json_object_get(values, last ? "end" : "start"), 0);
	if (json_is_integer(values))
		*ret = json_integer_value(values);
	return 0;
}

static int search_engine_range(struct engine *e, int64_t *ret_first, int64_t *ret_last,
			       struct error *err)
{
	int r = range_end(search_engine_of(e), false, ret_first, err);

	return r < 0 ? r : range_end(search_engine_of(e), true, ret_last, err);
}

/* ---- ask ---- */

static int ask_groups(struct search_engine *e, const struct plan *p, bool unended, json_t *body,
		      struct search_rows *t, struct error *err)
{
	json_t *composite = json_object_get(
		json_object_get(json_object_get(body, "aggs"), "groups"), "composite");
	json_t *after;
	int r;

	do {
		_cleanup_json_ json_t *answer = NULL;

		r = ask_stream(e, p->table, "", body, &answer, err);
		if (r >= 0)
			r = search_groups_read(p, unended, t, answer, &after, err);
		if (r >= 0 && after)
			json_object_set(composite, "after", after);
	} while (r >= 0 && after);
	return r;
}

static void end_scroll(struct search_engine *e, const char *id)
{
	struct error ignored = {0};

	if (id)
		search_json(&e->server, "DELETE", "/_search/scroll",
			    json_pack("{ss}", "scroll_id", id), NULL, &ignored);
}

/* A scroll only returns documents that existed when it began. */
static int ask_rows(struct search_engine *e, const struct search_fields *f, const struct plan *p,
		    json_t *body, size_t limit, struct search_rows *t, struct error *err)
{
	bool scroll = limit > SEARCH_PAGE;
	_cleanup_json_ json_t *answer = NULL;
	int r;

	if (!limit)
		return 0;
	if (scroll)
		json_object_del(body, "track_total_hits");
	r = ask_stream(e, p->table, scroll ? "&scroll=2m" : "", body, &answer, err);
	while (r >= 0) {
		size_t n = json_array_size(hits_of(answer));
		const char *id = json_string_value(json_object_get(answer, "_scroll_id"));
		json_t *next = NULL;

		r = search_rows_read(f, p, t, hits_of(answer), err);
		if (r < 0 || !scroll || n < SEARCH_PAGE || t->rows.count >= limit) {
			end_scroll(e, id);
			break;
		}
		r = search_json(&e->server, "POST", "/_search/scroll",
				json_pack("{ss,ss}", "scroll", "2m", "scroll_id", id), &next, err);
		json_decref(answer);
		answer = next;
	}
	return r;
}

static int search_check(const struct plan *p, struct error *err)
{
	for (size_t i = 0; i < p->stage_count; i++) {
		if (p->stages[i].kind == STAGE_JOIN)
			return error_set(
				err, -EOPNOTSUPP,
				"OpenSearch cannot join tables: every document includes its names");
	}
	if (p->table == TABLE_COUNT)
		return error_set(err, -EOPNOTSUPP,
				 "OpenSearch does not support user-defined tables");
	if (!search_has_table(p->table))
		return error_set(err, -EOPNOTSUPP,
				 "OpenSearch has no table %s: every document includes its names",
				 schema_table(p->table)->name);
	return 0;
}

/* Makes all requests of a plan; rejects what OpenSearch cannot do. */
struct search_requests {
	json_t *main, *unended;
	size_t limit;
};

static void search_requests_done(struct search_requests *q)
{
	json_decref(q->main);
	json_decref(q->unended);
}

/* Restricts a request to the chosen recordings. */
static void requests_of_hosts(const struct search_engine *e, json_t *body)
{
	json_t *query = e->recordings ? json_incref(json_object_get(body, "query")) : NULL;

	if (query)
		json_object_set_new(body, "query", search_of_hosts(e, query));
}

static int make_requests(struct search_requests *q, const struct search_fields *f,
			 const struct plan *p, struct error *err)
{
	int r = search_check(p, err);

	if (r < 0)
		return r;
	if (!p->grouped)
		return search_rows_request(f, p, &q->main, &q->limit, err);
	r = search_groups_request(f, p, false, &q->main, err);
	if (r >= 0 && search_groups_unended(p))
		r = search_groups_request(f, p, true, &q->unended, err);
	return r;
}

static int search_engine_ask(struct engine *engine, const struct plan *p,
			     const struct ask_options *opt _unused_, struct engine_result **ret,
			     struct error *err)
{
	struct search_engine *e = search_engine_of(engine);
	_cleanup_(search_requests_done) struct search_requests q = {0};
	_cleanup_(search_rows_free) struct search_rows t = {0};
	struct search_fields f;
	int r = search_check(p, err);

	if (r < 0)
		return r;
	atomic_store(&e->stopped, false);
	search_fields_of(p->table, &f);
	r = make_requests(&q, &f, p, err);
	requests_of_hosts(e, q.main);
	requests_of_hosts(e, q.unended);
	if (r >= 0 && search_rows_new(&t, e, p) < 0)
		r = error_errno(err, -ENOMEM, "a response");
	if (r < 0)
		return r;
	r = p->grouped ? ask_groups(e, p, false, q.main, &t, err)
		       : ask_rows(e, &f, p, q.main, q.limit, &t, err);
	if (r >= 0 && q.unended)
		r = ask_groups(e, p, true, q.unended, &t, err);
	if (r >= 0 && p->grouped && search_groups_sort(p, &t) < 0)
		r = error_errno(err, -ENOMEM, "a response");
	if (r < 0)
		return r;
	r = local_stages(&t.rows, p, &t.env, err);
	return r < 0 ? r : local_result(&t.rows, p, &t.env, ret, err);
}

static int explain_request(const struct search_engine *e, const struct plan *p, json_t *body,
			   struct buf *out)
{
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_INDENT(2)) : NULL;

	if (!body)
		return 0;
	return text ? buf_printf(out, "POST /%s-%s/_search\n%s\n", e->server.prefix,
				 schema_table(p->table)->name, text)
		    : -ENOMEM;
}

static int search_engine_explain(struct engine *engine, const struct plan *p, struct buf *out,
				 struct error *err)
{
	_cleanup_(search_requests_done) struct search_requests q = {0};
	struct search_fields f;
	int r = search_check(p, err);

	if (r < 0)
		return r;
	search_fields_of(p->table, &f);
	r = make_requests(&q, &f, p, err);
	if (r < 0)
		return r;
	requests_of_hosts(search_engine_of(engine), q.main);
	requests_of_hosts(search_engine_of(engine), q.unended);
	r = explain_request(search_engine_of(engine), p, q.main, out);
	if (r >= 0)
		r = explain_request(search_engine_of(engine), p, q.unended, out);
	return r < 0 ? error_errno(err, r, "an explanation") : 0;
}

static int search_engine_scan(struct engine *e, const struct scan_request *q,
			      struct engine_scan **ret, struct error *err)
{
	return search_scan_new(search_engine_of(e), q, ret, err);
}

const struct engine_ops opensearch_engine = {
	.name = "OpenSearch",
	.scheme = SEARCH_SCHEME,
	.connect = search_engine_connect,
	.free = search_engine_free,
	.interrupt = search_engine_interrupt,
	.range = search_engine_range,
	.ask = search_engine_ask,
	.scan = search_engine_scan,
	.explain = search_engine_explain,
};
