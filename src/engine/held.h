/* SPDX-License-Identifier: Apache-2.0 */
/*
 * held.h: what somebody keeps in memory of the summaries of blocks (`weir serve` does), so that questions about groups of
 * calls which ask for no file need not decode them again.
 */
#pragma once

#include "batch/batch.h"

/* The summaries of some blocks of op, together. */
struct held_part {
	const size_t *blocks; /* of op, ascending */
	size_t count;
	/* Of summary: one row for each window, op, thread, error and class; without file_id and block.
	 * It tells of every call of the blocks; a sum stops at INT64_MAX. */
	const struct batch *sums;
};

struct held {
	/* What there is now, which does not change until it is given back; NULL: nothing. */
	void *(*take)(void *arg);
	void (*give)(void *view);
	size_t (*count)(const void *view);
	/* Part i; each block is in one at most. */
	struct held_part (*part)(const void *view, size_t i);
	void *arg; /* of take */
};
