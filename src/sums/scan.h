/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h: a rollup over a trace, with the slowest calls, those that still ran, and the time of threads within a range.
 *
 * Sums are of calls that ended in the range, as those of a query; a call that never ended belongs to every range.
 */
#pragma once

#include "sums/clip.h"
#include "sums/rollup.h"

/* Both must hold. */
struct scan_filter {
	int64_t from, to; /* the call ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct sums_filter *where; /* its names worked out; NULL: all */
};

struct scan_options {
	unsigned int keys;		  /* enum rollup_key */
	const struct scan_filter *filter; /* NULL: everything */
	int64_t window_ns;		  /* see rollup_window(); 0: 100 ms */
	unsigned int threads;		  /* 0: as many as there are CPUs */
	size_t slowest;			  /* so many of the slowest calls, without waits; 0: none */
	bool slowest_io;		  /* data, meta, sync and net alone */
	bool slowest_waits;		  /* and those that wait */
	const int64_t *file_alias;	  /* see rollup_alias(); NULL: none */
	size_t file_alias_count;
	bool seconds; /* rows of the rollup that are `second` too, where the filter takes them as they then are */
	bool rows_only; /* leave digests and summaries aside (tests, windows below 100 ms) */
	bool (*stopped)(const void *arg); /* as those of struct walk */
	const void *stopped_arg;
};

struct scan_result {
	struct rollup *rollup;
	struct clip clip;
	struct batch *
		running; /* rows of op that were unfinished at the end of the trace, the longest first */
	struct batch *slowest; /* rows of op, slowest first */
	uint8_t *file_seen;    /* by file_id below file_alias_count: 1 where a call named it */
	uint64_t blocks_summed, blocks_read; /* of op: by a digest or summary, by rows */
};

/* 0 or negative, with a message but for -EINTR; scan_result_free() in either case. */
int scan_run(const struct store *s, const struct scan_options *opt, struct scan_result *ret,
	     struct error *err);
void scan_result_free(struct scan_result *r);
#define _cleanup_scan_result_ _cleanup_(scan_result_free)

/* True where the row of op ended in the filter's range; the filter may be NULL. */
bool scan_filter_time(const struct scan_filter *f, const struct batch *b, size_t row);
