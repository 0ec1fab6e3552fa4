// SPDX-License-Identifier: Apache-2.0
/* query_chars.c: characters that bars are drawn with. */
#include <langinfo.h>
#include <string.h>

#include "cli/query_print.h"

bool bars_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

int bars_spark(struct buf *out, const uint64_t *counts, size_t n)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "%", "@"};
	const char *const *shades = bars_utf8() ? blocks : ascii;
	uint64_t max = 0;
	int r = 0;

	for (size_t i = 0; i < n; i++)
		max = MAX(max, counts[i]);
	for (size_t i = 0; i < n && r >= 0; i++) {
		unsigned int shade =
			counts[i] ? (unsigned int)((double)counts[i] * 8 / (double)max + 0.5) : 0;

		/* never nothing for something: a single slow call is what the reader looks for */
		shade = counts[i] && !shade ? 1 : shade;
		r = buf_append(out, shades[shade], strlen(shades[shade]));
	}
	return r;
}
