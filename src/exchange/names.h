/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h: names of attributes for properties that a span format keeps outside a span's attributes. An import writes
 * them, an export restores the property from them. Values of types that JSON lacks are objects with one member.
 */
#pragma once

/* OTLP: attributes of the resource except service.name; the scope's attributes, name and version; both objects */
#define NAME_RESOURCE	     "otel.resource"
#define NAME_RESOURCE_SCHEMA "otel.resource_schema"
#define NAME_SCOPE	     "otel.scope"
#define NAME_SCOPE_SCHEMA    "otel.scope_schema"
/* OTLP: members of the span itself; links are an array of objects */
#define NAME_LINKS	   "otel.links"
#define NAME_TRACE_STATE   "otel.trace_state"
#define NAME_FLAGS	   "otel.flags"
#define NAME_DESCRIPTION   "otel.status_description"
#define NAME_NO_ATTRIBUTES "otel.dropped_attributes_count"
#define NAME_NO_EVENTS	   "otel.dropped_events_count"
#define NAME_NO_LINKS	   "otel.dropped_links_count"
/* Zipkin: endpoints are objects; the local one lacks the service's name */
#define NAME_LOCAL  "zipkin.local_endpoint"
#define NAME_REMOTE "zipkin.remote_endpoint"
#define NAME_SHARED "zipkin.shared"
#define NAME_DEBUG  "zipkin.debug"
/* known to weir, absent from the formats */
#define NAME_STATUS "weir.status" /* running, cut */
#define NAME_SOURCE "weir.source" /* absent if the span was imported */
/* for a sampled span: the number of spans it represents, and the rule that kept it */
#define NAME_WEIGHT "weir.sample.weight"
#define NAME_RULE   "weir.sample.rule"
/* length of attributes that were dropped because of their size */
#define NAME_LEFT_OUT "weir.left_out_bytes"

/* {"$bytes": "base64"}, {"$double": "NaN"} */
#define VALUE_BYTES  "$bytes"
#define VALUE_DOUBLE "$double"
