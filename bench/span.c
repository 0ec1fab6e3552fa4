/* SPDX-License-Identifier: Apache-2.0 */
/*
 * span.c: measures the cost of marking spans, in ns: begin, an annotation of 8 bytes and end together; an annotation
 * alone. Whether they are recorded is up to the caller, bench/span.py. Pinned to a CPU; prints the median of rounds
 * as a line of JSON. Spans come in bursts that the rings can hold, with pauses for the reader, and only the bursts
 * are timed.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "weir-span.h"

#define ROUNDS 200
#define SPANS  4000 /* per burst; about 450 KiB */

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static double spans(void)
{
	double from = now();

	for (int i = 0; i < SPANS; i++) {
		struct weir_span s;

		weir_span_begin(&s, "save");
		weir_span_note_int(&s, "size", i);
		weir_span_end(&s);
	}
	return (now() - from) / SPANS;
}

static double notes(void)
{
	struct weir_span s;
	double from, ns;

	weir_span_begin(&s, "notes");
	from = now();
	for (int i = 0; i < SPANS; i++)
		weir_span_note_int(&s, "size", i);
	ns = (now() - from) / SPANS;
	weir_span_end(&s);
	return ns;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(double (*f)(void), int rest_us)
{
	static double all[ROUNDS];

	for (int i = 0; i < ROUNDS; i++) {
		all[i] = f();
		usleep((useconds_t)rest_us);
	}
	qsort(all, ROUNDS, sizeof(*all), by_value);
	return all[ROUNDS / 2];
}

int main(int argc, char **argv)
{
	cpu_set_t one;
	int rest_us = argc > 2 ? (int)strtol(argv[2], NULL, 10) : 20000;
	double span, note;

	CPU_ZERO(&one);
	CPU_SET(argc > 1 ? (int)strtol(argv[1], NULL, 10) : 0, &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 1;
	usleep(1200000); /* until the library knows whether a recorder is running */
	span = median(spans, rest_us);
	note = median(notes, rest_us);
	printf("{\"recorded\": %s, \"span_ns\": %.1f, \"note_ns\": %.1f, \"spans\": %d, \"notes\": "
	       "%d}\n",
	       weir_span_recorded() ? "true" : "false", span, note, ROUNDS * (SPANS + 1),
	       ROUNDS * SPANS * 2);
	return 0;
}
