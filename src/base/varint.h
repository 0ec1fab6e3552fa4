/* SPDX-License-Identifier: Apache-2.0 */
/* varint.h: LEB128: seven bits a byte, the lowest first; small numbers take one byte. */
#pragma once

#include "base/util.h"

#define VARINT_MAX 10

/* LEB128; returns the length. */
static inline size_t varint_put(uint8_t *p, uint64_t v)
{
	size_t n = 0;

	for (; v >= 0x80; v >>= 7)
		p[n++] = (uint8_t)(v | 0x80);
	p[n++] = (uint8_t)v;
	return n;
}

/* Reads one from [*p, end); false where it is cut or too long. */
static inline bool varint_get(const uint8_t **p, const uint8_t *end, uint64_t *ret)
{
	uint64_t v = 0;

	for (unsigned int shift = 0; shift < 64 && *p < end; shift += 7) {
		uint8_t b = *(*p)++;

		v |= (uint64_t)(b & 0x7f) << shift;
		if (!(b & 0x80)) {
			*ret = v;
			return true;
		}
	}
	return false;
}
