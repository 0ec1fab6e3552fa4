// SPDX-License-Identifier: Apache-2.0
/* json_texts.c: strings and numbers of JSON values, from arbitrary bytes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "exchange/internal.h"

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

int text_mend(struct bytes text, bool nul, struct buf *to)
{
	int mended = 0;

	for (size_t i = 0, n; i < text.len; i += n) {
		uint32_t c = 0;
		bool good;

		n = utf8_decode(text.data + i, text.len - i, &c);
		good = n && (c || nul);
		n = n ? n : 1;
		mended |= !good;
		if (good)
			buf_append(to, text.data + i, n);
		else
			buf_append(to, REPLACEMENT, strlen(REPLACEMENT));
	}
	return buf_status(to) < 0 ? buf_status(to) : mended;
}

json_t *json_of_bytes(const void *data, size_t len, bool *mended)
{
	_cleanup_buf_ struct buf text = {0};
	json_t *j = json_stringn(len ? data : "", len);

	if (j)
		return j;
	if (text_mend((struct bytes){data, len}, true, &text) <= 0)
		return NULL;
	*mended = true;
	return json_stringn_nocheck((const char *)text.data, text.len);
}

int json_put(json_t *object, struct bytes name, json_t *value)
{
	_cleanup_buf_ struct buf text = {0};
	int r = text_mend(name, false, &text);

	if (r < 0 || !value) {
		json_decref(value);
		return -ENOMEM;
	}
	r = json_object_setn_new_nocheck(object, text.len ? (const char *)text.data : "", text.len,
					 value);
	return r < 0 ? -ENOMEM : 0;
}

static int json_append(const char *data, size_t len, void *to)
{
	return buf_append(to, data, len);
}

int json_write(struct buf *to, const json_t *j)
{
	return json_dump_callback(j, json_append, to, JSON_COMPACT) < 0 ? -ENOMEM : 0;
}

json_t *json_as_text(const json_t *v)
{
	_cleanup_free_ char *text = NULL;

	if (json_is_string(v))
		return json_incref((json_t *)v);
	text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
	return text ? json_string(text) : NULL;
}

json_t *json_as_texts(const json_t *object)
{
	json_t *to = json_object(), *value;
	const char *key;
	size_t len;

	json_object_keylen_foreach((json_t *)object, key, len, value)
	{
		if (json_object_setn_new_nocheck(to, key, len, json_as_text(value)) < 0) {
			json_decref(to);
			return NULL;
		}
	}
	return to;
}

/* ---- numbers ---- */

bool json_u64(const json_t *j, uint64_t *ret)
{
	const char *text = json_string_value(j);
	unsigned long long v;
	char *end;

	if (json_is_integer(j) && json_integer_value(j) >= 0) {
		*ret = (uint64_t)json_integer_value(j);
		return true;
	}
	if (!text || *text < '0' || *text > '9')
		return false;
	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || *end)
		return false;
	*ret = v;
	return true;
}

bool json_i64(const json_t *j, int64_t *ret)
{
	const char *text = json_string_value(j);
	long long v;
	char *end;

	if (json_is_integer(j)) {
		*ret = json_integer_value(j);
		return true;
	}
	if (!text || !((*text >= '0' && *text <= '9') || *text == '-'))
		return false;
	errno = 0;
	v = strtoll(text, &end, 10);
	if (errno || *end)
		return false;
	*ret = v;
	return true;
}
