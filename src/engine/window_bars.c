// SPDX-License-Identifier: Apache-2.0
#include "engine/window_bars.h"

#include <errno.h>

#include "base/array.h"
#include "base/saturate.h"
#include "hist/tally.h"

#define PER_MAX 4

void bars_free(struct bars *b)
{
	free(b->items);
	*b = (struct bars){0};
}

static int bars_push(struct bars *b, int64_t from, int64_t to, uint64_t count)
{
	return array_add(b->items, b->count, b->cap, (struct bar){from, to, count});
}

/* ---- indexes of bars ---- */

unsigned int bars_index(uint64_t v, unsigned int per)
{
	unsigned int top;

	assert(per && per <= PER_MAX);
	if (!v)
		return 0;
	top = 63 - (unsigned int)__builtin_clzll(v);
	/* below 4 a power of two has too few values to be divided */
	return 1 + top * per +
	       (top < 2 ? 0 : (unsigned int)(((v - (1ull << top)) >> (top - 2)) * per / 4));
}

uint64_t bars_lower(unsigned int index, unsigned int per)
{
	unsigned int top = index ? (index - 1) / per : 0, part = index ? (index - 1) % per : 0;

	if (!index)
		return 0;
	return (1ull << top) + (top < 2 ? 0 : (1ull << (top - 2)) * (part * 4 / per));
}

bool bars_exists(unsigned int index, unsigned int per)
{
	return !index || (index - 1) / per >= 2 || (index - 1) % per == 0;
}

struct range {
	unsigned int per, first, last;
	uint64_t *counts; /* NULL: only first and last are computed */
	bool any;
};

static void take_bucket(struct range *r, unsigned int bucket, uint64_t count)
{
	unsigned int i = bars_index(hist_lower(bucket), r->per);

	if (r->counts) {
		i = i > r->last ? r->last : MAX(i, r->first);
		r->counts[i - r->first] += count;
		return;
	}
	r->first = r->any ? MIN(r->first, i) : i;
	r->last = r->any ? MAX(r->last, i) : i;
	r->any = true;
}

static void each_bucket(const struct hist *h, struct range *r)
{
	for (unsigned int i = 0; i < hist_entries(h); i++) {
		struct hist_entry e = hist_entry(h, i);

		if (e.count)
			take_bucket(r, e.bucket, e.count);
	}
}

bool bars_range(const struct hist *h, unsigned int per, unsigned int *ret_first,
		unsigned int *ret_last)
{
	struct range r = {.per = per};

	each_bucket(h, &r);
	if (r.any) {
		*ret_first = r.first;
		*ret_last = r.last;
	}
	return r.any;
}

void bars_add(const struct hist *h, unsigned int per, unsigned int first, unsigned int last,
	      uint64_t *counts)
{
	struct range r = {.per = per, .first = first, .last = last, .counts = counts};

	each_bucket(h, &r);
}

/* ---- histograms ---- */

static int64_t clamp(uint64_t v)
{
	return v > INT64_MAX ? INT64_MAX : (int64_t)v;
}

static int hist_bars(struct bars *ret, const struct hist *h, size_t max)
{
	uint64_t counts[1 + 64 * PER_MAX] = {0};
	unsigned int per = PER_MAX, first, last;
	int r = 0;

	if (!bars_range(h, per, &first, &last))
		return 0;
	while (per > 1 && last - first + 1 > max) {
		per /= 2;
		bars_range(h, per, &first, &last);
	}
	bars_add(h, per, first, last, counts);
	for (unsigned int i = first, next; i <= last && r >= 0; i = next) {
		for (next = i + 1; !bars_exists(next, per); next++)
			;
		r = bars_push(ret, (int64_t)bars_lower(i, per),
			      next > 64 * per ? INT64_MAX : clamp(bars_lower(next, per)),
			      counts[i - first]);
	}
	return r;
}

static int hist_buckets(struct bars *ret, const struct hist *h)
{
	int r = 0;

	for (unsigned int i = 0; i < hist_entries(h) && r >= 0; i++) {
		struct hist_entry e = hist_entry(h, i);
		uint64_t lower = hist_lower(e.bucket);

		if (e.count)
			r = bars_push(ret, clamp(lower), clamp(lower + hist_width(e.bucket)),
				      e.count);
	}
	return r;
}

/* ---- tallies ---- */

static int64_t times(int64_t v, int64_t by)
{
	return __builtin_mul_overflow(v, by, &v) ? INT64_MAX : v;
}

static int64_t window_bars_power(int64_t base, int64_t n)
{
	int64_t v = 1;

	for (int64_t i = 0; i < n; i++)
		v = times(v, base);
	return v;
}

/* The start of the bucket above those of llquantize(). */
static int64_t llquantize_end(const int64_t *param, int64_t from)
{
	int64_t end = window_bars_power(param[0], param[2] + 1),
		next = window_bars_power(param[0], param[1]), step;

	if (from == TALLY_BELOW)
		return next;
	if (from >= end)
		return INT64_MAX;
	while (next <= from)
		next = times(next, param[0]);
	step = next / param[3];
	return step > 1 ? MIN(add_sat_signed(from - from % step, step), next) : from + 1;
}

/* One past the last value of the bucket that begins at `from`; INT64_MAX: unbounded. */
static int64_t bucket_end(const struct plan_field *f, int64_t from)
{
	switch (f->aggregate) {
	case AGGREGATE_LQUANTIZE:
		if (from == TALLY_BELOW)
			return f->param[0];
		return from >= f->param[1] ? INT64_MAX
					   : MIN(add_sat_signed(from, f->param[2]), f->param[1]);
	case AGGREGATE_LLQUANTIZE:
		return llquantize_end(f->param, from);
	default:
		if (from >= 0)
			return from ? times(from, 2) : 1;
		return (from - 1) / 2 + 1;
	}
}

static int tally_bars(struct bars *ret, const struct plan_field *f, struct bytes packed, bool gaps)
{
	size_t n = tally_count(packed.len);
	int r = 0;

	for (size_t i = 0; i < n && r >= 0; i++) {
		struct tally_entry e = tally_get(packed.data, i);
		int64_t at = i && gaps ? ret->items[ret->count - 1].to : e.from;

		for (; at < e.from && ret->count < BARS_MAX && r >= 0; at = bucket_end(f, at))
			r = bars_push(ret, at, bucket_end(f, at), 0);
		if (r >= 0)
			r = bars_push(ret, e.from, bucket_end(f, e.from), e.count);
	}
	return r;
}

/* ---- either ---- */

static int window_bars_make(struct bars *ret, const struct plan_field *f, struct bytes packed,
			    size_t max, bool gaps)
{
	struct hist h = {0};
	int r;

	*ret = (struct bars){0};
	if (f->type.type == QUERY_TALLY)
		return tally_bars(ret, f, packed, gaps);
	r = hist_unpack(&h, packed.data, packed.len);
	if (r >= 0)
		r = gaps ? hist_bars(ret, &h, max) : hist_buckets(ret, &h);
	hist_free(&h);
	return r;
}

int bars_make(struct bars *ret, const struct plan_field *f, struct bytes packed, size_t max)
{
	return window_bars_make(ret, f, packed, max, true);
}

int bars_buckets(struct bars *ret, const struct plan_field *f, struct bytes packed)
{
	return window_bars_make(ret, f, packed, 0, false);
}
