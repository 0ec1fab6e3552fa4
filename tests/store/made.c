/* SPDX-License-Identifier: Apache-2.0 */
/* made.c: tables that are appended to a trace: what was recorded stays as it was, whatever happens to them. */
#include "common.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "store/made/made.h"

#define ROWS 140001 /* more than two blocks hold */

static const struct column_def columns[] = {
	{"row_id", COLUMN_INT, ">op", ""}, {"u", COLUMN_UINT, "", ""},
	{"f", COLUMN_FLOAT, "", ""},	   {"b", COLUMN_BOOL, "", ""},
	{"t", COLUMN_TIME, "ns", ""},	   {"count(*)", COLUMN_TEXT, "", ""},
	{"raw", COLUMN_BLOB, "", ""},
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
	return columns[column].type == COLUMN_BOOL ? row & 1 : hash_u64(row * 64 + column);
}

static struct bytes bytes_at(size_t row, size_t column, uint8_t out[static 16])
{
	uint64_t h = hash_u64(row * 32 + column);

	for (size_t i = 0; i < 16; i++)
		out[i] = (uint8_t)(h >> (i % 8 * 8)); /* any bytes: no UTF-8, NULs */
	return (struct bytes){out, h % 17};
}

/* Rows [from, to) of the table. */
static void add_rows(struct batch *b, size_t from, size_t to)
{
	batch_clear(b);
	for (size_t i = from; i < to; i++) {
		size_t row = (size_t)batch_add_row(b);

		for (unsigned int c = 0; c < b->def->column_count; c++) {
			uint8_t room[16];
			struct bytes v;

			if (null_at(i, c))
				continue;
			v = bytes_at(i, c, room);
			if (column_is_bytes(columns[c].type))
				assert_int_equal(batch_set_bytes(b, c, row, v.data, v.len), 0);
			else
				assert_int_equal(batch_set(b, c, row, (int64_t)value_at(i, c)), 0);
		}
	}
}

static int make(struct store_writer *w, const char *name, size_t rows, size_t column_count,
		struct error *err)
{
	const struct table_def def = made_own(name, columns, column_count);
	const struct store_making what = {
		.table = TABLE_OWN, .own = &def, .origin = "test", .options = "x", .version = 7};
	struct batch *b;
	int r = store_made_begin(w, &what, err);

	assert_int_equal(batch_new_of(&b, TABLE_OWN, &def), 0);
	for (size_t i = 0; i < rows && r >= 0; i += 1000) {
		add_rows(b, i, MIN(rows, i + 1000));
		r = store_made_rows(w, b, err);
	}
	batch_free(b);
	return r < 0 ? r : store_made_end(w, rows == 77, err);
}

static int append(const char *path, const char *name, size_t rows, size_t column_count,
		  struct error *err)
{
	_cleanup_(store_freep) struct store *s = open_trace(path);
	_cleanup_(store_abandonp) struct store_writer *w = NULL;
	int r = store_reopen(&w, s, err);

	if (r >= 0)
		r = make(w, name, rows, column_count, err);
	return r < 0 ? r : store_close(TAKE_PTR(w), err);
}

static void annotate(const char *path, const char *name, size_t rows, size_t column_count)
{
	struct error err = {0};

	assert_ok(append(path, name, rows, column_count, &err), err);
}

static const struct store_made *find(const struct store *s, const char *name)
{
	for (size_t i = 0; i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);

		if (m && !strcmp(m->name, name))
			return m;
	}
	return NULL;
}

static void assert_cell(const struct batch *b, unsigned int column, size_t k, size_t row)
{
	uint8_t room[16];

	assert_int_equal(batch_is_null(b, column, k), null_at(row, column));
	if (null_at(row, column))
		return;
	if (column_is_bytes(columns[column].type)) {
		struct bytes want = bytes_at(row, column, room),
			     got = batch_get_bytes(b, column, k);

		assert_int_equal(got.len, want.len);
		assert_memory_equal(got.data, want.data, want.len);
	} else {
		assert_true((uint64_t)b->columns[column].val[k] == value_at(row, column));
	}
}

/* The rows that can be read are those of the table; how many. */
static size_t assert_rows_of(const struct store *s, const struct store_made *m, bool whole)
{
	_cleanup_(store_cursor_freep) struct store_cursor *c = NULL;
	size_t row = 0;

	assert_int_equal(store_cursor_new(&c, s), 0);
	for (size_t i = m->first_block; i < m->first_block + m->block_count; i++) {
		const struct batch *b;
		struct error err = {0};
		int r = store_decode(c, i, ~0ull, &b, &err);

		assert_true(store_block(s, i)->def == m->def && !store_block(s, i)->replaced);
		if (r == -EBADMSG && !whole)
			continue;
		assert_ok(r, err);
		for (size_t k = 0; k < b->rows; k++, row++) {
			for (unsigned int col = 0; col < m->def->column_count; col++)
				assert_cell(b, col, k, row);
		}
	}
	return row;
}

static void assert_table(const struct store *s, const char *name, size_t rows, size_t column_count)
{
	const struct store_made *m = find(s, name);

	assert_non_null(m);
	assert_int_equal(m->rows, rows);
	assert_int_equal(m->def->column_count, column_count);
	assert_string_equal(m->origin, "test");
	assert_string_equal(m->options, "x");
	assert_int_equal(m->version, 7);
	assert_int_equal(m->partial, rows == 77);
	assert_false(store_made_is_stale(s, m));
	assert_int_equal(assert_rows_of(s, m, true), rows);
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
	assert_false(d.gaps || d.torn);
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
	assert_true(find(s, "mine")->block_count > 2);
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
	changes = store_made_changes(reader);
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
	assert_true(store_made_changes(reader) > changes);
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
		const struct store_made *t;

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
		struct store *s;
		struct batch *ops;
		const struct store_made *t;
		struct store_damage d;

		data[at] ^= 0x55;
		save_file(bad, data, size);
		data[at] ^= 0x55;
		s = open_trace(bad);
		ops = read_rows(s, TABLE_OP);
		assert_int_equal(ops->rows, 5000);
		batch_free(ops);
		t = find(s, "mine");
		if (t)
			assert_rows_of(s, t, false);
		store_damage(s, &d);
		assert_false(d.gaps || d.torn || d.calls);
		store_free(s);
	}
	free(data);
}

static int begin(struct store_writer *w, const char *name, const struct column_def *of,
		 size_t count)
{
	const struct table_def def = made_own(name, of, count);
	const struct store_making what = {.table = TABLE_OWN, .own = &def, .origin = "test"};

	return store_made_begin(w, &what, NULL);
}

static void test_refused(void **state)
{
	static const struct column_def twice[] = {{"x", COLUMN_INT, "", ""},
						  {"X", COLUMN_INT, "", ""}};
	static const struct column_def odd = {"\xff", COLUMN_INT, "", ""};
	const char *path = in_folder("e.trace");
	struct error err = {0};
	struct store_writer *w;

	unlink(path);
	assert_ok(store_create(&w, path, NULL, &err), err);
	assert_int_equal(begin(w, "1x", columns, 1), -EINVAL);
	assert_int_equal(begin(w, "", columns, 1), -EINVAL);
	assert_int_equal(begin(w, "op", columns, 1), -EINVAL);
	assert_int_equal(begin(w, "x", twice, 2), -EINVAL);
	assert_int_equal(begin(w, "x", &odd, 1), -EINVAL);
	assert_ok(store_flush(w, true, &err), err);
	assert_int_equal(append(path, "x", 1, 1, &err), -EBUSY);
	err = (struct error){0};
	assert_ok(store_close(w, &err), err);
	annotate(path, "x", 1, 1);
}

/* Of a trace that is being recorded the recorder makes them, which goes on behind. */
static void test_growing(void **state)
{
	const char *path = in_folder("g.trace");
	int64_t clock = 1795254902114000000;
	struct draw d = {7};
	struct batch *files = file_rows(60), *ops = likely_ops(&d, 5000, &clock);
	struct store_writer *w;
	struct error err = {0};
	struct store *s;

	unlink(path);
	assert_ok(store_create(&w, path, NULL, &err), err);
	assert_ok(store_append(w, files, &err), err);
	assert_ok(store_flush(w, true, &err), err);
	assert_ok(make(w, "mine", 70000, 7, &err), err);
	s = open_trace(path);
	assert_table(s, "mine", 70000, 7);
	assert_true(store_is_growing(s));
	assert_ok(make(w, "mine", 5, 3, &err), err);
	assert_ok(store_refresh(s, &err), err);
	assert_table(s, "mine", 5, 3);
	assert_ok(store_append(w, ops, &err), err);
	assert_ok(store_close(w, &err), err);
	assert_ok(store_refresh(s, &err), err);
	assert_int_equal(find(s, "mine")->rows, 5);
	assert_true(store_made_is_stale(s, find(s, "mine")));
	assert_recorded(s, true);
	store_free(s);
	annotate(path, "mine", 6, 3);
	s = open_trace(path);
	assert_table(s, "mine", 6, 3);
	store_free(s);
	batch_free(files);
	batch_free(ops);
}

/* What was given up on the way is no damage to who had the trace open, and no obstacle to what comes later. */
static void test_abandoned(void **state)
{
	const char *path = in_folder("h.trace");
	const struct table_def def = made_own("mine", columns, ARRAY_SIZE(columns));
	const struct store_making what = {.table = TABLE_OWN, .own = &def, .origin = "test"};
	struct store_file_changes changes;
	struct error err = {0};
	struct store *s, *reader;
	struct store_writer *w;
	struct batch *b;
	size_t before, after;

	record(path);
	annotate(path, "mine", 5, 2);
	free(load_file(path, &before));
	reader = open_trace(path);
	s = open_trace(path);
	assert_ok(store_reopen(&w, s, &err), err);
	assert_ok(store_made_begin(w, &what, &err), err);
	assert_int_equal(batch_new_of(&b, TABLE_OWN, &def), 0);
	add_rows(b, 0, 50000);
	for (unsigned int i = 0; i < 3; i++)
		assert_ok(store_made_rows(w, b, &err), err);
	assert_ok(store_refresh(reader, &err), err);
	assert_table(reader, "mine", 5, 2);
	free(load_file(path, &after));
	assert_true(after > before);
	store_abandon(w);
	assert_ok(store_refresh(reader, &err), err);
	assert_table(reader, "mine", 5, 2);
	assert_recorded(reader, true);
	store_file_changes(reader, &changes);
	assert_int_equal(changes.what, 0);
	free(load_file(path, &after));
	assert_int_equal(after, before);
	annotate(path, "mine", 9, 7);
	assert_ok(store_refresh(reader, &err), err);
	assert_table(reader, "mine", 9, 7);
	assert_recorded(reader, true);
	batch_free(b);
	store_free(reader);
	store_free(s);
}

/* The same, where a longer table stands there before the reader looks again, finished or not. */
static void test_abandoned_and_made_again(void **state)
{
	const char *path = in_folder("i.trace");
	const struct table_def def = made_own("mine", columns, ARRAY_SIZE(columns));
	const struct store_making what = {.table = TABLE_OWN, .own = &def, .origin = "test"};
	struct batch *b;

	assert_int_equal(batch_new_of(&b, TABLE_OWN, &def), 0);
	add_rows(b, 0, 50000);
	for (unsigned int finished = 0; finished < 2; finished++) {
		struct error err = {0};
		struct store *s, *reader;
		struct store_writer *w;

		record(path);
		reader = open_trace(path);
		s = open_trace(path);
		assert_ok(store_reopen(&w, s, &err), err);
		assert_ok(store_made_begin(w, &what, &err), err);
		for (unsigned int i = 0; i < 2; i++)
			assert_ok(store_made_rows(w, b, &err), err);
		assert_ok(store_refresh(reader, &err), err);
		store_abandon(w);
		assert_ok(store_reopen(&w, s, &err), err);
		assert_ok(make(w, "other", ROWS, 3, &err), err);
		if (finished)
			assert_ok(store_close(w, &err), err);
		assert_ok(store_refresh(reader, &err), err);
		assert_table(reader, "other", ROWS, 3);
		if (!finished)
			assert_ok(store_close(w, &err), err);
		assert_ok(store_refresh(reader, &err), err);
		assert_table(reader, "other", ROWS, 3);
		assert_null(find(reader, "mine"));
		assert_recorded(reader, true);
		store_free(reader);
		store_free(s);
	}
	batch_free(b);
}

/* Heads that take next to nothing in the file do not take all memory. */
static void test_heads(void **state)
{
	enum { TEXT = 1 << 20, HEADS = 80 };
	const char *path = in_folder("j.trace");
	char *text = malloc(TEXT + 1), name[16];
	struct table_def def = made_own(name, columns, 2);
	const struct store_making what = {
		.table = TABLE_OWN, .own = &def, .origin = "test", .options = text};
	struct store *reader, *s;
	struct error err = {0};
	struct store_writer *w;
	int taken = 0, r = 0;
	size_t len;

	assert_non_null(text);
	memset(text, 'a', TEXT);
	text[TEXT] = '\0';
	record(path);
	reader = open_trace(path);
	s = open_trace(path);
	assert_ok(store_reopen(&w, s, &err), err);
	for (; taken < HEADS && r >= 0; taken += r >= 0) {
		snprintf(name, sizeof(name), "t%d", taken);
		r = store_made_begin(w, &what, &err);
		if (r >= 0)
			assert_ok(store_made_end(w, false, &err), err);
	}
	assert_int_equal(r, -EFBIG);
	assert_in_range(taken, 60, 70);
	err = (struct error){0};
	assert_ok(store_close(w, &err), err);
	free(load_file(path, &len));
	assert_true(len < 1 << 20);
	assert_ok(store_refresh(reader, &err), err);
	assert_int_equal(store_made_count(reader), taken);
	assert_recorded(reader, true);
	store_free(reader);
	store_free(s);
	free(text);
}

/* A table counts although the index behind it, which would be a recorder's 256th block, found no room. */
static void test_full_index(void **state)
{
	const char *path = in_folder("k.trace");
	struct rlimit all, few;
	struct store_stats stats;
	struct error err = {0};
	struct store_writer *w;
	struct store *s;

	unlink(path);
	assert_ok(store_create(&w, path, NULL, &err), err);
	store_writer_stats(w, &stats);
	for (uint64_t i = stats.blocks; i < 255; i++)
		assert_ok(make(w, "mine", 0, 2, &err), err);
	store_writer_stats(w, &stats);
	assert_int_equal(stats.blocks, 255);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &all), 0);
	few = (struct rlimit){stats.bytes + (128 << 10) + 300, all.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &few), 0);
	assert_ok(make(w, "last", 0, 2, &err), err);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &all), 0);
	store_writer_stats(w, &stats);
	assert_int_equal(stats.blocks, 256);
	assert_ok(store_close(w, &err), err);
	s = open_trace(path);
	assert_table(s, "last", 0, 2);
	store_free(s);
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
		cmocka_unit_test(test_roundtrip),
		cmocka_unit_test(test_replace_and_drop),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_growing),
		cmocka_unit_test(test_abandoned),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_abandoned_and_made_again),
		cmocka_unit_test(test_heads),
		cmocka_unit_test(test_full_index),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
