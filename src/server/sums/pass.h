/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pass.h: one pass over the calls of a question (its range, its filter), in parallel over blocks: by
 * the summaries where those can tell, else by rows. Which rows are in a range is the engine's word
 * (engine/order.h), so that the sums are those of a query.
 */
#pragma once

#include "query/eval/eval.h"
#include "server/internal.h"

#define PASS_THREADS_MAX 16

/* The columns of op that summaries have too, each with that of summary. */
#define SIEVE_SHARED 5
extern const uint8_t pass_filter_shared[SIEVE_SHARED][2];

/* A filter, ready for use. */
struct pass_filter {
	struct plan *plan;
	struct eval *eval;
	uint64_t columns; /* of op */
	bool by_summary;  /* asks for nothing but what a summary has */
	bool by_times;	  /* nor for files: the first part of a digest has it */
	bool by_files;	  /* for nothing but files, classes and errors: the second part has it */
	bool names_rows;  /* asks for single calls */
	int64_t *
		files; /* versions of files, ascending, without one of which no call passes; NULL: any */
	size_t file_count;
};

void pass_filter_free(struct pass_filter *s);
#define _cleanup_pass_filter_ _cleanup_(pass_filter_free)
/* Parses; NULL or "" lets everything pass (filter->eval is NULL). -EINVAL with q->err, pos, len. */
int pass_filter_make(struct question *q, const char *text, struct pass_filter *ret);
/* Parses alone. */
int pass_filter_check(struct question *q, const char *text);
/* Says that it lets no call pass but of these. 0 or -ENOMEM. */
int pass_filter_name_files(struct pass_filter *s, const int64_t *ids, size_t count) _must_check_;

/* Rows that passed: of op, or of summary. */
struct pass_rows {
	size_t block; /* of op, also where the rows are its summary's; SIZE_MAX: those of a digest */
	bool second;  /* calls that came already, seen from their second file; see struct pass */
	const struct store_digest *digest; /* NULL: of one block */
	enum store_digest_part part;	   /* of the digest */
	const struct batch *batch;
	const uint32_t *rows;
	size_t count;
};

/*
 * What a pass has to take, where it is done in parts: kept from one to the next, of the same store, range and filter. It
 * begins as {0}. What is read as rows comes in an order that spreads over the trace.
 */
struct pass_list {
	struct item *items;
	size_t count, next;
};
void pass_list_free(struct pass_list *l);
/* The share of the blocks that was taken: 1 where all were. */
double pass_list_share(const struct pass_list *l);

enum pass_range {
	PASS_ENDED,   /* calls that ended in the range */
	PASS_OVERLAP, /* calls that were running at some time of it */
};

struct pass {
	struct question *q;
	const struct pass_filter *pass_filter; /* NULL: everything passes */
	enum pass_range range;
	int64_t from, to; /* INT64_MIN, INT64_MAX: open */
	uint64_t columns; /* of op, that `take` reads */
	bool summaries;	  /* `take` can do with rows of summary */
	uint64_t sums;	  /* of summary, that it then reads; 0: all */
	/*
	 * And with digests: `take` gets the rows of the part by time, and those of the part by file. Calls that stand in that
	 * twice come once there.
	 */
	bool times, files;
	/*
	 * It wants nothing but calls of the filter's files, which rows of the part by file can tell where they have op, thread
	 * and histogram. Rows of other files come too.
	 */
	bool of_files;
	bool long_rows; /* but for calls over 100 ms it wants rows */
	/*
	 * Calls that move bytes between two files come a second time where they pass then: batch/seconds.h.
	 */
	bool seconds;
	/* Chooses among the blocks of op that are taken one by one; NULL: all. */
	bool (*wants)(void *arg, const struct store_block *b, size_t block);
	void *arg;
	/* These blocks of op alone, in this order; NULL: all. */
	const size_t *only;
	size_t only_count;
	struct pass_list *list; /* NULL: all in one go */
	int64_t until; /* of the monotonic clock: takes no further block after it; 0: all */
	size_t taken;  /* of only: how many of the first were read, also where it stopped */
	/* Takes rows into a worker's own state. 0 or negative. */
	int (*take)(void *state, const struct pass_rows *rows);
	void *states[PASS_THREADS_MAX]; /* one per worker; made by the caller */
	unsigned int workers;
};

/* How many workers a question, a pass may have. */
unsigned int server_workers(const struct server *s);
unsigned int pass_workers(const struct question *q);
/* False where no call of the block was running at some time of the range. */
bool pass_block_overlaps(const struct store_block *b, int64_t from, int64_t to);
/* True where every call of the block began and ended in the range, as its header knows. */
bool pass_block_within(const struct store_block *b, int64_t from, int64_t to);
/* False where no call of the block ended in [from, to) and passes, as its header and its ids know. */
bool pass_block_can(const struct question *q, const struct pass_filter *pass_filter, int64_t from,
		    int64_t to, size_t block);
/* Runs. 0; -EINTR where the question was stopped; negative with q->err. */
int pass_run(struct pass *p);
