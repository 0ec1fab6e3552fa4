/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touched.h: what calls did to one file in the question's range and filter: who made them, when and
 * where in the file. Found by reading every call of the blocks that name the file, hence kept for the
 * next question about it; where a trace grows, only what came is read.
 */
#pragma once

#include "analysis/rollup/rollup.h"
#include "server/pass.h"

#define TOUCHES_MAX 2000000u /* that are kept of one file: 48 MB */

/* One call at a position. */
struct touch {
	int64_t end, pos;
	uint64_t bytes : 63, write : 1;
};

struct touched {
	unsigned int refs;
	uint64_t generation;
	size_t blocks; /* of the store, that were looked at */
	int64_t file, from, to;
	char *filter;

	struct rollup *rollup;			  /* by op, class, thread version */
	int64_t first, last, pos_first, pos_last; /* INT64_MAX, INT64_MIN: nothing */
	struct touch *touches;
	size_t count, cap;
	bool too_many; /* not all are there: read them again */
};

/* What is kept between questions: the file that was asked for last. */
struct touched_store;
int touched_store_new(struct touched_store **ret) _must_check_;
void touched_store_free(struct touched_store *s);

/* The question's filter for this file alone. 0 or negative with q->err. */
int touched_sieve(struct question *q, int64_t file, struct sieve *ret);
/* For the generation `file`; give it back by touched_put(). */
int touched_get(struct question *q, int64_t file, const struct sieve *sieve, struct touched **ret);
void touched_put(struct question *q, struct touched *t);
/* Gives each call of the rows that has a position to `take`. The rows have OP_START, OP_DUR, OP_POS, OP_BYTES, OP_OP. */
int touched_rows(const struct pass_rows *rows, int (*take)(void *arg, const struct touch *t),
		 void *arg);
