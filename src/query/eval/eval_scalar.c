/* SPDX-License-Identifier: Apache-2.0 */
/* eval_scalar.c: evaluates an expression for one id, one code or one row; slow and simple. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "query/eval/eval_internal.h"
#include "query/check/user_values.h"

void scalar_done(struct eval_scalar *s)
{
	buf_free(&s->scratch);
}

static int set_bool(struct value *ret, bool v)
{
	*ret = (struct value){.i = v};
	return 0;
}

static int eval_scalar_set_null(struct value *ret)
{
	*ret = (struct value){.null = true};
	return 0;
}

static int eval_scalar_set_text(struct eval_scalar *s, struct bytes text, struct value *ret)
{
	*ret = (struct value){0};
	return arena_text(s->texts, text, &ret->t);
}

/* ---- leaves ---- */

static int stop_value(const struct batch *b, size_t row, struct value *ret)
{
	const struct table_def *t = b->def;
	int64_t stop;

	if (batch_is_null(b, t->start, row) || batch_is_null(b, t->dur, row) ||
	    eval_unfinished(b, row) ||
	    __builtin_add_overflow(batch_get(b, t->start, row, 0), batch_get(b, t->dur, row, 0),
				   &stop))
		return eval_scalar_set_null(ret);

	*ret = (struct value){.i = stop};
	return 0;
}

static int column_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	if (s->at == SCALAR_CODE) {
		*ret = (struct value){.null = s->id < 0, .i = s->id};
		return 0;
	}
	assert(s->at == SCALAR_ROW);
	if (e->kind == EXPR_STOP)
		return stop_value(s->batch, s->row, ret);
	*ret = (struct value){.null = batch_is_null(s->batch, e->column, s->row)};
	if (ret->null)
		return 0;
	if (e->type.type == QUERY_TEXT || e->type.type == QUERY_HIST)
		return query_column_text(s->batch, e->column, s->row, s->texts, &ret->t);
	ret->i = s->batch->columns[e->column].val[s->row];
	return 0;
}

/* For a row: the address given to the call, else the socket's. */
static int peer_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	int r = query_name_value(QNAME_PEER, s->dims, batch_get(s->batch, e->column, s->row, -1),
				 &s->scratch, ret);

	if (r < 0 || !ret->null)
		return r;
	return query_name_value(QNAME_PEER, s->dims, batch_get(s->batch, OP_FILE_ID, s->row, -1),
				&s->scratch, ret);
}

static int name_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	int64_t id = s->id;
	int r;

	if (!s->dims)
		return eval_scalar_set_null(ret);
	if (s->at == SCALAR_ID && s->kept && s->kept_name == e->name && s->kept_id == id) {
		*ret = s->kept_value;
		return 0;
	}
	if (s->at == SCALAR_ROW && e->name == QNAME_PEER && s->batch->table == TABLE_OP) {
		r = peer_value(s, e, ret);
	} else {
		if (s->at == SCALAR_ROW)
			id = batch_get(s->batch, e->column, s->row, -1);
		r = query_name_value(e->name, s->dims, id, &s->scratch, ret);
	}
	/* A composed text must outlive the scratch. */
	if (r >= 0 && !ret->null && ret->t.data && ret->t.data == s->scratch.data)
		return arena_text(s->texts, ret->t, &ret->t);
	/* a filter of many patterns uses the same name repeatedly */
	s->kept = r >= 0;
	s->kept_name = e->name;
	s->kept_id = id;
	s->kept_value = *ret;
	return r;
}

/* ---- texts ---- */

int scalar_text(struct eval_scalar *s, struct query_kind kind, const struct value *v,
		struct bytes *ret)
{
	struct buf *b = &s->scratch;
	int r;

	if (kind.type == QUERY_TEXT || kind.type == QUERY_HIST) {
		*ret = v->t;
		return 0;
	}
	buf_clear(b);
	switch (kind.type) {
	case QUERY_CODE:
		r = query_code_text(kind.vocab, v->i, b);
		break;
	case QUERY_ENTITY:
		r = s->dims ? query_entity_text(kind.entity, s->dims, v->i, b)
			    : buf_append(b, "?", 1);
		break;
	case QUERY_BOOL:
		r = buf_printf(b, "%s", v->i ? "true" : "false");
		break;
	case QUERY_FLOAT:
		r = buf_printf(b, "%.17g", v->f);
		break;
	case QUERY_UINT:
		r = buf_printf(b, "%llu", (unsigned long long)v->i);
		break;
	default:
		r = buf_printf(b, "%lld", (long long)v->i);
		break;
	}
	return r < 0 ? r : arena_text(s->texts, buf_bytes(b), ret);
}

static int pattern_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	struct value v;
	struct bytes text;
	uint64_t pattern;
	int r = scalar_value(s, e->arg[0], &v);

	if (r < 0 || v.null)
		return r < 0 ? r : eval_scalar_set_null(ret);
	if (!map_get(&s->e->patterns, (uintptr_t)e, &pattern))
		return -EINVAL;
	r = scalar_text(s, e->arg[0]->type, &v, &text);
	if (r < 0)
		return r;
	r = query_pattern_match((const struct query_pattern *)(uintptr_t)pattern, text);
	if (r < 0)
		return r;
	return set_bool(ret, r);
}

/* ---- comparisons ---- */

static double as_float(struct query_kind kind, const struct value *v)
{
	return kind.type == QUERY_FLOAT ? v->f : int_to_float(v->i, kind_unsigned(kind));
}

static int order_of(struct eval_scalar *s, struct query_kind ka, const struct value *a,
		    struct query_kind kb, const struct value *b, int *ret)
{
	if (ka.type == QUERY_TEXT || kb.type == QUERY_TEXT) {
		struct bytes ta, tb;
		int r = scalar_text(s, ka, a, &ta);

		if (r < 0)
			return r;
		r = scalar_text(s, kb, b, &tb);
		if (r < 0)
			return r;
		*ret = bytes_compare(ta, tb);
		return 0;
	}
	if (ka.type == QUERY_FLOAT && kb.type == QUERY_FLOAT)
		*ret = ORDER(a->f, b->f);
	else if (kb.type == QUERY_FLOAT)
		*ret = compare_int_float(a->i, kind_unsigned(ka), b->f);
	else if (ka.type == QUERY_FLOAT)
		*ret = -compare_int_float(b->i, kind_unsigned(kb), a->f);
	else
		*ret = compare_ints(a->i, kind_unsigned(ka), b->i, kind_unsigned(kb));
	return 0;
}

static int compare_value(struct eval_scalar *s, enum expr_compare cmp, const struct expr *left,
			 const struct expr *right, struct value *ret)
{
	struct value a, b;
	int order = 0, r = scalar_value(s, left, &a);

	if (r < 0)
		return r;
	r = scalar_value(s, right, &b);
	if (r < 0)
		return r;
	if (a.null || b.null)
		return eval_scalar_set_null(ret);
	r = order_of(s, left->type, &a, right->type, &b, &order);
	if (r < 0)
		return r;
	return set_bool(ret, compare_holds(cmp, order));
}

/* The kind of the constants of an `in`: those compared with a code or an entity may be texts. */
static struct query_kind list_kind(const struct expr *e)
{
	struct query_kind k = e->arg[0]->type;

	if (e->count && e->list[0].t.data)
		k.type = QUERY_TEXT;
	return k;
}

static int in_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	struct query_kind kind = list_kind(e), own = e->arg[0]->type;
	size_t low = 0, high = e->count;
	struct value v;
	int r = scalar_value(s, e->arg[0], &v);

	if (r < 0)
		return r;
	if (v.null)
		return eval_scalar_set_null(ret);
	if (kind.type == QUERY_TEXT && own.type != QUERY_TEXT) {
		r = scalar_text(s, own, &v, &v.t);
		if (r < 0)
			return r;
		own = kind;
	}
	while (low < high) {
		size_t mid = (low + high) / 2;
		int order = 0;

		r = order_of(s, own, &v, kind, &e->list[mid], &order);
		if (r < 0)
			return r;
		if (order == 0)
			return set_bool(ret, true);
		if (order < 0)
			high = mid;
		else
			low = mid + 1;
	}
	return set_bool(ret, false);
}

/* ---- logic ---- */

/* AND if `stop` is false, OR if it is true: the first operand equal to `stop` decides. */
static int logic_value(struct eval_scalar *s, const struct expr *e, bool stop, struct value *ret)
{
	struct value a, b;
	int r;

	assert(e->arg_count == 2);
	r = scalar_value(s, e->arg[0], &a);
	if (r < 0)
		return r;
	if (!a.null && !!a.i == stop)
		return set_bool(ret, stop);
	r = scalar_value(s, e->arg[1], &b);
	if (r < 0)
		return r;
	if (!b.null && !!b.i == stop)
		return set_bool(ret, stop);
	return a.null || b.null ? eval_scalar_set_null(ret) : set_bool(ret, !stop);
}

static int range_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	struct value low, high;
	int r;

	assert(e->arg_count == 3);
	r = compare_value(s, COMPARE_GE, e->arg[0], e->arg[1], &low);
	if (r < 0)
		return r;
	r = compare_value(s, COMPARE_LE, e->arg[0], e->arg[2], &high);
	if (r < 0)
		return r;
	if ((!low.null && !low.i) || (!high.null && !high.i))
		return set_bool(ret, false);
	return low.null || high.null ? eval_scalar_set_null(ret) : set_bool(ret, true);
}

/* ---- numbers and functions ---- */

static int arith_value(struct eval_scalar *s, const struct expr *e, enum expr_arith op,
		       const struct value *a, struct query_kind ka, const struct value *b,
		       struct query_kind kb, struct value *ret)
{
	bool known;
	double v;

	*ret = (struct value){0};
	if (arith_rounds(e))
		known = arith_float(op, as_float(ka, a), as_float(kb, b), &v) &&
			round_float(v, kind_unsigned(e->type), &ret->i);
	else if (e->type.type == QUERY_FLOAT)
		known = arith_float(op, as_float(ka, a), as_float(kb, b), &ret->f);
	else
		known = arith_int(op, a->i, kind_unsigned(ka), b->i, kind_unsigned(kb),
				  kind_unsigned(e->type), &ret->i);
	return known ? 0 : eval_scalar_set_null(ret);
}

/* Converts the value of one branch to the type of the whole. */
static void convert(struct query_kind from, struct query_kind to, struct value *v)
{
	if (!v->null && to.type == QUERY_FLOAT && from.type != QUERY_FLOAT)
		v->f = int_to_float(v->i, kind_unsigned(from));
}

static int branch_value(struct eval_scalar *s, const struct expr *e, const struct expr *branch,
			struct value *ret)
{
	int r = scalar_value(s, branch, ret);

	if (r < 0)
		return r;
	convert(branch->type, e->type, ret);
	return 0;
}

static int coalesce_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	eval_scalar_set_null(ret);
	for (unsigned int i = 0; i < e->arg_count && ret->null; i++) {
		int r = branch_value(s, e, e->arg[i], ret);

		if (r < 0)
			return r;
	}
	return 0;
}

static int number_call(struct eval_scalar *s, const struct expr *e, const struct value *a,
		       const struct value *b, struct value *ret)
{
	struct query_kind ka = e->arg[0]->type, kb = e->arg_count > 1 ? e->arg[1]->type : ka;
	bool known;

	*ret = (struct value){0};
	if (e->type.type == QUERY_FLOAT)
		known = function_float(e->function, as_float(ka, a), as_float(kb, b), &ret->f);
	else
		known = function_int(e->function, a->i, kind_unsigned(ka), b->i, kind_unsigned(kb),
				     kind_unsigned(e->type), &ret->i);
	return known ? 0 : eval_scalar_set_null(ret);
}

static int text_call(struct eval_scalar *s, const struct expr *e, const struct value *a,
		     struct value *ret)
{
	struct bytes text;
	int r = scalar_text(s, e->arg[0]->type, a, &text);

	if (r < 0)
		return r;
	*ret = (struct value){0};
	if (e->function == FUNCTION_LEN) {
		ret->i = (int64_t)text.len;
		return 0;
	}
	if (e->function == FUNCTION_TEXT)
		return eval_scalar_set_text(s, text, ret);
	r = query_text_function(e->function, text, &s->scratch, ret);
	return r < 0 || ret->null ? r : eval_scalar_set_text(s, ret->t, ret);
}

static int call_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	struct value a, b = {0};
	int r;

	if (e->function == FUNCTION_COALESCE)
		return coalesce_value(s, e, ret);
	assert(e->arg_count == 1 || e->arg_count == 2);
	r = scalar_value(s, e->arg[0], &a);
	if (r < 0)
		return r;
	if (e->arg_count > 1) {
		r = scalar_value(s, e->arg[1], &b);
		if (r < 0)
			return r;
	}
	if (a.null || b.null)
		return eval_scalar_set_null(ret);
	switch (e->function) {
	case FUNCTION_DIR:
	case FUNCTION_BASE:
	case FUNCTION_EXT:
	case FUNCTION_LOWER:
	case FUNCTION_LEN:
	case FUNCTION_TEXT:
		return text_call(s, e, &a, ret);
	case FUNCTION_ID:
		*ret = a;
		return 0;
	default:
		return number_call(s, e, &a, &b, ret);
	}
}

/* The value of a user's column, from the row with this key. */
static int user_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	struct value key = {.null = s->id < 0, .i = s->id};
	if (s->at != SCALAR_ID || !expr_is_id(e->arg[0])) {
		int r = scalar_value(s, e->arg[0], &key);

		if (r < 0)
			return r;
	}
	if (key.null)
		return eval_scalar_set_null(ret);
	query_user_value(e, &key, ret);
	return 0;
}

static int operator_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	static const struct value zero = {0};
	struct value a, b;
	int r = scalar_value(s, e->arg[0], &a);

	if (r < 0)
		return r;
	switch (e->kind) {
	case EXPR_IS_NULL:
		return set_bool(ret, a.null);
	case EXPR_NOT:
		return a.null ? eval_scalar_set_null(ret) : set_bool(ret, !a.i);
	case EXPR_NEG:
		return a.null ? eval_scalar_set_null(ret)
			      : arith_value(s, e, ARITH_SUB, &zero,
					    (struct query_kind){.type = QUERY_INT}, &a,
					    e->arg[0]->type, ret);
	case EXPR_HAS:
		return a.null ? eval_scalar_set_null(ret)
			      : set_bool(ret, ((uint64_t)a.i & e->mask) == e->bits);
	case EXPR_CASE:
		return branch_value(s, e, value_true(&a) ? e->arg[1] : e->arg[2], ret);
	default:
		assert(e->kind == EXPR_ARITH);
		r = scalar_value(s, e->arg[1], &b);
		if (r < 0 || a.null || b.null)
			return r < 0 ? r : eval_scalar_set_null(ret);
		return arith_value(s, e, e->arith, &a, e->arg[0]->type, &b, e->arg[1]->type, ret);
	}
}

int scalar_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	/* only an engine evaluates fields of later stages */
	assert(e->kind != EXPR_FIELD || s->fields);
	switch (e->kind) {
	case EXPR_FIELD:
		*ret = s->fields[e->column];
		return 0;
	case EXPR_CONST:
		*ret = e->value;
		ret->null |= e->type.type == QUERY_NULL;
		return 0;
	case EXPR_COLUMN:
	case EXPR_STOP:
		return column_value(s, e, ret);
	case EXPR_ROW:
		assert(s->at == SCALAR_ROW);
		ret->i = batch_row_id(s->batch, s->row);
		*ret = (struct value){.null = ret->i < 0, .i = ret->i};
		return 0;
	case EXPR_USER:
		return user_value(s, e, ret);
	case EXPR_NAME:
		return name_value(s, e, ret);
	case EXPR_AND:
	case EXPR_OR:
		return logic_value(s, e, e->kind == EXPR_OR, ret);
	case EXPR_COMPARE:
		return compare_value(s, e->cmp, e->arg[0], e->arg[1], ret);
	case EXPR_IN:
		return in_value(s, e, ret);
	case EXPR_RANGE:
		return range_value(s, e, ret);
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
		return pattern_value(s, e, ret);
	case EXPR_CALL:
		return call_value(s, e, ret);
	default:
		return operator_value(s, e, ret);
	}
}
