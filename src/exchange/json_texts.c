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
	int r = 0, mended = 0;

	for (size_t i = 0, n; i < text.len && r >= 0; i += n) {
		uint32_t c = 0;
		bool good;

		n = utf8_decode(text.data + i, text.len - i, &c);
		good = n && (c || nul);
		n = n ? n : 1;
		mended |= !good;
		r = good ? buf_append(to, text.data + i, n)
			 : buf_append(to, REPLACEMENT, strlen(REPLACEMENT));
	}
	return r < 0 ? r : mended;
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
