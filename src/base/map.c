/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <errno.h>
#include <string.h>

struct map_slot {
	uint64_t key;
	uint64_t value;
};

static bool is_used(const struct map *m, size_t i)
{
	return m->used[i / 64] >> (i % 64) & 1;
}

void map_free(struct map *m)
{
	free(m->slots);
	free(m->used);
	*m = (struct map){0};
}

void map_clear(struct map *m)
{
	if (m->cap)
		memset(m->used, 0, align_up(m->cap, 64) / 8);
	m->count = 0;
}

/* The slot of the key, or the free slot where it would be inserted. */
static size_t map_slot(const struct map *m, uint64_t key)
{
	size_t i = hash_u64(key) & (m->cap - 1);

	while (is_used(m, i) && m->slots[i].key != key)
		i = (i + 1) & (m->cap - 1);
	return i;
}

static void map_put(struct map *m, size_t i, struct map_slot slot)
{
	m->slots[i] = slot;
	m->used[i / 64] |= 1ull << (i % 64);
}

static int map_resize(struct map *m, size_t cap)
{
	struct map next = {.cap = cap, .count = m->count};

	assert((cap & (cap - 1)) == 0 && m->count < cap);

	next.slots = malloc(cap * sizeof(*next.slots));
	next.used = calloc(align_up(cap, 64) / 64, sizeof(*next.used));
	if (!next.slots || !next.used) {
		map_free(&next);
		return -ENOMEM;
	}
	for (size_t i = 0; i < m->cap; i++) {
		if (is_used(m, i))
			map_put(&next, map_slot(&next, m->slots[i].key), m->slots[i]);
	}
	map_free(m);
	*m = next;
	return 0;
}

int map_set(struct map *m, uint64_t key, uint64_t value)
{
	size_t i = m->cap ? map_slot(m, key) : 0;

	if (m->cap && is_used(m, i)) {
		m->slots[i].value = value;
		return 0;
	}
	if (m->count + 1 > m->cap / 8 * 7) {
		int r = map_resize(m, m->cap ? m->cap * 2 : 16);

		if (r < 0)
			return r;
		i = map_slot(m, key);
	}
	m->count++;
	map_put(m, i, (struct map_slot){key, value});
	return 0;
}

bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value)
{
	size_t i;

	if (!m->count)
		return false;
	i = map_slot(m, key);
	if (!is_used(m, i))
		return false;
	if (ret_value)
		*ret_value = m->slots[i].value;
	return true;
}

bool map_del(struct map *m, uint64_t key)
{
	size_t hole, i;

	if (!m->count)
		return false;
	hole = map_slot(m, key);
	if (!is_used(m, hole))
		return false;
	/* Move later entries of the probe sequence into the hole, so that no tombstones are needed. */
	for (i = (hole + 1) & (m->cap - 1); is_used(m, i); i = (i + 1) & (m->cap - 1)) {
		size_t home = hash_u64(m->slots[i].key) & (m->cap - 1);

		if (((i - home) & (m->cap - 1)) >= ((i - hole) & (m->cap - 1))) {
			m->slots[hole] = m->slots[i];
			hole = i;
		}
	}
	m->used[hole / 64] &= ~(1ull << (hole % 64));
	m->count--;
	return true;
}

bool map_next(const struct map *m, size_t *pos, uint64_t *ret_key, uint64_t *ret_value)
{
	for (; *pos < m->cap; (*pos)++) {
		if (!is_used(m, *pos))
			continue;
		*ret_key = m->slots[*pos].key;
		*ret_value = m->slots[*pos].value;
		(*pos)++;
		return true;
	}
	return false;
}

void recent_free(struct recent *c)
{
	map_free(&c->young);
	map_free(&c->old);
}

int recent_set(struct recent *c, uint64_t key, uint64_t value)
{
	assert(c->max >= 2);
	if (c->young.count >= c->max / 2 && !map_get(&c->young, key, NULL)) {
		struct map old = c->old;

		c->old = c->young;
		c->young = old;
		map_clear(&c->young);
	}
	return map_set(&c->young, key, value);
}

bool recent_get(struct recent *c, uint64_t key, uint64_t *ret_value)
{
	uint64_t value;

	if (map_get(&c->young, key, ret_value))
		return true;
	if (!map_get(&c->old, key, &value))
		return false;
	(void)!recent_set(c, key, value); /* out of memory: it stays in the old generation */
	if (ret_value)
		*ret_value = value;
	return true;
}

void recent_del(struct recent *c, uint64_t key)
{
	map_del(&c->young, key);
	map_del(&c->old, key);
}

uint64_t hash_bytes(const void *data, size_t len)
{
	const uint8_t *p = data;
	uint64_t h = 0xcbf29ce484222325ull + len, word = 0;
	size_t i = 0;

	/* each step is a bijection of h: texts of equal length that differ in one word have different hashes */
	for (; i + sizeof(word) <= len; i += sizeof(word)) {
		memcpy(&word, p + i, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 32;
	}
	word = 0;
	if (i < len)
		memcpy(&word, p + i, len - i);
	return hash_u64((h ^ word) * 0x9e3779b97f4a7c15ull);
}

void intern_free(struct intern *t)
{
	free(t->data);
	free(t->ends);
	free(t->slots);
	*t = (struct intern){0};
}

struct bytes intern_get(const struct intern *t, uint32_t id)
{
	uint64_t start;

	assert(id < t->count);
	start = id ? t->ends[id - 1] : 0;
	return (struct bytes){t->data + start, t->ends[id] - start};
}

static size_t intern_slot(const struct intern *t, const void *data, size_t len)
{
	size_t i = hash_bytes(data, len) & (t->slots_cap - 1);

	for (; t->slots[i]; i = (i + 1) & (t->slots_cap - 1)) {
		struct bytes s = intern_get(t, t->slots[i] - 1);

		if (s.len == len && (!len || !memcmp(s.data, data, len)))
			break;
	}
	return i;
}

static int intern_resize(struct intern *t, size_t cap)
{
	uint32_t *old = t->slots;

	t->slots = calloc(cap, sizeof(*t->slots));
	if (!t->slots) {
		t->slots = old;
		return -ENOMEM;
	}
	t->slots_cap = cap;
	for (size_t i = 0; i < t->count; i++) {
		struct bytes s = intern_get(t, (uint32_t)i);

		t->slots[intern_slot(t, s.data, s.len)] = (uint32_t)i + 1;
	}
	free(old);
	return 0;
}

bool intern_find(const struct intern *t, const void *data, size_t len, uint32_t *ret_id)
{
	size_t i;

	if (!t->count)
		return false;
	i = intern_slot(t, data, len);
	if (!t->slots[i])
		return false;
	*ret_id = t->slots[i] - 1;
	return true;
}

int intern_add(struct intern *t, const void *data, size_t len, uint32_t *ret_id)
{
	int r;

	if (intern_find(t, data, len, ret_id))
		return 0;
	if (t->count + 1 > t->slots_cap / 4 * 3) {
		r = intern_resize(t, t->slots_cap ? t->slots_cap * 2 : 64);
		if (r < 0)
			return r;
	}
	r = grow((void **)&t->data, &t->cap, t->len + len + 1, 1);
	if (r < 0)
		return r;
	r = grow((void **)&t->ends, &t->ends_cap, t->count + 1, sizeof(*t->ends));
	if (r < 0)
		return r;
	if (len)
		memcpy(t->data + t->len, data, len);
	t->len += len;
	t->ends[t->count] = t->len;
	/* Find the slot before incrementing the count: the new string is not yet in the table. */
	t->slots[intern_slot(t, data, len)] = (uint32_t)t->count + 1;
	*ret_id = (uint32_t)t->count++;
	return 0;
}
