/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h: one pass over the calls that a query selects, in parallel over blocks. It reads digests and summaries where
 * they suffice (level.h), else rows. order.h defines which rows are in a range, so that sums equal those of a query.
 * Damaged blocks are skipped; the store counts them.
 */
#pragma once

#include <stdatomic.h>

#include "sums/level.h"

#define WALK_THREADS_MAX 16u

/* Rows that passed the filter, of op or of summary. */
struct walk_rows {
	/* of op, also if the rows are those of its summary; SIZE_MAX: rows of a digest */
	size_t block;
	/* calls already passed on, now as seen from their second file; see struct sums_ask */
	bool second;
	const struct store_digest *digest; /* NULL: rows of one block */
	enum store_digest_part part;	   /* of the digest */
	const struct batch *batch;
	const uint32_t *rows;
	size_t count;
};

/*
 * The remaining work of a pass that is done in parts, kept from one part to the next; store, range and filter must stay
 * the same. Initialized with {0}. Blocks read as rows are taken in an order that spreads over the trace.
 */
struct walk_list {
	struct walk_item *items;
	size_t count, next;
};
void walk_list_free(struct walk_list *l);
/* The fraction of the blocks that was read: 1 if all were. */
double walk_list_share(const struct walk_list *l);

struct walk {
	struct sums_ask ask;
	uint64_t columns; /* columns of op that `take` reads */
	uint64_t sums;	  /* columns of summary that it reads from rows of summary; 0: all */
	/* Selects among the blocks of op that are read one by one; NULL: all. */
	bool (*wants)(void *arg, const struct store_block *b, size_t block);
	void *arg;
	/* Reads only these blocks of op, in this order; NULL: all. */
	const size_t *only;
	size_t only_count;
	struct walk_list *list; /* NULL: everything in one run */
	int64_t until; /* monotonic time after which no further block is started; 0: no limit */
	size_t taken;  /* number of leading entries of `only` that were read, also if stopped */
	bool (*stopped)(const void *arg); /* true ends the run with -EINTR; NULL: never stopped */
	const void *stopped_arg;
	/* Takes rows into the worker's own state. 0 or negative. */
	int (*take)(void *state, const struct walk_rows *rows);
	void *states[WALK_THREADS_MAX]; /* one per worker, allocated by the caller */
	unsigned int workers;
};

/* The number of workers: `wanted`, or one per CPU if that is 0. */
unsigned int walk_workers(unsigned int wanted);
/* 0, -EINTR, or another negative errno with a message. */
int walk_run(struct walk *w, struct error *err);
