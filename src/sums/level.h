/* SPDX-License-Identifier: Apache-2.0 */
/*
 * level.h: at which level a question about calls is answered: a digest, the summary of a block, its rows, or nothing of
 * it, as headers know. Where a summary is chosen it says the same as the rows would, to the last digit; that it counts
 * every call is seen once it is decoded (store_summary_counts()).
 */
#pragma once

#include "sums/filter.h"

enum sums_range {
	SUMS_ENDED,   /* calls that ended in the range: order_rows_in() */
	SUMS_OVERLAP, /* calls that were running at some time of it */
};

struct sums_ask {
	const struct store *store;
	const struct sums_filter *filter; /* NULL: every call */
	size_t end;			  /* blocks from here on are not there; 0: all are */
	enum sums_range range;
	int64_t from, to; /* INT64_MIN, INT64_MAX: open */
	bool summaries;	  /* rows of summary will do */
	bool windowless;  /* the windows of their rows are not read: they may begin anywhere */
	/* And digests: rows of the part by time, and those of the part by file. Calls that stand in that twice come once there. */
	bool times, files;
	/*
	 * Nothing but calls of the filter's files is wanted, which rows of the part by file can answer where they have op,
	 * thread and histogram.
	 */
	bool of_files;
	bool long_rows; /* but for calls over 100 ms rows of op are wanted */
	bool seconds; /* calls that move bytes between two files count for each: batch/seconds.h */
	/*
	 * Columns of summary that must be sums of values that each call has, without overflow: for readers that distinguish
	 * null from 0, and an overflow from the largest number.
	 */
	uint64_t exact;
	/* Columns of op that summaries lack, and that the reader needs unless no call of the block has a value. */
	uint64_t absent;
};

enum sums_level {
	SUMS_NOTHING, /* no call of the block is asked for */
	SUMS_ROWS,
	SUMS_SUMMARY,
};

/* For a block of op; *ret_summary is its summary's block, where that is to be read, else SIZE_MAX. */
enum sums_level sums_level(const struct sums_ask *a, size_t block, size_t *ret_summary);
/*
 * The digest of the block, where it can stand for all of its blocks; NULL. *ret_all: each of their calls passes the filter, which
 * need not be evaluated, and cannot where it reads more than a digest has. ret_all is NULL where it will be evaluated.
 */
const struct store_digest *sums_level_digest(const struct sums_ask *a, size_t block, bool *ret_all);

/*
 * For `of_files`: true where each row of the filter's files has op, thread and histogram, and the histograms count their calls.
 * `b` is the part by file of a digest, with SUMS_OF_FILES_COLUMNS.
 */
bool sums_digest_has_files(const struct sums_filter *f, const struct batch *b);
#define SUMS_OF_FILES_COLUMNS \
	(1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_FILE2_ID | 1ull << SUMMARY_THREAD_ID)

/* False where no call of the block was running at some time of the range. */
bool sums_block_overlaps(const struct store_block *b, int64_t from, int64_t to);
/* True where every call of the block began and ended in the range. */
bool sums_block_within(const struct store_block *b, int64_t from, int64_t to);
/* False where no call of the block ended in the range and passes. */
bool sums_block_can(const struct sums_ask *a, size_t block);
