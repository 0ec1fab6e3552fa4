/* SPDX-License-Identifier: Apache-2.0 */
/* arena.c: memory of a plan, given back all at once. */
#include <errno.h>
#include <string.h>

#include "query/internal.h"

#define CHUNK_SIZE 8192

struct arena_chunk {
	struct arena_chunk *next;
	max_align_t data[];
};

static_assert(CHUNK_SIZE % sizeof(max_align_t) == 0, "what is left of a chunk stays aligned");

struct plan_arena {
	struct arena_chunk *chunks;
	uint8_t *free;
	size_t left;
};

int arena_new(struct plan_arena **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void arena_free(struct plan_arena *a)
{
	if (!a)
		return;
	while (a->chunks) {
		struct arena_chunk *c = a->chunks;

		a->chunks = c->next;
		free(c);
	}
	free(a);
}

void *arena_alloc(struct plan_arena *a, size_t count, size_t size)
{
	size_t bytes;
	void *p;
	assert(size > 0);

	if (__builtin_mul_overflow(count, size, &bytes) || bytes > SIZE_MAX / 2)
		return NULL;
	bytes = align_up(MAX(bytes, (size_t)1), sizeof(max_align_t));
	if (bytes > a->left) {
		size_t room = MAX(bytes, (size_t)CHUNK_SIZE);
		struct arena_chunk *c = calloc(1, sizeof(*c) + room);

		if (!c)
			return NULL;
		c->next = a->chunks;
		a->chunks = c;
		if (room > CHUNK_SIZE) /* a large one of its own; go on with the rest of the last */
			return c->data;
		a->free = (uint8_t *)c->data;
		a->left = room;
	}
	p = a->free;
	assert(p && ((uintptr_t)p % sizeof(void *)) == 0);
	assert(bytes <= a->left);
	a->free += bytes;
	a->left -= bytes;
	return p;
}
