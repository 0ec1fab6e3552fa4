/* SPDX-License-Identifier: Apache-2.0 */
#include "reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "query/eval/pattern.h"
#include "schema/vocab.h"

#define UNKNOWN ((struct value){.null = true})
#define BOOL(b) ((struct value){.i = (b)})

#define wide_t __int128

void reference_free(struct reference *r)
{
	for (size_t i = 0; i < r->count; i++)
		free(r->texts[i]);
	free(r->texts);
	r->texts = NULL;
	r->count = r->cap = 0;
}

static struct bytes keep(struct reference *r, const void *data, size_t len)
{
	char *copy = malloc(len + 1);

	assert(copy && grow((void **)&r->texts, &r->cap, r->count + 1, sizeof(*r->texts)) == 0);
	if (len)
		memcpy(copy, data, len);
	r->texts[r->count++] = copy;
	return (struct bytes){(const uint8_t *)copy, len};
}

struct bytes reference_text(struct reference *r, struct query_kind kind, const struct value *v)
{
	struct buf b = {0};
	struct bytes text;

	switch (kind.type) {
	case QUERY_TEXT:
		return v->t;
	case QUERY_CODE:
		assert(query_code_text(kind.vocab, v->i, &b) >= 0);
		break;
	case QUERY_ENTITY:
		assert(query_entity_text(kind.entity, r->dims, v->i, &b) >= 0);
		break;
	case QUERY_FLOAT:
		buf_printf(&b, "%.17g", v->f);
		break;
	case QUERY_UINT:
		buf_printf(&b, "%llu", (unsigned long long)v->i);
		break;
	default:
		buf_printf(&b, "%lld", (long long)v->i);
		break;
	}
	text = keep(r, b.data, b.len);
	buf_free(&b);
	return text;
}

static wide_t wide(struct query_kind k, const struct value *v)
{
	return k.type == QUERY_UINT ? (wide_t)(uint64_t)v->i : (wide_t)v->i;
}

static struct value whole(struct query_kind k, wide_t v)
{
	if (k.type == QUERY_UINT ? v < 0 || v > UINT64_MAX : v < INT64_MIN || v > INT64_MAX)
		return UNKNOWN;
	return (struct value){.i = (int64_t)(uint64_t)v};
}

static struct value real(double f)
{
	return isfinite(f) ? (struct value){.f = f} : UNKNOWN;
}

static double number(struct query_kind k, const struct value *v)
{
	return k.type == QUERY_FLOAT  ? v->f
	       : k.type == QUERY_UINT ? (double)(uint64_t)v->i
				      : (double)v->i;
}

static int sign(long double v)
{
	return v < 0 ? -1 : v > 0;
}

/* long double has 64 bits of mantissa: it holds every int64_t, uint64_t and double. */
static long double exact(struct query_kind k, const struct value *v)
{
	return k.type == QUERY_FLOAT  ? (long double)v->f
	       : k.type == QUERY_UINT ? (long double)(uint64_t)v->i
				      : (long double)v->i;
}

static int order(struct reference *r, struct query_kind ka, const struct value *a,
		 struct query_kind kb, const struct value *b)
{
	struct bytes ta, tb;

	if (ka.type != QUERY_TEXT && kb.type != QUERY_TEXT)
		return sign(exact(ka, a) - exact(kb, b));
	ta = reference_text(r, ka, a);
	tb = reference_text(r, kb, b);
	for (size_t i = 0; i < ta.len && i < tb.len; i++) {
		if (ta.data[i] != tb.data[i])
			return ta.data[i] < tb.data[i] ? -1 : 1;
	}
	return ta.len < tb.len ? -1 : ta.len > tb.len;
}

static bool holds(enum expr_compare cmp, int o)
{
	return cmp == COMPARE_EQ   ? o == 0
	       : cmp == COMPARE_NE ? o != 0
	       : cmp == COMPARE_LT ? o < 0
	       : cmp == COMPARE_LE ? o <= 0
	       : cmp == COMPARE_GT ? o > 0
				   : o >= 0;
}

static struct value compare(struct reference *r, enum expr_compare cmp, const struct expr *left,
			    const struct expr *right)
{
	struct value a = reference_value(r, left), b = reference_value(r, right);

	if (a.null || b.null)
		return UNKNOWN;
	return BOOL(holds(cmp, order(r, left->type, &a, right->type, &b)));
}

static struct value both(struct value a, struct value b)
{
	if ((!a.null && !a.i) || (!b.null && !b.i))
		return BOOL(false);
	return a.null || b.null ? UNKNOWN : BOOL(true);
}

static struct value either(struct value a, struct value b)
{
	if ((!a.null && a.i) || (!b.null && b.i))
		return BOOL(true);
	return a.null || b.null ? UNKNOWN : BOOL(false);
}

static struct value column(struct reference *r, const struct expr *e)
{
	const struct batch *b = r->batch;
	int64_t stop;

	if (e->kind == EXPR_STOP) {
		if (batch_is_null(b, OP_START, r->row) || batch_is_null(b, OP_DUR, r->row) ||
		    (batch_get(b, OP_STATUS, r->row, 0) & STATUS_UNFINISHED) ||
		    __builtin_add_overflow(batch_get(b, OP_START, r->row, 0),
					   batch_get(b, OP_DUR, r->row, 0), &stop))
			return UNKNOWN;
		return (struct value){.i = stop};
	}
	if (batch_is_null(b, e->column, r->row))
		return UNKNOWN;
	return (struct value){.i = batch_get(b, e->column, r->row, 0)};
}

static struct value name(struct reference *r, const struct expr *e)
{
	struct buf scratch = {0};
	struct value v;

	assert(query_name_value(e->name, r->dims, batch_get(r->batch, e->column, r->row, -1),
				&scratch, &v) == 0);
	if (e->name == QNAME_PEER && v.null)
		assert(query_name_value(e->name, r->dims,
					batch_get(r->batch, OP_FILE_ID, r->row, -1), &scratch,
					&v) == 0);
	if (!v.null && v.t.data)
		v.t = keep(r, v.t.data, v.t.len);
	buf_free(&scratch);
	return v;
}

static struct value in(struct reference *r, const struct expr *e)
{
	struct value a = reference_value(r, e->arg[0]);

	if (a.null)
		return UNKNOWN;
	for (size_t i = 0; i < e->count; i++) {
		struct query_kind k = e->arg[0]->type;

		if (e->list[i].t.data)
			k.type = QUERY_TEXT;
		if (order(r, e->arg[0]->type, &a, k, &e->list[i]) == 0)
			return BOOL(true);
	}
	return BOOL(false);
}

static struct value pattern(struct reference *r, const struct expr *e)
{
	struct value a = reference_value(r, e->arg[0]);
	struct query_pattern *p = NULL;
	struct error err = {0};
	int fits;

	if (a.null)
		return UNKNOWN;
	assert(query_pattern_new(&p, e->kind, e->pattern, &err) == 0);
	fits = query_pattern_match(p, reference_text(r, e->arg[0]->type, &a));
	query_pattern_free(p);
	assert(fits >= 0);
	return BOOL(fits);
}

static struct value arith(const struct expr *e, enum expr_arith op, struct query_kind ka,
			  const struct value *a, struct query_kind kb, const struct value *b)
{
	double x = number(ka, a), y = number(kb, b);
	wide_t i = wide(ka, a), j = wide(kb, b), v;

	if (e->type.type == QUERY_FLOAT) {
		if (op >= ARITH_DIV && y == 0)
			return UNKNOWN;
		return real(op == ARITH_ADD   ? x + y
			    : op == ARITH_SUB ? x - y
			    : op == ARITH_MUL ? x * y
			    : op == ARITH_DIV ? x / y
					      : fmod(x, y));
	}
	if (op >= ARITH_DIV && j == 0 && kb.type != QUERY_FLOAT)
		return UNKNOWN;
	if (op == ARITH_DIV || ka.type == QUERY_FLOAT || kb.type == QUERY_FLOAT) {
		/* In floats, rounded to whole ones; whole() tells what the type holds, below 2^65
		 * only so that wide_t holds it. */
		double f = op == ARITH_DIV ? x / y : op == ARITH_MUL ? x * y : NAN;

		return isfinite(f) && fabs(f) < 0x1p65 ? whole(e->type, (wide_t)round(f)) : UNKNOWN;
	}
	if (op == ARITH_MUL && __builtin_mul_overflow(i, j, &v))
		return UNKNOWN;
	return whole(e->type, op == ARITH_ADD	? i + j
			      : op == ARITH_SUB ? i - j
			      : op == ARITH_MUL ? v
			      : op == ARITH_DIV ? i / j
						: i % j);
}

static struct value call_float(const struct expr *e, double a, double b)
{
	double power = 1;

	switch (e->function) {
	case FUNCTION_BUCKET:
		return b > 0 ? real(floor(a / b) * b) : UNKNOWN;
	case FUNCTION_ABS:
		return real(a < 0 ? -a : a);
	default:
		assert(e->function == FUNCTION_LOG2);
		if (a <= 0)
			return a < 0 ? UNKNOWN : real(0);
		while (power > a)
			power /= 2;
		while (power * 2 <= a)
			power *= 2;
		return real(power);
	}
}

static struct value call_int(const struct expr *e, wide_t a, wide_t b)
{
	wide_t v = 1, day = (wide_t)24 * 3600 * 1000000000, rest;

	switch (e->function) {
	case FUNCTION_BUCKET:
		if (b <= 0)
			return UNKNOWN;
		for (v = a / b * b; v > a;)
			v -= b;
		return whole(e->type, v);
	case FUNCTION_LOG2:
		if (a <= 0)
			return a < 0 ? UNKNOWN : BOOL(0);
		while (v * 2 <= a)
			v *= 2;
		return whole(e->type, v);
	case FUNCTION_HOUR:
	case FUNCTION_MINUTE:
		rest = (a % day + day) % day / 1000000000;
		return whole(e->type, e->function == FUNCTION_HOUR ? rest / 3600 : rest / 60 % 60);
	case FUNCTION_ABS:
		return whole(e->type, a < 0 ? -a : a);
	case FUNCTION_BITAND:
		return (struct value){.i = (int64_t)((uint64_t)a & (uint64_t)b)};
	default:
		assert(e->function == FUNCTION_BITOR);
		return (struct value){.i = (int64_t)((uint64_t)a | (uint64_t)b)};
	}
}

static struct value call_text(struct reference *r, const struct expr *e, struct bytes t)
{
	struct buf scratch = {0};
	struct value v = {0};

	if (e->function == FUNCTION_LEN)
		return (struct value){.i = (int64_t)t.len};
	if (e->function == FUNCTION_TEXT)
		return (struct value){.t = t};
	assert(query_text_function(e->function, t, &scratch, &v) == 0);
	if (!v.null)
		v.t = keep(r, v.t.data, v.t.len);
	buf_free(&scratch);
	return v;
}

static struct value as(struct query_kind to, struct query_kind from, struct value v)
{
	if (!v.null && to.type == QUERY_FLOAT)
		v.f = number(from, &v);
	return v;
}

static struct value call(struct reference *r, const struct expr *e)
{
	struct value a = reference_value(r, e->arg[0]), b = {0};
	struct query_kind ka = e->arg[0]->type, kb = ka;

	if (e->function == FUNCTION_COALESCE) {
		a = as(e->type, ka, a);
		return a.null ? as(e->type, e->arg[1]->type, reference_value(r, e->arg[1])) : a;
	}
	if (e->arg_count > 1) {
		b = reference_value(r, e->arg[1]);
		kb = e->arg[1]->type;
	}
	if (a.null || b.null)
		return UNKNOWN;
	if (e->function == FUNCTION_ID)
		return a;
	if (e->function <= FUNCTION_LEN || e->function == FUNCTION_TEXT)
		return call_text(r, e, reference_text(r, ka, &a));
	if (e->type.type == QUERY_FLOAT)
		return call_float(e, number(ka, &a), number(kb, &b));
	return call_int(e, wide(ka, &a), wide(kb, &b));
}

static struct value operator(struct reference *r, const struct expr *e)
{
	struct value a = reference_value(r, e->arg[0]), b, zero = {0};
	struct query_kind k = {.type = QUERY_INT};

	switch (e->kind) {
	case EXPR_IS_NULL:
		return BOOL(a.null);
	case EXPR_NOT:
		return a.null ? a : BOOL(!a.i);
	case EXPR_NEG:
		return a.null ? a : arith(e, ARITH_SUB, k, &zero, e->arg[0]->type, &a);
	case EXPR_HAS:
		return a.null ? a : BOOL(((uint64_t)a.i & e->mask) == e->bits);
	case EXPR_CASE:
		return !a.null && a.i ? as(e->type, e->arg[1]->type, reference_value(r, e->arg[1]))
				      : as(e->type, e->arg[2]->type, reference_value(r, e->arg[2]));
	default:
		assert(e->kind == EXPR_ARITH);
		b = reference_value(r, e->arg[1]);
		return a.null || b.null
			       ? UNKNOWN
			       : arith(e, e->arith, e->arg[0]->type, &a, e->arg[1]->type, &b);
	}
}

struct value reference_value(struct reference *r, const struct expr *e)
{
	switch (e->kind) {
	case EXPR_CONST:
		return e->type.type == QUERY_NULL ? UNKNOWN : e->value;
	case EXPR_COLUMN:
	case EXPR_STOP:
		return column(r, e);
	case EXPR_NAME:
		return name(r, e);
	case EXPR_AND:
		return both(reference_value(r, e->arg[0]), reference_value(r, e->arg[1]));
	case EXPR_OR:
		return either(reference_value(r, e->arg[0]), reference_value(r, e->arg[1]));
	case EXPR_COMPARE:
		return compare(r, e->cmp, e->arg[0], e->arg[1]);
	case EXPR_RANGE:
		return both(compare(r, COMPARE_GE, e->arg[0], e->arg[1]),
			    compare(r, COMPARE_LE, e->arg[0], e->arg[2]));
	case EXPR_IN:
		return in(r, e);
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
		return pattern(r, e);
	case EXPR_CALL:
		return call(r, e);
	default:
		return operator(r, e);
	}
}
