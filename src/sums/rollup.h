/* SPDX-License-Identifier: Apache-2.0 */
/*
 * sums: sums of calls by key over blocks, from digests, summaries or rows, whichever is the least that answers. May use store,
 * query, names, hist.
 *
 * rollup.h: count, errors, bytes, time and histogram of op by a key. Fed with rows of op or of summary; both give the same sums.
 */
#pragma once

#include "base/error.h"
#include "batch/batch.h"
#include "batch/dims.h"
#include "hist/sparse.h"
#include "schema/vocab.h"
#include "store/store.h"

/* What rows are grouped by: a set of these bits. */
enum rollup_key {
	ROLLUP_OP = 1 << 0,
	ROLLUP_THREAD = 1 << 1, /* thread_id */
	ROLLUP_FILE = 1 << 2,	/* file_id */
	ROLLUP_ERR = 1 << 3,
	ROLLUP_CLASS = 1 << 4,
	ROLLUP_WINDOW = 1 << 5, /* 100 ms, or as rollup_window() says */
	ROLLUP_CPU = 1 << 6,	/* rows of summary do not know it: -1 */
};

struct rollup_row {
	int64_t op, thread_id, file_id, err, class, window, cpu; /* -1 where not a key or null */
	/* Calls of other rows, seen from the second of their files (batch/seconds.h): where files are grouped they count, else
	 * they count already. */
	bool second;
	uint64_t calls, errors, bytes, time_ns, max_ns; /* sums stop at UINT64_MAX */
	struct hist hist;				/* of dur */
};

struct rollup;

int rollup_new(struct rollup **ret, unsigned int keys) _must_check_;
void rollup_free(struct rollup *r);
DEFINE_CLEANUP(struct rollup *, rollup_free)
/*
 * Files that are told as one: from now on a file_id below `count` is taken as alias[file_id] before
 * it becomes a key, and seen[file_id] is set to 1. Both arrays are borrowed. A host with a million
 * connections then has few keys.
 */
void rollup_alias(struct rollup *r, const int64_t *alias, uint8_t *seen, size_t count);
/*
 * Windows of this length, ns, from now on. Rows of summary know their 100 ms alone: with them it
 * must be a multiple of that.
 */
void rollup_window(struct rollup *r, int64_t window_ns);
/*
 * Adds every row of an op or summary batch, where files are a key from both of their files. Unfinished calls count apart: see
 * rollup_running().
 */
int rollup_add(struct rollup *r, const struct batch *b) _must_check_;
/* Adds one row of an op or summary batch as it stands. 0, -ENOMEM, or -EBADMSG where its histogram is malformed. */
int rollup_add_row(struct rollup *r, const struct batch *b, size_t row) _must_check_;
/* What a row of either counts for, without a histogram; `window` is when the call ended, INT64_MIN where that is not known. */
void rollup_read(const struct batch *b, size_t row, struct rollup_row *ret);
/* True for a row of op whose call had not ended: it counts apart. */
bool rollup_is_running(const struct batch *b, size_t row);
/* What rollup_add_row() adds from now on is `second`, or no longer is. */
void rollup_seconds(struct rollup *r, bool second);
/* Adds another rollup with the same keys (merging threads of work). */
int rollup_merge(struct rollup *r, const struct rollup *other) _must_check_;
size_t rollup_count(const struct rollup *r);
const struct rollup_row *rollup_row(const struct rollup *r, size_t i);
/* Regroups under fewer keys. */
int rollup_project(const struct rollup *r, unsigned int keys, struct rollup **ret) _must_check_;
/*
 * Regroups under keys that `map` makes: it gets a copy of each row and may change its key fields (a
 * file to the first version of its inode, a thread to its process); false leaves the row out. Rows that are `second` are
 * left out unless files are among the keys; with them they are as good as the others.
 * Fields that are not in `keys` are ignored; what a field holds afterwards is the caller's
 * business.
 */
int rollup_regroup(const struct rollup *r, unsigned int keys,
		   bool (*map)(void *arg, struct rollup_row *key), void *arg,
		   struct rollup **ret) _must_check_;
uint64_t rollup_running(const struct rollup *r);
/* So many more had not ended. */
void rollup_add_running(struct rollup *r, uint64_t count);

/* The end of a call, start + dur, without overflow; INT64_MIN where the start is not known. */
int64_t rollup_end(const struct batch *op, size_t row);
/* The columns of op that rollup_add() reads; with ROLLUP_CPU also OP_CPU. */
extern const uint64_t rollup_op_columns;
