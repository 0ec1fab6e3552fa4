/* SPDX-License-Identifier: Apache-2.0 */
/*
 * names.h: members of a span's attributes that stand for what its format keeps in places of their own. An import writes
 * them, an export puts each back where it belongs. Values that JSON has no type for are objects of one member.
 */
#pragma once

/* OTLP: attributes of the resource but service.name, and of the scope with its name and version; objects */
#define NAME_RESOURCE	     "otel.resource"
#define NAME_RESOURCE_SCHEMA "otel.resource_schema"
#define NAME_SCOPE	     "otel.scope"
#define NAME_SCOPE_SCHEMA    "otel.scope_schema"
/* OTLP: the span's own; links are an array of objects */
#define NAME_LINKS	   "otel.links"
#define NAME_TRACE_STATE   "otel.trace_state"
#define NAME_FLAGS	   "otel.flags"
#define NAME_DESCRIPTION   "otel.status_description"
#define NAME_NO_ATTRIBUTES "otel.dropped_attributes_count"
#define NAME_NO_EVENTS	   "otel.dropped_events_count"
#define NAME_NO_LINKS	   "otel.dropped_links_count"
/* Zipkin: endpoints are objects, without the service's name in the local one */
#define NAME_LOCAL  "zipkin.local_endpoint"
#define NAME_REMOTE "zipkin.remote_endpoint"
#define NAME_SHARED "zipkin.shared"
#define NAME_DEBUG  "zipkin.debug"
/* what weir knows and the formats have no place for */
#define NAME_STATUS "weir.status" /* running, cut */
#define NAME_SOURCE "weir.source" /* where it is none that was imported */
/* of a span that was sampled: how many it stands for, and by which rule it was kept */
#define NAME_WEIGHT "weir.sample.weight"
#define NAME_RULE   "weir.sample.rule"
/* what was too large to be kept: its length */
#define NAME_LEFT_OUT "weir.left_out_bytes"

/* {"$bytes": "base64"}, {"$double": "NaN"} */
#define VALUE_BYTES  "$bytes"
#define VALUE_DOUBLE "$double"
