// SPDX-License-Identifier: Apache-2.0
/* dashboards.c: /dashboards: those shipped with the pages, and files next to the trace: TRACE.dashboards/NAME.json. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "server/saved/sidecar.h"
#include "server/http/js.h"
#include "server/http/pages.h"

#define SHIPPED "/dashboards/"

static const struct sidecar_kind kind = {
	.folder = "dashboards",
	.one = "dashboard",
	.size_max = DASHBOARD_MAX,
};

static const struct page_file *shipped(const char *name)
{
	char path[sizeof(SHIPPED) + BESIDE_NAME_MAX + 8];

	snprintf(path, sizeof(path), SHIPPED "%s.json", name);
	return pages_find(path);
}

static void dashboards_put_one(struct js *j, const char *name, const char *json, size_t len,
			       bool ships)
{
	json_t *doc = json_loadb(json, len, 0, NULL);
	const char *title = json_string_value(json_object_get(doc, "title"));

	js_open(j, '{');
	js_key_string(j, "name", name);
	js_key_string(j, "title", title ? title : name);
	js_key_bool(j, "shipped", ships);
	js_close(j, '}');
	json_decref(doc);
}

static void put_shipped(struct js *j)
{
	for (const struct page_file *f = embedded_pages; f->path; f++) {
		char name[BESIDE_NAME_MAX + 1];
		_cleanup_buf_ struct buf json = {0};

		if (strncmp(f->path, SHIPPED, strlen(SHIPPED)) != 0 ||
		    !sidecar_name_of_file(f->path + strlen(SHIPPED), name) ||
		    http_inflate(f->data, f->len, &json) < 0)
			continue;
		dashboards_put_one(j, name, buf_str(&json), json.len, true);
	}
}

static void put_kept(void *j, const char *name, const struct buf *json)
{
	if (!shipped(name))
		dashboards_put_one(j, name, (const char *)json->data, json->len, false);
}

void dashboards_get(void *arg, struct http_request *r)
{
	const struct server *s = arg;
	_cleanup_buf_ struct buf out = {0};
	struct js j = {.to = &out};

	js_open(&j, '{');
	js_key_open(&j, "dashboards", '[');
	put_shipped(&j);
	sidecar_each(s, &kind, put_kept, &j);
	js_close(&j, ']');
	js_close(&j, '}');
	http_reply(r, 200, "application/json", &out);
}

void dashboard_get(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);
	const struct page_file *f = sidecar_is_name(name) ? shipped(name) : NULL;
	_cleanup_close_ int folder = -1;
	_cleanup_buf_ struct buf json = {0};

	if (f) {
		http_reply_static(r, f->type, f->data, f->len, true);
		return;
	}
	folder = sidecar_is_name(name) ? sidecar_open(arg, &kind) : -1;
	if (folder < 0 || sidecar_read(folder, &kind, name, &json) < 0) {
		sidecar_fail(r, 404, "no dashboard with this name");
		return;
	}
	http_reply(r, 200, "application/json", &json);
}

/* False if the request was refused. */
static bool dashboards_may_change(struct http_request *r, const char *name)
{
	if (!sidecar_is_name(name))
		sidecar_fail(r, 400,
			     "a dashboard name consists of up to 64 letters, digits, - and _");
	else if (shipped(name))
		sidecar_fail(r, 409, "this dashboard ships with weir; save it under another name");
	else
		return true;
	return false;
}

void dashboard_put(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);
	const struct buf *body = http_body(r);
	json_t *doc;
	bool object;

	if (!dashboards_may_change(r, name))
		return;
	doc = json_loadb((const char *)body->data, body->len, 0, NULL);
	object = json_is_object(doc);
	json_decref(doc);
	if (object)
		sidecar_answer_save(r, &kind, sidecar_save(arg, &kind, name, body));
	else
		sidecar_fail(r, 400, "a dashboard must be a JSON object");
}

void dashboard_delete(void *arg, struct http_request *r)
{
	const char *name = http_part(r, 0);

	if (dashboards_may_change(r, name))
		sidecar_answer_remove(arg, r, &kind, name);
}
