// SPDX-License-Identifier: Apache-2.0
/* otlp_in.c: turns an ExportTraceServiceRequest (or the equivalent TracesData) in OTLP's JSON into spans. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "exchange/otlp/otlp.h"
#include "schema/vocab.h"

/* OTLP's numbers. weir's kinds are in the same order, but lack the first. */
#define OTLP_KIND_UNSPECIFIED 0
#define OTLP_STATUS_ERROR     2

static_assert(SPAN_KIND_INTERNAL == 0 && SPAN_KIND_CONSUMER == 4, "OTLP's order");
static_assert(SPAN_STATUS_UNSET == 0 && SPAN_STATUS_ERROR == OTLP_STATUS_ERROR, "OTLP's order");

/* -EINVAL: `what` is wrong at this position. */
static int otlp_wrong(const struct otlp_place *at, const char *what, struct error *err)
{
	return error_set(err, -EINVAL, "resourceSpans[%zu].scopeSpans[%zu].spans[%zu]: %s",
			 at->resource, at->scope, at->span, what);
}

static int no_memory(struct error *err)
{
	return error_set(err, -ENOMEM, "out of memory");
}

/* Reports why attributes cannot be read. */
static int wrong_value(const struct otlp_place *at, int r, struct error *err)
{
	if (r == -ENOMEM)
		return no_memory(err);
	return otlp_wrong(
		at, r == -E2BIG ? "a value is nested too deep" : "an attribute is malformed", err);
}

/* Sets a member to a copy of the value unless that is empty. 0 or -ENOMEM. */
static int otlp_keep(json_t *attributes, const char *name, const json_t *value)
{
	if (!value || json_is_null(value) || (json_is_object(value) && !json_object_size(value)) ||
	    (json_is_array(value) && !json_array_size(value)) ||
	    (json_is_string(value) && !json_string_length(value)) ||
	    (json_is_integer(value) && !json_integer_value(value)))
		return 0;
	return json_object_set(attributes, name, (json_t *)value) < 0 ? -ENOMEM : 0;
}

struct otlp_member {
	const char *name;
	const json_t *value;
};

static int otlp_keep_all(json_t *attributes, const struct otlp_member *all, size_t count)
{
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++)
		r = otlp_keep(attributes, all[i].name, all[i].value);
	return r;
}

/* ---- resource and scope ---- */

void otlp_group_free(struct otlp_group *g)
{
	json_decref(g->resource);
	json_decref(g->resource_schema);
	json_decref(g->scope);
	json_decref(g->scope_schema);
	json_decref(g->service);
}

static void set_json(json_t **to, json_t *value)
{
	json_decref(*to);
	*to = value;
}

static size_t otlp_length(const json_t *object, const json_t *schema)
{
	return json_dumpb(object, NULL, 0, JSON_COMPACT) +
	       json_dumpb(schema, NULL, 0, JSON_COMPACT | JSON_ENCODE_ANY);
}

int otlp_group_resource(struct otlp_group *g, const json_t *resource, const json_t *schema,
			struct error *err)
{
	json_t *attributes = json_object(), *service;
	int r;

	set_json(&g->resource, attributes);
	set_json(&g->service, NULL);
	set_json(&g->resource_schema, json_incref((json_t *)schema));
	if (!attributes)
		return no_memory(err);
	r = otlp_plain_list(json_object_get(resource, "attributes"), attributes, 0);
	if (r < 0)
		return wrong_value(&g->at, r, err);
	service = json_object_get(attributes, "service.name");
	if (json_is_string(service)) {
		g->service = json_incref(service);
		json_object_del(attributes, "service.name");
	}
	g->resource_len = otlp_length(attributes, schema) + json_text(g->service).len;
	return 0;
}

int otlp_group_scope(struct otlp_group *g, const json_t *scope, const json_t *schema,
		     struct error *err)
{
	_cleanup_json_ json_t *attributes = json_object();
	json_t *to = json_object();
	int r;

	set_json(&g->scope, to);
	set_json(&g->scope_schema, json_incref((json_t *)schema));
	if (!attributes || !to)
		return no_memory(err);
	r = otlp_plain_list(json_object_get(scope, "attributes"), attributes, 0);
	if (r < 0)
		return wrong_value(&g->at, r, err);
	r = otlp_keep_all(to,
			  (struct otlp_member[]){{"name", json_object_get(scope, "name")},
						 {"version", json_object_get(scope, "version")},
						 {"attributes", attributes}},
			  3);
	g->scope_len = otlp_length(to, schema);
	return r < 0 ? no_memory(err) : 0;
}

/* ---- a span ---- */

static int put_links(const struct otlp_group *g, const json_t *links, json_t *to, struct error *err)
{
	static const char *const members[] = {"traceId", "spanId", "traceState", "flags",
					      "droppedAttributesCount"};
	_cleanup_json_ json_t *list = json_array();
	json_t *link;
	size_t i;

	if (links && !json_is_array(links))
		return otlp_wrong(&g->at, "links is not an array", err);
	json_array_foreach((json_t *)links, i, link)
	{
		_cleanup_json_ json_t *attributes = json_object(), *one = json_object();
		int r = attributes && one ? otlp_plain_list(json_object_get(link, "attributes"),
							    attributes, 0)
					  : -ENOMEM;

		if (r < 0)
			return wrong_value(&g->at, r, err);
		for (size_t k = 0; k < ARRAY_SIZE(members) && r >= 0; k++)
			r = otlp_keep(one, members[k], json_object_get(link, members[k]));
		if (r >= 0)
			r = otlp_keep(one, "attributes", attributes);
		if (r < 0 || json_array_append(list, one) < 0)
			return no_memory(err);
	}
	return otlp_keep(to, NAME_LINKS, list) < 0 ? no_memory(err) : 0;
}

/* Adds the attributes shared with other spans, if the limit allows one more copy. */
static int put_common(const struct otlp_group *g, json_t *to, struct span_in *in)
{
	const struct otlp_member common[] = {{NAME_RESOURCE, g->resource},
					     {NAME_RESOURCE_SCHEMA, g->resource_schema},
					     {NAME_SCOPE, g->scope},
					     {NAME_SCOPE_SCHEMA, g->scope_schema}};
	size_t bytes = g->resource_len + g->scope_len;

	if (!spans_in_room(g->to, bytes)) {
		spans_in_shorten(&in->service, SPANS_SERVICE_SHORT);
		return json_object_set_new(to, NAME_LEFT_OUT, json_integer((json_int_t)bytes)) < 0
			       ? -ENOMEM
			       : 0;
	}
	return otlp_keep_all(to, common, ARRAY_SIZE(common));
}

/* Adds properties that OTLP keeps outside the attributes. */
static int put_extras(const struct otlp_group *g, const json_t *span, json_t *to, struct error *err)
{
	const struct otlp_member extras[] = {
		{NAME_TRACE_STATE, json_object_get(span, "traceState")},
		{NAME_FLAGS, json_object_get(span, "flags")},
		{NAME_NO_ATTRIBUTES, json_object_get(span, "droppedAttributesCount")},
		{NAME_NO_EVENTS, json_object_get(span, "droppedEventsCount")},
		{NAME_NO_LINKS, json_object_get(span, "droppedLinksCount")},
		{NAME_DESCRIPTION, json_object_get(json_object_get(span, "status"), "message")},
	};

	if (otlp_keep_all(to, extras, ARRAY_SIZE(extras)) < 0)
		return no_memory(err);
	return put_links(g, json_object_get(span, "links"), to, err);
}

static int put_events(struct otlp_group *g, const json_t *events, struct error *err)
{
	json_t *event;
	size_t i;

	if (events && !json_is_array(events))
		return otlp_wrong(&g->at, "events is not an array", err);
	json_array_foreach((json_t *)events, i, event)
	{
		_cleanup_json_ json_t *attributes = json_object();
		const json_t *time = json_object_get(event, "timeUnixNano");
		uint64_t at = 0;
		int r = attributes ? otlp_plain_list(json_object_get(event, "attributes"),
						     attributes, 0)
				   : -ENOMEM;

		if (r >= 0)
			r = otlp_keep(attributes, NAME_NO_ATTRIBUTES,
				      json_object_get(event, "droppedAttributesCount"));
		if (r < 0)
			return wrong_value(&g->at, r, err);
		if (time && !json_u64(time, &at))
			return otlp_wrong(&g->at, "timeUnixNano of an event is not a number", err);
		r = spans_in_put_note(g->to, at, json_text(json_object_get(event, "name")),
				      attributes);
		if (r < 0)
			return no_memory(err);
	}
	return 0;
}

/* An enum as a number, or as its name in the protobuf definition; -1: unknown. */
static int64_t enum_of(const json_t *j, const char *const names[], size_t count)
{
	const char *text = json_string_value(j);
	int64_t n;

	if (!j)
		return 0;
	for (size_t i = 0; text && i < count; i++) {
		if (strcmp(text, names[i]) == 0)
			return (int64_t)i;
	}
	return json_i64(j, &n) ? n : -1;
}

static void read_codes(const json_t *span, struct span_in *in)
{
	static const char *const kinds[] = {"SPAN_KIND_UNSPECIFIED", "SPAN_KIND_INTERNAL",
					    "SPAN_KIND_SERVER",	     "SPAN_KIND_CLIENT",
					    "SPAN_KIND_PRODUCER",    "SPAN_KIND_CONSUMER"};
	static const char *const statuses[] = {"STATUS_CODE_UNSET", "STATUS_CODE_OK",
					       "STATUS_CODE_ERROR"};
	int64_t kind = enum_of(json_object_get(span, "kind"), kinds, ARRAY_SIZE(kinds));
	int64_t status = enum_of(json_object_get(json_object_get(span, "status"), "code"), statuses,
				 ARRAY_SIZE(statuses));

	in->kind =
		kind > OTLP_KIND_UNSPECIFIED && kind <= SPAN_KIND_CONSUMER + 1 ? (int)kind - 1 : -1;
	in->status = status >= 0 && status <= OTLP_STATUS_ERROR ? (int)status : SPAN_STATUS_UNSET;
}

/* Restores a state exported by weir: the span was running, or cut off. */
static void read_weir_status(json_t *attributes, struct span_in *in)
{
	const char *status = json_string_value(json_object_get(attributes, NAME_STATUS));

	if (status && strcmp(status, "running") == 0) {
		in->end = 0;
		in->dur = -1;
	} else if (status && strcmp(status, "cut") == 0) {
		in->status = SPAN_STATUS_CUT;
	} else {
		return;
	}
	json_object_del(attributes, NAME_STATUS);
}

static void read_ids(struct otlp_group *g, const json_t *span, struct span_ids *ids)
{
	spans_in_id(g->to, ids->trace, TRACE_ID_TEXT, json_text(json_object_get(span, "traceId")),
		    false);
	spans_in_id(g->to, ids->span, SPAN_ID_TEXT, json_text(json_object_get(span, "spanId")),
		    false);
	spans_in_id(g->to, ids->parent, SPAN_ID_TEXT,
		    json_text(json_object_get(span, "parentSpanId")), false);
}

int otlp_group_span(struct otlp_group *g, const json_t *span, struct error *err)
{
	_cleanup_json_ json_t *attributes = json_object();
	const json_t *start = json_object_get(span, "startTimeUnixNano");
	const json_t *end = json_object_get(span, "endTimeUnixNano");
	struct span_in in = {.name = json_text(json_object_get(span, "name")),
			     .service = json_text(g->service),
			     .dur = -1,
			     .attributes = attributes};
	int r;

	if (!json_is_object(span))
		return otlp_wrong(&g->at, "is not an object", err);
	if ((start && !json_u64(start, &in.start)) || (end && !json_u64(end, &in.end)))
		return otlp_wrong(&g->at, "a time is not a number of nanoseconds", err);
	r = attributes ? otlp_plain_list(json_object_get(span, "attributes"), attributes, 0)
		       : -ENOMEM;
	if (r < 0)
		return wrong_value(&g->at, r, err);
	if (put_common(g, attributes, &in) < 0)
		return no_memory(err);
	r = put_extras(g, span, attributes, err);
	if (r < 0)
		return r;
	read_ids(g, span, &in.ids);
	read_codes(span, &in);
	read_weir_status(attributes, &in);
	r = spans_in_put(g->to, &in);
	if (r < 0)
		return no_memory(err);
	return put_events(g, json_object_get(span, "events"), err);
}

/* ---- a document ---- */

static int read_scope(struct otlp_group *g, const json_t *scope_spans, struct error *err)
{
	const json_t *spans = json_object_get(scope_spans, "spans");
	int r = otlp_group_scope(g, json_object_get(scope_spans, "scope"),
				 json_object_get(scope_spans, "schemaUrl"), err);

	if (r >= 0 && spans && !json_is_array(spans))
		return otlp_wrong(&g->at, "spans is not an array", err);
	for (g->at.span = 0; r >= 0 && g->at.span < json_array_size(spans); g->at.span++)
		r = otlp_group_span(g, json_array_get(spans, g->at.span), err);
	return r;
}

static int read_resource(struct otlp_group *g, const json_t *resource_spans, struct error *err)
{
	const json_t *scopes = json_object_get(resource_spans, "scopeSpans");
	int r = otlp_group_resource(g, json_object_get(resource_spans, "resource"),
				    json_object_get(resource_spans, "schemaUrl"), err);

	if (r >= 0 && scopes && !json_is_array(scopes))
		return otlp_wrong(&g->at, "scopeSpans is not an array", err);
	for (g->at.scope = 0; r >= 0 && g->at.scope < json_array_size(scopes); g->at.scope++)
		r = read_scope(g, json_array_get(scopes, g->at.scope), err);
	return r;
}

int otlp_json_read(struct spans_in *s, const json_t *document, struct error *err)
{
	_cleanup_(otlp_group_free) struct otlp_group g = {.to = s};
	const json_t *all = json_object_get(document, "resourceSpans");
	int r = 0;

	if (all && !json_is_array(all))
		return error_set(err, -EINVAL, "resourceSpans is not an array");
	for (; r >= 0 && g.at.resource < json_array_size(all); g.at.resource++) {
		g.at.scope = g.at.span = 0;
		r = read_resource(&g, json_array_get(all, g.at.resource), err);
	}
	return r;
}
