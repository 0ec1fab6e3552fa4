/* SPDX-License-Identifier: Apache-2.0 */
/* summary.h: the sums of a block of op. Inside store/ only. */
#pragma once

#include "batch/batch.h"

struct summarizer;

int summarizer_new(struct summarizer **ret) _must_check_;
void summarizer_free(struct summarizer *s);
DEFINE_CLEANUP(struct summarizer *, summarizer_free)
/*
 * Adds to `out` (a batch of summary) one row per 100 ms window, op, thread, file, err and class of the finished
 * calls of `ops`. `block` is the sequence number of their block. 0 or -ENOMEM.
 */
int summarize(struct summarizer *s, const struct batch *ops, uint64_t block,
	      struct batch *out) _must_check_;
