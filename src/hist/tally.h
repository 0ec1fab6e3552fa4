/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tally.h: counts by value, as DTrace's quantize(), lquantize() and llquantize() have them: each
 * value counts for the bucket that it falls into, which is named by its lower end.
 *
 * Packed (the engine's BLOB, what an answer holds): an array of 16 bytes per bucket, ascending by
 * lower end: int64_t from, uint64_t count, little-endian.
 *
 * Names of buckets: TALLY_BELOW for what lies below lquantize()'s and llquantize()'s range, and its
 * end for all that is there or above.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TALLY_BELOW	  INT64_MIN
#define TALLY_ENTRY_BYTES 16
#define TALLY_BUCKETS_MAX 4096 /* buckets that one tally can have */

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
/* How many buckets a packed tally has; the i-th of them. */
size_t tally_count(size_t len);
struct tally_entry tally_get(const uint8_t *data, size_t i);
/* Adds a packed tally. -EBADMSG where it is none. */
int tally_unpack(struct tally *t, const uint8_t *data, size_t len);

/* The bucket of a value: powers of two; 0 is a bucket of its own, negative values mirror positive
 * ones: -5 is in -7..-4, named -7. */
int64_t tally_quantize(int64_t v);
/* Equal steps within [from, to). */
int64_t tally_lquantize(int64_t v, int64_t from, int64_t to, int64_t step);
/* Within each power of the base from base^low up to base^(high+1): steps of base^(m+1) / steps. */
int64_t tally_llquantize(int64_t v, int64_t base, int64_t low, int64_t high, int64_t steps);
/* What is wrong with the parameters, or NULL. */
const char *tally_lquantize_wrong(int64_t from, int64_t to, int64_t step);
const char *tally_llquantize_wrong(int64_t base, int64_t low, int64_t high, int64_t steps);
