// SPDX-License-Identifier: Apache-2.0
#include "server/api/jaeger_sums.h"
#include "base/array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void jaeger_sums_free(struct jaeger_sums *s)
{
	intern_free(&s->traces);
	intern_free(&s->texts);
	map_free(&s->spans);
	free(s->sums);
	map_free(&s->pairs);
	free(s->pair);
}

static uint64_t sums_key(const struct span_ids *ids, const char *span)
{
	char text[TRACE_ID_TEXT + SPAN_ID_TEXT];

	memcpy(text, ids->trace, TRACE_ID_TEXT);
	memcpy(text + TRACE_ID_TEXT, span, SPAN_ID_TEXT);
	return hash_bytes(text, sizeof(text));
}

static int add_service(struct jaeger_sums *s, const struct span_out *span, uint32_t *ret)
{
	return span->service.data
		       ? intern_add(&s->texts, span->service.data, span->service.len, ret)
		       : intern_add(&s->texts, SPANS_NO_SERVICE, strlen(SPANS_NO_SERVICE), ret);
}

int jaeger_sums_know(struct jaeger_sums *s, const struct span_out *span)
{
	uint32_t service;
	int r = add_service(s, span, &service);

	return r < 0 ? r : map_set(&s->spans, sums_key(&span->ids, span->ids.span), service);
}

/* Finds whether the span's parent is known, and its service. */
static bool sums_find_parent(const struct jaeger_sums *s, const struct span_out *span,
			     uint64_t *ret_service)
{
	return *span->ids.parent &&
	       map_get(&s->spans, sums_key(&span->ids, span->ids.parent), ret_service);
}

static int pair_add(struct jaeger_sums *s, uint32_t first, uint32_t second, bool error)
{
	struct service_pair *pair = array_of_key(s->pair, s->pair_count, s->pair_cap, &s->pairs,
						 (uint64_t)first << 32 | second, NULL);

	if (!pair)
		return -ENOMEM;
	pair->first = first;
	pair->second = second;
	pair->count++;
	pair->errors += error;
	return 0;
}

/* Keeps the first span without a parent as root; if all have one, the first whose parent is missing. */
static int sums_take_root(struct jaeger_sums *s, struct trace_sum *t, const struct span_out *span,
			  uint32_t service)
{
	bool whole = !*span->ids.parent;
	int r;

	if (t->has_root && (whole != t->root_whole ? t->root_whole : span->start >= t->root_start))
		return 0;
	r = intern_add(&s->texts, span->name.data, span->name.len, &t->root_name);
	t->has_root = true;
	t->root_whole = whole;
	t->root_start = span->start;
	t->root_service = service;
	return r;
}

int jaeger_sums_line(struct jaeger_sums *s, const struct span_out *span)
{
	bool error = span->status == SPAN_STATUS_ERROR;
	size_t known = s->traces.count;
	uint32_t i, service;
	uint64_t parent;
	struct trace_sum *t;
	int r = intern_add(&s->traces, span->ids.trace, TRACE_ID_TEXT, &i);

	r = r < 0 ? r : grow((void **)&s->sums, &s->sums_cap, s->traces.count, sizeof(*s->sums));
	r = r < 0 ? r : add_service(s, span, &service);
	r = r < 0 ? r : pair_add(s, i, service, error);
	if (r < 0)
		return r;
	t = &s->sums[i];
	if (i >= known)
		*t = (struct trace_sum){.first = INT64_MAX, .last = INT64_MIN};
	t->first = MIN(t->first, span->start);
	t->last = MAX(t->last, span->start + span->dur);
	t->spans++;
	t->errors += error;
	if (sums_find_parent(s, span, &parent))
		return 0;
	t->orphans += *span->ids.parent != '\0';
	return sums_take_root(s, t, span, service);
}

int jaeger_sums_call(struct jaeger_sums *s, const struct span_out *span)
{
	uint32_t service;
	uint64_t parent;
	int r = add_service(s, span, &service);

	if (r < 0 || !sums_find_parent(s, span, &parent) || parent == service)
		return r;
	return pair_add(s, (uint32_t)parent, service, false);
}

static int compare_pairs(const void *a, const void *b)
{
	const struct service_pair *x = a, *y = b;

	return ORDER(x->first, y->first) ?: ORDER(x->second, y->second);
}

static void sums_put_line(const struct jaeger_sums *s, uint32_t i, size_t from, struct js *out)
{
	const struct trace_sum *t = &s->sums[i];

	js_open(out, '{');
	js_key_bytes(out, "traceId", intern_get(&s->traces, i));
	if (t->has_root) {
		js_key_bytes(out, "rootServiceName", intern_get(&s->texts, t->root_service));
		js_key_bytes(out, "rootOperationName", intern_get(&s->texts, t->root_name));
	}
	js_key_exact(out, "minStartTimeUnixNano", MAX(t->first, (int64_t)0));
	js_key_exact(out, "maxEndTimeUnixNano", MAX(t->last, (int64_t)0));
	js_key_uint(out, "spanCount", t->spans);
	js_key_uint(out, "errorSpanCount", t->errors);
	js_key_uint(out, "orphanSpanCount", t->orphans);
	js_key_open(out, "services", '[');
	for (; from < s->pair_count && s->pair[from].first == i; from++) {
		js_open(out, '{');
		js_key_bytes(out, "name", intern_get(&s->texts, s->pair[from].second));
		js_key_uint(out, "spanCount", s->pair[from].count);
		js_key_uint(out, "errorSpanCount", s->pair[from].errors);
		js_close(out, '}');
	}
	js_close(out, ']');
	js_close(out, '}');
}

/* The first pair of a trace, in sorted order. */
static size_t first_pair(const struct jaeger_sums *s, uint32_t trace)
{
	return array_first(i, 0, s->pair_count, s->pair[i].first >= trace);
}

void jaeger_sums_put_lines(struct jaeger_sums *s, const struct intern *traces, struct js *out)
{
	array_sort(s->pair, s->pair_count, compare_pairs);
	js_open(out, '{');
	js_key_open(out, "summaries", '[');
	for (uint32_t i = 0; i < traces->count; i++) {
		struct bytes id = intern_get(traces, i);
		uint32_t own;

		if (intern_find(&s->traces, id.data, id.len, &own))
			sums_put_line(s, own, first_pair(s, own), out);
	}
	js_close(out, ']');
	js_close(out, '}');
}

void jaeger_sums_put_calls(const struct jaeger_sums *s, struct js *out)
{
	js_open(out, '[');
	for (size_t i = 0; i < s->pair_count; i++) {
		js_open(out, '{');
		js_key_bytes(out, "parent", intern_get(&s->texts, s->pair[i].first));
		js_key_bytes(out, "child", intern_get(&s->texts, s->pair[i].second));
		js_key_uint(out, "callCount", s->pair[i].count);
		js_close(out, '}');
	}
	js_close(out, ']');
}
