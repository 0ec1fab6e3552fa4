/* SPDX-License-Identifier: Apache-2.0 */
/* call_escape.c: text that a program chose, as strace escapes it, but with readable UTF-8 left
 * readable. */
#include "cli/call_text.h"

#include <string.h>

/* The length of the UTF-8 character at `p`, 0 where it is not valid or not fit to be shown. */
static size_t character(const uint8_t *p, size_t left)
{
	static const struct {
		uint8_t mask, lead;
		uint32_t least;
	} forms[] = {{0xe0, 0xc0, 0x80}, {0xf0, 0xe0, 0x800}, {0xf8, 0xf0, 0x10000}};

	for (size_t k = 0; k < ARRAY_SIZE(forms); k++) {
		size_t len = k + 2;
		uint32_t c = p[0] & (uint8_t)~forms[k].mask;

		if ((p[0] & forms[k].mask) != forms[k].lead || left < len)
			continue;
		for (size_t i = 1; i < len; i++) {
			if ((p[i] & 0xc0) != 0x80)
				return 0;
			c = c << 6 | (p[i] & 0x3f);
		}
		if (c < forms[k].least || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			return 0;
		/* control characters, invisible ones, those that change the direction, private ones
		 * and tags */
		if (c < 0xa0 || c == 0xad || (c >= 0x200b && c <= 0x200f) ||
		    (c >= 0x2028 && c <= 0x202e) || (c >= 0x2060 && c <= 0x206f) || c == 0x61c ||
		    c == 0xfeff || (c >= 0xe000 && c < 0xf900) || (c >= 0xfff0 && c <= 0xfffb) ||
		    c >= 0xe0000)
			return 0;
		return len;
	}
	return 0;
}

static int escape_byte(struct buf *to, uint8_t byte, bool digit_follows)
{
	static const char from[] = "\n\t\r\v\f\\\"", names[] = "ntrvf\\\"";
	const char *known = byte ? strchr(from, byte) : NULL;

	if (known)
		return buf_printf(to, "\\%c", names[known - from]);
	/* as few digits as can be, unless the next character would be read as one more */
	return buf_printf(to, digit_follows ? "\\%03o" : "\\%o", byte);
}

int call_text_escape(struct buf *to, struct bytes text, const char *also)
{
	for (size_t i = 0; i < text.len;) {
		uint8_t c = text.data[i];
		size_t len = c < 0x80 ? c >= 0x20 && c != 0x7f && c != '\\' && !strchr(also, c)
				      : character(text.data + i, text.len - i);
		bool digit = i + 1 < text.len && text.data[i + 1] >= '0' && text.data[i + 1] <= '9';
		int r = len ? buf_append(to, text.data + i, len) : escape_byte(to, c, digit);

		if (r < 0)
			return r;
		i += len ? len : 1;
	}
	return 0;
}
