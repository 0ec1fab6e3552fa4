// SPDX-License-Identifier: Apache-2.0
/*
 * request_heat.c: requests by when they began and how long they took, as counts in cells, each with the slowest request in it as an
 * example. Cells are as high as a bucket of the histogram (hist/hist.h), and a hundredth of the time wide.
 */
#include <errno.h>
#include <stdlib.h>

#include "analysis/spans/requests.h"
#include "base/map.h"
#include "hist/hist.h"
#include "schema/vocab.h"

static int heat_order(const void *a, const void *b)
{
	const struct requests_cell *x = a, *y = b;

	if (x->column != y->column)
		return x->column < y->column ? -1 : 1;
	return (x->bucket > y->bucket) - (x->bucket < y->bucket);
}

static int heat_cell(struct requests_heat *h, struct map *cells, uint32_t column, uint32_t bucket,
		     struct requests_cell **ret)
{
	uint64_t key = (uint64_t)column << 32 | bucket, at;

	if (!map_get(cells, key, &at)) {
		at = h->count;
		if (grow((void **)&h->all, &h->cap, h->count + 1, sizeof(*h->all)) < 0 ||
		    map_set(cells, key, at) < 0)
			return -ENOMEM;
		h->all[h->count++] = (struct requests_cell){
			.column = column, .bucket = bucket, .slowest = SPAN_NONE};
	}
	*ret = &h->all[at];
	return 0;
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
		struct requests_cell *c;

		r = heat_cell(h, &cells, (uint32_t)((k->start - first) / h->step),
			      hist_bucket((uint64_t)span_dur(k)), &c);
		if (r < 0)
			break;
		c->requests++;
		c->errors += k->status == SPAN_STATUS_ERROR;
		if (c->slowest == SPAN_NONE || span_dur(k) > span_dur(&all[c->slowest]))
			c->slowest = span;
	}
	map_free(&cells);
	if (h->count)
		qsort(h->all, h->count, sizeof(*h->all), heat_order);
	return r;
}
