// SPDX-License-Identifier: Apache-2.0
/* zipkin_out.c: writes a span in Zipkin's JSON, version 2: times in microseconds, and tags that are strings. */
#include "base/clock.h"
#include "exchange/span_out.h"

static int zipkin_set_tags(json_t *to, const struct span_out *s)
{
	json_t *tags = json_as_texts(s->attributes);
	int r = tags ? 0 : -ENOMEM;

	if (r >= 0 && s->status == SPAN_STATUS_ERROR && !json_object_get(tags, "error"))
		r = json_set_some(tags, "error", json_string("true"));
	if (r >= 0 && s->status == SPAN_STATUS_OK && !json_object_get(tags, "otel.status_code"))
		r = json_set_some(tags, "otel.status_code", json_string("OK"));
	if (r >= 0 && json_object_size(tags))
		return json_set_some(to, "tags", tags);
	json_decref(tags);
	return r;
}

static int set_annotations(json_t *to, const struct span_out *s)
{
	json_t *list = json_array();

	for (size_t i = 0; i < s->note_count; i++) {
		const struct note_out *n = &s->notes[i];
		_cleanup_json_ json_t *one = NULL;
		_cleanup_buf_ struct buf text = {0};
		int r;

		buf_append(&text, n->name.data, n->name.len);
		if (n->text.len)
			buf_printf(&text, text.len ? ": " : "");
		if (n->text.len)
			buf_append(&text, n->text.data, n->text.len);
		r = buf_status(&text);
		if (r >= 0)
			one = json_pack("{s:I, s:o*}", "timestamp",
					(json_int_t)(n->at / NSEC_PER_USEC), "value",
					json_mended(buf_bytes(&text)));
		if (json_array_append(list, one) < 0) {
			json_decref(list);
			return -ENOMEM;
		}
	}
	return json_set_some(to, "annotations", list);
}

static int set_endpoints(json_t *to, const struct span_out *s)
{
	json_t *local = json_take(s->attributes, NAME_LOCAL);
	int r = 0;

	if (s->service.data && !local)
		local = json_object();
	if (s->service.data)
		r = json_set_some(local, "serviceName", json_mended(s->service));
	if (r >= 0)
		r = json_set_some(to, "localEndpoint", local);
	return r < 0 ? r
		     : json_set_some(to, "remoteEndpoint", json_take(s->attributes, NAME_REMOTE));
}

json_t *zipkin_span(const struct span_out *s)
{
	static const char *const kinds[] = {[SPAN_KIND_SERVER] = "SERVER",
					    [SPAN_KIND_CLIENT] = "CLIENT",
					    [SPAN_KIND_PRODUCER] = "PRODUCER",
					    [SPAN_KIND_CONSUMER] = "CONSUMER"};
	bool kind = s->kind >= 0 && s->kind < (int)ARRAY_SIZE(kinds);
	/* Zipkin treats 0 as missing: shorter durations become 1 */
	int64_t dur = MAX(s->dur / NSEC_PER_USEC, (int64_t)1);
	json_t *to =
		json_pack("{s:s, s:s, s:s*, s:s*, s:o*, s:I, s:I}", "traceId", s->ids.trace, "id",
			  s->ids.span, "parentId", *s->ids.parent ? s->ids.parent : NULL, "kind",
			  kind ? kinds[s->kind] : NULL, "name", json_mended(s->name), "timestamp",
			  (json_int_t)(s->start / NSEC_PER_USEC), "duration", (json_int_t)dur);
	int r = to ? set_endpoints(to, s) : -ENOMEM;

	if (r >= 0)
		r = json_set_some(to, "shared", json_take(s->attributes, NAME_SHARED));
	if (r >= 0)
		r = json_set_some(to, "debug", json_take(s->attributes, NAME_DEBUG));
	if (r >= 0 && s->note_count)
		r = set_annotations(to, s);
	if (r >= 0)
		r = zipkin_set_tags(to, s);
	if (r >= 0)
		return to;
	json_decref(to);
	return NULL;
}
