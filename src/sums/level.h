/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level.h: chooses the level at which a query over calls reads a block, from headers alone: its digest, its summary,
 * its rows, or not at all. A summary is chosen only if it gives exactly the result that the rows would. Whether its
 * histograms count every call is only known after decoding (store_summary_counts()).
 */
#pragma once

#include "sums/filter.h"

enum sums_range {
	SUMS_ENDED,   /* calls that ended in the range: order_rows_in() */
	SUMS_OVERLAP, /* calls that were running at some time in it */
};

struct sums_ask {
	const struct store *store;
	const struct sums_filter *filter; /* NULL: every call */
	size_t end;			  /* blocks from this number on are ignored; 0: none are */
	enum sums_range range;
	int64_t from, to; /* INT64_MIN, INT64_MAX: open */
	bool summaries;	  /* may use rows of summaries */
	/* the reader ignores the windows of these rows, so they may begin anywhere */
	bool windowless;
	/*
	 * May also use rows of digests: of the by-time part, or of the by-file part. Calls that are in the latter twice
	 * are passed on once.
	 */
	bool times, files;
	/* Only calls on the filter's files are wanted. Rows of the by-file part suffice if they have op, thread and histogram. */
	bool of_files;
	bool long_rows; /* rows of op are needed only for calls over 100 ms */
	/* calls that move bytes between two files count for each of them: batch/seconds.h */
	bool seconds;
	/*
	 * Columns of summary that must be exact: every call has a value, and the sum has not overflowed. For readers
	 * that distinguish null from 0, and an overflow from the maximum.
	 */
	uint64_t exact;
	/* Columns of op that summaries lack but the reader needs, unless they are null in all calls of the block. */
	uint64_t absent;
};

enum sums_level {
	SUMS_NOTHING, /* no call of the block is wanted */
	SUMS_ROWS,
	SUMS_SUMMARY,
};

/* For a block of op. *ret_summary is the block number of its summary if that is to be read, else SIZE_MAX. */
enum sums_level sums_level(const struct sums_ask *a, size_t block, size_t *ret_summary);
/*
 * The digest of the block if it can replace all blocks that it covers, else NULL. *ret_all: each of their calls passes
 * the filter, which need not be evaluated, and cannot be if it reads columns that a digest lacks. Pass NULL as ret_all
 * if the filter will be evaluated anyway.
 */
const struct store_digest *sums_level_digest(const struct sums_ask *a, size_t block, bool *ret_all);

/*
 * For `of_files`: true if each row of the filter's files has op, thread and histogram, and the histograms count their
 * calls. `b` is the by-file part of a digest, with SUMS_OF_FILES_COLUMNS.
 */
bool sums_digest_has_files(const struct sums_filter *f, const struct batch *b);
#define SUMS_OF_FILES_COLUMNS \
	(1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_FILE2_ID | 1ull << SUMMARY_THREAD_ID)

/* False if no call of the block was running at any time in the range. */
bool sums_block_overlaps(const struct store_block *b, int64_t from, int64_t to);
/* The calls in all blocks of op that overlap the range: at least those that ran in it. */
uint64_t sums_overlapping_rows(const struct store *s, int64_t from, int64_t to);
/* True if every call of the block began and ended in the range. */
bool sums_block_within(const struct store_block *b, int64_t from, int64_t to);
/* False if no call of the block that ended in the range can pass the filter. */
bool sums_block_can(const struct sums_ask *a, size_t block);
