/* SPDX-License-Identifier: Apache-2.0 */
#include "turns.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PROBE_LINES  4096 /* 256 KiB: more than a first cache holds, less than a second */
#define PROBE_CHAINS 8	  /* misses that overlap */
#define PROBE_STEPS  250

static int64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static uint32_t probe_next[PROBE_LINES][16]; /* one number in each cache line */

/* Each chain goes through its lines in an order that no prefetcher guesses. */
static void probe_fill(void)
{
	uint32_t part = PROBE_LINES / PROBE_CHAINS;

	for (uint32_t i = 0; i < PROBE_LINES; i++)
		probe_next[i][0] = i / part * part + (i % part * 5 + 293) % part;
}

/*
 * The time of a fixed amount of work: longer while a neighbour uses the core, even idly (the core's
 * buffers are halved then, which arithmetic does not notice but misses that overlap do), or while
 * its clock is slow.
 */
static int64_t probe_once(void)
{
	int64_t start = now(CLOCK_MONOTONIC);
	uint32_t at[PROBE_CHAINS];

	for (uint32_t k = 0; k < PROBE_CHAINS; k++)
		at[k] = k * (PROBE_LINES / PROBE_CHAINS);
	for (int i = 0; i < PROBE_STEPS; i++)
		for (int k = 0; k < PROBE_CHAINS; k++)
			at[k] = probe_next[at[k]][0];
	for (int k = 0; k < PROBE_CHAINS; k++)
		__asm__ volatile("" ::"r"(at[k]));
	return now(CLOCK_MONOTONIC) - start;
}

/* The first pass fetches what the calls have pushed out of the second cache. */
static int64_t probe(void)
{
	probe_once();
	return probe_once();
}

/* So that what a scheduler chose is no part of a figure. */
static void stay_on_cpu(int thread)
{
	cpu_set_t allowed, one;
	int count, number;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(allowed), &allowed))
		return;
	count = CPU_COUNT(&allowed);
	number = count - 1 - thread % count;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &allowed) && number-- == 0)
			CPU_SET(cpu, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

void turns_begin(struct turns *t, long every, long calls, int thread)
{
	*t = (struct turns){.every = every};
	if (!every)
		return;
	t->most = calls / every + 1;
	t->done = calloc((size_t)t->most, sizeof(*t->done));
	if (!t->done)
		abort();
	stay_on_cpu(thread);
	probe_fill();
	t->probe_ns = probe();
	t->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
}

void turns_end(struct turns *t)
{
	int64_t cpu_ns = now(CLOCK_THREAD_CPUTIME_ID) - t->cpu_ns, probe_ns = probe();

	if (t->count < t->most)
		t->done[t->count++] = (struct turn){
			t->calls, cpu_ns, t->probe_ns > probe_ns ? t->probe_ns : probe_ns};
	t->calls = 0;
	t->probe_ns = probe_ns;
	t->cpu_ns = now(CLOCK_THREAD_CPUTIME_ID);
}

void turns_print(struct turns *t)
{
	for (long i = 0; i < t->count; i++)
		printf("turn %lld %lld %lld\n", (long long)t->done[i].calls,
		       (long long)t->done[i].cpu_ns, (long long)t->done[i].probe_ns);
	free(t->done);
	t->done = NULL;
}
