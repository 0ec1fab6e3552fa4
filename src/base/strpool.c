/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strpool.h"

#include <errno.h>
#include <string.h>

#define STRPOOL_CHUNK	  ((size_t)64 << 10)
#define STRPOOL_SLOTS_MIN 64

struct strpool_chunk {
	struct strpool_chunk *next;
	size_t used;
	uint8_t data[];
};

void strpool_free(struct strpool *p)
{
	while (p->chunks) {
		struct strpool_chunk *next = p->chunks->next;

		free(p->chunks);
		p->chunks = next;
	}
	free(p->slots);
	*p = (struct strpool){0};
}

static struct bytes *strpool_find_slot(struct bytes *slots, size_t cap, const void *data,
				       size_t len)
{
	size_t i = hash_bytes(data, len) & (cap - 1);

	while (slots[i].data && (slots[i].len != len || memcmp(slots[i].data, data, len)))
		i = (i + 1) & (cap - 1);
	return &slots[i];
}

static int strpool_grow_slots(struct strpool *p)
{
	size_t cap = p->cap ? p->cap * 2 : STRPOOL_SLOTS_MIN;
	struct bytes *slots = calloc(cap, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < p->cap; i++) {
		if (p->slots[i].data)
			*strpool_find_slot(slots, cap, p->slots[i].data, p->slots[i].len) =
				p->slots[i];
	}
	p->bytes += (cap - p->cap) * sizeof(*slots);
	free(p->slots);
	p->slots = slots;
	p->cap = cap;
	return 0;
}

/* Reserves `len` bytes at a stable address; a long string gets a chunk of its own behind the newest. */
static uint8_t *strpool_take_room(struct strpool *p, size_t len)
{
	struct strpool_chunk *c = p->chunks;

	if (len > p->free) {
		bool alone = c && len > STRPOOL_CHUNK / 4;
		size_t size = alone ? len : MAX(len, STRPOOL_CHUNK);

		c = malloc(sizeof(*c) + size);
		if (!c)
			return NULL;
		c->used = len;
		p->bytes += sizeof(*c) + size;
		if (alone) {
			c->next = p->chunks->next;
			p->chunks->next = c;
		} else {
			c->next = p->chunks;
			p->chunks = c;
			p->free = size - len;
		}
		return c->data;
	}
	p->free -= len;
	c->used += len;
	return c->data + c->used - len;
}

int strpool_add(struct strpool *p, const void *data, size_t len, struct bytes *ret)
{
	struct bytes *slot;
	uint8_t *copy;

	if (!data) {
		assert(!len);
		*ret = (struct bytes){NULL, 0};
		return 0;
	}
	if (p->count + 1 > p->cap / 4 * 3 && strpool_grow_slots(p) < 0)
		return -ENOMEM;
	slot = strpool_find_slot(p->slots, p->cap, data, len);
	if (!slot->data) {
		copy = strpool_take_room(p, len + 1);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, data, len);
		copy[len] = 0;
		*slot = (struct bytes){copy, len};
		p->count++;
	}
	*ret = *slot;
	return 0;
}
