// SPDX-License-Identifier: Apache-2.0
/*
 * saved.c: /queries: saved questions, as files next to the trace: TRACE.queries/NAME.json, each {"version": 1,
 * "title": ..., "q": ..., "language": "query" or "sql"}.
 */
#include <jansson.h>
#include <string.h>

#include "server/saved/sidecar.h"
#include "server/http/js.h"

#define TITLE_MAX 200u /* bytes; it is the label of a button */

static const struct sidecar_kind kind = {
	.folder = "queries",
	.one = "query",
	.size_max = SAVED_MAX,
};

/* The contents of a file or request; `doc` owns the texts. */
struct saved {
	json_t *doc;
	const char *title, *q, *language;
};

/* Returns NULL, or what is wrong. The caller releases saved->doc in either case. */
static const char *saved_parse(const char *json, size_t len, struct saved *ret)
{
	json_t *language;

	ret->doc = json_loadb(json, len, 0, NULL);
	if (!json_is_object(ret->doc))
		return "a saved query must be a JSON object";
	ret->title = json_string_value(json_object_get(ret->doc, "title"));
	ret->q = json_string_value(json_object_get(ret->doc, "q"));
	language = json_object_get(ret->doc, "language");
	ret->language = language ? json_string_value(language) : "query";
	if (!ret->q || !*ret->q)
		return "a saved query needs a text \"q\"";
	if (!ret->title || !*ret->title || strlen(ret->title) > TITLE_MAX)
		return "a saved query needs a \"title\" of at most 200 bytes";
	if (!ret->language ||
	    (strcmp(ret->language, "query") != 0 && strcmp(ret->language, "sql") != 0))
		return "the \"language\" of a query must be query or sql";
	return NULL;
}

static void saved_put_one(void *to, const char *name, const struct buf *json)
{
	struct js *j = to;
	struct saved saved;

	/* files from elsewhere that are not saved questions are left out */
	if (!saved_parse((const char *)json->data, json->len, &saved)) {
		js_open(j, '{');
		js_key_string(j, "name", name);
		js_key_string(j, "title", saved.title);
		js_key_string(j, "q", saved.q);
		js_key_string(j, "language", saved.language);
		js_close(j, '}');
	}
	json_decref(saved.doc);
}

void saved_get(void *arg, struct http_request *r)
{
	const struct server *s = arg;
	_cleanup_buf_ struct buf out = {0};
	struct js j = {.to = &out};

	js_open(&j, '{');
	js_key_open(&j, "queries", '[');
	sidecar_each(s, &kind, saved_put_one, &j);
	js_close(&j, ']');
	js_key_bool(&j, "writable", sidecar_is_writable(s, &kind));
	js_close(&j, '}');
	http_reply(r, 200, "application/json", &out);
}

/* False if the request was refused. */
static bool saved_may_change(struct http_request *r, const char *name)
{
	if (sidecar_is_name(name))
		return true;
	sidecar_fail(r, 400,
		     "the name of a saved query consists of up to 64 letters, digits, - and _");
	return false;
}

void saved_put(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);
	const struct buf *body = http_body(r);
	struct saved saved;
	const char *wrong;

	if (!saved_may_change(r, name))
		return;
	wrong = saved_parse((const char *)body->data, body->len, &saved);
	json_decref(saved.doc);
	if (wrong)
		sidecar_fail(r, 400, "%s", wrong);
	else
		sidecar_answer_save(r, &kind, sidecar_save(arg, &kind, name, body));
}

void saved_delete(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);

	if (saved_may_change(r, name))
		sidecar_answer_remove(arg, r, &kind, name);
}
