/* SPDX-License-Identifier: Apache-2.0 */
/* clock.h: nanoseconds. Traces hold wall time derived from the monotonic clock plus one offset. */
#pragma once

#include <pthread.h>

#include "base/util.h"

#define NSEC_PER_USEC 1000ll
#define NSEC_PER_MSEC 1000000ll
#define NSEC_PER_SEC  1000000000ll

int64_t clock_monotonic_ns(void);
int64_t clock_realtime_ns(void);
struct timespec;
/* The monotonic time `ns` from now, for timed waits. */
void clock_after(int64_t ns, struct timespec *ret);
/* Initializes a condition whose timed waits use the monotonic clock, so that setting the time does not affect them. */
void clock_cond_init(pthread_cond_t *ret);
/* CPU time used by this process so far. */
int64_t clock_cpu_ns(void);
/*
 * Wall time minus monotonic time: the offset that turns a kernel time stamp (bpf_ktime_get_ns) into nanoseconds since
 * the epoch. The best of several readings, in case one is preempted.
 */
int64_t clock_offset_ns(void);

/* The first of due, due + step, due + 2 step, ... that is later than now: missed times are skipped. */
static inline int64_t clock_next(int64_t due, int64_t now, int64_t step)
{
	return due > now ? due : due + ((now - due) / step + 1) * step;
}

/* to - from, saturated if times from a damaged trace overflow. */
static inline int64_t clock_between(int64_t from, int64_t to)
{
	int64_t ns;

	if (!__builtin_sub_overflow(to, from, &ns))
		return ns;
	return to < from ? -INT64_MAX : INT64_MAX;
}
