/* SPDX-License-Identifier: Apache-2.0 */
/* The histogram: buckets without gaps, percentiles within 1/32, merging and packing exact, hostile packs refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hist/sparse.h"

#define VALUES 5000
#define ROUNDS 60

static uint64_t state = 5;

/* Of any magnitude. */
static uint64_t draw(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (state >> 11) >> (state % 53);
}

static void buckets(void **unused)
{
	assert_int_equal(hist_bucket(0), 0);
	assert_int_equal(hist_bucket(UINT64_MAX), HIST_BUCKETS - 1);
	for (unsigned int b = 0; b < HIST_BUCKETS; b++) {
		uint64_t low = hist_lower(b), wide = hist_width(b);

		assert_int_equal(hist_bucket(low), b);
		assert_int_equal(hist_bucket(low + wide - 1), b);
		if (b + 1 < HIST_BUCKETS)
			assert_int_equal(low + wide, hist_lower(b + 1));
		assert_true(wide == 1 || wide <= low / 16);
	}
}

static int compare(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static void quantiles(void **unused)
{
	static const double q[] = {0.001, 0.5, 0.9, 0.99, 0.999, 1};
	static uint64_t v[VALUES];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		size_t n = 1 + draw() % VALUES;
		struct hist h = {0};

		for (size_t i = 0; i < n; i++) {
			v[i] = draw() >> 8;
			assert_int_equal(hist_add(&h, v[i], 1), 0);
		}
		qsort(v, n, sizeof(v[0]), compare);
		assert_int_equal(hist_total(&h), n);
		for (size_t i = 0; i < sizeof(q) / sizeof(q[0]); i++) {
			double place = q[i] * (double)n;
			size_t k = (size_t)place + ((double)(size_t)place < place);
			uint64_t exact = v[k ? k - 1 : 0], got = hist_quantile(&h, q[i]);
			uint64_t off = got > exact ? got - exact : exact - got;

			assert_true(off <= exact / 32 + 1);
		}
		hist_free(&h);
	}
}

/* Sparse and dense, merged either way, packed and unpacked: the same counts. */
static void merging(void **unused)
{
	static uint8_t a[HIST_PACKED_MAX], b[HIST_PACKED_MAX];

	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct hist whole = {0}, left = {0}, right = {0}, again = {0};
		size_t n = draw() % 400;
		uint64_t total;

		for (size_t i = 0; i < n; i++) {
			/* all over, or close together at a place that moves */
			uint64_t v = round % 2 ? draw() : (1000ull << round % 40) + draw() % 50000,
				 count = 1 + draw() % 1000;

			assert_int_equal(hist_add(&whole, v, count), 0);
			assert_int_equal(hist_add(i % 3 ? &left : &right, v, count), 0);
		}
		assert_int_equal(hist_merge(&left, &right), 0);
		assert_int_equal(hist_pack(&whole, a), hist_pack(&left, b));
		assert_memory_equal(a, b, hist_pack(&whole, a));
		assert_int_equal(hist_unpack(&again, a, hist_pack(&whole, a)), 0);
		assert_int_equal(hist_total(&again), hist_total(&whole));
		assert_int_equal(hist_packed_total(a, hist_pack(&whole, a), &total), 0);
		assert_int_equal(total, hist_total(&whole));
		assert_int_equal(hist_pack(&again, b), hist_pack(&whole, a));
		assert_memory_equal(a, b, hist_pack(&whole, a));
		hist_free(&whole);
		hist_free(&left);
		hist_free(&right);
		hist_free(&again);
	}
}

/* A count of any size is kept, and a sum past the largest stays there. */
static void large_counts(void **unused)
{
	const uint64_t counts[] = {1, (1ull << 48) - 1, 1ull << 48, UINT64_MAX - 5};

	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		for (unsigned int others = 0; others < 3; others++) {
			struct hist h = {0}, sum = {0};

			for (unsigned int k = 0; k < others; k++)
				assert_int_equal(hist_add(&h, 1000 * (k + 1), 1), 0);
			assert_int_equal(hist_add(&h, 5000000, counts[i]), 0);
			assert_int_equal(hist_total(&h), counts[i] + others);
			assert_int_equal(hist_merge(&sum, &h), 0);
			assert_int_equal(hist_total(&sum), counts[i] + others);
			assert_int_equal(hist_add(&sum, 5000000, UINT64_MAX - counts[i]), 0);
			assert_int_equal(hist_total(&sum), UINT64_MAX);
			hist_free(&h);
			hist_free(&sum);
		}
	}
}

static void refused(void **unused)
{
	/* cut; a bucket past the last; a varint without an end */
	static const uint8_t cut[] = {5}, beyond[] = {0xd0, 0x0f, 1},
			     endless[] = {1,	0xff, 0xff, 0xff, 0xff, 0xff,
					  0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
	struct hist h = {0};

	assert_int_equal(hist_unpack(&h, cut, sizeof(cut)), -EBADMSG);
	assert_int_equal(hist_unpack(&h, beyond, sizeof(beyond)), -EBADMSG);
	assert_int_equal(hist_unpack(&h, endless, sizeof(endless)), -EBADMSG);
	for (unsigned int i = 0; i < 20000; i++) {
		uint8_t any[24];
		size_t len;
		uint64_t total;

		for (size_t k = 0; k < sizeof(any); k++)
			any[k] = (uint8_t)(draw() >> 3);
		len = draw() % sizeof(any);
		assert_int_equal(hist_unpack(&h, any, len), hist_packed_total(any, len, &total));
	}
	hist_free(&h);
	assert_int_equal(hist_quantile(&h, 0.5), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buckets), cmocka_unit_test(quantiles),
		cmocka_unit_test(merging), cmocka_unit_test(large_counts),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
