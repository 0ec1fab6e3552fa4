/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal/json_text.h"

#include <errno.h>
#include <string.h>

#include "base/json.h"
#include "cli/terminal/format.h"

void json_put_string(FILE *out, const void *data, size_t len)
{
	_cleanup_buf_ struct buf text = {0};

	if (json_escape(&text, data, len, "") < 0)
		buf_clear(&text);
	fprintf(out, "\"%s\"", buf_str(&text));
}

json_t *json_text(struct bytes text)
{
	_cleanup_buf_ struct buf safe = {0};
	json_t *v = text.data ? json_stringn((const char *)text.data, text.len) : json_null();

	if (v || format_safe(&safe, text.data, text.len) < 0)
		return v;
	return json_string(buf_str(&safe));
}

int json_put_value(struct buf *to, json_t *value)
{
	_cleanup_free_ char *raw =
		value ? json_dumps(value, JSON_ENCODE_ANY | JSON_PRESERVE_ORDER) : NULL;

	json_decref(value);
	return raw ? json_escape_document(to, raw, strlen(raw)) : -ENOMEM;
}

int json_put_member(struct buf *to, const char *name, json_t *value)
{
	buf_printf(to, ",\n\"%s\": ", name);
	return json_put_value(to, value);
}
