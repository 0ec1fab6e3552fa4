/* SPDX-License-Identifier: Apache-2.0 */
/* A session around a source made here: the command's start, status and signals, stop conditions,
 * marks, totals. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "base/clock.h"
#include "record/record.h"
#include "schema/ops.h"

/* Gives one call of the followed pid at each read, then what is left at the end. */
struct test_source {
	struct source base;
	int32_t pid;
	bool started, stopped, ended;
	uint64_t given, end_after; /* 0: only when stopped */
	int fail_start;
};

static int from_start(struct source *base, struct error *err)
{
	struct test_source *s = (struct test_source *)base;

	s->started = true;
	return s->fail_start ? error_set(err, s->fail_start, "refused") : 0;
}

static int put(struct batch_set *out, int32_t pid, const char *op, int64_t start)
{
	struct batch *b;
	size_t row;

	assert_int_equal(batch_set_table(out, TABLE_OP, &b), 0);
	row = (size_t)batch_add_row(b);
	assert_int_equal(batch_set(b, OP_START, row, start), 0);
	assert_int_equal(batch_set(b, OP_OP, row, op_find(op)), 0);
	assert_int_equal(batch_set(b, OP_TID, row, pid), 0);
	return batch_set(b, OP_RET, row, 0);
}

static int from_read(struct source *base, struct batch_set *out, int timeout_ms, struct error *err)
{
	struct test_source *s = (struct test_source *)base;

	assert_true(s->started && !s->ended);
	if (s->stopped || (s->end_after && s->given >= s->end_after)) {
		s->ended = true;
		return SOURCE_END;
	}
	usleep(1000);
	if (s->given == 0) /* the child's wait at the door: it began before it was let go */
		assert_int_equal(put(out, s->pid, "read", clock_realtime_ns() - NSEC_PER_SEC), 0);
	s->given++;
	assert_int_equal(put(out, s->pid, s->given == 1 ? "execve" : "write", clock_realtime_ns()),
			 0);
	return SOURCE_ROWS;
}

static int from_stop(struct source *base, struct error *err)
{
	((struct test_source *)base)->stopped = true;
	return 0;
}

static void from_stats(const struct source *base, struct source_stats *ret)
{
	*ret = (struct source_stats){.ops = ((const struct test_source *)base)->given};
}

static void from_free(struct source *base)
{
}

static const struct source_ops test_ops = {"test",    from_start, from_read,
					   from_stop, from_stats, from_free};

/* What the session gave out. */
struct taken {
	uint64_t ops, reads, execs;
	char marks[4096];
};

static int take(void *arg, const struct batch_set *rows, const struct dims *dims, struct error *err)
{
	struct taken *t = arg;
	const struct batch *op = rows->tables[TABLE_OP], *mark = rows->tables[TABLE_MARK];

	for (size_t i = 0; op && i < op->rows; i++) {
		t->ops++;
		t->reads += batch_get(op, OP_OP, i, -1) == op_find("read");
		t->execs += batch_get(op, OP_OP, i, -1) == op_find("execve");
	}
	for (size_t i = 0; mark && i < mark->rows; i++) {
		struct bytes name = batch_get_bytes(mark, MARK_NAME, i),
			     text = batch_get_bytes(mark, MARK_TEXT, i);
		size_t len = strlen(t->marks);

		snprintf(t->marks + len, sizeof(t->marks) - len, "%.*s=%.*s;", (int)name.len,
			 (const char *)name.data, (int)text.len, (const char *)text.data);
	}
	return 0;
}

struct fixture {
	struct test_source source;
	struct taken taken;
	struct record_sink sink;
	struct record_options opt;
	struct record_totals totals;
	struct record_command command;
	struct record_child child;
	struct error err;
};

static void prepare(struct fixture *f, char **argv)
{
	*f = (struct fixture){.source = {.base.ops = &test_ops}, .child = RECORD_CHILD_NONE};
	f->sink = (struct record_sink){take, &f->taken};
	f->opt.sinks = &f->sink;
	f->opt.sink_count = 1;
	if (!argv)
		return;
	f->command.argv = argv;
	if (record_child_new(&f->child, &f->command, &f->err) < 0)
		fail_msg("%s", f->err.message);
	f->opt.child = &f->child;
	f->source.pid = f->child.pid;
}

static int run(struct fixture *f)
{
	int r = record_run(&f->source.base, &f->opt, &f->totals, &f->err);

	record_child_free(&f->child);
	return r;
}

static void test_command(void **unused)
{
	struct fixture f;
	char *argv[] = {"sh", "-c", "sleep 0.05; exit 7", NULL};

	prepare(&f, argv);
	assert_int_equal(run(&f), 0);
	assert_true(f.totals.command_ended);
	assert_int_equal(WEXITSTATUS(f.totals.command_status), 7);
	assert_string_equal(f.totals.why_stopped, "the command ended");
	assert_int_equal(f.taken.reads,
			 0); /* what the child did before exec is not the command's */
	assert_int_equal(f.taken.execs, 1);
	assert_int_equal(f.taken.ops, f.source.given);
	assert_non_null(strstr(f.taken.marks, "weir.command=sh -c 'sleep 0.05; exit 7';"));
	assert_non_null(strstr(f.taken.marks, "weir.version=" WEIR_VERSION ";"));
	assert_non_null(strstr(f.taken.marks, "weir.stopped=the command ended;"));
	assert_non_null(strstr(f.taken.marks, "weir.cost=cpu_ns="));
	assert_true(f.source.ended);
}

static void test_no_argv(void **unused)
{
	struct fixture f;
	char *argv[] = {"true", "--password=secret", NULL};

	prepare(&f, argv);
	f.opt.no_argv = true;
	assert_int_equal(run(&f), 0);
	assert_non_null(strstr(f.taken.marks, "weir.command=true ...;"));
	assert_null(strstr(f.taken.marks, "secret"));
}

static int child_error(char **argv, struct error *err)
{
	struct record_child child = RECORD_CHILD_NONE;
	struct record_command cmd = {.argv = argv};
	int r = record_child_new(&child, &cmd, err);

	assert_true(r < 0);
	record_child_free(&child);
	return r;
}

static void test_missing_command(void **unused)
{
	char *missing[] = {"weir-no-such-command", NULL}, *folder[] = {"/tmp", NULL},
	     *plain[] = {"/etc/passwd", NULL};
	struct error a = {0}, b = {0}, c = {0};

	assert_int_equal(child_error(missing, &a), -ENOENT);
	assert_non_null(strstr(a.message, "weir-no-such-command"));
	assert_int_equal(child_error(folder, &b), -EISDIR);
	assert_int_equal(child_error(plain, &c), -EACCES);
}

/* A text that is executable but no program: exec fails after everything was set up. */
static void test_exec_fails(void **unused)
{
	char path[] = "/tmp/weir-test-XXXXXX", *argv[] = {path, NULL};
	struct fixture f;
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, "no program\n", 11), 11);
	assert_int_equal(fchmod(fd, 0755), 0);
	close(fd);
	prepare(&f, argv);
	assert_int_equal(run(&f), -ENOEXEC);
	unlink(path);
}

/* The source refuses: the command must not run. */
static void test_source_fails(void **unused)
{
	char marker[] = "/tmp/weir-test-XXXXXX", *argv[] = {"rm", marker, NULL};
	struct fixture f;
	int fd = mkstemp(marker);

	assert_true(fd >= 0);
	close(fd);
	prepare(&f, argv);
	f.source.fail_start = -EPERM;
	assert_int_equal(run(&f), -EPERM);
	assert_string_equal(f.err.message, "refused");
	assert_int_equal(access(marker, F_OK), 0);
	unlink(marker);
}

static void test_duration(void **unused)
{
	struct fixture f;
	int64_t start = clock_monotonic_ns(), took;

	prepare(&f, NULL);
	f.opt.duration_ns = 100 * NSEC_PER_MSEC;
	assert_int_equal(run(&f), 0);
	took = clock_monotonic_ns() - start;
	assert_string_equal(f.totals.why_stopped, "duration");
	assert_true(took >= 100 * NSEC_PER_MSEC);
}

static void test_source_ends(void **unused)
{
	struct fixture f;

	prepare(&f, NULL);
	f.source.end_after = 10;
	assert_int_equal(run(&f), 0);
	assert_string_equal(f.totals.why_stopped, "the source ended");
	assert_int_equal(f.totals.source.ops, 10);
}

static int stop_at_once(void *arg, const struct record_totals *totals)
{
	return 1;
}

static void test_tick_stops(void **unused)
{
	struct fixture f;

	prepare(&f, NULL);
	f.opt.tick = stop_at_once;
	assert_int_equal(run(&f), 0);
	assert_string_equal(f.totals.why_stopped, "asked to");
}

static bool gone(struct source *s)
{
	return ((struct test_source *)s)->given > 5;
}

static void test_targets_end(void **unused)
{
	struct fixture f;

	prepare(&f, NULL);
	f.opt.targets_gone = gone;
	f.opt.stop_with_targets = true;
	assert_int_equal(run(&f), 0);
	assert_string_equal(f.totals.why_stopped, "targets ended");
}

/* Signals: without a command a clean stop; with one they are passed on and recording goes on to its
 * end. */
static struct record_signals signals;

static int send_signal(void *arg, const struct record_totals *totals)
{
	if (signals.count < *(int *)arg) {
		signals.number = SIGTERM;
		signals.count++;
	}
	return 0;
}

static void test_interrupt(void **unused)
{
	struct fixture f;
	int count = 1;

	signals = (struct record_signals){0};
	prepare(&f, NULL);
	f.opt.signals = &signals;
	f.opt.tick = send_signal;
	f.opt.tick_arg = &count;
	assert_int_equal(run(&f), 0);
	assert_string_equal(f.totals.why_stopped, "interrupted");
}

static void test_signal_passed_on(void **unused)
{
	char *argv[] = {"sh", "-c", "trap 'kill $!; exit 9' TERM; sleep 30 & wait", NULL};
	struct fixture f;
	int count = 1;

	signals = (struct record_signals){0};
	prepare(&f, argv);
	f.opt.signals = &signals;
	f.opt.tick = send_signal;
	f.opt.tick_arg = &count;
	assert_int_equal(run(&f), 0);
	assert_string_equal(f.totals.why_stopped, "the command ended");
	assert_int_equal(WEXITSTATUS(f.totals.command_status), 9);
}

static void test_second_signal(void **unused)
{
	char *argv[] = {"sh", "-c", "trap '' TERM; sleep 2", NULL};
	struct fixture f;
	int count = 2;
	pid_t pid;

	signals = (struct record_signals){0};
	prepare(&f, argv);
	pid = f.child.pid;
	f.opt.signals = &signals;
	f.opt.tick = send_signal;
	f.opt.tick_arg = &count;
	assert_int_equal(run(&f), 0);
	assert_string_equal(f.totals.why_stopped, "interrupted");
	assert_false(f.totals.command_ended);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* The recorder goes away before the command was let go: it must not run. */
static void test_recorder_dies(void **unused)
{
	char marker[] = "/tmp/weir-test-XXXXXX", *argv[] = {"rm", marker, NULL};
	struct fixture f;
	int fd = mkstemp(marker);

	assert_true(fd >= 0);
	close(fd);
	prepare(&f, argv);
	record_child_free(&f.child);
	assert_int_equal(access(marker, F_OK), 0);
	unlink(marker);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_command),		 cmocka_unit_test(test_no_argv),
		cmocka_unit_test(test_missing_command),	 cmocka_unit_test(test_exec_fails),
		cmocka_unit_test(test_source_fails),	 cmocka_unit_test(test_duration),
		cmocka_unit_test(test_source_ends),	 cmocka_unit_test(test_tick_stops),
		cmocka_unit_test(test_targets_end),	 cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_signal_passed_on), cmocka_unit_test(test_second_signal),
		cmocka_unit_test(test_recorder_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
