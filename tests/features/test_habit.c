// SPDX-License-Identifier: Apache-2.0
/* Habits of threads that are made here, step by step, and known. */
#include "feed.h"

#define value(f, column, row) batch_get((f)->rows, column, row, -1)

static struct feed feed;

static int setup(void **state)
{
	feed_init(&feed, &feature_habit);
	return 0;
}

static int teardown(void **state)
{
	feed_free(&feed);
	return 0;
}

static void assert_text(unsigned int column, size_t row, const char *want)
{
	struct bytes have = batch_get_bytes(feed.rows, column, row);

	assert_int_equal(have.len, strlen(want));
	assert_memory_equal(have.data, want, have.len);
}

/* open, seek, write, stat, close around each line, with other work between. */
static void test_line_by_line(void **state)
{
	int64_t first = feed.now, last = 0;
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/var/log/app.log", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/srv/data", NULL, 0);
	for (int i = 0; i < 100; i++) {
		feed_call(&feed, "openat", .task = 1, .process = 7, .file = 1, .ret = 5);
		feed_call(&feed, "lseek", .task = 1, .process = 7, .file = 1);
		for (int k = 0; k < i % 3; k++)
			feed_call(&feed, "pread64", .task = 1, .process = 7, .file = 2, .bytes = 9);
		feed_call(&feed, "write", .task = 1, .process = 7, .file = 1, .bytes = 40,
			  .dur = 5000);
		if (i % 10 == 0)
			feed_call(&feed, "brk", .task = 1, .process = 7);
		feed_call(&feed, "fstat", .task = 1, .process = 7, .file = 1);
		feed_call(&feed, "close", .task = 1, .process = 7, .file = 1);
		last = feed.now - 1000;
	}
	feed_end(&feed, TABLE_HABIT);
	row = feed_row2(&feed, HABIT_CALLS_TEXT, "openat lseek write fstat close", HABIT_SCOPE,
			"file");
	assert_int_equal(value(&feed, HABIT_PROCESS_ID, row), 7);
	assert_int_equal(value(&feed, HABIT_THREAD_ID, row), 1);
	assert_int_equal(value(&feed, HABIT_FILE_ID, row), 0);
	assert_text(HABIT_PATTERN, row, "/var/log/app.log");
	assert_int_equal(value(&feed, HABIT_FILES, row), 1);
	assert_int_equal(value(&feed, HABIT_TIMES, row), 100);
	assert_int_equal(value(&feed, HABIT_CALLS, row), 500);
	assert_int_equal(value(&feed, HABIT_STEPS, row), 5);
	assert_int_equal(value(&feed, HABIT_BYTES, row), 4000);
	assert_int_equal(value(&feed, HABIT_TIME, row), 100 * 9000);
	assert_int_equal(value(&feed, HABIT_WAIT_TIME, row), 0);
	assert_int_equal(value(&feed, HABIT_ERRORS, row), 0);
	assert_int_equal(value(&feed, HABIT_INEXACT, row), 0);
	assert_int_equal(value(&feed, HABIT_FIRST, row), first);
	assert_int_equal(value(&feed, HABIT_LAST, row), last);
}

/* With nothing between them the calls are a cycle of the thread as well, which is not said twice. */
static void test_said_once(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/var/log/app.log", NULL, 0);
	for (int i = 0; i < 50; i++) {
		feed_call(&feed, "openat", .task = 1, .file = 1, .ret = 5);
		feed_call(&feed, "write", .task = 1, .file = 1, .bytes = 40);
		feed_call(&feed, "write", .task = 1, .file = 1, .bytes = 1);
		feed_call(&feed, "close", .task = 1, .file = 1);
	}
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, 1);
	assert_text(HABIT_CALLS_TEXT, 0, "openat write+ close");
	assert_int_equal(value(&feed, HABIT_TIMES, 0), 50);
	assert_int_equal(value(&feed, HABIT_CALLS, 0), 200);
	/* 4 calls of 1 us, 1 us between them: within 1/32 */
	assert_in_range(value(&feed, HABIT_PERIOD, 0), 7750, 8250);
}

static void test_stat_and_sleep(void **state)
{
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/run/ready", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/etc/conf", NULL, 0);
	feed_call(&feed, "access", .task = 1, .file = 2);
	for (int i = 0; i < 20; i++) {
		feed_call(&feed, "stat", .task = 1, .file = 1, .err = i < 19 ? 2 : 0);
		feed_call(&feed, "clock_nanosleep", .task = 1, .dur = 1000000);
	}
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, 1);
	row = feed_row2(&feed, HABIT_CALLS_TEXT, "stat clock_nanosleep", HABIT_SCOPE, "thread");
	assert_int_equal(value(&feed, HABIT_TIMES, row), 20);
	assert_int_equal(value(&feed, HABIT_ERRORS, row), 19);
	assert_int_equal(value(&feed, HABIT_FILE_ID, row), 0);
	assert_int_equal(value(&feed, HABIT_TIME, row), 20 * 1001000);
	assert_int_equal(value(&feed, HABIT_WAIT_TIME, row), 20 * 1000000);
}

/* A file for each run: p.1, p.2, ... */
static void test_probe_files(void **state)
{
	size_t row;

	for (int i = 0; i < 200; i++) {
		int64_t file = 10 + i;
		char path[32];

		snprintf(path, sizeof(path), "/data/p.%d", i);
		feed_file(&feed, file, FILE_TYPE_REGULAR, path, NULL, 0);
		feed_call(&feed, "openat", .task = 1, .file = file, .ret = 5);
		feed_call(&feed, "write", .task = 1, .file = file, .bytes = 1);
		feed_call(&feed, "fsync", .task = 1, .file = file);
		feed_call(&feed, "close", .task = 1, .file = file);
		feed_call(&feed, "unlink", .task = 1, .file = file);
		feed_call(&feed, "clock_nanosleep", .task = 1, .dur = 1000000);
	}
	feed_end(&feed, TABLE_HABIT);
	row = feed_row2(&feed, HABIT_CALLS_TEXT, "openat write fsync close unlink", HABIT_SCOPE,
			"file");
	assert_text(HABIT_PATTERN, row, "/data/p.#");
	assert_true(batch_is_null(feed.rows, HABIT_FILE_ID, row));
	assert_int_equal(value(&feed, HABIT_TIMES, row), 200);
	assert_int_equal(value(&feed, HABIT_FILES, row), 200);
	row = feed_row2(&feed, HABIT_CALLS_TEXT, "openat write fsync close unlink clock_nanosleep",
			HABIT_SCOPE, "thread");
	assert_text(HABIT_PATTERN, row, "/data/p.#");
	assert_int_equal(value(&feed, HABIT_TIMES, row), 200);
	assert_int_equal(value(&feed, HABIT_FILES, row), 200);
	assert_int_equal(value(&feed, HABIT_WAIT_TIME, row), 200 * 1000000);
	assert_int_equal(feed.rows->rows, 2);
}

/* From one file to another: no file is the file of the row. */
static void test_copy(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/data/in.bin", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/data/out.bin", NULL, 0);
	feed_call(&feed, "openat", .task = 1, .file = 1, .ret = 3);
	feed_call(&feed, "openat", .task = 1, .file = 2, .ret = 4);
	for (int i = 0; i < 1000; i++) {
		feed_call(&feed, "read", .task = 1, .file = 1, .bytes = 4096);
		feed_call(&feed, "write", .task = 1, .file = 2, .bytes = 4096);
	}
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, 1);
	assert_text(HABIT_CALLS_TEXT, 0, "read write");
	assert_text(HABIT_SCOPE, 0, "thread");
	assert_text(HABIT_PATTERN, 0, "/data/*.bin");
	assert_true(batch_is_null(feed.rows, HABIT_FILE_ID, 0));
	assert_int_equal(value(&feed, HABIT_TIMES, 0), 1000);
	assert_int_equal(value(&feed, HABIT_FILES, 0), 2);
	assert_int_equal(value(&feed, HABIT_BYTES, 0), 8192000);
}

/* Files that come again after two runs; and an operation on several files, which is one step of the cycle. */
static void test_in_turn(void **state)
{
	for (int i = 0; i < 300; i++) {
		char path[16];

		snprintf(path, sizeof(path), "/d/%d", i);
		feed_file(&feed, 1 + i, FILE_TYPE_REGULAR, path, NULL, 0);
	}
	for (int i = 2; i < 200; i++) {
		/* what was seen two runs before is opened */
		feed_call(&feed, "openat", .task = 1, .file = 1 + i - 2, .ret = 3);
		feed_call(&feed, "getdents64", .task = 1, .file = 1 + i - 2);
		feed_call(&feed, "newfstatat", .task = 1, .file = 1 + i);
		feed_call(&feed, "clock_nanosleep", .task = 1);
		for (int k = 0; k < 5; k++)
			feed_call(&feed, "write", .task = 2, .file = 1 + k, .bytes = 1);
		feed_call(&feed, "clock_nanosleep", .task = 2);
	}
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, 2);
	for (size_t row = 0; row < 2; row++) {
		bool first = value(&feed, HABIT_THREAD_ID, row) == 1;

		assert_text(HABIT_CALLS_TEXT, row,
			    first ? "openat getdents64 newfstatat clock_nanosleep"
				  : "write+ clock_nanosleep");
		assert_int_equal(value(&feed, HABIT_TIMES, row), 198);
		assert_int_equal(value(&feed, HABIT_FILES, row), first ? 200 : 5);
		assert_true(batch_is_null(feed.rows, HABIT_FILE_ID, row));
		assert_int_equal(value(&feed, HABIT_INEXACT, row), 0);
	}
}

/* Interrupted by other work, a cycle begins where it began before. */
static void test_one_beginning(void **state)
{
	feed_file(&feed, 1, FILE_TYPE_SOCKET, "10.0.0.7:41000", "10.0.0.2:53", 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/a", NULL, 0);
	for (int round = 0; round < 10; round++) {
		for (int i = 0; i < 10; i++) {
			if (i || round % 2 == 0)
				feed_call(&feed, "sendto", .task = 1, .file = 1, .bytes = 30);
			feed_call(&feed, "poll", .task = 1, .dur = 500000);
			feed_call(&feed, "recvfrom", .task = 1, .file = 1, .bytes = 60);
		}
		feed_call(&feed, "fsync", .task = 1, .file = 2);
		for (int i = 0; i < round; i++)
			feed_call(&feed, "fstat", .task = 1, .file = 2);
	}
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, 1);
	assert_text(HABIT_CALLS_TEXT, 0, "sendto poll recvfrom");
	assert_text(HABIT_PATTERN, 0, "tcp #->10.0.0.2:53");
	assert_int_equal(value(&feed, HABIT_FILE_ID, 0), 0);
	/* of 95 the ones that are complete; the first of five rounds begins in the middle */
	assert_int_equal(value(&feed, HABIT_TIMES, 0), 95);
	assert_int_equal(value(&feed, HABIT_CALLS, 0), 285);
	assert_int_equal(value(&feed, HABIT_WAIT_TIME, 0), 95 * 500000);
}

/* A connection for each request, each with a port of its own; four clients at once. */
static void test_connections(void **state)
{
	size_t row;

	for (int i = 0; i < 400; i++) {
		char local[32];

		snprintf(local, sizeof(local), "10.0.0.7:%d", 40000 + i);
		feed_file(&feed, 10 + i, FILE_TYPE_SOCKET, local, "10.0.0.2:5432", 0);
	}
	for (int i = 0; i < 400; i += 20) {
		/* interleaved, more than are at hand */
		for (int k = 0; k < 20; k++)
			feed_call(&feed, "socket", .task = 1, .file = 10 + i + k, .ret = 5 + k);
		for (int k = 0; k < 20; k++)
			feed_call(&feed, "connect", .task = 1, .file = 10 + i + k, .err = 115);
		for (int k = 0; k < 20; k++)
			feed_call(&feed, "sendto", .task = 1, .file = 10 + i + k, .bytes = 10);
		for (int k = 0; k < 20; k++)
			feed_call(&feed, "recvfrom", .task = 1, .file = 10 + i + k, .bytes = 90,
				  .waits = true);
		for (int k = 0; k < 20; k++)
			feed_call(&feed, "close", .task = 1, .file = 10 + i + k);
	}
	feed_end(&feed, TABLE_HABIT);
	row = feed_row2(&feed, HABIT_CALLS_TEXT, "socket connect sendto recvfrom close",
			HABIT_SCOPE, "file");
	assert_text(HABIT_PATTERN, row, "tcp #->10.0.0.2:5432");
	assert_int_equal(value(&feed, HABIT_TIMES, row), 400);
	assert_int_equal(value(&feed, HABIT_FILES, row), 400);
	assert_int_equal(value(&feed, HABIT_ERRORS, row), 400);
	assert_int_equal(value(&feed, HABIT_BYTES, row), 40000);
	assert_int_equal(value(&feed, HABIT_WAIT_TIME, row), 400 * 1000);
	assert_int_equal(value(&feed, HABIT_INEXACT, row), 0);
}

/* What a server accepts is one pattern: of its own address. */
static void test_accepted(void **state)
{
	for (int i = 0; i < 30; i++) {
		char peer[32];

		snprintf(peer, sizeof(peer), "10.0.0.9:%d", 50000 + i);
		feed_file(&feed, 10 + i, FILE_TYPE_SOCKET, "10.0.0.7:80", peer, 0);
	}
	feed_file(&feed, 1, FILE_TYPE_SOCKET, "10.0.0.7:80", NULL, 0);
	for (int i = 0; i < 30; i++) {
		feed_call(&feed, "accept4", .task = 1, .file = 1, .file2 = 10 + i, .ret = 5);
		feed_call(&feed, "recvfrom", .task = 1, .file = 10 + i, .bytes = 10);
		feed_call(&feed, "sendto", .task = 1, .file = 10 + i, .bytes = 10);
		feed_call(&feed, "close", .task = 1, .file = 10 + i);
	}
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, 1);
	assert_text(HABIT_CALLS_TEXT, 0, "accept4 recvfrom sendto close");
	assert_text(HABIT_PATTERN, 0, "tcp 10.0.0.7:80->#");
	assert_int_equal(value(&feed, HABIT_TIMES, 0), 30);
}

/* A tree of names without numbers: one row, of what they have in common; the two that are frequent keep theirs. */
static void test_tree(void **state)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz";
	uint64_t times = 0;
	size_t row;

	for (int i = 0; i < 26 * 26; i++) {
		char path[40];

		snprintf(path, sizeof(path), "/usr/include/x%c%c.h", letters[i / 26],
			 letters[i % 26]);
		feed_file(&feed, 10 + i, FILE_TYPE_REGULAR, path, NULL, 0);
	}
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/var/log/one", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/var/log/two", NULL, 0);
	for (int i = 0; i < 26 * 26; i++) {
		int64_t files[] = {10 + i, i % 5 == 0 ? 1 : 0, i % 7 == 0 ? 2 : 0};

		for (int k = 0; k < 3; k++) {
			if (!files[k])
				continue;
			feed_call(&feed, "openat", .task = 1, .file = files[k], .ret = 5);
			feed_call(&feed, "read", .task = 1, .file = files[k], .bytes = 10);
			feed_call(&feed, "close", .task = 1, .file = files[k]);
			times++;
		}
	}
	feed_end(&feed, TABLE_HABIT);
	for (size_t i = 0; i < feed.rows->rows; i++) {
		assert_text(HABIT_CALLS_TEXT, i, "openat read close");
		times -= (uint64_t)value(&feed, HABIT_TIMES, i);
	}
	assert_int_equal(times, 0);
	assert_int_equal(feed.rows->rows, 3);
	row = feed_row(&feed, HABIT_PATTERN, "/usr/include/*.h");
	assert_int_equal(value(&feed, HABIT_TIMES, row), 26 * 26);
	assert_int_equal(value(&feed, HABIT_FILES, row), 26 * 26);
	row = feed_row(&feed, HABIT_PATTERN, "/var/log/one");
	assert_int_equal(value(&feed, HABIT_TIMES, row), 136);
	row = feed_row(&feed, HABIT_PATTERN, "/var/log/two");
	assert_int_equal(value(&feed, HABIT_TIMES, row), 97);
}

/* Without a habit there is no row: steps by chance, calls that ran at the ends of recording. */
static void test_none(void **state)
{
	static const char *const ops[] = {"read",  "write",	"lseek",     "fstat",
					  "fsync", "ftruncate", "fallocate", "flock"};
	uint64_t random = 1;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/a", NULL, 0);
	for (int i = 0; i < 8; i++) {
		feed_call(&feed, "read", .task = 2, .file = 1, .no_start = true);
		feed_call(&feed, "write", .task = 2, .file = 1, .status = STATUS_UNFINISHED);
		feed_call(&feed, "futex", .task = 3, .waits = true);
		feed_call(&feed, "write", .task = 3, .file = 1);
	}
	for (int i = 0; i < 64; i++) {
		random = hash_u64(random);
		feed_call(&feed, ops[random % 8], .task = 1, .file = 1);
	}
	/* still open: not seen whole */
	for (int i = 0; i < 9; i++)
		feed_call(&feed, "openat", .task = 4, .file = 1, .ret = 3 + i);
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, 0);
}

/* More sequences than the table holds: those that are heavy stay, and what came late is marked. */
static void test_bounded(void **state)
{
	static const char *const ops[] = {"read",  "write",	"lseek",     "fstat",
					  "fsync", "ftruncate", "fallocate", "flock"};
	size_t row;

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/a", NULL, 0);
	feed_file(&feed, 2, FILE_TYPE_REGULAR, "/b", NULL, 0);
	for (int i = 0; i < 30000; i++) {
		if (i < 5000) {
			feed_call(&feed, "openat", .task = 1, .file = 1, .ret = 5);
			feed_call(&feed, "write", .task = 1, .file = 1, .bytes = 1);
			feed_call(&feed, "close", .task = 1, .file = 1);
		}
		feed_call(&feed, "openat", .task = 2, .file = 2, .ret = 5);
		for (int k = i; k; k /= 8)
			feed_call(&feed, ops[k % 8], .task = 2, .file = 2);
		feed_call(&feed, "close", .task = 2, .file = 2);
	}
	for (int i = 0; i < 10; i++) {
		feed_call(&feed, "openat", .task = 3, .file = 1, .ret = 5);
		feed_call(&feed, "close", .task = 3, .file = 1);
	}
	feed_end(&feed, TABLE_HABIT);
	row = feed_row(&feed, HABIT_CALLS_TEXT, "openat close");
	assert_int_equal(value(&feed, HABIT_TIMES, row), 10);
	assert_int_equal(value(&feed, HABIT_INEXACT, row), 1);
	for (row = 0; value(&feed, HABIT_THREAD_ID, row) != 1; row++)
		assert_true(row + 1 < feed.rows->rows);
	assert_int_equal(value(&feed, HABIT_TIMES, row), 5000);
	assert_int_equal(value(&feed, HABIT_INEXACT, row), 0);
}

/* More threads than are followed at once: what a thread had open is not lost. */
static void test_many_threads(void **state)
{
	enum { THREADS = 3000, ROUNDS = 4 };

	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/a", NULL, 0);
	for (int round = 0; round < ROUNDS; round++) {
		for (uint32_t i = 0; i < THREADS; i++)
			feed_call(&feed, "openat", .task = i, .file = 1, .ret = 5);
		for (uint32_t i = 0; i < THREADS; i++)
			feed_call(&feed, "write", .task = i, .file = 1);
		for (uint32_t i = 0; i < THREADS; i++)
			feed_call(&feed, "close", .task = i, .file = 1);
	}
	feed_end(&feed, TABLE_HABIT);
	assert_int_equal(feed.rows->rows, THREADS);
	for (size_t i = 0; i < feed.rows->rows; i++) {
		assert_int_equal(value(&feed, HABIT_TIMES, i), ROUNDS);
		assert_int_equal(value(&feed, HABIT_INEXACT, i), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_line_by_line, setup, teardown),
		cmocka_unit_test_setup_teardown(test_said_once, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stat_and_sleep, setup, teardown),
		cmocka_unit_test_setup_teardown(test_probe_files, setup, teardown),
		cmocka_unit_test_setup_teardown(test_copy, setup, teardown),
		cmocka_unit_test_setup_teardown(test_in_turn, setup, teardown),
		cmocka_unit_test_setup_teardown(test_one_beginning, setup, teardown),
		cmocka_unit_test_setup_teardown(test_connections, setup, teardown),
		cmocka_unit_test_setup_teardown(test_accepted, setup, teardown),
		cmocka_unit_test_setup_teardown(test_tree, setup, teardown),
		cmocka_unit_test_setup_teardown(test_none, setup, teardown),
		cmocka_unit_test_setup_teardown(test_bounded, setup, teardown),
		cmocka_unit_test_setup_teardown(test_many_threads, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
