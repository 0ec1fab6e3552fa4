/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_list.h: when and where calls read and wrote in one file, packed: consecutive calls are close in time and
 * position, so a call takes five to nine bytes instead of 24. Starts as {0}.
 */
#pragma once

#include "base/buf.h"

/* One call at a position. */
struct touch {
	int64_t end, pos;
	uint64_t bytes;
	bool write;
	bool open; /* not known to have ended: only in the unlimited range, and not packed */
};

struct access_list {
	struct buf packed;
	size_t count;
	struct touch last; /* the last one added; the next is encoded relative to it */
};

void access_list_free(struct access_list *t);
/* 0 or -ENOMEM. */
int access_list_add(struct access_list *t, const struct touch *x) _must_check_;
int access_list_append(struct access_list *to, const struct access_list *from) _must_check_;
/* Releases unused capacity. */
void access_list_trim(struct access_list *t);
/* Passes each to `take`, in the order of adding, until it returns a negative value, which is returned. */
int access_list_each(const struct access_list *t, int (*take)(void *arg, const struct touch *x),
		     void *arg);
