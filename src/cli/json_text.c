/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/json_text.h"

/* Length of the valid UTF-8 character at p, 0 where there is none. */
static size_t utf8_length(const unsigned char *p, size_t len)
{
	size_t need = p[0] < 0x80		    ? 1
		      : p[0] >= 0xc2 && p[0] < 0xe0 ? 2
		      : p[0] >= 0xe0 && p[0] < 0xf0 ? 3
		      : p[0] >= 0xf0 && p[0] < 0xf5 ? 4
						    : 0;

	if (!need || need > len)
		return 0;
	for (size_t i = 1; i < need; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	}
	/* overlong forms, surrogates, beyond U+10FFFF */
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] >= 0xa0) ||
	    (p[0] == 0xf0 && p[1] < 0x90) || (p[0] == 0xf4 && p[1] >= 0x90))
		return 0;
	return need;
}

void json_put_string(FILE *out, const void *data, size_t len)
{
	const unsigned char *p = data;

	fputc('"', out);
	for (size_t i = 0, n; i < len; i += MAX(n, (size_t)1)) {
		n = utf8_length(p + i, len - i);
		if (!n)
			fputs("\\ufffd", out);
		else if (p[i] == '"' || p[i] == '\\')
			fprintf(out, "\\%c", p[i]);
		else if (p[i] < 0x20 || p[i] == 0x7f)
			fprintf(out, "\\u%04x", p[i]);
		else
			fwrite(p + i, 1, n, out);
	}
	fputc('"', out);
}
