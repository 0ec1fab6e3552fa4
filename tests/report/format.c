/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers, names and tables look like on a terminal. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/terminal/format.h"

#define SAME(text, want) assert_string_equal((text).s, want)

static void numbers(void **state)
{
	SAME(format_count(0), "0");
	SAME(format_count(999), "999");
	SAME(format_count(498448), "498,448");
	SAME(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
	SAME(format_size(1023), "1023 B");
	SAME(format_size(1024), "1.0 KiB");
	SAME(format_size(113770496), "108.5 MiB");
	SAME(format_size(UINT64_MAX), "16.0 EiB");
	SAME(format_size((1 << 20) - 1), "1.0 MiB");
	SAME(format_percent(0, 0), "-");
	SAME(format_percent(1, 1000), "<1 %");
	SAME(format_percent(47, 100), "47 %");
	SAME(format_rate(5, 5000000000, false), "1.0/s");
	SAME(format_rate(100, 0, true), "-");
	SAME(format_rate(1 << 20, 1000000000, true), "1.0 MiB/s");
}

static void durations(void **state)
{
	SAME(format_dur(0, 2), "0ns");
	SAME(format_dur(850, 2), "850ns");
	SAME(format_dur(5249, 2), "5.2us");
	SAME(format_dur(9960, 2), "10us");
	SAME(format_dur(18400, 2), "18us");
	SAME(format_dur(999499, 2), "999us");
	SAME(format_dur(999500, 2), "1.0ms");
	SAME(format_dur(19400000, 3), "19.4ms");
	SAME(format_dur(1234567890, 3), "1.23s");
	SAME(format_dur(200000000000, 3), "3m20s");
	SAME(format_dur(INT64_MAX, 3), "2562047h47m");
	SAME(format_time(3090000000), "3.09 s");
	SAME(format_time(51800000), "51.8 ms");
	SAME(format_time(690000000), "0.69 s");
	SAME(format_time(40000), "40 us");
	SAME(format_time(1234000000000), "1,234 s");
	SAME(format_rel(1500000000, 6), "+1.500000s");
	SAME(format_rel(-1, 9), "-0.000000001s");
	SAME(format_rel(5213999999, 3), "+5.213s");
	SAME(format_when(1795254902114000000, FORMAT_UTC), "21 Nov 09:55:02.114 +0000");
	SAME(format_when(-1, FORMAT_UTC), "31 Dec 23:59:59.999 +0000");
}

static void check_path(const char *text, size_t len, size_t width, const char *want)
{
	_cleanup_buf_ struct buf b = {0};

	assert_int_equal(format_path(&b, text, len, width), 0);
	assert_string_equal(buf_str(&b), want);
	assert_true(format_width(buf_str(&b)) <= width);
}

#define PATH(text, width, want) check_path(text, sizeof(text) - 1, width, want)

static void names(void **state)
{
	PATH("/srv/redis/appendonlydir/appendonly.aof.1.incr.aof", 40,
	     "/srv/.../appendonly.aof.1.incr.aof");
	PATH("/srv/redis/appendonlydir/appendonly.aof.1.incr.aof", 60,
	     "/srv/redis/appendonlydir/appendonly.aof.1.incr.aof");
	PATH("/a/b\nc\033[2J", 40, "/a/b\\nc\\x1b[2J");
	PATH("\xff\xfe\xc0\x80", 40, "\\xff\\xfe\\xc0\\x80");
	PATH("grün", 10, "grün");
	PATH("\xe2\x80\xaegnp.exe", 40, "\\xe2\\x80\\xaegnp.exe");
	PATH("日本語日本語日本語", 10, "日...本語");
	PATH("0123456789abcdef", 10, "01...bcdef");
	PATH("", 10, "");
	assert_int_equal(format_width("日本"), 4);
	assert_int_equal(format_width("é"), 1);
}

static void spark(void **state)
{
	uint64_t counts[FORMAT_SPARK_WIDTH] = {1, 8, 4};

	assert_non_null(setlocale(LC_CTYPE, "C.UTF-8"));
	SAME(format_spark_counts(counts), "▁█▄         ");
	assert_int_equal(format_width(FORMAT_SPARK_TITLE), FORMAT_SPARK_WIDTH);
}

static void tables(void **state)
{
	static const struct table_column columns[] = {{"name", .shrinks = true},
						      {"n", .right = true}};
	_cleanup_table_ struct table t = {.columns = columns, .column_count = 2};
	char out[256] = "";
	FILE *f = fmemopen(out, sizeof(out), "w");

	table_cell(&t, "/one/two/three/four/five");
	table_cell(&t, "1");
	table_cell(&t, "b");
	table_cell(&t, "1000");
	assert_int_equal(table_rows(&t), 2);
	assert_int_equal(table_print(&t, f, SIZE_MAX, 24), 0);
	fclose(f);
	assert_string_equal(
		out,
		"name                   n\n/one/.../four/five     1\nb                   1000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(durations), cmocka_unit_test(names),
		cmocka_unit_test(spark),   cmocka_unit_test(tables),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
