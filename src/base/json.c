// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT 0xfffd /* for bytes that are not UTF-8 */

/* Code points above U+FFFF become a surrogate pair. */
static int json_put_code(struct buf *to, uint32_t c)
{
	if (c < 0x10000)
		return buf_printf(to, "\\u%04x", c);
	c -= 0x10000;
	return buf_printf(to, "\\u%04x\\u%04x", 0xd800 + (c >> 10), 0xdc00 + (c & 0x3ff));
}

int json_escape(struct buf *to, const void *data, size_t len, const char *also)
{
	const uint8_t *p = data;
	size_t from = 0;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c = REPLACEMENT;
		size_t known = utf8_decode(p + i, len - i, &c);
		bool quoted = c == '"' || c == '\\';

		n = known ? known : 1;
		if (known && !quoted && utf8_is_shown(c) && !(c < 0x80 && strchr(also, (int)c)))
			continue;
		buf_append(to, p + from, i - from);
		if (quoted)
			buf_printf(to, "\\%c", (int)c);
		else
			json_put_code(to, c);
		from = i + n;
	}
	return buf_append(to, p + from, len - from);
}

/* JSON is ASCII outside of strings. */
int json_escape_document(struct buf *to, const char *text, size_t len)
{
	size_t from = 0;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c = 0;

		n = utf8_decode(text + i, len - i, &c);
		n = n ? n : 1;
		if (c < 0x7f || utf8_is_shown(c))
			continue;
		buf_append(to, text + from, i - from);
		json_put_code(to, c);
		from = i + n;
	}
	return buf_append(to, text + from, len - from);
}

/* ---- members of an object: {"key": "value", "n": 4} ---- */

static size_t json_skip_blanks(struct bytes o, size_t at)
{
	while (at < o.len && strchr(" \t\n,:", o.data[at]) && o.data[at])
		at++;
	return at;
}

/* The index of the closing quote of the string that begins at a quote; the end if there is none. */
static size_t json_string_end(struct bytes o, size_t at)
{
	for (at++; at < o.len && o.data[at] != '"'; at++)
		at += o.data[at] == '\\';
	return MIN(at, o.len);
}

/* A string without its quotes, escapes not decoded; anything else up to its end. */
static bool json_token(struct bytes o, size_t *at, struct bytes *ret)
{
	size_t from = json_skip_blanks(o, *at), depth = 0, i;

	if (from >= o.len || o.data[from] == '}')
		return false;
	if (o.data[from] == '"') {
		i = json_string_end(o, from);
		*ret = (struct bytes){o.data + from + 1, i - from - 1};
		*at = MIN(i + 1, o.len);
		return true;
	}
	for (i = from; i < o.len; i++) {
		if (!depth && (o.data[i] == ',' || o.data[i] == '}'))
			break;
		if (o.data[i] == '"')
			i = json_string_end(o, i);
		if (i >= o.len)
			break;
		depth += o.data[i] == '[' || o.data[i] == '{';
		depth -= depth && (o.data[i] == ']' || o.data[i] == '}');
	}
	while (i > from && o.data[i - 1] == ' ')
		i--;
	*ret = (struct bytes){o.data + from, i - from};
	*at = MAX(i, from + 1);
	return true;
}

bool json_next_member(struct bytes object, size_t *at, struct bytes *key, struct bytes *value)
{
	if (!*at) {
		*at = json_skip_blanks(object, 0);
		*at += *at < object.len && object.data[*at] == '{';
	}
	return json_token(object, at, key) && json_token(object, at, value);
}

bool json_member(struct bytes object, struct bytes key, struct bytes *ret)
{
	struct bytes name;

	for (size_t at = 0; json_next_member(object, &at, &name, ret);) {
		if (bytes_compare(name, key) == 0)
			return true;
	}
	return false;
}
