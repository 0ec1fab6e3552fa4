// SPDX-License-Identifier: Apache-2.0
/* alike_kinds.c: the units of comparison: calls with equal bytes are one kind, or all calls of a file are. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/alike/alike.h"
#include "base/array.h"
#include "names/names.h"

#define FILE_KEY (1ull << 63)
#define LEN_MASK ((1u << 31) - 1)

/* A key that calls with the same bytes have in common, and no others; false: some of the call's bytes were not hashed. */
static bool kind_key(const struct alike_call *c, uint64_t *ret)
{
	bool all = !c->missing && c->done == c->bytes;

	if (!c->whole && !all)
		return false;
	if (c->whole || !c->odd)
		*ret = hash_u64(c->joined + hash_u64(c->bytes));
	else
		*ret = hash_u64(c->joined ^ hash_u64(c->bytes) ^ FILE_KEY);
	return true;
}

static uint64_t alike_file_key(const struct alike *a, const struct alike_call *c)
{
	return (uint64_t)names_inode(a->dims, alike_file_id(a, c)) << 1 | c->way;
}

static uint64_t key_of_kind(const struct alike *a, uint32_t kind)
{
	const struct alike_call *c = &a->calls[a->kinds[kind].first];
	uint64_t key = 0;

	if (a->unit == ALIKE_FILES)
		return alike_file_key(a, c);
	(void)kind_key(c, &key);
	return key;
}

/* The kind with this key, created on first use. Its number, ALIKE_NONE at the limit, or -ENOMEM. */
static int64_t kind_under(struct alike *a, struct alike_index *by_key, uint64_t key, uint32_t call)
{
	uint32_t at = alike_index_find(a, by_key, key);

	if (at != ALIKE_NONE)
		return at;
	if (a->kind_count == ALIKE_KINDS_MAX) {
		a->sets_left_out++;
		return ALIKE_NONE;
	}
	if (grow((void **)&a->kinds, &a->kind_cap, a->kind_count + 1, sizeof(*a->kinds)) < 0)
		return -ENOMEM;
	at = (uint32_t)a->kind_count++;
	a->kinds[at] = (struct alike_kind){
		.first = call, .group = ALIKE_NONE, .signature = ALIKE_NONE, .zeros = true};
	return alike_index_add(a, by_key, at) < 0 ? -ENOMEM : (int64_t)at;
}

static int kinds_find(struct alike *a)
{
	_cleanup_(alike_index_free) struct alike_index by_key = {.key = key_of_kind};

	for (size_t i = 0; i < a->call_count; i++) {
		struct alike_call *c = &a->calls[i];
		bool any = c->done || c->whole, known;
		struct alike_kind *k;
		uint64_t key = 0;
		int64_t at;

		c->kind = ALIKE_NONE;
		a->content += any || c->missing;
		known = kind_key(c, &key);
		a->unknown += (any || c->missing) && !known;
		if (a->unit == ALIKE_FILES)
			key = alike_file_key(a, c);
		if (a->unit == ALIKE_FILES ? !any || c->file == ALIKE_NONE : !known)
			continue;
		at = kind_under(a, &by_key, key, (uint32_t)i);
		if (at < 0)
			return (int)at;
		if (at == ALIKE_NONE)
			continue;
		c->kind = (uint32_t)at;
		k = &a->kinds[at];
		k->calls++;
		k->zeros &= known && !c->joined && (c->whole || !c->odd);
		k->bytes = (a->unit == ALIKE_FILES ? k->bytes : 0) + (int64_t)c->bytes;
	}
	return 0;
}

/* ---- sets ---- */

/* A kind's set has the parts of its first call; a file's set has those of all calls. */
static bool part_is_compared(const struct alike *a, const struct alike_part *p)
{
	uint32_t kind = a->calls[p->call].kind;

	return kind != ALIKE_NONE && (a->unit == ALIKE_FILES || a->kinds[kind].first == p->call);
}

/* Sorts a set and removes duplicates. */
static uint32_t set_make(uint64_t *set, uint32_t len)
{
	uint32_t n = 0;

	array_sort(set, len, order_u64);
	for (uint32_t i = 0; i < len; i++) {
		if (!n || set[n - 1] != set[i])
			set[n++] = set[i];
	}
	return n;
}

static int sets_make(struct alike *a)
{
	uint32_t at = 0;

	for (size_t i = 0; i < a->part_count; i++) {
		if (part_is_compared(a, &a->parts[i]))
			a->kinds[a->calls[a->parts[i].call].kind].len++;
	}
	for (size_t i = 0; i < a->kind_count; i++) {
		struct alike_kind *k = &a->kinds[i];

		k->at = at;
		at += k->len ? k->len : 1u;
		k->signature = 0; /* used as the fill level until then */
	}
	a->elements = malloc(((size_t)at + 1) * sizeof(*a->elements));
	if (!a->elements)
		return -ENOMEM;
	for (size_t i = 0; i < a->part_count; i++) {
		if (part_is_compared(a, &a->parts[i])) {
			struct alike_kind *k = &a->kinds[a->calls[a->parts[i].call].kind];

			a->elements[k->at + k->signature++] = a->parts[i].hash;
		}
	}
	free(a->parts);
	a->parts = NULL;
	for (size_t i = 0; i < a->kind_count; i++) {
		struct alike_kind *k = &a->kinds[i];

		if (!k->len) /* its parts are unknown: it is similar to no other kind */
			a->elements[k->at] = hash_u64(~(uint64_t)i);
		k->len = (k->len ? set_make(a->elements + k->at, k->len) : 1) & LEN_MASK;
		k->signature = ALIKE_NONE;
	}
	return 0;
}

/* ---- signatures ---- */

/*
 * The minimum of each of 256 hash functions over a set: x -> the high half of a * x + b, with odd a (Dietzfelbinger et
 * al., "A reliable randomized algorithm for the closest-pair problem", 1997). Elements already are hashes. Only the low
 * 16 bits of a minimum are stored (Li and Koenig, "b-Bit Minwise Hashing", 2010): different minima agree in them once in
 * 65,536 times.
 */
struct hashers {
	uint64_t a[ALIKE_HASHES], b[ALIKE_HASHES];
};

static void sign(const struct hashers *f, const uint64_t *set, uint32_t len, uint16_t *to)
{
	uint32_t least[ALIKE_HASHES];

	memset(least, 0xff, sizeof(least));
	for (uint32_t k = 0; k < len; k++) {
		uint64_t x = hash_u64(set[k]);

		for (uint32_t i = 0; i < ALIKE_HASHES; i++) {
			uint32_t h = (uint32_t)((f->a[i] * x + f->b[i]) >> 32);

			least[i] = MIN(least[i], h);
		}
	}
	for (uint32_t i = 0; i < ALIKE_HASHES; i++)
		to[i] = (uint16_t)least[i];
}

static int kinds_sign(struct alike *a)
{
	struct hashers f;
	size_t count = 0;

	for (uint32_t i = 0; i < ALIKE_HASHES; i++) {
		f.a[i] = hash_u64(2 * i) | 1;
		f.b[i] = hash_u64(2 * i + 1);
	}
	for (size_t i = 0; i < a->kind_count; i++) {
		/* sets of one part are either equal or disjoint */
		if (a->kinds[i].len < 2 || a->kinds[i].zeros)
			continue;
		if (count < ALIKE_SIGNED_MAX)
			a->kinds[i].signature = (uint32_t)count++;
		else
			a->sets_left_out++;
	}
	a->signatures = malloc((count + 1) * ALIKE_HASHES * sizeof(*a->signatures));
	if (!a->signatures)
		return -ENOMEM;
	a->signature_count = count;
	for (size_t i = 0; i < a->kind_count; i++) {
		const struct alike_kind *k = &a->kinds[i];

		if (k->signature != ALIKE_NONE)
			sign(&f, a->elements + k->at, k->len,
			     a->signatures + (size_t)k->signature * ALIKE_HASHES);
	}
	return 0;
}

int alike_make_kinds(struct alike *a)
{
	int r = kinds_find(a);

	if (r < 0 || !a->sets)
		return r;
	r = sets_make(a);
	return r < 0 ? r : kinds_sign(a);
}

double alike_estimate(const struct alike *a, uint32_t x, uint32_t y)
{
	uint32_t p = a->kinds[x].signature, q = a->kinds[y].signature, same = 0;

	if (p == ALIKE_NONE || q == ALIKE_NONE)
		return -1;
	for (size_t i = 0; i < ALIKE_HASHES; i++)
		same += a->signatures[(size_t)p * ALIKE_HASHES + i] ==
			a->signatures[(size_t)q * ALIKE_HASHES + i];
	return (double)same / ALIKE_HASHES;
}

double alike_exact(const struct alike *a, uint32_t x, uint32_t y)
{
	const struct alike_kind *p = &a->kinds[x], *q = &a->kinds[y];
	const uint64_t *s = a->elements + p->at, *t = a->elements + q->at;
	uint32_t i = 0, k = 0, same = 0;

	while (i < p->len && k < q->len) {
		if (s[i] == t[k])
			same++, i++, k++;
		else if (s[i] < t[k])
			i++;
		else
			k++;
	}
	return (double)same / (double)(p->len + q->len - same);
}
