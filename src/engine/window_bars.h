/* SPDX-License-Identifier: Apache-2.0 */
/* window_bars.h: a histogram or tally as bars of a chart: adjacent ranges of values with their counts, including empty ones. */
#pragma once

#include "base/map.h"
#include "hist/sparse.h"
#include "query/plan/plan.h"

#define BARS_MAX       4096
#define BARS_PER_TWO_4 4 /* the finest resolution: four bars per power of two */

struct bar {
	int64_t from, to; /* values in [from, to); INT64_MIN, INT64_MAX: unbounded */
	uint64_t count;
};

struct bars {
	struct bar *items;
	size_t count, cap;
};

void bars_free(struct bars *b);
#define _cleanup_bars_ _cleanup_(bars_free)

/*
 * Bars of a histogram: each power of two is divided into `per` (1, 2, 4) bars; values below 4 are not divided further.
 * bars_index() numbers the bars of all values and bars_lower() is the lower bound of a bar, so that several histograms
 * can share an axis.
 */
unsigned int bars_index(uint64_t v, unsigned int per);
uint64_t bars_lower(unsigned int index, unsigned int per);
/* False for indexes that no value has: below 4 there is one bar per power of two. */
bool bars_exists(unsigned int index, unsigned int per);
/* The smallest and largest index of a histogram's bars; false if it is empty. */
bool bars_range(const struct hist *h, unsigned int per, unsigned int *ret_first,
		unsigned int *ret_last);
/* Adds a histogram's counts to counts[index - first]. */
void bars_add(const struct hist *h, unsigned int per, unsigned int first, unsigned int last,
	      uint64_t *counts);

/* All bars of a packed value of a HIST or TALLY field, for histograms at most `max` bars if possible. 0, -ENOMEM, -EBADMSG. */
int bars_make(struct bars *ret, const struct plan_field *f, struct bytes packed, size_t max);
/* The original buckets without empty ones, for CSV and JSON. */
int bars_buckets(struct bars *ret, const struct plan_field *f, struct bytes packed);
