// SPDX-License-Identifier: Apache-2.0
/* read.c: detects the format of a body, and splits it into documents. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/varint.h"
#include "exchange/internal.h"

#define LENGTH_BYTES 4 /* big-endian length before each message in a file of the collector */

static const char *const names[] = {"otlp-json", "otlp-protobuf", "zipkin"};

static_assert(ARRAY_SIZE(names) == SPANS_FORMAT_COUNT - 1, "a name for each");

const char *spans_format_name(size_t i)
{
	return i < ARRAY_SIZE(names) ? names[i] : NULL;
}

int spans_format_find(const char *name)
{
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (strcmp(name, names[i]) == 0)
			return (int)i + 1;
	}
	return -EINVAL;
}

static size_t skip_space(struct bytes b, size_t at)
{
	while (at < b.len && strchr(" \t\r\n", b.data[at]) && b.data[at])
		at++;
	return at;
}

/* ---- JSON: documents one after another ---- */

static int json_format(const json_t *document, enum spans_format *ret, size_t at, struct error *err)
{
	if (json_is_array(document) || json_object_get(document, "id"))
		*ret = SPANS_ZIPKIN;
	else if (json_object_get(document, "resourceSpans") || !json_object_size(document))
		*ret = SPANS_OTLP_JSON;
	else
		return error_set(err, -EINVAL,
				 "byte %zu: this JSON is neither OTLP's (an object with "
				 "resourceSpans) nor Zipkin's (an array of spans)",
				 at);
	return 0;
}

static int read_document(struct spans_in *s, enum spans_format *format, const json_t *document,
			 size_t at, struct error *err)
{
	int r = 0;

	if (*format == SPANS_ANY)
		r = json_format(document, format, at, err);
	if (r < 0)
		return r;
	if (*format == SPANS_OTLP_JSON)
		r = json_is_object(document)
			    ? otlp_json_read(s, document, err)
			    : error_set(err, -EINVAL, "is not an object, as OTLP's JSON is");
	else
		r = zipkin_read(s, document, err);
	return r == -EINVAL ? error_prefix(err, "document at byte %zu", at) : r;
}

static int read_json(struct spans_in *s, enum spans_format *format, struct bytes body,
		     struct error *err)
{
	static const char mark[] = "\xef\xbb\xbf"; /* byte order mark */
	size_t at = body.len >= 3 && memcmp(body.data, mark, 3) == 0 ? 3 : 0;
	int r = 0;

	for (at = skip_space(body, at); at < body.len && r >= 0; at = skip_space(body, at)) {
		_cleanup_json_ json_t *document = NULL;
		json_error_t why;

		document = json_loadb((const char *)body.data + at, body.len - at,
				      JSON_ALLOW_NUL | JSON_DISABLE_EOF_CHECK, &why);
		if (!document)
			return error_set(err, -EINVAL, "byte %zu: %s", at + (size_t)why.position,
					 why.text);
		r = read_document(s, format, document, at, err);
		at += (size_t)why.position;
	}
	return r;
}

/* ---- protobuf: one message, or several with length prefixes ---- */

static int read_messages(struct spans_in *s, struct bytes body, struct error *err)
{
	int r = 0;

	for (size_t at = 0; at < body.len && r >= 0;) {
		size_t len = 0;

		for (size_t i = 0; i < LENGTH_BYTES && at + i < body.len; i++)
			len = len << 8 | body.data[at + i];
		if (body.len - at < LENGTH_BYTES || len > body.len - at - LENGTH_BYTES)
			return error_set(err, -EINVAL, "byte %zu: a message is truncated", at);
		at += LENGTH_BYTES;
		r = otlp_protobuf_read(s, (struct bytes){body.data + at, len}, at, err);
		at += len;
	}
	return r;
}

/* An OTLP message begins with the tag of its first field; a length below 16 MiB begins with a zero byte. */
static bool has_lengths(struct bytes body)
{
	return body.len && body.data[0] == 0;
}

static enum spans_format format_guess(struct bytes body)
{
	const uint8_t *p = body.data + 1, *end = body.data + body.len;
	size_t at = skip_space(body, 0);
	uint64_t n;

	/* The tag of OTLP's first field is a line feed. Its length and the tag of an inner field must follow. */
	if (body.len > 2 && body.data[0] == 0x0a && varint_get(&p, end, &n) && n &&
	    n <= (size_t)(end - p) && (*p == 0x0a || *p == 0x12 || *p == 0x1a))
		return SPANS_OTLP_PROTOBUF;
	if (at < body.len &&
	    (body.data[at] == '{' || body.data[at] == '[' || body.data[at] == 0xef))
		return SPANS_ANY;
	return SPANS_OTLP_PROTOBUF;
}

int spans_in_read(struct spans_in *s, enum spans_format *format, struct bytes body,
		  struct error *err)
{
	if (body.len > SPANS_BODY_MAX)
		return error_set(err, -E2BIG,
				 "is larger than %u MiB: split it, and import the parts together",
				 SPANS_BODY_MAX >> 20);
	if (body.len >= 2 && body.data[0] == 0x1f && body.data[1] == 0x8b)
		return error_set(err, -EINVAL, "is compressed: gunzip it first");
	if (*format == SPANS_ANY) {
		*format = format_guess(body);
		if (*format == SPANS_OTLP_PROTOBUF && body.len && body.data[0] &&
		    body.data[0] != 0x0a)
			return error_set(
				err, -EINVAL,
				"is neither JSON (OTLP's or Zipkin's) nor OTLP in protobuf");
	}
	spans_in_more_room(s, body.len);
	if (*format != SPANS_OTLP_PROTOBUF)
		return read_json(s, format, body, err);
	return has_lengths(body) ? read_messages(s, body, err)
				 : otlp_protobuf_read(s, body, 0, err);
}
