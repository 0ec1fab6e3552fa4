/* SPDX-License-Identifier: Apache-2.0 */
/*
 * native.h: ClickHouse's columnar format: blocks of columns, each with its name, its type and its values. The values
 * of a nullable column are preceded by a byte for each, 1: null. Fixed-width values are little-endian; a string is
 * preceded by its length, a varint.
 */
#pragma once

#include "base/error.h"
#include "batch/batch.h"
#include "net/client.h"

/* Members of every row of a block in addition to its columns (tables.h). */
struct native_keys {
	uint32_t recording;
	uint64_t block_no;
	uint16_t day;
	const int64_t *ended;
};

/* Writes a block of a table other than op with the keys and the columns of the set; columns that the batch lacks are null. */
int native_write(const struct batch *b, uint64_t columns, const struct native_keys *keys,
		 struct buf *out) _must_check_;
/* The names of these columns: "`recording`, `block_no`, ...". */
int native_columns(const struct table_def *t, uint64_t columns, struct buf *out);
/* Name and type of a column, which its nulls and values follow. */
int native_put_head(const char *name, const char *type, struct buf *out);
/* Expands bits of a map of nulls to a byte each. */
void native_spread_nulls(const uint64_t *nulls, size_t rows, uint8_t *out);
/* START_...: how the start of a call is derived from other columns. */
uint8_t native_start_kind(const struct batch *b, size_t row, const int64_t *ended);

/* Compresses frames. Starts as {0}. */
struct native_packer {
	struct ZSTD_CCtx_s *context;
};
void native_packer_free(struct native_packer *p);
/* Appends `raw` as one frame of ClickHouse's compression, without a checksum, and empties it. */
int native_pack(struct native_packer *p, struct buf *raw, struct buf *out) _must_check_;

/* ---- reading ---- */

/* A column of a block, nullable or not: integers and floats of 1, 2, 4, 8 bytes, or strings. */
struct native_column {
	const uint8_t *nulls; /* [rows]; NULL: no value is null */
	const uint8_t *data;  /* fixed width: [rows * width] */
	uint8_t width;	      /* 0: strings */
	bool is_signed, is_float;
	struct bytes *texts; /* [rows]; belongs to the reader */
};

struct native_reader {
	struct net_client *client;
	struct buf in;
	size_t at; /* bytes of `in` already read */
	bool ended;
	struct native_column *columns; /* of the current block */
	size_t count, cap, rows;
	struct bytes **texts; /* [cap], and the rows that they have room for */
	size_t *texts_cap;
};

/* Reads the answer to the client's request. Starts as {.client = ...}. */
void native_reader_free(struct native_reader *r);
/*
 * Reads the next non-empty block: 1; 0 at the end. -EBADMSG: malformed, cut, or interrupted by an exception, whose
 * text is then `*ret_text`.
 */
int native_read(struct native_reader *r, const char **ret_text, struct error *err);
/* A value of a fixed-width column that is not a float. */
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
