/* SPDX-License-Identifier: Apache-2.0 */
/*
 * features: what a trace reveals about its programs, as small tables (schema/feature_tables.h) for rules and users to
 * query. One pass over all calls makes them. Features are independent of each other and of rules.
 *
 * feature.h: the contract. A feature is a `const struct feature` and a line in feature_pass.c. It receives the calls in
 * the order of their ends, in batches that fit in the cache, with dense numbers instead of ids, so that its state can
 * be arrays:
 *
 *   static int count_calls(void *self, const struct feature_call *calls, size_t count)
 *   {
 *     for (const struct feature_call *c = calls; c < calls + count; c++) { if (c->file != FEATURE_NONE) ... state[c->file] ... }
 *   }
 */
#pragma once

#include "base/error.h"
#include "base/saturate.h"
#include "batch/batch.h"
#include "batch/dims.h"
#include "schema/ops.h"

#define FEATURE_NONE	  UINT32_MAX
#define FEATURE_CALLS_MAX 256
#define FEATURE_TABLES	  2
#define FEATURE_NULL	  INT64_MIN

/*
 * A call. Numbers are assigned in the order of first appearance, 0, 1, 2, ...: to tasks (a thread over its versions),
 * processes, and files (a generation over its versions); FEATURE_NONE if there is none. Other values that are null, or
 * missing in an old trace, are FEATURE_NULL. A call takes two cache lines; values that few calls have are in a third
 * one, shared by calls without them.
 */
struct feature_rest {
	int64_t pos2, fd2, peer_id, a0, a1, a2, waker_id, runq;
} __attribute__((aligned(64)));
struct feature_call {
	int64_t start; /* ns since the epoch; null for a call entered before recording */
	int64_t stop;  /* for an unfinished call: the end of recording; null before any known end */
	int64_t dur, bytes, flags;  /* 0 if null */
	int64_t thread_id, file_id; /* ids of versions, as in the trace */
	int64_t ret, pos, size, fd;
	int64_t file_size;		 /* of a successful open */
	const struct feature_rest *rest; /* valid as long as the call */
	uint32_t task, process, file, file2;
	uint16_t op, err; /* enum op; errno, 0: success */
	uint16_t status;  /* 0: none */
	uint8_t class;	  /* enum op_class */
	bool no_bytes;	  /* it is unknown whether it moved any */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct feature_call) == 128, "two lines");

/* Its start, at least as far back as its duration; null if its end is unknown, too. */
static inline int64_t feature_began(const struct feature_call *c)
{
	return c->start != FEATURE_NULL ? c->start : add_sat_signed(c->stop, -c->dur);
}

/* The meaning of the numbers. Grows with each batch; a feature may read it at any time. */
struct feature_world {
	const struct dims *dims;
	int64_t first, last; /* the time range of the pass, ns since the epoch */
	size_t task_count, process_count, file_count;
	/* for feature_id(): the id behind each number; for a task or file, that of one of its versions */
	int64_t *const *tasks, *const *processes, *const *files;
	uint64_t lost; /* number of missing calls */
};

#define FEATURE_IDS 65536 /* per allocation, which is never moved */

static inline int64_t feature_id(int64_t *const *ids, uint32_t number)
{
	return ids[number / FEATURE_IDS][number % FEATURE_IDS];
}

/*
 * Makes room for `want` elements of an array indexed by number; new elements are zero. Large arrays grow by FEATURE_IDS
 * elements. 0 or -ENOMEM.
 */
int feature_grow_slow(void **items, size_t *cap, size_t want, size_t size) _must_check_;
static inline _must_check_ int feature_grow(void **items, size_t *cap, size_t want, size_t size)
{
	return likely(want <= *cap) ? 0 : feature_grow_slow(items, cap, want, size);
}

/* Operations with one effect on a feature. */
struct feature_ops {
	uint8_t act;	   /* a value of the feature's own enum */
	const char *names; /* separated by single spaces */
};
/* Sets of[code] for the operations in the table. */
void feature_acts(const struct feature_ops *table, size_t count, uint8_t of[static OP_CODE_MAX]);

/* Output of rows. */
struct feature_rows;
/* Adds a row to the table being made. */
struct batch_row feature_row(struct feature_rows *out);

struct feature {
	const char *name;
	enum table_id tables[FEATURE_TABLES]; /* tables that it makes; TABLE_COUNT: no second one */
	/* Another table whose events it reads besides op, in the same order of time; TABLE_COUNT: none */
	enum table_id more;

	/* 0 or -ENOMEM. The world outlives the feature. */
	int (*begin)(void **ret, const struct feature_world *w);
	int (*calls)(void *self, const struct feature_call *calls, size_t count);
	/*
	 * Rows [from, to) of `more`; files[row] is the number of the row's file, FEATURE_NONE if no call has used it so
	 * far. NULL if there is no such table.
	 */
	int (*events)(void *self, const struct batch *b, const uint32_t *files, size_t from,
		      size_t to);
	/* After the last call: adds the rows of one of its tables; called for each table in order. */
	int (*end)(void *self, enum table_id table, struct feature_rows *out);
	void (*free)(void *self);
};

extern const struct feature feature_use, feature_habit, feature_fdlife, feature_stall,
	feature_press;

/* Terminated by NULL. */
extern const struct feature *const features[];
