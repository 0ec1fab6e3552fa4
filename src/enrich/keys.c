/* SPDX-License-Identifier: Apache-2.0 */
#include "enrich/keys.h"

void keys_free(struct keys *k)
{
	map_free(&k->map);
	*k = (struct keys){0};
}

static void cache_put(struct keys *k, int64_t key, int64_t id)
{
	size_t slot = ((uint64_t)key ^ (uint64_t)key >> 32) & (KEYS_CACHE - 1);

	k->cache[slot].key_plus_1 = (uint64_t)key + 1;
	k->cache[slot].id = id;
}

int64_t keys_find_slow(struct keys *k, int64_t key)
{
	uint64_t id;

	if (!map_get(&k->map, (uint64_t)key, &id))
		return -1;
	cache_put(k, key, (int64_t)id);
	return (int64_t)id;
}

int keys_add(struct keys *k, int64_t key, int64_t *ret_id)
{
	int64_t id = keys_find(k, key);
	int r;

	if (id < 0) {
		id = k->next;
		r = map_set(&k->map, (uint64_t)key, (uint64_t)id);
		if (r < 0)
			return r;
		k->next++;
		cache_put(k, key, id);
	}
	*ret_id = id;
	return 0;
}
