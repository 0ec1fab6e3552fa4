/* SPDX-License-Identifier: Apache-2.0 */
/*
 * scan.h: a rollup over a trace, with its slowest calls, unfinished calls and the time of threads within a range. Sums
 * include calls that ended in the range, as in a query; an unfinished call belongs to every range.
 */
#pragma once

#include "sums/clip.h"
#include "sums/rollup.h"

/* A call must satisfy both conditions. */
struct scan_filter {
	int64_t from, to; /* the call ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct sums_filter *where; /* with names resolved; NULL: all */
};

struct scan_options {
	unsigned int keys;		  /* enum rollup_key */
	const struct scan_filter *filter; /* NULL: everything */
	int64_t window_ns;		  /* see rollup_window(); 0: 100 ms */
	unsigned int threads;		  /* 0: one per CPU */
	size_t slowest;		   /* number of slowest calls to find, excluding waits; 0: none */
	bool slowest_io;	   /* only classes data, meta, sync and net */
	bool slowest_waits;	   /* including waits */
	const int64_t *file_alias; /* see rollup_alias(); NULL: none */
	size_t file_alias_count;
	/* also rows of the rollup that are `second`, if they pass the filter in that view */
	bool seconds;
	bool rows_only; /* do not use digests and summaries (tests, windows below 100 ms) */
	bool (*stopped)(const void *arg); /* as in struct walk */
	const void *stopped_arg;
};

struct scan_result {
	struct rollup *rollup;
	struct clip clip;
	struct batch *running; /* rows of op unfinished at the end of the trace, longest first */
	struct batch *slowest; /* rows of op, slowest first */
	uint8_t *file_seen;    /* by file_id below file_alias_count: 1 if a call used the file */
	/* of op: summed by a digest or summary; read as rows */
	uint64_t blocks_summed, blocks_read;
};

/* 0, -EINTR, or another negative errno with a message. Call scan_result_free() in either case. */
int scan_run(const struct store *s, const struct scan_options *opt, struct scan_result *ret,
	     struct error *err);
void scan_result_free(struct scan_result *r);
#define _cleanup_scan_result_ _cleanup_(scan_result_free)

/* True if the row of op ended in the filter's range; the filter may be NULL. */
bool scan_filter_time(const struct scan_filter *f, const struct batch *b, size_t row);
