// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/proto.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/varint.h"
#include "exchange/otlp/base64.h"

#define NUMBER_MAX ((1u << 29) - 1) /* largest field number */

/* ---- the wire ---- */

static int malformed(const struct proto_in *in, const uint8_t *at, const char *what,
		     struct error *err)
{
	return error_set(err, -EINVAL, "byte %zu: %s", in->base + (size_t)(at - in->begin), what);
}

static uint64_t little_endian(const uint8_t *p, size_t len)
{
	uint64_t v = 0;

	for (size_t i = len; i-- > 0;)
		v = v << 8 | p[i];
	return v;
}

static int take_bytes(const struct proto_in *in, const uint8_t **p, const uint8_t *end,
		      struct bytes *ret, struct error *err)
{
	const uint8_t *at = *p;
	uint64_t len;

	if (!varint_get(p, end, &len))
		return malformed(in, at, "a length is truncated or too large", err);
	if (len > (uint64_t)(end - *p))
		return malformed(in, at, "a length extends past the end of its message", err);
	*ret = (struct bytes){*p, (size_t)len};
	*p += len;
	return 1;
}

int proto_next(const struct proto_in *in, const uint8_t **p, const uint8_t *end,
	       struct proto_wire *ret, struct error *err)
{
	const uint8_t *at = *p;
	size_t fixed;
	uint64_t tag;

	if (*p == end)
		return 0;
	if (!varint_get(p, end, &tag) || tag >> 3 == 0 || tag >> 3 > NUMBER_MAX)
		return malformed(in, at, "not a valid protobuf field", err);
	*ret = (struct proto_wire){.number = (uint32_t)(tag >> 3), .type = (uint32_t)(tag & 7)};
	switch (ret->type) {
	case PROTO_WIRE_VARINT:
		at = *p;
		if (!varint_get(p, end, &ret->value))
			return malformed(in, at, "a number is truncated or too large", err);
		return 1;
	case PROTO_WIRE_64:
	case PROTO_WIRE_32:
		fixed = ret->type == PROTO_WIRE_64 ? 8 : 4;
		if ((size_t)(end - *p) < fixed)
			return malformed(in, *p, "a number is truncated", err);
		ret->value = little_endian(*p, fixed);
		*p += fixed;
		return 1;
	case PROTO_WIRE_BYTES:
		return take_bytes(in, p, end, &ret->bytes, err);
	default:
		return malformed(in, at, "not a valid protobuf 3 field", err);
	}
}

/* ---- reading ---- */

static uint32_t wire_type(enum proto_type t)
{
	switch (t) {
	case PROTO_BOOL:
	case PROTO_UINT:
	case PROTO_INT64:
		return PROTO_WIRE_VARINT;
	case PROTO_FIXED32:
		return PROTO_WIRE_32;
	case PROTO_FIXED64:
	case PROTO_DOUBLE:
		return PROTO_WIRE_64;
	default:
		return PROTO_WIRE_BYTES;
	}
}

static json_t *json_hex(struct bytes b)
{
	static const char digits[] = "0123456789abcdef";
	_cleanup_buf_ struct buf text = {0};

	for (size_t i = 0; i < b.len; i++) {
		const char two[] = {digits[b.data[i] >> 4], digits[b.data[i] & 15]};

		if (buf_append(&text, two, sizeof(two)) < 0)
			return NULL;
	}
	return json_string(buf_str(&text));
}

static json_t *json_base64(struct bytes b)
{
	_cleanup_buf_ struct buf text = {0};

	return base64_put(&text, b) < 0 ? NULL : json_string(buf_str(&text));
}

static json_t *json_number_text(const char *format, uint64_t v)
{
	char text[32];

	snprintf(text, sizeof(text), format, v);
	return json_string(text);
}

static json_t *json_double(uint64_t bits)
{
	double v;

	memcpy(&v, &bits, sizeof(v));
	if (isnan(v))
		return json_string("NaN");
	if (isinf(v))
		return json_string(v > 0 ? "Infinity" : "-Infinity");
	return json_real(v);
}

/* A value other than a message; NULL: no memory. */
static json_t *read_scalar(struct proto_in *in, const struct proto_field *f,
			   const struct proto_wire *w)
{
	switch (f->type) {
	case PROTO_STRING:
		return json_of_bytes(w->bytes.data, w->bytes.len, &in->mended);
	case PROTO_BYTES:
		return json_base64(w->bytes);
	case PROTO_HEX:
		return json_hex(w->bytes);
	case PROTO_BOOL:
		return json_boolean(w->value != 0);
	case PROTO_UINT:
	case PROTO_FIXED32:
		return json_integer((json_int_t)(uint32_t)w->value);
	case PROTO_INT64:
		return json_number_text("%ld", w->value);
	case PROTO_FIXED64:
		return json_number_text("%lu", w->value);
	case PROTO_DOUBLE:
		return json_double(w->value);
	case PROTO_MESSAGE:
		break;
	}
	return NULL;
}

static int put_field(json_t *to, const struct proto_field *f, json_t *value)
{
	json_t *list = f->repeated ? json_object_get(to, f->name) : NULL;

	if (!f->repeated)
		return json_object_set_new(to, f->name, value);
	if (!list) {
		list = json_array();
		if (json_object_set_new(to, f->name, list) < 0) {
			json_decref(value);
			return -1;
		}
	}
	return json_array_append_new(list, value);
}

static int read_message(struct proto_in *in, const struct proto_field *fields, struct bytes message,
			unsigned int depth, json_t **ret, struct error *err)
{
	const uint8_t *p = message.data, *end = p + message.len;
	_cleanup_json_ json_t *to = json_object();
	struct proto_wire w;
	int r;

	if (depth > PROTO_DEPTH_MAX)
		return malformed(in, p, "messages are nested too deep", err);
	while ((r = proto_next(in, &p, end, &w, err)) > 0) {
		const struct proto_field *f = fields;
		json_t *value = NULL;

		while (f->number && f->number != w.number)
			f++;
		if (!f->number || w.type != wire_type(f->type))
			continue;
		if (f->type == PROTO_MESSAGE)
			r = read_message(in, f->message, w.bytes, depth + 1, &value, err);
		else
			value = read_scalar(in, f, &w);
		if (r < 0)
			return r;
		if (put_field(to, f, value) < 0)
			return error_set(err, -ENOMEM, "out of memory");
	}
	if (r >= 0 && !to)
		return error_set(err, -ENOMEM, "out of memory");
	if (r < 0)
		return r;
	*ret = TAKE_PTR(to);
	return r;
}

int proto_read(struct proto_in *in, const struct proto_field *fields, struct bytes message,
	       json_t **ret, struct error *err)
{
	return read_message(in, fields, message, 0, ret, err);
}

/* ---- writing ---- */

static int proto_put_bytes(struct buf *to, const void *data, size_t len)
{
	buf_varint(to, len);
	return buf_append(to, data, len);
}

static int put_fixed(struct buf *to, uint64_t v, size_t len)
{
	uint8_t raw[8];

	for (size_t i = 0; i < len; i++)
		raw[i] = (uint8_t)(v >> (8 * i));
	return buf_append(to, raw, len);
}

static int put_hex(struct buf *to, const char *text)
{
	uint8_t raw[TRACE_ID_TEXT / 2];
	size_t len = strlen(text);

	if (len % 2 || len / 2 > sizeof(raw))
		return -EINVAL;
	for (size_t i = 0; i < len; i += 2) {
		int high = hex_digit((char)tolower((unsigned char)text[i])),
		    low = hex_digit((char)tolower((unsigned char)text[i + 1]));

		if (high < 0 || low < 0)
			return -EINVAL;
		raw[i / 2] = (uint8_t)(high << 4 | low);
	}
	return proto_put_bytes(to, raw, len / 2);
}

static int put_base64(struct buf *to, const char *text)
{
	_cleanup_buf_ struct buf raw = {0};
	int r = base64_take(&raw, text);

	return r < 0 ? r : proto_put_bytes(to, raw.data, raw.len);
}

static int put_double(struct buf *to, const json_t *v)
{
	const char *text = json_string_value(v);
	double d = json_is_number(v) ? json_number_value(v) : text ? strtod(text, NULL) : 0;
	uint64_t bits;

	memcpy(&bits, &d, sizeof(bits));
	return put_fixed(to, bits, 8);
}

static int put_inner(struct buf *to, const struct proto_field *fields, const json_t *v)
{
	_cleanup_buf_ struct buf inner = {0};
	int r = proto_write(&inner, fields, v);

	return r < 0 ? r : proto_put_bytes(to, inner.data, inner.len);
}

static int put_value(struct buf *to, const struct proto_field *f, const json_t *v)
{
	const char *text = json_string_value(v);
	uint64_t n = 0;
	int64_t i = 0;

	switch (f->type) {
	case PROTO_STRING:
		return text ? proto_put_bytes(to, text, json_string_length(v)) : -EINVAL;
	case PROTO_BYTES:
		return text ? put_base64(to, text) : -EINVAL;
	case PROTO_HEX:
		return text ? put_hex(to, text) : -EINVAL;
	case PROTO_BOOL:
		return buf_varint(to, json_is_true(v));
	case PROTO_UINT:
		return json_u64(v, &n) ? buf_varint(to, n) : -EINVAL;
	case PROTO_INT64:
		return json_i64(v, &i) ? buf_varint(to, (uint64_t)i) : -EINVAL;
	case PROTO_FIXED32:
		return json_u64(v, &n) ? put_fixed(to, n, 4) : -EINVAL;
	case PROTO_FIXED64:
		return json_u64(v, &n) ? put_fixed(to, n, 8) : -EINVAL;
	case PROTO_DOUBLE:
		return put_double(to, v);
	case PROTO_MESSAGE:
		return put_inner(to, f->message, v);
	}
	return -EINVAL;
}

static int write_field(struct buf *to, const struct proto_field *f, const json_t *v)
{
	buf_varint(to, (uint64_t)f->number << 3 | wire_type(f->type));
	return put_value(to, f, v);
}

int proto_write(struct buf *to, const struct proto_field *fields, const json_t *json)
{
	int r = 0;

	for (const struct proto_field *f = fields; f->number && r >= 0; f++) {
		const json_t *v = json_object_get(json, f->name);
		json_t *one;
		size_t i;

		if (!v)
			continue;
		if (!f->repeated) {
			r = write_field(to, f, v);
			continue;
		}
		json_array_foreach((json_t *)v, i, one)
		{
			r = write_field(to, f, one);
			if (r < 0)
				return r;
		}
	}
	return r;
}
