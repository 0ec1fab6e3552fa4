// SPDX-License-Identifier: Apache-2.0
/* Uses that are folded where there are too many: no call, no byte is lost. */
#include "feed.h"

#include "analysis/features/use/use.h"

#define FOLDERS	  10
#define PER_FOLD  200
#define PROCESSES 3

static struct feed feed;

static int64_t value(unsigned int column, size_t row)
{
	return batch_get(feed.rows, column, row, 0);
}

static void use_one(uint32_t process, int64_t file, int64_t bytes)
{
	const uint32_t task = process;
	const int64_t fd = 3 + process;

	feed_call(&feed, "openat", .task = task, .process = process, .file = file, .ret = fd,
		  .fd = fd, .dur = 3000);
	feed_call(&feed, "read", .task = task, .process = process, .file = file, .fd = fd,
		  .ret = bytes, .bytes = bytes);
	feed_call(&feed, "write", .task = task, .process = process, .file = file, .fd = fd,
		  .ret = 7, .bytes = 7);
	feed_call(&feed, "fsync", .task = task, .process = process, .file = file, .fd = fd,
		  .dur = 5000);
	feed_call(&feed, "close", .task = task, .process = process, .file = file, .fd = fd);
}

static void make_files(void)
{
	char path[64];

	for (int i = 0; i < FOLDERS * PER_FOLD; i++) {
		snprintf(path, sizeof(path), "/srv/%c/file-%c%c%d", 'a' + i % FOLDERS, 'a' + i % 26,
			 'a' + i / 26 % 26, i);
		feed_file(&feed, 1 + i, FILE_TYPE_REGULAR, path, NULL, 0);
	}
}

static void feed_all(size_t memory_max)
{
	struct use_state *s = feed.self;

	make_files();
	if (memory_max)
		s->memory_max = s->fold_at = memory_max;
	/* one file is open all the time, and read by all */
	feed_call(&feed, "openat", .task = 1, .process = 1, .file = 1, .ret = 900, .fd = 900);
	for (int i = 1; i < FOLDERS * PER_FOLD; i++) {
		for (uint32_t process = 1; process <= PROCESSES; process++)
			use_one(process, 1 + i, i % 5000);
		feed_call(&feed, "read", .task = 1, .process = 1, .file = 1, .fd = 900, .ret = 1,
			  .bytes = 1);
	}
	feed_end(&feed, TABLE_USE);
}

static void sums_of(int64_t sums[static SCHEMA_COLUMNS_MAX], int64_t *ret_folded)
{
	*ret_folded = 0;
	memset(sums, 0, SCHEMA_COLUMNS_MAX * sizeof(*sums));
	for (size_t row = 0; row < feed.rows->rows; row++) {
		for (unsigned int i = 0; i < feed.rows->def->column_count; i++) {
			if (!column_is_bytes(feed.rows->def->columns[i].type))
				sums[i] += value(i, row);
		}
		*ret_folded += value(USE_FILES, row) > 1;
	}
}

static void test_nothing_is_lost(void **state)
{
	static const unsigned int same[] = {
		USE_FILES,	USE_CALLS,	  USE_BYTES,	 USE_TIME,	 USE_ERRORS,
		USE_OPENS,	USE_OPEN_TIME,	  USE_READS,	 USE_READ_BYTES, USE_READ_TIME,
		USE_TINY_READS, USE_SMALL_READS,  USE_END_READS, USE_WRITES,	 USE_WRITE_BYTES,
		USE_WRITE_TIME, USE_SMALL_WRITES, USE_SYNCS,	 USE_SYNC_TIME,
	};
	int64_t want[SCHEMA_COLUMNS_MAX], have[SCHEMA_COLUMNS_MAX], folded;
	size_t rows;

	feed_init(&feed, &feature_use);
	feed_all(0);
	sums_of(want, &folded);
	rows = feed.rows->rows;
	assert_int_equal(folded, 0);
	assert_int_equal(rows, (FOLDERS * PER_FOLD - 1) * PROCESSES + 1);
	feed_free(&feed);

	feed_init(&feed, &feature_use);
	feed_all(300000);
	sums_of(have, &folded);
	assert_in_range(folded, 1, FOLDERS * PROCESSES);
	assert_in_range(feed.rows->rows, FOLDERS * PROCESSES, rows / 2);
	for (size_t i = 0; i < ARRAY_SIZE(same); i++)
		assert_int_equal(have[same[i]], want[same[i]]);
	for (size_t row = 0; row < feed.rows->rows; row++) {
		struct bytes pattern = batch_get_bytes(feed.rows, USE_PATTERN, row);

		assert_int_equal(value(USE_INEXACT, row), value(USE_FILES, row) > 1);
		if (value(USE_FILES, row) > 1)
			assert_int_equal(pattern.len, strlen("/srv/a/"));
		if (value(USE_FILE_ID, row) == 0) /* the one that is open is a row of its own */
			assert_int_equal(value(USE_READS, row), FOLDERS * PER_FOLD - 1);
	}
	feed_free(&feed);
}

/* close_range(3, -1): the kernel looks at 32 bits of each. */
static void test_close_range(void **state)
{
	feed_init(&feed, &feature_use);
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/f", NULL, 0);
	for (int64_t fd = 3; fd < 9; fd++) {
		feed_call(&feed, "openat", .task = 1, .process = 1, .file = 1, .ret = fd, .fd = fd);
		feed_call(&feed, "close_range", .task = 1, .process = 1, .a0 = 3, .a1 = -1);
	}
	feed_end(&feed, TABLE_USE);
	assert_int_equal(feed.rows->rows, 1);
	assert_int_equal(value(USE_OPENS, 0), 6);
	assert_int_equal(value(USE_OPEN_MOST, 0), 1);
	feed_free(&feed);
}

/* Descriptors of processes that ended take no memory. */
static void test_memory_of_processes(void **state)
{
	const struct use_state *s;

	feed_init(&feed, &feature_use);
	s = feed.self;
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/f", NULL, 0);
	for (uint32_t i = 0; i < 2000; i++) {
		feed_call(&feed, "openat", .task = i, .process = i, .file = 1, .ret = 5000);
		feed_call(&feed, "exit_group", .task = i, .process = i);
	}
	feed_end(&feed, TABLE_USE);
	assert_in_range(s->memory, 2000 * USE_COST,
			2000 * (USE_COST + sizeof(struct use_rest)) + 4096);
	feed_free(&feed);
}

/* More threads of uses than are told apart: no use has more of them than there are. */
static void test_many_threads(void **state)
{
	const uint32_t tasks = 60000;

	feed_init(&feed, &feature_use);
	for (int64_t i = 0; i < 9; i++)
		feed_file(&feed, 1 + i, FILE_TYPE_REGULAR, "/f", NULL, 0);
	for (uint32_t task = 0; task < tasks; task++) {
		for (int64_t i = 0; i < 4 * 9; i++)
			feed_call(&feed, "fstat", .task = task, .process = 1, .file = 1 + i % 9,
				  .fd = 3);
	}
	feed_end(&feed, TABLE_USE);
	assert_int_equal(feed.rows->rows, 9);
	for (size_t row = 0; row < 9; row++) {
		assert_in_range(value(USE_THREADS, row), 2, tasks);
		assert_int_equal(value(USE_INEXACT, row), value(USE_THREADS, row) < tasks);
	}
	feed_free(&feed);
}

/* A short write to a socket, and what the thread does then: the rest is lost only if it closes the socket at once. */
static void test_short_writes_to_sockets(void **state)
{
	static const struct {
		const char *op;
		int64_t file, bytes, size, shorts;
		bool waits;
	} then[] = {
		{"fstat", 9, 0, 0, 1},
		{"getpid", 0, 0, 0, 1},
		{"shutdown", 1, 0, 0, 1},
		{"shutdown", 9, 0, 0, 1},
		{"sendto", 1, 400, 400, 0},   /* the rest */
		{"sendto", 1, 1000, 1000, 0}, /* perhaps the rest and more */
		{"sendto", 9, 1000, 1000, 1}, /* to another one */
		{"recvfrom", 1, 0, 100, 0},   /* the peer closed */
		{"epoll_wait", 0, 0, 0, 0, true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(then); i++) {
		feed_init(&feed, &feature_use);
		feed_file(&feed, 1, FILE_TYPE_SOCKET, "1.1.1.1:80", "2.2.2.2:9", 0);
		feed_file(&feed, 9, FILE_TYPE_SOCKET, "1.1.1.1:80", "2.2.2.2:8", 0);
		feed_call(&feed, "sendto", .task = 1, .process = 1, .file = 1, .fd = 5,
			  .bytes = 600, .size = 1000);
		feed_call(&feed, then[i].op, .task = 1, .process = 1, .file = then[i].file, .fd = 5,
			  .bytes = then[i].bytes, .size = then[i].size, .waits = then[i].waits);
		feed_call(&feed, "close", .task = 1, .process = 1, .file = 1, .fd = 5);
		feed_end(&feed, TABLE_USE);
		for (size_t row = 0; row < feed.rows->rows; row++) {
			int64_t want = value(USE_FILE_ID, row) == 0 ? then[i].shorts : 0;

			assert_int_equal(value(USE_SHORT_WRITES, row), want);
		}
		feed_free(&feed);
	}
}

static void move(const char *op, uint32_t process, int64_t from, int64_t to)
{
	feed_call(&feed, op, .task = process, .process = process, .file = 1, .fd = 5,
		  .place = from + 1, .ret = to - from, .bytes = to - from);
}

/* What a reader may have missed was written after it began to read: it may not need what was there already. */
static void test_unread_since(void **state)
{
	static const struct {
		int64_t there, read, then, first; /* -1: null */
	} of[] = {
		{0, 0, 30, 0},
		{100, 100, 130, 100}, /* a log that a reader follows, but not to its end */
		{50, 100, 130, 100},
		{100, 60, 101, -1}, /* a file of which a reader needs the beginning */
		{100, 60, 130, -1},
		{5000000000, 5000000000, 5000000010, -1}, /* this many are not counted */
	};

	for (size_t i = 0; i < ARRAY_SIZE(of); i++) {
		feed_init(&feed, &feature_use);
		feed_file(&feed, 1, FILE_TYPE_REGULAR, "/srv/log", NULL, 0);
		if (of[i].there)
			move("pwrite64", 1, 0, of[i].there);
		move("pread64", 2, 0, MIN(of[i].there, of[i].read));
		if (of[i].read > of[i].there) {
			move("pwrite64", 1, of[i].there, of[i].read);
			move("pread64", 2, of[i].there, of[i].read);
		}
		move("pwrite64", 1, MAX(of[i].there, of[i].read), of[i].then);
		feed_end(&feed, TABLE_USE);
		for (size_t row = 0; row < feed.rows->rows; row++) {
			if (value(USE_WRITES, row))
				assert_int_equal(batch_get(feed.rows, USE_UNREAD_FIRST, row, -1),
						 of[i].first);
		}
		feed_free(&feed);
	}
}

/* Nothing but a call that began before recording and never ended: its times are unknown. */
static void test_no_time(void **state)
{
	feed_init(&feed, &feature_use);
	feed_file(&feed, 1, FILE_TYPE_REGULAR, "/srv/a", NULL, 0);
	feed_call(&feed, "read", .file = 1, .fd = 3, .no_start = true, .no_stop = true);
	feed_end(&feed, TABLE_USE);
	assert_int_equal(feed.rows->rows, 1);
	assert_int_equal(value(USE_CALLS, 0), 1);
	assert_true(batch_is_null(feed.rows, USE_FIRST, 0));
	assert_true(batch_is_null(feed.rows, USE_LAST, 0));
	feed_free(&feed);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_lost),
		cmocka_unit_test(test_close_range),
		cmocka_unit_test(test_memory_of_processes),
		cmocka_unit_test(test_many_threads),
		cmocka_unit_test(test_short_writes_to_sockets),
		cmocka_unit_test(test_unread_since),
		cmocka_unit_test(test_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
