/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines: what the parser takes, what it refuses, and that every example of every command is
 * one it takes. */
#include "base/clock.h"
#include "base/nearest.h"
#include "base/when.h"
#include "cli/options/conditions.h"
#include "query/eval/eval_rows.h"
#include "query/query.h"
#include "cli/options/command.h"
#include "cli/options/help.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#define WORDS_MAX 64

struct sample_options {
	bool all, brief;
	const char *output;
	struct option_list pids;
	int64_t rows, time_ns;
	uint64_t size;
};

static const struct option sample_table[] = {
	{'a', "all", OPTION_FLAG, NULL, "x", offsetof(struct sample_options, all)},
	{'b', "brief", OPTION_FLAG, NULL, "x", offsetof(struct sample_options, brief)},
	{'o', "output", OPTION_STRING, "FILE", "x", offsetof(struct sample_options, output)},
	{'p', "pid", OPTION_LIST, "PID", "x", offsetof(struct sample_options, pids)},
	{0, "rows", OPTION_INT, "N", "x", offsetof(struct sample_options, rows)},
	{0, "time", OPTION_DURATION, "TIME", "x", offsetof(struct sample_options, time_ns)},
	{0, "size", OPTION_SIZE, "SIZE", "x", offsetof(struct sample_options, size)},
	{0},
};

/* What the last run was given. */
static struct sample_options seen;
static char seen_args[256], seen_pids[64];

static int sample_run(const void *opts, int argc, char **argv)
{
	seen = *(const struct sample_options *)opts;
	seen_args[0] = seen_pids[0] = 0;
	for (int i = 0; i < argc; i++)
		snprintf(seen_args + strlen(seen_args), sizeof(seen_args) - strlen(seen_args),
			 "[%s]", argv[i]);
	for (size_t i = 0; i < seen.pids.count; i++)
		snprintf(seen_pids + strlen(seen_pids), sizeof(seen_pids) - strlen(seen_pids),
			 "[%s]", seen.pids.items[i]);
	assert_null(argv[argc]);
	return 0;
}

static struct command sample = {
	.name = "sample",
	.summary = "x",
	.usage = "x",
	.options = sample_table,
	.options_size = sizeof(struct sample_options),
	.run = sample_run,
};

/* Splits at blanks, single and double quotes respected; ends at a shell operator. */
static int split(char *line, char **words)
{
	int count = 0;

	for (char *in = line; *in && count < WORDS_MAX - 1;) {
		char *out;

		in += strspn(in, " ");
		if (!*in || strchr("|;>", *in) || strncmp(in, "&&", 2) == 0)
			break;
		words[count++] = out = in;
		for (char quote = 0; *in && (quote || *in != ' '); in++) {
			if (*in == quote)
				quote = 0;
			else if (!quote && (*in == '\'' || *in == '"'))
				quote = *in;
			else
				*out++ = *in;
		}
		if (*in)
			in++;
		*out = 0;
	}
	words[count] = NULL;
	return count;
}

static int run(const char *line)
{
	static char copy[512]; /* what was parsed points into it */
	char *words[WORDS_MAX];

	snprintf(copy, sizeof(copy), "sample %s", line);
	return command_run(&sample, split(copy, words), words);
}

static void options_in_every_spelling(void **state)
{
	assert_int_equal(
		run("-ab -o out --pid=1 -p2 --pid 3 --rows 12 --time 1.5ms --size 64KiB rest more"),
		0);
	assert_true(seen.all && seen.brief);
	assert_string_equal(seen.output, "out");
	assert_string_equal(seen_pids, "[1][2][3]");
	assert_int_equal(seen.rows, 12);
	assert_int_equal(seen.time_ns, 1500000);
	assert_int_equal(seen.size, 65536);
	assert_string_equal(seen_args, "[rest][more]");
	assert_int_equal(run("one --all two -- --brief -x"), 0);
	assert_true(seen.all && !seen.brief);
	assert_string_equal(seen_args, "[one][two][--brief][-x]");
	assert_int_equal(run("- -abofile"), 0);
	assert_string_equal(seen.output, "file");
	assert_string_equal(seen_args, "[-]");
}

static void a_command_line_stays_as_it_is(void **state)
{
	sample.takes_command = true;
	assert_int_equal(run("-a ls -b -o x"), 0);
	assert_true(seen.all && !seen.brief && !seen.output);
	assert_string_equal(seen_args, "[ls][-b][-o][x]");
	assert_int_equal(run("-- -a ls -- x"), 0);
	assert_false(seen.all);
	assert_string_equal(seen_args, "[-a][ls][--][x]");
	sample.takes_command = false;
}

struct group {
	const char *path, *container;
	bool chosen;
};

/* Whether the condition takes a call of a thread in the control group. */
static int takes_group(void *arg, const char *option, const char *text, struct error *err)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	_cleanup_(query_rows_freep) struct query_rows *rows = NULL;
	_cleanup_(query_cursor_freep) struct query_cursor *cursor = NULL;
	_cleanup_(dims_freep) struct dims *dims = NULL;
	_cleanup_batch_set_ struct batch_set set = {0};
	struct batch *groups, *threads, *calls;
	struct query_error why = {0};
	struct group *g = arg;
	const uint32_t *taken;

	assert_int_equal(query_parse_expr(text, strlen(text), TABLE_OP, true, &plan, &why), 0);
	assert_int_equal(batch_set_table(&set, TABLE_CGROUP, &groups), 0);
	assert_int_equal(batch_set_table(&set, TABLE_THREAD, &threads), 0);
	assert_int_equal(batch_set_table(&set, TABLE_OP, &calls), 0);
	assert_int_equal(dims_new(&dims), 0);
	groups->rows = threads->rows = calls->rows = 1;
	assert_int_equal(batch_set(groups, CGROUP_ID, 0, 7), 0);
	assert_int_equal(batch_set_str(groups, CGROUP_PATH, 0, g->path), 0);
	if (g->container)
		assert_int_equal(batch_set_str(groups, CGROUP_CONTAINER, 0, g->container), 0);
	assert_int_equal(dims_apply(dims, groups), 0);
	assert_int_equal(batch_set(threads, THREAD_ID, 0, 3), 0);
	assert_int_equal(batch_set(threads, THREAD_CGROUP_ID, 0, 7), 0);
	assert_int_equal(dims_apply(dims, threads), 0);
	assert_int_equal(batch_set(calls, OP_THREAD_ID, 0, 3), 0);
	assert_int_equal(query_rows_new(&rows, plan->where, err), 0);
	assert_int_equal(query_rows_names(rows, dims, err), 0);
	assert_int_equal(query_cursor_new(&cursor, rows), 0);
	g->chosen = query_cursor_rows(cursor, calls, &taken, err) == 1;
	return 0;
}

static bool group_chosen(const struct select_flags *flags, const char *path, const char *container)
{
	const struct select none = {0};
	const struct option_list where = {0};
	struct group g = {path, container, false};
	struct error err = {0};

	assert_int_equal(conditions_each(flags, &none, &where, takes_group, &g, &err), 0);
	return g.chosen;
}

static bool unit_chosen(const char *unit, const char *path)
{
	return group_chosen(&(struct select_flags){.units = {&unit, 1, 0}}, path, NULL);
}

static bool container_chosen(const char *name, const char *path, const char *container)
{
	return group_chosen(&(struct select_flags){.containers = {&name, 1, 0}}, path, container);
}

static bool path_chosen(const char *wanted, const char *path)
{
	return group_chosen(&(struct select_flags){.cgroups = {&wanted, 1, 0}}, path, NULL);
}

/* Units and containers of a stored trace are found in the paths of its control groups. */
static void stored_control_groups(void **state)
{
	static const char unit[] = "/system.slice/redis.service/worker", id[] = "0123456789abcdef";

	assert_true(unit_chosen("redis", unit));
	assert_true(unit_chosen("redis.service", unit));
	assert_true(unit_chosen("system.slice", unit));
	assert_true(unit_chosen("redis", "/system.slice/redis.service"));
	assert_false(unit_chosen("red", unit));
	assert_false(unit_chosen("redis", "/"));
	assert_true(container_chosen("0123456789ab", "/docker/x", id));
	assert_false(container_chosen("123456789ab", "/docker/x", id));
	assert_true(container_chosen("web", "/lxc.payload.web/init.scope", "web"));
	assert_true(container_chosen("web", "/machine.slice/machine-web.scope/x", NULL));
	assert_true(path_chosen("/system.slice", unit));
	assert_true(path_chosen("system.slice/redis.service/", unit));
	assert_true(path_chosen("/", unit));
	assert_false(path_chosen("/system", unit));
}

static void wrong_lines_are_refused(void **state)
{
	static const char *const wrong[] = {
		"--al",	       "--outptu x",
		"-x",	       "-ax",
		"--output",    "-o",
		"--all=1",     "--rows 1x",
		"--rows ''",   "--rows 99999999999999999999",
		"--time 1y",   "--time -1",
		"--time nan",  "--time 0x1p3",
		"--size 1Q",   "--size -5",
		"--size 1e30", "--=",
		"---",
	};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		if (run(wrong[i]) != 2)
			fail_msg("not refused: %s", wrong[i]);
	}
	sample.no_args = true;
	assert_int_equal(run("x"), 2);
	sample.no_args = false;
}

static void values(void **state)
{
	static const struct {
		const char *text;
		int64_t ns;
	} durations[] = {{"5", 5000000000},    {"5s", 5000000000},    {"0.5us", 500},
			 {"2m", 120000000000}, {"1h", 3600000000000}, {"100ns", 100},
			 {".5ms", 500000},     {"1.5MS", 1500000}};
	int64_t ns;
	uint64_t size;

	for (size_t i = 0; i < ARRAY_SIZE(durations); i++) {
		assert_int_equal(parse_duration(durations[i].text, &ns, NULL), 0);
		assert_int_equal(ns, durations[i].ns);
	}
	assert_int_equal(parse_size("1.5k", &size, NULL), 0);
	assert_int_equal(size, 1536);
	assert_int_equal(parse_size("2GiB", &size, NULL), 0);
	assert_int_equal(size, 2ull << 30);
}

/* ns since the epoch of a text in UTC, or the negative error; `frame` from 23:59:55 to 00:00:10 of the next day. */
static int64_t when(const char *text, int64_t days)
{
	const int64_t midnight = 20000ll * 86400 * NSEC_PER_SEC; /* 4 Oct 2024 */
	const struct when_frame frame = {.first = midnight - 5 * NSEC_PER_SEC,
					 .last = midnight + (days * 86400 + 10) * NSEC_PER_SEC,
					 .utc = true};
	int64_t at;
	int r = when_parse(text, strlen(text), &frame, &at);

	return r < 0 ? r : (at - midnight) / NSEC_PER_MSEC;
}

static void times_of_the_clock(void **state)
{
	int64_t at;

	assert_int_equal(when("23:59:58", 0), -2000);
	assert_int_equal(when("00:00:05.25", 0), 5250);
	assert_int_equal(when("0:00:05", 0), 5000);
	assert_int_equal(when("00:00:05Z", 0), 5000);
	assert_int_equal(when("01:00:05+01:00", 0), 5000);
	/* the nearest where it lies beside the frame */
	assert_int_equal(when("23:59", 0), -60000);
	assert_int_equal(when("00:01", 0), 60000);
	assert_int_equal(when("00:00:05", 1), -ERANGE);
	assert_int_equal(when("12:00", 1), 12 * 3600 * 1000);
	assert_int_equal(when("4 Oct 00:00:05", 1), 5000);
	assert_int_equal(when("3 Oct 23:59:58.5 +0000", 0), -1500);
	assert_int_equal(when("2024-10-05", 0), 86400 * 1000);
	assert_int_equal(when("2024-10-04T02:00:00+02:00", 0), 0);
	assert_int_equal(when("2024-09-31", 0), -EINVAL);
	assert_int_equal(when("24:00", 0), -EINVAL);
	assert_int_equal(when("4 Okt", 0), -EINVAL);
	assert_int_equal(when_parse("00:00:05", 8, NULL, &at), -EINVAL);
	assert_int_equal(when_parse("1970-01-01 00:00:01Z", 20, NULL, &at), 0);
	assert_int_equal(at, NSEC_PER_SEC);
}

/* Seconds since `first` of a local time, or the negative error. */
static int64_t local(const char *text, int64_t first, int64_t seconds)
{
	const struct when_frame frame = {.first = first * NSEC_PER_SEC,
					 .last = (first + seconds) * NSEC_PER_SEC};
	int64_t at;
	int r = when_parse(text, strlen(text), &frame, &at);

	return r < 0 ? r : at / NSEC_PER_SEC - first;
}

/* Clocks in Berlin: forward on 29 Mar 2026 at 2:00, back on 25 Oct at 3:00. */
static void times_of_clocks_that_are_set(void **state)
{
	const int64_t first_two = 1792886400, /* 25 Oct 02:00 CEST */
		march = 1774742400,	      /* 29 Mar 01:00 CET */
		december = 1798757400;	      /* 31 Dec 23:50 CET */
	const char *before = getenv("TZ");
	char *kept = before ? strdup(before) : NULL;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_int_equal(local("02:30", first_two + 600, 2400), 1200);
	assert_int_equal(local("02:30", first_two + 4200, 2400), 1200);
	assert_int_equal(local("02:30", first_two, 7200), -ERANGE);
	assert_int_equal(local("25 Oct 02:30", first_two, 7200), -ERANGE);
	assert_int_equal(local("2026-10-25 02:30 +0100", first_two, 7200), 5400);
	assert_int_equal(local("02:30", march, 7200), -EINVAL);
	assert_int_equal(local("03:30", march, 7200), 5400);
	assert_int_equal(local("1 Jan 00:10", december, 2400), 1200);
	assert_int_equal(local("31 Dec 23:55", december, 2400), 300);
	assert_int_equal(local("00:10", december, 2400), 1200);
	if (kept)
		setenv("TZ", kept, 1);
	else
		unsetenv("TZ");
	tzset();
	free(kept);
}

static void nearest_names(void **state)
{
	assert_int_equal(nearest_distance("record", "record"), 0);
	assert_int_equal(nearest_distance("recrod", "record"), 1);
	assert_int_equal(nearest_distance("", "abc"), 3);
	assert_int_equal(nearest_distance("open", "openat"), 2);
	assert_int_equal(nearest_distance("kitten", "sitting"), 3);

	struct nearest near = {.word = "reprot"};

	for (size_t i = 0; command_at(i); i++)
		nearest_offer(&near, command_at(i)->name);
	nearest_offer(&near, "report");
	assert_string_equal(near.best, "report");
	near = (struct nearest){.word = "xyzzy"};
	nearest_offer(&near, "report");
	assert_null(near.best);
}

/* An option's letter or name twice in one table hides the second. */
static void tables_are_sound(void **state)
{
	for (size_t i = 0; command_at(i); i++) {
		const struct command *c = command_at(i);

		assert_non_null(c->summary);
		assert_non_null(c->usage);
		assert_true(c->run || c->analysis);
		for (const struct option *o = c->options; !option_end(o); o++) {
			if (o->offset >= c->options_size ||
			    (o->type == OPTION_FLAG || o->type == OPTION_TIMES) != !o->value)
				fail_msg("%s: option %c %s: offset or value wrong", c->name,
					 o->short_name ? o->short_name : ' ',
					 o->long_name ? o->long_name : "");
			for (const struct option *p = o + 1; !option_end(p); p++) {
				if ((o->short_name && o->short_name == p->short_name) ||
				    (o->long_name && p->long_name &&
				     strcmp(o->long_name, p->long_name) == 0))
					fail_msg("%s: option %c %s is there twice", c->name,
						 o->short_name ? o->short_name : ' ',
						 o->long_name ? o->long_name : "");
			}
		}
	}
}

static void examples_parse(void **state)
{
	for (size_t i = 0; command_at(i); i++) {
		for (const struct command_example *e = command_at(i)->examples; e && e->line; e++) {
			char *words[WORDS_MAX], *copy = strdup(e->line),
						*start = strstr(copy, "weir ");
			int count = start ? split(start, words) : 0;
			const struct command *c = count > 1 ? command_find(words[1]) : NULL;

			if (count > 1 && words[1][strlen(words[1]) - 1] == ')')
				words[1][strlen(words[1]) - 1] = 0;
			if (!c || command_try(c, count - 1, words + 1) != 0)
				fail_msg("weir %s: the example does not parse: %s",
					 command_at(i)->name, e->line);
			free(copy);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_in_every_spelling),
		cmocka_unit_test(a_command_line_stays_as_it_is),
		cmocka_unit_test(stored_control_groups),
		cmocka_unit_test(wrong_lines_are_refused),
		cmocka_unit_test(values),
		cmocka_unit_test(times_of_the_clock),
		cmocka_unit_test(times_of_clocks_that_are_set),
		cmocka_unit_test(nearest_names),
		cmocka_unit_test(tables_are_sound),
		cmocka_unit_test(examples_parse),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
