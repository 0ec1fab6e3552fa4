/* SPDX-License-Identifier: Apache-2.0 */
/* numbers.c: the statistics of diff against values from tables, and names of runs that are the same. */
/* before cmocka, which has a macro of a name that it has */
#include "cli/diff/diff.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analysis/diff/internal.h"
#include "names/names.h"

static void assert_near(double got, double want, double within)
{
	if (!(fabs(got - want) <= within))
		fail_msg("%.10g instead of %.10g", got, want);
}

/* Student's distribution as any textbook prints it. */
static void student(void **state)
{
	assert_near(stats_student_p(12.7062, 1), 0.05, 1e-6);
	assert_near(stats_student_p(2.228, 10), 0.05, 2e-5);
	assert_near(stats_student_p(4.587, 10), 0.001, 2e-6);
	assert_near(stats_student_p(1.95996, 1e5), 0.05, 1e-5);
	assert_near(stats_student_p(0, 5), 1, 1e-12);
	assert_near(stats_student_p(-2.570582, 5), 0.05, 1e-6);
	assert_true(stats_student_p(1e9, 30) < 1e-100);
	assert_near(stats_student_quantile(0.05, 10), 2.22814, 1e-4);
	assert_near(stats_student_quantile(0.01, 3), 5.84091, 1e-4);
}

/* 3 against 3 apart: 2 of 20 orders; 5 against 5: 2 of 252; with one swap 4 of 252 (Mann, Whitney 1947). */
static void mann_whitney(void **state)
{
	static const double low[] = {1, 2, 3, 4, 5}, high[] = {6, 7, 8, 9, 10};
	static const double swapped[] = {1, 2, 3, 4, 6}, rest[] = {5, 7, 8, 9, 10};
	double p;

	assert_int_equal(stats_mann_whitney(low, 3, high, 3, &p), 0);
	assert_near(p, 0.1, 1e-12);
	assert_int_equal(stats_mann_whitney(high, 5, low, 5, &p), 0);
	assert_near(p, 2.0 / 252, 1e-12);
	assert_int_equal(stats_mann_whitney(swapped, 5, rest, 5, &p), 0);
	assert_near(p, 4.0 / 252, 1e-12);
	assert_int_equal(stats_mann_whitney(low, 5, low, 5, &p), 0);
	assert_near(p, 1, 1e-9);
	assert_int_equal(stats_mann_whitney(low, 0, high, 5, &p), 0);
	assert_near(p, 1, 0);
}

/* The example of Benjamini and Hochberg's paper (1995): of 15 the first four at 5 %. */
static void corrected(void **state)
{
	static const double p[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
				   0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
	double q[ARRAY_SIZE(p)];
	size_t found = 0;

	assert_int_equal(stats_correct(p, ARRAY_SIZE(p), q), 0);
	for (size_t i = 0; i < ARRAY_SIZE(p); i++) {
		found += q[i] <= 0.05;
		assert_true(q[i] >= p[i] && q[i] <= 1 && (!i || q[i] >= q[i - 1]));
	}
	assert_int_equal(found, 4);
	assert_near(q[0], 0.0015, 1e-12);
	assert_int_equal(stats_correct(p, 0, q), 0);
}

/* The middle of the bucket of 2^20 is above it; the percentile of a side is not. */
static void percentiles(void **state)
{
	struct diff_sum s = {.max_ns = 1 << 20};

	assert_int_equal(hist_add(&s.hist, s.max_ns, 3), 0);
	assert_true(hist_quantile(&s.hist, 0.99) > s.max_ns);
	assert_int_equal(diff_sum_quantile(&s, 0.99), 1 << 20);
	hist_free(&s.hist);
}

static void medians(void **state)
{
	double odd[] = {5, 1, 3}, even[] = {4, 1, 3, 2};
	struct weighted w[] = {{10, 1}, {1, 1}, {2, 5}}, tie[] = {{1, 1}, {3, 1}};

	assert_near(stats_median(odd, 3), 3, 0);
	assert_near(stats_median(even, 4), 2.5, 0);
	assert_near(stats_median(even, 0), 0, 0);
	assert_near(stats_weighted_median(w, 3), 2, 0);
	assert_near(stats_weighted_median(tie, 2), 2, 0);
	assert_near(stats_squares(odd, 3), 8, 1e-12);
}

static void patterns(void **state)
{
	static const struct {
		const char *name, *pattern;
	} cases[] = {
		{"/srv/db/000123.sst", "/srv/db/#.sst"},
		{"/var/log/x.4711", "/var/log/x.#"},
		{"/tmp/tmp.AFPRYMvkFJ", "/tmp/tmp.#"},
		{"/tmp/tmp.abcdefghij", "/tmp/tmp.#"},
		{"/tmp/scratch-qXwLbf/x", "/tmp/scratch-#/x"},
		{"/tmp/per-commit/shop.faulty", "/tmp/per-commit/shop.faulty"},
		{"/run/user-4a3b9c0d1e2f/x", "/run/user-#/x"},
		{"/a/123e4567-e89b-12d3-a456-426614174000", "/a/#-#-#-#-#"},
		{"/usr/lib/locale", "/usr/lib/locale"},
		{"/etc/NetworkManager/system-connections",
		 "/etc/NetworkManager/system-connections"},
		{"/proc/self/status", "/proc/self/status"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_buf_ struct buf out = {0};
		struct bytes name = {(const uint8_t *)cases[i].name, strlen(cases[i].name)};
		bool changed;

		assert_int_equal(names_pattern(name, &out, &changed), 0);
		assert_string_equal(buf_str(&out), cases[i].pattern);
		assert_int_equal(changed, strcmp(cases[i].name, cases[i].pattern) != 0);
	}
}

/* Twice as many calls that each take half as long or less: more time, so "faster" is not the answer. */
static void best(void **state)
{
	struct diff_row row = {.time_diff = 1e8};
	enum diff_metric m = DIFF_ERRORS;

	assert_null(diff_best(&row, &m));
	row.test[DIFF_CALLS] = (struct diff_test){.changed = true, .effect = log(2)};
	row.test[DIFF_LATENCY] = (struct diff_test){.changed = true, .effect = log(0.4)};
	row.test[DIFF_SIZE] = (struct diff_test){.changed = true, .effect = log(5)};
	assert_ptr_equal(diff_best(&row, &m), &row.test[DIFF_CALLS]);
	assert_int_equal(m, DIFF_CALLS);
	row.time_diff = -1e8;
	assert_ptr_equal(diff_best(&row, &m), &row.test[DIFF_LATENCY]);
	row.time_diff = 1e8;
	row.test[DIFF_CALLS].changed = false;
	assert_ptr_equal(diff_best(&row, &m), &row.test[DIFF_SIZE]);
	row.test[DIFF_SIZE].changed = false;
	assert_ptr_equal(diff_best(&row, &m), &row.test[DIFF_LATENCY]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(student),     cmocka_unit_test(mann_whitney),
		cmocka_unit_test(corrected),   cmocka_unit_test(medians),
		cmocka_unit_test(percentiles), cmocka_unit_test(patterns),
		cmocka_unit_test(best),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
