/* SPDX-License-Identifier: Apache-2.0 */
/* rollup_scan_internal.h: what rollup_scan.c and pick.c share. */
#pragma once

#include <stdatomic.h>

#include "analysis/rollup/rollup_scan.h"

/* A row of a block, with its duration. */
struct row_ref {
	int64_t dur;
	uint32_t block, row;
};

struct item {
	size_t block;	/* of op */
	size_t summary; /* its summary's block, SIZE_MAX: none */
	const struct store_digest
		*digest; /* covers this block and others, which are not listed; NULL: none */
};

struct scan;

struct worker {
	struct scan *scan;
	struct rollup *rollup;
	struct store_cursor *cursor;
	struct query_cursor *filter_cursor,
		*summary_cursor;	      /* where the filter has an expression */
	struct batch *seconds, *seconds_sums; /* rows of op, of summary; see batch/seconds.h */
	struct map clip;
	uint8_t *seen;
	struct row_ref *running;
	size_t running_count, running_cap;
	uint64_t summed, read, skipped;
	struct error err;
};

struct scan {
	const struct store *store;
	const struct scan_options *opt;
	struct item *items;
	size_t item_count;
	atomic_size_t next_item;
	atomic_bool failed;
	uint64_t *block_max; /* by block: longest chosen call that is no waiting, plus one; each
				block has one writer */
	struct worker *workers;
	unsigned int worker_count;
};

/* True where a call of the class can be among the slowest. */
static inline bool class_counts(const struct scan_options *opt, int64_t class)
{
	if (class == CLASS_WAIT)
		return opt->slowest_waits;
	return !opt->slowest_io || (class >= CLASS_DATA && class <= CLASS_NET);
}

/* The columns to decode of a block. */
uint64_t rollup_scan_columns(const struct scan *scan);
/* The rows of a batch of op that the filter's expression takes: *ret_rows[0 .. n), or all n where it is
 * NULL. Negative with a message. */
ssize_t scan_rows(struct worker *w, const struct batch *b, const uint32_t **ret_rows,
		  struct error *err);

/* Fills ret->running and ret->slowest after the work. 0 or negative. */
int pick_running(struct scan *scan, struct scan_result *ret, struct error *err);
int pick_slowest(struct scan *scan, struct scan_result *ret, struct error *err);
