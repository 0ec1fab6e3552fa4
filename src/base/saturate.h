/* SPDX-License-Identifier: Apache-2.0 */
/* saturate.h: saturating sums: a file may contain any 64-bit value, and a sum that wraps around would look small. */
#pragma once

#include <stdint.h>

static inline uint64_t add_sat(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static inline int64_t add_sat_signed(int64_t a, int64_t b)
{
	int64_t sum;

	if (__builtin_add_overflow(a, b, &sum))
		return b > 0 ? INT64_MAX : INT64_MIN;
	return sum;
}
