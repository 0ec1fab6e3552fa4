// SPDX-License-Identifier: Apache-2.0
#include "base/csv.h"

#include <string.h>

static bool csv_has_any(const char *text, size_t len, const char *chars)
{
	for (; *chars; chars++) {
		if (memchr(text, *chars, len))
			return true;
	}
	return false;
}

static int csv_put_guarded(struct buf *to, const char *guard, const char *value, size_t len)
{
	if (len && !csv_has_any(value, len, ",\"\n\r")) {
		buf_append(to, guard, strlen(guard));
		return buf_append(to, value, len);
	}
	buf_printf(to, "\"%s", guard);
	for (size_t i = 0; i < len; i++)
		buf_append(to, value[i] == '"' ? "\"\"" : &value[i], value[i] == '"' ? 2 : 1);
	return buf_append(to, "\"", 1);
}

int csv_put(struct buf *to, const char *value, size_t len)
{
	return csv_put_guarded(to, "", value, len);
}

int csv_put_text(struct buf *to, const char *text, size_t len)
{
	return csv_put_guarded(to, len && strchr("=+-@\t\r'", text[0]) && text[0] ? "'" : "", text,
			       len);
}
