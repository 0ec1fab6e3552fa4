/* SPDX-License-Identifier: Apache-2.0 */
/* What numbers, names and tables look like on a terminal. */
#include <locale.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "cli/terminal/answer_print.h"
#include "engine/answer_json.h"

#define SAME(text, want) assert_string_equal((text).s, want)

static void numbers(void **state)
{
	SAME(format_count(0), "0");
	SAME(format_count(999), "999");
	SAME(format_count(498448), "498,448");
	SAME(format_count(UINT64_MAX), "18,446,744,073,709,551,615");
	SAME(format_size(1023), "1023 B");
	SAME(format_size(1024), "1.00 KiB");
	SAME(format_size(10239), "10.0 KiB");
	SAME(format_size(113246208), "108 MiB");
	SAME(format_size(UINT64_MAX), "16.0 EiB");
	SAME(format_size((1 << 20) - 1), "1.00 MiB");
	SAME(format_percent(0, 0), "-");
	SAME(format_percent(1, 1000), "<1 %");
	SAME(format_percent(47, 100), "47 %");
	SAME(format_rate(5, 5000000000, false), "1.00/s");
	SAME(format_rate(100, 0, true), "-");
	SAME(format_rate(1 << 20, 1000000000, true), "1.00 MiB/s");
}

static void durations(void **state)
{
	SAME(format_dur(-1), "-");
	SAME(format_dur(0), "0 ns");
	SAME(format_dur(850), "850 ns");
	SAME(format_dur(5249), "5.25 us");
	SAME(format_dur(9994), "9.99 us");
	SAME(format_dur(9996), "10.0 us");
	SAME(format_dur(18400), "18.4 us");
	SAME(format_dur(999499), "999 us");
	SAME(format_dur(999500), "1.00 ms");
	SAME(format_dur(41000000), "41.0 ms");
	SAME(format_dur(1234567890), "1.23 s");
	SAME(format_dur(200000000000), "200 s");
	SAME(format_dur(1234000000000), "1,234 s");
	SAME(format_dur(INT64_MAX), "9,223,372,037 s");
	SAME(format_rel(1500000000, 6), "+1.500000 s");
	SAME(format_rel(-1, 9), "-0.000000001 s");
	SAME(format_rel(5213999999, 3), "+5.213 s");
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
	/* a name that is too long for a folder before it, and one that is too long itself */
	PATH("/usr/lib/libpython3.11.so.1.0", 23, "...libpython3.11.so.1.0");
	PATH("/usr/lib/libpython3.11.so.1.0", 22, "...ibpython3.11.so.1.0");
	PATH("/usr/lib/libpython3.11.so.1.0", 16, "libp...11.so.1.0");
	PATH("/etc/ld.so.cache", 14, "...ld.so.cache");
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

static const struct answer_column columns[] = {
	{"name", {QUERY_TEXT}},
	{"n", {QUERY_INT}, ANSWER_COUNT},
	{"time", {QUERY_DUR}, .dash = true},
	{"p50", {QUERY_DUR}, .gives = 1},
	{"drawn", {QUERY_TEXT}, .people = true, .gives = 2, .fixed = true},
	{"more", {QUERY_TEXT}, .programs = true},
};

static void fill(struct answer_list *list, const char *name, int64_t n)
{
	answer_list_str(list, name);
	answer_list_int(list, n);
	answer_list_int(list, n == 1 ? 0 : 41000000);
	answer_list_int(list, 2800);
	answer_list_str(list, "0123456789");
	answer_list_str(list, "\xff,\"");
}

static void check_table(size_t width, const char *want)
{
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};
	_cleanup_answer_ struct answer rows = {0};
	char out[1024] = "";
	FILE *f = fmemopen(out, sizeof(out), "w");
	const struct answer_print print = {.out = f, .width = width, .rows_max = 2, .more = "-n 3"};

	fill(&list, "/one/two/three/four/five/six/seven", 1);
	fill(&list, "b", 123456789);
	fill(&list, "c", 1);
	assert_int_equal(answer_of_list(&rows, &list, true), 0);
	assert_int_equal(answer_text(&print, &rows, NULL), 0);
	fclose(f);
	assert_string_equal(out, want);
}

/* Texts get what numbers leave; then columns give way; numbers are whole at any width. */
static void tables(void **state)
{
	check_table(
		100,
		"name                                          n     time      p50  drawn\n"
		"/one/two/three/four/five/six/seven            1        -  2.80 us  0123456789\n"
		"b                                   123,456,789  41.0 ms  2.80 us  0123456789\n"
		"1 more row: -n 3\n");
	check_table(74,
		    "name                                       n     time      p50  drawn\n"
		    "/.../three/four/five/six/seven             1        -  2.80 us  0123456789\n"
		    "b                                123,456,789  41.0 ms  2.80 us  0123456789\n"
		    "1 more row: -n 3\n");
	check_table(66, "name                                          n     time      p50\n"
			"/one/two/three/four/five/six/seven            1        -  2.80 us\n"
			"b                                   123,456,789  41.0 ms  2.80 us\n"
			"1 more row: -n 3\n");
	check_table(40, "name                          n     time\n"
			"/one/.../six/seven            1        -\n"
			"b                   123,456,789  41.0 ms\n"
			"1 more row: -n 3\n");
	check_table(20, "name                n     time\n"
			"...seven            1        -\n"
			"b         123,456,789  41.0 ms\n"
			"1 more row: -n 3\n");
}

/* What programs get: bytes as they are in CSV, escaped in JSON, no columns that are drawn. */
static void programs(void **state)
{
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};
	_cleanup_answer_ struct answer rows = {0};
	_cleanup_buf_ struct buf csv = {0}, json = {0};

	fill(&list, "a", 1);
	assert_int_equal(answer_of_list(&rows, &list, false), 0);
	assert_int_equal(answer_csv_names(&csv, &rows, NULL), 0);
	while (answer_next(&rows, NULL) > 0)
		assert_int_equal(answer_csv_row(&csv, &rows, NULL), 0);
	assert_string_equal(buf_str(&csv), "name,n,time,p50,more\na,1,0,2800,\"\\xff,\"\"\"\n");
	answer_free(&rows);
	assert_int_equal(answer_of_list(&rows, &list, false), 0);
	assert_int_equal(answer_json_table(&json, &rows, 0, NULL), 0);
	assert_non_null(strstr(buf_str(&json),
			       "\"rows\": [\n  {\"name\": \"a\", \"n\": 1, \"time\": 0, "
			       "\"p50\": 2800, \"more\": \"\\\\xff,\\\"\"}]"));
}

static void wrapped(void **state)
{
	_cleanup_buf_ struct buf b = {0};

	assert_int_equal(format_wrapped(&b, "it took 12 ms, 34 % of it 7 times", 2, 17), 0);
	assert_string_equal(buf_str(&b), "it took 12 ms,\n  34 % of it 7\n  times\n");
	buf_clear(&b);
	assert_int_equal(format_wrapped(&b, "it took 12 ms, 34 % of it", 2, 12), 0);
	assert_string_equal(buf_str(&b), "it took\n  12 ms,\n  34 % of it\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(durations), cmocka_unit_test(names),
		cmocka_unit_test(spark),   cmocka_unit_test(tables),	cmocka_unit_test(programs),
		cmocka_unit_test(wrapped),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
