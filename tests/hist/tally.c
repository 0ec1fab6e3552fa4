/* SPDX-License-Identifier: Apache-2.0 */
/* Buckets of tallies, and sets of different values, against their definitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <errno.h>
#include <math.h>

#include "hist/distinct.h"
#include "hist/tally.h"

static uint64_t mix(uint64_t x)
{
	x = (x + 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ (x >> 30)) * 0x94d049bb133111ebull;
	return x ^ (x >> 31);
}

static void powers_of_two(void **state)
{
	assert_int_equal(tally_quantize(0), 0);
	assert_int_equal(tally_quantize(1), 1);
	assert_int_equal(tally_quantize(7), 4);
	assert_int_equal(tally_quantize(8), 8);
	assert_int_equal(tally_quantize(INT64_MAX), 1ll << 62);
	assert_int_equal(tally_quantize(-1), -1);
	assert_int_equal(tally_quantize(-2), -3);
	assert_int_equal(tally_quantize(-5), -7);
	assert_int_equal(tally_quantize(INT64_MIN), INT64_MIN + 1);
}

static void equal_steps(void **state)
{
	assert_true(tally_lquantize(-1, 0, 100, 10) == TALLY_BELOW);
	assert_int_equal(tally_lquantize(0, 0, 100, 10), 0);
	assert_int_equal(tally_lquantize(99, 0, 100, 10), 90);
	assert_int_equal(tally_lquantize(100, 0, 100, 10), 100);
	assert_int_equal(tally_lquantize(-14, -20, 20, 7), -20);
	assert_int_equal(tally_lquantize(-13, -20, 20, 7), -13);
	assert_int_equal(tally_lquantize(INT64_MAX - 2, INT64_MIN, INT64_MAX, INT64_MAX), -1);
	assert_null(tally_lquantize_wrong(0, 100, 10));
	assert_non_null(tally_lquantize_wrong(0, 100, 0));
	assert_non_null(tally_lquantize_wrong(100, 100, 1));
	assert_non_null(tally_lquantize_wrong(INT64_MIN, INT64_MAX, 1));
}

/* DTrace's documentation: llquantize(x, 10, 0, 6, 20) has steps 1..9, 10, 15, 20, ... 100, 150. */
static void steps_within_powers(void **state)
{
	assert_true(tally_llquantize(0, 10, 0, 6, 20) == TALLY_BELOW);
	assert_int_equal(tally_llquantize(7, 10, 0, 6, 20), 7);
	assert_int_equal(tally_llquantize(14, 10, 0, 6, 20), 10);
	assert_int_equal(tally_llquantize(15, 10, 0, 6, 20), 15);
	assert_int_equal(tally_llquantize(149, 10, 0, 6, 20), 100);
	assert_int_equal(tally_llquantize(9999999, 10, 0, 6, 20), 9500000);
	assert_int_equal(tally_llquantize(10000000, 10, 0, 6, 20), 10000000);
	assert_true(tally_llquantize(999, 10, 3, 6, 20) == TALLY_BELOW);
	assert_non_null(tally_llquantize_wrong(1, 0, 6, 20));
	assert_non_null(tally_llquantize_wrong(10, 6, 0, 20));
	assert_non_null(tally_llquantize_wrong(10, 0, 6, 0));
}

static void counts_are_sorted_and_packed(void **state)
{
	struct tally a = {0}, b = {0};
	uint8_t packed[64 * TALLY_ENTRY_BYTES];
	int r = 0;

	for (int i = 0; i < 50; i++)
		assert_int_equal(tally_add(&a, (i * 7) % 50 - 20, (uint64_t)i + 1), 0);
	assert_int_equal(a.count, 50);
	tally_pack(&a, packed);
	assert_int_equal(tally_unpack(&b, packed, a.count * TALLY_ENTRY_BYTES), 0);
	assert_int_equal(tally_merge(&b, &a), 0);
	for (size_t i = 0; i < 50; i++) {
		assert_int_equal(tally_get(packed, i).from, (int)i - 20);
		assert_int_equal(b.entries[i].count, 2 * tally_get(packed, i).count);
	}
	assert_int_equal(tally_unpack(&b, packed, 15), -EBADMSG);
	memset(packed, 0, 2 * TALLY_ENTRY_BYTES);
	assert_int_equal(tally_unpack(&b, packed, 2 * TALLY_ENTRY_BYTES), -EBADMSG);
	for (int i = 0; i <= TALLY_BUCKETS_MAX && r >= 0; i++)
		r = tally_add(&a, i, 1);
	assert_int_equal(r, -E2BIG);
	tally_free(&a);
	tally_free(&b);
}

static void sets_are_exact_up_to_their_bound(void **state)
{
	static uint8_t packed[DISTINCT_PACKED_MAX];
	struct distinct a = {0}, b = {0};
	size_t len;

	assert_int_equal(distinct_count(&a), 0);
	for (uint64_t i = 0; i < DISTINCT_SET_MAX; i++) {
		assert_int_equal(distinct_add(&a, i ? mix(i) : 0), 0);
		assert_int_equal(distinct_add(&a, i ? mix(i) : 0), 0);
		assert_int_equal(distinct_count(&a), i + 1);
	}
	assert_false(distinct_estimated(&a));
	len = distinct_pack(&a, packed);
	assert_int_equal(len, DISTINCT_PACKED_MAX);
	assert_int_equal(distinct_unpack(&b, packed, len), 0);
	assert_int_equal(distinct_merge(&b, &a), 0);
	assert_int_equal(distinct_count(&b), DISTINCT_SET_MAX);
	assert_int_equal(distinct_add(&b, mix(DISTINCT_SET_MAX)), 0);
	assert_true(distinct_estimated(&b));
	assert_int_equal(distinct_unpack(&b, packed, 7), -EBADMSG);
	assert_int_equal(distinct_unpack(&b, packed, 0), -EBADMSG);
	distinct_free(&a);
	distinct_free(&b);
}

/* Five standard errors; the same registers however the values were split. */
static void estimates_hold_their_error(void **state)
{
	static const uint64_t sizes[] = {4097, 10000, 41000, 100000, 1000000};
	static uint8_t one[DISTINCT_PACKED_MAX], two[DISTINCT_PACKED_MAX];

	for (size_t k = 0; k < sizeof(sizes) / sizeof(*sizes); k++) {
		struct distinct all = {0}, odd = {0}, even = {0};
		double off;

		for (uint64_t i = 0; i < sizes[k]; i++) {
			assert_int_equal(distinct_add(&all, mix(i)), 0);
			assert_int_equal(distinct_add(i % 2 ? &odd : &even, mix(i)), 0);
		}
		off = (double)distinct_count(&all) / (double)sizes[k] - 1;
		assert_true(fabs(off) < 5 * 0.0082);
		assert_int_equal(distinct_merge(&odd, &even), 0);
		assert_int_equal(distinct_pack(&all, one), distinct_pack(&odd, two));
		assert_memory_equal(one, two, 1 + DISTINCT_REGISTERS);
		assert_int_equal(distinct_unpack(&even, one, 1 + DISTINCT_REGISTERS), 0);
		assert_int_equal(distinct_count(&even), distinct_count(&all));
		distinct_free(&all);
		distinct_free(&odd);
		distinct_free(&even);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(powers_of_two),
		cmocka_unit_test(equal_steps),
		cmocka_unit_test(steps_within_powers),
		cmocka_unit_test(counts_are_sorted_and_packed),
		cmocka_unit_test(sets_are_exact_up_to_their_bound),
		cmocka_unit_test(estimates_hold_their_error),
	};

	return cmocka_run_group_tests_name("tallies and sets", tests, NULL, NULL);
}
