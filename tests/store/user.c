/* SPDX-License-Identifier: Apache-2.0 */
/* user.c: tables that a user appends: what was recorded stays as it was, whatever happens to them. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "store/user/user.h"

#define ROWS 70001 /* more than a block holds */

static const struct user_column columns[] = {
	{(char *)"row_id", USER_INT}, {(char *)"u", USER_UINT}, {(char *)"f", USER_FLOAT},
	{(char *)"b", USER_BOOL},     {(char *)"t", USER_TIME}, {(char *)"count(*)", USER_TEXT},
	{(char *)"raw", USER_BLOB},
};

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

static void record(const char *path)
{
	struct draw d = {7};
	int64_t clock = 1795254902114000000;
	struct batch *files = file_rows(60), *ops = likely_ops(&d, 5000, &clock);
	struct error err = {0};
	struct store_writer *w;

	unlink(path);
	assert_ok(store_create(&w, path, NULL, &err), err);
	assert_ok(store_append(w, files, &err), err);
	assert_ok(store_append(w, ops, &err), err);
	assert_ok(store_close(w, &err), err);
	batch_free(files);
	batch_free(ops);
}

static bool null_at(size_t row, size_t column)
{
	return hash_u64(row * 16 + column) % 7 == 0 && column != 1;
}

static uint64_t value_at(size_t row, size_t column)
{
	return columns[column].type == USER_BOOL ? row & 1 : hash_u64(row * 64 + column);
}

static struct bytes bytes_at(size_t row, size_t column, uint8_t out[static 16])
{
	uint64_t h = hash_u64(row * 32 + column);

	for (size_t i = 0; i < 16; i++)
		out[i] = (uint8_t)(h >> (i % 8 * 8)); /* any bytes: no UTF-8, NULs */
	return (struct bytes){out, h % 17};
}

static int append(const char *path, const char *name, size_t rows, size_t column_count,
		  struct error *err)
{
	_cleanup_(user_writer_freep) struct user_writer *w = NULL;
	_cleanup_(store_freep) struct store *s = open_trace(path);

	assert_ok(user_writer_new(&w, name, columns, column_count, err), *err);
	for (size_t i = 0; i < rows; i++) {
		for (size_t c = 0; c < column_count; c++) {
			uint8_t room[16];

			if (null_at(i, c))
				assert_int_equal(user_put_null(w), 0);
			else if (user_type_is_bytes(columns[c].type))
				assert_int_equal(user_put_bytes(w, bytes_at(i, c, room)), 0);
			else
				assert_int_equal(user_put(w, value_at(i, c)), 0);
		}
	}
	return user_append(w, s, err);
}

static void annotate(const char *path, const char *name, size_t rows, size_t column_count)
{
	struct error err = {0};

	assert_ok(append(path, name, rows, column_count, &err), err);
}

static const struct user_table *find(const struct store *s, const char *name)
{
	for (size_t i = 0; i < store_user_count(s); i++) {
		const struct user_table *t = store_user_table(s, i);

		if (t && !strcmp(t->name, name))
			return t;
	}
	return NULL;
}

static void assert_cell(struct user_reader *r, size_t column, size_t k, size_t row)
{
	uint8_t room[16];

	assert_int_equal(user_is_null(r, column, k), null_at(row, column));
	if (null_at(row, column))
		return;
	if (user_type_is_bytes(columns[column].type)) {
		struct bytes want = bytes_at(row, column, room), got = user_bytes(r, column, k);

		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
	} else {
		assert_true(user_value(r, column, k) == value_at(row, column));
	}
}

static void assert_table(const struct store *s, const char *name, size_t rows, size_t column_count)
{
	_cleanup_(user_reader_freep) struct user_reader *r = NULL;
	const struct user_table *t = find(s, name);
	size_t row = 0;

	assert_non_null(t);
	assert_int_equal(t->rows, rows);
	assert_int_equal(t->column_count, column_count);
	assert_int_equal(user_reader_new(&r, s), 0);
	for (size_t i = 0; i < t->block_count; i++) {
		struct error err = {0};
		ssize_t n = user_read(r, t, i, &err);

		assert_ok(n, err);
		for (size_t k = 0; k < (size_t)n; k++, row++) {
			for (size_t c = 0; c < column_count; c++)
				assert_cell(r, c, k, row);
		}
	}
	assert_int_equal(row, rows);
}

/* All that was recorded is there, and nothing is called damage. */
static void assert_recorded(const struct store *s, bool whole)
{
	struct store_damage d;
	struct batch *ops = read_rows((struct store *)s, TABLE_OP);

	assert_int_equal(ops->rows, 5000);
	batch_free(ops);
	store_damage(s, &d);
	assert_int_equal(d.rows, 0);
	assert_false(d.gaps);
	assert_false(store_is_open_ended(s));
	if (whole)
		assert_int_equal(d.blocks, 0);
}

static void test_roundtrip(void **state)
{
	const char *path = in_folder("a.trace");
	size_t before, after;
	uint8_t *old, *new;
	struct store *s;

	record(path);
	old = load_file(path, &before);
	annotate(path, "mine", ROWS, ARRAY_SIZE(columns));
	annotate(path, "empty", 0, 2);
	new = load_file(path, &after);
	assert_true(after > before);
	assert_memory_equal(old, new, before);
	s = open_trace(path);
	assert_recorded(s, true);
	assert_table(s, "mine", ROWS, ARRAY_SIZE(columns));
	assert_true(find(s, "mine")->block_count > 1);
	assert_table(s, "empty", 0, 2);
	store_free(s);
	free(old);
	free(new);
}

static void test_replace_and_drop(void **state)
{
	const char *path = in_folder("b.trace");
	struct store *s, *reader;
	struct error err = {0};
	uint64_t changes;

	record(path);
	reader = open_trace(path);
	changes = store_user_changes(reader);
	annotate(path, "mine", 10, 3);
	annotate(path, "other", 5, 1);
	annotate(path, "mine", 77, 6);
	s = open_trace(path);
	assert_table(s, "mine", 77, 6);
	assert_table(s, "other", 5, 1);
	store_free(s);
	annotate(path, "other", 0, 0);
	s = open_trace(path);
	assert_null(find(s, "other"));
	assert_table(s, "mine", 77, 6);
	assert_recorded(s, true);
	store_free(s);
	/* who has it open sees it too */
	assert_ok(store_refresh(reader, &err), err);
	assert_true(store_user_changes(reader) > changes);
	assert_table(reader, "mine", 77, 6);
	assert_null(find(reader, "other"));
	assert_recorded(reader, true);
	store_free(reader);
}

/* Cut anywhere: what was recorded is there, an annotation is there whole or not at all. */
static void test_cut(void **state)
{
	char path[256], cut[256];
	size_t before, first, size;
	uint8_t *data;

	snprintf(path, sizeof(path), "%s", in_folder("c.trace"));
	snprintf(cut, sizeof(cut), "%s", in_folder("cut.trace"));
	record(path);
	free(load_file(path, &before));
	annotate(path, "mine", 3, 7);
	free(load_file(path, &first));
	annotate(path, "mine", 9, 2);
	data = load_file(path, &size);
	for (size_t len = before; len <= size;
	     len += len + 400 < size && len > before + 80 ? 7 : 1) {
		struct store *s;
		const struct user_table *t;

		save_file(cut, data, len);
		s = open_trace(cut);
		assert_recorded(s, len == before || len == first || len == size);
		t = find(s, "mine");
		if (t)
			assert_table(s, "mine", t->rows, t->rows == 3 ? 7 : 2);
		if (len == size)
			assert_int_equal(t->rows, 9);
		else if (len >= first)
			assert_true(t != NULL);
		store_free(s);
		if (len % 5)
			continue;
		annotate(cut, "again", 4, 4); /* what was torn goes */
		s = open_trace(cut);
		assert_recorded(s, true);
		assert_table(s, "again", 4, 4);
		store_free(s);
	}
	free(data);
}

/* A flipped byte of an annotation never costs a recorded row. */
static void test_damage(void **state)
{
	char path[256], bad[256];
	size_t before, size;
	uint8_t *data;

	snprintf(path, sizeof(path), "%s", in_folder("d.trace"));
	snprintf(bad, sizeof(bad), "%s", in_folder("bad.trace"));
	record(path);
	free(load_file(path, &before));
	annotate(path, "mine", 30, 7);
	data = load_file(path, &size);
	for (size_t at = before; at < size; at += 3) {
		_cleanup_(user_reader_freep) struct user_reader *r = NULL;
		struct store *s;
		struct batch *ops;
		const struct user_table *t;

		data[at] ^= 0x55;
		save_file(bad, data, size);
		data[at] ^= 0x55;
		s = open_trace(bad);
		ops = read_rows(s, TABLE_OP);
		assert_int_equal(ops->rows, 5000);
		batch_free(ops);
		t = find(s, "mine");
		assert_int_equal(user_reader_new(&r, s), 0);
		if (t && user_read(r, t, 0, NULL) >= 0)
			assert_table(s, "mine", 30, 7);
		store_free(s);
	}
	free(data);
}

static void test_refused(void **state)
{
	const char *path = in_folder("e.trace");
	static const struct user_column twice[] = {{(char *)"x", USER_INT},
						   {(char *)"X", USER_INT}};
	_cleanup_(user_writer_freep) struct user_writer *w = NULL;
	struct error err = {0};
	struct store_writer *recorder;

	assert_int_equal(user_writer_new(&w, "1x", columns, 1, &err), -EINVAL);
	assert_int_equal(user_writer_new(&w, "", columns, 1, NULL), -EINVAL);
	assert_int_equal(user_writer_new(&w, "x", twice, 2, NULL), -EINVAL);
	unlink(path);
	err = (struct error){0};
	assert_ok(store_create(&recorder, path, NULL, &err), err);
	assert_ok(store_flush(recorder, true, &err), err);
	assert_int_equal(append(path, "x", 1, 1, &err), -EBUSY);
	err = (struct error){0};
	assert_ok(store_close(recorder, &err), err);
	annotate(path, "x", 1, 1);
}

static void test_full(void **state)
{
	const char *path = in_folder("f.trace");
	struct rlimit all, few;
	struct error err = {0};
	size_t before, after;
	uint8_t *old, *new;

	record(path);
	old = load_file(path, &before);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	few = (struct rlimit){before + 1000, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	assert_int_equal(append(path, "mine", 5000, 7, &err), -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	new = load_file(path, &after);
	assert_int_equal(after, before);
	assert_memory_equal(old, new, before);
	free(old);
	free(new);
	annotate(path, "mine", 5000, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_roundtrip), cmocka_unit_test(test_replace_and_drop),
		cmocka_unit_test(test_cut),	  cmocka_unit_test(test_damage),
		cmocka_unit_test(test_refused),	  cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
