/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse.h: a histogram in memory and packed. Most keys touch few buckets, so it starts as a short
 * sorted list of (bucket, count) and becomes an array, from the first bucket that it touches to the last
 * one, when it is longer than HIST_SPARSE_MAX. The packed form (summary.hist, the engine's BLOB): per used bucket, ascending, a
 * LEB128 varint of the distance from the previous bucket (the first: its number) and a LEB128
 * varint of the count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hist/hist.h"

#define HIST_SPARSE_MAX 64
#define HIST_PACKED_MAX (HIST_BUCKETS * (2 + 10)) /* bytes of the longest packed form */

#define HIST_DENSE UINT16_MAX /* of `used` */

struct hist {
	uint16_t used;	/* entries of the list; HIST_DENSE: an array */
	uint16_t cap;	/* entries that the list has room for; buckets of the array */
	uint16_t first; /* of the array */
	union {
		struct hist_entry {
			uint32_t bucket;
			uint32_t pad;
			uint64_t count;
		} *sparse;
		uint64_t *dense; /* [cap]: buckets first, first + 1, ... */
	};
};

void hist_free(struct hist *h);
/* Adds n values v. 0 or -ENOMEM. */
int hist_add(struct hist *h, uint64_t v, uint64_t n);
int hist_add_bucket(struct hist *h, unsigned int bucket, uint64_t n);
/* h += other. */
int hist_merge(struct hist *h, const struct hist *other);
uint64_t hist_total(const struct hist *h);
/* Bytes that it points to. */
size_t hist_memory(const struct hist *h);
/* The entries by ascending bucket, also those of a count of 0. */
unsigned int hist_entries(const struct hist *h);
struct hist_entry hist_entry(const struct hist *h, unsigned int i);
/* The value at quantile q (0..1], 0 where empty: the middle of the bucket of the ceil(q * n)-th
 * value. */
uint64_t hist_quantile(const struct hist *h, double q);
/* Packs into out (HIST_PACKED_MAX bytes suffice); returns the length. */
size_t hist_pack(const struct hist *h, uint8_t *out);
/* Adds a packed histogram to h. 0, -ENOMEM, or -EBADMSG where it is malformed (h may hold a part).
 */
int hist_unpack(struct hist *h, const uint8_t *data, size_t len);
