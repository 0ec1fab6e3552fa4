/* SPDX-License-Identifier: Apache-2.0 */
/* A held program: frozen, counted, and thawed by the guardian when the recorder is killed at that instant. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "session.h"

#include "base/clock.h"
#include "capture/ebpf/freeze.h"

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

/* Whether it becomes frozen (or thawed) within two seconds. */
static bool group_becomes(const struct group *g, bool frozen)
{
	for (int i = 0; i < 200; i++) {
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

/* The whole way: two readers of /dev/zero against small rings and a recorder that is stopped for a while. */
static int many_reads(void *arg)
{
	int fd = open("/dev/zero", O_RDONLY);
	char c;

	for (int i = 0; i < 300000; i++) {
		if (pread(fd, &c, 1, 0) != 1)
			return 1;
	}
	return 0;
}

static void test_lossless(void **state)
{
	struct session s = {0};
	struct select select = {0};
	int a = session_child(&s, many_reads, NULL), b = session_child(&s, many_reads, NULL),
	    status;

	select.pids[select.pid_count++] = a;
	select.pids[select.pid_count++] = b;
	session_start(&s, &select,
		      (struct ebpf_options){
			      .freeze_cgroup_fd = -1, .lossless = true, .ring_bytes = 65536});
	session_go(&s, 2);
	assert_int_equal(waitpid(a, &status, 0), a);
	assert_int_equal(waitpid(b, &status, 0), b);
	{
		struct batch_set set = {0};
		struct error err = {0};
		uint64_t reads = 0;
		int r;

		assert_int_equal(source_stop(s.source, &err), 0);
		do {
			batch_set_clear(&set);
			r = source_read(s.source, &set, 100, &err);
			for (size_t i = 0; set.tables[TABLE_OP] && i < set.tables[TABLE_OP]->rows;
			     i++)
				reads += batch_get(set.tables[TABLE_OP], OP_OP, i, -1) ==
					 op_find("pread64");
		} while (r >= 0 && r != SOURCE_END);
		batch_set_free(&set);
		source_stats(s.source, &s.stats);
		assert_int_equal(s.stats.lost, 0);
		assert_true(s.stats.sequence_proved);
		assert_int_equal(reads, 600000);
	}
	session_free(&s);
}

#define LOAD_READS  50000
#define BACKLOG_MIN (2u << 20) /* 24,000 records of a pread */

/* Joins the group, reads, and ends only when it is told to. */
struct loaded_child {
	struct group group;
	int done;
};

static int joins_and_reads(void *arg)
{
	const struct loaded_child *c = arg;
	char procs[192], x;
	int fd;

	snprintf(procs, sizeof(procs), "%s/cgroup.procs", c->group.dir);
	fd = open(procs, O_WRONLY);
	if (fd < 0 || write(fd, "0", 1) != 1)
		return 1;
	close(fd);
	fd = open("/dev/zero", O_RDONLY);
	for (int i = 0; i < LOAD_READS; i++) {
		if (pread(fd, &x, 1, 0) != 1)
			return 1;
	}
	return read(c->done, &x, 1) == 1 ? 0 : 1;
}

/* A child whose calls nobody reads: is it frozen within two seconds? */
static bool freeze_by_load(struct session *s, struct loaded_child *c, int64_t limit_ns,
			   int *ret_pid, int *ret_done)
{
	/* static: borrowed by the source */
	static struct select select;
	int done[2];

	select = (struct select){0};
	assert_int_equal(pipe(done), 0);
	c->done = done[0];
	*ret_done = done[1];
	*ret_pid = session_child(s, joins_and_reads, c);
	c->group.pid = *ret_pid;
	select.pids[select.pid_count++] = *ret_pid;
	session_start(s, &select,
		      (struct ebpf_options){.freeze_cgroup_fd = c->group.fd,
					    .lossless = true,
					    .ring_bytes = 65536,
					    .backlog_bytes = BACKLOG_MIN,
					    .hold_limit_ns = limit_ns});
	session_go(s, 1);
	return group_becomes(&c->group, true);
}

static void end_load(struct session *s, struct loaded_child *c, int pid, int done)
{
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0)
		session_read(s, 10);
	assert_int_equal(status, 0);
	session_end(s);
	close(done);
	close(c->done);
	close(c->group.fd);
	for (int i = 0; i < 50 && rmdir(c->group.dir); i++)
		usleep(10000);
}

/* Rings and backlog are nearly full: the program is frozen until somebody reads, and nothing is lost. */
static void test_load(void **state)
{
	struct loaded_child c = {0};
	struct session s = {0};
	int pid, done;

	if (!group_make(&c.group))
		skip();
	assert_true(freeze_by_load(&s, &c, 0, &pid, &done));
	usleep(100000);
	assert_int_equal(write(done, "x", 1), 1);
	end_load(&s, &c, pid, done);
	assert_int_equal(session_count(&s, "pread64", pid, NULL), LOAD_READS);
	assert_int_equal(s.stats.lost, 0);
	assert_true(s.stats.sequence_proved);
	assert_true(s.stats.held_ns >= 100000000);
	assert_int_equal(session_loss(&s, CAUSE_HOLD_LIMIT), 0);
	session_free(&s);
}

/* Nobody reads for longer than the limit: the program goes on, what is lost from then on is counted. */
static void test_limit(void **state)
{
	struct loaded_child c = {0};
	struct session s = {0};
	int pid, done;

	if (!group_make(&c.group))
		skip();
	assert_true(freeze_by_load(&s, &c, 300000000, &pid, &done));
	assert_true(group_becomes(&c.group, false));
	usleep(3000000); /* it runs into the full rings, still unread */
	assert_int_equal(write(done, "x", 1), 1);
	end_load(&s, &c, pid, done);
	assert_true(session_loss(&s, CAUSE_HOLD_LIMIT) >= 1);
	assert_true(s.stats.lost > 0);
	assert_int_equal(session_loss(&s, CAUSE_RING_FULL), s.stats.lost);
	/* Beside preads: the pipe that is read last, that read, the exit and the thread's end. */
	assert_in_range(session_count(&s, "pread64", pid, NULL) + s.stats.lost, LOAD_READS,
			LOAD_READS + 4);
	session_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hold),	 cmocka_unit_test(test_killed),
		cmocka_unit_test(test_lossless), cmocka_unit_test(test_load),
		cmocka_unit_test(test_limit),
	};

	if (geteuid() != 0) {
		printf("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
