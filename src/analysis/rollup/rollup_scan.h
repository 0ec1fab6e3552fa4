/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rollup_scan.h: a rollup over a trace: by the summaries where they can answer, else by rows, in parallel
 * over blocks. Also finds the slowest calls and those still running.
 *
 * A call belongs to a time range when it ended in it; one that never ended belongs to every range.
 * Blocks outside the range, without a chosen id, or without a call that is slow enough are not
 * read. A block whose summary is damaged or missing is read row by row; one that is damaged itself
 * but has its summary is still summed.
 */
#pragma once

#include "analysis/rollup/rollup.h"
#include "analysis/rollup/rollup_where.h"
#include "base/map.h"
#include "schema/select.h"
#include "store/store.h"

#define SCAN_THREADS_MAX 16

/* Both must hold. */
struct scan_filter {
	int64_t from, to; /* the call ended in [from, to); INT64_MIN, INT64_MAX: open */
	const struct scan_where *where; /* an expression, its names worked out; NULL: all */
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
	bool rows_only; /* leave the summaries aside (tests, windows below 100 ms) */
};

struct scan_result {
	struct rollup *rollup;
	/*
	 * What the sums of time must be corrected by to get the time within [from, to): by thread
	 * and class, ns. Calls that ended later count with what they did before `to`, calls that
	 * began earlier lose what was before `from`.
	 */
	struct map clip;       /* thread_id << 4 | class -> int64_t */
	struct batch *running; /* rows of op that were unfinished at the end of the trace */
	struct batch *slowest; /* rows of op, slowest first */
	uint8_t *file_seen;    /* by file_id below file_alias_count: 1 where a call named it */
	uint64_t blocks_summed, blocks_read, blocks_skipped;
};

/* 0 or negative; scan_result_free() in either case. */
int scan_run(const struct store *s, const struct scan_options *opt, struct scan_result *ret,
	     struct error *err);
void scan_result_free(struct scan_result *r);
#define _cleanup_scan_result_ _cleanup_(scan_result_free)

/* True where the filter (may be NULL) takes the row of op by its time; `where` is left to query_cursor_rows(). */
bool scan_filter_time(const struct scan_filter *f, const struct batch *b, size_t row);
