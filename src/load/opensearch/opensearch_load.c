// SPDX-License-Identifier: Apache-2.0
/*
 * opensearch_load.c: loads blocks of a trace into OpenSearch's data streams.
 *
 * An id makes a document unique only within an index, and a data stream continues in another index now and then. So a
 * complete block has a mark, a document in PREFIX-blocks that is written after its rows. For a block without a mark
 * the loader asks which rows are present, and sends only the others.
 */
#include "load/load.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <xxhash.h>

#include "base/clock.h"
#include "batch/seconds.h"
#include "load/opensearch/documents.h"
#include "opensearch/search_server.h"

#define BULK_BYTES   (8u << 20)
#define PAGE	     10000 /* index.max_result_window */
#define BUSY_TIMES   60	   /* attempts while the server is overloaded */
#define BUSY_NS	     (500 * NSEC_PER_MSEC)
#define PATH_MAX_LEN 300

struct search_load {
	struct load_target target;
	struct search_server server;
	struct documents docs[TABLE_COUNT];
	uint64_t partly;     /* set of tables whose unmarked blocks were searched for */
	struct map there;    /* table << 32 | block: has a mark */
	struct map unmarked; /* the same: has rows but no mark */
	struct map rows;     /* n of the rows of the current block that are present */
	struct buf body,
		marks;	     /* lines to send; marks of blocks whose rows are all in body or sent */
	enum table_id table; /* the table of the rows in body */
	bool sent;	     /* sent data may not be searchable yet */
	char rec[20];
	uint64_t part;
};

static uint64_t search_block_key(enum table_id table, uint64_t seq)
{
	return (uint64_t)table << 32 | (seq & UINT32_MAX);
}

/* Makes the rows searchable when the loader ends, without waiting for the server's next refresh. */
static void search_load_refresh(struct search_load *s)
{
	struct error ignored = {0};
	char path[PATH_MAX_LEN];

	snprintf(path, sizeof(path), "/%.100s-*/_refresh", s->server.prefix);
	if (s->sent)
		search_send(&s->server, "POST", path, (struct bytes){0}, NULL, &ignored);
}

static void search_load_free(struct load_target *t)
{
	struct search_load *s = (struct search_load *)t;

	search_load_refresh(s);
	for (size_t i = 0; i < TABLE_COUNT; i++)
		documents_free(&s->docs[i]);
	map_free(&s->there);
	map_free(&s->unmarked);
	map_free(&s->rows);
	buf_free(&s->body);
	buf_free(&s->marks);
	search_close(&s->server);
	free(s);
}

/* ---- set-up of the server ---- */

/* The policy: roll over at a size, delete after a time. */
static json_t *keep_policy(bool elastic, int64_t keep_ns)
{
	char age[32];

	snprintf(age, sizeof(age), "%llds", (long long)MAX(keep_ns / NSEC_PER_SEC, 1));
	if (elastic)
		return json_pack("{s{s{s{s{s{s{ss,ss}}},s{ss,s{s{}}}}}}}", "policy", "phases",
				 "hot", "actions", "rollover", "max_primary_shard_size", "30gb",
				 "max_age", "1d", "delete", "min_age", age, "actions", "delete");
	return json_pack(
		"{s{ss,ss,s[{ss,s[{s{ss,ss}}],s[{ss,s{ss}}]},{ss,s[{s{}}],s[]}]}}", "policy",
		"description", "weir: retention of rows after they were recorded", "default_state",
		"hot", "states", "name", "hot", "actions", "rollover", "min_primary_shard_size",
		"30gb", "min_index_age", "1d", "transitions", "state_name", "delete", "conditions",
		"min_index_age", age, "name", "delete", "actions", "delete", "transitions");
}

static json_t *blocks_template(const char *prefix)
{
	return json_pack("{s[o],si,s{s{sb,s{s{ss},s{ss},s{ss},s{ss},s{ss},s{ss},s{ss},s{ss}}}}}",
			 "index_patterns", json_sprintf("%s-blocks", prefix), "priority", 200,
			 "template", "mappings", "dynamic", 0, "properties", "rec", "type",
			 "keyword", "part", "type", "long", "table", "type", "keyword", "seq",
			 "type", "long", "rows", "type", "long", "host", "type", "keyword", "boot",
			 "type", "keyword", "began", "type", "long");
}

/* Calls `each`, which releases the body, with every path and body. */
static int each_setting(const char *prefix, bool elastic, unsigned int version, int64_t keep_ns,
			int (*each)(void *arg, const char *path, json_t *body), void *arg)
{
	bool finds = search_finds_columns(elastic, version);
	char path[PATH_MAX_LEN], policy[128];
	int r = 0;

	snprintf(policy, sizeof(policy), "%.100s", prefix);
	if (keep_ns) {
		snprintf(path, sizeof(path), "/%s/%s",
			 elastic ? "_ilm/policy" : "_plugins/_ism/policies", policy);
		r = each(arg, path, keep_policy(elastic, keep_ns));
	}
	for (enum table_id t = 0; r >= 0 && t < TABLE_COUNT; t++) {
		struct search_fields f;

		if (!search_has_table(t))
			continue;
		search_fields_of(t, &f);
		snprintf(path, sizeof(path), "/_index_template/%.100s-%s", prefix,
			 schema_table(t)->name);
		r = each(arg, path,
			 search_template(&f, prefix, finds, keep_ns ? policy : NULL, elastic));
	}
	snprintf(path, sizeof(path), "/_index_template/%.100s-blocks", prefix);
	return r < 0 ? r : each(arg, path, blocks_template(prefix));
}

static int print_setting(void *arg, const char *path, json_t *body)
{
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_INDENT(2)) : NULL;

	json_decref(body);
	return text ? buf_printf(arg, "PUT %s\n%s\n\n", path, text) : -ENOMEM;
}

static int search_load_schema(const struct load_options *opt, const char *version, struct buf *out)
{
	unsigned int major = 2, minor = 19;

	if (version && sscanf(version, "%u.%u", &major, &minor) != 2)
		return -EINVAL;
	return each_setting("weir", false, major * 1000 + minor, opt->keep_ns, print_setting, out);
}

struct sending {
	struct search_server *server;
	struct error *err;
};

static int send_setting(void *arg, const char *path, json_t *body)
{
	struct sending *s = arg;
	int r = search_json(s->server, "PUT", path, body, NULL, s->err);

	/* an existing policy cannot be replaced without its sequence number: it is kept */
	if (r == -EINVAL && strstr(path, "_ism") && strstr(s->err->message, "version conflict")) {
		*s->err = (struct error){0};
		return 0;
	}
	return r < 0 && strstr(path, "polic")
		       ? error_prefix(s->err, "--keep needs the server's index management")
		       : r;
}

/* Creates the streams that pages and queries expect even while they are empty. */
static int make_search_streams(struct search_load *s, struct error *err)
{
	static const enum table_id tables[] = {TABLE_OP, TABLE_LOSS};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < ARRAY_SIZE(tables); i++) {
		char path[PATH_MAX_LEN];

		snprintf(path, sizeof(path), "/_data_stream/%.100s-%s", s->server.prefix,
			 schema_table(tables[i])->name);
		r = search_send(&s->server, "GET", path, (struct bytes){0}, NULL, err);
		if (r != -ENOENT)
			continue;
		*err = (struct error){0};
		r = search_send(&s->server, "PUT", path, (struct bytes){0}, NULL, err);
	}
	return r;
}

static int search_load_connect(struct load_target **ret, const char *address,
			       const struct load_options *opt, struct error *err)
{
	struct search_load *s = calloc(1, sizeof(*s));
	struct sending sending = {.err = err};
	int r;

	if (!s)
		return error_errno(err, -ENOMEM, "%.200s", address);
	s->target.ops = &opensearch_target;
	for (enum table_id t = 0; t < TABLE_COUNT; t++)
		search_fields_of(t, &s->docs[t].fields);
	r = search_connect(&s->server, address, err);
	sending.server = &s->server;
	if (r >= 0)
		r = each_setting(s->server.prefix, s->server.elastic, s->server.version,
				 opt->keep_ns, send_setting, &sending);
	if (r >= 0)
		r = make_search_streams(s, err);
	if (r < 0) {
		search_load_free(&s->target);
		return r;
	}
	*ret = &s->target;
	return 0;
}

/* ---- present rows ---- */

/* -ENOENT if the index is missing. */
static int ask_index(struct search_load *s, const char *index, json_t *body, json_t **ret,
		     struct error *err)
{
	char path[PATH_MAX_LEN];
	int r;

	snprintf(path, sizeof(path), "/%.100s-%s/_refresh", s->server.prefix, index);
	r = search_send(&s->server, "POST", path, (struct bytes){0}, NULL, err);
	if (r < 0) {
		json_decref(body);
		return r;
	}
	snprintf(path, sizeof(path), "/%.100s-%s/_search", s->server.prefix, index);
	return search_json(&s->server, "POST", path, body, ret, err);
}

static json_t *of_this_file(const struct search_load *s, int64_t from, int64_t below)
{
	return json_pack("{s{s[{s{ss}},{s{sI}},{s{s{sI,sI}}}]}}", "bool", "filter", "term", "rec",
			 s->rec, "term", "part", (json_int_t)s->part, "range", "n", "gte",
			 (json_int_t)from, "lt", (json_int_t)below);
}

/* Reads one page of marks after `after`. Returns their number. */
static ssize_t search_read_marks(struct search_load *s, json_t **after, struct error *err)
{
	_cleanup_json_ json_t *answer = NULL;
	json_t *body = json_pack("{si,s{s{s[{s{ss}},{s{sI}}]}},s[{ss},{ss}]}", "size", PAGE,
				 "query", "bool", "filter", "term", "rec", s->rec, "term", "part",
				 (json_int_t)s->part, "sort", "seq", "asc", "table", "asc");
	json_t *hits, *hit;
	size_t i;
	int r;

	if (*after)
		json_object_set(body, "search_after", *after);
	r = ask_index(s, "blocks", body, &answer, err);
	if (r < 0)
		return r;
	hits = json_object_get(json_object_get(answer, "hits"), "hits");
	json_array_foreach(hits, i, hit)
	{
		const json_t *mark = json_object_get(hit, "_source");
		const char *name = json_string_value(json_object_get(mark, "table"));
		int table = name ? schema_table_find(name) : -1;
		json_t *place = json_object_get(hit, "sort");

		if (table >= 0 &&
		    map_set(&s->there,
			    search_block_key(table, (uint64_t)json_integer_value(
							    json_object_get(mark, "seq"))),
			    1) < 0)
			return error_errno(err, -ENOMEM, "the blocks that are loaded");
		json_decref(*after);
		*after = json_incref(place);
	}
	return (ssize_t)json_array_size(hits);
}

/* Reads the clock correction of the recording's present rows, which all have the same. */
static int search_read_clock(struct search_load *s, struct error *err)
{
	_cleanup_json_ json_t *answer = NULL;
	json_t *body = json_pack("{si,s{s{ss}}}", "size", 1, "query", "term", "rec", s->rec), *hit;
	int r = ask_index(s, "blocks", body, &answer, err);

	if (r < 0)
		return r;
	hit = json_array_get(json_object_get(json_object_get(answer, "hits"), "hits"), 0);
	if (hit)
		s->target.ahead = json_integer_value(
			json_object_get(json_object_get(hit, "_source"), "ahead"));
	return 0;
}

/*
 * The last request of a killed loader may still be running when the next one looks, and may write to another index
 * than this loader's if the stream rolls over in between. So such requests are waited for, if the server lists them.
 */
static void search_load_settle(struct search_load *s)
{
	static const char path[] =
		"/_tasks?actions=indices:data/write/bulk*&wait_for_completion=true&timeout=20s";
	struct error ignored = {0};

	search_send(&s->server, "GET", path, (struct bytes){0}, NULL, &ignored);
}

static int search_load_begin(struct load_target *t, const struct load_recording *rec, uint64_t part,
			     struct error *err)
{
	struct search_load *s = (struct search_load *)t;
	_cleanup_json_ json_t *after = NULL;
	XXH64_hash_t hash = XXH3_64bits(rec->host.data, rec->host.len);
	ssize_t n;

	hash = XXH3_64bits_withSeed(rec->boot.data, rec->boot.len, hash);
	hash = XXH3_64bits_withSeed(&rec->key, sizeof(rec->key), hash);
	snprintf(s->rec, sizeof(s->rec), "%016llx", (unsigned long long)hash);
	s->part = part;
	s->partly = 0;
	buf_clear(&s->body); /* of a failed attempt: its blocks are put again */
	buf_clear(&s->marks);
	map_clear(&s->there);
	map_clear(&s->unmarked);
	search_load_settle(s);
	do {
		n = search_read_marks(s, &after, err);
	} while (n == PAGE);
	if (n == -ENOENT) { /* nothing was ever loaded */
		*err = (struct error){0};
		return 0;
	}
	return n < 0 ? (int)n : search_read_clock(s, err);
}

static bool search_load_has(struct load_target *t, enum table_id table, uint64_t seq)
{
	const struct search_load *s = (const struct search_load *)t;

	return map_get(&s->there, search_block_key(table, seq), NULL);
}

/* Finds the blocks of a table that have rows but no mark: those that a killed loader has begun. */
static int find_unmarked(struct search_load *s, enum table_id table, struct error *err)
{
	_cleanup_json_ json_t *answer = NULL;
	json_t *buckets, *bucket;
	size_t i;
	int r = ask_index(s, schema_table(table)->name,
			  json_pack("{si,so,s{s{s{ss,si,si}}}}", "size", 0, "query",
				    of_this_file(s, 0, INT64_MAX), "aggs", "blocks", "histogram",
				    "field", "n", "interval", 1 << SEARCH_ROW_BITS, "min_doc_count",
				    1),
			  &answer, err);

	if (r == -ENOENT) {
		*err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	buckets = json_object_get(
		json_object_get(json_object_get(answer, "aggregations"), "blocks"), "buckets");
	json_array_foreach(buckets, i, bucket)
	{
		int64_t n = (int64_t)json_number_value(json_object_get(bucket, "key"));
		uint64_t seq = (uint64_t)(n & (SEARCH_LONG_BIT - 1)) >> SEARCH_ROW_BITS;

		if (!map_get(&s->there, search_block_key(table, seq), NULL) &&
		    map_set(&s->unmarked, search_block_key(table, seq), 1) < 0)
			return error_errno(err, -ENOMEM, "the rows that are loaded");
	}
	return 0;
}

/* Adds the present rows of a block to s->rows. */
static int find_rows(struct search_load *s, enum table_id table, int64_t first, struct error *err)
{
	int64_t from = first, below = first + (1 << SEARCH_ROW_BITS);
	size_t found;

	do {
		_cleanup_json_ json_t *answer = NULL;
		json_t *hits, *hit;
		size_t i;
		int r = ask_index(s, schema_table(table)->name,
				  json_pack("{si,sb,so,s[{ss}]}", "size", PAGE, "_source", 0,
					    "query", of_this_file(s, from, below), "sort", "n",
					    "asc"),
				  &answer, err);

		if (r < 0)
			return r;
		hits = json_object_get(json_object_get(answer, "hits"), "hits");
		found = json_array_size(hits);
		json_array_foreach(hits, i, hit)
		{
			from = json_integer_value(json_array_get(json_object_get(hit, "sort"), 0));
			if (map_set(&s->rows, (uint64_t)from, 1) < 0)
				return error_errno(err, -ENOMEM, "the rows that are loaded");
			from++;
		}
	} while (found == PAGE);
	return 0;
}

/* ---- sending ---- */

/* The first real error: a document that exists already is not one. */
static int bulk_errors(const json_t *answer, struct error *err)
{
	const json_t *errors = json_object_get(answer, "errors");
	json_t *item;
	size_t i;

	if (!json_is_boolean(errors))
		return error_set(err, -EPROTO, "the response is not one to a bulk request");
	if (json_is_false(errors))
		return 0;
	json_array_foreach(json_object_get(answer, "items"), i, item)
	{
		const json_t *done = json_object_iter_value(json_object_iter(item));
		int status = (int)json_integer_value(json_object_get(done, "status"));
		const json_t *error = json_object_get(done, "error");
		const char *reason = json_string_value(json_object_get(error, "reason"));

		if (!error || status == 409)
			continue;
		return error_set(err, status == 429 || status == 503 ? -EBUSY : -EIO,
				 "the server rejects a row: %.500s",
				 reason ? reason : "no reason given");
	}
	return 0;
}

static int send_bulk(struct search_load *s, const char *index, struct buf *body, struct error *err)
{
	char path[PATH_MAX_LEN];
	int r = -EBUSY;

	if (!body->len)
		return 0;
	snprintf(path, sizeof(path),
		 "/%.100s-%s/_bulk?filter_path=errors,items.*.status,items.*.error.reason",
		 s->server.prefix, index);
	for (unsigned int i = 0; r == -EBUSY && i < BUSY_TIMES; i++) {
		_cleanup_json_ json_t *answer = NULL;

		if (i)
			nanosleep(&(struct timespec){.tv_nsec = BUSY_NS}, NULL);
		*err = (struct error){0};
		r = search_send(&s->server, "POST", path, buf_bytes(body), &answer, err);
		if (r >= 0)
			r = bulk_errors(answer, err);
	}
	buf_clear(body);
	s->sent = true;
	return r;
}

static int send_rows(struct search_load *s, struct error *err)
{
	return send_bulk(s, schema_table(s->table)->name, &s->body, err);
}

static int search_load_flush(struct load_target *t, struct error *err)
{
	struct search_load *s = (struct search_load *)t;
	int r = send_rows(s, err);

	return r < 0 ? r : send_bulk(s, "blocks", &s->marks, err);
}

static int add_mark(struct search_load *s, const struct load_block *b)
{
	const char *table = schema_table(b->table)->name;

	return buf_printf(
		&s->marks,
		"{\"index\":{\"_id\":\"%s-%llx-%s-%llx\"}}\n"
		"{\"rec\":\"%s\",\"part\":%llu,\"table\":\"%s\",\"seq\":%llu,\"rows\":%zu,"
		"\"ahead\":%lld}\n",
		s->rec, (unsigned long long)s->part, table, (unsigned long long)b->seq, s->rec,
		(unsigned long long)s->part, table, (unsigned long long)b->seq, b->rows->rows,
		(long long)s->target.ahead);
}

static int search_put_rows(struct search_load *s, const struct load_block *b,
			   const struct batch *rows, bool second, struct error *err)
{
	const struct documents_place at = {.rec = s->rec,
					   .part = s->part,
					   .n = documents_n(b->seq, b->long_calls, second),
					   .second = second,
					   .ends = b->ends,
					   .there = s->rows.count ? &s->rows : NULL};
	const struct dims *dims = store_dims(b->store);
	size_t row = 0;
	int r = 0;

	while (r >= 0 && row < rows->rows) {
		r = documents_write(&s->docs[b->table], rows, dims, &at, BULK_BYTES, &row,
				    &s->body);
		if (r < 0)
			return error_errno(err, r, "rows as JSON");
		if (s->body.len >= BULK_BYTES)
			r = send_rows(s, err);
	}
	return r;
}

/* Finds the rows that an interrupted load has left. */
static int look_for_rows(struct search_load *s, const struct load_block *b, struct error *err)
{
	int r = 0;

	map_clear(&s->rows);
	if (!(s->partly >> b->table & 1))
		r = find_unmarked(s, b->table, err);
	s->partly |= 1ull << b->table;
	if (r < 0 || !map_get(&s->unmarked, search_block_key(b->table, b->seq), NULL))
		return r;
	r = find_rows(s, b->table, documents_n(b->seq, b->long_calls, false), err);
	return r < 0 ? r : find_rows(s, b->table, documents_n(b->seq, b->long_calls, true), err);
}

static int search_load_put(struct load_target *t, const struct load_block *b, struct error *err)
{
	struct search_load *s = (struct search_load *)t;
	_cleanup_(batch_freep) struct batch *seconds = NULL;
	int r = 0;

	if (!search_has_table(
		    b->table)) /* dimension tables: their names are in the rows that refer to them */
		return 0;
	if (s->table != b->table)
		r = send_rows(s, err);
	s->table = b->table;
	if (r >= 0)
		r = look_for_rows(s, b, err);
	if (r < 0)
		return r;
	documents_forget(&s->docs[b->table]);
	r = search_put_rows(s, b, b->rows, false, err);
	if (r >= 0 && b->table == TABLE_OP) {
		r = batch_new(&seconds, TABLE_OP);
		if (r >= 0)
			r = batch_seconds(b->rows, seconds);
		if (r < 0)
			return error_errno(err, r, "calls on two files");
		r = search_put_rows(s, b, seconds, true, err);
	}
	if (r >= 0 && add_mark(s, b) < 0)
		return error_errno(err, -ENOMEM, "rows as JSON");
	return r;
}

/* The rows of the block, and its mark. */
static int search_load_drop(struct load_target *t, enum table_id table, uint64_t seq,
			    struct error *err)
{
	struct search_load *s = (struct search_load *)t;
	const char *name = schema_table(table)->name;
	int64_t first = documents_n(seq, false, false);
	char path[PATH_MAX_LEN];

	search_load_refresh(s);
	snprintf(path, sizeof(path),
		 "/%.100s-%s,%.100s-blocks/_delete_by_query?conflicts=proceed&refresh=true",
		 s->server.prefix, name, s->server.prefix);
	return search_json(
		&s->server, "POST", path,
		json_pack("{s{s{s[{s{ss}},{s{sI}}],si,s[{s{s{sI,sI}}},{s{s[{s{ss}},{s{sI}}]}}]}}}",
			  "query", "bool", "filter", "term", "rec", s->rec, "term", "part",
			  (json_int_t)s->part, "minimum_should_match", 1, "should", "range", "n",
			  "gte", (json_int_t)first, "lt",
			  (json_int_t)(first + (1 << SEARCH_ROW_BITS)), "bool", "filter", "term",
			  "table", name, "term", "seq", (json_int_t)seq),
		NULL, err);
}

const struct load_target_ops opensearch_target = {
	.name = "OpenSearch",
	.scheme = SEARCH_SCHEME,
	.schema = search_load_schema,
	.connect = search_load_connect,
	.begin = search_load_begin,
	.has = search_load_has,
	.put = search_load_put,
	.flush = search_load_flush,
	.drop = search_load_drop,
	.free = search_load_free,
};
