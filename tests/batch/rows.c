/* SPDX-License-Identifier: Apache-2.0 */
/* Rows built in every way that batch.h offers, mixed, against a plain array of cells; memory is kept and reused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "batch/batch.h"

#define ROUNDS	   300
#define MODEL_ROWS 3000

struct cell {
	bool set;
	int64_t value;
};

static uint64_t state = 77;
static struct cell model[MODEL_ROWS][FILE_COLUMNS];
static size_t rows;

static uint64_t draw(uint64_t below)
{
	state = hash_u64(state);
	return state % below;
}

static bool bytes_column(unsigned int c)
{
	return schema_table(TABLE_FILE)->columns[c].type == COLUMN_BYTES;
}

/* Byte columns hold the value's digits. */
static void set_cell(struct batch *b, unsigned int c, int64_t value)
{
	char text[32];
	int len = snprintf(text, sizeof(text), "%lld", (long long)value);

	if (bytes_column(c))
		assert_int_equal(batch_set_bytes(b, c, b->rows - 1, text, (size_t)len), 0);
	else
		assert_int_equal(batch_set(b, c, b->rows - 1, value), 0);
}

static void add_rows(struct batch *b, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		assert_true(batch_add_row(b) >= 0);
		for (unsigned int k = 0; k < 3; k++) {
			unsigned int c = (unsigned int)draw(FILE_COLUMNS);
			int64_t v = (int64_t)draw(100000);

			if (model[rows + i][c].set && bytes_column(c))
				continue;
			model[rows + i][c] = (struct cell){true, v};
			set_cell(b, c, v);
		}
	}
	rows += n;
}

static void append_rows(struct batch *b, size_t n)
{
	struct batch *from;

	assert_int_equal(batch_new(&from, TABLE_FILE), 0);
	for (size_t i = 0; i < n; i++) {
		unsigned int c = (unsigned int)(i % 2 ? FILE_INODE : FILE_PATH);

		assert_true(batch_add_row(from) >= 0);
		set_cell(from, c, (int64_t)i);
		model[rows + i][c] = (struct cell){true, (int64_t)i};
	}
	if (n)
		assert_int_equal(batch_append(b, from, 0, n), 0);
	rows += n;
	batch_free(from);
}

static void forget_cell(struct batch *b)
{
	size_t row = rows ? draw(rows) : 0;

	if (!rows)
		return;
	batch_set_null(b, FILE_INODE, row);
	model[row][FILE_INODE].set = false;
}

static void check(const struct batch *b)
{
	assert_int_equal(b->rows, rows);
	for (size_t i = 0; i < rows; i++) {
		for (unsigned int c = 0; c < FILE_COLUMNS; c++) {
			char text[32];

			assert_int_equal(batch_is_null(b, c, i), !model[i][c].set);
			if (!model[i][c].set)
				continue;
			snprintf(text, sizeof(text), "%lld", (long long)model[i][c].value);
			if (bytes_column(c)) {
				struct bytes v = batch_get_bytes(b, c, i);

				assert_int_equal(v.len, strlen(text));
				assert_memory_equal(v.data, text, v.len);
			} else {
				assert_int_equal(batch_get(b, c, i, -1), model[i][c].value);
			}
		}
	}
}

static void any_way(void **unused)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	for (unsigned int round = 0; round < ROUNDS; round++) {
		memset(model, 0, sizeof(model));
		rows = 0;
		batch_clear(b);
		for (unsigned int k = 0; k < 6; k++) {
			switch (draw(3)) {
			case 0:
				add_rows(b, draw(400));
				break;
			case 1:
				append_rows(b, draw(100));
				break;
			default:
				forget_cell(b);
			}
		}
		check(b);
	}
	batch_free(b);
}

static void limits(void **unused)
{
	struct batch *b;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < BATCH_ROWS_MAX; i++) {
		assert_int_equal(batch_add_row(b), i);
		assert_int_equal(batch_set(b, OP_RET, i, (int64_t)i), 0);
	}
	assert_int_equal(batch_add_row(b), -ENOSPC);
	assert_int_equal(batch_get(b, OP_RET, BATCH_ROWS_MAX - 1, 0), BATCH_ROWS_MAX - 1);
	batch_clear(b);
	assert_int_equal(batch_add_row(b), 0);
	assert_true(batch_is_null(b, OP_RET, 0));
	assert_int_equal(batch_set(b, OP_DUR, 0, 1), 0);
	assert_true(batch_is_null(b, OP_RET, 0));
	batch_free(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_way),
		cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
