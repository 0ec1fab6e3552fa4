/* SPDX-License-Identifier: Apache-2.0 */
/* Patterns and functions of single texts. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/eval/pattern.h"

static struct bytes text(const char *t)
{
	return (struct bytes){(const uint8_t *)t, strlen(t)};
}

static void matches(void **unused)
{
	static const struct {
		enum expr_kind kind;
		const char *pattern, *text;
		int fits;
	} tries[] = {
		{EXPR_GLOB, "*.sst", "/var/db/1.sst", 1},
		{EXPR_GLOB, "*.sst", "1.sst", 1},
		{EXPR_GLOB, "*.sst", "/var/1.sst.tmp", 0},
		{EXPR_GLOB, "/var/**/*.sst", "/var/db/a/1.sst", 1},
		{EXPR_GLOB, "/var/**/*.sst", "/var/1.sst", 1},
		{EXPR_GLOB, "/var/*", "/var/db/1", 1}, /* a folder matches what is under it */
		{EXPR_GLOB, "/var/", "/var/db", 1},
		{EXPR_GLOB, "/var", "/variable", 0},
		{EXPR_GLOB, "db", "/var/db", 1},
		{EXPR_GLOB, "", "", 1},
		{EXPR_REGEX, "ss[ty]$", "/var/db/1.sst", 1},
		{EXPR_REGEX, "^ss", "/var/db/1.sst", 0},
		{EXPR_REGEX, "", "", 1},
		{EXPR_LIKE, "%.sst", "/var/db/1.sst", 1},
		{EXPR_LIKE, "%.sst", "/var/db/1.sst2", 0},
		{EXPR_LIKE, "a%b%c", "a1b2b3c", 1},
		{EXPR_LIKE, "_", "\xc3\xa9", 1},
		{EXPR_LIKE, "__", "\xc3\xa9", 0},
		{EXPR_LIKE, "", "", 1},
		{EXPR_LIKE, "", "a", 0},
		{EXPR_LIKE, "%", "", 1},
	};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		struct query_pattern *p;
		struct error err = {0};

		assert_int_equal(query_pattern_new(&p, tries[i].kind, text(tries[i].pattern), &err),
				 0);
		if (query_pattern_match(p, text(tries[i].text)) != tries[i].fits)
			fail_msg("%s against %s", tries[i].pattern, tries[i].text);
		query_pattern_free(p);
	}
}

static void refusals(void **unused)
{
	static const char *const wrong[] = {"(", "a{99999}", "[z-a]", "((a{1000}){1000}){1000}"};
	struct query_pattern *p;
	struct error err = {0};
	char long_one[8192];

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		err = (struct error){0};
		assert_int_equal(query_pattern_new(&p, EXPR_REGEX, text(wrong[i]), &err), -EINVAL);
		assert_non_null(strstr(err.message, "character"));
	}
	memset(long_one, 'a', sizeof(long_one) - 1);
	long_one[sizeof(long_one) - 1] = '\0';
	assert_int_equal(query_pattern_new(&p, EXPR_REGEX, text(long_one), NULL), -EINVAL);
	assert_int_equal(query_pattern_new(&p, EXPR_GLOB, text(long_one), NULL), -EINVAL);
}

static void functions(void **unused)
{
	static const struct {
		enum query_function function;
		const char *text, *result; /* NULL: unknown */
	} tries[] = {
		{FUNCTION_DIR, "/a/b", "/a"},	{FUNCTION_DIR, "/a", "/"},
		{FUNCTION_DIR, "/", "/"},	{FUNCTION_DIR, "a", ""},
		{FUNCTION_BASE, "/a/b", "b"},	{FUNCTION_BASE, "/a/", ""},
		{FUNCTION_BASE, "a", "a"},	{FUNCTION_EXT, "/a.b/c", NULL},
		{FUNCTION_EXT, "c.sst", "sst"}, {FUNCTION_EXT, "c.", ""},
		{FUNCTION_EXT, ".x", "x"},	{FUNCTION_LOWER, "A\xc3\x89z", "a\xc3\x89z"},
		{FUNCTION_LOWER, "", ""},
	};
	struct buf scratch = {0};

	for (size_t i = 0; i < ARRAY_SIZE(tries); i++) {
		struct value v;

		assert_int_equal(
			query_text_function(tries[i].function, text(tries[i].text), &scratch, &v),
			0);
		assert_int_equal(v.null, !tries[i].result);
		if (v.null)
			continue;
		assert_int_equal(v.t.len, strlen(tries[i].result));
		assert_memory_equal(v.t.data, tries[i].result, v.t.len);
	}
	buf_free(&scratch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(matches),
		cmocka_unit_test(refusals),
		cmocka_unit_test(functions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
