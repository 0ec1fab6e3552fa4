// SPDX-License-Identifier: Apache-2.0
/* otlp_out.c: writes a span in OTLP's JSON, below its resource and scope. */
#include <string.h>

#include "base/clock.h"
#include "exchange/span_out.h"

#define OTLP_STATUS_MAX SPAN_STATUS_ERROR /* the largest that OTLP defines */

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

/* Sets a list of KeyValue unless it is empty. */
static int set_list(json_t *to, const char *name, const json_t *attributes)
{
	return json_object_size(attributes) ? json_set_some(to, name, otlp_list(attributes)) : 0;
}

/* ---- resource and scope ---- */

/* The Resource: the service's name, then its attributes. */
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

/* A new element of `list`, an array of messages with common properties. Takes ownership of its arguments; NULL: no memory. */
static json_t *add_group(json_t *list, const char *what, json_t *common, json_t *schema,
			 const char *members)
{
	json_t *group = json_pack("{s:o, s:o*, s:[]}", what, common, "schemaUrl", schema, members);

	return json_array_append_new(list, group) < 0 ? NULL : json_object_get(group, members);
}

/* The list for spans of this resource and scope. Each pair has its own group, in order of first appearance. */
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
		_cleanup_json_ json_t *attributes = note_attributes(n);
		_cleanup_json_ json_t *event =
			json_pack("{s:o*, s:o*, s:o*}", "timeUnixNano", otlp_time_text(n->at),
				  "name", json_mended(n->name), "droppedAttributesCount",
				  json_take(attributes, NAME_NO_ATTRIBUTES));

		if (!event || set_list(event, "attributes", attributes) < 0 ||
		    json_array_append(list, event) < 0) {
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
	bool code = s->status > SPAN_STATUS_UNSET && s->status <= OTLP_STATUS_MAX;
	json_t *status = json_pack("{s:o*, s:o*}", "message", description, "code",
				   code ? json_integer(s->status) : NULL);

	if (json_object_size(status))
		return json_set_some(to, "status", status);
	json_decref(status);
	return status ? 0 : -ENOMEM;
}

/* NULL: no memory. */
static json_t *otlp_span(const struct span_out *s)
{
	json_t *a = s->attributes;
	json_t *to = json_pack(
		"{s:s, s:s, s:o*, s:s*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*, s:o*}", "traceId",
		s->ids.trace, "spanId", s->ids.span, "traceState", json_take(a, NAME_TRACE_STATE),
		"parentSpanId", *s->ids.parent ? s->ids.parent : NULL, "flags",
		json_take(a, NAME_FLAGS), "name", json_mended(s->name), "kind",
		s->kind >= 0 ? json_integer(s->kind + 1) : NULL, "startTimeUnixNano",
		otlp_time_text(s->start), "endTimeUnixNano", otlp_time_text(s->start + s->dur),
		"droppedAttributesCount", json_take(a, NAME_NO_ATTRIBUTES), "droppedEventsCount",
		json_take(a, NAME_NO_EVENTS), "droppedLinksCount", json_take(a, NAME_NO_LINKS));
	int r = to ? set_status(to, s, json_take(a, NAME_DESCRIPTION)) : -ENOMEM;

	if (r >= 0)
		r = set_links(to, json_take(a, NAME_LINKS));
	if (r >= 0 && s->note_count)
		r = set_events(to, s);
	if (r >= 0)
		r = set_list(to, "attributes", a);
	if (r >= 0)
		return to;
	json_decref(to);
	return NULL;
}

int otlp_put(json_t *request, struct intern *groups, const struct span_out *s)
{
	json_t *kept[] = {json_take(s->attributes, NAME_RESOURCE),
			  json_take(s->attributes, NAME_RESOURCE_SCHEMA),
			  json_take(s->attributes, NAME_SCOPE),
			  json_take(s->attributes, NAME_SCOPE_SCHEMA)};
	json_t *spans = find_group(request, groups, s, kept);
	int r = spans && json_array_append_new(spans, otlp_span(s)) >= 0 ? 0 : -ENOMEM;

	for (size_t i = 0; i < ARRAY_SIZE(kept); i++)
		json_decref(kept[i]);
	return r;
}
