/* SPDX-License-Identifier: Apache-2.0 */
/* What is offered at the end of an unfinished query. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/buf.h"
#include "query/query.h"

static void note(void *arg, const char *word)
{
	assert_int_equal(buf_printf(arg, " %s ", word), 0);
}

/* Each of `wanted` (words with blanks between) is offered at the end of the text, none of
 * `unwanted`. */
static void check(const char *text, size_t start, const char *value_of, const char *wanted,
		  const char *unwanted)
{
	_cleanup_buf_ struct buf offered = {0};
	const char *of;
	size_t at;
	char word[72], found[80];
	int n;

	query_complete(text, strlen(text), NULL, note, &offered, &at, &of);
	if (at != start || (of != value_of && (!of || !value_of || strcmp(of, value_of))))
		fail_msg("%s: starts at %zu, value of %s", text, at, of ? of : "nothing");
	for (const char *p = wanted; sscanf(p, "%70s%n", word, &n) == 1; p += n) {
		snprintf(found, sizeof(found), " %s ", word);
		if (!strstr(buf_str(&offered), found))
			fail_msg("%s: no%samong%s", text, found, buf_str(&offered));
	}
	for (const char *p = unwanted; sscanf(p, "%70s%n", word, &n) == 1; p += n) {
		snprintf(found, sizeof(found), " %s ", word);
		if (strstr(buf_str(&offered), found))
			fail_msg("%s:%samong%s", text, found, buf_str(&offered));
	}
}

static void words(void **state)
{
	check("", 0, NULL, "from where by sort count() dur path dir(", "and read");
	check("wh", 0, NULL, "where", "by");
	check("where ", 6, NULL, "dur path stop dir( comm", "where count() read");
	check("where d", 6, NULL, "dur dir( dev", "path");
	check("from ", 5, NULL, "op file summary", "dur");
	check("from file | where ", 18, NULL, "path type ino", "dur comm");
	check("where dur > 1ms ", 16, NULL, "and or", "dur read");
	check("where dur > 1ms && ", 19, NULL, "dur path", "and");
	check("by op ", 6, NULL, "every as", "and");
	check("sort dur ", 9, NULL, "desc asc", "dur");
	check("by op every 1", 13, NULL, "", "as every");
}

static void values(void **state)
{
	check("op == r", 6, NULL, "read readv rename", "write dur");
	check("op in (read, p", 13, NULL, "pread64 pwrite64", "read path");
	check("err == EN", 7, NULL, "ENOENT ENOMEM", "EAGAIN");
	check("err == en", 7, NULL, "ENOENT ENOMEM", "EAGAIN");
	check("class != ", 9, NULL, "data wait", "dur");
	check("flags has O_D", 10, NULL, "O_DIRECT O_DSYNC", "O_RDWR dur");
	check("status has ", 11, NULL, "unfinished slept", "O_RDWR");
	check("comm == \"red", 9, "comm", "", "read dur");
	check("dur > 1ms && path ~ '/va", 21, "path", "", "dur");
	check("comm in (\"a\", \"b", 15, "comm", "", "dur");
	check("comm == ", 8, "comm", "", "dur");
	check("dur > ", 6, NULL, "dur held", "read");
}

static void fields(void **state)
{
	check("by op, comm | count() as n | sort ", 34, NULL, "n op comm", "dur path");
	check("by op, comm | count() as n | where op == rea", 41, NULL, "read readv", "dur n");
	check("by op | p99(dur) | sort p", 24, NULL, "p99(dur)", "path");
	check("by op | ", 8, NULL, "count() p99( where", "and");
	check("sort dur | head 3 | select p", 27, NULL, "path pid", "dur");
	check("by thread | count() | join ", 27, NULL, "thread file", "op");
	check("by op | broken( | where ", 24, NULL, "dur", "");
	check("by op | p99(d", 12, NULL, "dur dir(", "count");
	check("by op, comm | count(), sum(b", 27, NULL, "bytes bucket(", "op");
	check("where dur > 1ms | by op every 1s | avg(", 39, NULL, "dur bytes", "count()");
	check("by op | sum(if(err is null, by", 28, NULL, "bytes", "by");
	check("by op | countif(err == EN", 23, NULL, "ENOENT", "dur");
	check("by op | p99(dur) | where p99(", 29, NULL, "op", "dur");
	check("by op | p99(dur) as n | sort n", 29, NULL, "n", "dur");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(values),
		cmocka_unit_test(fields),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
