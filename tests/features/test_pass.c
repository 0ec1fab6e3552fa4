// SPDX-License-Identifier: Apache-2.0
/* Features of whole traces: of several, of calls that no program can make, of a file system without room. */
#include "../store/common.h"

#include <sys/resource.h>
#include <unistd.h>

#include "analysis/features/feature_pass.h"
#include "schema/ops.h"
#include "store/made/made.h"

#define CALLS 200
#define BASE  1795254902114000000

static int setup(void **state)
{
	make_folder();
	return 0;
}

static int teardown(void **state)
{
	remove_folder();
	return 0;
}

static void add_things(struct store_writer *w, struct error *err)
{
	struct batch *threads, *processes, *files = file_rows(3);
	ssize_t row;

	assert_int_equal(batch_new(&processes, TABLE_PROCESS), 0);
	row = batch_add_row(processes);
	assert_int_equal(batch_set(processes, PROCESS_ID, (size_t)row, 0), 0);
	assert_int_equal(batch_set(processes, PROCESS_PID, (size_t)row, 4711), 0);
	assert_int_equal(batch_new(&threads, TABLE_THREAD), 0);
	row = batch_add_row(threads);
	assert_int_equal(batch_set(threads, THREAD_ID, (size_t)row, 0), 0);
	assert_int_equal(batch_set(threads, THREAD_PROCESS_ID, (size_t)row, 0), 0);
	assert_ok(store_append(w, processes, err), *err);
	assert_ok(store_append(w, threads, err), *err);
	assert_ok(store_append(w, files, err), *err);
	batch_free(processes);
	batch_free(threads);
	batch_free(files);
}

/* A trace of calls on file 1, the i-th of operation ops[i % count], of `most` bytes and as many ns. */
static void record(const char *path, const int64_t *ops, size_t count, int64_t most)
{
	struct error err = {0};
	struct store_writer *w;
	struct batch *b;

	unlink(path);
	assert_ok(store_create(&w, path, NULL, &err), err);
	add_things(w, &err);
	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (int i = 0; i < CALLS; i++) {
		const struct {
			unsigned int column;
			int64_t value;
		} values[] = {
			{OP_START, BASE + i * 1000},
			{OP_DUR, MAX(most, 500)},
			{OP_THREAD_ID, 0},
			{OP_OP, ops[(size_t)i % count]},
			{OP_CLASS, CLASS_DATA},
			{OP_FILE_ID, 1},
			{OP_FILE2_ID, 2},
			{OP_FD, 3},
			{OP_RET, most},
			{OP_BYTES, most},
			{OP_A1, 0},
		};
		size_t row = (size_t)batch_add_row(b);

		for (size_t k = 0; k < ARRAY_SIZE(values); k++)
			assert_int_equal(batch_set(b, values[k].column, row, values[k].value), 0);
	}
	assert_ok(store_append(w, b, &err), err);
	assert_ok(store_close(w, &err), err);
	batch_free(b);
}

static const char *path_of(char room[static 4096], const char *name)
{
	snprintf(room, 4096, "%s", in_folder(name));
	return room;
}

/* The rows of a table that readers see, and the sum of a column. */
static size_t rows_of(const struct store *s, enum table_id table, unsigned int column,
		      int64_t *ret_sum)
{
	struct store_cursor *c;
	struct error err = {0};
	size_t rows = 0;

	*ret_sum = 0;
	assert_int_equal(store_cursor_new(&c, s), 0);
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct batch *b;

		if (store_block(s, i)->table != table || !store_block_counts(store_block(s, i)))
			continue;
		assert_ok(store_decode(c, i, ~0ull, &b, &err), err);
		rows += b->rows;
		for (size_t k = 0; k < b->rows; k++)
			*ret_sum += batch_get(b, column, k, 0);
	}
	store_cursor_free(c);
	return rows;
}

/* Sums of what a damaged trace says stop at their limit. */
static void test_limits(void **state)
{
	static const struct {
		enum table_id table;
		unsigned int column;
	} sums[] = {
		{TABLE_USE, USE_TIME},	      {TABLE_USE, USE_BYTES},
		{TABLE_USE, USE_WRITE_BYTES}, {TABLE_USE, USE_WRITE_TIME},
		{TABLE_PRESS, PRESS_BYTES},   {TABLE_PRESS, PRESS_TIME},
	};
	const int64_t write = op_find("write");
	char a[4096];
	const char *const path = path_of(a, "limits.trace");
	struct error err = {0};
	struct store *s;
	int64_t sum;

	record(path, &write, 1, INT64_MAX / 3);
	assert_ok(store_open(&s, &path, 1, &err), err);
	assert_ok(features_need(s, TABLE_USE, &err), err);
	for (size_t i = 0; i < ARRAY_SIZE(sums); i++) {
		size_t rows = rows_of(s, sums[i].table, sums[i].column, &sum);

		assert_true(sum >= 0);
		if (sums[i].table == TABLE_USE)
			assert_true(rows == 1 && sum == INT64_MAX);
	}
	store_free(s);
}

/* Ids that a damaged trace makes large take no memory for those below. */
static void test_far_ids(void **state)
{
	char a[4096];
	const char *const path = path_of(a, "far.trace");
	struct rusage before, after;
	struct error err = {0};
	struct store_writer *w;
	struct batch *b;
	struct store *s;
	int64_t calls;

	assert_ok(store_create(&w, path, NULL, &err), err);
	add_things(w, &err);
	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (int i = 0; i < CALLS; i++) {
		size_t row = (size_t)batch_add_row(b);

		assert_int_equal(batch_set(b, OP_START, row, BASE + i), 0);
		assert_int_equal(batch_set(b, OP_DUR, row, 1), 0);
		assert_int_equal(batch_set(b, OP_OP, row, op_find("write")), 0);
		assert_int_equal(batch_set(b, OP_THREAD_ID, row, 0), 0);
		assert_int_equal(batch_set(b, OP_FILE_ID, row, (1 << 26) - 1 - i % 2), 0);
	}
	assert_ok(store_append(w, b, &err), err);
	assert_ok(store_close(w, &err), err);
	batch_free(b);
	assert_ok(store_open(&s, &path, 1, &err), err);
	getrusage(RUSAGE_SELF, &before);
	assert_ok(features_need(s, TABLE_USE, &err), err);
	getrusage(RUSAGE_SELF, &after);
	assert_true(after.ru_maxrss - before.ru_maxrss < 128 << 10);
	assert_int_equal(rows_of(s, TABLE_USE, USE_CALLS, &calls), 2);
	assert_int_equal(calls, CALLS);
	store_free(s);
}

/* What one of them has is no answer for both. */
static void test_several(void **state)
{
	const int64_t write = op_find("write");
	char a[4096], b[4096];
	const char *const paths[] = {path_of(a, "a.trace"), path_of(b, "b.trace")};
	struct error err = {0};
	struct store *s;
	int64_t calls;

	record(a, &write, 1, 7);
	record(b, &write, 1, 7);
	assert_ok(store_open(&s, paths, 1, &err), err);
	assert_false(features_are_current(s));
	assert_ok(features_need(s, TABLE_USE, &err), err);
	assert_true(features_are_current(s));
	store_free(s);
	assert_ok(store_open(&s, paths, 2, &err), err);
	assert_false(features_are_current(s));
	assert_ok(features_need(s, TABLE_USE, &err), err);
	assert_true(features_are_current(s));
	assert_int_equal(rows_of(s, TABLE_USE, USE_CALLS, &calls), 2);
	assert_int_equal(calls, 2 * CALLS);
	store_free(s);
	assert_ok(store_open(&s, paths, 1, &err), err);
	assert_true(features_are_current(s));
	assert_int_equal(rows_of(s, TABLE_USE, USE_CALLS, &calls), 1);
	assert_int_equal(calls, CALLS);
	store_free(s);
}

/* Operations beyond all codes, which a damaged trace may have: calls of unknown operations. */
static void test_codes(void **state)
{
	int64_t ops[3 * 64 + 3] = {-1, INT64_MAX, INT64_MIN};
	size_t count = 3;
	char a[4096];
	const char *const path = path_of(a, "codes.trace");
	struct error err = {0};
	struct store *s;
	int64_t calls;

	for (int64_t i = 0; i < 64; i++) {
		ops[count++] = OP_CODE_MAX + i;
		ops[count++] = 15 * OP_CODE_MAX + i;
		ops[count++] = 65536 + i; /* read(2) is 0 */
	}
	record(path, ops, count, 7);
	assert_ok(store_open(&s, &path, 1, &err), err);
	assert_ok(features_need(s, TABLE_USE, &err), err);
	assert_int_equal(rows_of(s, TABLE_USE, USE_CALLS, &calls), 1);
	assert_int_equal(calls, CALLS);
	rows_of(s, TABLE_USE, USE_READS, &calls);
	assert_int_equal(calls, 0);
	store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_codes),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_far_ids),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
