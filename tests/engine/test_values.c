// SPDX-License-Identifier: Apache-2.0
/* test_values.c: values as text, compared with DuckDB's own text of the same value. */
#include "fixture.h"

static struct fixture f;

static int setup(void **state)
{
	char path[256];
	const char *paths[] = {fixture_file("values.trace", path)};

	fixture_write(path, 10);
	fixture_open(&f, paths, 1, NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_remove();
	return 0;
}

static void as_duckdb_writes_them(void **state)
{
	static const char *const values[] = {
		"true",
		"false",
		"1::TINYINT",
		"(-128)::TINYINT",
		"65535::USMALLINT",
		"-5::INTEGER",
		"4294967295::UINTEGER",
		"(-9223372036854775808)::BIGINT",
		"18446744073709551615::UBIGINT",
		"170141183460469231731687303715884105727::HUGEINT",
		"(-170141183460469231731687303715884105727-1)::HUGEINT",
		"340282366920938463463374607431768211455::UHUGEINT",
		"0.1::DOUBLE",
		"1::DOUBLE",
		"1e300::DOUBLE",
		"'nan'::DOUBLE",
		"'inf'::DOUBLE",
		"'-inf'::DOUBLE",
		"0.1::FLOAT",
		"3.4e38::FLOAT",
		"1.50::DECIMAL(4,2)",
		"-0.05::DECIMAL(9,2)",
		"123456789012345.678::DECIMAL(18,3)",
		"-1.5::DECIMAL(38,10)",
		"'text'",
		"''",
		"DATE '2026-11-21'",
		"DATE '1969-12-31'",
		"DATE '0001-01-01'",
		"DATE '2000-02-29'",
		"DATE '1900-03-01'",
		"TIME '09:55:02'",
		"TIME '09:55:02.114'::TIME",
		"TIMESTAMP '2026-11-21 09:55:02'",
		"TIMESTAMP '1960-01-01 00:00:00'",
		"TIMESTAMP_S '2026-11-21 09:55:02'",
		"TIMESTAMP_NS '2026-11-21 09:55:02.114000001'",
		"'infinity'::TIMESTAMP",
		"INTERVAL '14 months 3 days 04:05:06'",
		"INTERVAL '1 day'",
		"INTERVAL '-5 seconds'",
		"'0b1f7a2e-9c3d-4e5f-8a6b-7c8d9e0f1a2b'::UUID",
		"'\\xAA\\x00z'::BLOB",
		"'010110'::BIT",
		"[1, 2, NULL]",
		"[]::INTEGER[]",
		"{'a': 1, 'b': 'x'}",
		"MAP {'k': 1, 'l': NULL}",
		"[[1], [2, 3]]",
		"[1, 2, 3]::INTEGER[3]",
		"'b'::ENUM('a', 'b')",
		"[{'a': [1.5]}]",
	};

	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		_cleanup_free_ char *want = NULL;
		char sql[512];

		snprintf(sql, sizeof(sql), "SELECT (%s)::VARCHAR", values[i]);
		want = strdup(ask(&f, sql));
		snprintf(sql, sizeof(sql), "SELECT %s", values[i]);
		if (strcmp(ask(&f, sql), want))
			fail_msg("%s: %s, DuckDB writes %s", values[i], ask(&f, sql), want);
	}
	assert_string_equal(ask(&f, "SELECT NULL, NULL::VARCHAR, NULL::BIGINT"), "NULL|NULL|NULL");
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(as_duckdb_writes_them)};

	fixture_need_library();
	return cmocka_run_group_tests(tests, setup, teardown);
}
