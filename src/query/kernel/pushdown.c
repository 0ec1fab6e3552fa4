/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown.c: extracts the part of a filter that the kernel programs can test. `not` is moved inwards, which leaves
 * only tests of a field against a constant, and, or; an unknown test counts as false, which is correct if nothing is
 * negated. Of an `and` the testable operands are taken, of an `or` all or none.
 */
#include "query/kernel/pushdown.h"

#include <string.h>

#include "query/eval/eval.h"
#include "query/eval/eval_internal.h"
#include "query/kernel/pushdown_internal.h"

struct mark push_mark(const struct pusher *p)
{
	return (struct mark){p->f->count, p->waiting, p->f->set_count, p->f->name_count};
}

static_assert(FILTER_SET_WORDS * 64 == OP_CODE_CALLS, "a set has a bit for each call");

enum pushed push_undo(struct pusher *p, struct mark m)
{
	/* only removes steps */
	assert(m.count <= p->f->count && m.sets <= p->f->set_count);
	assert(m.names <= p->f->name_count);
	p->f->count = m.count;
	p->f->set_count = m.sets;
	p->f->name_count = m.names;
	p->waiting = m.waiting;
	return PUSHED_NONE;
}

bool push_step(struct pusher *p, enum filter_code code, enum filter_field field, int64_t value)
{
	bool joint = code == FILTER_AND || code == FILTER_OR;

	if (p->f->count == FILTER_STEPS_MAX || (!joint && p->waiting == FILTER_DEPTH_MAX))
		return false;
	assert(!joint || p->waiting >= 2);
	assert(joint || field < FILTER_FIELDS);
	p->f->steps[p->f->count++] =
		(struct call_filter_step){.code = code, .field = field, .value = value};
	if (joint)
		p->waiting--;
	else
		p->waiting++;
	return true;
}

/* ---- numbers ---- */

static bool field_of(const struct expr *e, enum filter_field *ret)
{
	static const struct {
		unsigned int column;
		enum filter_field field;
	} columns[] = {
		{OP_DUR, FILTER_DUR},	  {OP_RET, FILTER_RET}, {OP_ERR, FILTER_ERR},
		{OP_TID, FILTER_TID},	  {OP_FD, FILTER_FD},	{OP_SIZE, FILTER_SIZE},
		{OP_BYTES, FILTER_BYTES},
	};

	if (e->kind == EXPR_NAME && (e->name == QNAME_PID || e->name == QNAME_UID)) {
		*ret = e->name == QNAME_PID ? FILTER_PID : FILTER_UID;
		return true;
	}
	for (size_t i = 0; e->kind == EXPR_COLUMN && i < ARRAY_SIZE(columns); i++) {
		if (columns[i].column == e->column) {
			*ret = columns[i].field;
			return true;
		}
	}
	return false;
}

/* True for a constant that a kernel field can be compared with. */
static bool pushdown_is_number(const struct expr *e)
{
	return e->kind == EXPR_CONST && !e->value.null &&
	       (query_kind_is_int(e->type) || e->type.type == QUERY_FLOAT);
}

/* field in [low, high]; with `negate`: known, and outside it. */
static bool push_range(struct pusher *p, enum filter_field field, __int128 low, __int128 high,
		       bool negate)
{
	struct mark m = push_mark(p);
	bool below = low > INT64_MIN, above = high < INT64_MAX, ok;

	if (low > high || low > INT64_MAX || high < INT64_MIN) /* never true, or always */
		return negate ? push_step(p, FILTER_KNOWN, field, 0)
			      : push_step(p, FILTER_GT, field, INT64_MAX);
	if (!below && !above)
		return negate ? push_step(p, FILTER_GT, field, INT64_MAX)
			      : push_step(p, FILTER_KNOWN, field, 0);
	if (low == high)
		return push_step(p, negate ? FILTER_NE : FILTER_EQ, field, (int64_t)low);
	ok = !below || push_step(p, negate ? FILTER_LT : FILTER_GE, field, (int64_t)low);
	ok = ok && (!above || push_step(p, negate ? FILTER_GT : FILTER_LE, field, (int64_t)high));
	if (below && above)
		ok = ok && push_step(p, negate ? FILTER_OR : FILTER_AND, 0, 0);
	return ok || push_undo(p, m) != PUSHED_NONE;
}

static enum pushed push_compare(struct pusher *p, const struct expr *e, bool want)
{
	static const enum filter_code codes[] = {
		[COMPARE_EQ] = FILTER_EQ, [COMPARE_NE] = FILTER_NE, [COMPARE_LT] = FILTER_LT,
		[COMPARE_LE] = FILTER_LE, [COMPARE_GT] = FILTER_GT, [COMPARE_GE] = FILTER_GE,
	};
	static const enum expr_compare opposite[] = {
		[COMPARE_EQ] = COMPARE_NE, [COMPARE_NE] = COMPARE_EQ, [COMPARE_LT] = COMPARE_GE,
		[COMPARE_LE] = COMPARE_GT, [COMPARE_GT] = COMPARE_LE, [COMPARE_GE] = COMPARE_LT,
	};
	const struct expr *field = e->arg[0], *constant = e->arg[1];
	enum expr_compare cmp = e->cmp;
	enum filter_field number;
	__int128 low, high;
	bool ok;

	assert(e->kind == EXPR_COMPARE && e->arg_count == 2);

	if (field->kind == EXPR_CONST) {
		field = e->arg[1];
		constant = e->arg[0];
		cmp = query_compare_turned(cmp);
	}
	if (!field_of(field, &number) || !pushdown_is_number(constant))
		return push_names_compare(p, e, want);
	if (constant->type.type != QUERY_FLOAT && constant->type.type != QUERY_UINT) {
		ok = push_step(p, codes[want ? cmp : opposite[cmp]], number, constant->value.i);
		return ok ? PUSHED_TEST : PUSHED_NONE;
	}
	query_const_range(cmp, constant->type, &constant->value, &low, &high);
	ok = push_range(p, number, low, high, (cmp == COMPARE_NE) == want);
	return ok ? PUSHED_TEST : PUSHED_NONE;
}

static enum pushed push_between(struct pusher *p, const struct expr *e, bool want)
{
	enum filter_field field;
	__int128 low, high, unused;

	if (!field_of(e->arg[0], &field) || !pushdown_is_number(e->arg[1]) ||
	    !pushdown_is_number(e->arg[2]))
		return PUSHED_NONE;
	query_const_range(COMPARE_GE, e->arg[1]->type, &e->arg[1]->value, &low, &unused);
	query_const_range(COMPARE_LE, e->arg[2]->type, &e->arg[2]->value, &unused, &high);
	return push_range(p, field, low, high, !want) ? PUSHED_TEST : PUSHED_NONE;
}

/* Consecutive values become one range. If there are too many ranges, uses the range that spans them all. */
static enum pushed push_in(struct pusher *p, const struct expr *e, bool want)
{
	struct mark m = push_mark(p);
	enum filter_field field;
	bool ok = true;

	if (!field_of(e->arg[0], &field) || !e->count || e->list[0].t.data)
		return push_names_in(p, e, want);
	for (size_t i = 0, next; i < e->count && ok; i = next) {
		__int128 low = e->list[i].i, high = low;

		/* sorted in the order of the field's numbers */
		for (next = i + 1; next < e->count && (__int128)e->list[next].i - 1 == high; next++)
			high = e->list[next].i;
		ok = push_range(p, field, low, high, !want) &&
		     (i == 0 || push_step(p, want ? FILTER_OR : FILTER_AND, 0, 0));
	}
	if (ok)
		return PUSHED_TEST;
	push_undo(p, m);
	ok = want && push_range(p, field, e->list[0].i, e->list[e->count - 1].i, false);
	return ok ? PUSHED_TEST : PUSHED_NONE;
}

static enum pushed push_null(struct pusher *p, const struct expr *e, bool want)
{
	enum filter_field field;

	if (!field_of(e->arg[0], &field) && !push_names_field(e->arg[0], &field))
		return PUSHED_NONE;
	/* The kernel knows every process and user; the trace may not. */
	if (want && (field == FILTER_PID || field == FILTER_UID))
		return PUSHED_NONE;
	return push_step(p, want ? FILTER_NULL : FILTER_KNOWN, field, 0) ? PUSHED_TEST
									 : PUSHED_NONE;
}

/* ---- operations ---- */

/* Adds a set of calls to test when the call ends; false if there is no room. */
static bool push_set(struct pusher *p, const uint64_t *ops)
{
	struct call_filter *f = p->f;
	uint32_t i = 0;

	_Static_assert(sizeof(f->sets[0]) == OP_CODE_CALLS / 8, "a bit for each code");
	while (i < f->set_count && memcmp(f->sets[i], ops, sizeof(f->sets[0])))
		i++;
	if (i == FILTER_SETS_MAX)
		return false;
	memcpy(f->sets[i], ops, sizeof(f->sets[0]));
	f->set_count = MAX(f->set_count, i + 1);
	return push_step(p, FILTER_SET, FILTER_OP, i);
}

/* Finds the calls for which the expression may have the result `want`. False: any call, or unknown. */
static bool ops_where(const struct expr *e, bool want, uint64_t ret[OP_CODE_CALLS / 64])
{
	const struct expr negated = {
		.kind = EXPR_NOT, .type = e->type, .arg = {(struct expr *)e}, .arg_count = 1};
	struct error err = {0};

	memset(ret, 0xff, OP_CODE_CALLS / 8);
	return query_pushdown_ops(want ? e : &negated, ret, &err) > 0;
}

/* Reduces an expression to the set of calls for which it may hold, by the call and its class. */
static enum pushed push_ops(struct pusher *p, const struct expr *e, bool want)
{
	const uint64_t about_ops = 1ull << OP_OP | 1ull << OP_CLASS;
	uint64_t ops[OP_CODE_CALLS / 64], others = 0;
	struct mark m = push_mark(p);

	if (!(expr_columns(e) & about_ops))
		return PUSHED_NONE;
	/*
	 * Call and class are never unknown, so an expression about them alone holds exactly where its opposite
	 * cannot.
	 */
	if (!(expr_columns(e) & ~about_ops) && ops_where(e, !want, ops)) {
		for (size_t i = 0; i < ARRAY_SIZE(ops); i++)
			others |= ops[i] & (p->ops ? p->ops[i] : UINT64_MAX);
		if (!others)
			return PUSHED_TRUE;
	}
	if (!ops_where(e, want, ops) || !push_set(p, ops))
		return push_undo(p, m);
	return PUSHED_TEST;
}

/* ---- logic ---- */

static enum pushed pushdown_push(struct pusher *p, const struct expr *e, bool want);

static enum pushed push_both(struct pusher *p, const struct expr *e, bool want)
{
	struct mark second;
	enum pushed a = pushdown_push(p, e->arg[0], want), b;

	second = push_mark(p);
	b = pushdown_push(p, e->arg[1], want);
	if (a == PUSHED_TRUE || b == PUSHED_TRUE)
		return a == PUSHED_TRUE ? b : a;
	if (a == PUSHED_NONE || b == PUSHED_NONE)
		return MAX(a, b);
	if (!push_step(p, FILTER_AND, 0, 0))
		push_undo(p, second);
	return PUSHED_TEST;
}

static enum pushed push_either(struct pusher *p, const struct expr *e, bool want)
{
	struct mark m = push_mark(p);
	enum pushed a = pushdown_push(p, e->arg[0], want), b;

	if (a != PUSHED_TEST)
		return a;
	b = pushdown_push(p, e->arg[1], want);
	if (b == PUSHED_TEST && push_step(p, FILTER_OR, 0, 0))
		return PUSHED_TEST;
	push_undo(p, m);
	return b == PUSHED_TRUE ? PUSHED_TRUE : PUSHED_NONE;
}

/* Adds a single test. */
static enum pushed push_test(struct pusher *p, const struct expr *e, bool want)
{
	switch (e->kind) {
	case EXPR_COMPARE:
		return push_compare(p, e, want);
	case EXPR_RANGE:
		return push_between(p, e, want);
	case EXPR_IN:
		return push_in(p, e, want);
	case EXPR_IS_NULL:
		return push_null(p, e, want);
	case EXPR_GLOB:
	case EXPR_LIKE:
		return push_names_pattern(p, e, want);
	default:
		return PUSHED_NONE;
	}
}

static enum pushed pushdown_push(struct pusher *p, const struct expr *e, bool want)
{
	unsigned int waiting = p->waiting;
	enum pushed r;

	switch (e->kind) {
	case EXPR_NOT:
		return pushdown_push(p, e->arg[0], !want);
	case EXPR_AND:
		r = want ? push_both(p, e, true) : push_either(p, e, false);
		break;
	case EXPR_OR:
		r = want ? push_either(p, e, true) : push_both(p, e, false);
		break;
	default:
		r = push_test(p, e, want);
		if (r == PUSHED_NONE)
			r = push_ops(p, e, want);
	}
	assert(p->waiting == waiting + (r == PUSHED_TEST));
	return r;
}

void query_pushdown(const struct expr *e, const uint64_t *ops, struct call_filter *ret)
{
	struct pusher p = {.f = ret, .ops = ops};

	assert(e->type.type == QUERY_BOOL || e->type.type == QUERY_NULL);
	*ret = (struct call_filter){0};
	pushdown_push(&p, e, true);
	assert(p.waiting == (ret->count > 0)); /* the steps leave one value on the stack */
	assert(ret->count <= FILTER_STEPS_MAX && ret->set_count <= FILTER_SETS_MAX &&
	       ret->name_count <= FILTER_NAMES_MAX);
	for (uint32_t i = 0; i < ret->count; i++) {
		if (ret->steps[i].code != FILTER_AND && ret->steps[i].code != FILTER_OR)
			ret->fields |= 1u << ret->steps[i].field;
	}
}

/* Evaluates the filter over an imaginary block whose rows have one operation and class, and any other values. */
static bool may_be_class(const struct eval *e, int64_t code, int64_t class)
{
	int64_t min[OP_COLUMNS], max[OP_COLUMNS];
	uint32_t nulls[OP_COLUMNS];
	struct eval_block b = {.rows = 2, .min = min, .max = max, .nulls = nulls};

	for (unsigned int i = 0; i < OP_COLUMNS; i++) {
		min[i] = INT64_MIN;
		max[i] = INT64_MAX;
		nulls[i] = 1;
	}
	min[OP_OP] = max[OP_OP] = code;
	min[OP_CLASS] = max[OP_CLASS] = class;
	nulls[OP_OP] = nulls[OP_CLASS] = 0;
	return eval_block(e, 0, &b);
}

/* A call has the class of its operation, or `wait` if it takes data and may have waited for it. */
static bool may_be_op(const struct eval *e, int64_t code)
{
	const struct op_def *def = op_def((uint32_t)code);
	int64_t class = def && def->name ? def->class : CLASS_OTHER;

	return may_be_class(e, code, class) ||
	       ((class == CLASS_DATA || class == CLASS_NET) && may_be_class(e, code, CLASS_WAIT));
}

/* True for calls that reveal a socket's peer to the recorder: they are needed even if they do not pass the filter. */
static bool is_told_by(const struct expr *e, uint32_t code)
{
	static const char *const names[] = {"connect", "bind", "listen"};
	const struct op_def *def = op_def(code);

	if (!def || !def->name || !(expr_columns(e) & 1ull << OP_PEER_ID))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (!strcmp(def->name, names[i]))
			return true;
	}
	return false;
}

int query_pushdown_ops(const struct expr *e, uint64_t ops[OP_CODE_CALLS / 64], struct error *err)
{
	_cleanup_(eval_freep) struct eval *v = NULL;
	int r = eval_new(&v, &e, 1, err), left_out = 0;

	if (r < 0)
		return r;
	for (uint32_t code = 0; code < OP_CODE_CALLS; code++) {
		uint64_t bit = 1ull << (code % 64);

		if (!(ops[code / 64] & bit) || may_be_op(v, code) || is_told_by(e, code))
			continue;
		ops[code / 64] &= ~bit;
		left_out = 1;
	}
	return left_out;
}
