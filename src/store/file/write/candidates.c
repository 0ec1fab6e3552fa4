/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/write/candidates.h"

#define TRY(...)                                   \
	(const struct candidate[])                 \
	{                                          \
		{TRANSFORM_NONE, {0}}, __VA_ARGS__ \
	}
#define LIST(...)                                              \
	{                                                      \
		TRY(__VA_ARGS__), ARRAY_SIZE(TRY(__VA_ARGS__)) \
	}

struct list {
	const struct candidate *items;
	size_t count;
};

#define LAST_OF_OP              \
	{                       \
		TRANSFORM_LAST, \
		{               \
			OP_OP   \
		}               \
	}

/*
 * A chain of references ends at columns that refer to none: thread_id, op, dur, file_id need no other column (file_id
 * at most thread_id), size needs op or file_id, ret needs size, bytes and err need ret, pos needs bytes.
 */
static const struct list op_lists[OP_COLUMNS] = {
	[OP_START] = LIST({TRANSFORM_NEXT, {OP_THREAD_ID, OP_DUR}}, {TRANSFORM_END, {OP_DUR}},
			  {TRANSFORM_DELTA, {0}}),
	[OP_TID] = LIST({TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_CPU] = LIST({TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_CLASS] = LIST(LAST_OF_OP),
	[OP_RET] =
		LIST({TRANSFORM_SAME, {OP_SIZE}}, {TRANSFORM_SWITCH, {OP_OP, OP_SIZE}}, LAST_OF_OP),
	[OP_ERR] = LIST({TRANSFORM_NEGATED, {OP_RET}}, LAST_OF_OP),
	[OP_BYTES] =
		LIST({TRANSFORM_SAME, {OP_RET}}, {TRANSFORM_SWITCH, {OP_OP, OP_RET}}, LAST_OF_OP),
	[OP_FD] = LIST({TRANSFORM_LAST, {OP_FILE_ID}}, {TRANSFORM_SWITCH, {OP_OP, OP_RET}}),
	[OP_FILE_ID] = LIST({TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_POS] = LIST({TRANSFORM_NEXT, {OP_FILE_ID, OP_BYTES}}, {TRANSFORM_DELTA, {0}}),
	[OP_SIZE] = LIST(LAST_OF_OP, {TRANSFORM_LAST, {OP_FILE_ID}}),
	[OP_FLAGS] = LIST(LAST_OF_OP),
	[OP_FILE2_ID] = LIST({TRANSFORM_DELTA, {0}}),
	[OP_FD2] = LIST({TRANSFORM_LAST, {OP_FILE2_ID}}),
	[OP_POS2] = LIST({TRANSFORM_NEXT, {OP_FILE2_ID, OP_BYTES}}),
	[OP_A0] = LIST(LAST_OF_OP, {TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_A1] = LIST(LAST_OF_OP, {TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_A2] = LIST(LAST_OF_OP, {TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_A3] = LIST(LAST_OF_OP, {TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_A4] = LIST(LAST_OF_OP, {TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_A5] = LIST(LAST_OF_OP, {TRANSFORM_LAST, {OP_THREAD_ID}}),
	[OP_PEER_ID] = LIST({TRANSFORM_LAST, {OP_FILE_ID}}),
	[OP_CPU_TIME] = LIST({TRANSFORM_SAME, {OP_DUR}}),
	[OP_DIR_ID] = LIST({TRANSFORM_LAST, {OP_A0}}, {TRANSFORM_DELTA, {0}}),
};

static const struct list plain = LIST({TRANSFORM_DELTA, {0}});
static const struct list alone = {(const struct candidate[]){{TRANSFORM_NONE, {0}}}, 1};
static const struct list summary_max = LIST({TRANSFORM_SAME, {SUMMARY_TIME}});

const struct candidate *candidates(enum table_id table, unsigned int column, size_t *ret_count)
{
	const struct list *l = &plain;

	assert(table == TABLE_OWN || column < schema_table(table)->column_count);
	if (table == TABLE_OP)
		l = op_lists[column].count ? &op_lists[column] : &alone;
	else if (table == TABLE_SUMMARY && column == SUMMARY_MAX)
		l = &summary_max;
	assert(l->count > 0 && l->items[0].kind == TRANSFORM_NONE);
	*ret_count = l->count;
	return l->items;
}
