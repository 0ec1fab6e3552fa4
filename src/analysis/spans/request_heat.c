// SPDX-License-Identifier: Apache-2.0
/*
 * request_heat.c: a heat map of requests by start and duration, as counts in cells, each with its slowest request as an
 * example. The height of a cell is a bucket of the histogram (hist/hist.h), its width a hundredth of the time.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/spans/requests.h"
#include "base/array.h"
#include "base/map.h"
#include "hist/hist.h"
#include "schema/vocab.h"

static int heat_order(const void *a, const void *b)
{
	const struct requests_cell *x = a, *y = b;

	return ORDER(x->column, y->column) ?: ORDER(x->bucket, y->bucket);
}

int requests_make_heat(struct requests *q)
{
	struct requests_heat *h = &q->heat;
	const struct span *all = q->spans.all;
	struct map cells = {0};
	int64_t first = INT64_MAX, last = INT64_MIN;
	int r = 0;

	for (size_t i = 0; i < q->chosen_count; i++) {
		first = MIN(first, all[q->chosen[i]].start);
		last = MAX(last, all[q->chosen[i]].start);
	}
	if (!q->chosen_count)
		return 0;
	h->from = first;
	h->step = (last - first) / REQUESTS_HEAT_COLUMNS + 1;
	for (size_t i = 0; i < q->chosen_count && r >= 0; i++) {
		uint32_t span = q->chosen[i];
		const struct span *k = &all[span];
		uint32_t column = (uint32_t)((k->start - first) / h->step),
			 bucket = hist_bucket((uint64_t)span_dur(k));
		struct requests_cell *c = array_of_key(h->all, h->count, h->cap, &cells,
						       (uint64_t)column << 32 | bucket, NULL);

		if (!c) {
			r = -ENOMEM;
			break;
		}
		c->column = column;
		c->bucket = bucket;
		if (!c->requests++)
			c->slowest = span;
		c->errors += k->status == SPAN_STATUS_ERROR;
		if (span_dur(k) > span_dur(&all[c->slowest]))
			c->slowest = span;
	}
	map_free(&cells);
	array_sort(h->all, h->count, heat_order);
	return r;
}
