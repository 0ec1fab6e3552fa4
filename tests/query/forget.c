/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A filter by path over dims that forget their files again and again takes the same calls as over dims that keep them,
 * also of ids whose rows come again with another path. WEIR_SEED repeats a run.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"
#include "query/eval/eval_rows.h"

#define ROUNDS	  60
#define NEW_FILES 3000 /* in a round: ids run past what rows that are kept would allow */
#define OPS	  500

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = hash_u64(state);
	return state % below;
}

struct reader {
	struct dims *dims;
	struct query_rows *rows;
	struct query_cursor *cursor;
};

static struct plan *parse(const char *text)
{
	struct query_error where = {0};
	struct plan *p = NULL;

	assert_int_equal(query_parse_expr(text, strlen(text), TABLE_OP, true, &p, &where), 0);
	return p;
}

static void reader_new(struct reader *r, const struct plan *p)
{
	struct error err = {0};

	assert_int_equal(dims_new(&r->dims), 0);
	assert_int_equal(query_rows_new(&r->rows, p->where, &err), 0);
	assert_int_equal(query_cursor_new(&r->cursor, r->rows), 0);
}

static void reader_free(struct reader *r)
{
	query_cursor_free(r->cursor);
	query_rows_free(r->rows);
	dims_free(r->dims);
}

static struct batch *make_files(int64_t *next)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	for (size_t i = 0; i < NEW_FILES; i++) {
		/* some of them once more, under another name */
		int64_t id = *next && draw(20) == 0 ? (int64_t)draw((uint64_t)*next) : (*next)++;
		size_t row = (size_t)batch_add_row(b);
		char path[64];

		snprintf(path, sizeof(path), "/%s/%d", draw(2) ? "a" : "b", (int)draw(100));
		assert_int_equal(batch_set(b, FILE_ID, row, id), 0);
		if (draw(10))
			assert_int_equal(batch_set_str(b, FILE_PATH, row, path), 0);
	}
	return b;
}

static struct batch *make_ops(int64_t next)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < OPS; i++) {
		size_t row = (size_t)batch_add_row(b);

		if (draw(10))
			assert_int_equal(
				batch_set(b, OP_FILE_ID, row, (int64_t)draw((uint64_t)next + 5)),
				0);
		assert_int_equal(batch_set(b, OP_RET, row, (int64_t)draw(3)), 0);
	}
	return b;
}

static size_t filter(struct reader *r, const struct batch *files, const struct batch *ops,
		     const uint32_t **ret)
{
	struct error err = {0};
	ssize_t n;

	assert_int_equal(dims_apply(r->dims, files), 0);
	if (query_rows_names(r->rows, r->dims, &err) < 0)
		fail_msg("%s", err.message);
	n = query_cursor_rows(r->cursor, ops, ret, &err);
	assert_true(n >= 0);
	return (size_t)n;
}

static void same_rows(void **unused)
{
	static const char *const filters[] = {
		"path ~ \"/a/*\"", "not path ~ \"/a/**\" and ret > 0", "path is null or ret == 0",
		"base(path) in (\"7\", \"8\") or path =~ \"^/b/1\"", "len(path) > 4 and ret != 1"};

	for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
		_cleanup_(plan_freep) struct plan *p = parse(filters[f]);
		struct reader kept, forgets;
		int64_t next = 0;
		size_t passed = 0;

		reader_new(&kept, p);
		reader_new(&forgets, p);
		assert_true(query_rows_forget_files(forgets.rows));
		for (size_t i = 0; i < ROUNDS; i++) {
			_cleanup_(batch_freep) struct batch *files = make_files(&next);
			_cleanup_(batch_freep) struct batch *ops = make_ops(next);
			const uint32_t *a, *b;
			size_t n = filter(&kept, files, ops, &a);

			assert_int_equal(filter(&forgets, files, ops, &b), n);
			assert_memory_equal(a, b, n * sizeof(*a));
			passed += n;
			if (draw(3))
				dims_forget(forgets.dims, TABLE_FILE);
		}
		assert_true(passed > 0);
		assert_true(dims_rows(forgets.dims, TABLE_FILE) < dims_rows(kept.dims, TABLE_FILE));
		reader_free(&kept);
		reader_free(&forgets);
	}
}

/* What is looked at again later must stay: texts that are compared with one another, latest versions. */
static void some_must_stay(void **unused)
{
	static const char *const filters[] = {"path == path2", "file ~ \"*x\"",
					      "path ~ \"*x\" and path != path2"};

	for (size_t f = 0; f < ARRAY_SIZE(filters); f++) {
		_cleanup_(plan_freep) struct plan *p = parse(filters[f]);
		struct reader r;

		reader_new(&r, p);
		assert_false(query_rows_forget_files(r.rows));
		reader_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(same_rows),
					   cmocka_unit_test(some_must_stay)};
	const char *given = getenv("WEIR_SEED");

	state = given ? strtoull(given, NULL, 0) : 1;
	fprintf(stderr, "seed %#llx\n", (unsigned long long)state);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
