// SPDX-License-Identifier: Apache-2.0
#include "base/json.h"

#include <string.h>

#include "base/utf8.h"

#define REPLACEMENT 0xfffd /* for bytes that are not UTF-8 */

/* Beyond U+FFFF as two halves. */
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
	int r;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c = REPLACEMENT;
		size_t known = utf8_decode(p + i, len - i, &c);
		bool quoted = c == '"' || c == '\\';

		n = known ? known : 1;
		if (known && !quoted && utf8_is_shown(c) && !(c < 0x80 && strchr(also, (int)c)))
			continue;
		r = buf_append(to, p + from, i - from);
		if (r < 0)
			return r;
		r = quoted ? buf_printf(to, "\\%c", (int)c) : json_put_code(to, c);
		if (r < 0)
			return r;
		from = i + n;
	}
	return buf_append(to, p + from, len - from);
}

/* Outside of strings JSON is ASCII. */
int json_escape_document(struct buf *to, const char *text, size_t len)
{
	size_t from = 0;
	int r;

	for (size_t i = 0, n; i < len; i += n) {
		uint32_t c = 0;

		n = utf8_decode(text + i, len - i, &c);
		n = n ? n : 1;
		if (c < 0x7f || utf8_is_shown(c))
			continue;
		r = buf_append(to, text + from, i - from);
		if (r < 0)
			return r;
		r = json_put_code(to, c);
		if (r < 0)
			return r;
		from = i + n;
	}
	return buf_append(to, text + from, len - from);
}
