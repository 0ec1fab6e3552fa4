/* SPDX-License-Identifier: Apache-2.0 */
/*
 * map.h: hash maps with open addressing.
 *   map     uint64_t key -> uint64_t value
 *   recent  the same, limited to the most recently used keys
 *   intern  byte string  -> dense id 0, 1, 2, ... in order of first appearance (a vocabulary)
 * All start as {0}. Nothing can be removed from an intern; a map is unordered.
 */
#pragma once

#include <string.h>

#include "base/util.h"

struct map {
	struct map_slot *slots; /* power of two, at most 7/8 full; 16 bytes each */
	uint64_t *used;		/* one bit per slot */
	size_t cap;
	size_t count;
};

void map_free(struct map *m);
/* Empties the map and keeps its memory. */
void map_clear(struct map *m);
/* Sets key to value; 0, or -ENOMEM with the map unchanged. Overwriting an existing key needs no memory. */
int map_set(struct map *m, uint64_t key, uint64_t value) _must_check_;
/* True and *ret_value if the key is present. ret_value may be NULL. */
bool map_get(const struct map *m, uint64_t key, uint64_t *ret_value);
/* Removes the key; false if it was absent. */
bool map_del(struct map *m, uint64_t key);
/* Iterates over all entries: start with *pos = 0; false at the end. The map must not change meanwhile. */
bool map_next(const struct map *m, size_t *pos, uint64_t *ret_key, uint64_t *ret_value);

/*
 * Bounded: at most `max` entries, and at least the max / 2 that were set or found last. Has two generations: when the
 * young one is full, it replaces the old one, whose entries are dropped. An entry that is found moves to the young
 * generation.
 */
struct recent {
	struct map young, old;
	size_t max; /* at least 2; set before use */
};

void recent_free(struct recent *c);
/* 0 or -ENOMEM. */
int recent_set(struct recent *c, uint64_t key, uint64_t value) _must_check_;
bool recent_get(struct recent *c, uint64_t key, uint64_t *ret_value);
void recent_del(struct recent *c, uint64_t key);

static inline struct bytes bytes_of(const char *text)
{
	return (struct bytes){(const uint8_t *)text, strlen(text)};
}

/* True if they are this text; false for {0}. */
static inline bool bytes_is(struct bytes b, const char *text)
{
	return b.data && b.len == strlen(text) && !memcmp(b.data, text, b.len);
}

/* Ordered as by memcmp(); if one is a prefix of the other, the shorter comes first. */
static inline int bytes_compare(struct bytes a, struct bytes b)
{
	size_t n = MIN(a.len, b.len);
	int order = n ? memcmp(a.data, b.data, n) : 0;

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

struct intern {
	uint8_t *data; /* all strings, concatenated */
	size_t len, cap;
	uint64_t *ends; /* end of string i in data */
	size_t count, ends_cap;
	uint32_t *slots; /* id + 1, 0 is free */
	size_t slots_cap;
};

void intern_free(struct intern *t);
/* The id of the string, added if new. 0 or -ENOMEM. */
int intern_add(struct intern *t, const void *data, size_t len, uint32_t *ret_id) _must_check_;
/* False if the string is unknown. */
bool intern_find(const struct intern *t, const void *data, size_t len, uint32_t *ret_id);
/* The string of an id; valid until the next intern_add(). */
struct bytes intern_get(const struct intern *t, uint32_t id);

/* A good 64-bit hash of bytes (FNV-1a, finished by a multiply-xorshift); must not be stored on disk. */
uint64_t hash_bytes(const void *data, size_t len);
/* Mixes a 64-bit key (splitmix64). */
static inline uint64_t hash_u64(uint64_t x)
{
	x += 0x9e3779b97f4a7c15ull;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}
