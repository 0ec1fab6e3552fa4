// SPDX-License-Identifier: Apache-2.0
/*
 * otlp_proto_in.c: reads an ExportTraceServiceRequest in protobuf span by span, so that memory is bounded by the
 * largest span. The properties shared by the spans of a message may follow them on the wire, so they are read first.
 */
#include "exchange/otlp/otlp.h"
#include "exchange/otlp/proto.h"

/* Field numbers of the messages around a span. */
#define FIELD_RESOURCE_SPANS 1u /* in a request */
#define FIELD_COMMON	     1u /* in ResourceSpans the resource, in ScopeSpans the scope */
#define FIELD_MEMBERS	     2u /* in ResourceSpans the scopes, in ScopeSpans the spans */
#define FIELD_SCHEMA	     3u

struct reading {
	struct proto_in in;
	struct otlp_group group;
};

typedef int member_fn(struct reading *r, struct bytes message, struct error *err);

/* Calls `take` for each member of a message. */
static int each_member(struct reading *r, struct bytes message, uint32_t number, size_t *count,
		       member_fn *take, struct error *err)
{
	const uint8_t *p = message.data, *end = p + message.len;
	struct proto_wire w;
	int e;

	*count = 0;
	while ((e = proto_next(&r->in, &p, end, &w, err)) > 0) {
		if (w.number != number || w.type != PROTO_WIRE_BYTES)
			continue;
		e = take(r, w.bytes, err);
		if (e < 0)
			return e;
		(*count)++;
	}
	return e;
}

/* Reads what the members share (resource or scope), and the URL of its schema. */
static int read_common(struct reading *r, const struct proto_field *fields, struct bytes message,
		       json_t **ret, json_t **ret_schema, struct error *err)
{
	const uint8_t *p = message.data, *end = p + message.len;
	struct proto_wire w;
	int e;

	while ((e = proto_next(&r->in, &p, end, &w, err)) > 0) {
		json_t *value = NULL, **to = w.number == FIELD_COMMON ? ret : ret_schema;

		if (w.type != PROTO_WIRE_BYTES ||
		    (w.number != FIELD_COMMON && w.number != FIELD_SCHEMA))
			continue;
		if (w.number == FIELD_COMMON)
			e = proto_read(&r->in, fields, w.bytes, &value, err);
		else
			value = json_of_bytes(w.bytes.data, w.bytes.len, &r->in.mended);
		if (e < 0)
			return e;
		json_decref(*to);
		*to = value;
	}
	return e;
}

static int proto_take_span(struct reading *r, struct bytes message, struct error *err)
{
	_cleanup_json_ json_t *span = NULL;
	int e = proto_read(&r->in, proto_span, message, &span, err);

	return e < 0 ? e : otlp_group_span(&r->group, span, err);
}

static int proto_take_scope(struct reading *r, struct bytes message, struct error *err)
{
	_cleanup_json_ json_t *scope = NULL, *schema = NULL;
	int e = read_common(r, proto_scope, message, &scope, &schema, err);

	if (e >= 0)
		e = otlp_group_scope(&r->group, scope, schema, err);
	return e < 0 ? e
		     : each_member(r, message, FIELD_MEMBERS, &r->group.at.span, proto_take_span,
				   err);
}

static int proto_take_resource(struct reading *r, struct bytes message, struct error *err)
{
	_cleanup_json_ json_t *resource = NULL, *schema = NULL;
	int e = read_common(r, proto_resource, message, &resource, &schema, err);

	if (e >= 0)
		e = otlp_group_resource(&r->group, resource, schema, err);
	return e < 0 ? e
		     : each_member(r, message, FIELD_MEMBERS, &r->group.at.scope, proto_take_scope,
				   err);
}

int otlp_protobuf_read(struct spans_in *s, struct bytes body, size_t base, struct error *err)
{
	struct reading r = {.in = {.begin = body.data, .base = base}, .group = {.to = s}};
	int e = each_member(&r, body, FIELD_RESOURCE_SPANS, &r.group.at.resource,
			    proto_take_resource, err);

	otlp_group_free(&r.group);
	if (r.in.mended)
		spans_in_mended(s);
	return e;
}
