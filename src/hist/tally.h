/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h: counts by value, as in DTrace's quantize(), lquantize() and llquantize(): each value counts in its bucket,
 * which is named by its lower end.
 *
 * Packed (the engine's BLOB, a value of an answer): an array of 16 bytes per bucket, ascending by lower end: int64_t
 * from, uint64_t count, little-endian.
 *
 * Special bucket names: TALLY_BELOW for values below the range of lquantize() and llquantize(), and the end of the
 * range for values at or above it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_BELOW	  INT64_MIN
#define TALLY_ENTRY_BYTES 16
#define TALLY_BUCKETS_MAX 4096 /* buckets per tally */

struct tally_entry {
	int64_t from;
	uint64_t count;
};

/* Sorted by `from`. Starts as {0}. */
struct tally {
	struct tally_entry *entries;
	uint32_t count, cap;
};

void tally_free(struct tally *t);
/* Adds n to a bucket. 0, -ENOMEM, or -E2BIG past TALLY_BUCKETS_MAX. */
int tally_add(struct tally *t, int64_t from, uint64_t n);
int tally_merge(struct tally *t, const struct tally *other);

/* Writes t->count * TALLY_ENTRY_BYTES bytes. */
void tally_pack(const struct tally *t, uint8_t *out);
/* The number of buckets in a packed tally; the i-th of them. */
size_t tally_count(size_t len);
struct tally_entry tally_get(const uint8_t *data, size_t i);
/* Adds a packed tally. -EBADMSG if it is malformed. */
int tally_unpack(struct tally *t, const uint8_t *data, size_t len);

/* The bucket of a value: powers of two. 0 has its own bucket, negative values mirror positive ones: -5 is in -7..-4,
 * named -7. */
int64_t tally_quantize(int64_t v);
/* Equal steps within [from, to). */
int64_t tally_lquantize(int64_t v, int64_t from, int64_t to, int64_t step);
/* Within each power of the base from base^low up to base^(high+1): steps of base^(m+1) / steps. */
int64_t tally_llquantize(int64_t v, int64_t base, int64_t low, int64_t high, int64_t steps);
/* The error in the parameters, or NULL. */
const char *tally_lquantize_wrong(int64_t from, int64_t to, int64_t step);
const char *tally_llquantize_wrong(int64_t base, int64_t low, int64_t high, int64_t steps);
