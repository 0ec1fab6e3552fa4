// SPDX-License-Identifier: Apache-2.0
#include "exchange/otlp/base64.h"

#include <errno.h>
#include <string.h>

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int base64_put(struct buf *to, struct bytes data)
{
	for (size_t i = 0; i < data.len; i += 3) {
		size_t n = MIN(data.len - i, (size_t)3);
		uint32_t v = (uint32_t)data.data[i] << 16;
		char four[4];

		v |= n > 1 ? (uint32_t)data.data[i + 1] << 8 : 0;
		v |= n > 2 ? data.data[i + 2] : 0;
		for (size_t k = 0; k < sizeof(four); k++)
			four[k] = k <= n ? alphabet[v >> (18 - 6 * k) & 63] : '=';
		buf_append(to, four, sizeof(four));
	}
	return buf_status(to);
}

static int digit(char c)
{
	const char *at = c ? strchr(alphabet, c == '-' ? '+' : c == '_' ? '/' : c) : NULL;

	return at ? (int)(at - alphabet) : -1;
}

int base64_take(struct buf *to, const char *text)
{
	size_t len = strlen(text);
	uint32_t v = 0;

	while (len && text[len - 1] == '=')
		len--;
	if (len % 4 == 1)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		int d = digit(text[i]), r = 0;
		unsigned int bits = i % 4 * 2; /* bits of this digit that complete a byte */
		uint8_t byte;

		if (d < 0)
			return -EINVAL;
		v = v << 6 | (uint32_t)d;
		byte = (uint8_t)(v >> (6 - bits));
		if (bits)
			r = buf_append(to, &byte, 1);
		if (r < 0)
			return r;
	}
	return 0;
}
