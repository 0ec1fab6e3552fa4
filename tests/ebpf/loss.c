/* SPDX-License-Identifier: Apache-2.0 */
/* Forced loss: small rings, a small backlog and nobody who reads. What is missing is told exactly, and when. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>

#include "session.h"

#include "base/clock.h"
#include "capture/ebpf/ring/loss.h"

#define BURST	    60000
#define RING_MIN    65536
#define BACKLOG_MIN (2u << 20)
#ifdef __SANITIZE_THREAD__ /* has a thread in the child, whose calls may be lost too */
#	define OTHERS 100
#else
#	define OTHERS 0
#endif

static int bursts(void *arg)
{
	int fd = open("/dev/zero", O_RDONLY), gate = *(int *)arg;
	char c;

	for (int burst = 0; burst < 2; burst++) {
		if (read(gate, &c, 1) != 1)
			return 1;
		for (int i = 0; i < BURST; i++) {
			if (pread(fd, &c, 1, 0) != 1)
				return 1;
		}
	}
	/* Its end comes only when there is room again: what is lost are preads alone. */
	return read(gate, &c, 1) == 1 ? 0 : 1;
}

/* Events of the thread itself: whoever makes calls too fast is named. */
static int64_t loss_of_thread(const struct session *s, int tid)
{
	const struct batch *l = s->rows.tables[TABLE_LOSS], *t = s->rows.tables[TABLE_THREAD];
	int64_t sum = 0;

	for (size_t i = 0; i < l->rows; i++) {
		for (size_t k = 0; k < t->rows; k++) {
			if (batch_get(t, THREAD_TID, k, -1) != tid ||
			    batch_get(t, THREAD_ID, k, -1) != batch_get(l, LOSS_THREAD_ID, i, -2))
				continue;
			sum += batch_get(l, LOSS_EVENTS, i, 0);
			break;
		}
	}
	return sum;
}

/* Reads until all of a burst is there or counted, and longer than a window lasts. */
static void read_burst(struct session *s, size_t calls)
{
	int64_t until;

	do {
		session_read(s, 20);
		source_stats(s->source, &s->stats);
	} while (session_count(s, "pread64", 0, NULL) + s->stats.lost < calls);
	until = clock_monotonic_ns() + LOSS_WINDOW_NS + 200 * NSEC_PER_MSEC;
	while (clock_monotonic_ns() < until)
		session_read(s, 20);
}

/* Nobody reads until at least one event more was lost. */
static void wait_for_loss(struct session *s)
{
	uint64_t before;

	source_stats(s->source, &s->stats);
	before = s->stats.lost;
	for (int i = 0; i < 6000 && s->stats.lost == before; i++) {
		usleep(10000);
		source_stats(s->source, &s->stats);
	}
	assert_true(s->stats.lost > before);
}

/* The numbers of events say the same as the counters. */
static void check_numbers(const struct session *s)
{
	const struct event_count *cpus;
	size_t count = source_events(s->source, &cpus);
	uint64_t missing = 0;

	assert_true(count > 0);
	for (size_t i = 0; i < count; i++)
		missing += cpus[i].next - cpus[i].came;
	assert_int_equal(missing, s->stats.lost);
}

static void test_windows(void **state)
{
	struct session s = {.counting = true};
	struct select select = {0};
	const struct batch *l;
	int gate[2], pid, status;
	int64_t first = INT64_MAX, last = 0, t0 = clock_realtime_ns(), t1;

	assert_int_equal(pipe(gate), 0);
	pid = session_child(&s, bursts, gate);
	select.pids[select.pid_count++] = pid;
	session_start(&s, &select,
		      (struct ebpf_options){.ring_bytes = RING_MIN, .backlog_bytes = BACKLOG_MIN});
	session_go(&s, 1);
	for (int burst = 0; burst < 2; burst++) {
		assert_int_equal(write(gate[1], "x", 1), 1);
		wait_for_loss(&s);
		read_burst(&s, (burst + 1) * BURST);
	}
	assert_int_equal(write(gate[1], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	session_end(&s);
	t1 = clock_realtime_ns();
	assert_true(s.stats.lost > 0);
	assert_int_equal(session_loss(&s, CAUSE_RING_FULL), s.stats.lost);
	assert_in_range(session_count(&s, "pread64", 0, NULL) + s.stats.lost, 2 * BURST,
			2 * BURST + OTHERS);
	check_numbers(&s);
	/* An event whose share came a moment after its counter was looked at is nobody's. */
	assert_in_range(loss_of_thread(&s, pid), s.stats.lost - 20, s.stats.lost);
	l = s.rows.tables[TABLE_LOSS];
	for (size_t i = 0; i < l->rows; i++) {
		int64_t start = batch_get(l, LOSS_START, i, 0),
			stop = batch_get(l, LOSS_STOP, i, 0);

		assert_true(start >= t0 && start < stop && stop <= t1);
		first = MIN(first, stop);
		last = MAX(last, start);
	}
	assert_true(first <= last); /* the bursts lie in windows of their own */
	session_free(&s);
}

#define TASKS 4
#define ROUNDS \
	6000 /* of all tasks: more than is kept where nobody reads, fewer rows than a batch takes */
#define ROUND_OPS  7
#define ROUND_NAME "/dev/shm/weir-loss-%d-%d"

/* Shared by the test and its children. */
struct counted {
	int tasks;
	atomic_int next, ended;
	atomic_bool go, end;
	atomic_long calls;
};

static const char *const round_ops[ROUND_OPS] = {"prctl",    "openat", "fstat",	 "pwrite64",
						 "unlinkat", "close",  "connect"};

/* Every round has records of a thread, a file, a socket and a removed file beside those of its calls. */
static int rounds(void *arg)
{
	struct counted *c = arg;
	int number = atomic_fetch_add(&c->next, 1), sock = socket(AF_UNIX, SOCK_STREAM, 0);
	struct sockaddr_un nobody = {.sun_family = AF_UNIX, .sun_path = "/dev/shm/weir-loss-none"};
	char name[64], stat[256];

	prctl(PR_SET_PDEATHSIG, SIGKILL); /* it would run on where the test failed */
	atomic_fetch_add(&c->calls, 1);
	while (!c->go)
		;
	for (int i = 0; i < ROUNDS / c->tasks; i++) {
		int fd;

		snprintf(name, sizeof(name), ROUND_NAME, number, i);
		syscall(SYS_prctl, PR_SET_NAME, name + sizeof("/dev/shm/weir-"));
		fd = (int)syscall(SYS_openat, AT_FDCWD, name, O_RDWR | O_CREAT, 0600);
		if (fd < 0)
			return 1;
		syscall(SYS_fstat, fd, stat);
		syscall(SYS_pwrite64, fd, name, 8, 0);
		syscall(SYS_unlinkat, AT_FDCWD, name, 0);
		syscall(SYS_close, fd);
		syscall(SYS_connect, sock, &nobody, sizeof(nobody));
		atomic_fetch_add(&c->calls, ROUND_OPS);
	}
	atomic_fetch_add(&c->ended, 1);
	while (!c->end) /* no call until there is room again: what is lost are calls of rounds */
		;
	return 0;
}

static bool has_thread(const struct session *s, int64_t id)
{
	const struct batch *t = s->rows.tables[TABLE_THREAD];

	for (size_t i = t->rows; i-- > 0;) {
		if (batch_get(t, THREAD_ID, i, -1) == id)
			return true;
	}
	return false;
}

static uint64_t round_rows(const struct session *s)
{
	uint64_t sum = 0;

	for (int i = 0; i < ROUND_OPS; i++)
		sum += session_count(s, round_ops[i], 0, NULL);
	return sum;
}

/* Each row has its thread. Its file may be one whose record found no room, which is for others to see: not none. */
static void check_references(const struct session *s)
{
	const struct batch *b = s->rows.tables[TABLE_OP];

	for (size_t i = 0; i < b->rows; i++) {
		assert_true(has_thread(s, batch_get(b, OP_THREAD_ID, i, -1)));
		if (batch_get(b, OP_OP, i, -1) == op_find("pwrite64"))
			assert_false(batch_is_null(b, OP_FILE_ID, i));
	}
}

/* What is said to be lost are calls alone, each once, however often records of threads and files were tried. */
static void calls_alone(int tasks)
{
	struct session s = {0};
	struct select select = {0};
	struct counted *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status;

	assert_ptr_not_equal(c, MAP_FAILED);
	c->tasks = tasks;
	for (int i = 0; i < tasks; i++)
		select.pids[select.pid_count++] = session_child(&s, rounds, c);
	session_start(&s, &select,
		      (struct ebpf_options){.ring_bytes = RING_MIN, .backlog_bytes = BACKLOG_MIN});
	session_go(&s, tasks);
	while (c->next < tasks)
		usleep(1000);
	session_read(&s, 20);
	c->go = true;
	wait_for_loss(&s);
	while (c->ended < tasks)
		session_read(&s, 5);
	while (session_read(&s, 100) == SOURCE_ROWS)
		;
	c->end = true;
	for (int i = 0; i < tasks; i++) {
		assert_int_equal(waitpid(select.pids[i], &status, 0), select.pids[i]);
		assert_int_equal(status, 0);
	}
	session_end(&s);
	assert_true(s.stats.lost > 0);
	assert_int_equal(round_rows(&s) + s.stats.lost, c->calls);
	assert_int_equal(session_loss(&s, CAUSE_RING_FULL), s.stats.lost);
	check_numbers(&s);
	check_references(&s);
	session_free(&s);
	munmap(c, sizeof(*c));
}

static void test_calls_alone(void **state)
{
	calls_alone(1);
	calls_alone(TASKS);
}

static int waits(void *arg)
{
	const int *pipes = arg;
	char c;

	return write(pipes[1], "r", 1) == 1 && read(pipes[2], &c, 1) == 1 ? 0 : 1;
}

/* The calls that run at the stop cannot be read, for want of descriptors: that is told. */
static void unreadable(bool asks_proc)
{
	struct session s = {0};
	struct select select = {0};
	struct rlimit before, none;
	const struct batch *l;
	int pipes[4], pid, status, told = 0;
	char c;

	assert_int_equal(pipe(pipes), 0);
	assert_int_equal(pipe(pipes + 2), 0);
	pid = session_child(&s, waits, pipes);
	select.pids[select.pid_count++] = pid;
	select.failed_only = !asks_proc; /* no call that has not ended: /proc is left alone */
	session_start(&s, &select, (struct ebpf_options){0});
	session_go(&s, 1);
	assert_int_equal(read(pipes[0], &c, 1), 1);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
	none = (struct rlimit){.rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	session_end(&s);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
	assert_int_equal(write(pipes[3], "x", 1), 1);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(s.stats.running_error, -EMFILE);
	/* a row, which gives no number */
	l = s.rows.tables[TABLE_LOSS];
	for (size_t i = 0; l && i < l->rows; i++)
		told += batch_get(l, LOSS_CAUSE, i, -1) == CAUSE_RUNNING_UNREAD &&
			batch_is_null(l, LOSS_EVENTS, i);
	assert_int_equal(told, 1);
	session_free(&s);
}

static void test_running_unread(void **state)
{
	unreadable(true);
	unreadable(false);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows),
		cmocka_unit_test(test_calls_alone),
		cmocka_unit_test(test_running_unread),
	};

	if (geteuid() != 0) {
		print_message("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
