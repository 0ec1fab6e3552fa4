/* SPDX-License-Identifier: Apache-2.0 */
/*
 * turns.h: what a load's calls cost, in turns of a tenth of a millisecond, each with a probe of how fast the core was. A
 * virtual machine shares its cores: the same call takes 223 ns or 350 ns, from one second to the next, by what the
 * neighbour does. Turns whose probe was slow can be left out, so that tracers are compared on the same core.
 */
#pragma once

#include <stdint.h>

/* The calls of one turn, their CPU, and the slower of the probes before and after them. */
struct turn {
	int64_t calls, cpu_ns, probe_ns;
};

struct turns {
	struct turn *done;
	long count, most;
	long every; /* calls in a turn; 0: none are taken */
	int64_t calls, cpu_ns, probe_ns;
};

/* Of `calls` calls to come; the thread stays on a CPU of its own from now on, by its number. */
void turns_begin(struct turns *t, long every, long calls, int thread);

void turns_end(struct turns *t);

/* After some calls. */
static inline void turns_step(struct turns *t, long calls)
{
	t->calls += calls;
	if (t->every && t->calls >= t->every)
		turns_end(t);
}

/* A line for each: turn CALLS CPU_NS PROBE_NS. */
void turns_print(struct turns *t);
