/* SPDX-License-Identifier: Apache-2.0 */
/*
 * buf.h: a growable run of bytes, also used to build text. Starts as {0}; buf_free() at the end.
 *
 * Errors stick: after a write that failed, every later write fails with the same error until buf_clear(). A text that is written in
 * several steps therefore needs one check, of its last step or of buf_status().
 */
#pragma once

#include "base/util.h"

struct buf {
	uint8_t *data;
	size_t len;
	size_t cap;
	int error; /* of the first write that failed; else 0 */
};

void buf_free(struct buf *b);
#define _cleanup_buf_ _cleanup_(buf_free)

/* 0 or -ENOMEM. Writes nothing: its failure does not stick. */
int buf_reserve(struct buf *b, size_t more) _must_check_;
/* Each returns 0 or -ENOMEM and leaves data and len as they were on failure. */
int buf_append(struct buf *b, const void *data, size_t len);
/* What another holds; an error of the other is one of this. */
int buf_add(struct buf *b, const struct buf *from);
/* Appends a number as a varint (base/varint.h). */
int buf_varint(struct buf *b, uint64_t v);
int buf_printf(struct buf *b, const char *fmt, ...) _printf_(2, 3);

/* The text so far, NUL-terminated; "" for an empty or failed buffer. Valid until the next change. */
const char *buf_str(struct buf *b);

/* What it holds, valid until the next change. */
static inline struct bytes buf_bytes(const struct buf *b)
{
	return (struct bytes){b->data, b->len};
}

static inline void buf_clear(struct buf *b)
{
	b->len = 0;
	b->error = 0;
}

/* Makes an error from elsewhere (r < 0) stick like that of a write. Returns what buf_status() returns. */
static inline int buf_fail(struct buf *b, int r)
{
	if (r < 0 && !b->error)
		b->error = r;
	return b->error;
}

/* 0, or the error of the first write that failed. */
static inline int buf_status(const struct buf *b)
{
	return b->error;
}
