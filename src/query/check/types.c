/* SPDX-License-Identifier: Apache-2.0 */
/* types.c: properties of types and of finished expressions. */
#include <errno.h>
#include <string.h>

#include "query/internal.h"

const char *const query_type_names[] = {
	[QUERY_NULL] = "null",	 [QUERY_BOOL] = "bool",	   [QUERY_INT] = "int",
	[QUERY_UINT] = "uint",	 [QUERY_FLOAT] = "float",  [QUERY_DUR] = "dur",
	[QUERY_SIZE] = "size",	 [QUERY_TIME] = "time",	   [QUERY_CODE] = "code",
	[QUERY_TEXT] = "text",	 [QUERY_ENTITY] = "text",  [QUERY_HIST] = "hist",
	[QUERY_TALLY] = "tally", [QUERY_DISTINCT] = "int",
};

static_assert(ARRAY_SIZE(query_type_names) == QUERY_DISTINCT + 1, "each type has a name");

const char *query_kind_unit(struct query_kind k)
{
	switch (k.type) {
	case QUERY_DUR:
	case QUERY_TIME:
		return "ns";
	case QUERY_SIZE:
		return "bytes";
	case QUERY_HIST:
	case QUERY_TALLY:
		return k.vocab ? k.vocab : "";
	default:
		return "";
	}
}

bool query_kind_is_int(struct query_kind k)
{
	switch (k.type) {
	case QUERY_BOOL:
	case QUERY_INT:
	case QUERY_UINT:
	case QUERY_DUR:
	case QUERY_SIZE:
	case QUERY_TIME:
	case QUERY_CODE:
	case QUERY_ENTITY:
		return true;
	default:
		return false;
	}
}

uint64_t expr_columns(const struct expr *e)
{
	uint64_t set = 0;

	assert(e->kind <= EXPR_USER && e->arg_count <= ARRAY_SIZE(e->arg));
	switch (e->kind) {
	case EXPR_COLUMN:
		assert(e->column < SCHEMA_COLUMNS_MAX);
		return 1ull << e->column;
	case EXPR_STOP:
		set = schema_end_columns(e->table);
		return e->table == TABLE_OP ? set | 1ull << OP_STATUS : set;
	case EXPR_ROW:
		return 1ull << OP_START; /* marks it as depending on the row */
	case EXPR_NAME:
		set = 1ull << e->column;
		/* a call without an address goes to the peer of its socket */
		return e->name == QNAME_PEER ? set | 1ull << OP_FILE_ID : set;
	default:
		assert(e->kind != EXPR_CONST || !e->arg_count);
		for (unsigned int i = 0; i < e->arg_count; i++)
			set |= expr_columns(e->arg[i]);
		return set;
	}
}

bool expr_is_id(const struct expr *e)
{
	return e->kind == EXPR_COLUMN && e->type.type == QUERY_INT &&
	       (e->type.entity == TABLE_THREAD || e->type.entity == TABLE_FILE);
}
