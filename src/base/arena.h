/* SPDX-License-Identifier: Apache-2.0 */
/*
 * arena.h: memory that is freed all at once, or back to a mark as on a stack. Addresses never move. Starts as {0};
 * arena_free() at the end.
 */
#pragma once

#include "base/map.h"

struct arena_chunk;
struct arena {
	struct arena_chunk *first, *at;
};

void arena_free(struct arena *a);
/* An arena on the heap, for owners that hold only a pointer. 0 or -ENOMEM. */
int arena_new(struct arena **ret) _must_check_;
void arena_delete(struct arena *a);
/* Memory aligned for any type, not zeroed; NULL if out of memory. */
void *arena_take(struct arena *a, size_t size);
/* Zeroed; NULL also if count * size overflows. */
void *arena_alloc(struct arena *a, size_t count, size_t size);
/* A copy of the text, followed by a NUL that its length does not count. 0 or -ENOMEM. */
int arena_text(struct arena *a, struct bytes text, struct bytes *ret);

struct arena_mark {
	struct arena_chunk *chunk;
	size_t used;
};
struct arena_mark arena_mark(const struct arena *a);
/* Frees everything taken since the mark; the chunks are kept for reuse. */
void arena_back(struct arena *a, struct arena_mark m);
/* Frees everything; the chunks are kept. */
static inline void arena_clear(struct arena *a)
{
	arena_back(a, (struct arena_mark){0});
}
