// SPDX-License-Identifier: Apache-2.0
#include "sums/facts.h"

#include "base/saturate.h"

/* A block as filters see it (query/eval/eval.h), with the store and block number for its ids. */
struct facts {
	struct eval_block block;
	const struct store *store;
	size_t number;
};

static bool facts_has_id(void *arg, unsigned int column, int64_t id)
{
	const struct facts *f = arg;

	return store_block_has_id(f->store, f->number, column, id);
}

static const struct eval_block *facts_of(struct facts *ret, const struct store *s, size_t block)
{
	const struct store_block *b = store_block(s, block);

	*ret = (struct facts){.block = {.rows = b->rows,
					.min = b->min,
					.max = b->max,
					.nulls = b->nulls,
					.has_id = b->table == TABLE_OP ? facts_has_id : NULL,
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
	/* malformed input: ends before it starts */
	if (timed && b->min[OP_DUR] < 0)
		*ret_start = INT64_MIN;
	return known;
}

bool facts_name_rows(const struct expr *e)
{
	bool found = e->kind == EXPR_ROW;

	for (unsigned int i = 0; i < e->arg_count && !found; i++)
		found = facts_name_rows(e->arg[i]);
	return found;
}
