/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features: what a trace shows about its programs, as small tables (schema/feature_tables.h) that rules and people query.
 * One pass over all calls makes them; no feature knows of another, or of any rule.
 *
 * feature.h: the contract. A feature is a `const struct feature` and a line in feature_pass.c. It gets the calls in order of
 * their end, in stretches short enough for the cache, with dense numbers in place of ids, so that its state is arrays:
 *
 *   static int count_calls(void *self, const struct feature_call *calls, size_t count)
 *   {
 *   	for (const struct feature_call *c = calls; c < calls + count; c++) { if (c->file != FEATURE_NONE) ... state[c->file] ... }
 *   }
 */
#pragma once

#include "base/error.h"
#include "batch/batch.h"
#include "batch/dims.h"
#include "schema/ops.h"

#define FEATURE_NONE	  UINT32_MAX
#define FEATURE_CALLS_MAX 256
#define FEATURE_TABLES	  2
#define FEATURE_NULL	  INT64_MIN

/*
 * A call. Numbers are given as things first appear, 0, 1, 2, ...: of a task (a thread over its versions), a process, a file
 * (a generation over its versions); FEATURE_NONE where there is none. Other values that are null, or of which an old trace has
 * no column, are FEATURE_NULL. It has two cache lines; what few calls have is in a third one, which those without it share.
 */
struct feature_rest {
	int64_t pos2, fd2, peer_id, a0, a1, a2, waker_id, runq;
} __attribute__((aligned(64)));
struct feature_call {
	int64_t start; /* ns since the epoch; of a call that was entered before recording: null */
	int64_t stop;  /* of a call that still runs: when recording ended */
	int64_t dur, bytes, flags;  /* 0: none */
	int64_t thread_id, file_id; /* ids as the trace has them: of versions */
	int64_t ret, pos, size, fd;
	int64_t file_size;		 /* of an open that succeeded */
	const struct feature_rest *rest; /* as long as the call */
	uint32_t task, process, file, file2;
	uint16_t op, err; /* enum op; errno, 0: success */
	uint16_t status;  /* 0: none */
	uint8_t class;	  /* enum op_class */
	bool no_bytes;	  /* it is not known whether it moved any */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct feature_call) == 128, "two lines");

/* What the numbers stand for. Grows with each stretch; a feature reads it at any time. */
struct feature_world {
	const struct dims *dims;
	int64_t first, last; /* the time that the pass covers, ns since the epoch */
	size_t task_count, process_count, file_count;
	/* Of what the numbers are, for feature_id(): of a task and a file an id of one of its versions */
	int64_t *const *tasks, *const *processes, *const *files;
	uint64_t lost; /* calls that are missing */
};

#define FEATURE_IDS 65536 /* that lie together; they do not move when more come */

static inline int64_t feature_id(int64_t *const *ids, uint32_t number)
{
	return ids[number / FEATURE_IDS][number % FEATURE_IDS];
}

/*
 * Room for `want` elements of an array by number; new ones are zero. Large arrays grow by FEATURE_IDS elements. 0 or -ENOMEM.
 */
int feature_grow_slow(void **items, size_t *cap, size_t want, size_t size) _must_check_;
static inline _must_check_ int feature_grow(void **items, size_t *cap, size_t want, size_t size)
{
	return likely(want <= *cap) ? 0 : feature_grow_slow(items, cap, want, size);
}

/* Where rows go. */
struct feature_rows;
/* Adds a row to the table that is being made. */
struct batch_row feature_row(struct feature_rows *out);

struct feature {
	const char *name;
	enum table_id tables[FEATURE_TABLES]; /* that it makes; TABLE_COUNT: no second one */
	/* Events of a further table that it reads besides op, in the same order of time; TABLE_COUNT: none */
	enum table_id more;
	size_t bytes_max; /* of memory that its state may take, whatever the trace; beyond it the feature cuts and marks */

	/* 0 or -ENOMEM. The world outlives it. */
	int (*begin)(void **ret, const struct feature_world *w);
	int (*calls)(void *self, const struct feature_call *calls, size_t count);
	/*
	 * Rows [from, to) of `more`; files[row] is the number of the row's file, FEATURE_NONE where no call so far was on it. NULL
	 * where there is none.
	 */
	int (*events)(void *self, const struct batch *b, const uint32_t *files, size_t from,
		      size_t to);
	/* After the last call: the rows of one of its tables, which are asked for in order. */
	int (*end)(void *self, enum table_id table, struct feature_rows *out);
	void (*free)(void *self);
};

extern const struct feature feature_habit, feature_fdlife;

/* Ends with NULL. */
extern const struct feature *const features[];
