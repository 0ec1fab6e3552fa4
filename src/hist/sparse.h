/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sparse.h: a histogram in memory and packed. Most keys touch few buckets, and there may be millions of keys: one
 * bucket needs no memory of its own, a few are a short sorted list, eight bytes each. The list becomes an array, from
 * the first bucket used to the last, when it exceeds HIST_SPARSE_MAX entries or a count does not fit. The packed form
 * (summary.hist, the engine's BLOB): per used bucket, ascending, a LEB128 varint of the distance from the previous
 * bucket (for the first, its number) and a LEB128 varint of the count.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/varint.h"
#include "hist/hist.h"

#define HIST_SPARSE_MAX 63
#define HIST_PACKED_MAX (HIST_BUCKETS * (2 + 10)) /* length of the longest packed form */

#define HIST_DENSE UINT16_MAX /* value of `used` */

struct hist {
	uint16_t used;	/* entries of the list; HIST_DENSE: an array */
	uint16_t cap;	/* capacity of the list, 0: `one` is the list; or buckets in the array */
	uint16_t first; /* first bucket of the array */
	union {
		uint64_t one;	  /* an entry: bucket << HIST_COUNT_BITS | count */
		uint64_t *sparse; /* [cap] */
		uint64_t *dense;  /* [cap]: counts of the buckets first, first + 1, ... */
	};
};

#define HIST_COUNT_BITS 48

struct hist_entry {
	unsigned int bucket;
	uint64_t count;
};

void hist_free(struct hist *h);
/* Adds n values v. 0 or -ENOMEM. */
int hist_add(struct hist *h, uint64_t v, uint64_t n);
int hist_add_bucket(struct hist *h, unsigned int bucket, uint64_t n);
/* h += other. */
int hist_merge(struct hist *h, const struct hist *other);
uint64_t hist_total(const struct hist *h);
/* Bytes of memory allocated. */
size_t hist_memory(const struct hist *h);
/* The entries by ascending bucket, including those with a count of 0. */
unsigned int hist_entries(const struct hist *h);
struct hist_entry hist_entry(const struct hist *h, unsigned int i);
/* The value at quantile q (0..1], 0 if empty: the middle of the bucket of the ceil(q * n)-th value. */
uint64_t hist_quantile(const struct hist *h, double q);
/* The same, limited to the largest value: the middle of its bucket may exceed it. */
uint64_t hist_quantile_at_most(const struct hist *h, double q, uint64_t max);
/* Packs into out (HIST_PACKED_MAX bytes suffice); returns the length. */
size_t hist_pack(const struct hist *h, uint8_t *out);
/* Adds a packed histogram to h. 0, -ENOMEM, or -EBADMSG if it is malformed (h may then contain a part of it). */
int hist_unpack(struct hist *h, const uint8_t *data, size_t len);
/* The total count of a packed histogram. 0, or -EBADMSG if it is malformed, exactly when hist_unpack() fails. */
int hist_packed_total(const uint8_t *data, size_t len, uint64_t *ret);

/* The entries of a packed histogram, one after the other. */
struct hist_walk {
	const uint8_t *start, *at, *end;
	uint64_t bucket;
	bool bad; /* it is malformed and was read up to the error */
};

static inline struct hist_walk hist_walk_start(const uint8_t *data, size_t len)
{
	return (struct hist_walk){.start = data, .at = data, .end = data + len};
}

/* False: at the end, or `bad` is set. */
static inline bool hist_walk_next(struct hist_walk *w, struct hist_entry *ret)
{
	const uint8_t *p = w->at;
	bool first = p == w->start, good = true;
	uint64_t step, count;

	if (p == w->end || w->bad)
		return false;
	if (w->end - p >= 2 && !((p[0] | p[1]) & 0x80)) { /* the common case */
		step = p[0];
		count = p[1];
		w->at += 2;
	} else {
		good = varint_get(&w->at, w->end, &step) && varint_get(&w->at, w->end, &count);
	}
	/* Ascending and nonzero: anything else was not written by hist_pack(). */
	if (!good || !count || (!first && !step) || step >= HIST_BUCKETS ||
	    w->bucket + step >= HIST_BUCKETS) {
		w->bad = true;
		return false;
	}
	w->bucket += step;
	*ret = (struct hist_entry){(unsigned int)w->bucket, count};
	return true;
}
