/* SPDX-License-Identifier: Apache-2.0 */
#include "schema/schema.h"

#include <string.h>

#define SCHEMA_DEF(T, t, N, n, type, unit, doc) {#n, COLUMN_##type, unit, doc},
#define TABLE(T, t, ...)			static const struct column_def t##_columns[] = {SCHEMA_##T(SCHEMA_DEF)};
SCHEMA_TABLES(TABLE)
#undef TABLE

static const struct table_def tables[] = {
#define TABLE(T, t, kind, start, dur, stop, doc) \
	{#t, doc, TABLE_IS_##kind, start, dur, stop, t##_columns, ARRAY_SIZE(t##_columns)},
	SCHEMA_TABLES(TABLE)
#undef TABLE
};

static_assert(ARRAY_SIZE(tables) == TABLE_COUNT, "one definition per table");
#define TABLE(T, t, ...) \
	static_assert(ARRAY_SIZE(t##_columns) <= SCHEMA_COLUMNS_MAX, "column sets are 64 bits");
SCHEMA_TABLES(TABLE)
#undef TABLE

const enum table_id schema_dimensions[] = SCHEMA_DIMENSIONS;

static_assert(ARRAY_SIZE(schema_dimensions) == SCHEMA_DIMENSION_COUNT, "the header counts them");
/* the columns named as a row's start, duration and end must exist */
#define IS_COLUMN(t, c) ((c) == NO_COLUMN || (c) < ARRAY_SIZE(t##_columns))
#define TABLE(T, t, kind, start, dur, stop, doc)                                           \
	static_assert(IS_COLUMN(t, start) && IS_COLUMN(t, dur) && IS_COLUMN(t, stop), #t); \
	static_assert(ARRAY_SIZE(t##_columns) == T##_COLUMNS, "the enum counts " #t "'s");
SCHEMA_TABLES(TABLE)
#undef TABLE
#undef IS_COLUMN

const struct table_def *schema_table(enum table_id id)
{
	assert(id < TABLE_COUNT);
	return &tables[id];
}

int schema_table_find(const char *name)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (!strcmp(tables[i].name, name))
			return (int)i;
	}
	return -1;
}

int schema_column_find(enum table_id table, const char *name)
{
	const struct table_def *t = schema_table(table);

	for (unsigned int i = 0; i < t->column_count; i++) {
		if (!strcmp(t->columns[i].name, name))
			return (int)i;
	}
	return -1;
}

uint64_t schema_end_columns(enum table_id id)
{
	const struct table_def *t = schema_table(id);
	uint64_t set = 0;

	/* a row ends at `stop`, or at its start plus its duration: no table has both */
	assert(t->stop == NO_COLUMN || t->dur == NO_COLUMN);
	if (t->stop != NO_COLUMN)
		return 1ull << t->stop;
	if (t->start != NO_COLUMN)
		set |= 1ull << t->start;
	if (t->dur != NO_COLUMN)
		set |= 1ull << t->dur;
	return set;
}

const char *schema_unit(const struct column_def *c)
{
	return c->unit[0] == '>' ? "" : c->unit;
}

int schema_refers(const struct table_def *t, unsigned int column)
{
	int table;

	assert(column < t->column_count);
	if (t->columns[column].unit[0] != '>')
		return -1;
	table = schema_table_find(t->columns[column].unit + 1);
	assert(table == TABLE_OP || (table > 0 && schema_is_dimension((enum table_id)table)));
	return table;
}

/* ---- names of types, for traces and other stores ---- */

static const char *const type_names[] = {
	[COLUMN_INT] = "int",	[COLUMN_UINT] = "uint",	  [COLUMN_ID] = "id",
	[COLUMN_TIME] = "time", [COLUMN_DUR] = "dur",	  [COLUMN_SIZE] = "size",
	[COLUMN_CODE] = "code", [COLUMN_BYTES] = "bytes", [COLUMN_FLOAT] = "float",
	[COLUMN_BOOL] = "bool", [COLUMN_TEXT] = "text",	  [COLUMN_BLOB] = "blob",
};
static_assert(ARRAY_SIZE(type_names) == COLUMN_TYPES, "each type has a name");

const char *column_type_name(enum column_type type)
{
	return type_names[type];
}

int column_type_find(const char *name)
{
	for (unsigned int i = 0; i < ARRAY_SIZE(type_names); i++) {
		if (!strcmp(type_names[i], name))
			return (int)i;
	}
	return -1;
}
