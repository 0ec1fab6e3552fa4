/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/varint.h"

void buf_free(struct buf *b)
{
	free(b->data);
	*b = (struct buf){0};
}

int buf_reserve(struct buf *b, size_t more)
{
	size_t want;

	if (__builtin_add_overflow(b->len, more, &want))
		return -ENOMEM;
	return grow((void **)&b->data, &b->cap, want, 1);
}

int buf_append(struct buf *b, const void *data, size_t len)
{
	if (b->error)
		return b->error;
	b->error = buf_reserve(b, len);
	if (b->error)
		return b->error;
	if (len)
		memcpy(b->data + b->len, data, len);
	b->len += len;
	return 0;
}

int buf_varint(struct buf *b, uint64_t v)
{
	uint8_t packed[VARINT_MAX];

	return buf_append(b, packed, varint_put(packed, v));
}

int buf_printf(struct buf *b, const char *fmt, ...)
{
	va_list ap;
	int n;

	if (b->error)
		return b->error;
	va_start(ap, fmt);
	n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	b->error = n < 0 ? -EINVAL : buf_reserve(b, (size_t)n + 1);
	if (b->error)
		return b->error;
	va_start(ap, fmt);
	vsnprintf((char *)b->data + b->len, (size_t)n + 1, fmt, ap);
	va_end(ap);
	b->len += (size_t)n;
	return 0;
}

const char *buf_str(struct buf *b)
{
	if (buf_reserve(b, 1) < 0)
		return "";
	b->data[b->len] = '\0';
	return (const char *)b->data;
}
