// SPDX-License-Identifier: Apache-2.0
/* Descriptors of processes that are made here, call by call; a second, plain table of them is the truth. */
#include "feed.h"

#include <errno.h>
#include <fcntl.h>

#define value(column, row) batch_get(feed.rows, column, row, -1)

static struct feed feed;

static int setup(void **state)
{
	feed_init(&feed, &feature_fdlife);
	return 0;
}

static int teardown(void **state)
{
	feed_free(&feed);
	return 0;
}

#define assert_counts(row, opens, closes, most, end)                  \
	do {                                                          \
		assert_int_equal(value(FDLIFE_OPENED, row), opens);   \
		assert_int_equal(value(FDLIFE_CLOSED, row), closes);  \
		assert_int_equal(value(FDLIFE_OPEN_MOST, row), most); \
		assert_int_equal(value(FDLIFE_OPEN_END, row), end);   \
	} while (0)

static void test_leak(void **state)
{
	int64_t first = feed.now, last;
	size_t row;

	for (int i = 0; i < 400; i++) {
		char path[32];

		snprintf(path, sizeof(path), "/data/part.%d", i);
		feed_file(&feed, 10 + i, FILE_TYPE_REGULAR, path, NULL, i % 2 ? 1500000000 : 0);
		feed_call(&feed, "openat", .process = 3, .task = i % 3 ? 5 : 6, .file = 10 + i,
			  .ret = 3 + i);
		feed_call(&feed, "write", .process = 3, .task = 6, .file = 10 + i, .fd = 3 + i,
			  .bytes = 100);
	}
	feed_call(&feed, "fsync", .process = 3, .file = 10, .fd = 3);
	last = feed.now - 1000;
	feed_call(&feed, "clock_nanosleep", .process = 3, .dur = 1000000000);
	feed_end(&feed, TABLE_FDLIFE);
	assert_int_equal(feed.rows->rows, 1);
	row = feed_row(&feed, FDLIFE_PATTERN, "/data/part.#");
	assert_counts(row, 400, 0, 400, 400);
	assert_int_equal(value(FDLIFE_PROCESS_ID, row), 3);
	assert_int_equal(value(FDLIFE_THREAD_ID, row), 5);
	assert_int_equal(value(FDLIFE_FILE_ID, row), 10 + 400 - 1 - 1);
	assert_int_equal(value(FDLIFE_FILES, row), 400);
	assert_int_equal(value(FDLIFE_DELETED, row), 200);
	assert_int_equal(value(FDLIFE_DELETED_BYTES, row), 20000);
	assert_int_equal(value(FDLIFE_FIRST, row), first);
	assert_int_equal(value(FDLIFE_LAST, row), last);
	assert_int_equal(value(FDLIFE_BEFORE, row), 0);
	assert_int_equal(value(FDLIFE_INEXACT, row), 0);
	/* all in the first moments of its time */
	assert_int_equal(value(FDLIFE_RISING, row), 1);
}

/* Without a name at the end: the trace has it, the name was removed, or given to another file; but not where it has others. */
static void test_deleted(void **state)
{
	static const char *const paths[] = {"/t/known", "/t/removed", "/t/replaced", "/t/linked",
					    "/t/again", "/memfd:x",   "/t/other"};
	size_t row;

	for (int i = 0; i < 7; i++) {
		feed_file(&feed, 1 + i, FILE_TYPE_REGULAR, paths[i], NULL,
			  i == 0 || i == 5 ? 5 : 0);
		feed_file(&feed, 11 + i, FILE_TYPE_UNKNOWN, paths[i], NULL, 0);
	}
	feed_call(&feed, "unlink", .file = 15);
	feed_since(&feed, 5, FILE_TYPE_REGULAR, paths[4], feed.now);
	for (int i = 0; i < 7; i++) {
		feed_call(&feed, "openat", .file = 1 + i, .ret = 3 + i);
		feed_call(&feed, "write", .file = 1 + i, .fd = 3 + i, .bytes = 1 << i);
	}
	feed_call(&feed, "unlink", .process = 1, .file = 12);
	feed_call(&feed, "rename", .process = 1, .file = 17, .file2 = 13);
	feed_call(&feed, "link", .process = 1, .file = 14, .file2 = 20);
	feed_call(&feed, "unlink", .process = 1, .file = 14);
	feed_call(&feed, "unlink", .process = 1, .file = 17, .err = EPERM);
	feed_end(&feed, TABLE_FDLIFE);
	for (int i = 0; i < 7; i++) {
		row = feed_row(&feed, FDLIFE_PATTERN, paths[i]);
		assert_int_equal(value(FDLIFE_DELETED, row), i < 3);
		assert_int_equal(value(FDLIFE_DELETED_BYTES, row), i < 3 ? 1 << i : 0);
		assert_int_equal(value(FDLIFE_OPEN_END, row), 1);
	}
}

/* One that grows all the time, one that comes and goes, one that grows in four parts of eight, one that begins late. */
static void test_rising(void **state)
{
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/grows", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/comes", NULL, 0);
	feed_file(&feed, 3, FILE_TYPE_REGULAR, "/half", NULL, 0);
	feed_file(&feed, 4, FILE_TYPE_REGULAR, "/late", NULL, 0);
	for (int i = 0; i < 800; i++) {
		feed_call(&feed, "openat", .file = 1, .ret = 1000 + i);
		if (i >= 720)
			feed_call(&feed, "openat", .file = 4, .ret = 2000 + i);
		feed_call(&feed, "openat", .file = 2, .ret = 5);
		if (i < 400 && i % 10 == 5)
			feed_call(&feed, "openat", .file = 3, .ret = 20 + i / 10);
		else
			feed_call(&feed, "clock_nanosleep");
		feed_call(&feed, "close", .file = 2, .fd = 5);
		feed_call(&feed, "clock_nanosleep", .dur = 10000000);
	}
	feed_end(&feed, TABLE_FDLIFE);
	row = feed_row(&feed, FDLIFE_PATTERN, "/grows");
	assert_counts(row, 800, 0, 800, 800);
	assert_int_equal(value(FDLIFE_RISING, row), 7);
	row = feed_row(&feed, FDLIFE_PATTERN, "/comes");
	assert_counts(row, 800, 800, 1, 0);
	assert_int_equal(value(FDLIFE_RISING, row), 0);
	row = feed_row(&feed, FDLIFE_PATTERN, "/half");
	assert_counts(row, 40, 0, 40, 40);
	assert_int_equal(value(FDLIFE_RISING, row), 4);
	row = feed_row(&feed, FDLIFE_PATTERN, "/late"); /* its time begins with its first one */
	assert_counts(row, 80, 0, 80, 80);
	assert_int_equal(value(FDLIFE_RISING, row), 7);
}

/* Every way to make a descriptor, and every way to lose one. */
static void test_ways(void **state)
{
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/f", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_PIPE, "pipe:[77]", NULL, 0);
	feed_file(&feed, 3, FILE_TYPE_REGULAR, "/kept", NULL, 0);
	feed_call(&feed, "openat", .file = 1, .ret = 3, .flags = O_CLOEXEC);
	feed_call(&feed, "openat", .file = 9, .err = ENOENT);
	feed_call(&feed, "dup", .file = 1, .fd = 3, .ret = 4);
	feed_call(&feed, "dup2", .file = 1, .fd = 3, .fd2 = 5, .ret = 5);
	feed_call(&feed, "dup2", .file = 1, .fd = 3, .fd2 = 3, .ret = 3); /* nothing */
	feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_DUPFD, .ret = 6);
	feed_call(&feed, "fcntl", .file = 1, .fd = 3, .a1 = F_DUPFD_CLOEXEC, .ret = 7);
	feed_call(&feed, "fcntl", .file = 1, .fd = 4, .a1 = F_SETFD, .a2 = FD_CLOEXEC);
	feed_call(&feed, "pipe2", .file = 2, .fd = 8, .fd2 = 9);
	feed_call(&feed, "openat", .file = 3, .ret = 20);
	/* over one that is open: that is closed */
	feed_call(&feed, "dup3", .file = 3, .fd = 20, .fd2 = 5, .ret = 5, .flags = O_CLOEXEC);
	feed_call(&feed, "close", .file = 2, .fd = 9, .err = EIO); /* closed all the same */
	feed_call(&feed, "close", .fd = 99, .err = EBADF);
	/* 3, 4, 5, 7 go; 6, 8, 20 stay */
	feed_call(&feed, "execve", .file = 1);
	feed_call(&feed, "close_range", .a0 = 8, .a1 = 10);
	feed_call(&feed, "exit_group");
	/* of a thread that is on its way out */
	feed_call(&feed, "close", .file = 3, .fd = 20);
	feed_end(&feed, TABLE_FDLIFE);
	row = feed_row(&feed, FDLIFE_PATTERN, "/f");
	assert_counts(row, 5, 4, 5, 1);
	row = feed_row(&feed, FDLIFE_PATTERN, "pipe");
	assert_counts(row, 2, 2, 2, 0);
	assert_int_equal(value(FDLIFE_FILES, row), 1);
	row = feed_row(&feed, FDLIFE_PATTERN, "/kept");
	assert_counts(row, 2, 1, 2, 1);
	assert_int_equal(feed.rows->rows, 3);
	for (row = 0; row < 3; row++)
		assert_int_equal(value(FDLIFE_INEXACT, row), 0);
}

/* What was open before is known from the first call on it; a close that was not recorded shows. */
static void test_before(void **state)
{
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/old", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/new", NULL, 0);
	feed_call(&feed, "write", .file = 1, .fd = 1, .bytes = 5);
	feed_call(&feed, "write", .file = 1, .fd = 2, .bytes = 5);
	feed_call(&feed, "write", .file = 1, .fd = 1, .bytes = 5);
	feed_call(&feed, "close", .file = 1, .fd = 3);
	feed_call(&feed, "openat", .file = 2, .ret = 4);
	feed_call(&feed, "write", .file = 1, .fd = 4); /* of another file: two calls are missing */
	feed_call(&feed, "execve", .file = 1);
	feed_call(&feed, "write", .file = 1, .fd = 1, .bytes = 5);
	feed_end(&feed, TABLE_FDLIFE);
	row = feed_row(&feed, FDLIFE_PATTERN, "/old");
	/* 1 after exec, and 3, which was closed; 2 and 4 are forgotten */
	assert_int_equal(value(FDLIFE_BEFORE, row), 2);
	assert_counts(row, 0, 1, 2, 1);
	assert_int_equal(value(FDLIFE_INEXACT, row), 1);
	row = feed_row(&feed, FDLIFE_PATTERN, "/new");
	assert_counts(row, 1, 1, 1, 0);
	assert_int_equal(value(FDLIFE_INEXACT, row), 1);
	assert_int_equal(value(FDLIFE_BEFORE, row), 0);
}

/* Threads: a descriptor is free when close() begins, so the next open of it may end before. */
static void test_overtaken(void **state)
{
	int64_t began;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/a", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/b", NULL, 0);
	for (int i = 0; i < 10; i++) {
		bool same = i % 2;

		feed_call(&feed, "openat", .task = 1, .file = 1, .ret = 5);
		began = feed.now;
		feed_call(&feed, "openat", .task = 2, .file = same ? 1 : 2, .ret = 5);
		feed_call(&feed, "write", .task = 2, .file = same ? 1 : 2, .fd = 5);
		/* these began before, and end now */
		feed_call(&feed, "close", .task = 1, .file = 1, .fd = 5, .back = feed.now - began);
		feed_call(&feed, "read", .task = 3, .file = 1, .fd = 5, .back = feed.now - began);
		feed_call(&feed, "close", .task = 2, .file = same ? 1 : 2, .fd = 5);
		feed_call(&feed, "read", .task = 3, .file = 1, .fd = 5, .back = feed.now - began);
	}
	feed_end(&feed, TABLE_FDLIFE);
	assert_int_equal(feed.rows->rows, 2);
	for (size_t row = 0; row < 2; row++) {
		bool first = value(FDLIFE_FILE_ID, row) == 0;

		assert_counts(row, first ? 15 : 5, first ? 15 : 5, 1, 0);
		assert_int_equal(value(FDLIFE_BEFORE, row), 0);
		assert_int_equal(value(FDLIFE_INEXACT, row), 0);
	}
}

static void test_sockets(void **state)
{
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_SOCKET, "10.0.0.7:80", NULL, 0);
	feed_file(&feed, 500, FILE_TYPE_SOCKET, "", "10.0.0.3:9999", 0);
	for (int i = 0; i < 100; i++) {
		char here[32], there[32];

		snprintf(here, sizeof(here), "10.0.0.7:%d", 40000 + i);
		snprintf(there, sizeof(there), "10.0.0.9:%d", 40000 + i);
		feed_file(&feed, 100 + i, FILE_TYPE_SOCKET, here, "10.0.0.2:5432", 0);
		feed_file(&feed, 200 + i, FILE_TYPE_SOCKET, "10.0.0.7:80", there, 0);
		feed_file(&feed, 300 + i, FILE_TYPE_SOCKET, "", NULL, 0);
	}
	feed_call(&feed, "socket", .file = 1, .ret = 3);
	feed_call(&feed, "listen", .file = 1, .fd = 3);
	for (int i = 0; i < 100; i++) {
		feed_call(&feed, "accept4", .file = 1, .file2 = 200 + i, .fd = 3, .ret = 4);
		feed_call(&feed, "recvfrom", .file = 200 + i, .fd = 4, .bytes = 10);
		/* a connection for each request */
		feed_call(&feed, "socket", .file = 100 + i, .ret = 5);
		feed_call(&feed, "setsockopt", .file = 100 + i, .fd = 5);
		feed_call(&feed, "connect", .file = 100 + i, .fd = 5, .err = EINPROGRESS);
		for (int k = 0; k < 3; k++) {
			feed_call(&feed, "sendto", .file = 100 + i, .fd = 5, .bytes = 10);
			feed_call(&feed, "write", .file = 100 + i, .fd = 5, .bytes = 10);
			feed_call(&feed, "read", .file = 100 + i, .fd = 5, .bytes = 10);
			feed_call(&feed, "read", .file = 100 + i, .fd = 5, .bytes = 10);
		}
		feed_call(&feed, "close", .file = 100 + i, .fd = 5);
		feed_call(&feed, "sendto", .file = 200 + i, .fd = 4, .bytes = 10);
		feed_call(&feed, "close", .file = 200 + i, .fd = 4);
		/* refused: known by the address that it was to have */
		feed_call(&feed, "socket", .file = 300 + i, .ret = 5);
		feed_call(&feed, "connect", .file = 300 + i, .fd = 5, .peer = 500,
			  .err = ECONNREFUSED);
		feed_call(&feed, "close", .file = 300 + i, .fd = 5);
	}
	feed_end(&feed, TABLE_FDLIFE);
	row = feed_row(&feed, FDLIFE_PATTERN, "tcp 10.0.0.7:80->#");
	assert_counts(row, 100, 100, 1, 0);
	assert_int_equal(value(FDLIFE_REQUESTS, row), 0);
	row = feed_row(&feed, FDLIFE_PATTERN, "tcp #->10.0.0.2:5432");
	assert_counts(row, 100, 100, 1, 0);
	assert_int_equal(value(FDLIFE_REQUESTS, row), 300);
	assert_int_equal(value(FDLIFE_FILES, row), 100);
	row = feed_row(&feed, FDLIFE_PATTERN, "tcp #->10.0.0.3:9999");
	assert_counts(row, 100, 100, 1, 0);
	row = feed_row(&feed, FDLIFE_PATTERN, "tcp 10.0.0.7:80");
	assert_counts(row, 1, 0, 1, 1);
	assert_int_equal(feed.rows->rows, 4);
}

/* Random opens, dups and closes against arrays that are looked through each time. */
static void test_random(void **state)
{
	enum { PROCESSES = 7, PATTERNS = 5, FDS = 64 };
	static int files[PROCESSES][FDS];
	static int64_t opened[PROCESSES][PATTERNS], closed[PROCESSES][PATTERNS],
		most[PROCESSES][PATTERNS];
	uint64_t random = 7;

	for (int k = 0; k < PATTERNS; k++) {
		char path[16];

		snprintf(path, sizeof(path), "/%c", 'a' + k);
		feed_file(&feed, 1 + k, FILE_TYPE_REGULAR, path, NULL, 0);
	}
	for (int i = 0; i < 50000; i++) {
		uint32_t p;
		int fd, to, k, now = 0;

		random = hash_u64(random);
		p = random % PROCESSES;
		fd = 1 + (int)(random >> 8) % (FDS - 1);
		fd = fd < 1 ? 1 : fd;
		to = 1 + (int)(random >> 16 & 0xffff) % (FDS - 1);
		k = (int)(random >> 40 & 0xff) % PATTERNS;
		if (!files[p][fd]) {
			feed_call(&feed, "openat", .process = p, .file = 1 + k, .ret = fd);
			files[p][fd] = 1 + k;
			opened[p][k]++;
		} else if (random >> 60 && fd != to) {
			feed_call(&feed, "dup2", .process = p, .file = files[p][fd], .fd = fd,
				  .fd2 = to, .ret = to);
			if (files[p][to])
				closed[p][files[p][to] - 1]++;
			files[p][to] = files[p][fd];
			opened[p][files[p][to] - 1]++;
			k = files[p][to] - 1;
		} else {
			feed_call(&feed, "close", .process = p, .file = files[p][fd], .fd = fd);
			closed[p][files[p][fd] - 1]++;
			files[p][fd] = 0;
			continue;
		}
		for (int n = 0; n < FDS; n++)
			now += files[p][n] == 1 + k;
		most[p][k] = MAX(most[p][k], now);
	}
	feed_end(&feed, TABLE_FDLIFE);
	assert_int_equal(feed.rows->rows, PROCESSES * PATTERNS);
	for (size_t row = 0; row < feed.rows->rows; row++) {
		int64_t p = value(FDLIFE_PROCESS_ID, row);
		int k = batch_get_bytes(feed.rows, FDLIFE_PATTERN, row).data[1] - 'a', open = 0;

		for (int n = 0; n < FDS; n++)
			open += files[p][n] == 1 + k;
		assert_counts(row, opened[p][k], closed[p][k], most[p][k], open);
		assert_int_equal(value(FDLIFE_INEXACT, row), 0);
	}
}

/* More processes than there are rows: those that opened most stay, and what is there is right. */
static void test_bounded(void **state)
{
	enum { ALL = 50000 };

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/a", NULL, 0);
	for (uint32_t i = 0; i < ALL; i++) {
		for (int k = 0; k <= (i % 1000 == 0); k++)
			feed_call(&feed, "openat", .process = i, .file = 1, .ret = 3 + k);
		feed_call(&feed, "exit_group", .process = i);
	}
	feed_call(&feed, "openat", .process = ALL, .file = 1, .ret = 3000000); /* is not followed */
	feed_call(&feed, "openat", .process = ALL, .file = 1, .ret = 3);
	feed_end(&feed, TABLE_FDLIFE);
	assert_in_range(feed.rows->rows, 16384, 32768);
	for (size_t row = 0, twos = 0; row < feed.rows->rows; row++) {
		int64_t p = value(FDLIFE_PROCESS_ID, row);

		twos += p < ALL && p % 1000 == 0;
		assert_int_equal(value(FDLIFE_OPENED, row), p < ALL && p % 1000 == 0 ? 2 : 1);
		assert_int_equal(value(FDLIFE_INEXACT, row), p == ALL);
		if (row + 1 == feed.rows->rows)
			assert_int_equal(twos, ALL / 1000);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_leak, setup, teardown),
		cmocka_unit_test_setup_teardown(test_deleted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rising, setup, teardown),
		cmocka_unit_test_setup_teardown(test_ways, setup, teardown),
		cmocka_unit_test_setup_teardown(test_before, setup, teardown),
		cmocka_unit_test_setup_teardown(test_overtaken, setup, teardown),
		cmocka_unit_test_setup_teardown(test_sockets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_random, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
