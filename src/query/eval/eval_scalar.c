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

/* Values are passed by value; a failure sticks in the state, and makes what depends on it null. */
static struct value scalar_of(struct eval_scalar *s, const struct expr *e);

static const struct value unknown = {.null = true};

static struct value bool_value(bool v)
{
	return (struct value){.i = v};
}

static struct value scalar_fail(struct eval_scalar *s, int r)
{
	s->failed = s->failed ? s->failed : r;
	return unknown;
}

static struct value text_value(struct eval_scalar *s, struct bytes text)
{
	struct value v = {0};
	int r = arena_text(s->texts, text, &v.t);

	return r < 0 ? scalar_fail(s, r) : v;
}

/* ---- leaves ---- */

static struct value stop_value(const struct batch *b, size_t row)
{
	const struct table_def *t = b->def;
	int64_t stop;

	if (batch_is_null(b, t->start, row) || batch_is_null(b, t->dur, row) ||
	    eval_unfinished(b, row) ||
	    __builtin_add_overflow(batch_get(b, t->start, row, 0), batch_get(b, t->dur, row, 0),
				   &stop))
		return unknown;
	return (struct value){.i = stop};
}

static struct value column_value(struct eval_scalar *s, const struct expr *e)
{
	struct value v = {0};
	int r;

	if (s->at == SCALAR_CODE)
		return (struct value){.null = s->id < 0, .i = s->id};
	assert(s->at == SCALAR_ROW);
	if (e->kind == EXPR_STOP)
		return stop_value(s->batch, s->row);
	if (batch_is_null(s->batch, e->column, s->row))
		return unknown;
	if (e->type.type == QUERY_TEXT || e->type.type == QUERY_HIST) {
		r = query_column_text(s->batch, e->column, s->row, s->texts, &v.t);
		return r < 0 ? scalar_fail(s, r) : v;
	}
	return (struct value){.i = s->batch->columns[e->column].val[s->row]};
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

static struct value name_value(struct eval_scalar *s, const struct expr *e)
{
	int64_t id = s->id;
	struct value v;
	int r;

	if (!s->dims)
		return unknown;
	if (s->at == SCALAR_ID && s->kept && s->kept_name == e->name && s->kept_id == id)
		return s->kept_value;
	if (s->at == SCALAR_ROW && e->name == QNAME_PEER && s->batch->table == TABLE_OP) {
		r = peer_value(s, e, &v);
	} else {
		if (s->at == SCALAR_ROW)
			id = batch_get(s->batch, e->column, s->row, -1);
		r = query_name_value(e->name, s->dims, id, &s->scratch, &v);
	}
	if (r < 0)
		return scalar_fail(s, r);
	/* A composed text must outlive the scratch. */
	if (!v.null && v.t.data && v.t.data == s->scratch.data)
		return text_value(s, v.t);
	/* a filter of many patterns uses the same name repeatedly */
	s->kept = true;
	s->kept_name = e->name;
	s->kept_id = id;
	s->kept_value = v;
	return v;
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

/* A known value as text; null after a failure. */
static struct value text_operand(struct eval_scalar *s, struct query_kind kind,
				 const struct value *v)
{
	struct value text = {0};
	int r = scalar_text(s, kind, v, &text.t);

	return r < 0 ? scalar_fail(s, r) : text;
}

static struct value pattern_value(struct eval_scalar *s, const struct expr *e)
{
	struct value v = scalar_of(s, e->arg[0]);
	uint64_t pattern;
	int r;

	if (!v.null)
		v = text_operand(s, e->arg[0]->type, &v);
	/* a pattern on which another failed would take as many steps */
	if (v.null || s->failed)
		return unknown;
	if (!map_get(&s->e->patterns, (uintptr_t)e, &pattern))
		return scalar_fail(s, -EINVAL);
	r = query_pattern_match((const struct query_pattern *)(uintptr_t)pattern, v.t);
	return r < 0 ? scalar_fail(s, r) : bool_value(r);
}

/* ---- comparisons ---- */

static double as_float(struct query_kind kind, const struct value *v)
{
	return kind.type == QUERY_FLOAT ? v->f : int_to_float(v->i, kind_unsigned(kind));
}

static int order_of(struct eval_scalar *s, struct query_kind ka, const struct value *a,
		    struct query_kind kb, const struct value *b)
{
	if (ka.type == QUERY_TEXT || kb.type == QUERY_TEXT)
		return bytes_compare(text_operand(s, ka, a).t, text_operand(s, kb, b).t);
	if (ka.type == QUERY_FLOAT && kb.type == QUERY_FLOAT)
		return ORDER(a->f, b->f);
	if (kb.type == QUERY_FLOAT)
		return compare_int_float(a->i, kind_unsigned(ka), b->f);
	if (ka.type == QUERY_FLOAT)
		return -compare_int_float(b->i, kind_unsigned(kb), a->f);
	return compare_ints(a->i, kind_unsigned(ka), b->i, kind_unsigned(kb));
}

static struct value compare_value(struct eval_scalar *s, enum expr_compare cmp,
				  const struct expr *left, const struct expr *right)
{
	struct value a = scalar_of(s, left), b = scalar_of(s, right);

	if (a.null || b.null)
		return unknown;
	return bool_value(compare_holds(cmp, order_of(s, left->type, &a, right->type, &b)));
}

static struct value in_value(struct eval_scalar *s, const struct expr *e)
{
	struct query_kind kind = e->arg[0]->type;
	struct value v = scalar_of(s, e->arg[0]);
	size_t at;

	/* the constants compared with a code or an entity may be texts */
	if (!v.null && e->count && e->list[0].t.data && kind.type != QUERY_TEXT) {
		v = text_operand(s, kind, &v);
		kind.type = QUERY_TEXT;
	}
	if (v.null)
		return unknown;
	at = array_first(i, 0, e->count, order_of(s, kind, &v, kind, &e->list[i]) <= 0);
	return bool_value(at < e->count && !order_of(s, kind, &v, kind, &e->list[at]));
}

/* ---- logic ---- */

/* AND if `stop` is false, OR if it is true: the first operand equal to `stop` decides. */
static struct value logic_value(struct eval_scalar *s, const struct expr *e, bool stop)
{
	struct value a = scalar_of(s, e->arg[0]), b;

	assert(e->arg_count == 2);
	if (!a.null && !!a.i == stop)
		return bool_value(stop);
	b = scalar_of(s, e->arg[1]);
	if (!b.null && !!b.i == stop)
		return bool_value(stop);
	return a.null || b.null ? unknown : bool_value(!stop);
}

static struct value range_value(struct eval_scalar *s, const struct expr *e)
{
	struct value low = compare_value(s, COMPARE_GE, e->arg[0], e->arg[1]);
	struct value high = compare_value(s, COMPARE_LE, e->arg[0], e->arg[2]);

	assert(e->arg_count == 3);
	if ((!low.null && !low.i) || (!high.null && !high.i))
		return bool_value(false);
	return low.null || high.null ? unknown : bool_value(true);
}

/* ---- numbers and functions ---- */

static struct value arith_value(const struct expr *e, enum expr_arith op, const struct value *a,
				struct query_kind ka, const struct value *b, struct query_kind kb)
{
	struct value to = {0};
	bool known;
	double v;

	if (arith_rounds(e))
		known = arith_float(op, as_float(ka, a), as_float(kb, b), &v) &&
			round_float(v, kind_unsigned(e->type), &to.i);
	else if (e->type.type == QUERY_FLOAT)
		known = arith_float(op, as_float(ka, a), as_float(kb, b), &to.f);
	else
		known = arith_int(op, a->i, kind_unsigned(ka), b->i, kind_unsigned(kb),
				  kind_unsigned(e->type), &to.i);
	return known ? to : unknown;
}

/* The value of one branch, converted to the type of the whole. */
static struct value branch_value(struct eval_scalar *s, const struct expr *e,
				 const struct expr *branch)
{
	struct value v = scalar_of(s, branch);

	if (!v.null && e->type.type == QUERY_FLOAT)
		v.f = as_float(branch->type, &v);
	return v;
}

static struct value coalesce_value(struct eval_scalar *s, const struct expr *e)
{
	struct value v = unknown;

	for (unsigned int i = 0; i < e->arg_count && v.null; i++)
		v = branch_value(s, e, e->arg[i]);
	return v;
}

static struct value number_call(const struct expr *e, const struct value *a, const struct value *b)
{
	struct query_kind ka = e->arg[0]->type, kb = e->arg_count > 1 ? e->arg[1]->type : ka;
	struct value v = {0};
	bool known;

	if (e->type.type == QUERY_FLOAT)
		known = function_float(e->function, as_float(ka, a), as_float(kb, b), &v.f);
	else
		known = function_int(e->function, a->i, kind_unsigned(ka), b->i, kind_unsigned(kb),
				     kind_unsigned(e->type), &v.i);
	return known ? v : unknown;
}

static struct value text_call(struct eval_scalar *s, const struct expr *e, const struct value *a)
{
	struct value v = text_operand(s, e->arg[0]->type, a);
	int r;

	if (v.null)
		return v;
	if (e->function == FUNCTION_LEN)
		return (struct value){.i = (int64_t)v.t.len};
	if (e->function == FUNCTION_TEXT)
		return text_value(s, v.t);
	r = query_text_function(e->function, v.t, &s->scratch, &v);
	if (r < 0)
		return scalar_fail(s, r);
	return v.null ? v : text_value(s, v.t);
}

static struct value call_value(struct eval_scalar *s, const struct expr *e)
{
	struct value a, b = {0};

	if (e->function == FUNCTION_COALESCE)
		return coalesce_value(s, e);
	assert(e->arg_count == 1 || e->arg_count == 2);
	a = scalar_of(s, e->arg[0]);
	if (e->arg_count > 1)
		b = scalar_of(s, e->arg[1]);
	if (a.null || b.null)
		return unknown;
	switch (e->function) {
	case FUNCTION_DIR:
	case FUNCTION_BASE:
	case FUNCTION_EXT:
	case FUNCTION_LOWER:
	case FUNCTION_LEN:
	case FUNCTION_TEXT:
		return text_call(s, e, &a);
	case FUNCTION_ID:
		return a;
	default:
		return number_call(e, &a, &b);
	}
}

/* The value of a user's column, from the row with this key. */
static struct value user_value(struct eval_scalar *s, const struct expr *e)
{
	bool by_id = s->at == SCALAR_ID && expr_is_id(e->arg[0]);
	struct value key = by_id ? (struct value){.null = s->id < 0, .i = s->id}
				 : scalar_of(s, e->arg[0]),
		     v = unknown;

	if (!key.null)
		query_user_value(e, &key, &v);
	return v;
}

static struct value operator_value(struct eval_scalar *s, const struct expr *e)
{
	static const struct value zero = {0};
	struct value a = scalar_of(s, e->arg[0]), b;

	if (e->kind == EXPR_IS_NULL)
		return bool_value(a.null);
	if (e->kind == EXPR_CASE)
		return branch_value(s, e, value_true(&a) ? e->arg[1] : e->arg[2]);
	if (a.null)
		return unknown;
	switch (e->kind) {
	case EXPR_NOT:
		return bool_value(!a.i);
	case EXPR_NEG:
		return arith_value(e, ARITH_SUB, &zero, (struct query_kind){.type = QUERY_INT}, &a,
				   e->arg[0]->type);
	case EXPR_HAS:
		return bool_value(((uint64_t)a.i & e->mask) == e->bits);
	default:
		assert(e->kind == EXPR_ARITH);
		b = scalar_of(s, e->arg[1]);
		return b.null ? unknown
			      : arith_value(e, e->arith, &a, e->arg[0]->type, &b, e->arg[1]->type);
	}
}

static struct value scalar_of(struct eval_scalar *s, const struct expr *e)
{
	int64_t id;

	/* only an engine evaluates fields of later stages */
	assert(e->kind != EXPR_FIELD || s->fields);
	switch (e->kind) {
	case EXPR_FIELD:
		return s->fields[e->column];
	case EXPR_CONST:
		return e->type.type == QUERY_NULL ? unknown : e->value;
	case EXPR_COLUMN:
	case EXPR_STOP:
		return column_value(s, e);
	case EXPR_ROW:
		assert(s->at == SCALAR_ROW);
		id = batch_row_id(s->batch, s->row);
		return (struct value){.null = id < 0, .i = id};
	case EXPR_USER:
		return user_value(s, e);
	case EXPR_NAME:
		return name_value(s, e);
	case EXPR_AND:
	case EXPR_OR:
		return logic_value(s, e, e->kind == EXPR_OR);
	case EXPR_COMPARE:
		return compare_value(s, e->cmp, e->arg[0], e->arg[1]);
	case EXPR_IN:
		return in_value(s, e);
	case EXPR_RANGE:
		return range_value(s, e);
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
		return pattern_value(s, e);
	case EXPR_CALL:
		return call_value(s, e);
	default:
		return operator_value(s, e);
	}
}

int scalar_value(struct eval_scalar *s, const struct expr *e, struct value *ret)
{
	s->failed = 0;
	*ret = scalar_of(s, e);
	return s->failed;
}
