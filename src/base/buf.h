/* SPDX-License-Identifier: Apache-2.0 */
/* buf.h: a growable run of bytes, also used to build text. Starts as {0}; buf_free() at the end. */
#pragma once

#include "base/util.h"

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
};

void buf_free(struct buf *b);
#define _cleanup_buf_ _cleanup_(buf_free)

/* Each returns 0 or -ENOMEM and leaves the buffer as it was on failure. */
int buf_reserve(struct buf *b, size_t more) _must_check_;
int buf_append(struct buf *b, const void *data, size_t len) _must_check_;
/* Appends a number as a varint (base/varint.h). */
int buf_varint(struct buf *b, uint64_t v) _must_check_;
int buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);

/* The text so far, NUL-terminated; "" for an empty or failed buffer. Valid until the next change. */
const char *buf_str(struct buf *b);

static inline void buf_clear(struct buf *b)
{
	b->len = 0;
}
