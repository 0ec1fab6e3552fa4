/* SPDX-License-Identifier: Apache-2.0 */
/* span_clock.h: times of the spans that a test's program prints. */
#pragma once

#include <time.h>

struct mark {
	int number, parent;
	const char *name;
	long long start; /* CLOCK_REALTIME, ns */
};

static inline long long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* Keeps calls away from the edges of a span: clocks may differ by some microseconds. */
static inline long long apart(void)
{
	long long from = now(), at;

	do
		at = now();
	while (at < from + 100000);
	return from + 50000;
}
