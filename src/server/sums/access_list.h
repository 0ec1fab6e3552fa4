/* SPDX-License-Identifier: Apache-2.0 */
/*
 * access_list.h: when and where calls read and wrote in one file, packed: a call follows another in time and place, so that
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

struct access_list {
	struct buf packed;
	size_t count;
	struct touch last; /* that was added; the next is told by what differs */
};

void access_list_free(struct access_list *t);
/* 0 or -ENOMEM. */
int access_list_add(struct access_list *t, const struct touch *x) _must_check_;
int access_list_append(struct access_list *to, const struct access_list *from) _must_check_;
/* Gives back what no further call takes. */
void access_list_trim(struct access_list *t);
/* Gives each to `take`, in the order in which they came, until that is negative; then that. */
int access_list_each(const struct access_list *t, int (*take)(void *arg, const struct touch *x),
		     void *arg);
