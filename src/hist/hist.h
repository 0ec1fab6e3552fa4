/* SPDX-License-Identifier: Apache-2.0 */
/*
 * hist: the log-linear histogram, one layout for kernel, recorder, engine and pages. No libc.
 *
 * Values 0..15 have buckets of their own; above these, each power of two is divided into 16 equal buckets. A percentile
 * is the middle of its bucket: at most 1/32 (3.2 %) off the exact value. Merging is adding, hence exact.
 */
#pragma once

#define HIST_SUB_BITS 4
#define HIST_SUB      (1 << HIST_SUB_BITS)
#define HIST_BUCKETS  ((64 - HIST_SUB_BITS + 1) * HIST_SUB) /* 976 */

/* The bucket of a value. */
static inline unsigned int hist_bucket(unsigned long long v)
{
	unsigned int msb;

	if (v < HIST_SUB)
		return (unsigned int)v;
	msb = 63 - (unsigned int)__builtin_clzll(v);
	return ((msb - HIST_SUB_BITS + 1) << HIST_SUB_BITS) +
	       (unsigned int)((v >> (msb - HIST_SUB_BITS)) & (HIST_SUB - 1));
}

/* Smallest value of a bucket. */
static inline unsigned long long hist_lower(unsigned int bucket)
{
	unsigned int octave = bucket >> HIST_SUB_BITS;
	unsigned long long sub = bucket & (HIST_SUB - 1);

	return octave == 0 ? sub : (HIST_SUB + sub) << (octave - 1);
}

/* How many values a bucket spans. */
static inline unsigned long long hist_width(unsigned int bucket)
{
	unsigned int octave = bucket >> HIST_SUB_BITS;

	return octave == 0 ? 1 : 1ull << (octave - 1);
}

/* The value reported for a percentile in a bucket. */
static inline unsigned long long hist_middle(unsigned int bucket)
{
	return hist_lower(bucket) + hist_width(bucket) / 2;
}
