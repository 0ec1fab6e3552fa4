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

/* ---- writing ---- */

/* Members of every row of a block of the trace, besides its columns and its end (tables.h). */
struct native_keys {
	uint32_t recording;
	uint64_t block_no;
	uint16_t day;
};

/*
 * Rows of one table, collected from several blocks of a trace and written as one. Rows of op are written in the order of
 * the table's sort key: the server then neither joins blocks nor sorts, which is half of its work.
 */
struct native_rows {
	const struct table_def *def; /* of the rows */
	struct native_block *blocks;
	size_t count, cap;
	size_t rows, bytes; /* number of rows; size of their texts */
};

/* The most blocks that can be collected: a small one takes some 20 KiB. */
#define NATIVE_BLOCKS_MAX 1024

void native_rows_free(struct native_rows *n);
/* Copies a block; `ended`: when each row ended. */
int native_rows_add(struct native_rows *n, const struct batch *b, const struct native_keys *keys,
		    const int64_t *ended) _must_check_;
/* The names of the columns written: "`recording`, `block_no`, ..."; those without a value in any row are left out. */
int native_rows_columns(const struct native_rows *n, struct buf *out);
/* Appends the rows as frames of ClickHouse's compression, without checksums. */
int native_rows_write(const struct native_rows *n, struct buf *out) _must_check_;

/* ---- reading ---- */

/* A column of a block, nullable or not: integers of 1, 2, 4, 8, 16 bytes, floats of 8, or strings. */
struct native_column {
	const uint8_t *nulls; /* [rows]; NULL: no value is null */
	const uint8_t *data;  /* fixed width: [rows * width] */
	uint8_t width;	      /* 0: strings */
	bool is_signed, is_float;
	struct bytes *texts; /* [rows], of [texts_cap]; kept from block to block */
	size_t texts_cap;
};

struct native_reader {
	struct net_client *client;
	struct buf in;
	size_t at; /* bytes of `in` already read */
	bool ended;
	struct native_column *columns; /* of the current block */
	size_t count, cap, rows;
};

/* Reads the answer to the client's request. Starts as {.client = ...}. */
void native_reader_free(struct native_reader *r);
/*
 * Reads the next non-empty block: 1; 0 at the end. -EBADMSG: malformed, cut, or interrupted by an exception, whose
 * text is then `*ret_text`.
 */
int native_read(struct native_reader *r, const char **ret_text, struct error *err);
/* A value of a fixed-width column that is not a float; of 16 bytes, the lower half. */
static inline int64_t native_int(const struct native_column *c, size_t row)
{
	const uint8_t *p = c->data + row * c->width;
	uint64_t v = 0;

	__builtin_memcpy(&v, p, c->width < 8 ? c->width : 8);
	if (c->is_signed && c->width < 8 && v >> (8 * c->width - 1))
		v |= ~0ull << (8 * c->width);
	return (int64_t)v;
}
static inline bool native_is_null(const struct native_column *c, size_t row)
{
	return c->nulls && c->nulls[row];
}
