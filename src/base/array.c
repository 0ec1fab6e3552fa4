// SPDX-License-Identifier: Apache-2.0
#include "base/array.h"

void *array_element(void **items, size_t *count, size_t *cap, size_t size, struct map *map,
		    uint64_t key, bool *ret_new)
{
	uint64_t at;
	bool known = map_get(map, key, &at);

	if (ret_new)
		*ret_new = !known;
	if (!known) {
		if (grow(items, cap, *count + 1, size) < 0 || map_set(map, key, *count) < 0)
			return NULL;
		at = (*count)++;
		memset((uint8_t *)*items + at * size, 0, size);
	}
	return (uint8_t *)*items + at * size;
}

uint32_t *array_indexes(size_t count)
{
	uint32_t *all = malloc((count + 1) * sizeof(*all));

	for (size_t i = 0; all && i < count; i++)
		all[i] = (uint32_t)i;
	return all;
}

int order_u32(const void *a, const void *b)
{
	return ORDER(*(const uint32_t *)a, *(const uint32_t *)b);
}

int order_u64(const void *a, const void *b)
{
	return ORDER(*(const uint64_t *)a, *(const uint64_t *)b);
}

int order_i64(const void *a, const void *b)
{
	return ORDER(*(const int64_t *)a, *(const int64_t *)b);
}
