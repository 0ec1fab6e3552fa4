/* SPDX-License-Identifier: Apache-2.0 */
#include "base/util.h"

#include <errno.h>
#include <string.h>

int grow(void **items, size_t *cap, size_t want, size_t size)
{
	size_t next = *cap ? *cap : 16;
	size_t bytes;
	void *p;

	assert(size > 0);
	if (want <= *cap)
		return 0;
	while (next < want) {
		if (__builtin_mul_overflow(next, 2, &next))
			return -ENOMEM;
	}
	if (__builtin_mul_overflow(next, size, &bytes))
		return -ENOMEM;
	p = realloc(*items, bytes);
	if (!p)
		return -ENOMEM;
	*items = p;
	*cap = next;
	return 0;
}

int grow_zeroed(void **items, size_t *cap, size_t want, size_t size)
{
	size_t had = *cap;
	int r = grow(items, cap, want, size);

	if (r >= 0 && *cap > had)
		memset((uint8_t *)*items + had * size, 0, (*cap - had) * size);
	return r;
}
