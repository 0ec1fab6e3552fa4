// SPDX-License-Identifier: Apache-2.0
/* Waits that are made here, call by call: which of them work waits with is known by construction. */
#include <errno.h>
#include <fcntl.h>

#include "feed.h"

#include "analysis/features/stall/stall.h"

#define MS	    1000000ll
#define WAIT_BITSET 137 /* FUTEX_WAIT_BITSET | FUTEX_PRIVATE_FLAG */
#define WAIT_FOR    128 /* FUTEX_WAIT | FUTEX_PRIVATE_FLAG */
#define SLEPT	    .status = STATUS_SLEPT

static struct feed feed;

static int setup(void **state)
{
	feed_init(&feed, &feature_stall);
	return 0;
}

static int teardown(void **state)
{
	feed_free(&feed);
	return 0;
}

static int64_t value(size_t row, unsigned int column)
{
	return batch_get(feed.rows, column, row, -1);
}

static bool is_what(size_t row, const char *what)
{
	struct bytes b = batch_get_bytes(feed.rows, STALL_WHAT, row);

	return b.len == strlen(what) && memcmp(b.data, what, b.len) == 0;
}

/* Sums of the rows of an operation with this word; row: the last of them. */
struct sums {
	int64_t rows, times, timeouts, time, paused;
	size_t row;
};

static struct sums sums(const char *what, const char *op)
{
	struct sums s = {0};

	for (size_t i = 0; i < feed.rows->rows; i++) {
		if (!is_what(i, what) || (op && value(i, STALL_OP) != op_find(op)))
			continue;
		s.rows++;
		s.times += value(i, STALL_TIMES);
		s.timeouts += value(i, STALL_TIMEOUTS);
		s.time += value(i, STALL_TIME);
		s.paused += value(i, STALL_PAUSED);
		s.row = i;
	}
	return s;
}

#define assert_stall(what, op, n, ns)                     \
	do {                                              \
		struct sums got = sums(what, op);         \
		if (got.times != (n) || got.time != (ns)) \
			feed_print(&feed);                \
		assert_int_equal(got.times, n);           \
		assert_int_equal(got.time, ns);           \
	} while (0)

#define wait_call(op, ns, ...) feed_call(&feed, op, .dur = (ns), SLEPT, .waits = true, __VA_ARGS__)

/* ---- waits for peers ---- */

/* A resolver whose server is dead: a socket for each query, and one row for the server. */
static void test_dead_server(void **state)
{
	size_t row;

	feed_datagrams(&feed, 99, NULL, "192.0.2.53:53");
	for (int i = 0; i < 6; i++) {
		feed_datagrams(&feed, 10 + i, "10.0.0.1:40000", NULL);
		feed_call(&feed, "sendto", .file = 10 + i, .fd = 3, .ret = 30, .bytes = 30,
			  .peer = 99);
		wait_call("poll", 500 * MS + i, .a1 = 1, .ret = 0);
		feed_call(&feed, "close", .file = 10 + i, .fd = 3);
	}
	feed_end(&feed, TABLE_STALL);
	assert_int_equal(feed.rows->rows, 1);
	assert_stall("work", "poll", 6, 3000 * MS + 15);
	row = sums("work", "poll").row;
	assert_int_equal(value(row, STALL_TIMEOUTS), 6);
	assert_int_equal(value(row, STALL_PEER_ID), 98);
	assert_int_equal(value(row, STALL_FILE_ID), 14);
	assert_int_equal(value(row, STALL_LONGEST), 500 * MS + 5);
	assert_in_range(value(row, STALL_TYPICAL), 500 * MS * 31 / 32, 500 * MS * 33 / 32);
	assert_in_range(value(row, STALL_PERIOD), 500 * MS * 31 / 32, 500 * MS * 33 / 32);
}

/* Metrics sent to nobody in particular are not waited for: the descriptor that poll found is a client's. */
static void test_sent_without_answer(void **state)
{
	feed_datagrams(&feed, 1, "10.0.0.1:40000", "10.0.0.9:8125");
	feed_file(&feed, 2, FILE_TYPE_SOCKET, "10.0.0.1:80", "10.0.0.2:50000", 0);
	for (int i = 0; i < 5; i++) {
		feed_call(&feed, "sendto", .file = 1, .fd = 3, .ret = 30, .bytes = 30);
		wait_call("poll", 40 * MS, .a1 = 1, .ret = 1);
		feed_call(&feed, "recvfrom", .file = 2, .fd = 4, .ret = 10, .bytes = 10);
		feed_call(&feed, "sendto", .file = 2, .fd = 4, .ret = 10, .bytes = 10);
	}
	feed_end(&feed, TABLE_STALL);
	assert_int_equal(feed.rows->rows, 1);
	assert_stall("idle", "poll", 5, 200 * MS);
}

/* A server of threads: waiting for clients is idle, for its own server and asleep with a request is work. */
static void test_server(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_SOCKET, "10.0.0.1:80", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_SOCKET, "10.0.0.1:40001", "10.0.0.9:5432", 0);
	feed_call(&feed, "connect", .file = 2, .fd = 4, .peer = 2);
	for (int i = 0; i < 10; i++) {
		feed_file(&feed, 20 + i, FILE_TYPE_SOCKET, "10.0.0.1:80", "10.0.0.2:50000", 0);
		wait_call("accept4", 7 * MS, .file = 1, .file2 = 20 + i, .fd = 3, .fd2 = 5,
			  .ret = 5);
		wait_call("recvfrom", 2 * MS, .file = 20 + i, .fd = 5, .ret = 80, .bytes = 80);
		feed_call(&feed, "sendto", .file = 2, .fd = 4, .ret = 50, .bytes = 50);
		wait_call("recvfrom", 30 * MS, .file = 2, .fd = 4, .ret = 50, .bytes = 50);
		wait_call("clock_nanosleep", 5 * MS, .ret = 0);
		wait_call("futex", 3 * MS, .a0 = 100, .a1 = WAIT_BITSET);
		feed_call(&feed, "sendto", .file = 20 + i, .fd = 5, .ret = 50, .bytes = 50);
		feed_call(&feed, "close", .file = 20 + i, .fd = 5);
		wait_call("clock_nanosleep", 1 * MS, .ret = 0);
	}
	feed_end(&feed, TABLE_STALL);
	assert_stall("idle", "accept4", 10, 70 * MS);
	assert_stall("idle", "recvfrom", 10, 20 * MS);
	assert_stall("work", "recvfrom", 10, 300 * MS);
	assert_int_equal(value(sums("work", "recvfrom").row, STALL_PEER_ID), 1);
	assert_stall("work", "clock_nanosleep", 10, 50 * MS);
	assert_stall("work", "futex", 10, 30 * MS);
	assert_stall("idle", "clock_nanosleep", 10, 10 * MS);
	assert_true(batch_is_null(feed.rows, STALL_FILE_ID, sums("idle", "recvfrom").row));
	assert_int_equal(feed.rows->rows, 6);
}

/* Go's runtime moves requests between threads: one that slept while another answered had none. */
static void test_moved_requests(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_SOCKET, "10.0.0.1:80", "10.0.0.2:50000", 0);
	for (uint32_t i = 0; i < 10; i++) {
		uint32_t answers = i < 6;

		feed_call(&feed, "read", .file = 1, .fd = 5, .ret = 80, .bytes = 80);
		if (answers)
			feed_call(&feed, "write", .task = 1, .file = 1, .fd = 5, .ret = 50,
				  .bytes = 50);
		wait_call("futex", 30 * MS, .a0 = 100, .a1 = WAIT_BITSET);
		if (!answers)
			feed_call(&feed, "write", .file = 1, .fd = 5, .ret = 50, .bytes = 50);
	}
	feed_end(&feed, TABLE_STALL);
	assert_stall("idle", "futex", 6, 180 * MS);
	assert_stall("work", "futex", 4, 120 * MS);
}

/* One epoll for clients and for a server of its own: the descriptor that is used next shows what it was for. */
static void test_event_loop(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_ANON, "anon_inode:[eventpoll]", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_SOCKET, "10.0.0.1:40001", "10.0.0.9:5432", 0);
	feed_file(&feed, 3, FILE_TYPE_SOCKET, "10.0.0.1:80", "10.0.0.2:50000", 0);
	for (int i = 0; i < 8; i++) {
		wait_call("epoll_wait", 9 * MS, .file = 1, .fd = 3, .ret = 1);
		feed_call(&feed, "recvfrom", .file = 3, .fd = 5, .ret = 80, .bytes = 80);
		feed_call(&feed, "recvfrom", .file = 3, .fd = 5, .err = EAGAIN);
		feed_call(&feed, "sendto", .file = 2, .fd = 4, .ret = 50, .bytes = 50);
		wait_call("epoll_wait", 4 * MS, .file = 1, .fd = 3, .ret = 1);
		feed_call(&feed, "recvfrom", .file = 2, .fd = 4, .ret = 50, .bytes = 50);
		feed_call(&feed, "sendto", .file = 3, .fd = 5, .ret = 50, .bytes = 50);
	}
	for (int i = 0; i < 20; i++) /* and a timer */
		wait_call("epoll_wait", 100 * MS, .file = 1, .fd = 3, .ret = 0);
	feed_end(&feed, TABLE_STALL);
	assert_stall("idle", "epoll_wait", 28, 8 * 9 * MS + 2000 * MS);
	assert_int_equal(sums("idle", "epoll_wait").timeouts, 20);
	assert_stall("work", "epoll_wait", 8, 32 * MS);
	assert_int_equal(value(sums("work", "epoll_wait").row, STALL_FILE_ID), 1);
	assert_int_equal(sums("retry", NULL).rows, 0);
}

/* An end of a socketpair() that the kernel named is no server's: after its answer, the thread waits for other threads. */
static void test_named_by_kernel(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_SOCKET, "unix:@fcf0b", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_PIPE, "pipe:[7]", NULL, 0);
	feed_file(&feed, 3, FILE_TYPE_SOCKET, "unix:@fcf0b1", NULL, 0);
	for (int i = 0; i < 5; i++) {
		feed_call(&feed, "sendmsg", .file = 1, .fd = 14, .ret = 16, .bytes = 16);
		feed_call(&feed, "read", .file = 1, .fd = 14, .ret = 12, .bytes = 12);
		wait_call("poll", 30 * MS, .a1 = 3, .ret = 1);
		feed_call(&feed, "read", .file = 2, .fd = 16, .ret = 1, .bytes = 1);
	}
	/* this name was chosen: it is a server's, and a request waits with the thread */
	feed_call(&feed, "read", .file = 3, .fd = 15, .ret = 12, .bytes = 12);
	wait_call("poll", 7 * MS, .a1 = 3, .ret = 1);
	feed_call(&feed, "read", .file = 2, .fd = 16, .ret = 1, .bytes = 1);
	feed_end(&feed, TABLE_STALL);
	assert_stall("idle", "poll", 5, 150 * MS);
	assert_stall("work", "poll", 1, 7 * MS);
}

/* A pipe by which a program wakes itself, as Go's runtime does, brings no answer; the pipe of a process that it started does. */
static void test_wakes_itself(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_ANON, "anon_inode:[eventpoll]", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_PIPE, "pipe:[7]", NULL, 0);
	feed_file(&feed, 3, FILE_TYPE_PIPE, "pipe:[8]", NULL, 0);
	for (int i = 0; i < 5; i++) {
		feed_call(&feed, "write", .file = 2, .fd = 5, .ret = 1, .bytes = 1);
		feed_ready(&feed, 0, 2, false);
		wait_call("epoll_pwait", 100 * MS, .file = 1, .fd = 3, .ret = 0);
	}
	for (int i = 0; i < 5; i++) {
		feed_call(&feed, "write", .file = 2, .fd = 5, .ret = 9, .bytes = 9);
		feed_call(&feed, "write", .task = 1, .process = 1, .file = 3, .fd = 6, .ret = 9,
			  .bytes = 9);
		feed_ready(&feed, 0, 3, true);
		wait_call("epoll_pwait", 7 * MS, .file = 1, .fd = 3, .ret = 1);
		feed_call(&feed, "read", .file = 3, .fd = 7, .ret = 9, .bytes = 9);
	}
	feed_end(&feed, TABLE_STALL);
	assert_stall("idle", "epoll_pwait", 5, 500 * MS);
	assert_stall("work", "epoll_pwait", 5, 35 * MS);
}

/* What a server sends by itself, long after the last answer, is not waited for; parts of an answer are. */
static void test_messages(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_SOCKET, "10.0.0.1:40001", "10.0.0.9:6379", 0);
	feed_call(&feed, "sendto", .file = 1, .fd = 3, .ret = 50, .bytes = 50);
	wait_call("recvfrom", 50 * MS, .file = 1, .fd = 3, .ret = 50, .bytes = 50);
	wait_call("recvfrom", 60 * MS, .file = 1, .fd = 3, .ret = 50, .bytes = 50);
	wait_call("recvfrom", 900 * MS, .file = 1, .fd = 3, .ret = 50, .bytes = 50);
	wait_call("recvfrom", 100 * MS, .file = 1, .fd = 3, .err = EAGAIN);
	feed_end(&feed, TABLE_STALL);
	assert_stall("work", "recvfrom", 2, 110 * MS);
	assert_stall("idle", "recvfrom", 2, 1000 * MS);
	assert_int_equal(sums("idle", "recvfrom").timeouts, 1);
}

/* What was ready is recorded: what the thread does next is no evidence then, and a time-out shows what it waited for. */
static void test_recorded(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_ANON, "anon_inode:[eventpoll]", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_SOCKET, "10.0.0.1:40001", "10.0.0.9:5432", 0);
	feed_file(&feed, 3, FILE_TYPE_SOCKET, "10.0.0.1:80", "10.0.0.2:50000", 0);
	feed_call(&feed, "recvfrom", .file = 3, .fd = 5, .ret = 80, .bytes = 80);
	feed_call(&feed, "sendto", .file = 2, .fd = 4, .ret = 50, .bytes = 50);
	for (int i = 0; i < 5; i++) { /* for a timer, with an answer missing */
		feed_ready(&feed, 0, 2, false);
		feed_ready(&feed, 0, 3, false);
		wait_call("epoll_wait", 100 * MS, .file = 1, .fd = 3, .ret = 0, .runq = 1000);
	}
	feed_ready(&feed, 0, 3, true);
	wait_call("epoll_wait", 7 * MS, .file = 1, .fd = 3, .ret = 1);
	feed_call(&feed, "recvfrom", .file = 2, .fd = 4, .err = EAGAIN);
	feed_ready(&feed, 0, 2, true);
	wait_call("epoll_wait", 5 * MS, .file = 1, .fd = 3, .ret = 1);
	feed_call(&feed, "recvfrom", .file = 3, .fd = 5, .err = EAGAIN);
	feed_call(&feed, "recvfrom", .file = 2, .fd = 4, .ret = 50, .bytes = 50);
	wait_call("poll", 3 * MS, .file = 2, .fd = 4, .a1 = 1, .ret = 0);
	feed_end(&feed, TABLE_STALL);
	assert_stall("work", "epoll_wait", 6, 505 * MS);
	assert_int_equal(value(sums("work", "epoll_wait").row, STALL_PEER_ID), 1);
	assert_int_equal(value(sums("work", "epoll_wait").row, STALL_RUNQ), 5000);
	assert_stall("idle", "epoll_wait", 1, 7 * MS);
	assert_true(batch_is_null(feed.rows, STALL_RUNQ, sums("idle", "epoll_wait").row));
	assert_stall("idle", "poll", 1, 3 * MS);
}

/* ---- locks ---- */

static void test_wakers(void **state)
{
	for (int i = 0; i < 9; i++)
		wait_call("futex", 2 * MS, .a0 = 0x1000, .a1 = WAIT_FOR, .a2 = 2,
			  .waker = i % 3 ? 5 : i + 10);
	feed_end(&feed, TABLE_STALL);
	assert_int_equal(value(0, STALL_WAKER_ID), 5);
}

static void test_locks(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/tmp/lock", NULL, 0);
	for (int i = 0; i < 4; i++) {
		wait_call("fcntl", 20 * MS, .file = 1, .fd = 3, .a1 = F_SETLKW);
		wait_call("flock", 10 * MS, .file = 1, .fd = 3, .flags = 2);
		wait_call("futex", 2 * MS, .a0 = 0x1000, .a1 = WAIT_FOR, .a2 = 2);
		wait_call("futex", 3 * MS, .a0 = 0x2000, .a1 = WAIT_FOR, .a2 = 2);
		wait_call("futex", 70 * MS, .a0 = 0x3000, .a1 = WAIT_BITSET, .a2 = 0);
	}
	feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_GETFL);
	feed_end(&feed, TABLE_STALL);
	assert_stall("work", "fcntl", 4, 80 * MS);
	assert_stall("work", "flock", 4, 40 * MS);
	assert_int_equal(value(sums("work", "flock").row, STALL_FILE_ID), 0);
	assert_int_equal(sums("work", "futex").rows, 2);
	assert_stall("work", "futex", 8, 20 * MS);
	assert_stall("idle", "futex", 4, 280 * MS);
}

/* As SQLite does: it gives its other lock back before it sleeps. Sleeps with the lock, or after other calls, are not for it. */
static void test_denied_locks(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/srv/shop.db", NULL, 0);
	for (int i = 0; i < 6; i++) {
		feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_SETLK);
		for (int k = 0; k < 2; k++) {
			feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_SETLK, .err = EAGAIN);
			feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_SETLK);
			wait_call("clock_nanosleep", 5 * MS, .ret = 0);
		}
		feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_SETLK);
		wait_call("clock_nanosleep", 8 * MS, .ret = 0);
		feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_SETLK, .err = EAGAIN);
		feed_call(&feed, "stat", .file = 1, .err = EACCES);
		wait_call("clock_nanosleep", 1 * MS, .ret = 0);
	}
	feed_end(&feed, TABLE_STALL);
	assert_stall("work", "clock_nanosleep", 12, 60 * MS);
	assert_int_equal(value(sums("work", "clock_nanosleep").row, STALL_FILE_ID), 0);
	assert_stall("idle", "clock_nanosleep", 12, 54 * MS);
}

/* ---- tries ---- */

static void test_connect_again(void **state)
{
	struct sums s;

	feed_file(&feed, 99, FILE_TYPE_SOCKET, "", "127.0.0.1:9", 0);
	for (int i = 0; i < 10; i++) {
		feed_file(&feed, 10 + i, FILE_TYPE_SOCKET, "", NULL, 0);
		feed_call(&feed, "connect", .file = 10 + i, .fd = 3, .peer = 99,
			  .err = ECONNREFUSED, .dur = 2000);
		feed_call(&feed, "close", .file = 10 + i, .fd = 3);
		feed_call(&feed, "write", .fd = 2, .ret = 10, .bytes = 10);
		wait_call("nanosleep", 30 * MS, .ret = 0);
	}
	feed_end(&feed, TABLE_STALL);
	s = sums("retry", "connect");
	assert_int_equal(s.rows, 1);
	assert_int_equal(s.times, 10);
	assert_int_equal(s.paused, 9 * 30 * MS);
	assert_int_equal(s.time, 9 * 30 * MS + 10 * 2000);
	assert_int_equal(value(s.row, STALL_ERR), ECONNREFUSED);
	assert_int_equal(value(s.row, STALL_PEER_ID), 98);
	assert_stall("idle", "nanosleep", 1, 30 * MS); /* behind the last one */
}

static void test_spinning(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_SOCKET, "", NULL, 0);
	for (int i = 0; i < 1000; i++)
		feed_call(&feed, "recvfrom", .file = 1, .fd = 3, .err = EAGAIN, .dur = 300);
	feed_call(&feed, "recvfrom", .file = 1, .fd = 3, .ret = 5, .bytes = 5);
	for (int i = 0; i < 100; i++) { /* as an edge-triggered loop does */
		feed_call(&feed, "recvfrom", .file = 1, .fd = 3, .err = EAGAIN, .dur = 300);
		feed_call(&feed, "recvfrom", .file = 1, .fd = 3, .ret = 5, .bytes = 5);
	}
	feed_end(&feed, TABLE_STALL);
	assert_int_equal(feed.rows->rows, 1);
	assert_stall("retry", "recvfrom", 1000, 300000);
	assert_int_equal(value(0, STALL_LONGEST), 300);
	assert_int_equal(value(0, STALL_PAUSED), 0);
}

static void test_asking_again(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/etc/a.conf", NULL, 0);
	feed_device(&feed, 2, "/proc/1/stat", 22, "proc");
	feed_file(&feed, 3, FILE_TYPE_REGULAR, "/var/log/a", NULL, 0);
	for (int i = 0; i < 20; i++) {
		feed_call(&feed, "stat", .file = 1, .err = ENOENT, .dur = 4000);
		wait_call("nanosleep", 10 * MS, .ret = 0);
	}
	feed_call(&feed, "stat", .file = 1); /* it is there */
	for (int i = 0; i < 20; i++) {	     /* a monitor */
		feed_call(&feed, "stat", .file = 2);
		wait_call("nanosleep", 10 * MS, .ret = 0);
	}
	for (int i = 0; i < 20; i++) { /* something gets done in between */
		feed_call(&feed, "stat", .file = 1);
		feed_call(&feed, "write", .file = 3, .fd = 4, .ret = 100, .bytes = 100);
		wait_call("nanosleep", 10 * MS, .ret = 0);
	}
	feed_end(&feed, TABLE_STALL);
	assert_stall("poll", NULL, 20, 20 * 4000 + 19 * 10 * MS);
	assert_int_equal(sums("poll", "stat").paused, 19 * 10 * MS);
	assert_stall("idle", "nanosleep", 41, 410 * MS);
}

/* Three calls for each look: the period is that of the pauses. */
static void test_poll_period(void **state)
{
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/run/ready", NULL, 0);
	for (int i = 0; i < 20; i++) {
		for (int k = 0; k < 3; k++)
			feed_call(&feed, "stat", .file = 1, .dur = 4000);
		wait_call("nanosleep", 10 * MS, .ret = 0);
	}
	feed_end(&feed, TABLE_STALL);
	row = sums("poll", "stat").row;
	assert_in_range(value(row, STALL_PERIOD), 10 * MS * 31 / 32, 10 * MS * 33 / 32);
}

/* An event loop that looks without waiting between its waits does not poll; one that only looks does. */
static void test_looking(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_ANON, "anon_inode:[eventpoll]", NULL, 0);
	for (int i = 0; i < 50; i++) {
		feed_call(&feed, "epoll_wait", .file = 1, .fd = 3, .ret = 0);
		wait_call("epoll_wait", 10 * MS, .file = 1, .fd = 3, .ret = 0);
	}
	for (int i = 0; i < 100; i++)
		feed_call(&feed, "epoll_wait", .task = 1, .file = 1, .fd = 3, .ret = 0);
	feed_end(&feed, TABLE_STALL);
	assert_int_equal(feed.rows->rows, 2);
	assert_stall("idle", "epoll_wait", 50, 500 * MS);
	assert_stall("poll", "epoll_wait", 100, 100 * 1000);
}

/* ---- sums and bounds ---- */

static int by_value(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

/* Against a plain list of durations. */
static void test_sums(void **state)
{
	enum { COUNT = 5001 };
	static int64_t durs[COUNT];
	int64_t time = 0, first = feed.now;
	uint64_t seed = 1;

	for (int i = 0; i < COUNT; i++) {
		seed = (seed * 6364136223846793005ull + 1442695040888963407ull) & INT64_MAX;
		durs[i] = 1000 + (int64_t)(seed >> 20) % 50000000;
		time += durs[i];
		wait_call("nanosleep", durs[i], .task = 7, .process = 3, .ret = 0);
	}
	feed_end(&feed, TABLE_STALL);
	qsort(durs, COUNT, sizeof(*durs), by_value);
	assert_int_equal(feed.rows->rows, 1);
	assert_stall("idle", "nanosleep", COUNT, time);
	assert_int_equal(value(0, STALL_PROCESS_ID), 3);
	assert_int_equal(value(0, STALL_THREAD_ID), 7);
	assert_int_equal(value(0, STALL_LONGEST), durs[COUNT - 1]);
	assert_int_equal(value(0, STALL_FIRST), first);
	assert_int_equal(value(0, STALL_LAST), first + time + (COUNT - 1) * 1000);
	assert_in_range(value(0, STALL_TYPICAL), durs[COUNT / 2] * 31 / 32,
			durs[COUNT / 2] * 33 / 32 + 1);
}

/* A trace of nothing but a call that began before recording and never ended: only how long it was seen is known. */
static void test_no_time(void **state)
{
	wait_call("nanosleep", 100 * MS, .ret = 0, .no_start = true, .no_stop = true);
	feed_end(&feed, TABLE_STALL);
	assert_stall("idle", "nanosleep", 1, 100 * MS);
	assert_true(batch_is_null(feed.rows, STALL_FIRST, 0));
	assert_true(batch_is_null(feed.rows, STALL_LAST, 0));
}

/* More threads and locks than there is room for: nothing is lost, rows become coarser. */
static void test_bounds(void **state)
{
	const int64_t tasks = 60000, locks = 30000;
	int64_t one_task = 0;
	struct sums s;

	for (int64_t i = 0; i < tasks; i++)
		wait_call("nanosleep", MS, .task = (uint32_t)i, .ret = 0);
	for (int64_t i = 0; i < locks; i++)
		wait_call("futex", MS, .task = 1, .a0 = i * 64, .a1 = WAIT_FOR, .a2 = 2);
	feed_end(&feed, TABLE_STALL);
	s = sums("idle", "nanosleep");
	assert_int_equal(s.times, tasks);
	assert_int_equal(s.time, tasks * MS);
	assert_in_range(s.rows, 30000, 40000);
	assert_stall("work", "futex", locks, locks * MS);
	for (size_t i = 0; i < feed.rows->rows; i++)
		one_task += !batch_is_null(feed.rows, STALL_THREAD_ID, i);
	assert_in_range(one_task, 30000, feed.rows->rows - 1);
}

static size_t rows_taken;

static void take_rows(const struct feed *f)
{
	rows_taken += f->rows->rows;
}

/* Locks at ever new addresses: all are counted, and the memory for telling them apart has a bound. */
static void test_many_locks(void **state)
{
	const struct stall *s = feed.self;
	const int64_t locks = STALL_OBJECTS_MAX + 5000;

	for (int64_t i = 0; i < locks; i++)
		wait_call("futex", MS, .a0 = 64 * i, .a1 = WAIT_FOR, .a2 = 2);
	feed.take = take_rows;
	feed_end(&feed, TABLE_STALL);
	assert_int_equal(s->objects.count, STALL_OBJECTS_MAX);
	assert_in_range(rows_taken, STALL_ROWS_MAX, STALL_ROWS_MAX + STALL_ROWS_SPARE);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_many_locks),	   TEST(test_dead_server),   TEST(test_sent_without_answer),
		TEST(test_server),	   TEST(test_event_loop),    TEST(test_named_by_kernel),
		TEST(test_moved_requests), TEST(test_messages),	     TEST(test_locks),
		TEST(test_denied_locks),   TEST(test_connect_again), TEST(test_spinning),
		TEST(test_asking_again),   TEST(test_poll_period),   TEST(test_looking),
		TEST(test_sums),	   TEST(test_recorded),	     TEST(test_wakers),
		TEST(test_wakes_itself),   TEST(test_bounds),	     TEST(test_no_time),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
