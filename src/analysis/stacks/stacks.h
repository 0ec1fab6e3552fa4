/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks: aggregates calls by the functions that led to them (table stack, record --stacks). Stacks are recorded for
 * selected calls; the sums include the number of calls without one.
 */
#pragma once

#include "analysis/analysis.h"

#define STACKS_TOP 5000 /* rows of the table by default */

enum stacks_weight { STACKS_TIME, STACKS_BYTES, STACKS_CALLS, STACKS_ERRORS, STACKS_WEIGHTS };
/* From STACKS_WAITING on: the same sums, of those of the calls that wait for work. */
enum { STACKS_WAITING = STACKS_WEIGHTS, STACKS_SUMS = 2 * STACKS_WEIGHTS };

struct stacks_options {
	const char *weight; /* one of stacks_weight_word() */
	bool kernel;	    /* also group by the kernel's functions */
	bool folded;
	bool lines;	   /* resolve names again, with source lines */
	const char *pprof; /* output file; NULL: none */
	int64_t top;
};

/* The calls of one stack. */
struct stacks_row {
	struct bytes names; /* the program's functions, outermost first */
	struct bytes
		kernel; /* where most of them slept, rather those that do not wait; length 0: none did */
	uint64_t cut; /* enum symbols_cut of the stack */
	uint64_t sums[STACKS_SUMS];
};

/* The analysis's own result (analysis_result.own): by weight, largest first. */
struct stacks_sums {
	struct stacks_row *rows;
	size_t count;
	uint64_t with[STACKS_SUMS],
		without[STACKS_SUMS]; /* over all calls with and without a stack */
	enum stacks_weight weight;
	bool kernel;  /* exports append the kernel's functions to the program's */
	void *memory; /* storage of the texts */
};

const char *stacks_weight_word(size_t i);
/* Appends a line per stack, "main;load;read 4711", the format of flamegraph.pl and speedscope. 0 or -ENOMEM. */
int stacks_put_folded(const struct stacks_sums *s, struct buf *out);
/* Appends a gzipped pprof profile with calls, time, bytes and errors of each stack. 0 or -ENOMEM. */
int stacks_put_pprof(const struct stacks_sums *s, struct buf *out);
