// SPDX-License-Identifier: Apache-2.0
#include "engine/facts.h"

#include "base/saturate.h"

static bool has_id(void *arg, unsigned int column, int64_t id)
{
	const struct facts *f = arg;

	return store_block_has_id(f->store, f->number, column, id);
}

const struct eval_block *facts_of(struct facts *ret, const struct store *s, size_t block)
{
	const struct store_block *b = store_block(s, block);

	*ret = (struct facts){.block = {.rows = b->rows,
					.min = b->min,
					.max = b->max,
					.nulls = b->nulls,
					.has_id = b->table == TABLE_OP ? has_id : NULL,
					.arg = ret},
			      .store = s,
			      .number = block};
	return &ret->block;
}

bool facts_may_pass(const struct eval *e, const struct store *s, size_t block)
{
	struct facts f;

	return eval_block(e, 0, facts_of(&f, s, block));
}

bool facts_all_pass(const struct eval *e, const struct store *s, size_t block)
{
	struct facts f;

	return eval_block_all(e, 0, facts_of(&f, s, block));
}

bool facts_times(const struct store_block *b, int64_t *ret_start, int64_t *ret_end)
{
	bool known = b->min[OP_START] <= b->max[OP_START];
	bool timed = b->min[OP_DUR] <= b->max[OP_DUR];

	assert(b->table == TABLE_OP);
	*ret_start = known && !b->nulls[OP_START] ? b->min[OP_START] : INT64_MIN;
	*ret_end = known ? b->max[OP_START] : INT64_MAX;
	if (timed)
		*ret_end = add_sat_signed(*ret_end, MAX(b->max[OP_DUR], (int64_t)0));
	if (timed && b->min[OP_DUR] < 0)
		*ret_start = INT64_MIN; /* hostile: ends before it starts */
	return known;
}

static bool facts_has_any(void *arg, unsigned int column, int64_t id)
{
	return true;
}

bool facts_need_long(const struct eval *e, int64_t least)
{
	int64_t min[OP_COLUMNS], max[OP_COLUMNS];
	uint32_t nulls[OP_COLUMNS];
	const struct eval_block shorter = {
		.rows = 2, .min = min, .max = max, .nulls = nulls, .has_id = facts_has_any};

	for (size_t i = 0; i < ARRAY_SIZE(min); i++) {
		min[i] = INT64_MIN;
		max[i] = INT64_MAX;
		nulls[i] = 1; /* there may be some */
	}
	max[OP_DUR] = least - 1;
	return !eval_block(e, 0, &shorter);
}

bool facts_name_rows(const struct expr *e)
{
	bool found = e->kind == EXPR_ROW || e->kind == EXPR_USER;

	for (unsigned int i = 0; i < e->arg_count && !found; i++)
		found = facts_name_rows(e->arg[i]);
	return found;
}
