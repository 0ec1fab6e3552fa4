/* SPDX-License-Identifier: Apache-2.0 */
/* What each table declares is enough for code that knows no table by name. */
#include "schema/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static size_t dimension_place(int table)
{
	size_t i = 0;

	while (i < SCHEMA_DIMENSION_COUNT && (int)schema_dimensions[i] != table)
		i++;
	return i;
}

static void test_dimensions(void **state)
{
	size_t count = 0;

	for (enum table_id t = 0; t < TABLE_COUNT; t++) {
		assert_int_equal(dimension_place((int)t) < SCHEMA_DIMENSION_COUNT,
				 schema_is_dimension(t));
		count += schema_is_dimension(t);
		if (!schema_is_dimension(t))
			continue;
		assert_string_equal(schema_table(t)->columns[0].name, "id");
		assert_int_equal(schema_refers(schema_table(t), 0), t);
	}
	assert_int_equal(count, SCHEMA_DIMENSION_COUNT);
}

/* A reference is an id; what a dimension's row refers to is stored before it. */
static void test_references(void **state)
{
	for (enum table_id t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);

		for (unsigned int i = 0; i < def->column_count; i++) {
			const struct column_def *c = &def->columns[i];
			int to = schema_refers(def, i);

			assert_true(c->type <
				    COLUMN_FLOAT); /* the language has no columns of these */
			assert_int_equal(c->type == COLUMN_ID && to < 0, 0);
			assert_int_equal(c->unit[0] == '>', to >= 0);
			if (to < 0)
				continue;
			assert_string_equal(schema_unit(c), "");
			/* a call's row_id stands in what is made from calls alone */
			assert_true(schema_is_dimension((enum table_id)to) ||
				    (to == TABLE_OP && def->kind == TABLE_IS_MADE));
			assert_true(c->type == COLUMN_ID || c->type == COLUMN_INT);
			if (schema_is_dimension(t))
				assert_true(dimension_place(to) <= dimension_place((int)t));
		}
	}
}

static void test_times(void **state)
{
	for (enum table_id t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);

		if (def->start != NO_COLUMN)
			assert_int_equal(def->columns[def->start].type, COLUMN_TIME);
		if (def->dur != NO_COLUMN)
			assert_int_equal(def->columns[def->dur].type, COLUMN_DUR);
		if (def->stop != NO_COLUMN)
			assert_int_equal(def->columns[def->stop].type, COLUMN_TIME);
		if (def->kind == TABLE_IS_EVENTS) /* a stream of events has an order */
			assert_true(schema_end_columns(t));
	}
	assert_true(schema_end_columns(TABLE_OP) == (1ull << OP_START | 1ull << OP_DUR));
	assert_true(schema_end_columns(TABLE_LOSS) == 1ull << LOSS_STOP);
	assert_true(schema_end_columns(TABLE_CGROUP) == 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_dimensions),
		cmocka_unit_test(test_references),
		cmocka_unit_test(test_times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
