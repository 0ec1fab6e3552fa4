// SPDX-License-Identifier: Apache-2.0
/* proto_messages.c: the messages of OTLP's traces, version 1, whose field numbers never change. */
#include "exchange/otlp/proto.h"

/* clang-format off */
static const struct proto_message any_value, key_value, array_value, kvlist_value, event, link_, status;
static const struct proto_message scope_spans, resource_spans;

static const struct proto_field any_value_fields[] = {
	{1, PROTO_STRING, "stringValue"},
	{2, PROTO_BOOL, "boolValue"},
	{3, PROTO_INT64, "intValue"},
	{4, PROTO_DOUBLE, "doubleValue"},
	{5, PROTO_MESSAGE, "arrayValue", .message = &array_value},
	{6, PROTO_MESSAGE, "kvlistValue", .message = &kvlist_value},
	{7, PROTO_BYTES, "bytesValue"},
	{0},
};
static const struct proto_field array_value_fields[] = {
	{1, PROTO_MESSAGE, "values", true, &any_value},
	{0},
};
static const struct proto_field kvlist_value_fields[] = {
	{1, PROTO_MESSAGE, "values", true, &key_value},
	{0},
};
static const struct proto_field key_value_fields[] = {
	{1, PROTO_STRING, "key"},
	{2, PROTO_MESSAGE, "value", .message = &any_value},
	{0},
};
static const struct proto_field resource_fields[] = {
	{1, PROTO_MESSAGE, "attributes", true, &key_value},
	{2, PROTO_UINT, "droppedAttributesCount"},
	{0},
};
static const struct proto_field scope_fields[] = {
	{1, PROTO_STRING, "name"},
	{2, PROTO_STRING, "version"},
	{3, PROTO_MESSAGE, "attributes", true, &key_value},
	{4, PROTO_UINT, "droppedAttributesCount"},
	{0},
};
static const struct proto_field event_fields[] = {
	{1, PROTO_FIXED64, "timeUnixNano"},
	{2, PROTO_STRING, "name"},
	{3, PROTO_MESSAGE, "attributes", true, &key_value},
	{4, PROTO_UINT, "droppedAttributesCount"},
	{0},
};
static const struct proto_field link_fields[] = {
	{1, PROTO_HEX, "traceId"},
	{2, PROTO_HEX, "spanId"},
	{3, PROTO_STRING, "traceState"},
	{4, PROTO_MESSAGE, "attributes", true, &key_value},
	{5, PROTO_UINT, "droppedAttributesCount"},
	{6, PROTO_FIXED32, "flags"},
	{0},
};
static const struct proto_field status_fields[] = {
	{2, PROTO_STRING, "message"},
	{3, PROTO_UINT, "code"},
	{0},
};
static const struct proto_field span_fields[] = {
	{1, PROTO_HEX, "traceId"},
	{2, PROTO_HEX, "spanId"},
	{3, PROTO_STRING, "traceState"},
	{4, PROTO_HEX, "parentSpanId"},
	{5, PROTO_STRING, "name"},
	{6, PROTO_UINT, "kind"},
	{7, PROTO_FIXED64, "startTimeUnixNano"},
	{8, PROTO_FIXED64, "endTimeUnixNano"},
	{9, PROTO_MESSAGE, "attributes", true, &key_value},
	{10, PROTO_UINT, "droppedAttributesCount"},
	{11, PROTO_MESSAGE, "events", true, &event},
	{12, PROTO_UINT, "droppedEventsCount"},
	{13, PROTO_MESSAGE, "links", true, &link_},
	{14, PROTO_UINT, "droppedLinksCount"},
	{15, PROTO_MESSAGE, "status", .message = &status},
	{16, PROTO_FIXED32, "flags"},
	{0},
};
static const struct proto_field scope_spans_fields[] = {
	{1, PROTO_MESSAGE, "scope", .message = &proto_scope},
	{2, PROTO_MESSAGE, "spans", true, &proto_span},
	{3, PROTO_STRING, "schemaUrl"},
	{0},
};
static const struct proto_field resource_spans_fields[] = {
	{1, PROTO_MESSAGE, "resource", .message = &proto_resource},
	{2, PROTO_MESSAGE, "scopeSpans", true, &scope_spans},
	{3, PROTO_STRING, "schemaUrl"},
	{0},
};
static const struct proto_field request_fields[] = {
	{1, PROTO_MESSAGE, "resourceSpans", true, &resource_spans},
	{0},
};

/* profiles, v1development: field numbers may change; these are those of opentelemetry-proto 1.10.0 */
static const struct proto_message value_type, sample, profile, scope_profiles, resource_profiles, dictionary;
static const struct proto_message mapping, location, line, function, profile_link, attribute, stack;
static const struct proto_field value_type_fields[] = {
	{1, PROTO_UINT, "typeStrindex"},
	{2, PROTO_UINT, "unitStrindex"},
	{0},
};
static const struct proto_field sample_fields[] = {
	{1, PROTO_UINT, "stackIndex"},
	{2, PROTO_UINT, "attributeIndices", true},
	{3, PROTO_UINT, "linkIndex"},
	{4, PROTO_INT64, "values", true},
	{5, PROTO_FIXED64, "timestampsUnixNano", true},
	{0},
};
static const struct proto_field profile_fields[] = {
	{1, PROTO_MESSAGE, "sampleType", .message = &value_type},
	{2, PROTO_MESSAGE, "samples", true, &sample},
	{3, PROTO_FIXED64, "timeUnixNano"},
	{4, PROTO_INT64, "durationNano"},
	{0},
};
static const struct proto_field scope_profiles_fields[] = {
	{1, PROTO_MESSAGE, "scope", .message = &proto_scope},
	{2, PROTO_MESSAGE, "profiles", true, &profile},
	{0},
};
static const struct proto_field resource_profiles_fields[] = {
	{1, PROTO_MESSAGE, "resource", .message = &proto_resource},
	{2, PROTO_MESSAGE, "scopeProfiles", true, &scope_profiles},
	{0},
};
static const struct proto_field mapping_fields[] = {
	{0},
};
static const struct proto_field line_fields[] = {
	{1, PROTO_UINT, "functionIndex"},
	{2, PROTO_INT64, "line"},
	{0},
};
static const struct proto_field location_fields[] = {
	{3, PROTO_MESSAGE, "lines", true, &line},
	{0},
};
static const struct proto_field function_fields[] = {
	{1, PROTO_UINT, "nameStrindex"},
	{0},
};
static const struct proto_field profile_link_fields[] = {
	{1, PROTO_HEX, "traceId"},
	{2, PROTO_HEX, "spanId"},
	{0},
};
static const struct proto_field attribute_fields[] = {
	{1, PROTO_UINT, "keyStrindex"},
	{2, PROTO_MESSAGE, "value", .message = &any_value},
	{0},
};
static const struct proto_field stack_fields[] = {
	{1, PROTO_UINT, "locationIndices", true},
	{0},
};
static const struct proto_field dictionary_fields[] = {
	{1, PROTO_MESSAGE, "mappingTable", true, &mapping},
	{2, PROTO_MESSAGE, "locationTable", true, &location},
	{3, PROTO_MESSAGE, "functionTable", true, &function},
	{4, PROTO_MESSAGE, "linkTable", true, &profile_link},
	{5, PROTO_STRING, "stringTable", true},
	{6, PROTO_MESSAGE, "attributeTable", true, &attribute},
	{7, PROTO_MESSAGE, "stackTable", true, &stack},
	{0},
};
static const struct proto_field profiles_fields[] = {
	{1, PROTO_MESSAGE, "resourceProfiles", true, &resource_profiles},
	{2, PROTO_MESSAGE, "dictionary", .message = &dictionary},
	{0},
};

static const struct proto_message value_type = {"ValueType", value_type_fields};
static const struct proto_message sample = {"Sample", sample_fields};
static const struct proto_message profile = {"Profile", profile_fields};
static const struct proto_message scope_profiles = {"ScopeProfiles", scope_profiles_fields};
static const struct proto_message resource_profiles = {"ResourceProfiles", resource_profiles_fields};
static const struct proto_message mapping = {"Mapping", mapping_fields};
static const struct proto_message line = {"Line", line_fields};
static const struct proto_message location = {"Location", location_fields};
static const struct proto_message function = {"Function", function_fields};
static const struct proto_message profile_link = {"Link", profile_link_fields};
static const struct proto_message attribute = {"KeyValueAndUnit", attribute_fields};
static const struct proto_message stack = {"Stack", stack_fields};
static const struct proto_message dictionary = {"ProfilesDictionary", dictionary_fields};
static const struct proto_message any_value = {"AnyValue", any_value_fields};
static const struct proto_message array_value = {"ArrayValue", array_value_fields};
static const struct proto_message kvlist_value = {"KeyValueList", kvlist_value_fields};
static const struct proto_message key_value = {"KeyValue", key_value_fields};
static const struct proto_message event = {"Span.Event", event_fields};
static const struct proto_message link_ = {"Span.Link", link_fields};
static const struct proto_message status = {"Status", status_fields};
static const struct proto_message scope_spans = {"ScopeSpans", scope_spans_fields};
static const struct proto_message resource_spans = {"ResourceSpans", resource_spans_fields};
const struct proto_message proto_resource = {"Resource", resource_fields};
const struct proto_message proto_scope = {"InstrumentationScope", scope_fields};
const struct proto_message proto_span = {"Span", span_fields};
const struct proto_message proto_request = {"ExportTraceServiceRequest", request_fields};
const struct proto_message proto_profiles = {"ExportProfilesServiceRequest", profiles_fields};
/* clang-format on */
