/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touched.h: when and where in one file calls read and wrote, in the question's range and filter. Found
 * by reading every call of the blocks that name the file, hence kept for the next question about it: who
 * cannot wait takes what was read by then, the next goes on. Where a trace grows, only what came is read.
 */
#pragma once

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
	size_t blocks; /* of the store, that are listed in `order` */
	size_t *order; /* blocks of op that may name the file, as they are to be read */
	size_t order_count, order_cap, read; /* read: how many of them were */
	int64_t file, from, to;
	char *filter;

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
/*
 * For the generation `file`; give it back by touched_put(). Reads no further block after `until` (of the
 * monotonic clock; 0: all of them), then `read` is less than `order_count`.
 */
int touched_get(struct question *q, int64_t file, const struct sieve *sieve, int64_t until,
		struct touched **ret);
void touched_put(struct question *q, struct touched *t);
/* Gives each call of the rows that has a position to `take`. The rows have OP_START, OP_DUR, OP_POS, OP_BYTES, OP_OP. */
int touched_rows(const struct pass_rows *rows, int (*take)(void *arg, const struct touch *t),
		 void *arg);
