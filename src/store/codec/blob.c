/* SPDX-License-Identifier: Apache-2.0 */
/* blob.c: runs of bytes, compressed where that pays; creates and frees struct codec. */
#include <errno.h>
#include <math.h>

#include "store/codec/codec_impl.h"

#define BLOB_TRY_MIN	 48   /* zstd's frame outweighs any gain on a shorter run */
#define BLOB_SAMPLE	 8192 /* bytes compressed as a trial if the histogram promises little */
#define BLOB_ENTROPY_TRY 7.2  /* bits per byte; above this, the trial decides */

int codec_new(struct codec **ret, bool encode, bool compress)
{
	_cleanup_(codec_freep) struct codec *c = calloc(1, sizeof(*c));

	assert(encode || !compress);
	if (!c)
		return -ENOMEM;
	c->planes = malloc(8 * STORE_ROWS_MAX);
	for (unsigned int i = 0; i < CODEC_VALUES; i++) {
		c->values[i] = malloc(STORE_ROWS_MAX * sizeof(int64_t));
		if (!c->values[i])
			return -ENOMEM;
	}
	if (encode && compress)
		c->cctx = ZSTD_createCCtx();
	if (!encode)
		c->dctx = ZSTD_createDCtx();
	if (!c->planes || (encode && compress && !c->cctx) || (!encode && !c->dctx))
		return -ENOMEM;
	*ret = TAKE_PTR(c);
	return 0;
}

void codec_free(struct codec *c)
{
	if (!c)
		return;
	ZSTD_freeCCtx(c->cctx);
	ZSTD_freeDCtx(c->dctx);
	buf_free(&c->packed);
	free(c->planes);
	for (unsigned int i = 0; i < CODEC_VALUES; i++)
		free(c->values[i]);
	free(c);
}

int64_t *codec_values(struct codec *c, unsigned int which)
{
	assert(which < CODEC_VALUES);
	return c->values[which];
}

/* Entropy of a few KiB from the middle, in bits per byte, with each byte coded alone. */
static double entropy(const uint8_t *data, size_t len)
{
	uint32_t count[4][256] = {{0}};
	double bits = 0;

	assert(len > 0);
	if (len > BLOB_SAMPLE) {
		data += (len - BLOB_SAMPLE) / 2;
		len = BLOB_SAMPLE;
	}
	for (size_t i = 0; i < len; i++)
		count[i % 4][data[i]]++;
	for (unsigned int b = 0; b < 256; b++) {
		uint32_t n = count[0][b] + count[1][b] + count[2][b] + count[3][b];

		if (n)
			bits -= n * log2((double)n / (double)len);
	}
	return bits / (double)len;
}

/* Compresses into c->packed. Returns the packed length, or 0 if that saves less than a tenth. */
static size_t try_zstd(struct codec *c, const uint8_t *data, size_t len)
{
	size_t bound = ZSTD_compressBound(len), n;

	buf_clear(&c->packed);
	if (!c->cctx || len < BLOB_TRY_MIN || buf_reserve(&c->packed, bound) < 0)
		return 0;
	if (len > 2 * BLOB_SAMPLE && entropy(data, len) > BLOB_ENTROPY_TRY) {
		n = ZSTD_compressCCtx(c->cctx, c->packed.data, bound,
				      data + len / 2 - BLOB_SAMPLE / 2, BLOB_SAMPLE, 1);
		if (ZSTD_isError(n) || n > BLOB_SAMPLE / 10 * 9)
			return 0;
	}
	n = ZSTD_compressCCtx(c->cctx, c->packed.data, bound, data, len, 1);
	if (ZSTD_isError(n) || n + 8 > len / 10 * 9)
		return 0;
	return n;
}

static bool is_fill(const uint8_t *data, size_t len)
{
	return len > 1 && !memcmp(data, data + 1, len - 1);
}

/* blob: u8 mode, varint length; fill: u8; zstd: varint packed length, bytes; raw: bytes */
int blob_encode(struct codec *c, const uint8_t *data, size_t len, struct buf *out)
{
	uint8_t head[1 + 2 * VARINT_MAX + 1];
	size_t n = 0, packed = 0;
	const uint8_t *body = data;
	size_t body_len = len;

	assert(len <= STORE_BLOB_MAX && (data || !len));
	if (is_fill(data, len)) {
		head[n++] = BLOB_FILL;
		n += varint_put(head + n, len);
		head[n++] = data[0];
		body_len = 0;
	} else if ((packed = try_zstd(c, data, len)) > 0) {
		head[n++] = BLOB_ZSTD;
		n += varint_put(head + n, len);
		n += varint_put(head + n, packed);
		body = c->packed.data;
		body_len = packed;
	} else {
		head[n++] = BLOB_RAW;
		n += varint_put(head + n, len);
	}
	assert(n <= sizeof(head) && body_len <= len);
	buf_append(out, head, n);
	return buf_append(out, body, body_len);
}

/* Reads the mode and the length. */
static int blob_head(const uint8_t **p, const uint8_t *end, uint8_t *ret_mode, uint64_t *ret_len)
{
	assert(*p <= end);
	if (*p == end)
		return -EBADMSG;
	*ret_mode = *(*p)++;
	if (!varint_get(p, end, ret_len) || *ret_len > STORE_BLOB_MAX)
		return -EBADMSG;
	return 0;
}

ssize_t blob_length(const uint8_t *p, const uint8_t *end)
{
	uint64_t len;
	uint8_t mode;
	int r = blob_head(&p, end, &mode, &len);

	return r < 0 ? r : (ssize_t)len;
}

int blob_decode(struct codec *c, const uint8_t **p, const uint8_t *end, uint8_t *out, size_t len)
{
	uint64_t have, packed;
	uint8_t mode;
	size_t n;

	assert(c->dctx && len <= STORE_BLOB_MAX);
	if (blob_head(p, end, &mode, &have) < 0 || have != len)
		return -EBADMSG;
	switch (mode) {
	case BLOB_RAW:
		if ((size_t)(end - *p) < len)
			return -EBADMSG;
		if (len)
			memcpy(out, *p, len);
		*p += len;
		return 0;
	case BLOB_FILL:
		if (*p >= end)
			return -EBADMSG;
		memset(out, *(*p)++, len);
		return 0;
	case BLOB_ZSTD:
		if (!varint_get(p, end, &packed) || packed > (size_t)(end - *p))
			return -EBADMSG;
		n = ZSTD_decompressDCtx(c->dctx, out, len, *p, packed);
		if (ZSTD_isError(n) || n != len)
			return -EBADMSG;
		*p += packed;
		return 0;
	default:
		return -EBADMSG;
	}
}
