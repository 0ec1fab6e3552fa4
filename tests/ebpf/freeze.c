/* SPDX-License-Identifier: Apache-2.0 */
/* A held program: frozen, counted, and thawed by the guardian when the recorder is killed at that instant. */
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "session.h"

#include "base/clock.h"
#include "capture/ebpf/freeze.h"

#define WAIT_STEPS 6000 /* of 10 ms, for what must happen on however slow a machine */

struct group {
	char dir[160];
	char state[192]; /* the file that says whether it is frozen */
	bool v1;
	int fd;
	int pid; /* a process in it that sleeps */
};

static bool group_make(struct group *g)
{
	static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup",
					    "/sys/fs/cgroup/freezer"};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		snprintf(g->dir, sizeof(g->dir), "%s/weir-freeze-%d", roots[i], getpid());
		if (mkdir(g->dir, 0755))
			continue;
		g->fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		g->v1 = faccessat(g->fd, "cgroup.freeze", W_OK, 0) != 0;
		snprintf(g->state, sizeof(g->state), "%s/%s", g->dir,
			 g->v1 ? "freezer.state" : "cgroup.events");
		if (!g->v1 || faccessat(g->fd, "freezer.state", W_OK, 0) == 0)
			return true;
		close(g->fd);
		rmdir(g->dir);
	}
	return false;
}

static int group_fill(struct group *g)
{
	char procs[192], text[16];
	int fd, n;

	g->pid = fork();
	if (!g->pid) {
		for (;;)
			pause();
	}
	snprintf(procs, sizeof(procs), "%s/cgroup.procs", g->dir);
	n = snprintf(text, sizeof(text), "%d", g->pid);
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = write(fd, text, n) == n ? 0 : -1;
	close(fd);
	return n;
}

static void group_remove(struct group *g)
{
	int status;

	kill(g->pid, SIGKILL);
	waitpid(g->pid, &status, 0);
	close(g->fd);
	for (int i = 0; i < 50 && rmdir(g->dir); i++)
		usleep(10000);
}

/* Whether it becomes frozen (or thawed) within a minute. */
static bool group_becomes(const struct group *g, bool frozen)
{
	for (int i = 0; i < WAIT_STEPS; i++) {
		char text[256] = "";
		int fd = open(g->state, O_RDONLY | O_CLOEXEC);
		bool is = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 &&
			  strstr(text, g->v1 ? "FROZEN" : "frozen 1");

		if (fd >= 0)
			close(fd);
		if (is == frozen)
			return true;
		usleep(10000);
	}
	return false;
}

static void test_hold(void **state)
{
	struct group g = {0};
	struct freezer *f;
	struct error err = {0};
	uint64_t held, limits;
	int64_t before;

	if (!group_make(&g))
		skip();
	assert_int_equal(group_fill(&g), 0);
	assert_int_equal(freezer_new(&f, g.fd, HOLD_LIMIT_NS, &err), 0);
	before = clock_monotonic_ns();
	freezer_hold(f);
	assert_true(freezer_held(f));
	assert_true(group_becomes(&g, true));
	usleep(20000);
	freezer_release(f);
	assert_true(group_becomes(&g, false));
	freezer_totals(f, &held, &limits);
	assert_true(held >= 20000000);
	assert_int_equal(limits, 0);
	assert_int_equal(freezer_overlap(f, before, clock_monotonic_ns()), held);
	assert_int_equal(freezer_overlap(f, 0, before), 0);
	freezer_free(f);
	group_remove(&g);
}

static void test_killed(void **state)
{
	struct group g = {0};
	int pid, status;

	if (!group_make(&g))
		skip();
	assert_int_equal(group_fill(&g), 0);
	pid = fork();
	if (!pid) {
		struct freezer *f;
		struct error err = {0};

		if (freezer_new(&f, g.fd, HOLD_LIMIT_NS, &err) == 0)
			freezer_hold(f);
		for (;;)
			pause();
	}
	assert_true(group_becomes(&g, true));
	kill(pid, SIGKILL);
	assert_true(group_becomes(&g, false));
	assert_int_equal(waitpid(pid, &status, 0), pid);
	group_remove(&g);
}

#define LOAD_READS 50000
#define READERS	   2
#define MANY_READS 300000
#define RING_SMALL \
	65536 /* less than a busy machine makes while the recorder's thread waits for a CPU */
#define RING_ENOUGH (4u << 20) /* under back-pressure it lasts for more than a second */
#define BACKLOG_MIN (2u << 20) /* 24,000 records of a pread */

struct load {
	struct group group;
	bool grouped; /* joins the group first */
	bool pinned;  /* stays on a CPU: the rings of others hold nothing of it */
	int reads;
	int done; /* a pipe: ends only when it is told to */
	int tell; /* its other end */
};

static int many_reads(void *arg)
{
	const struct load *l = arg;
	char procs[192], x;
	cpu_set_t one;
	int fd;

	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (l->pinned && sched_setaffinity(0, sizeof(one), &one))
		return 1;
	if (l->grouped) {
		snprintf(procs, sizeof(procs), "%s/cgroup.procs", l->group.dir);
		fd = open(procs, O_WRONLY);
		if (fd < 0 || write(fd, "0", 1) != 1)
			return 1;
		close(fd);
	}
	fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < l->reads; i++) {
		if (pread(fd, &x, 1, 0) != 1)
			return 1;
	}
	return read(l->done, &x, 1) == 1 ? 0 : 1;
}

/* Starts `count` loads and their recording. */
static void load_start(struct session *s, struct load *l, int count, struct ebpf_options opt,
		       int *ret_pids)
{
	/* static: borrowed by the source */
	static struct select select;
	int done[2];

	select = (struct select){0};
	assert_int_equal(pipe(done), 0);
	l->done = done[0];
	l->tell = done[1];
	for (int i = 0; i < count; i++) {
		ret_pids[i] = session_child(s, many_reads, l);
		select.pids[select.pid_count++] = ret_pids[i];
	}
	opt.lossless = true;
	opt.freeze_cgroup_fd = l->grouped ? l->group.fd : -1;
	session_start(s, &select, opt);
	session_go(s, count);
}

/* Reads until all have ended. */
static void load_end(struct session *s, struct load *l, int count, const int *pids)
{
	int status;

	for (int i = 0; i < count; i++)
		assert_int_equal(write(l->tell, "x", 1), 1);
	for (int i = 0; i < count; i++) {
		while (waitpid(pids[i], &status, WNOHANG) == 0)
			session_read(s, 10);
		assert_int_equal(status, 0);
	}
	session_end(s);
	close(l->tell);
	close(l->done);
	if (!l->grouped)
		return;
	close(l->group.fd);
	for (int i = 0; i < 50 && rmdir(l->group.dir); i++)
		usleep(10000);
}

/* Waits, without reading, until something was lost. */
static bool becomes_lossy(struct session *s)
{
	for (int i = 0; i < WAIT_STEPS && !s->stats.lost; i++) {
		usleep(10000);
		source_stats(s->source, &s->stats);
	}
	return s->stats.lost > 0;
}

/* The whole way: two readers of /dev/zero, and a recorder that comes late. Back-pressure and freezing: all is there. */
static void test_lossless(void **state)
{
	struct load l = {.grouped = true, .reads = MANY_READS};
	struct session s = {.counting = true};
	int pids[READERS];

	if (!group_make(&l.group))
		skip();
	load_start(&s, &l, READERS,
		   (struct ebpf_options){.ring_bytes = RING_ENOUGH, .backlog_bytes = BACKLOG_MIN},
		   pids);
	assert_true(group_becomes(&l.group, true));
	load_end(&s, &l, READERS, pids);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), READERS * MANY_READS);
	assert_int_equal(s.stats.lost, 0);
	assert_true(s.stats.sequence_proved);
	assert_true(s.stats.held_ns > 0);
	session_free(&s);
}

/* Back-pressure alone waits for a bounded time: what the rings then cannot take is counted. */
static void test_back_pressure(void **state)
{
	struct load l = {.reads = MANY_READS};
	struct session s = {.counting = true};
	int pids[READERS];
	size_t reads;

	load_start(&s, &l, READERS, (struct ebpf_options){.ring_bytes = RING_SMALL}, pids);
	load_end(&s, &l, READERS, pids);
	reads = session_count(&s, "pread64", 0, NULL);
	assert_true(reads <= READERS * MANY_READS);
	/* What else each makes may be lost as well: the start, two files, the pipe, the end. */
	assert_in_range(reads + s.stats.lost, READERS * MANY_READS, READERS * (MANY_READS + 10));
	assert_int_equal(session_loss(&s, CAUSE_RING_FULL), s.stats.lost);
	assert_int_equal(s.stats.sequence_proved, !s.stats.lost);
	session_free(&s);
}

/* Rings and backlog are nearly full: the program is frozen until somebody reads, and nothing is lost. */
static void test_load(void **state)
{
	struct load l = {.grouped = true, .reads = LOAD_READS};
	struct session s = {.counting = true};
	int pid;

	if (!group_make(&l.group))
		skip();
	load_start(&s, &l, 1,
		   (struct ebpf_options){.ring_bytes = RING_ENOUGH, .backlog_bytes = BACKLOG_MIN},
		   &pid);
	assert_true(group_becomes(&l.group, true));
	usleep(100000);
	load_end(&s, &l, 1, &pid);
	assert_int_equal(session_count(&s, "pread64", 0, NULL), LOAD_READS);
	assert_int_equal(s.stats.lost, 0);
	assert_true(s.stats.sequence_proved);
	assert_true(s.stats.held_ns >= 100000000);
	assert_int_equal(session_loss(&s, CAUSE_HOLD_LIMIT), 0);
	session_free(&s);
}

/* Nobody reads for longer than the limit: the program goes on, what is lost from then on is counted. */
static void test_limit(void **state)
{
	struct load l = {.grouped = true, .pinned = true, .reads = 2 * LOAD_READS};
	struct session s = {.counting = true};
	int pid;

	if (!group_make(&l.group))
		skip();
	load_start(&s, &l, 1,
		   (struct ebpf_options){.ring_bytes = RING_ENOUGH,
					 .backlog_bytes = BACKLOG_MIN,
					 .hold_limit_ns = NSEC_PER_SEC},
		   &pid);
	assert_true(group_becomes(&l.group, true));
	assert_true(group_becomes(&l.group, false));
	assert_true(becomes_lossy(&s)); /* it runs on into the full ring, still unread */
	load_end(&s, &l, 1, &pid);
	assert_true(session_loss(&s, CAUSE_HOLD_LIMIT) >= 1);
	assert_int_equal(session_loss(&s, CAUSE_RING_FULL), s.stats.lost);
	/* Beside preads: the pipe that is read last, that read, the exit and the thread's end. */
	assert_in_range(session_count(&s, "pread64", 0, NULL) + s.stats.lost, 2 * LOAD_READS,
			2 * LOAD_READS + 4);
	session_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hold),	 cmocka_unit_test(test_killed),
		cmocka_unit_test(test_lossless), cmocka_unit_test(test_back_pressure),
		cmocka_unit_test(test_load),	 cmocka_unit_test(test_limit),
	};

	if (geteuid() != 0) {
		printf("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
