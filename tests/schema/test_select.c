/* SPDX-License-Identifier: Apache-2.0 */
/* -e in strace's spelling, -P and globs; every mistake is named. */
#include "schema/select.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "base/clock.h"

static bool has(const struct select *s, const char *call)
{
	assert_true(op_find(call) >= 0);
	return select_op(s, (uint32_t)op_find(call));
}

static struct select ops(const char *first, const char *second)
{
	struct select s = {0};
	struct error err = {0};

	if (select_ops(&s, first, &err) < 0 || (second && select_ops(&s, second, &err) < 0))
		fail_msg("%s: %s", first, err.message);
	return s;
}

static void test_ops(void **state)
{
	struct select s = {0};

	assert_true(has(&s, "read"));
	s = ops("read,openat", NULL);
	assert_true(has(&s, "read") && has(&s, "openat") && !has(&s, "write"));
	s = ops("trace=%file", NULL);
	assert_true(has(&s, "openat") && has(&s, "unlink") && !has(&s, "read"));
	s = ops("%desc", "%network");
	assert_true(has(&s, "read") && has(&s, "sendto") && !has(&s, "unlink"));
	s = ops("!%desc", NULL);
	assert_true(!has(&s, "read") && has(&s, "unlink") && has(&s, "getpid"));
	s = ops("%file", "!openat,open");
	assert_true(!has(&s, "openat") && has(&s, "unlink") && !has(&s, "getpid"));
	s = ops("/^p(read|write)", NULL);
	assert_true(has(&s, "pread64") && has(&s, "pwritev2") && !has(&s, "read"));
	s = ops("all", NULL);
	assert_true(has(&s, "read") && select_op(&s, 1000));
	s = ops("none", NULL);
	assert_true(!has(&s, "read"));
	s = ops("t=?no_such_call,0", NULL);
	assert_true(has(&s, "read") && !has(&s, "write"));
	s = ops("%%stat", "%STATFS");
	assert_true(has(&s, "statx") && has(&s, "statfs") && !has(&s, "fstatfs"));
	s = ops("read@64,pread", "%sync");
	assert_true(has(&s, "read") && has(&s, "pread64") && has(&s, "fdatasync") &&
		    !has(&s, "pwrite64"));
	s = ops("desc", NULL);
	assert_true(has(&s, "read"));
}

static void test_op_errors(void **state)
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{"opennat", "did you mean openat?"},
		{"%fiel", "did you mean %file?"},
		{"%zzzzzz", "sets are %file"},
		{"xyzzyxyzzy", "unknown system call 'xyzzyxyzzy'"},
		{"", "no calls given"},
		{"!", "no calls given"},
		{"read,,write", "missing next to a comma"},
		{"read,", "missing next to a comma"},
		{"/(", "'/('"},
		{"/^nothing$", "matches no system call name"},
		{"9999", "not a system call number"},
		{"12x", "not a system call number"},
		{"inject=read:error=EIO", "supports only 'trace='"},
		{"status=failed", "-Z"},
		{"tracee=read", "only 'trace' is allowed"},
		{"read@32", "@64"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct select s = {0};
		struct error err = {0};

		assert_true(select_ops(&s, cases[i].text, &err) < 0);
		assert_false(s.ops_given);
		if (!strstr(err.message, cases[i].says))
			fail_msg("'%s' -> '%s', not '%s'", cases[i].text, err.message,
				 cases[i].says);
	}
}

static void test_glob(void **state)
{
	static const struct {
		const char *glob, *text;
		bool match;
	} cases[] = {
		{"/a/b", "/a/b", true},
		{"/a/b", "/a/b/c", true},
		{"/a/b", "/a/bc", false},
		{"/a/b/", "/a/b/c", true},
		{"/", "/x", true},
		{"/a/*.sst", "/a/1.sst", true},
		{"/a/*.sst", "/a/b/1.sst", false},
		{"/a/**/*.sst", "/a/1.sst", true},
		{"/a/**/*.sst", "/a/b/c/1.sst", true},
		{"/a/**", "/a/b/c", true},
		{"/a/**", "/b", false},
		{"**/x", "/a/b/x", true},
		{"**/x", "x", true},
		{"**/x", "/x", true},
		{"**/x", "/a/bx", false},
		{"**/b", "/usr/lib/x", false},
		{"/a/**/x", "/a/x", true},
		{"/a/**/x", "/a/bx", false},
		{"/a/**/x", "/a/b/c/x", true},
		{"/a/**/x/**/y", "/a/bx/y", false},
		{"/a/**/x/**/y", "/a/b/x/y", true},
		{"**/**/x", "/a/bx", false},
		{"**/**/x", "/b/x", true},
		{"/a/?", "/a/b", true},
		{"/a?b", "/a/b", false},
		{"/[a-c]x", "/bx", true},
		{"/[!a-c]x", "/bx", false},
		{"/[!a]x", "/bx", true},
		{"/[]]", "/]", true},
		{"/a[b", "/a[b", true},
		{"/\\*", "/*", true},
		{"/\\*", "/a", false},
		{"*", "a", true},
		{"*", "a/b", true},
		{"", "", true},
		{"/a*b*c", "/aXbYbZc", true},
		{"/a*b*c", "/aXbYbZ", false},
		{"/a/**b", "/a/x/yb", true},
		{"/**/**/x", "/x", true},
		{"/x", "", false},
		{"/a[/]b", "/a/b", false},
		{"a**", "a", true},
		{"/[a-]", "/-", true},
		{"/a\\", "/a\\", true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		if (glob_match(cases[i].glob, cases[i].text, strlen(cases[i].text)) !=
		    cases[i].match)
			fail_msg("'%s' and '%s'", cases[i].glob, cases[i].text);
	}
}

/* Patterns on which backtracking would take for ever. */
static void test_glob_hostile(void **state)
{
	char pattern[GLOB_MAX + 2], text[4096];
	int64_t start = clock_cpu_ns();

	memset(text, 'a', sizeof(text));
	for (size_t i = 0; i < 200; i++)
		memcpy(pattern + 3 * i, i % 2 ? "**a" : "*aa", 3);
	memcpy(pattern + 600, "b", 2);
	assert_false(glob_match(pattern, text, sizeof(text)));
	memset(pattern, '*', GLOB_MAX + 1);
	pattern[GLOB_MAX] = 0;
	assert_true(glob_match(pattern, text, sizeof(text)));
	pattern[GLOB_MAX] = '*';
	pattern[GLOB_MAX + 1] = 0;
	assert_false(glob_match(pattern, text, sizeof(text)));
	for (size_t i = 0; i < GLOB_MAX; i++)
		pattern[i] = "**/"[i % 3];
	pattern[GLOB_MAX - 1] = 'b';
	pattern[GLOB_MAX] = 0;
	assert_false(glob_match(pattern, text, sizeof(text)));
	assert_true(clock_cpu_ns() - start < 3 * NSEC_PER_SEC);
}

static void add(struct select *s, const char *path)
{
	struct error err = {0};

	if (select_path_add(s, path, &err) < 0)
		fail_msg("%s: %s", path, err.message);
}

static bool matches(const struct select *s, const char *path)
{
	return select_path_match(s, path, strlen(path));
}

static void test_paths(void **state)
{
	struct select s = {0};
	struct error err = {0};
	char cwd[4096], want[8192];

	assert_true(matches(&s, "/anything"));
	add(&s, "/no//such/./folder/");
	assert_string_equal(s.paths[0].glob, "/no/such/folder");
	assert_string_equal(s.paths[0].prefix, "/no/such/folder");
	assert_true(s.paths[0].exact);
	assert_true(matches(&s, "/no/such/folder/x") && !matches(&s, "/no/such/folders"));
	add(&s, "/no/such/folder");
	assert_int_equal(s.path_count, 1);
	add(&s, "/no/data/**/*.sst");
	assert_string_equal(s.paths[1].prefix, "/no/data/");
	assert_false(s.paths[1].exact);
	assert_true(matches(&s, "/no/data/1.sst") && matches(&s, "/no/data/a/b/1.sst") &&
		    !matches(&s, "/no/data/x"));
	assert_non_null(getcwd(cwd, sizeof(cwd)));
	add(&s, "no-such-file");
	snprintf(want, sizeof(want), "%s/no-such-file", cwd);
	assert_true(matches(&s, want));
	assert_true(select_path_add(&s, "", &err) < 0);
	select_free(&s);
	add(&s, "/");
	assert_true(matches(&s, "/x/y"));
	for (int i = 1; i < SELECT_LIST_MAX; i++) {
		snprintf(want, sizeof(want), "/no/%d", i);
		add(&s, want);
	}
	err = (struct error){0};
	assert_int_equal(select_path_add(&s, "/no/more", &err), -E2BIG);
	select_free(&s);
}

/* What begins with a star is looked for anywhere; all else that is relative, from here. */
static void test_relative_globs(void **state)
{
	static const struct {
		const char *glob, *path;
		bool match;
	} cases[] = {
		{"*.pyc", "/usr/lib/a.pyc", true},
		{"*.pyc", "/a.pyc", true},
		{"*.pyc", "a.pyc", true},
		{"*.pyc", "/usr/lib/a.py", false},
		{"*.pyc", "/usr/a.pyc/below", true},
		{"*.pyc", "/usr/apyc", false},
		{"*/log/*.txt", "/a/b/log/1.txt", true},
		{"*/log/*.txt", "/a/log/b/1.txt", false},
		{"*", "/a/b", true},
		{"*", "pipe:[1]", true},
		{"**.c", "/a/b.c", true},
		{"**/b/*.c", "/a/b/1.c", true},
		{"*pipe*", "pipe:[1]", true},
		{"lib*.so", "/usr/libx.so", false},
		{"?.c", "/a.c", false},
		{"./*.c", "/a/b.c", false},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct select s = {0};

		add(&s, cases[i].glob);
		if (matches(&s, cases[i].path) != cases[i].match)
			fail_msg("'%s' and '%s'", cases[i].glob, cases[i].path);
		select_free(&s);
	}
}

/* A path through a symbolic link selects what the kernel calls it as well. */
static void test_links(void **state)
{
	char folder[] = "/tmp/weir-select-XXXXXX", path[64];
	struct select s = {0};

	assert_non_null(mkdtemp(folder));
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(mkdir("real", 0700), 0);
	assert_int_equal(symlink("real", "link"), 0);
	add(&s, "link/*.log");
	add(&s, "link");
	assert_int_equal(s.path_count, 4);
	snprintf(path, sizeof(path), "%s/real/x.log", folder);
	assert_true(matches(&s, path));
	snprintf(path, sizeof(path), "%s/link/x", folder);
	assert_true(matches(&s, path));
	select_free(&s);
	assert_int_equal(unlink("link"), 0);
	assert_int_equal(rmdir("real"), 0);
	assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ops),   cmocka_unit_test(test_op_errors),
		cmocka_unit_test(test_glob),  cmocka_unit_test(test_glob_hostile),
		cmocka_unit_test(test_paths), cmocka_unit_test(test_relative_globs),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
