/* SPDX-License-Identifier: Apache-2.0 */
/* The merged stream: events of several tables and traces in order of time, each row once. */
#include "engine/ask.h"
#include "fixture.h"
#include "query/query.h"

static struct error last;

static void write_calls(const char *path)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;
	struct batch *b;

	assert_int_equal(store_create(&w, path, &opt, &last), 0);
	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (int64_t i = 0; i < 5000; i++) {
		int64_t end = FIXTURE_ORIGIN + 300000000 + i * 1000;
		int64_t dur =
			i % 50 ? 500
			       : 200000000; /* one of 50 is so long that it has another block */
		size_t row = (size_t)batch_add_row(b);

		if (i % 70) /* else entered before recording: stands where it was written */
			assert_int_equal(batch_set(b, OP_START, row, end - dur), 0);
		assert_int_equal(batch_set(b, OP_DUR, row, dur), 0);
		assert_int_equal(batch_set(b, OP_TID, row, i), 0);
	}
	assert_int_equal(store_append(w, b, &last), 0);
	batch_free(b);
	assert_int_equal(store_close(w, &last), 0);
}

/* Marks between the calls of write_calls(), every tenth one written late, and losses. */
static void write_marks(const char *path, int64_t shift)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct batch *marks, *losses;
	struct store_writer *w;

	assert_int_equal(store_create(&w, path, &opt, &last), 0);
	assert_int_equal(batch_new(&marks, TABLE_MARK), 0);
	assert_int_equal(batch_new(&losses, TABLE_LOSS), 0);
	for (int64_t i = 0; i < 2000; i++) {
		int64_t at = FIXTURE_ORIGIN + 300000000 + i * 2500 + shift;
		size_t row = (size_t)batch_add_row(marks);

		assert_int_equal(batch_set(marks, MARK_AT, row, i % 10 ? at : at - 20000), 0);
		if (i % 7)
			continue;
		row = (size_t)batch_add_row(losses);
		assert_int_equal(batch_set(losses, LOSS_START, row, at - 5000), 0);
		assert_int_equal(batch_set(losses, LOSS_STOP, row, at + 100), 0);
	}
	assert_int_equal(store_append(w, marks, &last), 0);
	assert_int_equal(store_append(w, losses, &last), 0);
	batch_free(marks);
	batch_free(losses);
	assert_int_equal(store_close(w, &last), 0);
}

static uint64_t in_table(struct store *s, enum table_id table)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < store_block_count(s); i++)
		rows += store_block(s, i)->table == table ? store_block(s, i)->rows : 0;
	return rows;
}

/* Calls, losses and marks of three traces are one stream in order of their ends, each row once. */
static void merges_tables(void **state)
{
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	char one[256], other[256], third[256];
	const char *paths[] = {fixture_file("m1.trace", one), fixture_file("m2.trace", other),
			       fixture_file("m3.trace", third)};
	const struct scan_request q[] = {{.table = TABLE_OP, .from = INT64_MIN, .to = INT64_MAX},
					 {.table = TABLE_MARK, .from = INT64_MIN, .to = INT64_MAX},
					 {.table = TABLE_LOSS, .from = INT64_MIN, .to = INT64_MAX}};
	uint64_t rows[ARRAY_SIZE(q)] = {0};
	int64_t before = INT64_MIN;
	size_t which, which_before = 0;
	const struct batch *b;
	const uint32_t *chosen;
	_cleanup_(store_freep) struct store *store = NULL;
	ssize_t n;

	write_calls(one);
	write_marks(other, 500);
	write_marks(third, 1000);
	assert_int_equal(store_open(&store, paths, ARRAY_SIZE(paths), &last), 0);
	assert_int_equal(engine_merge_new(&m, store, NULL, q, ARRAY_SIZE(q), &last), 0);
	while ((n = engine_merge_next(m, &which, &b, &chosen, &last)) > 0) {
		assert_int_equal(b->table, q[which].table);
		for (ssize_t i = 0; i < n; i++) {
			int64_t end = engine_merge_end(m, chosen[i]);

			assert_true(end > before || (end == before && which >= which_before));
			before = end;
			which_before = which;
			rows[which]++;
		}
	}
	assert_int_equal(n, 0);
	for (size_t i = 0; i < ARRAY_SIZE(q); i++)
		assert_int_equal(rows[i], in_table(store, q[i].table));
}

/* A window and a filter leave of each table what they leave of it alone. */
static void merges_within(void **state)
{
	static const char filter[] = "tid % 10 == 3";
	_cleanup_(plan_freep) struct plan *p = NULL;
	_cleanup_(engine_merge_freep) struct engine_merge *m = NULL;
	const int64_t from = FIXTURE_ORIGIN + 301000000, to = from + 2000000;
	struct scan_request q[] = {{.table = TABLE_MARK, .from = from, .to = to},
				   {.table = TABLE_OP, .from = from, .to = to}};
	char one[256], other[256];
	const char *paths[] = {fixture_file("w1.trace", one), fixture_file("w2.trace", other)};
	uint64_t rows[ARRAY_SIZE(q)] = {0}, marks = 0, calls = 0;
	struct query_error wrong = {0};
	const struct batch *b;
	const uint32_t *chosen;
	_cleanup_(store_freep) struct store *store = NULL;
	size_t which;
	ssize_t n;

	write_calls(one);
	write_marks(other, 500);
	assert_int_equal(store_open(&store, paths, ARRAY_SIZE(paths), &last), 0);
	assert_int_equal(query_parse_expr(filter, strlen(filter), TABLE_OP, true, &p, &wrong), 0);
	q[1].filter = p->where;
	for (int64_t i = 0; i < 5000; i++) {
		int64_t at = FIXTURE_ORIGIN + 300000000 + i * 1000;

		calls += i % 70 && i % 10 == 3 && at >= from && at < to;
		at = FIXTURE_ORIGIN + 300000000 + i * 2500 + 500 - (i % 10 ? 0 : 20000);
		marks += i < 2000 && at >= from && at < to;
	}
	assert_int_equal(engine_merge_new(&m, store, NULL, q, ARRAY_SIZE(q), &last), 0);
	while ((n = engine_merge_next(m, &which, &b, &chosen, &last)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			assert_in_range(engine_merge_end(m, chosen[i]), from, to - 1);
		rows[which] += (uint64_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(rows[0], marks);
	assert_int_equal(rows[1], calls);
}

static int make_folder(void **state)
{
	fixture_folder();
	return 0;
}

static int remove_folder(void **state)
{
	fixture_remove();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(merges_tables),
		cmocka_unit_test(merges_within),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
