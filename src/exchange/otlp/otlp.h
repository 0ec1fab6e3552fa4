/* SPDX-License-Identifier: Apache-2.0 */
/* otlp.h: reads OTLP's spans, each below a resource and a scope. Messages are in the form of OTLP's JSON. */
#pragma once

#include "exchange/internal.h"

/* The position of a span in its document, for messages. */
struct otlp_place {
	size_t resource, scope, span;
};

/* State shared by the spans of a resource and a scope. Initialized with `to` only. */
struct otlp_group {
	struct spans_in *to;
	struct otlp_place at;
	json_t *resource, *resource_schema,
		/* service: the service's name, which is not among resource's plain attributes */
		*service;
	json_t *scope, *scope_schema;
	size_t resource_len, scope_len; /* bytes that each adds to a span, including its schema */
};

void otlp_group_free(struct otlp_group *g);
/* Sets the Resource or InstrumentationScope (NULL: none), with the URL of its schema, of the following spans. 0 or negative. */
int otlp_group_resource(struct otlp_group *g, const json_t *resource, const json_t *schema,
			struct error *err);
int otlp_group_scope(struct otlp_group *g, const json_t *scope, const json_t *schema,
		     struct error *err);
/* Adds a Span with its events. 0, or negative if it is malformed. */
int otlp_group_span(struct otlp_group *g, const json_t *span, struct error *err);
