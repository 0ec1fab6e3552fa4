/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <errno.h>
#include <stddef.h>
#include <string.h>

/* Chunks double in size: many small arenas stay small, and large ones have few chunks. */
#define ARENA_CHUNK_MIN ((size_t)8 << 10)
#define ARENA_CHUNK_MAX ((size_t)256 << 10)

struct arena_chunk {
	struct arena_chunk *next;
	size_t cap, used;
	max_align_t data[];
};

void arena_free(struct arena *a)
{
	while (a->first) {
		struct arena_chunk *next = a->first->next;

		free(a->first);
		a->first = next;
	}
	a->at = NULL;
}

int arena_new(struct arena **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void arena_delete(struct arena *a)
{
	if (a)
		arena_free(a);
	free(a);
}

/* Reuses the next chunk, which an arena keeps when it shrinks, unless it is too small; then it is freed. */
static struct arena_chunk *arena_next(struct arena *a, size_t size)
{
	struct arena_chunk **link = a->at ? &a->at->next : &a->first;
	size_t cap = a->at ? MIN(2 * a->at->cap, ARENA_CHUNK_MAX) : ARENA_CHUNK_MIN;

	while (*link && (*link)->cap < size) {
		struct arena_chunk *small = *link;

		*link = small->next;
		free(small);
	}
	if (!*link) {
		cap = MAX(cap, size);
		*link = malloc(sizeof(**link) + cap);
		if (!*link)
			return NULL;
		**link = (struct arena_chunk){.cap = cap};
	}
	(*link)->used = 0;
	return *link;
}

void *arena_take(struct arena *a, size_t size)
{
	struct arena_chunk *c = a->at;
	void *p;

	if (size > SIZE_MAX / 2)
		return NULL;
	size = align_up(MAX(size, (size_t)1), sizeof(max_align_t));
	assert(!c || c->used <= c->cap);
	if (!c || c->cap - c->used < size) {
		c = arena_next(a, size);
		if (!c)
			return NULL;
		a->at = c;
	}
	p = (uint8_t *)c->data + c->used;
	c->used += size;
	return p;
}

void *arena_alloc(struct arena *a, size_t count, size_t size)
{
	size_t bytes;
	void *p;

	if (__builtin_mul_overflow(count, size, &bytes))
		return NULL;
	p = arena_take(a, bytes);
	return p ? memset(p, 0, bytes) : NULL;
}

int arena_text(struct arena *a, struct bytes text, struct bytes *ret)
{
	uint8_t *to = arena_take(a, text.len + 1);

	if (!to)
		return -ENOMEM;
	if (text.len)
		memcpy(to, text.data, text.len);
	to[text.len] = '\0';
	*ret = (struct bytes){to, text.len};
	return 0;
}

struct arena_mark arena_mark(const struct arena *a)
{
	return (struct arena_mark){a->at, a->at ? a->at->used : 0};
}

void arena_back(struct arena *a, struct arena_mark m)
{
	a->at = m.chunk;
	if (!a->at)
		return;
	assert(m.used <= a->at->used); /* marks can only shrink a stack */
	a->at->used = m.used;
}
