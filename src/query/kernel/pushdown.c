/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pushdown.c: cuts from a filter what the kernel programs can test. `not` is moved inwards, so that
 * only tests of one field with a constant, and, or are left; a test that is unknown counts as not true,
 * which is right where nothing is negated. Of an `and` the part that can be tested is taken, of an `or`
 * all or nothing.
 */
#include "query/kernel/pushdown.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "query/eval/eval.h"
#include "query/eval/eval_internal.h"
#include "query/kernel/pushdown_internal.h"
#include "schema/vocab.h"

struct mark push_mark(const struct pusher *p)
{
	return (struct mark){p->f->count,      p->waiting,	  p->f->set_count,
			     p->f->name_count, p->cgroups->count, p->later};
}

static_assert(FILTER_FIELDS <= 32, "call_filter.fields has a bit for each");
static_assert(FILTER_SET_WORDS * 64 == OP_CODE_CALLS, "a set has a bit for each call");

enum pushed push_undo(struct pusher *p, struct mark m)
{
	/* steps are only taken back */
	assert(m.count <= p->f->count && m.sets <= p->f->set_count);
	assert(m.names <= p->f->name_count && m.cgroups <= p->cgroups->count);
	p->f->count = m.count;
	p->f->set_count = m.sets;
	p->f->name_count = m.names;
	p->cgroups->count = m.cgroups;
	p->waiting = m.waiting;
	p->later = m.later;
	return PUSHED_NONE;
}

bool push_step(struct pusher *p, enum filter_code code, enum filter_field field, int64_t value)
{
	bool joint = code == FILTER_AND || code == FILTER_OR;

	if (p->f->count == FILTER_STEPS_MAX || (!joint && p->waiting == FILTER_DEPTH_MAX))
		return false;
	assert(!joint || p->waiting >= 2);
	assert(joint || field < FILTER_FIELDS);
	p->later |= !joint && field >= FILTER_PATH && field <= FILTER_PEER;
	p->f->steps[p->f->count++] =
		(struct call_filter_step){.code = code, .field = field, .value = value};
	if (joint)
		p->waiting--;
	else
		p->waiting++;
	return true;
}

/* ---- fields ---- */

#define OPS_ONE_BY_ONE 2 /* a longer list of calls is one step as a set */

static bool name_field(enum query_name name, enum filter_field *ret)
{
	switch (name) {
	case QNAME_PID:
		*ret = FILTER_PID;
		return true;
	case QNAME_UID:
		*ret = FILTER_UID;
		return true;
	case QNAME_DEV:
		*ret = FILTER_DEV;
		return true;
	case QNAME_INO:
		*ret = FILTER_INO;
		return true;
	default:
		return false;
	}
}

static bool field_of(const struct expr *e, enum filter_field *ret)
{
	static const struct {
		unsigned int column;
		enum filter_field field;
	} columns[] = {
		{OP_DUR, FILTER_DUR},	{OP_RET, FILTER_RET},	  {OP_ERR, FILTER_ERR},
		{OP_OP, FILTER_OP},	{OP_TID, FILTER_TID},	  {OP_CPU, FILTER_CPU},
		{OP_FD, FILTER_FD},	{OP_SIZE, FILTER_SIZE},	  {OP_BYTES, FILTER_BYTES},
		{OP_POS, FILTER_POS},	{OP_FLAGS, FILTER_FLAGS}, {OP_FD2, FILTER_FD2},
		{OP_POS2, FILTER_POS2}, {OP_A0, FILTER_A0},	  {OP_A1, FILTER_A0 + 1},
		{OP_A2, FILTER_A0 + 2}, {OP_A3, FILTER_A0 + 3},	  {OP_A4, FILTER_A0 + 4},
		{OP_A5, FILTER_A0 + 5},
	};

	if (e->kind == EXPR_NAME)
		return name_field(e->name, ret);
	for (size_t i = 0; e->kind == EXPR_COLUMN && i < ARRAY_SIZE(columns); i++) {
		if (columns[i].column == e->column) {
			*ret = columns[i].field;
			return true;
		}
	}
	return false;
}

/* True for a constant that a field of the kernel can be compared with. */
static bool pushdown_is_number(const struct expr *e)
{
	return e->kind == EXPR_CONST && !e->value.null &&
	       (query_kind_is_int(e->type) || e->type.type == QUERY_FLOAT);
}

/* ---- tests ---- */

/* A constant of a field as the kernel compares it. */
static __int128 pushdown_number_of(enum filter_field field, int64_t v)
{
	return filter_is_unsigned(field) ? (__int128)(uint64_t)v - FILTER_TURNED : v;
}

/* A comparison; of a file's number it is made once for each file. */
static bool push_value(struct pusher *p, enum filter_code code, enum filter_field field,
		       int64_t value)
{
	struct call_filter_name n = {.field = field, .how = code, .value = value};

	return field == FILTER_DEV || field == FILTER_INO ? push_file_test(p, field, &n)
							  : push_step(p, code, field, value);
}

/* field in [low, high]; with `negate`: known, and not in it. Of one without a sign turned as pushdown_number_of() does. */
static enum pushed push_range(struct pusher *p, enum filter_field field, __int128 low,
			      __int128 high, bool negate)
{
	struct mark m = push_mark(p);
	int64_t least = field == FILTER_FLAGS ? 0 : INT64_MIN;
	bool below = low > least, above = high < INT64_MAX, ok;

	low = MAX(low, (__int128)least);
	if (low > high || low > INT64_MAX || high < INT64_MIN) { /* never, or always */
		ok = negate ? push_step(p, FILTER_KNOWN, field, 0)
			    : push_value(p, FILTER_GT, field, INT64_MAX);
		return ok ? PUSHED_ALL : push_undo(p, m);
	}
	if (!below && !above) {
		ok = negate ? push_value(p, FILTER_GT, field, INT64_MAX)
			    : push_step(p, FILTER_KNOWN, field, 0);
		return ok ? PUSHED_ALL : push_undo(p, m);
	}
	/* Numbers of calls have no order that all machines share. */
	if (field == FILTER_OP && low != high)
		return PUSHED_NONE;
	if (low == high) {
		ok = push_value(p, negate ? FILTER_NE : FILTER_EQ, field, (int64_t)low);
		return ok ? PUSHED_ALL : push_undo(p, m);
	}
	ok = !below || push_value(p, negate ? FILTER_LT : FILTER_GE, field, (int64_t)low);
	ok = ok && (!above || push_value(p, negate ? FILTER_GT : FILTER_LE, field, (int64_t)high));
	assert(below || above);
	if (below && above)
		ok = ok && push_step(p, negate ? FILTER_OR : FILTER_AND, 0, 0);
	return ok ? PUSHED_ALL : push_undo(p, m);
}

/* The same of numbers as the language has them. */
static enum pushed push_numbers(struct pusher *p, enum filter_field field, __int128 low,
				__int128 high, bool negate)
{
	const __int128 turned = filter_is_unsigned(field) ? (__int128)FILTER_TURNED : 0;

	return push_range(p, field, low - turned, high - turned, negate);
}

/* (flags & mask) == bits, or not. */
static enum pushed push_bits(struct pusher *p, const struct expr *what, uint64_t mask,
			     uint64_t bits, bool want)
{
	enum filter_field field;
	bool ok;

	if (!field_of(what, &field) ||
	    (field != FILTER_FLAGS &&
	     (field < FILTER_A0 || field > FILTER_A5 || mask > UINT32_MAX || bits > UINT32_MAX)))
		return PUSHED_NONE;
	if (bits > UINT32_MAX) /* the kernel's have 32 */
		ok = want ? push_step(p, FILTER_GT, field, INT64_MAX)
			  : push_step(p, FILTER_KNOWN, field, 0);
	else
		ok = push_step(p, want ? FILTER_BITS : FILTER_NOT_BITS, field,
			       (int64_t)((mask & UINT32_MAX) << 32 | bits));
	return ok ? PUSHED_ALL : PUSHED_NONE;
}

/* bitand(flags, mask) == bits: O_RDWR is one of several codes in the same bits. */
static enum pushed push_bits_compare(struct pusher *p, const struct expr *e,
				     const struct expr *masked, const struct expr *bits, bool want)
{
	const struct expr *mask = masked->arg[1];

	if (e->cmp > COMPARE_NE || !pushdown_is_number(mask) || !pushdown_is_number(bits) ||
	    mask->type.type == QUERY_FLOAT || bits->type.type == QUERY_FLOAT)
		return PUSHED_NONE;
	return push_bits(p, masked->arg[0], (uint64_t)mask->value.i, (uint64_t)bits->value.i,
			 (e->cmp == COMPARE_EQ) == want);
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

	assert(e->kind == EXPR_COMPARE && e->arg_count == 2);

	if (field->kind == EXPR_CONST) {
		field = e->arg[1];
		constant = e->arg[0];
		cmp = query_compare_turned(cmp);
	}
	if (field->kind == EXPR_CALL && field->function == FUNCTION_BITAND)
		return push_bits_compare(p, e, field, constant, want);
	if (!field_of(field, &number) || !pushdown_is_number(constant))
		return push_names_compare(p, e, want);
	if (constant->type.type != QUERY_FLOAT && constant->type.type != QUERY_UINT &&
	    number != FILTER_OP && !filter_is_unsigned(number))
		return push_value(p, codes[want ? cmp : opposite[cmp]], number, constant->value.i)
			       ? PUSHED_ALL
			       : PUSHED_NONE;
	query_const_range(cmp, constant->type, &constant->value, &low, &high);
	return push_numbers(p, number, low, high, (cmp == COMPARE_NE) == want);
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
	return push_numbers(p, field, low, high, !want);
}

/* Values that follow one another become one range. Where there are too many: what they span. */
static enum pushed push_in(struct pusher *p, const struct expr *e, bool want)
{
	struct mark m = push_mark(p);
	__int128 least = (__int128)INT64_MAX + 1, most = INT64_MIN;
	enum filter_field field;
	bool ok = true;

	if (!field_of(e->arg[0], &field) || !e->count || e->list[0].t.data)
		return push_names_in(p, e, want);
	/* The last has more than the kernel's flags have. */
	if (field == FILTER_FLAGS && e->list[e->count - 1].i < 0)
		return PUSHED_NONE;
	if (field == FILTER_OP && e->count > OPS_ONE_BY_ONE)
		return PUSHED_NONE; /* a set of calls */
	for (size_t i = 0; i < e->count; i++) {
		least = MIN(least, pushdown_number_of(field, e->list[i].i));
		most = MAX(most, pushdown_number_of(field, e->list[i].i));
	}
	for (size_t i = 0, next; i < e->count && ok; i = next) {
		__int128 low = pushdown_number_of(field, e->list[i].i), high = low;

		/* sorted as the field's numbers are */
		for (next = i + 1; next < e->count && field != FILTER_OP &&
				   pushdown_number_of(field, e->list[next].i) - 1 == high;
		     next++)
			high = pushdown_number_of(field, e->list[next].i);
		ok = push_range(p, field, low, high, !want) == PUSHED_ALL &&
		     (i == 0 || push_step(p, want ? FILTER_OR : FILTER_AND, 0, 0));
	}
	if (ok)
		return PUSHED_ALL;
	push_undo(p, m);
	if (!want)
		return PUSHED_NONE;
	return push_range(p, field, least, most, false) == PUSHED_NONE ? PUSHED_NONE : PUSHED_PART;
}

static enum pushed push_null(struct pusher *p, const struct expr *e, bool want)
{
	enum filter_field field;

	if (!field_of(e->arg[0], &field) && !push_names_field(e->arg[0], &field))
		return PUSHED_NONE;
	/* The kernel knows every process and user; the trace may not. What has no inode number is unknown too. */
	if (want && (field == FILTER_PID || field == FILTER_UID || field == FILTER_INO))
		return PUSHED_NONE;
	if (!push_step(p, want ? FILTER_NULL : FILTER_KNOWN, field, 0))
		return PUSHED_NONE;
	return PUSHED_ALL;
}

/* ---- operations ---- */

static bool op_listed(const struct expr *e, int64_t code)
{
	const struct expr *constant =
		e->arg[e->kind == EXPR_COMPARE && e->arg[0]->kind == EXPR_CONST ? 0 : 1];

	if (e->kind == EXPR_COMPARE)
		return constant->value.i == code;
	for (size_t i = 0; i < e->count; i++) {
		if (e->list[i].i == code)
			return true;
	}
	return false;
}

/* True if a test of the operation alone has the result `want` for every call that can occur. */
static bool op_decided(const struct pusher *p, const struct expr *e, bool want)
{
	enum filter_field field;
	const struct expr *arg = e->arg[0];

	if (e->kind == EXPR_COMPARE && e->cmp <= COMPARE_NE) {
		want ^= e->cmp == COMPARE_NE;
		arg = e->arg[arg->kind == EXPR_CONST];
		if (!pushdown_is_number(e->arg[arg == e->arg[0]]))
			return false;
	} else if (e->kind != EXPR_IN || !e->count || e->list[0].t.data) {
		return false;
	}
	if (!p->ops || !field_of(arg, &field) || field != FILTER_OP)
		return false;
	for (uint32_t code = 0; code < OP_CODE_CALLS; code++) {
		if ((p->ops[code / 64] >> (code % 64) & 1) && op_listed(e, code) != want)
			return false;
	}
	return true;
}

/* Adds a set of calls that is tested when the call has ended; false if there is no room. */
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

/*
 * What the call and its class say of an expression that cannot be tested: the calls for which it may hold. That is
 * all of it where of each call one answer alone is possible.
 */
static enum pushed push_ops(struct pusher *p, const struct expr *e, bool want)
{
	const struct expr negated = {
		.kind = EXPR_NOT, .type = e->type, .arg = {(struct expr *)e}, .arg_count = 1};
	uint64_t may[OP_CODE_CALLS / 64], opposite[OP_CODE_CALLS / 64];
	struct mark m = push_mark(p);
	struct error err = {0};
	bool whole = expr_columns(e) == 1ull << OP_OP;

	if (!(expr_columns(e) & (1ull << OP_OP | 1ull << OP_CLASS)))
		return PUSHED_NONE;
	memset(may, 0xff, sizeof(may));
	memset(opposite, 0xff, sizeof(opposite));
	if (query_pushdown_ops(want ? e : &negated, may, &err) <= 0 ||
	    query_pushdown_ops(want ? &negated : e, opposite, &err) < 0 || !push_set(p, may))
		return push_undo(p, m);
	for (size_t i = 0; i < ARRAY_SIZE(may); i++)
		whole &= !(may[i] & opposite[i]);
	return whole ? PUSHED_ALL : PUSHED_PART;
}

/* ---- control groups ---- */

/* Whether all that is read of the call is about its control group; constants read nothing. */
static bool reads_cgroups_only(const struct expr *e)
{
	bool only = e->kind != EXPR_COLUMN && e->kind != EXPR_STOP && e->kind != EXPR_FIELD &&
		    e->kind != EXPR_ROW && e->kind != EXPR_USER;

	if (e->kind == EXPR_NAME)
		only = e->name == QNAME_CGROUP_PATH || e->name == QNAME_CONTAINER ||
		       e->name == QNAME_UNIT;
	for (unsigned int i = 0; only && i < e->arg_count; i++)
		only = reads_cgroups_only(e->arg[i]);
	return only;
}

static bool is_about_cgroups(const struct expr *e)
{
	return expr_columns(e) == 1ull << OP_THREAD_ID && reads_cgroups_only(e);
}

static enum pushed push_cgroup(struct pusher *p, const struct expr *e, bool want)
{
	struct pushdown_cgroups *c = p->cgroups;

	if (c->count == FILTER_CGROUPS_MAX || !push_step(p, FILTER_NAME, FILTER_CGROUP, c->count))
		return PUSHED_NONE;
	c->tests[c->count++] = (struct pushdown_cgroup){e, want};
	return PUSHED_ALL;
}

/* ---- logic ---- */

static enum pushed pushdown_push(struct pusher *p, const struct expr *e, bool want);

static enum pushed push_both(struct pusher *p, const struct expr *e, bool want)
{
	struct mark m = push_mark(p), second;
	enum pushed a = pushdown_push(p, e->arg[0], want), b;

	assert(p->waiting == m.waiting + (a == PUSHED_PART || a == PUSHED_ALL));
	second = push_mark(p);
	b = pushdown_push(p, e->arg[1], want);
	if (a == PUSHED_TRUE || b == PUSHED_TRUE)
		return a == PUSHED_TRUE ? b : a;
	if (a == PUSHED_NONE || b == PUSHED_NONE)
		return a == PUSHED_NONE && b == PUSHED_NONE ? push_undo(p, m) : PUSHED_PART;
	if (!push_step(p, FILTER_AND, 0, 0)) {
		push_undo(p, second);
		return PUSHED_PART;
	}
	return MIN(a, b);
}

static enum pushed push_either(struct pusher *p, const struct expr *e, bool want)
{
	struct mark m = push_mark(p);
	enum pushed a = pushdown_push(p, e->arg[0], want), b;

	assert(p->waiting == m.waiting + (a == PUSHED_PART || a == PUSHED_ALL));
	if (a == PUSHED_NONE || a == PUSHED_TRUE)
		return a;
	b = pushdown_push(p, e->arg[1], want);
	if (b == PUSHED_TRUE) {
		push_undo(p, m);
		return b;
	}
	if (b == PUSHED_NONE || !push_step(p, FILTER_OR, 0, 0))
		return push_undo(p, m);
	return MIN(a, b);
}

/* One test. */
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
	case EXPR_HAS:
		return push_bits(p, e->arg[0], e->mask, e->bits, want);
	case EXPR_GLOB:
	case EXPR_LIKE:
		return push_names_pattern(p, e, want);
	default:
		return PUSHED_NONE;
	}
}

static enum pushed pushdown_push(struct pusher *p, const struct expr *e, bool want)
{
	enum pushed r;

	if (op_decided(p, e, want))
		return PUSHED_TRUE;
	if (is_about_cgroups(e))
		return push_cgroup(p, e, want);
	switch (e->kind) {
	case EXPR_NOT:
		return pushdown_push(p, e->arg[0], !want);
	case EXPR_AND:
		return want ? push_both(p, e, true) : push_either(p, e, false);
	case EXPR_OR:
		return want ? push_either(p, e, true) : push_both(p, e, false);
	default:
		r = push_test(p, e, want);
		return r == PUSHED_NONE ? push_ops(p, e, want) : r;
	}
}

void query_pushdown(const struct expr *e, const uint64_t *ops, struct call_filter *ret,
		    struct pushdown_cgroups *ret_cgroups, bool *ret_rest)
{
	struct pusher p = {.f = ret, .cgroups = ret_cgroups, .ops = ops};

	assert(e->type.type == QUERY_BOOL || e->type.type == QUERY_NULL);
	*ret = (struct call_filter){0};
	ret_cgroups->count = 0;
	*ret_rest = pushdown_push(&p, e, true) < PUSHED_ALL || p.later;
	assert(p.waiting == (ret->count > 0)); /* the steps leave one value on the stack */
	assert(ret->count <= FILTER_STEPS_MAX && ret->set_count <= FILTER_SETS_MAX &&
	       ret->name_count <= FILTER_NAMES_MAX);
	for (uint32_t i = 0; i < ret->count; i++) {
		if (ret->steps[i].code != FILTER_AND && ret->steps[i].code != FILTER_OR)
			ret->fields |= 1u << ret->steps[i].field;
	}
}

/* A filter over a block that holds rows of one operation and class alone, and anything else. */
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

/* A call's class is that of its operation; one that takes data may have waited for it. */
static bool may_be_op(const struct eval *e, int64_t code)
{
	const struct op_def *def = op_def((uint32_t)code);
	int64_t class = def && def->name ? def->class : CLASS_OTHER;

	return may_be_class(e, code, class) ||
	       ((class == CLASS_DATA || class == CLASS_NET) && may_be_class(e, code, CLASS_WAIT));
}

/* What a socket's peer is shows the call that connects it, whether that passes or not. */
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
