/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls the kernel programs record: every kind of selection, against a child that makes known calls. */
#include "session.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"

#define READS 100

static int reads(void *arg)
{
	int fd = open(arg ? arg : "/etc/passwd", O_RDONLY);
	char buf[16];

	for (int i = 0; i < READS; i++) {
		if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
			return 1;
	}
	open("/nonexistent/file", O_RDONLY);
	return 0;
}

static int named_reads(void *arg)
{
	prctl(PR_SET_NAME, arg);
	return reads(NULL);
}

static int user_reads(void *arg)
{
	return setuid(*(uid_t *)arg) ? 1 : reads(NULL);
}

static int tree(void *arg)
{
	int pid = fork(), status;

	if (!pid)
		_exit(reads(NULL));
	return waitpid(pid, &status, 0) == pid ? reads(NULL) : 1;
}

static void join(int pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Records one child under a selection that `fill` completes; two more children do the same unselected. */
static void record(struct session *s, struct select *select, int (*work)(void *), void *arg,
		   bool by_pid, int *ret_pid)
{
	int pid = session_child(s, work, arg), other = session_child(s, reads, NULL);

	if (by_pid)
		select->pids[select->pid_count++] = pid;
	session_start(s, select, (struct ebpf_options){0});
	session_go(s, 2);
	join(pid);
	join(other);
	session_end(s);
	assert_int_equal(s->stats.lost, 0);
	assert_true(s->stats.sequence_proved);
	*ret_pid = pid;
}

static void test_pid(void **state)
{
	struct session s = {0};
	struct select select = {0};
	size_t row;
	int pid;

	record(&s, &select, reads, NULL, true, &pid);
	assert_int_equal(session_count(&s, "pread64", pid, &row), READS);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READS);
	assert_string_equal(session_path(&s, row, OP_FILE_ID), "/etc/passwd");
	assert_int_equal(session_op(&s, row, OP_POS), 0);
	assert_int_equal(session_op(&s, row, OP_SIZE), 16);
	assert_int_equal(session_op(&s, row, OP_RET), 16);
	assert_int_equal(session_count(&s, "exit_group", pid, &row), 1);
	assert_true(session_op(&s, row, OP_STATUS) & STATUS_NORETURN);
	assert_true(ebpf_source_targets_gone(s.source));
	session_free(&s);
}

static void test_tree(void **state)
{
	struct session s = {0};
	struct select select = {.follow = true};
	int pid;

	record(&s, &select, tree, NULL, true, &pid);
	assert_int_equal(session_count(&s, "pread64", pid, NULL), READS);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), 2 * READS);
	session_free(&s);
}

static void test_not_tree(void **state)
{
	struct session s = {0};
	struct select select = {0};
	int pid;

	record(&s, &select, tree, NULL, true, &pid);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READS);
	session_free(&s);
}

static void test_comm(void **state)
{
	struct session s = {0};
	struct select select = {.comms = {"weir-by-name"}, .comm_count = 1};
	int pid;

	record(&s, &select, named_reads, (void *)"weir-by-name", false, &pid);
	assert_int_equal(session_count(&s, "pread64", pid, NULL), READS);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READS);
	session_free(&s);
}

/* Comes into the selection by its name, leaves it and comes back; so does its child, by execve. */
static int comes_back(void *arg)
{
	char *argv[] = {arg, NULL};
	int pid, status;

	for (int i = 0; i < 3; i++) {
		prctl(PR_SET_NAME, "weir-by-name");
		prctl(PR_SET_NAME, "weir-other");
	}
	pid = fork();
	if (!pid) {
		execve(arg, argv, argv + 1);
		_exit(1);
	}
	return waitpid(pid, &status, 0) == pid ? status : 1;
}

/* The call that brings a thread into the selection is recorded, without its start: nobody denied it. */
static void test_comes_back(void **state)
{
	struct session s = {0};
	struct select select = {.comms = {"weir-by-name"}, .comm_count = 2};
	char path[64];
	size_t row = 0;
	int pid;

	/* a name of its own: others may run at the same time */
	snprintf(select.comms[1], sizeof(select.comms[1]), "wx-%d", getpid());
	snprintf(path, sizeof(path), "/tmp/%s", select.comms[1]);
	assert_int_equal(symlink("/bin/true", path), 0);
	record(&s, &select, comes_back, path, false, &pid);
	unlink(path);
	assert_int_equal(session_count(&s, "prctl", pid, NULL), 6);
	assert_int_equal(session_count(&s, "execve", 0, &row), 1);
	assert_true(session_op(&s, row, OP_STATUS) & STATUS_NO_START);
	for (size_t i = 0; i < s.rows.tables[TABLE_OP]->rows; i++)
		assert_false(MAX(session_op(&s, i, OP_STATUS), 0) & STATUS_DENIED);
	session_free(&s);
}

/* How long that call took is not known: who asks for long ones does not get it. */
static void test_comes_back_slow(void **state)
{
	struct session s = {0};
	struct select select = {
		.comms = {"weir-by-name"}, .comm_count = 1, .min_dur_ns = 10000000000};
	int pid;

	record(&s, &select, comes_back, (void *)"/bin/true", false, &pid);
	assert_int_equal(session_count(&s, "prctl", pid, NULL), 0);
	session_free(&s);
}

/* Leaves the selection by an execve, and comes back as what it became renames itself. */
static int leaves(void *arg)
{
	char text[] = "printf weir-by-name >/proc/$$/comm; kill -0 $$; :";
	char *argv[] = {"sh", "-c", text, NULL};

	prctl(PR_SET_NAME, "weir-by-name");
	execv("/bin/sh", argv);
	return 1;
}

/* The call by which a thread leaves is a row of its own, and no other call is taken for its end. */
static void test_leaves(void **state)
{
	struct session s = {0};
	struct select select = {.comms = {"weir-by-name"}, .comm_count = 1};
	char shell[PATH_MAX];
	size_t row = 0;
	int pid;

	assert_non_null(realpath("/bin/sh", shell));
	record(&s, &select, leaves, NULL, false, &pid);
	assert_int_equal(session_count(&s, "execve", pid, &row), 1);
	assert_string_equal(session_path(&s, row, OP_FILE_ID), shell);
	assert_int_equal(session_count(&s, "kill", pid, NULL), 1);
	session_free(&s);
}

static void test_uid(void **state)
{
	struct session s = {0};
	struct select select = {.uids = {54321}, .uid_count = 1};
	uid_t uid = 54321;
	int pid;

	record(&s, &select, user_reads, &uid, false, &pid);
	assert_int_equal(session_count(&s, "pread64", pid, NULL), READS);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READS);
	session_free(&s);
}

static void test_ops(void **state)
{
	struct session s = {0};
	struct select select = {0};
	struct error err = {0};
	int pid;

	assert_int_equal(select_ops(&select, "openat", &err), 0);
	record(&s, &select, reads, NULL, true, &pid);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), 0);
	assert_int_equal(session_count(&s, "openat", pid, NULL), 2);
	assert_int_equal(s.rows.tables[TABLE_OP]->rows, 2);
	session_free(&s);
}

static void test_failed(void **state)
{
	struct session s = {0};
	struct select select = {.failed_only = true};
	size_t row;
	int pid;

	record(&s, &select, reads, NULL, true, &pid);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), 0);
	assert_int_equal(session_count(&s, "openat", pid, &row), 1);
	assert_int_equal(session_op(&s, row, OP_RET), -ENOENT);
	assert_string_equal(session_path(&s, row, OP_FILE_ID), "/nonexistent/file");
	assert_true(s.stats.filtered >= READS);
	session_free(&s);
}

static void test_path(void **state)
{
	struct session s = {0};
	struct select select = {0};
	struct error err = {0};
	int pid;

	assert_int_equal(select_path_add(&select, "/nonexistent", &err), 0);
	record(&s, &select, reads, NULL, true, &pid);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), 0);
	assert_int_equal(session_count(&s, "openat", pid, NULL), 1);
	session_free(&s);
	select_free(&select);
	select = (struct select){0};
	assert_int_equal(select_path_add(&select, "/etc/pass*", &err), 0);
	record(&s, &select, reads, NULL, true, &pid);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READS);
	assert_int_equal(session_count(&s, "openat", pid, NULL), 1);
	session_free(&s);
	select_free(&select);
}

static int sleeps(void *arg)
{
	struct timespec ts = {0, 20000000};

	reads(NULL);
	return syscall(SYS_nanosleep, &ts, NULL);
}

/* Until the child has nothing to do but wait at the gate. */
static void wait_blocked(int pid)
{
	char path[64], line[64] = "";

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	while (strncmp(line, "0 ", 2)) { /* read */
		int fd = open(path, O_RDONLY);
		ssize_t n = read(fd, line, sizeof(line) - 1);

		line[n > 0 ? n : 0] = 0;
		close(fd);
		usleep(1000);
	}
}

static void test_slow(void **state)
{
	struct session s = {0};
	struct select select = {.min_dur_ns = 15000000, .pid_count = 1};
	int pid = session_child(&s, sleeps, NULL);
	size_t row, rows;

	wait_blocked(pid);
	select.pids[0] = pid;
	session_start(&s, &select, (struct ebpf_options){0});
	usleep(20000);
	session_go(&s, 1);
	join(pid);
	session_end(&s);
	assert_int_equal(s.stats.lost, 0);
	assert_true(s.stats.sequence_proved);
	assert_int_equal(session_count(&s, "nanosleep", pid, &row), 1);
	assert_true(session_op(&s, row, OP_DUR) >= 20000000);
	/* It lasted that long from when the recording began. */
	assert_int_equal(session_count(&s, "read", pid, &row), 1);
	assert_true(session_op(&s, row, OP_STATUS) & STATUS_NO_START);
	/* Any call takes long where a CPU is to be waited for: each is either long or left out. (ThreadSanitizer has a
	 * thread in the child that sleeps.) */
	rows = s.rows.tables[TABLE_OP]->rows;
	for (size_t i = 0; i < rows; i++) {
		if (i != row && session_op(&s, i, OP_TID) == pid)
			assert_true(session_op(&s, i, OP_DUR) >= 15000000);
	}
	assert_true(rows + s.stats.filtered >= READS + 2);
	session_free(&s);
}

/* A folder of a control group, v2 or a hierarchy of v1; false where none can be made. */
static bool cgroup_make(char *buf, size_t size)
{
	static const char *const roots[] = {"/sys/fs/cgroup/pids", "/sys/fs/cgroup",
					    "/sys/fs/cgroup/unified"};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		char procs[128];

		snprintf(procs, sizeof(procs), "%s/cgroup.procs", roots[i]);
		snprintf(buf, size, "%s/weir-test-%d", roots[i], getpid());
		if (access(procs, W_OK) == 0 && mkdir(buf, 0755) == 0)
			return true;
	}
	return false;
}

static int joins_and_reads(void *arg)
{
	char procs[256];
	int fd;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", (char *)arg);
	fd = open(procs, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return 1;
	close(fd);
	return reads(NULL);
}

static void test_cgroup(void **state)
{
	struct session s = {0};
	struct select select = {.cgroup_count = 1};
	char path[128];
	int pid;

	if (!cgroup_make(path, sizeof(path)))
		skip();
	select.cgroups[0] = path;
	record(&s, &select, joins_and_reads, path, false, &pid);
	rmdir(path);
	assert_int_equal(session_count(&s, "pread64", pid, NULL), READS);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READS);
	session_free(&s);
}

static int blocks(void *arg)
{
	char c;

	return read(*(int *)arg, &c, 1) == 1 ? 0 : 1;
}

static int blocks_twice(void *arg)
{
	return blocks(arg) || blocks((int *)arg + 2);
}

/* Returns when the process is in a read of this descriptor. */
static void wait_for_read(int pid, int fd)
{
	char path[64], text[256], want[32];
	size_t n;

	snprintf(path, sizeof(path), "/proc/%d/syscall", pid);
	n = snprintf(want, sizeof(want), "%d 0x%x ", SYS_read, fd);
	for (int i = 0; i < 6000; i++) {
		int from = open(path, O_RDONLY | O_CLOEXEC);
		ssize_t len = from < 0 ? -1 : read(from, text, sizeof(text));

		if (from >= 0)
			close(from);
		if (len > (ssize_t)n && !memcmp(text, want, n))
			return;
		usleep(10000);
	}
	fail_msg("process %d is not in a read of descriptor %d", pid, fd);
}

/* A call that was entered before recording starts and ends later; then one that has not ended at the stop. */
static void test_running(void **state)
{
	struct session s = {0};
	struct select select = {0};
	int pipes[4], pid;
	size_t row = 0, reads_seen;

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	pid = session_child(&s, blocks_twice, pipes);
	session_go(&s, 1);
	wait_for_read(pid, pipes[0]);
	select.pids[select.pid_count++] = pid;
	session_start(&s, &select, (struct ebpf_options){0});
	assert_int_equal(write(pipes[1], "x", 1), 1);
	wait_for_read(pid, pipes[2]);
	usleep(50000);
	session_end(&s);
	assert_int_equal(write(pipes[3], "x", 1), 1);
	join(pid);
	reads_seen = session_count(&s, "read", pid, &row);
	assert_int_equal(reads_seen, 2);
	assert_true(session_op(&s, row, OP_STATUS) & STATUS_UNFINISHED);
	assert_int_equal(session_op(&s, row, OP_RET), INT64_MIN);
	assert_true(session_op(&s, row, OP_DUR) >= 50000000);
	/* a sanitizer may call between the two */
	do
		row--;
	while (session_op(&s, row, OP_OP) != op_find("read"));
	assert_true(session_op(&s, row, OP_STATUS) & STATUS_NO_START);
	assert_int_equal(session_op(&s, row, OP_RET), 1);
	assert_int_equal(session_op(&s, row, OP_START), INT64_MIN);
	session_free(&s);
}

/* A call that began before recording and has not ended at the stop: nothing of its thread was ever seen. */
static void test_never_seen(void **state)
{
	struct session s = {0};
	struct select select = {0};
	int pipes[2], pid;
	size_t row = 0;

	assert_int_equal(pipe(pipes), 0);
	pid = session_child(&s, blocks, pipes);
	session_go(&s, 1);
	wait_for_read(pid, pipes[0]);
	select.pids[select.pid_count++] = pid;
	session_start(&s, &select, (struct ebpf_options){0});
	session_end(&s);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	join(pid);
	assert_int_equal(session_count(&s, "read", pid, &row), 1);
	assert_int_equal(session_op(&s, row, OP_STATUS) & (STATUS_UNFINISHED | STATUS_NO_START),
			 STATUS_UNFINISHED | STATUS_NO_START);
	assert_int_equal(session_op(&s, row, OP_RET), INT64_MIN);
	assert_int_equal(session_op(&s, row, OP_FD), pipes[0]);
	assert_int_equal(strncmp(session_path(&s, row, OP_FILE_ID), "pipe:[", 6), 0);
	session_check_child(&s, pid);
	session_free(&s);
}

#define TIMES (1 << 20)

/* What a child that reads all the time knows of its calls: when it was about to make one, and back. */
struct read_times {
	_Atomic uint32_t count;
	struct {
		int64_t before, after; /* after 0: not yet */
	} call[TIMES];
};

static int reads_for_ever(void *arg)
{
	struct read_times *t = arg;
	int fd = open("/dev/zero", O_RDONLY);
	char c;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;; t->count++) {
		uint32_t i = t->count % TIMES;

		t->call[i].after = 0;
		t->call[i].before = clock_monotonic_ns();
		if (read(fd, &c, 1) != 1)
			return 1;
		t->call[i].after = clock_monotonic_ns();
	}
}

/* Whether the child says that a call which began at `start` had come back by `end`. */
static bool had_ended(const struct read_times *t, int64_t start, int64_t end)
{
	for (uint32_t i = 0; i < TIMES; i++) {
		if (t->call[i].before <= start && t->call[i].after >= start)
			return t->call[i].after < end;
	}
	return false;
}

/* Of a program that never waits, no call that ended is told to be running at the stop. */
static void test_not_running(void **state)
{
	struct read_times *t =
		mmap(NULL, sizeof(*t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct session gate = {0};
	int pid, status;

	assert_ptr_not_equal(t, MAP_FAILED);
	pid = session_child(&gate, reads_for_ever, t);
	session_go(&gate, 1);
	for (int round = 0; round < 5; round++) {
		struct session s = {0};
		struct select select = {.pids = {pid}, .pid_count = 1};
		int64_t offset;

		session_start(&s, &select, (struct ebpf_options){0});
		while (session_count(&s, "read", pid, NULL) < READS)
			session_read(&s, 20);
		assert_int_equal(source_stop(s.source, &(struct error){0}), 0);
		assert_int_equal(kill(pid, SIGSTOP), 0);
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		session_end(&s);
		offset = batch_get(s.rows.tables[TABLE_HOST], HOST_CLOCK_OFFSET, 0, 0);
		for (size_t i = 0; i < s.rows.tables[TABLE_OP]->rows; i++) {
			int64_t what = MAX(session_op(&s, i, OP_STATUS), 0),
				start = session_op(&s, i, OP_START) - offset;

			assert_false(what & STATUS_DENIED);
			/* of the thread that reads: ThreadSanitizer has one that sleeps */
			if (what & STATUS_UNFINISHED && session_op(&s, i, OP_TID) == pid &&
			    had_ended(t, start, start + session_op(&s, i, OP_DUR)))
				fail_msg("row %zu, operation %lld, was over by the stop", i,
					 (long long)session_op(&s, i, OP_OP));
		}
		session_free(&s);
		assert_int_equal(kill(pid, SIGCONT), 0);
	}
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	session_free(&gate);
	munmap(t, sizeof(*t));
}

/* Forks when it is told to; the child reads when it is told to. */
static int forks_when_told(void *arg)
{
	const int *pipes = arg;
	int pid, status;

	if (blocks(arg))
		return 1;
	pid = fork();
	if (!pid)
		_exit(write(pipes[3], "x", 1) == 1 && !blocks((int *)arg + 4) ? reads(NULL) : 1);
	return waitpid(pid, &status, 0) == pid ? status : 1;
}

/* A process that is forked after the selection was made and before the programs are attached. */
static void test_forked_at_start(void **state)
{
	struct session s = {0};
	struct select select = {.follow = true, .pid_count = 1};
	struct ebpf_options opt = {.select = &select};
	struct error err = {0};
	int pipes[6], pid;
	char c;

	for (int i = 0; i < 6; i += 2)
		assert_int_equal(pipe(pipes + i), 0);
	pid = select.pids[0] = session_child(&s, forks_when_told, pipes);
	session_go(&s, 1);
	assert_int_equal(ebpf_source_new(&s.source, &opt, &err), 0);
	assert_int_equal(write(pipes[1], "x", 1), 1);
	assert_int_equal(read(pipes[2], &c, 1), 1);
	assert_int_equal(source_start(s.source, &err), 0);
	assert_int_equal(write(pipes[5], "x", 1), 1);
	join(pid);
	session_end(&s);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READS);
	assert_true(ebpf_source_targets_gone(s.source));
	session_free(&s);
	for (int i = 0; i < 6; i++)
		close(pipes[i]);
}

/* Whoever ended meanwhile, waited for or not, is not waited for by the recording. */
static void test_ended_at_start(void **state)
{
	struct session s = {0};
	struct select select = {.pid_count = 1, .tid_count = 1};
	struct ebpf_options opt = {.select = &select};
	struct error err = {0};
	siginfo_t unused;
	int pid, thread;

	pid = select.pids[0] = session_child(&s, reads, NULL);
	thread = select.tids[0] = session_child(&s, reads, NULL);
	assert_int_equal(ebpf_source_new(&s.source, &opt, &err), 0);
	session_go(&s, 2);
	join(thread);
	assert_int_equal(waitid(P_PID, pid, &unused, WEXITED | WNOWAIT), 0);
	assert_int_equal(source_start(s.source, &err), 0);
	assert_true(ebpf_source_targets_gone(s.source));
	join(pid);
	session_end(&s);
	session_free(&s);
}

static int renames(void *arg)
{
	const char *dir = arg;
	char a[256], b[256], buf[4] = "abc";
	int fd;

	snprintf(a, sizeof(a), "%s/a", dir);
	snprintf(b, sizeof(b), "%s/b", dir);
	fd = open(a, O_RDWR | O_CREAT, 0600);
	if (write(fd, buf, 3) != 3 || rename(a, b) || pread(fd, buf, 3, 0) != 3 || unlink(b))
		return 1;
	return pwrite(fd, buf, 3, 3) == 3 ? 0 : 1;
}

/* The path follows a rename of the open file; the deletion is noted; all are one generation. */
static void test_rename(void **state)
{
	struct session s = {0};
	struct select select = {0};
	char dir[] = "/tmp/weir-test-XXXXXX", want[64];
	const struct batch *f;
	size_t first, second;
	bool deleted = false;
	int pid;

	assert_non_null(mkdtemp(dir));
	record(&s, &select, renames, dir, true, &pid);
	rmdir(dir);
	assert_int_equal(session_count(&s, "write", pid, &first), 1);
	assert_int_equal(session_count(&s, "pread64", pid, &second), 1);
	snprintf(want, sizeof(want), "%s/a", dir);
	assert_string_equal(session_path(&s, first, OP_FILE_ID), want);
	snprintf(want, sizeof(want), "%s/b", dir);
	assert_string_equal(session_path(&s, second, OP_FILE_ID), want);
	f = s.rows.tables[TABLE_FILE];
	for (size_t i = 0; i < f->rows; i++) {
		if (batch_get(f, FILE_ID, i, -1) == session_op(&s, second, OP_FILE_ID))
			deleted = !batch_is_null(f, FILE_DELETED, i);
	}
	assert_true(deleted);
	session_free(&s);
}

#define REUSES 5

static int recreates(void *arg)
{
	char x = 'x';

	for (int i = 0; i < REUSES; i++) {
		int fd = open(arg, O_WRONLY | O_CREAT | O_EXCL, 0600);

		if (fd < 0 || write(fd, &x, 1) != 1 || close(fd) || unlink(arg))
			return 1;
	}
	return 0;
}

/* The same name created again and again is each time another file, though the inode's number is used again. */
static void test_reuse(void **state)
{
	struct session s = {0};
	struct select select = {0};
	struct error err = {0};
	const struct batch *ops, *files;
	int64_t inodes[REUSES];
	char path[64];
	size_t n = 0;
	int pid;

	assert_int_equal(select_ops(&select, "write", &err), 0);
	snprintf(path, sizeof(path), "/tmp/weir-reuse-%d", getpid());
	record(&s, &select, recreates, path, true, &pid);
	ops = s.rows.tables[TABLE_OP];
	files = s.rows.tables[TABLE_FILE];
	assert_int_equal(ops->rows, REUSES);
	for (size_t i = 0; i < files->rows; i++) {
		if (n < REUSES && batch_get(files, FILE_ID, i, -1) == session_op(&s, n, OP_FILE_ID))
			inodes[n++] = batch_get(files, FILE_INODE, i, -1);
	}
	assert_int_equal(n, REUSES);
	for (size_t i = 1; i < n; i++)
		assert_int_not_equal(inodes[i], inodes[i - 1]);
	session_free(&s);
}

#define CHILDREN 6
#define ROOM	 4

/* So many children that read when all are there. */
static int many_children(void *arg)
{
	int status, gate[2];

	if (pipe(gate))
		return 1;
	for (int i = 0; i < CHILDREN; i++) {
		char c;

		if (fork())
			continue;
		close(gate[1]);
		_exit(read(gate[0], &c, 1) == 0 ? reads(NULL) : 1);
	}
	close(gate[1]);
	for (int i = 0; i < CHILDREN; i++) {
		if (wait(&status) < 0 || status)
			return 1;
	}
	return 0;
}

/* Children for which there is no room are told of, though nobody knows what they did. */
static void test_too_many(void **state)
{
	struct session s = {0};
	struct select select = {.follow = true, .pid_count = 1};
	const struct batch *l;
	size_t unknown = 0;

	select.pids[0] = session_child(&s, many_children, NULL);
	session_start(&s, &select, (struct ebpf_options){.processes_max = ROOM});
	session_go(&s, 1);
	join(select.pids[0]);
	session_end(&s);
	/* one place is the parent's */
	assert_int_equal(session_count(&s, "pread64", 0, NULL), (ROOM - 1) * READS);
	assert_int_equal(s.stats.unfollowed, CHILDREN - (ROOM - 1));
	assert_false(s.stats.sequence_proved);
	l = s.rows.tables[TABLE_LOSS];
	for (size_t i = 0; l && i < l->rows; i++)
		unknown += batch_get(l, LOSS_CAUSE, i, -1) == CAUSE_STORAGE_FULL &&
			   batch_is_null(l, LOSS_EVENTS, i);
	assert_int_equal(unknown > 0, true);
	session_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pid),
		cmocka_unit_test(test_tree),
		cmocka_unit_test(test_not_tree),
		cmocka_unit_test(test_comm),
		cmocka_unit_test(test_comes_back),
		cmocka_unit_test(test_comes_back_slow),
		cmocka_unit_test(test_leaves),
		cmocka_unit_test(test_uid),
		cmocka_unit_test(test_ops),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_path),
		cmocka_unit_test(test_slow),
		cmocka_unit_test(test_cgroup),
		cmocka_unit_test(test_running),
		cmocka_unit_test(test_never_seen),
		cmocka_unit_test(test_not_running),
		cmocka_unit_test(test_rename),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_forked_at_start),
		cmocka_unit_test(test_ended_at_start),
		cmocka_unit_test(test_too_many),
	};

	if (geteuid() != 0) {
		printf("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
