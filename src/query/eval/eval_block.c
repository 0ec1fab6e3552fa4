/* SPDX-License-Identifier: Apache-2.0 */
/* eval_block.c: the possible results of a filter over the rows of a block, from the block's header. */
#include "query/eval/eval_internal.h"

/* The set of results that a node may have in some row. */
enum may { MAY_TRUE = 1, MAY_FALSE = 2, MAY_UNKNOWN = 4, MAY_ALL = 7 };

static unsigned int may_be(const struct eval_node *n, const struct eval_block *b);

static_assert((MAY_TRUE | MAY_FALSE | MAY_UNKNOWN) == MAY_ALL, "MAY_ALL is every answer");

static bool column_absent(const struct eval_block *b, unsigned int column)
{
	return b->min[column] > b->max[column];
}

static unsigned int turned(unsigned int may)
{
	return (may & MAY_UNKNOWN) | (may & MAY_TRUE ? MAY_FALSE : 0) |
	       (may & MAY_FALSE ? MAY_TRUE : 0);
}

/* The possible results of AND or OR: an operand that is `win` decides; see logic_value(). */
static unsigned int may_logic(const struct eval_node *n, const struct eval_block *b, enum may win,
			      enum may lose)
{
	unsigned int all = lose, any_win = 0, unknown = 0;

	for (size_t i = 0; i < n->arg_count; i++) {
		unsigned int may = may_be(n->args[i], b);

		any_win |= may & (unsigned int)win;
		unknown |= may & MAY_UNKNOWN;
		if (!(may & (unsigned int)lose))
			all = 0; /* this operand is never `lose` */
		if (may == (unsigned int)win)
			return win;
	}
	assert(all | any_win | unknown); /* at least one result is always possible */
	return all | any_win | unknown;
}

/* The possible values of an int: its bounds, and whether it may be unknown. */
struct bounds {
	int64_t min, max; /* min > max: always unknown */
	bool unknown;
};

static bool bounds_of(const struct eval_node *n, const struct eval_block *b, struct bounds *ret)
{
	if (n->kind == EVAL_COLUMN) {
		*ret = (struct bounds){b->min[n->column], b->max[n->column],
				       b->nulls[n->column] > 0};
		/* The header's bounds compare as signed. */
		return !n->is_unsigned || ret->min > ret->max || ret->min >= 0;
	}
	if (n->kind != EVAL_STOP)
		return false;
	*ret = (struct bounds){INT64_MAX, INT64_MIN, true};
	if (column_absent(b, n->start) || column_absent(b, n->dur))
		return true;
	return !__builtin_add_overflow(b->min[n->start], b->min[n->dur], &ret->min) &&
	       !__builtin_add_overflow(b->max[n->start], b->max[n->dur], &ret->max);
}

/* False if the column holds ids and the block has no row with this one. */
static bool may_have(const struct eval_node *arg, const struct eval_block *b, int64_t id)
{
	return arg->kind != EVAL_COLUMN || !expr_is_id(arg->expr) || !b->has_id ||
	       b->has_id(b->arg, arg->column, id);
}

/* For the values of a list; all bounds in the argument's representation. */
static unsigned int may_list(const struct eval_node *n, const struct eval_block *b, uint64_t flip,
			     uint64_t min, uint64_t max)
{
	for (size_t i = 0; i < n->count; i++) {
		uint64_t v = (uint64_t)n->list[i] ^ flip;

		if (v >= min && v <= max && may_have(n->args[0], b, n->list[i]))
			return MAY_TRUE | MAY_FALSE;
	}
	return MAY_FALSE;
}

/* The same for a set, which has its values as bits. */
static bool may_set(const struct eval_node *n, const struct eval_block *b)
{
	for (uint64_t at = 0; at <= n->span; at++) {
		if (n->set[at / 64] >> (at % 64) & 1 &&
		    may_have(n->args[0], b, (int64_t)(n->low + at)))
			return true;
	}
	return false;
}

/* For the values low .. low + span; all in the argument's representation. */
static unsigned int may_range(const struct eval_node *n, const struct eval_block *b)
{
	uint64_t flip = n->args[0]->is_unsigned ? 0 : 1ull << 63;
	uint64_t low = n->low ^ flip, high = (n->low + n->span) ^ flip, min, max;
	unsigned int may = 0, unknown;
	struct bounds v;

	assert(n->arg_count == 1 && n->args[0]->rep == REP_INT);
	if (!bounds_of(n->args[0], b, &v))
		return MAY_ALL;
	if (v.min > v.max)
		return MAY_UNKNOWN;
	unknown = v.unknown ? MAY_UNKNOWN : 0;
	min = (uint64_t)v.min ^ flip;
	max = (uint64_t)v.max ^ flip;
	if (n->kind == EVAL_LIST)
		return may_list(n, b, flip, min, max) | unknown;
	if (max >= low && min <= high)
		may |= MAY_TRUE;
	if (n->kind == EVAL_SET ? !may_set(n, b)
				: !n->span && !may_have(n->args[0], b, (int64_t)n->low))
		may = MAY_FALSE;
	if (n->kind == EVAL_SET || min < low || max > high)
		may |= MAY_FALSE;
	if (n->kind == EVAL_SET && min == max && (may & MAY_TRUE)) {
		uint64_t at = (uint64_t)v.min - n->low;

		assert(at <= n->span); /* MAY_TRUE */
		may = n->set[at / 64] >> (at % 64) & 1 ? MAY_TRUE : MAY_FALSE;
	}
	return (n->kind == EVAL_RANGE && n->negate ? turned(may) : may) | unknown;
}

static unsigned int may_null(const struct eval_node *n, const struct eval_block *b)
{
	const struct eval_node *arg = n->args[0];

	if (arg->kind != EVAL_COLUMN && arg->kind != EVAL_BYTES)
		return MAY_TRUE | MAY_FALSE;
	if (b->nulls[arg->column] >= b->rows)
		return MAY_TRUE;
	return b->nulls[arg->column] ? MAY_TRUE | MAY_FALSE : MAY_FALSE;
}

static unsigned int truth_bit(uint8_t truth)
{
	return truth == 1 ? MAY_TRUE : truth == 0 ? MAY_FALSE : MAY_UNKNOWN;
}

static unsigned int may_ids(const struct eval_table *t, const struct eval_block *b)
{
	unsigned int may = MAY_FALSE | MAY_UNKNOWN;
	int64_t min = b->min[t->column], max = b->max[t->column];

	assert(t->true_listed && min <= max);
	for (size_t i = 0; i < t->true_count; i++) {
		int64_t id = t->true_ids[i];

		if (id < min)
			continue;
		if (id > max)
			break;
		if (!b->has_id || b->has_id(b->arg, t->column, id))
			return may | MAY_TRUE;
	}
	return may;
}

static unsigned int may_table(const struct eval_table *t, const struct eval_block *b)
{
	if (t->other >= 0)
		return MAY_ALL;
	if (column_absent(b, t->column))
		return truth_bit(t->none.truth[0]);
	if (b->min[t->column] == b->max[t->column]) {
		unsigned int may = truth_bit(table_truth(t, b->min[t->column]));

		return b->nulls[t->column] ? may | truth_bit(t->none.truth[0]) : may;
	}
	return t->true_listed ? may_ids(t, b) : MAY_ALL;
}

static unsigned int may_be(const struct eval_node *n, const struct eval_block *b)
{
	switch (n->kind) {
	case EVAL_CONST:
		return n->value.null ? MAY_UNKNOWN : n->value.i ? MAY_TRUE : MAY_FALSE;
	case EVAL_NOT:
		return turned(may_be(n->args[0], b));
	case EVAL_ALL:
		return may_logic(n, b, MAY_FALSE, MAY_TRUE);
	case EVAL_ANY:
		return may_logic(n, b, MAY_TRUE, MAY_FALSE);
	case EVAL_RANGE:
	case EVAL_SET:
	case EVAL_LIST:
		return may_range(n, b);
	case EVAL_IS_NULL:
		return may_null(n, b);
	case EVAL_TABLE:
		return may_table(n->table, b);
	default:
		return MAY_ALL;
	}
}

bool eval_block(const struct eval *e, size_t k, const struct eval_block *b)
{
	assert(k < e->count && e->exprs[k].root->is_bool);
	return may_be(e->exprs[k].root, b) & MAY_TRUE;
}

bool eval_block_all(const struct eval *e, size_t k, const struct eval_block *b)
{
	assert(k < e->count && e->exprs[k].root->is_bool);
	return may_be(e->exprs[k].root, b) == MAY_TRUE;
}
