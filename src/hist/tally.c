// SPDX-License-Identifier: Apache-2.0
/* tally.c: counts values by bucket. */
#include "hist/tally.h"

#include <assert.h>
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/saturate.h"

void tally_free(struct tally *t)
{
	free(t->entries);
	*t = (struct tally){0};
}

/* The position of the bucket, or where to insert it. */
static uint32_t tally_find(const struct tally *t, int64_t from)
{
	uint32_t low = 0, high = t->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (t->entries[middle].from < from)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int tally_add(struct tally *t, int64_t from, uint64_t n)
{
	uint32_t at = tally_find(t, from);

	if (at < t->count && t->entries[at].from == from) {
		t->entries[at].count = add_sat(t->entries[at].count, n);
		return 0;
	}
	if (t->count == TALLY_BUCKETS_MAX)
		return -E2BIG;
	if (t->count == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 4;
		void *p = reallocarray(t->entries, cap, sizeof(*t->entries));

		if (!p)
			return -ENOMEM;
		t->entries = p;
		t->cap = cap;
	}
	assert(t->count < t->cap && at <= t->count);
	memmove(t->entries + at + 1, t->entries + at, (t->count - at) * sizeof(*t->entries));
	t->entries[at] = (struct tally_entry){from, n};
	t->count++;
	return 0;
}

int tally_merge(struct tally *t, const struct tally *other)
{
	assert(t != other);
	for (uint32_t i = 0; i < other->count; i++) {
		int r = tally_add(t, other->entries[i].from, other->entries[i].count);

		if (r < 0)
			return r;
	}
	return 0;
}

void tally_pack(const struct tally *t, uint8_t *out)
{
	for (uint32_t i = 0; i < t->count; i++) {
		uint64_t pair[2] = {htole64((uint64_t)t->entries[i].from),
				    htole64(t->entries[i].count)};

		memcpy(out + (size_t)i * TALLY_ENTRY_BYTES, pair, sizeof(pair));
	}
}

size_t tally_count(size_t len)
{
	return len / TALLY_ENTRY_BYTES;
}

struct tally_entry tally_get(const uint8_t *data, size_t i)
{
	uint64_t pair[2];

	memcpy(pair, data + i * TALLY_ENTRY_BYTES, sizeof(pair));
	return (struct tally_entry){(int64_t)le64toh(pair[0]), le64toh(pair[1])};
}

int tally_unpack(struct tally *t, const uint8_t *data, size_t len)
{
	if (len % TALLY_ENTRY_BYTES)
		return -EBADMSG;
	for (size_t i = 0; i < tally_count(len); i++) {
		struct tally_entry e = tally_get(data, i);
		int r;

		if (i && e.from <= tally_get(data, i - 1).from)
			return -EBADMSG;
		r = tally_add(t, e.from, e.count);
		if (r < 0)
			return r;
	}
	return 0;
}

int64_t tally_quantize(int64_t v)
{
	uint64_t magnitude = v < 0 ? -(uint64_t)v : (uint64_t)v;
	unsigned int top;

	if (!v)
		return 0;
	top = 63 - (unsigned int)__builtin_clzll(magnitude);
	if (v > 0)
		return (int64_t)(1ull << top);
	/* -(2^(k+1)) + 1; the last bucket ends at INT64_MIN + 1 */
	return top >= 62 ? INT64_MIN + 1 : 1 - (int64_t)(1ull << (top + 1));
}

int64_t tally_lquantize(int64_t v, int64_t from, int64_t to, int64_t step)
{
	uint64_t distance = (uint64_t)v - (uint64_t)from;

	assert(step > 0 && from < to);
	if (v < from)
		return TALLY_BELOW;
	if (v >= to)
		return to;
	return (int64_t)((uint64_t)v - distance % (uint64_t)step);
}

/* base^n, INT64_MAX on overflow. */
static int64_t tally_power(int64_t base, int64_t n)
{
	int64_t v = 1;

	for (int64_t i = 0; i < n; i++) {
		if (__builtin_mul_overflow(v, base, &v))
			return INT64_MAX;
	}
	return v;
}

int64_t tally_llquantize(int64_t v, int64_t base, int64_t low, int64_t high, int64_t steps)
{
	int64_t end = tally_power(base, high + 1), first = tally_power(base, low), next, step;

	assert(base > 1 && steps > 0);
	if (v < first)
		return TALLY_BELOW;
	if (v >= end)
		return end;
	for (next = first; next <= v && next < end;) {
		first = next;
		if (__builtin_mul_overflow(next, base, &next))
			next = INT64_MAX;
	}
	step = next / steps;
	return step > 1 ? (v - v % step > first ? v - v % step : first) : v;
}

const char *tally_lquantize_wrong(int64_t from, int64_t to, int64_t step)
{
	if (step <= 0)
		return "the step must be above 0";
	if (from >= to)
		return "the range must end above where it begins";
	if (((uint64_t)to - (uint64_t)from) / (uint64_t)step > TALLY_BUCKETS_MAX - 3)
		return "more than 4,000 steps: take a larger step";
	return NULL;
}

const char *tally_llquantize_wrong(int64_t base, int64_t low, int64_t high, int64_t steps)
{
	if (base < 2)
		return "the base must be 2 or more";
	if (low < 0 || low > high || high > 62)
		return "the powers must be 0 <= low <= high <= 62";
	if (steps < 1 || steps > TALLY_BUCKETS_MAX)
		return "the steps must be 1 .. 4096";
	if ((high - low + 1) * steps > TALLY_BUCKETS_MAX - 3)
		return "more than 4,000 buckets: use fewer steps or powers";
	return NULL;
}
