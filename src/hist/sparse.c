/* SPDX-License-Identifier: Apache-2.0 */
#include "hist/sparse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

/* Slack when an array grows at either end: calls of one kind are close together. */
#define DENSE_SLACK 16

#define COUNT_MAX ((1ull << HIST_COUNT_BITS) - 1) /* largest count in a list entry */

static_assert(HIST_BUCKETS <= 1 << (64 - HIST_COUNT_BITS), "bucket and count share 64 bits");
static_assert(HIST_SPARSE_MAX < HIST_DENSE && HIST_BUCKETS <= UINT16_MAX, "16 bits count them");

static uint64_t entry_make(unsigned int bucket, uint64_t count)
{
	return (uint64_t)bucket << HIST_COUNT_BITS | count;
}

static unsigned int entry_bucket(uint64_t e)
{
	return (unsigned int)(e >> HIST_COUNT_BITS);
}

static uint64_t *list_of(struct hist *h)
{
	return h->cap ? h->sparse : &h->one;
}

static const uint64_t *list_read(const struct hist *h)
{
	return h->cap ? h->sparse : &h->one;
}

void hist_free(struct hist *h)
{
	if (h->cap)
		free(h->sparse);
	*h = (struct hist){0};
}

/* Makes room for the buckets [first, end) in addition to the present ones. */
static int dense_reach(struct hist *h, unsigned int first, unsigned int end)
{
	unsigned int from = h->first, to = from + h->cap;
	uint64_t *dense;

	assert(h->used == HIST_DENSE && first < end && end <= HIST_BUCKETS);

	if (first < from)
		from = first > DENSE_SLACK ? first - DENSE_SLACK : 0;
	if (end > to)
		to = end + DENSE_SLACK < HIST_BUCKETS ? end + DENSE_SLACK : HIST_BUCKETS;
	dense = calloc(to - from, sizeof(*dense));
	if (!dense)
		return -ENOMEM;
	memcpy(dense + (h->first - from), h->dense, h->cap * sizeof(*dense));
	free(h->dense);
	h->dense = dense;
	h->first = (uint16_t)from;
	h->cap = (uint16_t)(to - from);
	assert(h->first <= first && end <= h->first + (unsigned int)h->cap);
	return 0;
}

/* Converts the list to an array; if there are no entries, it gets the buckets [first, end). */
static int hist_make_dense(struct hist *h, unsigned int first, unsigned int end)
{
	const uint64_t *list = list_read(h);
	uint64_t *dense;

	assert(h->used != HIST_DENSE && first < end && end <= HIST_BUCKETS);
	if (h->used) {
		first = entry_bucket(list[0]);
		end = entry_bucket(list[h->used - 1]) + 1;
	}
	dense = calloc(end - first, sizeof(*dense));
	if (!dense)
		return -ENOMEM;
	for (uint32_t i = 0; i < h->used; i++)
		dense[entry_bucket(list[i]) - first] = list[i] & COUNT_MAX;
	if (h->cap)
		free(h->sparse);
	h->dense = dense;
	h->used = HIST_DENSE;
	h->first = (uint16_t)first;
	h->cap = (uint16_t)(end - first);
	return 0;
}

/* The array's counter of a bucket; NULL: out of memory. */
static uint64_t *dense_at(struct hist *h, unsigned int bucket)
{
	if ((bucket < h->first || bucket >= h->first + (unsigned int)h->cap) &&
	    dense_reach(h, bucket, bucket + 1) < 0)
		return NULL;
	return &h->dense[bucket - h->first];
}

static int dense_add(struct hist *h, unsigned int bucket, uint64_t n)
{
	uint64_t *count = dense_at(h, bucket);

	if (!count)
		return -ENOMEM;
	*count = add_sat(*count, n);
	return 0;
}

/* The first entry whose bucket is at or above the given one. */
static uint32_t sparse_find(const uint64_t *list, uint32_t used, unsigned int bucket)
{
	const uint64_t *low = list;

	/* without a branch: its outcome would be unpredictable */
	for (uint32_t n = used, half; n; n -= half) {
		half = (n + 1) / 2;
		low += half & -(uint32_t)(entry_bucket(low[half - 1]) < bucket);
	}
	return (uint32_t)(low - list);
}

/* Makes room for one more entry: 1, 3, 7, ... entries fill the allocator's chunks. */
static int sparse_grow(struct hist *h)
{
	uint16_t cap = h->cap ? (uint16_t)(h->cap * 2 + 1) : 3;
	uint64_t one = h->one, *list;

	if (h->used < (h->cap ? h->cap : 1))
		return 0;
	list = realloc(h->cap ? h->sparse : NULL, cap * sizeof(*list));
	if (!list)
		return -ENOMEM;
	if (!h->cap)
		list[0] = one;
	h->sparse = list;
	h->cap = cap;
	return 0;
}

static int sparse_insert(struct hist *h, uint32_t i, uint64_t entry)
{
	int r = sparse_grow(h);
	uint64_t *list = list_of(h);

	if (r < 0)
		return r;
	memmove(list + i + 1, list + i, (h->used - i) * sizeof(*list));
	list[i] = entry;
	h->used++;
	return 0;
}

int hist_add_bucket(struct hist *h, unsigned int bucket, uint64_t n)
{
	uint64_t *list = list_of(h), before = 0;
	bool there;
	uint32_t i;
	int r;

	if (bucket >= HIST_BUCKETS)
		return -EINVAL;
	if (h->used == HIST_DENSE)
		return dense_add(h, bucket, n);
	i = sparse_find(list, h->used, bucket);
	there = i < h->used && entry_bucket(list[i]) == bucket;
	if (there)
		before = list[i] & COUNT_MAX;
	if (add_sat(before, n) > COUNT_MAX || (!there && h->used == HIST_SPARSE_MAX)) {
		r = hist_make_dense(h, bucket, bucket + 1);
		return r < 0 ? r : dense_add(h, bucket, n);
	}
	if (!there)
		return sparse_insert(h, i, entry_make(bucket, n));
	list[i] += n;
	return 0;
}

int hist_add(struct hist *h, uint64_t v, uint64_t n)
{
	return hist_add_bucket(h, hist_bucket(v), n);
}

/* h += other, for a dense `other`. */
static int hist_merge_dense(struct hist *h, const struct hist *other)
{
	unsigned int first = other->first, end = first + other->cap;
	int r;

	if (h->used != HIST_DENSE) {
		r = hist_make_dense(h, first, end);
		if (r < 0)
			return r;
	}
	if (first < h->first || end > h->first + (unsigned int)h->cap) {
		r = dense_reach(h, first, end);
		if (r < 0)
			return r;
	}
	for (unsigned int i = first; i < end; i++)
		h->dense[i - h->first] = add_sat(h->dense[i - h->first], other->dense[i - first]);
	return 0;
}

int hist_merge(struct hist *h, const struct hist *other)
{
	assert(h != other);
	if (other->used == HIST_DENSE)
		return hist_merge_dense(h, other);
	for (uint32_t i = 0; i < other->used; i++) {
		struct hist_entry e = hist_entry(other, i);
		int r = hist_add_bucket(h, e.bucket, e.count);

		if (r < 0)
			return r;
	}
	return 0;
}

size_t hist_memory(const struct hist *h)
{
	return h->cap * sizeof(*h->dense);
}

unsigned int hist_entries(const struct hist *h)
{
	return h->used == HIST_DENSE ? h->cap : h->used;
}

struct hist_entry hist_entry(const struct hist *h, unsigned int i)
{
	if (h->used == HIST_DENSE)
		return (struct hist_entry){.bucket = h->first + i, .count = h->dense[i]};
	return (struct hist_entry){.bucket = entry_bucket(list_read(h)[i]),
				   .count = list_read(h)[i] & COUNT_MAX};
}

uint64_t hist_total(const struct hist *h)
{
	unsigned int end = hist_entries(h);
	uint64_t sum = 0;

	for (unsigned int i = 0; i < end; i++)
		sum = add_sat(sum, hist_entry(h, i).count);
	return sum;
}

uint64_t hist_quantile(const struct hist *h, double q)
{
	uint64_t total = hist_total(h), seen = 0, want;
	unsigned int end = hist_entries(h), last = 0;

	if (!total)
		return 0;
	if (!(q > 0))
		q = 0;
	want = q >= 1 ? total : (uint64_t)(q * (double)total);
	/* ceil(), without libm; at least the first value */
	if (want < total && (double)want < q * (double)total)
		want++;
	want = want ? want : 1;
	for (unsigned int i = 0; i < end; i++) {
		struct hist_entry e = hist_entry(h, i);

		if (!e.count)
			continue;
		last = e.bucket;
		seen = add_sat(seen, e.count);
		if (seen >= want)
			break;
	}
	return hist_middle(last);
}

uint64_t hist_quantile_at_most(const struct hist *h, double q, uint64_t max)
{
	return MIN(hist_quantile(h, q), max);
}

size_t hist_pack(const struct hist *h, uint8_t *out)
{
	unsigned int end = hist_entries(h), before = 0;
	uint8_t *p = out;

	for (unsigned int i = 0; i < end; i++) {
		struct hist_entry e = hist_entry(h, i);

		if (!e.count)
			continue;
		p += varint_put(p, e.bucket - before);
		p += varint_put(p, e.count);
		before = e.bucket;
	}
	assert(p - out <= HIST_PACKED_MAX);
	return (size_t)(p - out);
}

/* Adds to an existing bucket, which is the common case when keys repeat; `at` is the position of the previous bucket in
 * the list. */
static bool add_known(struct hist *h, unsigned int bucket, uint64_t n, uint32_t *at)
{
	uint64_t *list = list_of(h);
	uint32_t i = *at;

	if (h->used == HIST_DENSE) {
		if (bucket < h->first || bucket - h->first >= h->cap)
			return false;
		h->dense[bucket - h->first] = add_sat(h->dense[bucket - h->first], n);
		return true;
	}
	while (i < h->used && entry_bucket(list[i]) < bucket)
		i++;
	*at = i;
	if (i == h->used || entry_bucket(list[i]) != bucket ||
	    add_sat(list[i] & COUNT_MAX, n) > COUNT_MAX)
		return false;
	list[i] += n;
	return true;
}

int hist_unpack(struct hist *h, const uint8_t *data, size_t len)
{
	struct hist_walk w = hist_walk_start(data, len);
	struct hist_entry e;
	uint32_t at = 0;

	while (hist_walk_next(&w, &e)) {
		int r = 0;

		if (!add_known(h, e.bucket, e.count, &at))
			r = hist_add_bucket(h, e.bucket, e.count);
		if (r < 0)
			return r;
	}
	return w.bad ? -EBADMSG : 0;
}

int hist_packed_total(const uint8_t *data, size_t len, uint64_t *ret)
{
	struct hist_walk w = hist_walk_start(data, len);
	struct hist_entry e;
	uint64_t sum = 0;

	if (len == 2 && data[0] < 0x80 && data[1] && data[1] < 0x80) { /* mostly of a single call */
		*ret = data[1];
		return 0;
	}
	while (hist_walk_next(&w, &e))
		sum = add_sat(sum, e.count);
	if (w.bad)
		return -EBADMSG;
	*ret = sum;
	return 0;
}
