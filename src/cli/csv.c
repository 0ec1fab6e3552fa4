/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/csv.h"

#include <stdbool.h>
#include <string.h>

void csv_put(FILE *out, const char *text, size_t len)
{
	bool quote = len == 0 || memchr(text, ',', len) || memchr(text, '"', len) ||
		     memchr(text, '\n', len) || memchr(text, '\r', len);

	if (!quote) {
		fwrite(text, 1, len, out);
		return;
	}
	fputc('"', out);
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '"')
			fputc('"', out);
		fputc(text[i], out);
	}
	fputc('"', out);
}
