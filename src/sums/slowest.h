/* SPDX-License-Identifier: Apache-2.0 */
/*
 * slowest.h: single calls of a pass: the slowest of them. While blocks are summed it is noted how long the longest call of each
 * is; then those with the longest are read, until no other can have a longer one.
 */
#pragma once

#include "sums/walk.h"

/* A call by its place, with its duration. */
struct call_ref {
	int64_t dur;
	size_t block;
	uint32_t row;
};

struct slowest {
	uint32_t classes; /* that count: bits of 1 << CLASS_... */
	struct slowest_block {
		size_t block;
		int64_t max; /* no call that counts took longer, ns */
	} *blocks;	     /* may come several times */
	size_t count, cap;
};

#define SLOWEST_IO (1u << CLASS_DATA | 1u << CLASS_META | 1u << CLASS_SYNC | 1u << CLASS_NET)

void slowest_free(struct slowest *s);
/* Notes rows that passed, of any level; of digests the part by time alone, for classes of SLOWEST_IO alone. 0 or -ENOMEM. */
int slowest_note(struct slowest *s, const struct walk_rows *rows) _must_check_;
/* Adds what another worker noted. 0 or -ENOMEM. */
int slowest_merge(struct slowest *s, const struct slowest *other) _must_check_;
/*
 * The `max` slowest calls of the blocks that s notes, slowest first; of equals the first in the trace. `w` is the pass that was
 * summed; of it ask and stopped are read. free() them. 0 or negative with a message but for -EINTR.
 */
int slowest_find(const struct slowest *s, const struct walk *w, size_t max, struct call_ref **ret,
		 size_t *ret_count, struct error *err);
/* qsort(): slowest first. */
int slowest_order(const void *a, const void *b);
/* The calls, whole and in this order; those of damaged blocks are left out, also of refs. 0 or negative with a message. */
int slowest_fetch(const struct store *s, struct call_ref *refs, size_t *count, struct batch **ret,
		  struct error *err);
