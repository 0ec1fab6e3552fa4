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
	static const char *const roots[] = {"/sys/fs/cgroup/unified", "/sys/fs/cgroup", "/sys/fs/cgroup/freezer"};

	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		snprintf(g->dir, sizeof(g->dir), "%s/weir-freeze-%d", roots[i], getpid());
		if (mkdir(g->dir, 0755))
			continue;
		g->fd = open(g->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		g->v1 = faccessat(g->fd, "cgroup.freeze", W_OK, 0) != 0;
		snprintf(g->state, sizeof(g->state), "%s/%s", g->dir, g->v1 ? "freezer.state" : "cgroup.events");
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
		bool is = fd >= 0 && read(fd, text, sizeof(text) - 1) > 0 && strstr(text, g->v1 ? "FROZEN" : "frozen 1");

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
	assert_int_equal(freezer_new(&f, g.fd, &err), 0);
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

		if (freezer_new(&f, g.fd, &err) == 0)
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
	int a = session_child(&s, many_reads, NULL), b = session_child(&s, many_reads, NULL), status;

	select.pids[select.pid_count++] = a;
	select.pids[select.pid_count++] = b;
	session_start(&s, &select, (struct ebpf_options){.freeze_cgroup_fd = -1, .lossless = true, .ring_bytes = 65536});
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
			for (size_t i = 0; set.tables[TABLE_OP] && i < set.tables[TABLE_OP]->rows; i++)
				reads += batch_get(set.tables[TABLE_OP], OP_OP, i, -1) == op_find("pread64");
		} while (r >= 0 && r != SOURCE_END);
		batch_set_free(&set);
		source_stats(s.source, &s.stats);
		assert_int_equal(s.stats.lost, 0);
		assert_true(s.stats.sequence_proved);
		assert_int_equal(reads, 600000);
	}
	session_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_killed),
		cmocka_unit_test(test_lossless),
	};

	if (geteuid() != 0) {
		printf("skipped: needs root\n");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
