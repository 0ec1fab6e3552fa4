/* SPDX-License-Identifier: Apache-2.0 */
/* varint.h: LEB128: seven bits per byte, lowest first; small numbers take one byte. */
#pragma once

#include "base/util.h"

#define VARINT_MAX 10

/* Encodes; returns the length. */
static inline size_t varint_put(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	return n;
}

/* Reads one from [*p, end); false if it is truncated or does not fit into 64 bits. */
static inline bool varint_get(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64 && *p < end; shift += 7) {
		uint8_t b = *(*p)++;

		if (shift == 63 && (b & 0x7f) > 1)
			return false;
		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}

/* Decodes a varint that this process wrote with varint_put(): it is complete. */
static inline uint64_t varint_known(const uint8_t **p, const uint8_t *end)
{
	uint64_t v = 0;
	bool good;

	if (likely(*p < end && **p < 0x80)) /* the common case */
		return *(*p)++;
	good = varint_get(p, end, &v);
	assert(good);
	return v;
}

/* Maps a signed number near 0 to a small unsigned one: 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline uint64_t zigzag(int64_t v)
{
	return ((uint64_t)v << 1) ^ (uint64_t)(v >> 63);
}

static inline int64_t unzigzag(uint64_t v)
{
	return (int64_t)(v >> 1) ^ -(int64_t)(v & 1);
}
