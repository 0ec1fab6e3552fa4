/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.h: measures the cost of a load's calls in turns of a tenth of a millisecond, each with a probe of the core's
 * speed. A virtual machine shares its cores: the same call takes 223 ns or 350 ns, from one second to the next,
 * depending on its neighbours. Turns with a slow probe can be dropped, so that tracers are compared at the same
 * speed.
 */
#pragma once

#include <stdint.h>

/* The calls of one turn, their CPU time, and the slower of the probes before and after them. */
struct turn {
	int64_t calls, cpu_ns, probe_ns;
};

struct turns {
	struct turn *done;
	long count, most;
	long every; /* calls in a turn; 0: turns are not measured */
	int64_t calls, cpu_ns, probe_ns;
};

/* Prepares for `calls` calls; pins the thread to a CPU chosen by its number. */
void turns_begin(struct turns *t, long every, long calls, int thread);

void turns_end(struct turns *t);

/* Called after each of the calls. */
static inline void turns_step(struct turns *t, long calls)
{
	t->calls += calls;
	if (t->every && t->calls >= t->every)
		turns_end(t);
}

/* Prints a line for each: turn CALLS CPU_NS PROBE_NS. */
void turns_print(struct turns *t);
