// SPDX-License-Identifier: Apache-2.0
/* test_hist.c: weir's histogram in SQL against the same histogram in C. */
#include "fixture.h"

#include <errno.h>
#include <inttypes.h>

#include "hist/sparse.h"

#define ROWS 100000

static struct fixture f;

static int setup(void **state)
{
	char path[256];
	const char *paths[] = {fixture_file("hist.trace", path)};

	fixture_write(path, ROWS);
	fixture_open(&f, paths, 1, NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_remove();
	return 0;
}

static void percentiles(void **state)
{
	_cleanup_(hist_free) struct hist h = {0};
	char want[256];

	for (uint64_t i = 0; i < ROWS; i++)
		assert_int_equal(hist_add(&h, (uint64_t)fixture_op(i).dur, 1), 0);
	snprintf(want, sizeof(want),
		 "%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%d",
		 hist_quantile(&h, 0.5), hist_quantile(&h, 0.9), hist_quantile(&h, 0.95),
		 hist_quantile(&h, 0.99), hist_quantile(&h, 0.999), hist_quantile(&h, 0.25), ROWS);
	assert_string_equal(
		ask(&f, "SELECT p50(h), p90(h), p95(h), p99(h), p999(h), hist_quantile(h, 0.25), "
			"hist_count(h) FROM (SELECT hist(dur) AS h FROM op)"),
		want);
}

/* By many groups, on all threads: the same bytes however it was added up. */
static void merging_is_exact(void **state)
{
	assert_string_equal(ask(&f, "SELECT (SELECT hist(dur) FROM op) = (SELECT hist_merge(h) "
				    "FROM (SELECT hist(dur) AS h "
				    "FROM op GROUP BY file_id, thread_id, op, dur % 50))"),
			    "true");
	assert_string_equal(
		ask(&f,
		    "SELECT count(*) FROM (SELECT file_id, hist(dur) AS h, count(*) AS n FROM op "
		    "GROUP BY file_id) WHERE hist_count(h) <> n"),
		"0");
	/* window frames go over combine too */
	assert_string_equal(ask(&f, "SELECT max(hist_count(h)) FROM (SELECT hist(pos) OVER (ORDER "
				    "BY start ROWS 9 PRECEDING) "
				    "AS h FROM op WHERE start IS NOT NULL AND pos IS NOT NULL)"),
			    "10");
}

static void many_groups(void **state)
{
	assert_string_equal(ask(&f, "SELECT count(*), sum(hist_count(h)) FROM (SELECT hist(dur) AS "
				    "h FROM op GROUP BY start)"),
			    "99999|100000");
}

static void nulls_and_bounds(void **state)
{
	assert_string_equal(ask(&f, "SELECT hist(x) FROM (SELECT NULL::BIGINT AS x)"), "NULL");
	assert_string_equal(ask(&f, "SELECT p99(NULL), hist_quantile(hist(x), NULL), p50(hist(x)) "
				    "FROM (SELECT 7 AS x)"),
			    "NULL|NULL|7");
	assert_string_equal(
		ask(&f, "SELECT hist_count(hist(x)) FROM (VALUES (1), (NULL), (3)) t(x)"), "2");
	assert_string_equal(
		ask(&f, "SELECT hist_merge(h) FROM (SELECT hist(dur) AS h FROM op WHERE false)"),
		"NULL");
	/* the largest number there is lies in its bucket */
	assert_true(ask_number(&f, "SELECT p50(hist(9223372036854775807))") >= INT64_MAX / 32 * 31);
}

static void mistakes(void **state)
{
	int code;

	assert_non_null(strstr(ask_error(&f, "SELECT hist(-1)", &code), "not -1"));
	assert_int_equal(code, -EINVAL);
	assert_non_null(
		strstr(ask_error(&f, "SELECT p99('\\xFF\\xFF'::BLOB)", NULL), "not a histogram"));
	assert_non_null(strstr(ask_error(&f, "SELECT hist_merge('\\xFF\\xFF'::BLOB)", NULL),
			       "not a histogram"));
	assert_non_null(
		strstr(ask_error(&f, "SELECT hist_quantile(hist(1), 2)", NULL), "at most 1"));
	ask_error(&f, "SELECT hist('x')", NULL);
	ask_error(&f, "SELECT p99(dur) FROM op", NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percentiles), cmocka_unit_test(merging_is_exact),
		cmocka_unit_test(many_groups), cmocka_unit_test(nulls_and_bounds),
		cmocka_unit_test(mistakes),
	};

	fixture_need_library();
	return cmocka_run_group_tests(tests, setup, teardown);
}
