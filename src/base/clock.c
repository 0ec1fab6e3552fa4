/* SPDX-License-Identifier: Apache-2.0 */
#include "base/clock.h"

#include <time.h>

static int64_t clock_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return ts.tv_sec * NSEC_PER_SEC + ts.tv_nsec;
}

int64_t clock_monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

void clock_after(int64_t ns, struct timespec *ret)
{
	int64_t at = clock_monotonic_ns() + ns;

	ret->tv_sec = at / NSEC_PER_SEC;
	ret->tv_nsec = at % NSEC_PER_SEC;
}

void clock_cond_init(pthread_cond_t *ret)
{
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(ret, &attr);
	pthread_condattr_destroy(&attr);
}

int64_t clock_realtime_ns(void)
{
	return clock_ns(CLOCK_REALTIME);
}

int64_t clock_cpu_ns(void)
{
	return clock_ns(CLOCK_PROCESS_CPUTIME_ID);
}

int64_t clock_offset_ns(void)
{
	int64_t best = INT64_MAX, offset = 0;

	for (int i = 0; i < 16; i++) {
		int64_t before = clock_monotonic_ns();
		int64_t wall = clock_realtime_ns();
		int64_t after = clock_monotonic_ns();

		if (after - before < best) {
			best = after - before;
			offset = wall - (before + (after - before) / 2);
		}
	}
	return offset;
}
