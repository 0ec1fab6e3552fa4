// SPDX-License-Identifier: Apache-2.0
/* alike_index.c: maps keys to numbers of calls and kinds, and ids to numbers, in 4 bytes per slot instead of a map's 16. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/alike/alike.h"

#define INDEX_LEAST 1024 /* a power of two */
#define NUMBER_BITS 24
#define NUMBER_MASK ((1u << NUMBER_BITS) - 1)

_Static_assert(ALIKE_CALLS_MAX < NUMBER_MASK && ALIKE_KINDS_MAX < NUMBER_MASK, "bits of a slot");

/* The upper bits of a slot are bits of the key, so that keys of other numbers rarely have to be computed. */
static uint32_t alike_index_tag(uint64_t key)
{
	return (uint32_t)(key >> 32) & ~NUMBER_MASK;
}

/* The slot of the key, or the free slot where it belongs. */
static size_t alike_index_slot(const struct alike *a, const struct alike_index *x, uint64_t key)
{
	size_t at = (size_t)key & (x->cap - 1);

	while (x->slots[at] && ((x->slots[at] & ~NUMBER_MASK) != alike_index_tag(key) ||
				x->key(a, (x->slots[at] & NUMBER_MASK) - 1) != key))
		at = (at + 1) & (x->cap - 1);
	return at;
}

uint32_t alike_index_find(const struct alike *a, const struct alike_index *x, uint64_t key)
{
	uint32_t slot = x->cap ? x->slots[alike_index_slot(a, x, key)] : 0;

	return slot ? (slot & NUMBER_MASK) - 1 : ALIKE_NONE;
}

static void alike_index_put(const struct alike *a, struct alike_index *x, uint32_t number)
{
	uint64_t key = x->key(a, number);

	x->slots[alike_index_slot(a, x, key)] = alike_index_tag(key) | (number + 1);
}

int alike_index_add(const struct alike *a, struct alike_index *x, uint32_t number)
{
	assert(number == x->count && number < NUMBER_MASK);
	if (x->count >= x->cap / 4 * 3) {
		size_t cap = x->cap ? 2 * x->cap : INDEX_LEAST;
		uint32_t *slots = calloc(cap, sizeof(*slots));

		if (!slots)
			return -ENOMEM;
		free(x->slots);
		x->slots = slots;
		x->cap = cap;
		for (uint32_t i = 0; i < x->count; i++)
			alike_index_put(a, x, i);
	}
	alike_index_put(a, x, number);
	x->count++;
	return 0;
}

void alike_index_free(struct alike_index *x)
{
	free(x->slots);
	*x = (struct alike_index){.key = x->key};
}

int64_t alike_ids_number(struct alike_ids *x, int64_t id)
{
	int64_t at = id < 0 ? (int64_t)ALIKE_NONE : idmap_get(&x->numbers, id);

	if (at >= 0)
		return at;
	if (grow((void **)&x->all, &x->cap, x->count + 1, sizeof(*x->all)) < 0 ||
	    idmap_set(&x->numbers, id, (int64_t)x->count) < 0)
		return -ENOMEM;
	x->all[x->count] = id;
	return (int64_t)x->count++;
}

void alike_ids_free(struct alike_ids *x)
{
	free(x->all);
	idmap_free(&x->numbers);
}
