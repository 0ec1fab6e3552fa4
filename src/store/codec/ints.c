/* SPDX-License-Identifier: Apache-2.0 */
/*
 * ints.c: streams of integers: the body of a column after its transform. Byte planes, each compressed separately,
 * come close to the entropy of skewed distances; packed bits do not, as a general compressor cannot see through them.
 * A few distinct wide values become a dictionary.
 */
#include <errno.h>
#include <math.h>

#include "base/map.h"
#include "store/codec/codec_impl.h"

/* Number of bytes that hold any value up to v. */
static unsigned int byte_width(uint64_t v)
{
	return v ? (71 - (unsigned int)__builtin_clzll(v)) / 8 : 0;
}

static int put_byte(struct buf *out, uint8_t b)
{
	return buf_append(out, &b, 1);
}

#define LANES \
	4 /* independent minima and maxima; a single chain of comparisons would stall on its own latency */

struct ints_range ints_range(const int64_t *v, size_t n)
{
	int64_t lo[LANES], hi[LANES];
	size_t i = 0;

	assert(n > 0);
	for (unsigned int k = 0; k < LANES; k++)
		lo[k] = hi[k] = v[0];
	for (; i + LANES <= n; i += LANES) {
		for (unsigned int k = 0; k < LANES; k++) {
			lo[k] = v[i + k] < lo[k] ? v[i + k] : lo[k];
			hi[k] = v[i + k] > hi[k] ? v[i + k] : hi[k];
		}
	}
	for (; i < n; i++) {
		lo[0] = MIN(lo[0], v[i]);
		hi[0] = MAX(hi[0], v[i]);
	}
	for (unsigned int k = 1; k < LANES; k++) {
		lo[0] = MIN(lo[0], lo[k]);
		hi[0] = MAX(hi[0], hi[k]);
	}
	return (struct ints_range){.min = lo[0], .max = hi[0]};
}

/* Splits each value's distance from the least value into its first `width` bytes, one plane per byte. */
static void planes_split(const int64_t *v, size_t n, int64_t base, unsigned int width,
			 uint8_t *planes)
{
	unsigned int p = 0;

	assert(width <= sizeof(v[0]) && n <= STORE_ROWS_MAX);
	for (; p + 2 <= width; p += 2) {
		uint8_t *lo = planes + p * n, *hi = lo + n;

		for (size_t i = 0; i < n; i++) {
			uint64_t d = (uint64_t)wrap_sub(v[i], base) >> (8 * p);

			lo[i] = (uint8_t)d;
			hi[i] = (uint8_t)(d >> 8);
		}
	}
	for (size_t i = 0; p < width && i < n; i++)
		planes[p * n + i] = (uint8_t)((uint64_t)wrap_sub(v[i], base) >> (8 * p));
}

/* planes: u8 width, varint least value (zigzag), a blob per byte */
static int planes_encode(struct codec *c, const int64_t *v, size_t n, struct ints_range m,
			 struct buf *out)
{
	unsigned int width = byte_width((uint64_t)wrap_sub(m.max, m.min));

	put_byte(out, (uint8_t)width);
	buf_varint(out, zigzag(m.min));
	planes_split(v, n, m.min, width, c->planes);
	for (unsigned int p = 0; p < width; p++)
		blob_encode(c, c->planes + p * n, n, out);
	return buf_status(out);
}

#define DICT_SLOTS    1024 /* power of two */
#define DICT_ROWS_MIN 64   /* with fewer values, plain planes are smaller */

/*
 * Writes the numbers of the distinct values, in order of appearance, to c->planes. Returns how many there are; 0 if
 * too many.
 */
static size_t dict_find(struct codec *c, const int64_t *v, size_t n, int64_t values[STORE_DICT_MAX])
{
	uint16_t slots[DICT_SLOTS] = {0}; /* number + 1 */
	size_t count = 0;

	assert(n >= DICT_ROWS_MIN);
	for (size_t i = 0; i < n; i++) {
		size_t s = hash_u64((uint64_t)v[i]) % DICT_SLOTS;

		while (slots[s] && values[slots[s] - 1] != v[i])
			s = (s + 1) % DICT_SLOTS;
		if (!slots[s]) {
			/* A dictionary pays off only if values repeat. */
			if (count == STORE_DICT_MAX || count > 8 + i / 4)
				return 0;
			values[count++] = v[i];
			slots[s] = (uint16_t)count;
		}
		c->planes[i] = (uint8_t)(slots[s] - 1);
	}
	return count;
}

/* dict: u8 count - 1, planes of the values (as above), a blob of a byte per value */
static int ints_dict_encode(struct codec *c, const int64_t *values, size_t count, size_t n,
			    struct buf *out)
{
	struct ints_range m = ints_range(values, count);
	uint8_t *numbers =
		c->planes + 8 * STORE_DICT_MAX; /* clear of the planes of the dictionary's values */

	put_byte(out, (uint8_t)(count - 1));
	assert(count <= STORE_DICT_MAX && n <= 8 * (STORE_ROWS_MAX - STORE_DICT_MAX));
	memmove(numbers, c->planes, n);
	planes_encode(c, values, count, m, out);
	return blob_encode(c, numbers, n, out);
}

#define JOIN_ROWS 1024 /* joined at a time, so that they stay in the L1 cache */

/* Whether n > 0 bytes are all the same. */
static bool all_same(const uint8_t *b, size_t n)
{
	uint8_t differ = 0;

	for (size_t i = 0; i < n; i++)
		differ |= b[i] ^ b[0];
	return !differ;
}

/* Joins values from their low bytes in the first `width` planes, which are `stride` bytes apart. */
static void join(const uint8_t *restrict b, size_t stride, unsigned int width, int64_t base,
		 int64_t *restrict out, size_t n)
{
	const uint8_t *b1 = b + stride, *b2 = b1 + stride, *b3 = b2 + stride;

	switch (width) {
	case 0:
		for (size_t i = 0; i < n; i++)
			out[i] = base;
		return;
	case 1:
		for (size_t i = 0; i < n; i++)
			out[i] = wrap_add(base, b[i]);
		return;
	case 2:
		for (size_t i = 0; i < n; i++)
			out[i] = wrap_add(base, b[i] | b1[i] << 8);
		return;
	case 3:
		for (size_t i = 0; i < n; i++)
			out[i] = wrap_add(base, b[i] | b1[i] << 8 | b2[i] << 16);
		return;
	default:
		for (size_t i = 0; i < n; i++)
			out[i] = wrap_add(base, (uint32_t)(b[i] | b1[i] << 8 | b2[i] << 16) |
							(uint32_t)b3[i] << 24);
		for (unsigned int p = 4; p < width; p++) {
			for (size_t i = 0; i < n; i++)
				out[i] = wrap_add(
					out[i], (int64_t)((uint64_t)b[p * stride + i] << (8 * p)));
		}
	}
}

/*
 * Most values have the same high bytes, and one outlier gives a block eight planes. High planes that are constant are
 * therefore added as one number.
 */
static void planes_join(const uint8_t *planes, unsigned int width, int64_t base, int64_t *out,
			size_t n)
{
	assert(width <= sizeof(out[0]));
	for (size_t at = 0; at < n; at += JOIN_ROWS) {
		const uint8_t *b = planes + at;
		size_t rows = MIN(n - at, (size_t)JOIN_ROWS);
		unsigned int w = width;
		int64_t high = base;

		for (; w && all_same(b + (w - 1) * n, rows); w--)
			high = wrap_add(high, (int64_t)((uint64_t)b[(w - 1) * n] << (8 * (w - 1))));
		join(b, n, w, high, out + at, rows);
	}
}

static int planes_decode(struct codec *c, const uint8_t **p, const uint8_t *end, int64_t *out,
			 size_t n)
{
	uint64_t base;
	unsigned int width;

	assert(n > 0 && n <= STORE_ROWS_MAX);
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

/* Bits that the n bytes of plane p would take, each coded alone. */
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
	struct ints_range m;
	double bits = 32;

	if (!n)
		return 0;
	m = ints_range(v, n);
	for (unsigned int p = 0; p < byte_width((uint64_t)wrap_sub(m.max, m.min)); p++)
		bits += plane_bits(v, n, m.min, p);
	return (size_t)(bits / 8);
}

int ints_encode(struct codec *c, const int64_t *v, size_t n, struct buf *out)
{
	assert(n <= STORE_ROWS_MAX);
	return n ? ints_encode_range(c, v, n, ints_range(v, n), out) : 0;
}

int ints_encode_range(struct codec *c, const int64_t *v, size_t n, struct ints_range m,
		      struct buf *out)
{
	int64_t values[STORE_DICT_MAX];
	size_t count = 0;

	assert(n > 0 && n <= STORE_ROWS_MAX);
	assert(m.min <= m.max);
	if (m.min == m.max) {
		put_byte(out, INTS_CONST);
		return buf_varint(out, zigzag(m.min));
	}
	if (byte_width((uint64_t)wrap_sub(m.max, m.min)) > 1 && n >= DICT_ROWS_MIN)
		count = dict_find(c, v, n, values);
	put_byte(out, count ? INTS_DICT : INTS_PLANES);
	return count ? ints_dict_encode(c, values, count, n, out) : planes_encode(c, v, n, m, out);
}

static int ints_dict_decode(struct codec *c, const uint8_t **p, const uint8_t *end, int64_t *out,
			    size_t n)
{
	int64_t values[STORE_DICT_MAX];
	unsigned int count, most = 0;

	if (*p >= end)
		return -EBADMSG;
	count = *(*p)++ + 1u;
	if (planes_decode(c, p, end, values, count) < 0 || blob_decode(c, p, end, c->planes, n) < 0)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		most = MAX(most, c->planes[i]);
	if (most >= count)
		return -EBADMSG;
	for (size_t i = 0; i < n; i++)
		out[i] = values[c->planes[i]];
	return 0;
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
	case INTS_DICT:
		return ints_dict_decode(c, p, end, out, n);
	default:
		return -EBADMSG;
	}
}
