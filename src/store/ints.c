/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ints.c: streams of integers. The body of a column after its transform: a few codecs, of which the encoder takes
 * the smallest by measure. Byte planes with zstd behind come close to the entropy of skewed distances; packing is
 * what is left where nothing compresses.
 */
#include <errno.h>
#include <math.h>

#include "store/codec_impl.h"

/* Bytes that hold any value up to v. */
static unsigned int byte_width(uint64_t v)
{
	return v ? (71 - (unsigned int)__builtin_clzll(v)) / 8 : 0;
}

static int put_byte(struct buf *out, uint8_t b)
{
	return buf_append(out, &b, 1);
}

static int put_varint(struct buf *out, uint64_t v)
{
	uint8_t b[VARINT_MAX];

	return buf_append(out, b, varint_put(b, v));
}

struct range {
	int64_t min, max;
	size_t runs;
};

static struct range measure(const int64_t *v, size_t n)
{
	struct range r = {.min = v[0], .max = v[0], .runs = 1};

	for (size_t i = 1; i < n; i++) {
		r.min = v[i] < r.min ? v[i] : r.min;
		r.max = v[i] > r.max ? v[i] : r.max;
		r.runs += v[i] != v[i - 1];
	}
	return r;
}

/* planes: u8 width, varint least value (zigzag), a blob per byte */
static int planes_encode(struct codec *c, const int64_t *v, size_t n, struct range m, struct buf *out)
{
	unsigned int width = byte_width((uint64_t)wrap_sub(m.max, m.min));
	int r = put_byte(out, (uint8_t)width);

	if (r >= 0)
		r = put_varint(out, zigzag(m.min));
	for (unsigned int p = 0; p < width && r >= 0; p++) {
		for (size_t i = 0; i < n; i++)
			c->planes[i] = (uint8_t)((uint64_t)wrap_sub(v[i], m.min) >> (8 * p));
		r = blob_encode(c, c->planes, n, out);
	}
	return r;
}

static void planes_join(const uint8_t *planes, unsigned int width, int64_t base, int64_t *out, size_t n)
{
	switch (width) {
	case 1:
		for (size_t i = 0; i < n; i++)
			out[i] = wrap_add(base, planes[i]);
		return;
	case 2:
		for (size_t i = 0; i < n; i++)
			out[i] = wrap_add(base, planes[i] | planes[i + n] << 8);
		return;
	case 3:
		for (size_t i = 0; i < n; i++)
			out[i] = wrap_add(base, planes[i] | planes[i + n] << 8 | planes[i + 2 * n] << 16);
		return;
	default:
		for (size_t i = 0; i < n; i++)
			out[i] = base;
		for (unsigned int p = 0; p < width; p++, planes += n) {
			for (size_t i = 0; i < n; i++)
				out[i] = wrap_add(out[i], (int64_t)((uint64_t)planes[i] << (8 * p)));
		}
	}
}

static int planes_decode(struct codec *c, const uint8_t **p, const uint8_t *end, int64_t *out, size_t n)
{
	uint64_t base;
	unsigned int width;

	if (*p >= end)
		return -EBADMSG;
	width = *(*p)++;
	if (width > 8 || !varint_get(p, end, &base))
		return -EBADMSG;
	for (unsigned int i = 0; i < width; i++) {
		int r = blob_decode(c, p, end, c->planes + i * n, n);

		if (r < 0)
			return r;
	}
	planes_join(c->planes, width, unzigzag(base), out, n);
	return 0;
}

/* Bits that n bytes of plane p would take, each coded for itself. */
static double plane_bits(const int64_t *v, size_t n, int64_t base, unsigned int p)
{
	uint32_t count[256] = {0};
	double bits = 0;

	for (size_t i = 0; i < n; i++)
		count[(uint8_t)((uint64_t)wrap_sub(v[i], base) >> (8 * p))]++;
	for (unsigned int b = 0; b < 256; b++) {
		if (count[b])
			bits -= count[b] * log2((double)count[b] / (double)n);
	}
	return bits;
}

size_t ints_estimate(const int64_t *v, size_t n)
{
	struct range m;
	double bits = 32;

	if (!n)
		return 0;
	m = measure(v, n);
	for (unsigned int p = 0; p < byte_width((uint64_t)wrap_sub(m.max, m.min)); p++)
		bits += plane_bits(v, n, m.min, p);
	return (size_t)(bits / 8);
}

int ints_encode(struct codec *c, const int64_t *v, size_t n, struct buf *out)
{
	struct range m;
	int r;

	assert(n <= STORE_ROWS_MAX);
	if (!n)
		return 0;
	m = measure(v, n);
	if (m.min == m.max) {
		r = put_byte(out, INTS_CONST);
		return r < 0 ? r : put_varint(out, zigzag(m.min));
	}
	r = put_byte(out, INTS_PLANES);
	return r < 0 ? r : planes_encode(c, v, n, m, out);
}

int ints_decode(struct codec *c, const uint8_t **p, const uint8_t *end, int64_t *out, size_t n)
{
	uint64_t v;

	assert(n <= STORE_ROWS_MAX);
	if (!n)
		return 0;
	if (*p >= end)
		return -EBADMSG;
	switch (*(*p)++) {
	case INTS_CONST:
		if (!varint_get(p, end, &v))
			return -EBADMSG;
		for (size_t i = 0; i < n; i++)
			out[i] = unzigzag(v);
		return 0;
	case INTS_PLANES:
		return planes_decode(c, p, end, out, n);
	default:
		return -EBADMSG;
	}
}
