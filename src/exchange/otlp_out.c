// SPDX-License-Identifier: Apache-2.0
/* otlp_out.c: a span as OTLP's JSON has it, below its resource and its scope. */
#include <string.h>

#include "base/clock.h"
#include "exchange/span_out.h"

#define OTLP_STATUS_MAX SPAN_STATUS_ERROR /* OTLP has no others */

static json_t *otlp_time_text(int64_t ns)
{
	char text[32];

	snprintf(text, sizeof(text), "%lld", (long long)MAX(ns, 0ll));
	return json_string(text);
}

json_t *note_attributes(const struct note_out *n)
{
	json_t *o =
		n->text.len ? json_loadb((const char *)n->text.data, n->text.len, 0, NULL) : NULL;

	if (json_is_object(o))
		return o;
	json_decref(o);
	o = json_object();
	if (o && n->text.data && json_object_set_new(o, "value", json_mended(n->text)) < 0)
		return NULL;
	return o;
}

/* Sets a list of KeyValue unless there are none. */
static int set_list(json_t *to, const char *name, const json_t *attributes)
{
	return json_object_size(attributes) ? json_set_some(to, name, otlp_list(attributes)) : 0;
}

/* ---- resource and scope ---- */

/* The Resource: its attributes behind the service's name. */
static json_t *make_resource(const struct span_out *s, const json_t *attributes)
{
	_cleanup_json_ json_t *all = json_object();
	json_t *resource = json_object();
	int r = all && resource ? 0 : -ENOMEM;

	if (r >= 0 && s->service.data)
		r = json_set_some(all, "service.name", json_mended(s->service));
	if (r >= 0 && json_object_size(attributes))
		r = json_object_update(all, (json_t *)attributes);
	if (r >= 0)
		r = set_list(resource, "attributes", all);
	if (r >= 0)
		return resource;
	json_decref(resource);
	return NULL;
}

static json_t *make_scope(const json_t *kept)
{
	json_t *scope = kept ? json_copy((json_t *)kept) : json_object();
	_cleanup_json_ json_t *attributes = json_take(scope, "attributes");

	if (set_list(scope, "attributes", attributes) >= 0)
		return scope;
	json_decref(scope);
	return NULL;
}

/* A new member of `list`, an array of messages that have something in common. Takes what it gets; NULL: no memory. */
static json_t *add_group(json_t *list, const char *what, json_t *common, json_t *schema,
			 const char *members)
{
	json_t *group = json_object();

	if (json_array_append_new(list, group) < 0 ||
	    json_object_set_new(group, what, common) < 0 ||
	    json_set_some(group, "schemaUrl", schema) < 0 ||
	    json_object_set_new(group, members, json_array()) < 0)
		return NULL;
	return json_object_get(group, members);
}

/* Where spans of that resource and scope go; they are a group for each pair, in order of first appearance. */
static json_t *find_group(json_t *request, struct intern *groups, const struct span_out *s,
			  json_t *const kept[static 4])
{
	_cleanup_json_ json_t *key = json_array(), *resource = make_resource(s, kept[0]);
	_cleanup_json_ json_t *scope = make_scope(kept[2]);
	_cleanup_free_ char *text = NULL;
	json_t *all = json_object_get(request, "resourceSpans"), *scopes;
	uint32_t known = (uint32_t)groups->count, i;
	int r = json_array_append(key, resource) | json_array_append(key, scope);

	for (size_t k = 1; k < 4 && !r; k += 2)
		r = json_array_append_new(key, kept[k] ? json_incref(kept[k]) : json_null());
	text = r ? NULL : json_dumps(key, JSON_COMPACT);
	if (!text || intern_add(groups, text, strlen(text), &i) < 0)
		return NULL;
	if (i < known) {
		scopes = json_object_get(json_array_get(all, i), "scopeSpans");
		return json_object_get(json_array_get(scopes, 0), "spans");
	}
	scopes = add_group(all, "resource", TAKE_PTR(resource), json_incref(kept[1]), "scopeSpans");
	return scopes ? add_group(scopes, "scope", TAKE_PTR(scope), json_incref(kept[3]), "spans")
		      : NULL;
}

/* ---- the span ---- */

static int set_events(json_t *to, const struct span_out *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->note_count; i++) {
		const struct note_out *n = &s->notes[i];
		_cleanup_json_ json_t *attributes = note_attributes(n), *event = json_object();
		int r = json_set_some(event, "timeUnixNano", otlp_time_text(n->at));

		if (r >= 0)
			r = json_set_some(event, "name", json_mended(n->name));
		if (r >= 0)
			r = json_set_some(event, "droppedAttributesCount",
					  json_take(attributes, NAME_NO_ATTRIBUTES));
		if (r >= 0)
			r = set_list(event, "attributes", attributes);
		if (r < 0 || json_array_append(list, event) < 0) {
			json_decref(list);
			return -ENOMEM;
		}
	}
	return json_set_some(to, "events", list);
}

static int set_links(json_t *to, json_t *kept)
{
	_cleanup_json_ json_t *links = kept;
	json_t *link;
	size_t i;

	json_array_foreach(links, i, link)
	{
		_cleanup_json_ json_t *attributes = json_take(link, "attributes");

		if (set_list(link, "attributes", attributes) < 0)
			return -ENOMEM;
	}
	return json_is_array(links) ? json_set_some(to, "links", json_incref(links)) : 0;
}

static int set_status(json_t *to, const struct span_out *s, json_t *description)
{
	json_t *status = json_object();
	int r = json_set_some(status, "message", description);

	if (r >= 0 && s->status > SPAN_STATUS_UNSET && s->status <= OTLP_STATUS_MAX)
		r = json_set_some(status, "code", json_integer(s->status));
	if (r < 0 || !json_object_size(status)) {
		json_decref(status);
		return r;
	}
	return json_set_some(to, "status", status);
}

static int set_ids(json_t *to, const struct span_out *s)
{
	int r = json_set_some(to, "traceId", json_string(s->ids.trace));

	if (r >= 0)
		r = json_set_some(to, "spanId", json_string(s->ids.span));
	if (r >= 0)
		r = json_set_some(to, "traceState", json_take(s->attributes, NAME_TRACE_STATE));
	if (r >= 0 && *s->ids.parent)
		r = json_set_some(to, "parentSpanId", json_string(s->ids.parent));
	return r < 0 ? r : json_set_some(to, "flags", json_take(s->attributes, NAME_FLAGS));
}

static int otlp_set_span(json_t *to, const struct span_out *s)
{
	json_t *a = s->attributes;
	int r = set_ids(to, s);

	if (r >= 0)
		r = json_set_some(to, "name", json_mended(s->name));
	if (r >= 0 && s->kind >= 0)
		r = json_set_some(to, "kind", json_integer(s->kind + 1));
	if (r >= 0)
		r = json_set_some(to, "startTimeUnixNano", otlp_time_text(s->start));
	if (r >= 0)
		r = json_set_some(to, "endTimeUnixNano", otlp_time_text(s->start + s->dur));
	if (r >= 0)
		r = json_set_some(to, "droppedAttributesCount", json_take(a, NAME_NO_ATTRIBUTES));
	if (r >= 0)
		r = json_set_some(to, "droppedEventsCount", json_take(a, NAME_NO_EVENTS));
	if (r >= 0)
		r = json_set_some(to, "droppedLinksCount", json_take(a, NAME_NO_LINKS));
	if (r >= 0)
		r = set_status(to, s, json_take(a, NAME_DESCRIPTION));
	if (r >= 0)
		r = set_links(to, json_take(a, NAME_LINKS));
	if (r >= 0 && s->note_count)
		r = set_events(to, s);
	return r < 0 ? r : set_list(to, "attributes", a);
}

int otlp_put(json_t *request, struct intern *groups, const struct span_out *s)
{
	json_t *kept[] = {json_take(s->attributes, NAME_RESOURCE),
			  json_take(s->attributes, NAME_RESOURCE_SCHEMA),
			  json_take(s->attributes, NAME_SCOPE),
			  json_take(s->attributes, NAME_SCOPE_SCHEMA)};
	json_t *spans = find_group(request, groups, s, kept), *span = json_object();
	int r = spans ? otlp_set_span(span, s) : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		json_decref(kept[i]);
	if (r < 0) {
		json_decref(span);
		return r;
	}
	return json_array_append_new(spans, span) < 0 ? -ENOMEM : 0;
}
