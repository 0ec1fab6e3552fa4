// SPDX-License-Identifier: Apache-2.0
/* jaeger_out.c: traces in the format of Jaeger's query service: spans grouped by trace, services as processes. */
#include "base/clock.h"
#include "exchange/span_out.h"

json_t *jaeger_document(void)
{
	return json_pack("{s:[]}", "data");
}

static json_t *make_tag(const char *key, size_t len, const json_t *v)
{
	const char *type = json_is_boolean(v)	? "bool"
			   : json_is_integer(v) ? "int64"
			   : json_is_real(v)	? "float64"
						: "string";
	json_t *value = json_is_boolean(v) || json_is_number(v) ? json_incref((json_t *)v)
								: json_as_text(v);

	return json_pack("{s:o, s:s, s:o}", "key", json_stringn_nocheck(key, len), "type", type,
			 "value", value);
}

/* Takes ownership of the object; NULL: no memory. */
static json_t *make_tags(json_t *object)
{
	_cleanup_json_ json_t *from = object;
	json_t *tags = json_array(), *value;
	const char *key;
	size_t len;

	json_object_keylen_foreach(from, key, len, value)
	{
		if (json_array_append_new(tags, make_tag(key, len, value)) < 0) {
			json_decref(tags);
			return NULL;
		}
	}
	return tags;
}

static json_t *make_logs(const struct span_out *s)
{
	json_t *logs = json_array();

	for (size_t i = 0; i < s->note_count; i++) {
		const struct note_out *n = &s->notes[i];
		json_t *fields = note_attributes(n);
		int r = json_set_some(fields, "event", json_mended(n->name));
		json_t *log =
			json_pack("{s:I, s:o*}", "timestamp", (json_int_t)(n->at / NSEC_PER_USEC),
				  "fields", make_tags(fields));

		if (json_array_append_new(logs, log) < 0 || r < 0) {
			json_decref(logs);
			return NULL;
		}
	}
	return logs;
}

static json_t *make_references(const struct span_out *s)
{
	if (!*s->ids.parent)
		return json_array();
	return json_pack("[{s:s, s:s, s:s}]", "refType", "CHILD_OF", "traceID", s->ids.trace,
			 "spanID", s->ids.parent);
}

/* Adds properties that Jaeger represents as tags. */
static int jaeger_set_tags(const struct span_out *s)
{
	static const char *const kinds[] = {"internal", "server", "client", "producer", "consumer"};
	json_t *a = s->attributes;
	int r = 0;

	if (s->kind >= 0 && s->kind < (int)ARRAY_SIZE(kinds))
		r = json_set_some(a, "span.kind", json_string(kinds[s->kind]));
	if (r >= 0 && s->status == SPAN_STATUS_ERROR)
		r = json_set_some(a, "error", json_true());
	if (r >= 0 && (s->status == SPAN_STATUS_ERROR || s->status == SPAN_STATUS_OK))
		r = json_set_some(a, "otel.status_code",
				  json_string(s->status == SPAN_STATUS_OK ? "OK" : "ERROR"));
	return r;
}

/* 1: the object has that member, 0: it does not, or -ENOMEM. */
static int has_tag(const json_t *object, const char *key, const json_t *wanted)
{
	const json_t *v = json_object_get(object, key);
	_cleanup_json_ json_t *is = v ? json_as_text(v) : NULL, *want = json_as_text(wanted);

	if (!want || (v && !is))
		return -ENOMEM;
	return v && json_equal(is, want);
}

static int span_has_tag(const struct span_out *s, const char *key, const json_t *wanted)
{
	int r = has_tag(s->attributes, key, wanted);

	if (!r)
		r = has_tag(json_object_get(s->attributes, NAME_RESOURCE), key, wanted);
	for (size_t i = 0; i < s->note_count && !r; i++) {
		_cleanup_json_ json_t *fields = note_attributes(&s->notes[i]);

		r = fields ? json_set_some(fields, "event", json_mended(s->notes[i].name))
			   : -ENOMEM;
		if (r >= 0)
			r = has_tag(fields, key, wanted);
	}
	return r;
}

int jaeger_has_tags(const struct span_out *s, const json_t *tags)
{
	const char *key;
	json_t *wanted;
	int r = jaeger_set_tags(s);

	if (r < 0)
		return r;
	json_object_foreach((json_t *)tags, key, wanted)
	{
		r = span_has_tag(s, key, wanted);
		if (r <= 0)
			return r;
	}
	return 1;
}

/* The process id of a service: "p1", ... The same service with other attributes is another process. NULL: no memory. */
static json_t *find_process(json_t *trace, const struct span_out *s)
{
	json_t *all = json_object_get(trace, "processes"), *known;
	struct bytes service = s->service.data ? s->service : bytes_of(SPANS_NO_SERVICE);
	_cleanup_json_ json_t *process =
		json_pack("{s:o*, s:o*}", "serviceName", json_mended(service), "tags",
			  make_tags(json_take(s->attributes, NAME_RESOURCE)));
	char name[32];
	const char *key;

	json_object_foreach(all, key, known)
	{
		if (json_equal(known, process))
			return json_string(key);
	}
	snprintf(name, sizeof(name), "p%zu", json_object_size(all) + 1);
	return json_object_set(all, name, process) < 0 ? NULL : json_string(name);
}

/* The trace of the span, created on first use. NULL: no memory. */
static json_t *jaeger_find_trace(json_t *document, struct intern *traces, const struct span_out *s)
{
	json_t *data = json_object_get(document, "data"), *trace;
	uint32_t known = (uint32_t)traces->count, i;

	if (intern_add(traces, s->ids.trace, TRACE_ID_TEXT, &i) < 0)
		return NULL;
	if (i < known)
		return json_array_get(data, i);
	trace = json_pack("{s:s, s:[], s:{}, s:n}", "traceID", s->ids.trace, "spans", "processes",
			  "warnings");
	return json_array_append_new(data, trace) < 0 ? NULL : trace;
}

int jaeger_put(json_t *document, struct intern *traces, const struct span_out *s)
{
	json_t *trace = jaeger_find_trace(document, traces, s), *span;
	json_t *process = trace ? find_process(trace, s) : NULL;

	if (!process || jaeger_set_tags(s) < 0) {
		json_decref(process);
		return -ENOMEM;
	}
	span = json_pack("{s:o, s:s, s:s, s:o*, s:o*, s:I, s:I, s:o*, s:o*, s:n}", "processID",
			 process, "traceID", s->ids.trace, "spanID", s->ids.span, "operationName",
			 json_mended(s->name), "references", make_references(s), "startTime",
			 (json_int_t)(s->start / NSEC_PER_USEC), "duration",
			 (json_int_t)(s->dur / NSEC_PER_USEC), "tags",
			 make_tags(json_incref(s->attributes)), "logs", make_logs(s), "warnings");
	return json_array_append_new(json_object_get(trace, "spans"), span) < 0 ? -ENOMEM : 0;
}
