/* SPDX-License-Identifier: Apache-2.0 */
/* cover.h: how much time is covered by intervals that may overlap and are added in the order of their ends. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/util.h"

struct cover_interval {
	int64_t from, to;
};

/* Starts as {0}. The intervals in the list are disjoint and ordered by time. */
struct cover {
	struct cover_interval *list;
	size_t count, cap;
};

void cover_free(struct cover *c);
/* Adds [from, to), which is empty if to <= from. 0 or -ENOMEM. */
int cover_add(struct cover *c, int64_t from, int64_t to) _must_check_;
/* The total time covered. */
int64_t cover_sum(const struct cover *c);
