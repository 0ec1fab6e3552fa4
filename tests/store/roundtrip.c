/* SPDX-License-Identifier: Apache-2.0 */
/* What goes into a trace comes out of it: every table, any values, any choice of columns. */
#include "common.h"

#define ROUNDS 60

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

static void write_trace(const char *path, struct batch *const *batches, size_t count,
			const struct store_options *o)
{
	struct store_writer *w;
	struct error err = {0};

	assert_ok(store_create(&w, path, o, &err), err);
	for (size_t i = 0; i < count; i++)
		assert_ok(store_append(w, batches[i], &err), err);
	assert_ok(store_close(w, &err), err);
}

static struct store *open_one(const char *path)
{
	struct store *s;
	struct error err = {0};

	assert_ok(store_open(&s, &path, 1, &err), err);
	return s;
}

/* Rows of op in the order in which their blocks hold them: short calls, long ones. */
static struct batch *part(const struct batch *b, bool far)
{
	struct batch *out;

	assert_int_equal(batch_new(&out, b->table), 0);
	for (size_t i = 0; i < b->rows; i++) {
		bool is = b->table == TABLE_OP && batch_get(b, OP_DUR, i, 0) > 100000000;

		if (is == far)
			assert_int_equal(batch_append(out, b, i, i + 1), 0);
	}
	return out;
}

static void check_table(struct store *s, const struct batch *want, bool far, uint64_t columns)
{
	_cleanup_(batch_freep) struct batch *rows = part(want, far);
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	struct error err = {0};
	size_t at = 0;

	assert_int_equal(store_cursor_new(&c, s), 0);
	for (unsigned int i = 0; i < rows->def->column_count; i++) {
		if (!(columns >> i & 1) && batch_has(rows, i))
			batch_drop_column(rows, i);
	}
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);
		const struct batch *got;

		if (b->table != want->table || b->long_calls != far)
			continue;
		assert_ok(store_decode(c, i, columns, &got, &err), err);
		assert_int_equal(got->rows, b->rows);
		assert_rows(rows, at, got);
		at += got->rows;
	}
	assert_int_equal(at, rows->rows);
}

static void every_table(void **state)
{
	struct draw d = {test_seed(1)};

	for (unsigned int round = 0; round < ROUNDS; round++) {
		struct store_options opt = {.owner = (uid_t)-1, .compression = round % 4 ? 0 : -1};
		enum table_id table = (enum table_id)(round % TABLE_COUNT);
		struct batch *b;
		char name[32];
		struct store *s;

		if (schema_table(table)->kind == TABLE_IS_MADE) /* not recorded: made.c, aside.c */
			continue;
		b = random_rows(&d, table, 1 + draw(&d, 3000));

		snprintf(name, sizeof(name), "t%u", round);
		opt.no_summary = b->table == TABLE_SUMMARY;
		write_trace(in_folder(name), &b, 1, &opt);
		s = open_one(in_folder(name));
		assert_false(store_is_open_ended(s));
		check_table(s, b, false, ~0ull);
		check_table(s, b, true, ~0ull);
		for (unsigned int i = 0; i < 4; i++) {
			uint64_t columns = draw(&d, 0) & draw(&d, 0);

			check_table(s, b, false, columns);
			check_table(s, b, true, columns);
		}
		store_free(s);
		batch_free(b);
	}
}

static void many_rows(void **state)
{
	struct draw d = {test_seed(2)};
	int64_t clock = 1700000000000000000;
	struct batch *b[5] = {file_rows(60)};
	struct batch *all;
	struct store *s;

	for (unsigned int i = 1; i < 5; i++)
		b[i] = likely_ops(&d, 20000, &clock);
	write_trace(in_folder("many"), b, 5, NULL);
	s = open_one(in_folder("many"));
	assert_int_equal(batch_new(&all, TABLE_OP), 0);
	for (unsigned int i = 1; i < 4; i++)
		assert_int_equal(batch_append(all, b[i], 0, b[i]->rows), 0);
	print_message("%.2f bytes per row, all told\n", (double)store_bytes(s) / 80000);
	assert_true(store_bytes(s) <= 80000 * 10); /* the goal of the design */
	assert_int_equal(dims_count(store_dims(s), TABLE_FILE, 0), 60);
	check_table(s, b[0], false, ~0ull);
	for (unsigned int i = 0; i < 5; i++)
		batch_free(b[i]);
	batch_free(all);
	store_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_table),
		cmocka_unit_test(many_rows),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
