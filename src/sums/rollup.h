/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums: sums of calls by key over blocks, from the cheapest source that suffices: digests, summaries or rows. May use
 * store, query, names, hist.
 *
 * rollup.h: count, errors, bytes, time and histogram of op by a key. Accepts rows of op or of summary; both give the
 * same sums.
 */
#pragma once

#include "base/error.h"
#include "batch/batch.h"
#include "batch/dims.h"
#include "hist/sparse.h"
#include "schema/vocab.h"
#include "store/store.h"

/* The keys to group by: a set of these bits. */
enum rollup_key {
	ROLLUP_OP = 1 << 0,
	ROLLUP_THREAD = 1 << 1, /* thread_id */
	ROLLUP_FILE = 1 << 2,	/* file_id */
	ROLLUP_ERR = 1 << 3,
	ROLLUP_CLASS = 1 << 4,
	ROLLUP_WINDOW = 1 << 5, /* 100 ms, or the length set by rollup_window() */
	ROLLUP_CPU = 1 << 6,	/* -1 for rows of summary, which lack it */
};

struct rollup_row {
	int64_t op, thread_id, file_id, err, class, window, cpu; /* -1 if not a key, or null */
	/*
	 * Calls of other rows, seen from the second of their files (batch/seconds.h). They count only if files are a
	 * key: without that the other rows already include them.
	 */
	bool second;
	uint64_t calls, errors, bytes, time_ns, max_ns; /* sums saturate at UINT64_MAX */
	struct hist hist;				/* of dur */
};

struct rollup;

int rollup_new(struct rollup **ret, unsigned int keys) _must_check_;
void rollup_free(struct rollup *r);
DEFINE_CLEANUP(struct rollup *, rollup_free)
/*
 * Groups files: from now on a file_id below `count` is replaced with alias[file_id] before it becomes a key, and
 * seen[file_id] is set to 1. Both arrays are borrowed. This keeps the number of keys small on a host with a million
 * connections.
 */
void rollup_alias(struct rollup *r, const int64_t *alias, uint8_t *seen, size_t count);
/*
 * Sets the length of windows in ns from now on. Must be a multiple of 100 ms if rows of summary are added, whose
 * windows have that length.
 */
void rollup_window(struct rollup *r, int64_t window_ns);
/*
 * Adds every row of an op or summary batch; if files are a key, from the view of both of its files. Unfinished calls
 * are counted separately: see rollup_running().
 */
int rollup_add(struct rollup *r, const struct batch *b) _must_check_;
/* Adds one row of an op or summary batch as it is. 0, -ENOMEM, or -EBADMSG if its histogram is malformed. */
int rollup_add_row(struct rollup *r, const struct batch *b, size_t row) _must_check_;
/* Reads one row of either kind into `ret`, without the histogram; `window` is the end of the call, INT64_MIN if unknown. */
void rollup_read(const struct batch *b, size_t row, struct rollup_row *ret);
/* True for an unfinished call in op, which is counted separately. */
bool rollup_is_running(const struct batch *b, size_t row);
/* Sets whether rows added by rollup_add_row() from now on are `second`. */
void rollup_seconds(struct rollup *r, bool second);
/* Adds another rollup with the same keys, e.g. that of another worker. */
int rollup_merge(struct rollup *r, const struct rollup *other) _must_check_;
size_t rollup_count(const struct rollup *r);
const struct rollup_row *rollup_row(const struct rollup *r, size_t i);
/* Pointers to the rows that `take` accepts (NULL: all), sorted; `order` compares such pointers. free() the array. */
int rollup_sorted(const struct rollup *r, bool (*take)(const struct rollup_row *row),
		  int (*order)(const void *a, const void *b), const struct rollup_row ***ret,
		  size_t *ret_count) _must_check_;
/* Regroups under fewer keys. */
int rollup_project(const struct rollup *r, unsigned int keys, struct rollup **ret) _must_check_;
/*
 * Regroups under keys that `map` computes. It receives a copy of each row and may change its key fields (a file to the
 * first version of its inode, a thread to its process); returning false drops the row. Rows that are `second` are
 * dropped unless files are among the keys; then they are treated like the others. Fields that are not in `keys` are
 * ignored; the caller defines what a changed field means.
 */
int rollup_regroup(const struct rollup *r, unsigned int keys,
		   bool (*map)(void *arg, struct rollup_row *key), void *arg,
		   struct rollup **ret) _must_check_;
uint64_t rollup_running(const struct rollup *r);
/* Adds to the count of unfinished calls. */
void rollup_add_running(struct rollup *r, uint64_t count);

/* The end of a call, start + dur, saturated; INT64_MIN if the start is unknown. */
int64_t rollup_end(const struct batch *op, size_t row);
/* The columns of op that rollup_add() reads; with ROLLUP_CPU also OP_CPU. */
extern const uint64_t rollup_op_columns;
