// SPDX-License-Identifier: Apache-2.0
/* Groups of threads on a device: sums against plain loops, rivals that are there and such that are not. */
#include <math.h>

#include "feed.h"

#define MS     1000000ll
#define WINDOW (100 * MS)
#define DISK   ((8ll << 20) | 1)

static struct feed feed;

static int setup(void **state)
{
	feed_init(&feed, &feature_press);
	for (uint32_t i = 0; i < 300; i++)
		feed_thread(&feed, i, i % 2 ? "odd" : "even");
	feed_device(&feed, 1, "/data/a", DISK, "ext4");
	feed_device(&feed, 2, "/data/b", DISK, "ext4");
	feed_device(&feed, 3, "/other", DISK + 1, "xfs");
	feed_device(&feed, 4, "/run/x", 25, "tmpfs");
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

static uint64_t seed = 1;

static int64_t chance(int64_t below)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (int64_t)(seed >> 33) % below;
}

/* ---- sums ---- */

enum { GROUPS = 6, WINDOWS = 64, CALLS = 4000 };

struct plain {
	int64_t calls, bytes, time, longest, syncs;
};

/* Of tasks 0, 1 in process 0 (two names), 2, 3 in 1 (one name and device each), ... */
static void test_sums(void **state)
{
	static struct plain plain[GROUPS][WINDOWS];
	int64_t origin = feed.world.first, at = origin;
	size_t rows = 0;

	for (int i = 0; i < CALLS; i++) {
		uint32_t task = (uint32_t)chance(GROUPS);
		int64_t dur = 1 + (chance(10) ? chance(MS) : chance(350 * MS)),
			bytes = chance(4096);
		bool sync = chance(3) == 0;
		int64_t from, stop;

		at += chance(2 * MS * WINDOWS * 50 / CALLS);
		stop = at;
		from = MAX(stop - dur, origin);
		dur = stop - from;
		if (!dur)
			continue;
		feed_call(&feed, sync ? "fsync" : "write", .at = from, .dur = dur, .task = task,
			  .process = task / 2, .file = task < 4 ? 1 : 3, .fd = 3,
			  .bytes = sync ? 0 : bytes, .ret = sync ? 0 : bytes);
		for (int w = 0; w < WINDOWS; w++) {
			int64_t begin = origin + w * WINDOW, end = begin + WINDOW;
			struct plain *p = &plain[task][w];
			int64_t inside;

			inside = MIN(stop, end) - MAX(from, begin);
			p->time += MAX(inside, 0);
			if (stop >= begin && stop < end) {
				p->calls++;
				p->bytes += sync ? 0 : bytes;
				p->syncs += sync;
				p->longest = MAX(p->longest, dur);
			}
		}
	}
	feed_end(&feed, TABLE_PRESS);
	for (size_t i = 0; i < feed.rows->rows; i++) {
		int64_t w = (value(i, PRESS_WINDOW) - origin) / WINDOW,
			task = value(i, PRESS_THREAD_ID);
		const struct plain *p;

		assert_in_range(w, 0, WINDOWS - 1);
		p = &plain[task][w];
		assert_int_equal(value(i, PRESS_CALLS), p->calls);
		assert_int_equal(value(i, PRESS_BYTES), p->bytes);
		assert_int_equal(value(i, PRESS_TIME), p->time);
		assert_int_equal(value(i, PRESS_LONGEST), p->longest);
		assert_int_equal(value(i, PRESS_SYNCS), p->syncs);
		assert_int_equal(value(i, PRESS_PROCESS_ID), task / 2);
		assert_int_equal(value(i, PRESS_DEV), task < 4 ? DISK : DISK + 1);
		assert_int_equal(value(i, PRESS_WIDTH), WINDOW);
	}
	for (int g = 0; g < GROUPS; g++) {
		for (int w = 0; w < WINDOWS; w++)
			rows += plain[g][w].time > 0 || plain[g][w].calls > 0;
	}
	assert_int_equal(feed.rows->rows, rows);
}

/* Reads from the cache, files in memory and waits for locks are no I/O of a device. */
static void test_what_reaches(void **state)
{
	feed_call(&feed, "read", .file = 1, .fd = 3, .ret = 10, .bytes = 10);
	feed_call(&feed, "write", .file = 4, .fd = 4, .ret = 10, .bytes = 10);
	feed_call(&feed, "flock", .file = 1, .fd = 3, .status = STATUS_SLEPT);
	feed_end(&feed, TABLE_PRESS);
	assert_int_equal(feed.rows->rows, 0);
	feed_call(&feed, "read", .file = 1, .fd = 3, .ret = 10, .bytes = 10,
		  .status = STATUS_SLEPT);
	feed_call(&feed, "openat", .file = 2, .fd = 4, .ret = 4, .flags = 040000);
	feed_call(&feed, "read", .file = 2, .fd = 4, .ret = 1000, .bytes = 1000);
	feed_end(&feed, TABLE_PRESS);
	assert_int_equal(feed.rows->rows, 1);
	assert_int_equal(value(0, PRESS_CALLS), 2);
	assert_int_equal(value(0, PRESS_BYTES), 1010);
}

static int64_t bound_calls, bound_named;

static void take_bounds(const struct feed *f)
{
	static int64_t last = -1;

	for (size_t i = 0; i < f->rows->rows; i++) {
		int64_t process = value(i, PRESS_PROCESS_ID);

		bound_calls += value(i, PRESS_CALLS);
		assert_int_equal(value(i, PRESS_CALLS), value(i, PRESS_BYTES));
		assert_int_equal(value(i, PRESS_WIDTH), 2 * WINDOW);
		assert_int_equal(value(i, PRESS_WINDOW) % (2 * WINDOW), 0);
		bound_named += process >= 0 && process != last;
		last = process;
	}
}

/* More groups than have names, more windows than there is room for: sums stay. */
static void test_bounds(void **state)
{
	const int64_t windows = 9000, groups = 80;

	feed.take = take_bounds;
	for (int64_t w = 0; w < windows; w++) {
		for (int64_t g = 0; g < groups; g++)
			feed_call(&feed, "write", .at = FEED_START + w * WINDOW + g * 1000,
				  .dur = 10 * (g + 1), .task = (uint32_t)g, .process = (uint32_t)g,
				  .file = 1, .fd = 3, .ret = 1, .bytes = 1);
	}
	feed_end(&feed, TABLE_PRESS);
	assert_int_equal(bound_calls, windows * groups);
	assert_int_equal(bound_named, 64);
}

/* ---- rivals ---- */

/* A window of two groups: 20 calls of the first, then some of the other. */
struct window {
	int64_t dur,
		syncs; /* of the first's calls; how many of them are syncs, of 4 times the duration */
	int64_t load; /* ns in calls of the other */
};

static void feed_window(int64_t w, const struct window *v)
{
	int64_t at = FEED_START + w * WINDOW;

	for (int i = 0; i < 20; i++) {
		bool sync = i < v->syncs;
		int64_t dur = (sync ? 4 : 1) * v->dur + i * 10;

		feed_call(&feed, sync ? "fsync" : "write", .at = at, .dur = dur, .task = 0,
			  .process = 1, .file = 1, .fd = 3);
		at += dur + 1000;
	}
	assert_true(at < FEED_START + (w + 1) * WINDOW - v->load);
	if (v->load)
		feed_call(&feed, "fdatasync", .at = at, .dur = v->load, .task = 1, .process = 2,
			  .file = 2, .fd = 3);
}

static void test_rival(void **state)
{
	int64_t row = -1, busy = 0;

	for (int64_t w = 0; w < 40; w++) {
		bool loud = w % 8 >= 5;

		busy += loud;
		feed_window(w,
			    &(struct window){loud ? 2 * MS + chance(1000) : MS / 2 + chance(1000),
					     0, loud ? 30 * MS : 0});
	}
	feed_end(&feed, TABLE_PRESS);
	feed_end(&feed, TABLE_RIVAL);
	for (size_t i = 0; i < feed.rows->rows; i++) {
		if (value(i, RIVAL_PROCESS_ID) == 1)
			row = (int64_t)i;
	}
	assert_int_equal(row, 0);
	assert_int_equal(feed.rows->rows, 1);
	assert_int_equal(value(0, RIVAL_RIVAL_ID), 2);
	assert_int_equal(value(0, RIVAL_THREAD_ID), 0);
	assert_int_equal(value(0, RIVAL_RIVAL_THREAD_ID), 1);
	assert_int_equal(value(0, RIVAL_WINDOWS), 40);
	assert_int_equal(value(0, RIVAL_BUSY_WINDOWS), busy);
	assert_int_equal(value(0, RIVAL_SPELLS), 5);
	assert_int_equal(value(0, RIVAL_SYNCS), busy);
	assert_in_range(value(0, RIVAL_QUIET), MS / 2, MS / 2 + 2000);
	assert_in_range(value(0, RIVAL_BUSY), 2 * MS, 2 * MS + 2000);
	assert_in_range(value(0, RIVAL_LOST), busy * 20 * (MS * 3 / 2 - 2000),
			busy * 20 * (MS * 3 / 2 + 2000));
	assert_in_range(value(0, RIVAL_CORRELATION), 700, 1000);
	assert_int_equal(value(0, RIVAL_LAG), 0);
	assert_int_equal(value(0, RIVAL_FIRST), FEED_START + 5 * WINDOW);
}

/* A thread that waits for a CPU does not wait for the device. */
static void test_no_cpu(void **state)
{
	for (int64_t w = 0; w < 40; w++) {
		bool loud = w % 8 >= 5;
		int64_t at = FEED_START + w * WINDOW;

		for (int i = 0; i < 20; i++) {
			int64_t runq = loud ? 3 * MS : 0, dur = MS / 2 + chance(1000) + runq;

			feed_call(&feed, "fsync", .at = at, .dur = dur, .task = 0, .process = 1,
				  .file = 1, .fd = 3, .runq = runq);
			at += dur + 1000;
		}
		if (loud)
			feed_call(&feed, "fsync", .at = at, .dur = 10 * MS, .task = 1, .process = 2,
				  .file = 2, .fd = 3);
	}
	feed_end(&feed, TABLE_PRESS);
	feed_end(&feed, TABLE_RIVAL);
	if (feed.rows->rows)
		feed_print(&feed);
	assert_int_equal(feed.rows->rows, 0);
}

/* Buffered bytes reach the device later. */
static void test_late_rival(void **state)
{
	for (int64_t w = 0; w < 60; w++)
		feed_window(w, &(struct window){w % 15 >= 5 && w % 15 < 8 ? 2 * MS
									  : MS / 2 + chance(1000),
						0, w % 15 >= 2 && w % 15 < 5 ? 30 * MS : 0});
	feed_end(&feed, TABLE_PRESS);
	feed_end(&feed, TABLE_RIVAL);
	assert_int_equal(feed.rows->rows, 1);
	assert_int_equal(value(0, RIVAL_PROCESS_ID), 1);
	assert_int_equal(value(0, RIVAL_LAG), 3 * WINDOW);
	assert_in_range(value(0, RIVAL_BUSY), 2 * MS, 2 * MS + 2000);
}

/* More syncs, which take longer anyway, when the other is there: nobody became slower. */
static void test_other_mix(void **state)
{
	for (int64_t w = 0; w < 40; w++) {
		bool loud = w % 8 >= 5;

		feed_window(w, &(struct window){MS / 2 + chance(20000), loud ? 15 : 2,
						loud ? 30 * MS : 0});
	}
	feed_end(&feed, TABLE_PRESS);
	feed_end(&feed, TABLE_RIVAL);
	assert_int_equal(feed.rows->rows, 0);
}

/* Groups that have nothing to do with each other, with durations as disks have them. */
static void test_no_rivals(void **state)
{
	enum { TASKS = 8 };
	size_t found = 0;

	for (int round = 0; round < 12; round++) {
		for (int64_t w = 0; w < 50; w++) {
			int64_t at = FEED_START + w * WINDOW;

			for (uint32_t t = 0; t < TASKS; t++) {
				for (int64_t n = chance(2) * chance(6); n > 0; n--) {
					int64_t dur =
						MS / 10 + chance(MS) + (chance(20) ? 0 : 4 * MS);

					feed_call(&feed, "fdatasync", .at = at, .dur = dur,
						  .task = t, .process = t, .file = 1, .fd = 3);
					at += dur;
				}
			}
		}
		feed_end(&feed, TABLE_PRESS);
		feed_end(&feed, TABLE_RIVAL);
		found += feed.rows->rows;
		feed_free(&feed);
		setup(NULL);
	}
	assert_in_range(found, 0, 1);
}

/* Two windows are no evidence, whatever they look like. */
static void test_too_few(void **state)
{
	for (int64_t w = 0; w < 4; w++)
		feed_window(w, &(struct window){w >= 2 ? 2 * MS : MS / 2, 0, w >= 2 ? 30 * MS : 0});
	feed_end(&feed, TABLE_PRESS);
	feed_end(&feed, TABLE_RIVAL);
	assert_int_equal(feed.rows->rows, 0);
}

/* As many groups as there can be, of which each is compared with each at each lag: one slows down all others. */
static void test_many_groups(void **state)
{
	int64_t origin = feed.world.first;
	size_t of_first = 0;

	for (int w = 0; w < 800; w++) {
		bool busy = w / 8 % 2;

		for (uint32_t g = 0; g < 64; g++) {
			int64_t dur = g == 0 ? busy * 20 * MS : (MS + chance(MS / 10)) * (1 + busy);

			if (dur > 0)
				feed_call(&feed, "fsync", .at = origin + w * WINDOW + g * MS / 10,
					  .dur = dur, .task = g, .process = g, .file = 1, .fd = 3);
		}
	}
	feed_end(&feed, TABLE_PRESS);
	feed_end(&feed, TABLE_RIVAL);
	for (size_t row = 0; row < feed.rows->rows; row++)
		of_first += value(row, RIVAL_RIVAL_ID) == 0;
	assert_int_equal(of_first, 63);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(test_sums),	TEST(test_what_reaches), TEST(test_bounds),
		TEST(test_rival),	TEST(test_late_rival),	 TEST(test_no_cpu),
		TEST(test_other_mix),	TEST(test_no_rivals),	 TEST(test_too_few),
		TEST(test_many_groups),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
