/* SPDX-License-Identifier: Apache-2.0 */
#include "enrich/keys.h"

void keys_free(struct keys *k)
{
	idmap_free(&k->ids);
	*k = (struct keys){0};
}

int keys_add(struct keys *k, int64_t key, int64_t *ret_id)
{
	int64_t id = keys_find(k, key);
	int r;

	if (id < 0) {
		id = k->next;
		r = idmap_set(&k->ids, key, id);
		if (r < 0)
			return r;
		k->next++;
	}
	*ret_id = id;
	return 0;
}
