// SPDX-License-Identifier: Apache-2.0
/* distinct.c: counts distinct values. */
#include "hist/distinct.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS_FIRST 8

static_assert((SLOTS_FIRST & (SLOTS_FIRST - 1)) == 0, "slots are a power of two");
static_assert(1 + DISTINCT_REGISTERS <= DISTINCT_PACKED_MAX, "either form fits");

/* The slots in use: a set of one value needs no memory, and there may be millions of those. */
static const uint64_t *slots_of(const struct distinct *d, uint32_t *ret_count)
{
	*ret_count = d->cap ? d->cap : d->used;
	return d->cap ? d->slots : &d->one;
}

void distinct_free(struct distinct *d)
{
	if (d->cap)
		free(d->slots);
	free(d->registers);
	*d = (struct distinct){0};
}

bool distinct_estimated(const struct distinct *d)
{
	return d->registers != NULL;
}

/* The top bits select a register; it keeps the largest position, from 1, of the first bit set in the others. */
static void registers_add(uint8_t *registers, uint64_t hash)
{
	uint64_t rest = hash << DISTINCT_REGISTER_BITS;
	uint8_t rank =
		rest ? (uint8_t)(__builtin_clzll(rest) + 1) : 64 - DISTINCT_REGISTER_BITS + 1;
	uint8_t *reg = &registers[hash >> (64 - DISTINCT_REGISTER_BITS)];

	if (rank > *reg)
		*reg = rank;
}

/* Converts a set to registers. */
static int estimate_from_here(struct distinct *d)
{
	uint8_t *registers = calloc(1, DISTINCT_REGISTERS);
	uint32_t count;
	const uint64_t *slots = slots_of(d, &count);

	assert(!d->registers);
	if (!registers)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (slots[i])
			registers_add(registers, slots[i]);
	}
	if (d->zero)
		registers_add(registers, 0);
	distinct_free(d);
	d->registers = registers;
	return 0;
}

/* False if it was already there. */
static bool distinct_put(uint64_t *slots, uint32_t cap, uint64_t hash)
{
	uint32_t at = (uint32_t)hash & (cap - 1);

	for (; slots[at]; at = (at + 1) & (cap - 1)) {
		if (slots[at] == hash)
			return false;
	}
	slots[at] = hash;
	return true;
}

static int slots_grow(struct distinct *d)
{
	uint32_t cap = d->cap ? d->cap * 2 : SLOTS_FIRST;
	uint64_t *slots = calloc(cap, sizeof(*slots));
	uint32_t count;
	const uint64_t *before = slots_of(d, &count);

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		if (before[i])
			distinct_put(slots, cap, before[i]);
	}
	if (d->cap)
		free(d->slots);
	d->slots = slots;
	d->cap = cap;
	return 0;
}

int distinct_add(struct distinct *d, uint64_t hash)
{
	if (d->registers) {
		registers_add(d->registers, hash);
		return 0;
	}
	if (!hash) {
		d->zero = true;
	} else if (!d->cap && (!d->used || d->one == hash)) {
		d->one = hash;
		d->used = 1;
	} else {
		if ((d->used + 1) * 4 > d->cap * 3 && slots_grow(d) < 0)
			return -ENOMEM;
		d->used += distinct_put(d->slots, d->cap, hash);
	}
	return d->used + d->zero > DISTINCT_SET_MAX ? estimate_from_here(d) : 0;
}

int distinct_merge(struct distinct *d, const struct distinct *other)
{
	uint32_t count;
	const uint64_t *slots = slots_of(other, &count);
	int r;

	assert(d != other);
	if (!other->registers) {
		for (uint32_t i = 0; i < count; i++) {
			if (!slots[i])
				continue;
			r = distinct_add(d, slots[i]);
			if (r < 0)
				return r;
		}
		return other->zero ? distinct_add(d, 0) : 0;
	}
	if (!d->registers) {
		r = estimate_from_here(d);
		if (r < 0)
			return r;
	}
	for (unsigned int i = 0; i < DISTINCT_REGISTERS; i++) {
		if (other->registers[i] > d->registers[i])
			d->registers[i] = other->registers[i];
	}
	return 0;
}

static double sigma(double x)
{
	double y = 1, z = x, before;

	if (x == 1)
		return INFINITY;
	do {
		x *= x;
		before = z;
		z += x * y;
		y += y;
	} while (z != before);
	return z;
}

static double tau(double x)
{
	double y = 1, z = 1 - x, before;

	if (x == 0 || x == 1)
		return 0;
	do {
		x = sqrt(x);
		before = z;
		y *= 0.5;
		z -= (1 - x) * (1 - x) * y;
	} while (z != before);
	return z / 3;
}

/* Otmar Ertl, "New cardinality estimation algorithms for HyperLogLog sketches" (2017), algorithm 6:
 * no bias over the whole range, no tables. */
uint64_t distinct_count(const struct distinct *d)
{
	const double m = DISTINCT_REGISTERS;
	enum { RANKS = 64 - DISTINCT_REGISTER_BITS };
	uint32_t counts[RANKS + 2] = {0};
	double z;

	if (!d->registers)
		return d->used + d->zero;
	for (unsigned int i = 0; i < DISTINCT_REGISTERS; i++)
		counts[d->registers[i]]++;
	z = m * tau(1 - counts[RANKS + 1] / m);
	for (unsigned int k = RANKS; k > 0; k--)
		z = 0.5 * (z + counts[k]);
	z += m * sigma(counts[0] / m);
	return (uint64_t)llround(m * m / (2 * M_LN2 * z));
}

size_t distinct_pack(const struct distinct *d, uint8_t *out)
{
	uint32_t count;
	const uint64_t *slots = slots_of(d, &count);
	size_t at = 1;

	out[0] = d->registers != NULL;
	if (d->registers) {
		memcpy(out + 1, d->registers, DISTINCT_REGISTERS);
		return 1 + DISTINCT_REGISTERS;
	}
	for (uint32_t i = 0; i < count; i++) {
		uint64_t v = htole64(slots[i]);

		if (!v)
			continue;
		memcpy(out + at, &v, sizeof(v));
		at += sizeof(v);
	}
	if (d->zero) {
		memset(out + at, 0, sizeof(uint64_t));
		at += sizeof(uint64_t);
	}
	assert(at <= DISTINCT_PACKED_MAX);
	return at;
}

static int unpack_registers(struct distinct *d, const uint8_t *data)
{
	int r = d->registers ? 0 : estimate_from_here(d);

	if (r < 0)
		return r;
	for (unsigned int i = 0; i < DISTINCT_REGISTERS; i++) {
		if (data[i] > 64 - DISTINCT_REGISTER_BITS + 1)
			return -EBADMSG;
		if (data[i] > d->registers[i])
			d->registers[i] = data[i];
	}
	return 0;
}

int distinct_unpack(struct distinct *d, const uint8_t *data, size_t len)
{
	if (len == 1 + DISTINCT_REGISTERS && data[0] == 1)
		return unpack_registers(d, data + 1);
	if (!len || data[0] != 0 || len % 8 != 1 || len > DISTINCT_PACKED_MAX)
		return -EBADMSG;
	for (size_t at = 1; at < len; at += 8) {
		uint64_t v;
		int r;

		memcpy(&v, data + at, sizeof(v));
		r = distinct_add(d, le64toh(v));
		if (r < 0)
			return r;
	}
	return 0;
}
