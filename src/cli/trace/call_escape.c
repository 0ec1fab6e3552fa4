/* SPDX-License-Identifier: Apache-2.0 */
/* call_escape.c: escapes text that a program chose like strace, but keeps readable UTF-8. */
#include "cli/trace/call_text.h"

#include <string.h>

#include "base/utf8.h"

/* The length of the UTF-8 character at `p`; 0 if it is invalid or must not be displayed. */
static size_t call_escape_character(const uint8_t *p, size_t left)
{
	uint32_t c;
	size_t len = utf8_decode(p, left, &c);

	return len && utf8_is_shown(c) ? len : 0;
}

static int escape_byte(struct buf *to, uint8_t byte, bool digit_follows)
{
	static const char from[] = "\n\t\r\v\f\\\"", names[] = "ntrvf\\\"";
	const char *known = byte ? strchr(from, byte) : NULL;

	if (known)
		return buf_printf(to, "\\%c", names[known - from]);
	/* uses the fewest digits, unless the next character would extend the escape */
	return buf_printf(to, digit_follows ? "\\%03o" : "\\%o", byte);
}

static int escape(struct buf *to, struct bytes text, const char *also, bool characters)
{
	for (size_t i = 0; i < text.len;) {
		uint8_t c = text.data[i];
		size_t len = c < 0x80	  ? c >= 0x20 && c != 0x7f && c != '\\' && !strchr(also, c)
			     : characters ? call_escape_character(text.data + i, text.len - i)
					  : 0;
		bool digit = i + 1 < text.len && text.data[i + 1] >= '0' && text.data[i + 1] <= '9';

		if (len)
			buf_append(to, text.data + i, len);
		else
			escape_byte(to, c, digit);
		i += len ? len : 1;
	}
	return buf_status(to);
}

int call_text_escape(struct buf *to, struct bytes text, const char *also)
{
	return escape(to, text, also, true);
}

int call_text_escape_bytes(struct buf *to, struct bytes text)
{
	return escape(to, text, "\"", false);
}
