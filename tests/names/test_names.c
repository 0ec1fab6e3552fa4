/* SPDX-License-Identifier: Apache-2.0 */
/* What processes and threads are called, from rows as a recorder writes them. */
#include "names/names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define must(e) assert_true((e) >= 0)

static void add_process(struct dims *d, int64_t id, int64_t pid, const char *argv, size_t len,
			const char *exe)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(batch_new(&b, TABLE_PROCESS));
	must(batch_add_row(b));
	must(batch_set(b, PROCESS_ID, 0, id));
	must(batch_set(b, PROCESS_PID, 0, pid));
	if (argv)
		must(batch_set_bytes(b, PROCESS_ARGV, 0, argv, len));
	must(batch_set_str(b, PROCESS_EXE, 0, exe));
	must(dims_apply(d, b));
}

static void add_thread(struct dims *d, int64_t id, int64_t task, int64_t tid, int64_t process,
		       int64_t since, const char *comm, const char *exe)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	must(batch_new(&b, TABLE_THREAD));
	must(batch_add_row(b));
	must(batch_set(b, THREAD_ID, 0, id));
	must(batch_set(b, THREAD_TASK, 0, task));
	must(batch_set(b, THREAD_TID, 0, tid));
	must(batch_set(b, THREAD_PROCESS_ID, 0, process));
	must(batch_set(b, THREAD_SINCE, 0, since));
	must(batch_set_str(b, THREAD_COMM, 0, comm));
	must(batch_set_str(b, THREAD_EXE, 0, exe));
	must(dims_apply(d, b));
}

static void assert_process(const struct dims *d, int64_t id, const char *want)
{
	_cleanup_buf_ struct buf b = {0};

	must(names_process(d, id, &b));
	assert_string_equal(buf_str(&b), want);
}

/* One process with one thread. `argv`: words with a NUL behind each but the last. */
#define assert_called(want, comm, argv, exe)                       \
	do {                                                       \
		_cleanup_(dims_freep) struct dims *d = NULL;       \
		must(dims_new(&d));                                \
		add_process(d, 0, 7, argv, sizeof(argv) - 1, exe); \
		add_thread(d, 0, 0, 7, 0, 100, comm, exe);         \
		assert_process(d, 0, want);                        \
	} while (0)

static void test_started_by(void **state)
{
	assert_called("sh 7", "sh", "sh\0-c\0true", "/usr/bin/dash");
	assert_called("gcc 7", "gcc", "gcc\0x.c", "/usr/bin/x86_64-linux-gnu-gcc-12");
	assert_called("redis-server 7", "redis-server",
		      "/usr/bin/redis-server\0--port\0"
		      "1",
		      "/usr/bin/redis-check-rdb");
	assert_called("build.sh 7", "build.sh", "/bin/sh\0-e\0./build.sh\0all", "/usr/bin/dash");
	assert_called("bash 7", "bash", "-bash", "/usr/bin/bash");
}

static void test_completed(void **state)
{
	assert_called("redis-benchmark 7", "redis-benchmark",
		      "redis-benchmark\0-n\0"
		      "1",
		      "/usr/bin/redis-benchmark");
	assert_called("systemd-timesyncd 7", "systemd-timesyn", "/lib/systemd/systemd-timesyncd",
		      "/usr/lib/systemd/systemd-timesyncd");
	assert_called("compile-everything.sh 7", "compile-everyth",
		      "/bin/sh\0./compile-everything.sh", "/usr/bin/dash");
}

static void test_titles(void **state)
{
	assert_called("postgres 7", "postgres", "postgres: checkpointer",
		      "/usr/lib/postgresql/15/bin/postgres");
	assert_called("redis-server 7", "redis-server", "redis-server *:6379",
		      "/usr/bin/redis-check-rdb");
	assert_called("redis-server 7", "redis-server", "../redis-server unixsocket:/run/r.sock",
		      "/usr/bin/redis-check-rdb");
	assert_called("sshd 7", "sshd", "sshd: root@pts/0", "/usr/sbin/sshd");
	/* it was running already when the recording began */
	assert_called("node 7", "MainThread", "node\0app.js", "/usr/bin/node");
}

/* Between fork and exec the process is its parent's program; names that it gives itself are its thread's. */
static void test_versions(void **state)
{
	_cleanup_(dims_freep) struct dims *d = NULL;
	_cleanup_buf_ struct buf b = {0};

	must(dims_new(&d));
	add_process(d, 0, 7, "sh\0-c\0python3 x", 15, "/usr/bin/dash");
	add_thread(d, 0, 0, 7, 0, 100, "sh", "/usr/bin/dash");
	assert_process(d, 0, "sh 7");
	add_process(d, 0, 7, "python3\0x", 9, "/usr/bin/python3.11");
	add_thread(d, 1, 0, 7, 0, 200, "python3", "/usr/bin/python3.11");
	assert_process(d, 0, "python3 7");
	add_thread(d, 2, 0, 7, 0, 300, "collector", "/usr/bin/python3.11");
	add_thread(d, 3, 3, 8, 0, 310, "worker", "/usr/bin/python3.11");
	assert_process(d, 0, "python3 7");
	must(names_thread(d, 0, &b));
	assert_string_equal(buf_str(&b), "collector 7");
	assert_int_equal(names_task(d, 2), 0);
	assert_int_equal(names_pid(d, 3), 7);
}

/* One file with many programs in it: the first thread's name says which one runs. */
static void test_one_file_of_many(void **state)
{
	_cleanup_(dims_freep) struct dims *d = NULL;

	must(dims_new(&d));
	add_thread(d, 0, 0, 7, 0, 100, "sh", "/bin/busybox");
	add_thread(d, 1, 0, 7, 0, 200, "ls", "/bin/busybox");
	add_process(d, 0, 7, "ls\0-l", 5, "/bin/busybox");
	assert_process(d, 0, "ls 7");
}

static void test_little_known(void **state)
{
	_cleanup_(dims_freep) struct dims *d = NULL;

	must(dims_new(&d));
	assert_process(d, 3, "process ?3");
	add_process(d, 0, 7, NULL, 0, "/usr/bin/dash");
	assert_process(d, 0, "dash 7"); /* none of its threads is known */
	add_thread(d, 0, 0, 7, 0, 100, "sh", "/usr/bin/dash");
	assert_process(d, 0, "sh 7"); /* recorded without arguments */
	assert_int_equal(names_process_of(d, 12), -1);
	assert_int_equal(names_pid(d, -1), -1);
}

#define COMPILERS 3000

/* "cc" and as many arguments as a recorder keeps, of which the last is the process's own. */
static size_t put_compiler(char argv[static 4096], int number)
{
	size_t len = 3;

	memcpy(argv, "cc", 3);
	while (len < 4000) {
		memcpy(argv + len, "x", 2);
		len += 2;
	}
	return len + (size_t)snprintf(argv + len, 4096 - len, "%d.c", number);
}

/* The first argument that differs, also of many processes with many arguments. */
static void test_apart(void **state)
{
	static int64_t ids[COMPILERS + 2];
	_cleanup_(dims_freep) struct dims *d = NULL;
	_cleanup_free_ struct bytes *apart = NULL;

	must(dims_new(&d));
	for (int i = 0; i < COMPILERS; i++) {
		char argv[4096];
		size_t len = put_compiler(argv, i);

		add_process(d, i, 100 + i, argv, len, "/usr/bin/gcc");
		ids[i] = i;
	}
	add_process(d, COMPILERS, 9, "ld\0a.o", 6, "/usr/bin/ld");
	ids[COMPILERS] = COMPILERS;
	ids[COMPILERS + 1] = -1;
	must(names_apart(d, ids, COMPILERS + 2, &apart));
	for (int i = 0; i < COMPILERS; i++) {
		char want[16];

		assert_int_equal(apart[i].len, snprintf(want, sizeof(want), "%d.c", i));
		assert_memory_equal(apart[i].data, want, apart[i].len);
	}
	assert_null(apart[COMPILERS].data); /* no other has its name */
	assert_null(apart[COMPILERS + 1].data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_started_by),
		cmocka_unit_test(test_completed),
		cmocka_unit_test(test_titles),
		cmocka_unit_test(test_versions),
		cmocka_unit_test(test_one_file_of_many),
		cmocka_unit_test(test_little_known),
		cmocka_unit_test(test_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
