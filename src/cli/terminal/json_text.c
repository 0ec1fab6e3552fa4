/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/json_text.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"

void json_put_string(FILE *out, const void *data, size_t len)
{
	_cleanup_buf_ struct buf text = {0};

	if (json_escape(&text, data, len, "") < 0)
		buf_clear(&text);
	fprintf(out, "\"%s\"", buf_str(&text));
}

int json_put(FILE *out, const json_t *value, size_t flags)
{
	_cleanup_buf_ struct buf text = {0};
	_cleanup_free_ char *raw = value ? json_dumps(value, flags) : NULL;

	if (!raw || json_escape_document(&text, raw, strlen(raw)) < 0)
		return -ENOMEM;
	return fwrite(text.data, 1, text.len, out) == text.len ? 0 : -EIO;
}
