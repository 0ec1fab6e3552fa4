// SPDX-License-Identifier: Apache-2.0
#include "base/utf8.h"

size_t utf8_decode(const void *data, size_t len, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; /* smaller: overlong */
	const uint8_t *p = data;
	size_t n;
	uint32_t c;

	if (p[0] < 0x80) {
		*ret = p[0];
		return 1;
	}
	n = p[0] >= 0xf8 ? 0 : p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : p[0] >= 0xc0 ? 2 : 0;
	if (!n || n > len)
		return 0;
	c = p[0] & (0xffu >> (n + 1));
	for (size_t i = 1; i < n; i++) {
		if ((p[i] & 0xc0) != 0x80)
			return 0;
		c = c << 6 | (p[i] & 0x3f);
	}
	if (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		return 0;
	*ret = c;
	return n;
}

bool utf8_is_shown(uint32_t c)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x0, 0x1f},	  {0x7f, 0x9f},	    {0xad, 0xad},	 {0x61c, 0x61c},
		{0x200b, 0x200f}, {0x2028, 0x202e}, {0x2060, 0x206f},	 {0xe000, 0xf8ff},
		{0xfeff, 0xfeff}, {0xfff0, 0xfffb}, {0xe0000, 0x10ffff},
	};

	if (c >= 0x20 && c < 0x7f)
		return true; /* most text */
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		if (c >= hidden[i].first && c <= hidden[i].last)
			return false;
	}
	return true;
}
