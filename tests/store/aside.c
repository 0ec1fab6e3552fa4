/* SPDX-License-Identifier: Apache-2.0 */
/* aside.c: tables that are made of several traces, or of one that cannot be written: they lie aside, for one reader. */
#include "common.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "store/made/made.h"

#define ROWS 70000 /* more than a block holds */

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

static void record(const char *path, uint64_t seed)
{
	struct draw d = {seed};
	int64_t clock = 1795254902114000000;
	struct batch *files = file_rows(60), *ops = likely_ops(&d, 500, &clock);
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

static const char *path_of(char room[static 4096], const char *name)
{
	snprintf(room, 4096, "%s", in_folder(name));
	return room;
}

static off_t size_of(const char *path)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return st.st_size;
}

struct rows {
	size_t count;
	int64_t file; /* of every row */
	unsigned int calls;
};

static int put(void *arg, struct store_writer *w, uint64_t covered, struct error *err)
{
	struct rows *rows = arg;
	const struct store_making what = {
		.table = TABLE_FDLIFE, .origin = "test", .version = 3, .covered = covered};
	struct batch *b;
	int r = store_made_begin(w, &what, err);

	rows->calls++;
	assert_int_equal(batch_new(&b, TABLE_FDLIFE), 0);
	for (size_t i = 0; i < rows->count && r >= 0; i++) {
		size_t row;

		if (b->rows == 30000) {
			r = store_made_rows(w, b, err);
			batch_clear(b);
		}
		row = (size_t)batch_add_row(b);
		assert_int_equal(batch_set(b, FDLIFE_FILE_ID, row, rows->file), 0);
		assert_int_equal(batch_set(b, FDLIFE_OPENED, row, (int64_t)i), 0);
		assert_int_equal(batch_set_str(b, FDLIFE_PATTERN, row, i % 2 ? "odd" : "even"), 0);
	}
	if (r >= 0)
		r = store_made_rows(w, b, err);
	batch_free(b);
	return r < 0 ? r : store_made_end(w, false, err);
}

static void keep(struct store *s, bool wanted, struct rows *rows)
{
	struct error err = {0};

	assert_ok(store_made_keep(s, wanted, put, rows, &err), err);
}

/* The rows that readers see are these, in their order, and no others. */
static void assert_made(const struct store *s, const struct rows *want)
{
	struct store_cursor *c;
	struct error err = {0};
	size_t at = 0;

	assert_int_equal(store_cursor_new(&c, s), 0);
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct batch *b;

		if (store_block(s, i)->table != TABLE_FDLIFE ||
		    !store_block_counts(store_block(s, i)))
			continue;
		assert_ok(store_decode(c, i, ~0ull, &b, &err), err);
		for (size_t k = 0; k < b->rows; k++, at++) {
			assert_int_equal(batch_get(b, FDLIFE_FILE_ID, k, -1), want->file);
			assert_int_equal(batch_get(b, FDLIFE_OPENED, k, -1), at);
			assert_int_equal(batch_get_bytes(b, FDLIFE_PATTERN, k).len, at % 2 ? 3 : 4);
		}
	}
	assert_int_equal(at, want->count);
	store_cursor_free(c);
}

static const struct store_made *made_of(const struct store *s, uint32_t trace)
{
	for (size_t i = 0; i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);

		if (m && m->table == TABLE_FDLIFE && m->trace == trace)
			return m;
	}
	return NULL;
}

/* Of two traces: nothing is written to them, and ids are those that the store gives. */
static void test_several(void **state)
{
	char a[4096], b[4096];
	const char *const paths[] = {path_of(a, "a.trace"), path_of(b, "b.trace")};
	struct rows rows = {ROWS, .file = id_compose(17, 1)}, again = {3, .file = 4};
	struct error err = {0};
	struct store *s;
	off_t size;

	record(a, 1);
	record(b, 2);
	size = size_of(a) + size_of(b);
	assert_ok(store_open(&s, paths, 2, &err), err);
	keep(s, true, &rows);
	assert_int_equal(rows.calls, 1);
	assert_int_equal(size_of(a) + size_of(b), size);
	assert_made(s, &rows);
	assert_int_equal(store_trace_count(s), 2);
	assert_false(store_is_open_ended(s) || store_is_growing(s));
	assert_non_null(made_of(s, TRACE_ASIDE));
	assert_false(store_made_is_stale(s, made_of(s, TRACE_ASIDE)));
	keep(s, true, &again);
	assert_made(s, &again);
	store_free(s);
	assert_ok(store_open(&s, paths, 2, &err), err);
	assert_made(s, &(struct rows){0});
	store_free(s);
}

/* What somebody else keeps in one of the traces meanwhile is not seen beside what was made of both. */
static void test_beside(void **state)
{
	char a[4096], b[4096];
	const char *const paths[] = {path_of(a, "a.trace"), path_of(b, "b.trace")};
	struct rows rows = {ROWS, .file = id_compose(17, 1)}, kept = {5, .file = 9};
	struct error err = {0};
	struct store *s, *other;

	record(a, 1);
	record(b, 2);
	assert_ok(store_open(&s, paths, 2, &err), err);
	keep(s, true, &rows);
	assert_ok(store_open(&other, paths, 1, &err), err);
	keep(other, true, &kept);
	assert_non_null(made_of(other, 0));
	store_free(other);
	assert_true(store_refresh(s, &err) > 0);
	assert_non_null(made_of(s, 0));
	assert_made(s, &rows);
	store_free(s);
}

/* Of one trace: in it where that is wanted; what is made aside then stands for it, for this reader. */
static void test_one(void **state)
{
	char a[4096];
	const char *const path = path_of(a, "a.trace");
	struct rows kept = {ROWS, .file = 9}, aside = {5, .file = 11};
	struct error err = {0};
	struct store *s;
	off_t size;

	record(path, 1);
	assert_ok(store_open(&s, &path, 1, &err), err);
	keep(s, true, &kept);
	size = size_of(path);
	assert_made(s, &kept);
	assert_non_null(made_of(s, 0));
	assert_null(made_of(s, TRACE_ASIDE));
	keep(s, false, &aside);
	assert_int_equal(size_of(path), size);
	assert_made(s, &aside);
	store_free(s);
	assert_ok(store_open(&s, &path, 1, &err), err);
	assert_made(s, &kept);
	store_free(s);
}

/* Of one that its recorder still has: aside, and stale once more was recorded. */
static void test_growing(void **state)
{
	char a[4096];
	const char *const path = path_of(a, "a.trace");
	struct draw d = {3};
	int64_t clock = 1795254902114000000;
	struct batch *files = file_rows(60), *ops = likely_ops(&d, 500, &clock);
	struct rows rows = {10, .file = 2};
	struct error err = {0};
	struct store_writer *w;
	struct store *s;

	unlink(path);
	assert_ok(store_create(&w, path, NULL, &err), err);
	assert_ok(store_append(w, files, &err), err);
	assert_ok(store_append(w, ops, &err), err);
	assert_ok(store_flush(w, true, &err), err);
	assert_ok(store_open(&s, &path, 1, &err), err);
	keep(s, true, &rows);
	assert_made(s, &rows);
	assert_true(store_is_open_ended(s));
	assert_false(store_made_is_stale(s, made_of(s, TRACE_ASIDE)));
	assert_ok(store_append(w, ops, &err), err);
	assert_ok(store_flush(w, true, &err), err);
	assert_true(store_refresh(s, &err) > 0);
	assert_true(store_made_is_stale(s, made_of(s, TRACE_ASIDE)));
	keep(s, true, &rows);
	assert_made(s, &rows);
	assert_false(store_made_is_stale(s, made_of(s, TRACE_ASIDE)));
	assert_ok(store_close(w, &err), err);
	store_free(s);
	batch_free(files);
	batch_free(ops);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_several),
		cmocka_unit_test(test_beside),
		cmocka_unit_test(test_one),
		cmocka_unit_test(test_growing),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
