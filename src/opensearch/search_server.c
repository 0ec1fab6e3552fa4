// SPDX-License-Identifier: Apache-2.0
#include "opensearch/search_server.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* the first versions with data streams, and with sampling in extended_stats */
#define ELASTIC_OLDEST	  7010
#define OPENSEARCH_OLDEST 1000

static const struct net_defaults search_defaults = {
	.scheme = SEARCH_SCHEME, .port = 9200, .tls_port = 9200, .database = "weir"};

bool search_finds_columns(bool elastic, unsigned int version)
{
	return elastic ? version >= 8001 : version >= 2012;
}

static const char *error_text(const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error");
	const json_t *cause = json_array_get(json_object_get(error, "root_cause"), 0);
	const char *text = json_string_value(json_object_get(cause, "reason"));

	if (!text)
		text = json_string_value(json_object_get(error, "reason"));
	return text ? text : json_string_value(error);
}

static const char *error_type(const json_t *answer)
{
	const json_t *error = json_object_get(answer, "error");
	const json_t *cause = json_array_get(json_object_get(error, "root_cause"), 0);
	const char *type = json_string_value(json_object_get(cause ? cause : error, "type"));

	return type ? type : "";
}

static int search_errno(unsigned int status, const json_t *answer)
{
	if (strstr(error_type(answer), "circuit_breaking"))
		return -ENOMEM;
	switch (status) {
	case 401:
	case 403:
		return -EACCES;
	case 404:
		return -ENOENT;
	case 429:
	case 503:
		return -EBUSY;
	default:
		return status >= 500 ? -EIO : -EINVAL;
	}
}

static int search_fail(struct search_server *s, unsigned int status, const json_t *answer,
		       struct buf *raw, struct error *err)
{
	const char *node = net_client_node(s->client), *text = error_text(answer);
	int r = search_errno(status, answer);
	int len = (int)MIN(strcspn(buf_str(raw), "\r\n"), (size_t)200);
	int first = text ? (int)MIN(strcspn(text, "\r\n"), (size_t)600) : 0;

	if (r == -EACCES)
		return error_set(err, r, "%s: user or password are not accepted%s%.*s", node,
				 text ? ": " : "", MIN(first, 200), text ? text : "");
	if (text)
		return error_set(err, r, "%s: %.*s", node, first, text);
	return error_set(err, r, "%s responded with status %u: %.*s", node, status, len,
			 buf_str(raw));
}

/* A search of which a shard fails, or that runs out of time, succeeds with what the others found. */
static int search_check_complete(struct search_server *s, const json_t *answer, struct error *err)
{
	const json_t *shards = json_object_get(answer, "_shards");
	json_int_t failed = json_integer_value(json_object_get(shards, "failed"));
	const char *node = net_client_node(s->client);

	if (!json_is_array(json_object_get(json_object_get(answer, "hits"), "hits")))
		return error_set(err, -EPROTO, "%s: the response is not one to a search", node);
	if (failed)
		return error_set(err, -EIO,
				 "%s: %lld of %lld shards failed, so the answer is incomplete: "
				 "GET _cluster/health shows their state",
				 node, (long long)failed,
				 (long long)json_integer_value(json_object_get(shards, "total")));
	if (json_is_true(json_object_get(answer, "timed_out")))
		return error_set(err, -ETIMEDOUT,
				 "%s: the search timed out, so the answer is incomplete", node);
	return 0;
}

int search_send(struct search_server *s, const char *method, const char *path, struct bytes body,
		json_t **ret, struct error *err)
{
	static const char *const json[] = {"Content-Type: application/json", NULL};
	static const char *const lines[] = {"Content-Type: application/x-ndjson", NULL};
	const struct net_request q = {.method = method,
				      .path = path,
				      .headers = !body.len		 ? NULL
						 : strstr(path, "_bulk") ? lines
									 : json,
				      .body = body};
	_cleanup_buf_ struct buf raw = {0};
	_cleanup_json_ json_t *answer = NULL;
	unsigned int status;
	json_error_t why;
	int r = net_client_send(s->client, &q, &status, &raw, err);

	if (r < 0)
		return r;
	answer = json_loadb((const char *)raw.data, raw.len, JSON_DECODE_ANY, &why);
	if (status >= 300)
		return search_fail(s, status, answer, &raw, err);
	if (!answer && ret)
		return error_set(err, -EPROTO, "%s: the response is not JSON: %.200s",
				 net_client_node(s->client), why.text);
	r = ret && strstr(path, "/_search") ? search_check_complete(s, answer, err) : 0;
	if (ret && r >= 0)
		*ret = TAKE_PTR(answer);
	return r;
}

int search_json(struct search_server *s, const char *method, const char *path, json_t *body,
		json_t **ret, struct error *err)
{
	_cleanup_free_ char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;

	json_decref(body);
	if (!text)
		return error_errno(err, -ENOMEM, "a request");
	return search_send(s, method, path, bytes_of(text), ret, err);
}

int search_connect(struct search_server *s, const char *address, struct error *err)
{
	_cleanup_json_ json_t *answer = NULL;
	const json_t *version;
	unsigned int major = 0, minor = 0;
	const char *number;
	int r = net_client_new(&s->client, address, &search_defaults, err);

	if (r < 0)
		return r;
	s->prefix = net_client_database(s->client);
	r = search_send(s, "GET", "/", (struct bytes){0}, &answer, err);
	if (r == -EPROTO && err->code == r)
		return error_prefix(
			err, "neither OpenSearch nor Elasticsearch, whose port is 9200 by default");
	if (r < 0)
		return r;
	version = json_object_get(answer, "version");
	number = json_string_value(json_object_get(version, "number"));
	if (!number || sscanf(number, "%u.%u", &major, &minor) != 2)
		return error_set(
			err, -EPROTO,
			"%s is neither OpenSearch nor Elasticsearch, whose port is 9200 by default",
			net_client_node(s->client));
	s->elastic = !json_object_get(version, "distribution");
	s->version = major * 1000 + minor;
	if (s->version < (s->elastic ? ELASTIC_OLDEST : OPENSEARCH_OLDEST))
		return error_set(err, -EPROTONOSUPPORT,
				 "%s is %s %s, which has no data streams; weir needs %s or later",
				 net_client_node(s->client),
				 s->elastic ? "Elasticsearch" : "OpenSearch", number,
				 s->elastic ? "7.10" : "1.0");
	return 0;
}

void search_close(struct search_server *s)
{
	net_client_free(s->client);
	s->client = NULL;
}
