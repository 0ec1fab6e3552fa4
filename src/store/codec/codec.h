/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec.h: encodes and decodes columns. Encoding trusts its input. Decoding trusts nothing: it checks every length
 * against the bytes left and the limits of format.h, and returns -EBADMSG for anything invalid.
 *
 * A column is predicted from its neighbours, the residuals are split into planes of bytes, and each plane is
 * compressed separately if that saves a tenth. On a RocksDB-like workload byte planes took 8.3 bytes per call, bit
 * packing with zstd 9.8, and they need only one integer codec.
 */
#pragma once

#include "base/buf.h"
#include "store/file/format.h"

/* Scratch memory of one encoding or decoding thread; about 1 MiB. */
struct codec;

int codec_new(struct codec **ret, bool encode, bool compress) _must_check_;
void codec_free(struct codec *c);
DEFINE_CLEANUP(struct codec *, codec_free)

/* Appends a blob: mode, lengths, bytes (zstd where that saves a tenth). 0 or -ENOMEM. */
int blob_encode(struct codec *c, const uint8_t *data, size_t len, struct buf *out);
/* Returns the unpacked length of the blob at *p, at most STORE_BLOB_MAX, or -EBADMSG. */
ssize_t blob_length(const uint8_t *p, const uint8_t *end);
/* Unpacks the blob at *p, which must have exactly len bytes, and advances *p past it. */
int blob_decode(struct codec *c, const uint8_t **p, const uint8_t *end, uint8_t *out,
		size_t len) _must_check_;

struct ints_range {
	int64_t min, max;
};
/* Returns the least and the largest of n > 0 values. */
struct ints_range ints_range(const int64_t *v, size_t n);
/* Appends a stream of n integers (n <= STORE_ROWS_MAX), with the codec that measures smallest. */
int ints_encode(struct codec *c, const int64_t *v, size_t n, struct buf *out) _must_check_;
/* The same for n > 0 values whose range is known. */
int ints_encode_range(struct codec *c, const int64_t *v, size_t n, struct ints_range m,
		      struct buf *out);
/* A cheap estimate of the bytes that ints_encode() would write. */
size_t ints_estimate(const int64_t *v, size_t n);
/* Reads a stream of exactly n integers from *p and advances *p past it. */
int ints_decode(struct codec *c, const uint8_t **p, const uint8_t *end, int64_t *out,
		size_t n) _must_check_;

/*
 * Transforms work on whole columns (a null row's value is 0). `v`, `a`, `key` have `rows` values (a and key only
 * where the transform uses them); `nulls` marks null rows of v (NULL: none). transform_forward() writes one residual
 * per row that is not null and returns their number. transform_inverse() reads the residuals and writes v for every
 * row, 0 for null rows; if no row is null, the residuals are already in v.
 */
struct transform_args {
	enum transform kind;
	size_t rows;
	const uint64_t *nulls;
	const int64_t *key, *a;
};
size_t transform_forward(struct codec *c, const struct transform_args *t, const int64_t *v,
			 int64_t *out);
void transform_inverse(struct codec *c, const struct transform_args *t, const int64_t *residuals,
		       int64_t *v);
/* Returns the number of columns that a transform refers to. */
unsigned int transform_refs(enum transform kind);

/* Scratch arrays of STORE_ROWS_MAX values, for the codec's caller. */
int64_t *codec_values(struct codec *c, unsigned int which);
