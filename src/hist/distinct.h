/* SPDX-License-Identifier: Apache-2.0 */
/*
 * distinct.h: how many different values there are: a set, exact up to DISTINCT_SET_MAX, then a HyperLogLog of 2^14
 * registers (standard error 0.8 %). Merging is exact in both: the same values give the same answer however they were
 * partitioned.
 *
 * Values come as 64-bit hashes; a good hash of a 64-bit number is a bijection, so that the set is exact; among 4,096
 * hashes of texts a collision occurs once in 10^12 sets.
 *
 * Packed: one byte 0 and the hashes (8 bytes each, little-endian), or one byte 1 and the registers.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DISTINCT_SET_MAX       4096
#define DISTINCT_REGISTER_BITS 14
#define DISTINCT_REGISTERS     (1 << DISTINCT_REGISTER_BITS)
#define DISTINCT_PACKED_MAX    (1 + DISTINCT_SET_MAX * 8)

/* Starts as {0}. */
struct distinct {
	union {
		uint64_t one;	 /* while cap is 0: the only hash, if used is 1 */
		uint64_t *slots; /* open addressing, 0 is free; power of two */
	};
	uint32_t cap, used; /* slots; how many are used */
	bool zero;	    /* the hash 0 was seen */
	uint8_t *registers; /* if set, replaces the slots */
};

void distinct_free(struct distinct *d);
/* Adds a hash. 0 or -ENOMEM. */
int distinct_add(struct distinct *d, uint64_t hash);
int distinct_merge(struct distinct *d, const struct distinct *other);
uint64_t distinct_count(const struct distinct *d);
/* True if the count is an estimate. */
bool distinct_estimated(const struct distinct *d);
/* Bytes of memory allocated. */
static inline size_t distinct_memory(const struct distinct *d)
{
	return d->registers ? DISTINCT_REGISTERS : d->cap * sizeof(*d->slots);
}
/* Packs into out (DISTINCT_PACKED_MAX bytes suffice); returns the length. */
size_t distinct_pack(const struct distinct *d, uint8_t *out);
/* Adds a packed set. -EBADMSG if it is malformed. */
int distinct_unpack(struct distinct *d, const uint8_t *data, size_t len);
