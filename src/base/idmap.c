/* SPDX-License-Identifier: Apache-2.0 */
#include "base/idmap.h"

#include <errno.h>
#include <string.h>

#define PACKED_NONE UINT8_MAX

/* A page whose numbers are close together, as in a run of new files. */
struct packed {
	uint32_t base; /* the smallest number */
	uint8_t offset[IDMAP_PAGE];
};

/*
 * The value of a page in the map: the address of its numbers; the address of a packed page, plus 1; or, if each number
 * is `step` more than the one before, no address but the first number, the step, and 3 in the lowest bits.
 */
#define STEP_MAX 255
#define IS_STEPS 3

static struct packed *packed_of(uint64_t value)
{
	return (value & 3) == 1 ? (struct packed *)(uintptr_t)(value - 1) : NULL;
}

static bool is_steps(uint64_t value)
{
	return (value & 3) == IS_STEPS;
}

static uint64_t steps_pack(uint32_t first, uint32_t step)
{
	return (uint64_t)first << 32 | step << 2 | IS_STEPS;
}

static uint32_t steps_get(uint64_t value, unsigned int i)
{
	return (uint32_t)(value >> 32) + i * ((uint32_t)value >> 2);
}

void idmap_free(struct idmap *m)
{
	uint64_t key, value;
	size_t pos = 0;

	while (map_next(&m->pages, &pos, &key, &value)) {
		if (!is_steps(value))
			free((void *)(uintptr_t)(value & ~3ull));
	}
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
	if (is_steps(value))
		return steps_get(value, (uint64_t)key % IDMAP_PAGE);
	p = packed_of(value);
	if (p) {
		uint8_t offset = p->offset[(uint64_t)key % IDMAP_PAGE];

		return offset == PACKED_NONE ? -1 : (int64_t)p->base + offset;
	}
	id = ((const uint32_t *)(uintptr_t)value)[(uint64_t)key % IDMAP_PAGE];
	return id == IDMAP_NONE ? -1 : (int64_t)id;
}

/* The page as steps; 0: its numbers are not evenly spaced. */
static uint64_t as_steps(const uint32_t ids[IDMAP_PAGE])
{
	uint32_t step = ids[1] - ids[0];

	if (ids[0] == IDMAP_NONE || step > STEP_MAX)
		return 0;
	for (unsigned int i = 1; i < IDMAP_PAGE; i++) {
		if (ids[i] == IDMAP_NONE || ids[i] - ids[i - 1] != step)
			return 0;
	}
	return steps_pack(ids[0], step);
}

/* The page as offsets from its smallest number; 0: the offsets are too large, or out of memory. */
static uint64_t as_packed(const uint32_t ids[IDMAP_PAGE])
{
	uint32_t base = IDMAP_NONE;
	struct packed *p;

	for (unsigned int i = 0; i < IDMAP_PAGE; i++)
		base = MIN(base, ids[i]);
	for (unsigned int i = 0; i < IDMAP_PAGE; i++) {
		if (ids[i] != IDMAP_NONE && ids[i] - base >= PACKED_NONE)
			return 0;
	}
	p = malloc(sizeof(*p));
	if (!p)
		return 0;
	p->base = base;
	for (unsigned int i = 0; i < IDMAP_PAGE; i++)
		p->offset[i] = ids[i] == IDMAP_NONE ? PACKED_NONE : (uint8_t)(ids[i] - base);
	return (uint64_t)(uintptr_t)p | 1;
}

/* Packs a page if its numbers allow it. */
static void page_pack(struct idmap *m, uint64_t page)
{
	uint64_t value, small;
	uint32_t *ids;

	if (!map_get(&m->pages, page, &value) || value & 3)
		return;
	ids = (void *)(uintptr_t)value;
	small = as_steps(ids);
	small = small ? small : as_packed(ids);
	if (!small)
		return;
	if (map_set(&m->pages, page, small) < 0) { /* the key exists: no memory is needed */
		free(packed_of(small));
		return;
	}
	free(ids);
	if (m->last == ids)
		m->last = NULL;
}

/* A page in which a number can be set: a new one (`small` is 0), or the unpacked copy of a packed one. */
static int page_open(struct idmap *m, uint64_t page, uint64_t small, uint32_t **ret)
{
	uint32_t *ids = malloc(IDMAP_PAGE * sizeof(*ids));
	struct packed *packed = packed_of(small);
	int r;

	if (!ids)
		return -ENOMEM;
	memset(ids, 0xff, IDMAP_PAGE * sizeof(*ids)); /* IDMAP_NONE */
	for (unsigned int i = 0; i < IDMAP_PAGE; i++) {
		if (is_steps(small))
			ids[i] = steps_get(small, i);
		else if (packed && packed->offset[i] != PACKED_NONE)
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
	int r = 0;

	if (!map_get(&m->pages, page, &value) && page >= IDMAP_WIDE)
		page_pack(m, page - IDMAP_WIDE);
	if (!value || value & 3)
		r = page_open(m, page, value, &ids);
	else
		ids = (void *)(uintptr_t)value;
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

	if (map_get(&m->pages, page, &value) && !(value & 3)) {
		m->last_page = page;
		m->last = (void *)(uintptr_t)value;
	}
	return idmap_find(m, key);
}
