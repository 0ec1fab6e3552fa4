// SPDX-License-Identifier: Apache-2.0
/* bars.c: see bars.h. */
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>

#include "cli/terminal/bars.h"

static bool locale_chosen(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return true;
	}
	return false;
}

bool bars_utf8(void)
{
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0 || !locale_chosen();
}

const char *bars_shade(uint64_t count, uint64_t max)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const ascii[] = {" ", ".", ":", "-", "=", "+", "*", "%", "@"};
	unsigned int shade = count ? (unsigned int)((double)count * 8 / (double)max + 0.5) : 0;

	/* a nonzero count always shows: a single slow call is what the reader looks for */
	shade = count && !shade ? 1 : shade;
	return (bars_utf8() ? blocks : ascii)[shade];
}

int bars_spark(struct buf *out, const uint64_t *counts, size_t n)
{
	uint64_t max = 0;

	for (size_t i = 0; i < n; i++)
		max = MAX(max, counts[i]);
	for (size_t i = 0; i < n; i++) {
		const char *shade = bars_shade(counts[i], max);

		buf_append(out, shade, strlen(shade));
	}
	return buf_status(out);
}

int bars_lying(struct buf *out, double part, size_t width)
{
	static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
	size_t units = (size_t)(part * (double)width * 8 + 0.5), full = units / 8, used = full;
	bool utf8 = bars_utf8();

	if (part > 0 && !units)
		units = 1;
	if (!utf8)
		used = full = MAX(full, (size_t)(part > 0));
	for (size_t i = 0; i < full; i++)
		buf_printf(out, utf8 ? "█" : "@");
	if (utf8 && units % 8 && used < width) {
		buf_printf(out, "%s", eighths[units % 8]);
		used++;
	}
	return buf_printf(out, "%*s", (int)(width - MIN(used, width)), "");
}

const char *bars_at_least(void)
{
	return bars_utf8() ? "≥" : ">=";
}
