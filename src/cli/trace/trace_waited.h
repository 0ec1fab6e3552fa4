/* SPDX-License-Identifier: Apache-2.0 */
/* trace_waited.h: which descriptors a call that slept waited on, for its line. */
#pragma once

#include "batch/batch.h"
#include "engine/ask.h"

/* Rows of the table poll, of one call. */
struct trace_waited {
	const struct batch *poll;
	size_t rows[8];
	size_t count;
};

/* Those of a call, in the set of rows in which it came. `poll` may be NULL. */
void trace_waited_in(struct trace_waited *w, const struct batch *poll, const struct batch *op,
		     size_t row);

/* Those of a trace's calls, one after the other in the order of their ends. Starts as {0}. */
struct waited_scan {
	struct engine_scan *scan;
	const struct batch *batch; /* the next rows, */
	const uint32_t *rows;
	ssize_t at, count;
	bool ended;
	struct batch *held; /* those that ended at */
	int64_t held_end;
};
int waited_scan_new(struct waited_scan *s, struct store *store, int64_t from, int64_t to,
		    struct error *err);
void waited_scan_free(struct waited_scan *s);
/* 0 or negative. What is found is valid until the next call. */
int waited_scan_find(struct waited_scan *s, const struct batch *op, size_t row,
		     struct trace_waited *ret, struct error *err);
