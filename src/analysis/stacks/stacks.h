/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stacks: which functions of a program led to its calls (table stack, record --stacks), summed up. Recorded stacks stand for
 * the calls that were selected for them: the sums say how many calls have none.
 */
#pragma once

#include "analysis/analysis.h"

#define STACKS_TOP 5000 /* stacks of the table, unless options say otherwise */

enum stacks_weight { STACKS_TIME, STACKS_BYTES, STACKS_CALLS, STACKS_ERRORS, STACKS_WEIGHTS };
/* More that is summed up: the time of calls that wait for work. */
enum { STACKS_WAITING = STACKS_WEIGHTS, STACKS_SUMS };

struct stacks_options {
	const char *weight; /* a word of stacks_weight_word() */
	bool kernel;	    /* stacks are told apart by the kernel's functions too */
	bool folded;
	bool lines;	   /* names are looked up again, with lines of source */
	const char *pprof; /* a file to write; NULL: none */
	int64_t top;
};

/* The calls of one stack. */
struct stacks_row {
	struct bytes names;  /* of the program's functions, outermost first */
	struct bytes kernel; /* where most of them slept; length 0: nowhere */
	uint64_t cut;	     /* of the stack, enum symbols_cut */
	uint64_t sums[STACKS_SUMS];
};

/* What analysis_result.own is: by weight, largest first. */
struct stacks_sums {
	struct stacks_row *rows;
	size_t count;
	uint64_t with[STACKS_SUMS],
		without[STACKS_SUMS]; /* of all calls that have a stack, and that have none */
	enum stacks_weight weight;
	bool kernel;  /* exports have the kernel's functions behind the program's */
	void *memory; /* what the texts lie in */
};

const char *stacks_weight_word(size_t i);
/* A line for each stack, "main;load;read 4711", as flamegraph.pl and speedscope read it. 0 or -ENOMEM. */
int stacks_put_folded(const struct stacks_sums *s, struct buf *out);
/* A gzipped profile of pprof with calls, time, bytes and errors of each stack. 0 or -ENOMEM. */
int stacks_put_pprof(const struct stacks_sums *s, struct buf *out);
