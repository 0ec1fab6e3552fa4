/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_beside.h: rows of other tables that belong to a call, for its line: the descriptors that it waited on, the
 * memory that its arguments pointed to, the content that it moved.
 */
#pragma once

#include "batch/batch.h"
#include "cli/trace/call_text.h"
#include "engine/ask.h"

enum beside_kind { BESIDE_POLL, BESIDE_DETAIL, BESIDE_CONTENT, BESIDE_KINDS };

#define BESIDE_ROWS 64 /* rows of one call in one table: no call has more */

/* The rows of one call. Valid until the next call is looked up. */
struct trace_beside {
	struct call_rows tables[BESIDE_KINDS];
	uint32_t rows[BESIDE_KINDS][BESIDE_ROWS];
	size_t at[BESIDE_KINDS]; /* in a set of rows: where those of the next call begin */
};

/* Starts a new set of rows, in which calls come in order. */
void trace_beside_begin(struct trace_beside *b);
/* Finds the rows of a call, in the same set of rows as the call. */
void trace_beside_in(struct trace_beside *b, const struct batch_set *set, const struct batch *op,
		     size_t row);

/* Finds the rows of a trace's calls, which must be passed in the order of their ends. Starts as {0}. */
struct beside_scan {
	struct beside_table {
		struct engine_scan *scan;
		const struct batch *batch; /* the next rows */
		const uint32_t *rows;
		ssize_t at, count;
		bool ended;
		struct batch *held; /* those that ended at */
		int64_t held_end;
	} tables[BESIDE_KINDS];
};
/* The next row of a table's scan is rows[at] of its batch; 0: none. */
ssize_t beside_peek(struct beside_table *t, struct error *err);
/* Does not overflow, as a damaged trace may have any numbers. */
static inline int64_t beside_end(int64_t start, int64_t dur)
{
	int64_t end;

	return __builtin_add_overflow(start, dur, &end) ? INT64_MAX : end;
}
int beside_scan_new(struct beside_scan *s, struct store *store, int64_t from, int64_t to,
		    struct error *err);
void beside_scan_free(struct beside_scan *s);
/* 0 or negative. The rows are valid until the next call. */
int beside_scan_find(struct beside_scan *s, const struct batch *op, size_t row,
		     struct trace_beside *ret, struct error *err);
