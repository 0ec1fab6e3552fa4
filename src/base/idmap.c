/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"

#include <errno.h>
#include <string.h>

void idmap_free(struct idmap *m)
{
	uint64_t key, value;
	size_t pos = 0;

	while (map_next(&m->pages, &pos, &key, &value))
		free((void *)(uintptr_t)value);
	map_free(&m->pages);
	*m = (struct idmap){0};
}

uint32_t *idmap_page(struct idmap *m, uint64_t page)
{
	uint64_t value;

	if (!map_get(&m->pages, page, &value))
		return NULL;
	m->last_page = page;
	m->last = (void *)(uintptr_t)value;
	return m->last;
}

static int add_page(struct idmap *m, uint64_t page, uint32_t **ret)
{
	uint32_t *ids = malloc(IDMAP_PAGE * sizeof(*ids));
	int r;

	if (!ids)
		return -ENOMEM;
	memset(ids, 0xff, IDMAP_PAGE * sizeof(*ids)); /* IDMAP_NONE */
	r = map_set(&m->pages, page, (uint64_t)(uintptr_t)ids);
	if (r < 0) {
		free(ids);
		return r;
	}
	*ret = ids;
	return 0;
}

int idmap_set(struct idmap *m, int64_t key, int64_t id)
{
	uint64_t page = (uint64_t)key / IDMAP_PAGE;
	uint32_t *ids = m->last && m->last_page == page ? m->last : idmap_page(m, page);
	int r;

	assert(key >= 0 && id >= 0);
	if (id >= IDMAP_NONE)
		return -EOVERFLOW;
	if (!ids) {
		r = add_page(m, page, &ids);
		if (r < 0)
			return r;
	}
	ids[(uint64_t)key % IDMAP_PAGE] = (uint32_t)id;
	return 0;
}

int64_t idmap_find(const struct idmap *m, int64_t key)
{
	uint64_t page;
	uint32_t id;

	if (key < 0 || !map_get(&m->pages, (uint64_t)key / IDMAP_PAGE, &page))
		return -1;
	id = ((const uint32_t *)(uintptr_t)page)[(uint64_t)key % IDMAP_PAGE];
	return id == IDMAP_NONE ? -1 : (int64_t)id;
}
