/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"

#include <errno.h>
#include <string.h>

#define PACKED_NONE UINT8_MAX

/* A page whose numbers lie close together, as those of a run of new files do. */
struct packed {
	uint32_t base; /* the least of them */
	uint8_t offset[IDMAP_PAGE];
};

/* In the map, the address of a packed page is odd. */
static struct packed *packed_of(uint64_t value)
{
	return value & 1 ? (struct packed *)(uintptr_t)(value - 1) : NULL;
}

void idmap_free(struct idmap *m)
{
	uint64_t key, value;
	size_t pos = 0;

	while (map_next(&m->pages, &pos, &key, &value))
		free((void *)(uintptr_t)(value & ~1ull));
	map_free(&m->pages);
	*m = (struct idmap){0};
}

int64_t idmap_find(const struct idmap *m, int64_t key)
{
	const struct packed *p;
	uint64_t value;
	uint32_t id;

	if (key < 0 || !map_get(&m->pages, (uint64_t)key / IDMAP_PAGE, &value))
		return -1;
	p = packed_of(value);
	if (p) {
		uint8_t offset = p->offset[(uint64_t)key % IDMAP_PAGE];

		return offset == PACKED_NONE ? -1 : (int64_t)p->base + offset;
	}
	id = ((const uint32_t *)(uintptr_t)value)[(uint64_t)key % IDMAP_PAGE];
	return id == IDMAP_NONE ? -1 : (int64_t)id;
}

/* Makes a page small, where its numbers allow that; without memory it stays as it is. */
static void page_pack(struct idmap *m, uint64_t page)
{
	struct packed *p;
	uint64_t value;
	uint32_t *ids;

	if (!map_get(&m->pages, page, &value) || packed_of(value))
		return;
	ids = (void *)(uintptr_t)value;
	p = malloc(sizeof(*p));
	if (!p)
		return;
	p->base = IDMAP_NONE;
	for (unsigned int i = 0; i < IDMAP_PAGE; i++)
		p->base = MIN(p->base, ids[i]);
	for (unsigned int i = 0; i < IDMAP_PAGE; i++) {
		p->offset[i] = ids[i] == IDMAP_NONE ? PACKED_NONE : (uint8_t)(ids[i] - p->base);
		if (ids[i] == IDMAP_NONE || ids[i] - p->base < PACKED_NONE)
			continue;
		free(p);
		return;
	}
	if (map_set(&m->pages, page, (uint64_t)(uintptr_t)p | 1) < 0) {
		free(p);
		return;
	}
	free(ids);
	if (m->last == ids)
		m->last = NULL;
}

/* A page in which a number can be set: a new one, or one that was packed and is wide again. */
static int page_open(struct idmap *m, uint64_t page, struct packed *packed, uint32_t **ret)
{
	uint32_t *ids = malloc(IDMAP_PAGE * sizeof(*ids));
	int r;

	if (!ids)
		return -ENOMEM;
	memset(ids, 0xff, IDMAP_PAGE * sizeof(*ids)); /* IDMAP_NONE */
	for (unsigned int i = 0; packed && i < IDMAP_PAGE; i++) {
		if (packed->offset[i] != PACKED_NONE)
			ids[i] = packed->base + packed->offset[i];
	}
	r = map_set(&m->pages, page, (uint64_t)(uintptr_t)ids);
	if (r < 0) {
		free(ids);
		return r;
	}
	free(packed);
	*ret = ids;
	return 0;
}

static int page_at(struct idmap *m, uint64_t page)
{
	uint64_t value = 0;
	uint32_t *ids;
	int r;

	if (!map_get(&m->pages, page, &value) && page >= IDMAP_WIDE)
		page_pack(m, page - IDMAP_WIDE);
	ids = packed_of(value) ? NULL : (void *)(uintptr_t)value;
	r = ids ? 0 : page_open(m, page, packed_of(value), &ids);
	if (r < 0)
		return r;
	m->last_page = page;
	m->last = ids;
	return 0;
}

int idmap_set(struct idmap *m, int64_t key, int64_t id)
{
	uint64_t page = (uint64_t)key / IDMAP_PAGE;
	int r = 0;

	assert(key >= 0 && id >= 0);
	if (id >= IDMAP_NONE)
		return -EOVERFLOW;
	if (!m->last || m->last_page != page)
		r = page_at(m, page);
	if (r < 0)
		return r;
	m->last[(uint64_t)key % IDMAP_PAGE] = (uint32_t)id;
	return 0;
}

int64_t idmap_look(struct idmap *m, int64_t key)
{
	uint64_t page = (uint64_t)key / IDMAP_PAGE, value;

	if (map_get(&m->pages, page, &value) && !packed_of(value)) {
		m->last_page = page;
		m->last = (void *)(uintptr_t)value;
	}
	return idmap_find(m, key);
}
