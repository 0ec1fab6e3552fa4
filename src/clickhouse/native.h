/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h: ClickHouse's columnar format: blocks of columns, each with its name, its type and its values. Values of a column that
 * can be null stand behind a byte for each, 1: null. Fixed width is little-endian; a string stands behind its length, a varint.
 */
#pragma once

#include "base/error.h"
#include "batch/batch.h"
#include "net/client.h"

/* What every row of a block has beside its columns (tables.h). */
struct native_keys {
	uint32_t recording;
	uint64_t block_no;
	uint16_t day;
	const int64_t *ended;
};

/* Writes a block with the keys and the columns of the set, which are null where the batch has none. */
int native_write(const struct batch *b, uint64_t columns, const struct native_keys *keys,
		 struct buf *out) _must_check_;
/* The names of these columns: "`recording`, `block_no`, ...". */
int native_columns(const struct table_def *t, uint64_t columns, struct buf *out);
/* Appends `raw` as one frame of ClickHouse's compression, without a checksum. */
int native_compress(struct buf *raw, struct buf *out) _must_check_;

/* ---- reading ---- */

/* A column of a block. Nullable or not; integers and floats of 1, 2, 4, 8 bytes, or strings. */
struct native_column {
	const uint8_t *nulls; /* [rows]; NULL: none is */
	const uint8_t *data;  /* fixed width: [rows * width] */
	uint8_t width;	      /* 0: strings */
	bool is_signed, is_float;
	struct bytes *texts; /* [rows]; memory of the reader */
};

struct native_reader {
	struct net_client *client;
	struct buf in;
	size_t at; /* read of `in` */
	bool ended;
	struct native_column *columns; /* of the block at hand */
	size_t count, cap, rows;
	struct bytes **texts; /* [cap], and how many rows they have room for */
	size_t *texts_cap;
};

/* Reads what the client's request answers. Starts as {.client = ...}. */
void native_reader_free(struct native_reader *r);
/* The next block that has rows: 1; 0 at the end. -EBADMSG: malformed, cut, or an exception in the middle of it, which is
 * `*ret_text` then. */
int native_read(struct native_reader *r, const char **ret_text, struct error *err);
/* A value of a column of fixed width that is no float. */
static inline int64_t native_int(const struct native_column *c, size_t row)
{
	const uint8_t *p = c->data + row * c->width;
	uint64_t v = 0;

	__builtin_memcpy(&v, p, c->width);
	if (c->is_signed && c->width < 8 && v >> (8 * c->width - 1))
		v |= ~0ull << (8 * c->width);
	return (int64_t)v;
}
static inline bool native_is_null(const struct native_column *c, size_t row)
{
	return c->nulls && c->nulls[row];
}
