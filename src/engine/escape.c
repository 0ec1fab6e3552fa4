// SPDX-License-Identifier: Apache-2.0
/* escape.c: names are bytes, the engine's texts are UTF-8: a reversible mapping between them. */
#include <string.h>

#include "base/utf8.h"
#include "engine/engine.h"

bool engine_is_utf8(const void *data, size_t len)
{
	const uint8_t *p = data;
	size_t i = 0;

	while (i < len) {
		uint32_t c;
		size_t n = utf8_decode(p + i, len - i, &c);

		if (n == 0)
			return false;
		i += n;
	}
	return true;
}

/*
 * The byte represented by an escape at text, or -1. Only 00, 5c and 80 .. ff are escapes, so that names such as
 * systemd's "dev-disk\x2duuid" are not changed; they are lower case: "\xFF" is literal text.
 */
static int escaped_byte(const char *text, size_t len)
{
	int high, low, byte;

	if (len < 4 || text[0] != '\\' || text[1] != 'x')
		return -1;
	high = hex_digit(text[2]);
	low = hex_digit(text[3]);
	if (high < 0 || low < 0)
		return -1;
	byte = high * 16 + low;
	return byte == 0 || byte == '\\' || byte >= 0x80 ? byte : -1;
}

#define EACH_BYTE 0x0101010101010101ull
#define EACH_TOP  0x8080808080808080ull

/* True if one of the eight bytes is 0, a backslash or not ASCII. The byte after such a one may give a false positive. */
static bool escape_is_special(const uint8_t *p)
{
	uint64_t v, no_backslash;

	memcpy(&v, p, sizeof(v));
	no_backslash = v ^ EACH_BYTE * '\\';
	return (v | (v - EACH_BYTE) | (no_backslash - EACH_BYTE)) & EACH_TOP;
}

/* Length of the prefix of p that needs no escapes: all of most names. */
static size_t plain_length(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n + 8 <= len && !escape_is_special(p + n))
		n += 8;
	while (n < len && p[n] && p[n] < 0x80 && p[n] != '\\')
		n++;
	return n;
}

bool engine_is_plain(const void *data, size_t len)
{
	return plain_length(data, len) == len;
}

int engine_escape(const void *data, size_t len, struct buf *out)
{
	const uint8_t *p = data;
	size_t i = 0;

	while (i < len) {
		uint32_t c;
		size_t plain = plain_length(p + i, len - i);
		size_t n = plain ? plain : utf8_decode(p + i, len - i, &c);

		if (n == 0 || p[i] == 0 ||
		    (!plain && p[i] == '\\' && escaped_byte((const char *)p + i, len - i) >= 0)) {
			buf_printf(out, "\\x%02x", p[i]);
			n = 1;
		} else {
			buf_append(out, p + i, n);
		}
		i += n;
	}
	return buf_status(out);
}

int engine_unescape(const char *text, size_t len, struct buf *out)
{
	for (size_t i = 0; i < len;) {
		int byte = escaped_byte(text + i, len - i);
		uint8_t c = byte >= 0 ? (uint8_t)byte : (uint8_t)text[i];

		buf_append(out, &c, 1);
		i += byte >= 0 ? 4 : 1;
	}
	return buf_status(out);
}
