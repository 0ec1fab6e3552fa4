/* SPDX-License-Identifier: Apache-2.0 */
/* batch_append() against the row-by-row truth: every mix of absent, full and part-null columns, at
 * odd offsets. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "batch/batch.h"

#define ROUNDS 400

static uint64_t state;

static uint64_t draw(uint64_t below)
{
	state = hash_u64(state);
	return state % below;
}

static void fill(struct batch *b, size_t rows)
{
	uint64_t density[3] = {draw(4), draw(4), draw(4)}; /* 0: absent, 3: no nulls */

	for (size_t i = 0; i < rows; i++) {
		ssize_t row = batch_add_row(b);
		char text[32];

		assert_true(row >= 0);
		if (draw(3) < density[0])
			assert_int_equal(batch_set(b, FILE_INODE, (size_t)row, (int64_t)draw(1000)),
					 0);
		if (draw(3) < density[1])
			assert_int_equal(batch_set(b, FILE_DEV, (size_t)row, (int64_t)draw(1000)),
					 0);
		snprintf(text, sizeof(text), "%.*s", (int)draw(8), "abcdefgh");
		if (draw(3) < density[2])
			assert_int_equal(batch_set_str(b, FILE_PATH, (size_t)row, text), 0);
	}
}

static void compare(const struct batch *a, size_t at, const struct batch *b, size_t from, size_t n)
{
	static const unsigned int numbers[] = {FILE_INODE, FILE_DEV};

	for (size_t i = 0; i < n; i++) {
		struct bytes x = batch_get_bytes(a, FILE_PATH, at + i),
			     y = batch_get_bytes(b, FILE_PATH, from + i);

		for (size_t c = 0; c < ARRAY_SIZE(numbers); c++)
			assert_int_equal(batch_get(a, numbers[c], at + i, -7),
					 batch_get(b, numbers[c], from + i, -7));
		assert_int_equal(batch_is_null(a, FILE_PATH, at + i),
				 batch_is_null(b, FILE_PATH, from + i));
		assert_int_equal(x.len, y.len);
		assert_true(!x.len || !memcmp(x.data, y.data, x.len));
	}
}

static void test_append(void **unused)
{
	for (unsigned int round = 0; round < ROUNDS; round++) {
		_cleanup_(batch_freep) struct batch *a = NULL, *b = NULL, *c = NULL;
		size_t from, to, old;

		assert_int_equal(batch_new(&a, TABLE_FILE), 0);
		assert_int_equal(batch_new(&b, TABLE_FILE), 0);
		assert_int_equal(batch_new(&c, TABLE_FILE), 0);
		fill(a, draw(200));
		fill(b, draw(200));
		assert_int_equal(batch_append(c, a, 0, a->rows), 0);
		from = draw(b->rows + 1);
		to = from + draw(b->rows - from + 1);
		old = c->rows;
		assert_int_equal(batch_append(c, b, from, to), 0);
		assert_int_equal(c->rows, old + to - from);
		compare(c, 0, a, 0, a->rows);
		compare(c, old, b, from, to - from);
		/* and it goes on as an ordinary batch */
		old = c->rows;
		fill(c, 3);
		compare(c, 0, a, 0, a->rows);
		assert_int_equal(c->rows, old + 3);
	}
}

static void test_too_many(void **unused)
{
	_cleanup_(batch_freep) struct batch *a = NULL, *b = NULL;

	assert_int_equal(batch_new(&a, TABLE_FILE), 0);
	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	batch_resize(a, BATCH_ROWS_MAX);
	assert_int_equal(batch_make_column(a, FILE_INODE, false), 0);
	fill(b, 1);
	assert_int_equal(batch_append(a, b, 0, 1), -ENOSPC);
	assert_int_equal(a->rows, BATCH_ROWS_MAX);
}

/* A column that comes without null bits into a batch that had them, which grows and gets rows of its own then. */
static void test_bits_of_before(void **unused)
{
	_cleanup_(batch_freep) struct batch *a = NULL, *b = NULL;

	assert_int_equal(batch_new(&a, TABLE_FILE), 0);
	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	assert_int_equal(batch_add_row(a), 0);
	assert_int_equal(batch_set(a, FILE_INODE, 0, 1), 0);
	assert_int_equal(batch_add_row(a), 1);
	batch_clear(a);
	batch_resize(b, 64);
	assert_int_equal(batch_make_column(b, FILE_INODE, false), 0);
	assert_int_equal(batch_append(a, b, 0, 64), 0);
	for (unsigned int i = 0; i < 1000; i++)
		assert_int_equal(batch_add_row(a), 64 + i);
	assert_false(batch_is_null(a, FILE_INODE, 63));
	assert_true(batch_is_null(a, FILE_INODE, 64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_append),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_bits_of_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
