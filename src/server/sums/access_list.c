// SPDX-License-Identifier: Apache-2.0
#include "server/sums/access_list.h"

#include <errno.h>

#include "base/varint.h"

/*
 * A call is encoded as a byte of these flags, the distance from the previous end, the distance from the position
 * where the previous call ended (both zigzag), and, without SAME_BYTES, the bytes.
 */
#define WRITE	   1u
#define SAME_BYTES 2u
#define BEGIN	   4u /* first in its list */

void access_list_free(struct access_list *t)
{
	buf_free(&t->packed);
	*t = (struct access_list){0};
}

int access_list_add(struct access_list *t, const struct touch *x)
{
	const struct touch *was = &t->last;
	bool same = t->count && was->bytes == x->bytes;
	uint8_t packed[1 + 3 * VARINT_MAX];
	size_t n = 1;
	int r;

	packed[0] = (uint8_t)((x->write ? WRITE : 0) | (same ? SAME_BYTES : 0) |
			      (t->count ? 0 : BEGIN));
	n += varint_put(packed + n, zigzag((int64_t)((uint64_t)x->end - (uint64_t)was->end)));
	n += varint_put(packed + n,
			zigzag((int64_t)((uint64_t)x->pos - ((uint64_t)was->pos + was->bytes))));
	if (!same)
		n += varint_put(packed + n, x->bytes);
	r = buf_append(&t->packed, packed, n);
	if (r < 0)
		return r;
	t->last = *x;
	t->count++;
	return 0;
}

int access_list_append(struct access_list *to, const struct access_list *from)
{
	int r = from->count ? buf_append(&to->packed, from->packed.data, from->packed.len) : 0;

	if (r < 0 || !from->count)
		return r;
	to->count += from->count;
	to->last = from->last;
	return 0;
}

void access_list_trim(struct access_list *t)
{
	void *p = t->packed.len ? realloc(t->packed.data, t->packed.len) : NULL;

	if (p) {
		t->packed.data = p;
		t->packed.cap = t->packed.len;
	}
}

int access_list_each(const struct access_list *t, int (*take)(void *arg, const struct touch *x),
		     void *arg)
{
	const uint8_t *p = t->packed.data, *end = t->packed.len ? p + t->packed.len : p;
	struct touch x = {0};
	int r = 0;

	for (size_t i = 0; i < t->count && r >= 0; i++) {
		uint8_t flags = *p++;
		uint64_t behind;

		if (flags & BEGIN)
			x = (struct touch){0};
		behind = (uint64_t)x.pos + x.bytes;
		x.end = (int64_t)((uint64_t)x.end + (uint64_t)unzigzag(varint_known(&p, end)));
		x.pos = (int64_t)(behind + (uint64_t)unzigzag(varint_known(&p, end)));
		if (!(flags & SAME_BYTES))
			x.bytes = varint_known(&p, end);
		x.write = flags & WRITE;
		r = take(arg, &x);
	}
	return r;
}
