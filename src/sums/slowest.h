/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slowest.h: the slowest calls of a pass. While blocks are summed, the longest duration in each is noted. Afterwards
 * the blocks with the longest calls are read, until no remaining block can have a longer one.
 */
#pragma once

#include "sums/walk.h"

/* The place of a call and its duration. */
struct call_ref {
	int64_t dur;
	size_t block;
	uint32_t row;
};

struct slowest {
	uint32_t classes; /* classes to consider: bits of 1 << CLASS_... */
	struct slowest_block {
		size_t block;
		int64_t max; /* upper bound of the duration of its calls in `classes`, ns */
	} *blocks;	     /* a block may be listed several times */
	size_t count, cap;
};

#define SLOWEST_IO (1u << CLASS_DATA | 1u << CLASS_META | 1u << CLASS_SYNC | 1u << CLASS_NET)

void slowest_free(struct slowest *s);
/*
 * Notes rows that passed, of any level; of digests only the by-time part, and only if `classes` is within SLOWEST_IO. 0
 * or -ENOMEM.
 */
int slowest_note(struct slowest *s, const struct walk_rows *rows) _must_check_;
/* Adds the notes of another worker. 0 or -ENOMEM. */
int slowest_merge(struct slowest *s, const struct slowest *other) _must_check_;
/*
 * Finds the `max` slowest calls in the noted blocks, slowest first; the earlier in the trace first if equal. `w` is the
 * pass that was summed; only ask and stopped are read. free() the result. 0, -EINTR, or another negative errno with a
 * message.
 */
int slowest_find(const struct slowest *s, const struct walk *w, size_t max, struct call_ref **ret,
		 size_t *ret_count, struct error *err);
/* Comparison for qsort(): slowest first. */
int slowest_order(const void *a, const void *b);
/*
 * Reads the complete rows of the calls, in this order. Calls of damaged blocks are dropped, also from refs. 0 or
 * negative with a message.
 */
int slowest_fetch(const struct store *s, struct call_ref *refs, size_t *count, struct batch **ret,
		  struct error *err);
