/* SPDX-License-Identifier: Apache-2.0 */
/*
 * walk.h: one pass over the calls of a question, in parallel over blocks: digests and summaries where those can answer
 * (level.h), else rows. Which rows are in a range is that of order.h, so that the sums are those of a query. Damaged blocks
 * are left out; the store counts them.
 */
#pragma once

#include <stdatomic.h>

#include "sums/level.h"

#define WALK_THREADS_MAX 16u

/* Rows that passed: of op, or of summary. */
struct walk_rows {
	size_t block; /* of op, also where the rows are its summary's; SIZE_MAX: those of a digest */
	bool second; /* calls that came already, seen from their second file; see struct sums_ask */
	const struct store_digest *digest; /* NULL: of one block */
	enum store_digest_part part;	   /* of the digest */
	const struct batch *batch;
	const uint32_t *rows;
	size_t count;
};

/*
 * What a pass has to read, where it is done in parts: kept from one to the next, of the same store, range and filter. It
 * begins as {0}. What is read as rows comes in an order that spreads over the trace.
 */
struct walk_list {
	struct walk_item *items;
	size_t count, next;
};
void walk_list_free(struct walk_list *l);
/* The share of the blocks that was read: 1 where all were. */
double walk_list_share(const struct walk_list *l);

struct walk {
	struct sums_ask ask;
	uint64_t columns; /* of op, that `take` reads */
	uint64_t sums;	  /* of summary, that it reads where it gets rows of summary; 0: all */
	/* Chooses among the blocks of op that are read one by one; NULL: all. */
	bool (*wants)(void *arg, const struct store_block *b, size_t block);
	void *arg;
	/* These blocks of op alone, in this order; NULL: all. */
	const size_t *only;
	size_t only_count;
	struct walk_list *list; /* NULL: all in one go */
	int64_t until; /* of the monotonic clock: begins no further block after it; 0: all */
	size_t taken;  /* of only: how many of the first were read, also where it stopped */
	bool (*stopped)(const void *arg); /* ends it with -EINTR; NULL: nothing does */
	const void *stopped_arg;
	/* Takes rows into a worker's own state. 0 or negative. */
	int (*take)(void *state, const struct walk_rows *rows);
	void *states[WALK_THREADS_MAX]; /* one per worker; made by the caller */
	unsigned int workers;
};

/* How many workers to have: `wanted`, or as many as there are CPUs where that is 0. */
unsigned int walk_workers(unsigned int wanted);
/* Runs. 0 or negative, with a message but for -EINTR. */
int walk_run(struct walk *w, struct error *err);
