// SPDX-License-Identifier: Apache-2.0
/* zipkin_in.c: reads Zipkin's JSON, version 2: an array of spans. Times are microseconds. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "exchange/internal.h"
#include "schema/vocab.h"

static int zipkin_wrong(size_t i, const char *what, struct error *err)
{
	return error_set(err, -EINVAL, "span [%zu]: %s", i, what);
}

static int read_kind(const json_t *span)
{
	static const struct {
		const char *name;
		int kind;
	} kinds[] = {{"CLIENT", SPAN_KIND_CLIENT},
		     {"SERVER", SPAN_KIND_SERVER},
		     {"PRODUCER", SPAN_KIND_PRODUCER},
		     {"CONSUMER", SPAN_KIND_CONSUMER}};
	const char *text = json_string_value(json_object_get(span, "kind"));

	for (size_t i = 0; text && i < ARRAY_SIZE(kinds); i++) {
		if (strcmp(text, kinds[i].name) == 0)
			return kinds[i].kind;
	}
	return -1;
}

/* Stores an endpoint under a name, without members stored elsewhere. */
static int put_endpoint(json_t *to, const char *name, const json_t *endpoint, bool local)
{
	_cleanup_json_ json_t *copy = json_copy((json_t *)endpoint);

	if (!json_is_object(endpoint))
		return 0;
	if (copy && local)
		json_object_del(copy, "serviceName");
	if (copy && !json_object_size(copy))
		return 0;
	return json_object_set(to, name, copy) < 0 ? -ENOMEM : 0;
}

static int put_flag(json_t *to, const char *name, const json_t *flag)
{
	if (!json_is_true(flag))
		return 0;
	return json_object_set_new(to, name, json_true()) < 0 ? -ENOMEM : 0;
}

/* Reads the status from the tags that OpenTelemetry writes. */
static int read_status(const json_t *tags, const json_t *attributes)
{
	const char *code = json_string_value(json_object_get(tags, "otel.status_code"));
	const char *cut = json_string_value(json_object_get(attributes, NAME_STATUS));

	if (cut && strcmp(cut, "cut") == 0)
		return SPAN_STATUS_CUT;
	if (json_object_get(tags, "error") || (code && strcmp(code, "ERROR") == 0))
		return SPAN_STATUS_ERROR;
	return code && strcmp(code, "OK") == 0 ? SPAN_STATUS_OK : SPAN_STATUS_UNSET;
}

/* Restores members that weir exported as strings, because tags are strings. */
static int read_kept(json_t *to)
{
	static const char *const names[] = {NAME_RESOURCE, NAME_SCOPE, NAME_LINKS};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *text = json_string_value(json_object_get(to, names[i]));
		_cleanup_json_ json_t *value = text ? json_loads(text, 0, NULL) : NULL;

		if (value && json_object_set(to, names[i], value) < 0)
			return -ENOMEM;
	}
	return 0;
}

static int zipkin_read_attributes(const json_t *span, json_t *to)
{
	json_t *tags = json_object_get(span, "tags");
	int r = json_is_object(tags) ? json_object_update(to, tags) : 0;

	if (r >= 0)
		r = read_kept(to);
	if (r >= 0)
		r = put_endpoint(to, NAME_LOCAL, json_object_get(span, "localEndpoint"), true);
	if (r >= 0)
		r = put_endpoint(to, NAME_REMOTE, json_object_get(span, "remoteEndpoint"), false);
	if (r >= 0)
		r = put_flag(to, NAME_SHARED, json_object_get(span, "shared"));
	return r < 0 ? -ENOMEM : put_flag(to, NAME_DEBUG, json_object_get(span, "debug"));
}

/* Converts a member from microseconds to nanoseconds, saturating at INT64_MAX. False: not a number. */
static bool read_us(const json_t *object, const char *name, uint64_t *ret)
{
	const json_t *j = json_object_get(object, name);
	uint64_t us = 0;

	if (j && !json_is_null(j) && !json_u64(j, &us))
		return false;
	*ret = us > INT64_MAX / 1000 ? INT64_MAX : us * NSEC_PER_USEC;
	return true;
}

static int put_annotations(struct spans_in *s, const json_t *list, size_t i, struct error *err)
{
	json_t *one;
	size_t k;

	json_array_foreach((json_t *)list, k, one)
	{
		uint64_t at;

		if (!json_is_object(one) || !read_us(one, "timestamp", &at))
			return zipkin_wrong(i, "an annotation has no timestamp of microseconds",
					    err);
		if (spans_in_put_note(s, at, json_text(json_object_get(one, "value")), NULL) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	return 0;
}

static int zipkin_read_span(struct spans_in *s, const json_t *span, size_t i, struct error *err)
{
	_cleanup_json_ json_t *attributes = json_object();
	const json_t *tags = json_object_get(span, "tags");
	const json_t *local = json_object_get(span, "localEndpoint");
	struct span_in in = {.name = json_text(json_object_get(span, "name")),
			     .service = json_text(json_object_get(local, "serviceName")),
			     .kind = read_kind(span),
			     .shared = json_is_true(json_object_get(span, "shared")),
			     .attributes = attributes};
	uint64_t dur;

	if (!json_is_object(span))
		return zipkin_wrong(i, "is not an object", err);
	if (tags && !json_is_object(tags))
		return zipkin_wrong(i, "tags is not an object", err);
	if (!read_us(span, "timestamp", &in.start) || !read_us(span, "duration", &dur))
		return zipkin_wrong(i, "a time is not a number of microseconds", err);
	in.dur = json_object_get(span, "duration") ? (int64_t)dur : -1;
	if (!attributes || zipkin_read_attributes(span, attributes) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	in.status = read_status(tags, attributes);
	if (json_object_get(attributes, NAME_STATUS))
		json_object_del(attributes, NAME_STATUS);
	spans_in_id(s, in.ids.trace, TRACE_ID_TEXT, json_text(json_object_get(span, "traceId")),
		    true);
	spans_in_id(s, in.ids.span, SPAN_ID_TEXT, json_text(json_object_get(span, "id")), true);
	spans_in_id(s, in.ids.parent, SPAN_ID_TEXT, json_text(json_object_get(span, "parentId")),
		    true);
	if (spans_in_put(s, &in) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	return put_annotations(s, json_object_get(span, "annotations"), i, err);
}

int zipkin_read(struct spans_in *s, const json_t *document, struct error *err)
{
	int r = 0;

	if (json_is_object(document)) /* one span per line */
		return zipkin_read_span(s, document, 0, err);
	for (size_t i = 0; i < json_array_size(document) && r >= 0; i++)
		r = zipkin_read_span(s, json_array_get(document, i), i, err);
	return r;
}
