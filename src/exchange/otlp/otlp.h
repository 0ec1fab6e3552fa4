/* SPDX-License-Identifier: Apache-2.0 */
/* otlp.h: OTLP's spans as they come in: under a resource and a scope. Messages are in the form of OTLP's JSON. */
#pragma once

#include "exchange/internal.h"

/* Where a span stands in its document, for messages. */
struct otlp_place {
	size_t resource, scope, span;
};

/* What spans have in common. Starts with `to` alone. */
struct otlp_group {
	struct spans_in *to;
	struct otlp_place at;
	json_t *resource, *resource_schema,
		*service; /* plain attributes, without the service's name */
	json_t *scope, *scope_schema;
	size_t resource_len, scope_len; /* bytes of each as a span gets it, with its schema */
};

void otlp_group_free(struct otlp_group *g);
/* A Resource, an InstrumentationScope (NULL: none) with the URL of its schema: for the spans that follow. 0 or negative. */
int otlp_group_resource(struct otlp_group *g, const json_t *resource, const json_t *schema,
			struct error *err);
int otlp_group_scope(struct otlp_group *g, const json_t *scope, const json_t *schema,
		     struct error *err);
/* Puts a Span with its events. 0, or negative: malformed. */
int otlp_group_span(struct otlp_group *g, const json_t *span, struct error *err);
