/* SPDX-License-Identifier: Apache-2.0 */
/*
 * touches.h: when and where calls read and wrote in one file, packed: a call follows another in time and place, so that
 * it takes five to nine bytes of what would be 24. Starts as {0}.
 */
#pragma once

#include "base/buf.h"

/* One call at a position. */
struct touch {
	int64_t end, pos;
	uint64_t bytes;
	bool write;
	bool open; /* not known to have ended: in no range but that of everything; is not packed */
};

struct touches {
	struct buf packed;
	size_t count;
	struct touch last; /* that was added; the next is told by what differs */
};

void touches_free(struct touches *t);
/* 0 or -ENOMEM. */
int touches_add(struct touches *t, const struct touch *x) _must_check_;
int touches_append(struct touches *to, const struct touches *from) _must_check_;
/* Gives back what no further call takes. */
void touches_trim(struct touches *t);
/* Gives each to `take`, in the order in which they came, until that is negative; then that. */
int touches_each(const struct touches *t, int (*take)(void *arg, const struct touch *x), void *arg);
