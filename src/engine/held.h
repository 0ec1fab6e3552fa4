/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h: what somebody keeps in memory of the summaries of blocks (`weir serve` does), so that questions about groups of
 * calls need not decode them again: those that ask for no file, and those that ask for files and classes alone. And of
 * single calls, so that questions about long ones need not read all.
 */
#pragma once

#include "batch/batch.h"

/* The summaries of some blocks of op, together. */
struct held_part {
	const size_t *blocks; /* of op, ascending */
	size_t count;
	bool seconds; /* some calls move bytes between two files: by file they are there for both */
	/* Of summary: one row for each window, op, thread, error and class; without file_id and block.
	 * It tells of every call of the blocks; a sum stops at INT64_MAX. */
	const struct batch *sums;
};

/* The columns of summary that there are by file and class. */
#define HELD_FILE_COLUMNS                                                          \
	(1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_CALLS | \
	 1ull << SUMMARY_BYTES | 1ull << SUMMARY_TIME | 1ull << SUMMARY_MAX |      \
	 1ull << SUMMARY_HIST)

struct held {
	/* What there is now, which does not change until it is given back; NULL: nothing. */
	void *(*take)(void *arg);
	void (*give)(void *view);
	size_t (*count)(const void *view);
	/* Part i; each block is in one at most. */
	struct held_part (*part)(const void *view, size_t i);
	/* The same calls by file and class: how many batches of them part i has, one at least. */
	size_t (*file_batches)(const void *view, size_t i);
	/* Puts batch k of them into an empty one: some of HELD_FILE_COLUMNS. 0 or -ENOMEM. */
	int (*put_files)(const void *view, size_t i, size_t k, uint64_t columns, struct batch *to);
	/*
	 * The longest calls, as rows: each that took no less than *least, with some columns. NULL: there are none. They stay
	 * as long as the engine.
	 */
	const void *(*longest)(const void *arg, int64_t *least, uint64_t *columns);
	/* True where those of a block are known: *ret has them, in their order but with other numbers; NULL: it has none. */
	bool (*longest_rows)(const void *longest, size_t block, const struct batch **ret);
	void *arg; /* of take, longest */
};
