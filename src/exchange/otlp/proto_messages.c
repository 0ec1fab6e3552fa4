// SPDX-License-Identifier: Apache-2.0
/* proto_messages.c: the messages of OTLP's traces, version 1, whose field numbers never change. */
#include "exchange/otlp/proto.h"

/* clang-format off */
static const struct proto_field any_value[8]; /* values nest */
static const struct proto_field array_value[] = {
	{1, PROTO_MESSAGE, "values", true, any_value},
	{0},
};
static const struct proto_field key_value[] = {
	{1, PROTO_STRING, "key"},
	{2, PROTO_MESSAGE, "value", .message = any_value},
	{0},
};
static const struct proto_field kvlist_value[] = {
	{1, PROTO_MESSAGE, "values", true, key_value},
	{0},
};
static const struct proto_field any_value[8] = {
	{1, PROTO_STRING, "stringValue"},
	{2, PROTO_BOOL, "boolValue"},
	{3, PROTO_INT64, "intValue"},
	{4, PROTO_DOUBLE, "doubleValue"},
	{5, PROTO_MESSAGE, "arrayValue", .message = array_value},
	{6, PROTO_MESSAGE, "kvlistValue", .message = kvlist_value},
	{7, PROTO_BYTES, "bytesValue"},
	{0},
};
const struct proto_field proto_resource[] = {
	{1, PROTO_MESSAGE, "attributes", true, key_value},
	{2, PROTO_UINT, "droppedAttributesCount"},
	{0},
};
const struct proto_field proto_scope[] = {
	{1, PROTO_STRING, "name"},
	{2, PROTO_STRING, "version"},
	{3, PROTO_MESSAGE, "attributes", true, key_value},
	{4, PROTO_UINT, "droppedAttributesCount"},
	{0},
};
static const struct proto_field event[] = {
	{1, PROTO_FIXED64, "timeUnixNano"},
	{2, PROTO_STRING, "name"},
	{3, PROTO_MESSAGE, "attributes", true, key_value},
	{4, PROTO_UINT, "droppedAttributesCount"},
	{0},
};
static const struct proto_field link_[] = {
	{1, PROTO_HEX, "traceId"},
	{2, PROTO_HEX, "spanId"},
	{3, PROTO_STRING, "traceState"},
	{4, PROTO_MESSAGE, "attributes", true, key_value},
	{5, PROTO_UINT, "droppedAttributesCount"},
	{6, PROTO_FIXED32, "flags"},
	{0},
};
static const struct proto_field status[] = {
	{2, PROTO_STRING, "message"},
	{3, PROTO_UINT, "code"},
	{0},
};
const struct proto_field proto_span[] = {
	{1, PROTO_HEX, "traceId"},
	{2, PROTO_HEX, "spanId"},
	{3, PROTO_STRING, "traceState"},
	{4, PROTO_HEX, "parentSpanId"},
	{5, PROTO_STRING, "name"},
	{6, PROTO_UINT, "kind"},
	{7, PROTO_FIXED64, "startTimeUnixNano"},
	{8, PROTO_FIXED64, "endTimeUnixNano"},
	{9, PROTO_MESSAGE, "attributes", true, key_value},
	{10, PROTO_UINT, "droppedAttributesCount"},
	{11, PROTO_MESSAGE, "events", true, event},
	{12, PROTO_UINT, "droppedEventsCount"},
	{13, PROTO_MESSAGE, "links", true, link_},
	{14, PROTO_UINT, "droppedLinksCount"},
	{15, PROTO_MESSAGE, "status", .message = status},
	{16, PROTO_FIXED32, "flags"},
	{0},
};
static const struct proto_field scope_spans[] = {
	{1, PROTO_MESSAGE, "scope", .message = proto_scope},
	{2, PROTO_MESSAGE, "spans", true, proto_span},
	{3, PROTO_STRING, "schemaUrl"},
	{0},
};
static const struct proto_field resource_spans[] = {
	{1, PROTO_MESSAGE, "resource", .message = proto_resource},
	{2, PROTO_MESSAGE, "scopeSpans", true, scope_spans},
	{3, PROTO_STRING, "schemaUrl"},
	{0},
};
const struct proto_field proto_request[] = {
	{1, PROTO_MESSAGE, "resourceSpans", true, resource_spans},
	{0},
};

/* profiles, v1development: field numbers may change; these are those of opentelemetry-proto 1.10.0 */
static const struct proto_field value_type[] = {
	{1, PROTO_UINT, "typeStrindex"},
	{2, PROTO_UINT, "unitStrindex"},
	{0},
};
static const struct proto_field sample[] = {
	{1, PROTO_UINT, "stackIndex"},
	{2, PROTO_UINT, "attributeIndices", true},
	{3, PROTO_UINT, "linkIndex"},
	{4, PROTO_INT64, "values", true},
	{5, PROTO_FIXED64, "timestampsUnixNano", true},
	{0},
};
static const struct proto_field profile[] = {
	{1, PROTO_MESSAGE, "sampleType", .message = value_type},
	{2, PROTO_MESSAGE, "samples", true, sample},
	{3, PROTO_FIXED64, "timeUnixNano"},
	{4, PROTO_INT64, "durationNano"},
	{0},
};
static const struct proto_field scope_profiles[] = {
	{1, PROTO_MESSAGE, "scope", .message = proto_scope},
	{2, PROTO_MESSAGE, "profiles", true, profile},
	{0},
};
static const struct proto_field resource_profiles[] = {
	{1, PROTO_MESSAGE, "resource", .message = proto_resource},
	{2, PROTO_MESSAGE, "scopeProfiles", true, scope_profiles},
	{0},
};
static const struct proto_field mapping[] = {
	{0},
};
static const struct proto_field line[] = {
	{1, PROTO_UINT, "functionIndex"},
	{2, PROTO_INT64, "line"},
	{0},
};
static const struct proto_field location[] = {
	{3, PROTO_MESSAGE, "lines", true, line},
	{0},
};
static const struct proto_field function[] = {
	{1, PROTO_UINT, "nameStrindex"},
	{0},
};
static const struct proto_field profile_link[] = {
	{1, PROTO_HEX, "traceId"},
	{2, PROTO_HEX, "spanId"},
	{0},
};
static const struct proto_field attribute[] = {
	{1, PROTO_UINT, "keyStrindex"},
	{2, PROTO_MESSAGE, "value", .message = any_value},
	{0},
};
static const struct proto_field stack[] = {
	{1, PROTO_UINT, "locationIndices", true},
	{0},
};
static const struct proto_field dictionary[] = {
	{1, PROTO_MESSAGE, "mappingTable", true, mapping},
	{2, PROTO_MESSAGE, "locationTable", true, location},
	{3, PROTO_MESSAGE, "functionTable", true, function},
	{4, PROTO_MESSAGE, "linkTable", true, profile_link},
	{5, PROTO_STRING, "stringTable", true},
	{6, PROTO_MESSAGE, "attributeTable", true, attribute},
	{7, PROTO_MESSAGE, "stackTable", true, stack},
	{0},
};
const struct proto_field proto_profiles[] = {
	{1, PROTO_MESSAGE, "resourceProfiles", true, resource_profiles},
	{2, PROTO_MESSAGE, "dictionary", .message = dictionary},
	{0},
};
/* clang-format on */
