/* SPDX-License-Identifier: Apache-2.0 */
/* check_pair.c: two operands that must agree: comparisons and arithmetic. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "query/internal.h"
#include "schema/vocab.h"

const char *query_kind_text(struct query_kind k)
{
	switch (k.type) {
	case QUERY_NULL:
		return "null";
	case QUERY_BOOL:
		return "a condition";
	case QUERY_INT:
		return "a number";
	case QUERY_UINT:
		return k.vocab ? "a set of bits" : "a 64-bit number";
	case QUERY_FLOAT:
		return "a number with a fraction";
	case QUERY_DUR:
		return "a duration";
	case QUERY_SIZE:
		return "a size";
	case QUERY_TIME:
		return "a point in time";
	case QUERY_CODE:
		return !strcmp(k.vocab, "err")	    ? "an errno"
		       : !strcmp(k.vocab, "op")	    ? "an operation"
		       : !strcmp(k.vocab, "class")  ? "a class of operations"
		       : !strcmp(k.vocab, "cause")  ? "a cause"
		       : !strcmp(k.vocab, "via")    ? "a way of identifying an owner"
		       : !strcmp(k.vocab, "origin") ? "an origin"
		       : !strcmp(k.vocab, "family") ? "an address family"
		       : !strcmp(k.vocab, "type")   ? "a file type"
						    : "a kind";
	case QUERY_TEXT:
		return "a text";
	case QUERY_ENTITY:
		return k.entity == TABLE_FILE	  ? "a file"
		       : k.entity == TABLE_THREAD ? "a thread"
						  : "a process";
	case QUERY_HIST:
		return "a histogram";
	case QUERY_TALLY:
		return "counts by value";
	case QUERY_DISTINCT:
		break;
	}
	return "a set";
}

bool kind_is_number(struct query_kind k)
{
	return k.type == QUERY_INT || k.type == QUERY_UINT || k.type == QUERY_FLOAT ||
	       k.type == QUERY_DUR || k.type == QUERY_SIZE;
}

bool kind_has_order(struct query_kind k)
{
	return kind_is_number(k) || k.type == QUERY_TIME || k.type == QUERY_TEXT;
}

bool kinds_agree(struct query_kind a, struct query_kind b)
{
	if (a.type != b.type)
		return (a.type == QUERY_INT && b.type == QUERY_FLOAT) ||
		       (a.type == QUERY_FLOAT && b.type == QUERY_INT) ||
		       /* raw numbers, whose source has no sign */
		       (a.type == QUERY_INT && b.type == QUERY_SIZE) ||
		       (a.type == QUERY_SIZE && b.type == QUERY_INT);
	if (a.type == QUERY_CODE)
		return !strcmp(a.vocab, b.vocab);
	if (a.type == QUERY_ENTITY)
		return a.entity == b.entity;
	return a.type != QUERY_HIST && a.type != QUERY_TALLY && a.type != QUERY_NULL;
}

/* ---- errors ---- */

static const char *check_pair_slice(struct query_checker *c, const struct expr *e,
				    char buf[static 48])
{
	uint32_t len = e->pos + e->len <= c->s->len ? e->len : 0;

	snprintf(buf, 48, "%.*s%s", (int)MIN(len, 40u), c->s->text + e->pos, len > 40 ? "..." : "");
	return buf;
}

/* Reports a bare number next to an operand with a unit. */
static int no_unit(struct query_checker *c, const struct expr *with, const struct expr *bare)
{
	char a[48], b[48];

	check_pair_slice(c, with, a);
	check_pair_slice(c, bare, b);
	if (with->type.type == QUERY_DUR)
		return query_fail(c->s, bare->pos, bare->len,
				  "%s is a duration, but %s has no unit; write %sms, %sus or %ss",
				  a, b, b, b, b);
	return query_fail(
		c->s, bare->pos, bare->len,
		"%s is a size, but %s is not a whole number of bytes; write %sKiB or %sMiB", a, b,
		b, b);
}

static bool is_bare(const struct expr *e)
{
	return is_const(e) && (e->type.type == QUERY_INT || e->type.type == QUERY_FLOAT);
}

static int number_for_code(struct query_checker *c, const struct expr *code,
			   const struct expr *number)
{
	const char *word = number->type.type == QUERY_INT
				   ? vocab_word(code->type.vocab, number->value.i)
				   : NULL;
	char a[48], b[48];

	check_pair_slice(c, code, a);
	check_pair_slice(c, number, b);
	if (word)
		return query_fail(c->s, number->pos, number->len,
				  "%s is compared with words; %s is %s", a, b, word);
	return query_fail(c->s, number->pos, number->len,
			  "%s is %s and is compared with words, not with numbers", a,
			  query_kind_text(code->type));
}

static int disagree(struct query_checker *c, const struct node *n, const struct expr *a,
		    const struct expr *b)
{
	char x[48], y[48];

	if (a->type.type == QUERY_NULL || b->type.type == QUERY_NULL)
		return query_fail(
			c->s, n->pos, n->len,
			"comparisons with null are never true; write x is null or x is not null");
	if (is_bare(b) && (a->type.type == QUERY_DUR || a->type.type == QUERY_SIZE))
		return no_unit(c, a, b);
	if (is_bare(a) && (b->type.type == QUERY_DUR || b->type.type == QUERY_SIZE))
		return no_unit(c, b, a);
	if (a->type.type == QUERY_CODE && is_bare(b))
		return number_for_code(c, a, b);
	if (b->type.type == QUERY_CODE && is_bare(a))
		return number_for_code(c, b, a);
	if (a->type.type == QUERY_TIME && is_const(b))
		return query_fail(
			c->s, b->pos, b->len,
			"%s is a point in time; write it as text: \"2026-11-21 14:00:03.5\"",
			check_pair_slice(c, a, x));
	return query_fail(c->s, n->pos, n->len, "%s is %s and %s is %s", check_pair_slice(c, a, x),
			  query_kind_text(a->type), check_pair_slice(c, b, y),
			  query_kind_text(b->type));
}

void *check_disagree(struct query_checker *c, const struct node *n, const struct expr *a,
		     const struct expr *b)
{
	(void)disagree(c, n, a, b);
	return NULL;
}

/* ---- pairs ---- */

/* True if the operand takes its type from the other one. */
static bool is_flexible(const struct query_checker *c, const struct node *n)
{
	switch (n->kind) {
	case NODE_NUMBER:
	case NODE_STRING:
	case NODE_NULL:
		return true;
	case NODE_NEG:
		return is_flexible(c, n->first);
	case NODE_ARITH:
		return is_flexible(c, n->first) && is_flexible(c, n->first->next);
	case NODE_NAME:
		return !name_resolves(c, n);
	default:
		return false;
	}
}

/* Reports a word in place of a text: redis for "redis". */
static bool unquoted(struct query_checker *c, const struct node *word, const struct expr *text)
{
	if (word->kind != NODE_NAME || name_resolves(c, word) ||
	    (text->type.type != QUERY_TEXT && text->type.type != QUERY_ENTITY))
		return false;
	query_fail(c->s, word->pos, word->len, "text must be quoted: \"%.*s\"",
		   (int)MIN(word->text.len, (size_t)64), (const char *)word->text.data);
	return true;
}

/* ids of files and threads are compared with texts by name */
static struct expr *as_text(struct query_checker *c, const struct node *n, struct expr *e,
			    const struct expr *other)
{
	if (e->type.type != QUERY_ENTITY || other->type.type != QUERY_TEXT)
		return e;
	return expr_make_call(c->s, FUNCTION_TEXT, query_kind_of(QUERY_TEXT), n, e, NULL);
}

int check_pair(struct query_checker *c, struct node *a, struct node *b, struct expr **ret_a,
	       struct expr **ret_b)
{
	bool turned = is_flexible(c, a) && !is_flexible(c, b);
	struct node *first = turned ? b : a, *second = turned ? a : b;
	struct expr *x = check_expr(c, first, NULL), *y;

	assert(a != b && a->next != a);
	if (!x || unquoted(c, second, x))
		return c->s->failed;
	y = check_expr(c, second, &x->type);
	if (!y)
		return c->s->failed;
	x = as_text(c, first, x, y);
	y = x ? as_text(c, second, y, x) : NULL;
	if (!x || !y)
		return c->s->failed;
	/* bits after a constant: 0x10 == flags */
	*ret_a = turned ? y : x;
	*ret_b = turned ? x : y;
	return 0;
}

struct expr *check_compare(struct query_checker *c, struct node *n)
{
	struct node *a = n->first, *b = a->next;
	struct expr *x, *y, *e;

	assert(n->count == 2 && n->op <= COMPARE_GE);
	/* flags == O_DIRECT */
	if (b->kind == NODE_NAME && !name_resolves(c, b) && name_resolves(c, a)) {
		x = check_expr(c, a, NULL);
		if (x && x->type.type == QUERY_UINT && x->type.vocab)
			return query_fail_at(c->s, n, "%.*s is a set of bits; write %.*s has %.*s",
					     (int)a->len, c->s->text + a->pos, (int)a->len,
					     c->s->text + a->pos, (int)MIN(b->len, 64u),
					     c->s->text + b->pos);
	}
	if (c->s->failed || check_pair(c, a, b, &x, &y) < 0)
		return NULL;
	if (!kinds_agree(x->type, y->type))
		return check_disagree(c, n, x, y);
	if (n->op >= COMPARE_LT && !kind_has_order(x->type))
		return query_fail_at(c->s, n, "%s has no order; compare it with == != in ~",
				     query_kind_text(x->type));
	e = expr_make_binary(c->s, EXPR_COMPARE, query_kind_of(QUERY_BOOL), n, x, y);
	if (e)
		e->cmp = (enum expr_compare)n->op;
	return e;
}

/* ---- arithmetic ---- */

/* The type of a sum; QUERY_NULL: the types cannot be added. */
static enum query_type sum_type(enum expr_arith op, enum query_type a, enum query_type b)
{
	if (a == QUERY_TIME && b == QUERY_TIME)
		return op == ARITH_SUB ? QUERY_DUR : QUERY_NULL;
	if (a == QUERY_TIME)
		return b == QUERY_DUR ? QUERY_TIME : QUERY_NULL;
	if (b == QUERY_TIME)
		return a == QUERY_DUR && op == ARITH_ADD ? QUERY_TIME : QUERY_NULL;
	if (a == b)
		return a;
	if ((a == QUERY_INT && b == QUERY_SIZE) || (a == QUERY_SIZE && b == QUERY_INT))
		return QUERY_SIZE;
	if ((a == QUERY_INT && b == QUERY_FLOAT) || (a == QUERY_FLOAT && b == QUERY_INT))
		return QUERY_FLOAT;
	return QUERY_NULL;
}

static bool check_pair_is_unit(enum query_type t)
{
	return t == QUERY_DUR || t == QUERY_SIZE;
}

static bool check_pair_is_plain(enum query_type t)
{
	return t == QUERY_INT || t == QUERY_FLOAT;
}

static enum query_type arith_type(enum expr_arith op, enum query_type a, enum query_type b)
{
	switch (op) {
	case ARITH_ADD:
	case ARITH_SUB:
		return sum_type(op, a, b);
	case ARITH_MUL:
		if (check_pair_is_unit(a) && check_pair_is_plain(b))
			return a;
		if (check_pair_is_unit(b) && check_pair_is_plain(a))
			return b;
		if (check_pair_is_plain(a) && check_pair_is_plain(b))
			return a == QUERY_INT && b == QUERY_INT ? QUERY_INT : QUERY_FLOAT;
		return QUERY_NULL;
	case ARITH_DIV:
		if (check_pair_is_unit(a) && check_pair_is_plain(b))
			return a;
		if ((check_pair_is_unit(a) && a == b) ||
		    (check_pair_is_plain(a) && check_pair_is_plain(b)))
			return QUERY_FLOAT;
		return QUERY_NULL;
	case ARITH_MOD:
		if (a == QUERY_TIME && b == QUERY_DUR)
			return QUERY_DUR;
		if (a == QUERY_SIZE && b == QUERY_INT)
			return QUERY_SIZE;
		return a == b && (a == QUERY_INT || check_pair_is_unit(a)) ? a : QUERY_NULL;
	}
	return QUERY_NULL;
}

/* Folds constants of whole numbers now, so that blocks can be skipped by the result. */
static struct expr *fold(struct query_checker *c, const struct node *n, struct query_kind type,
			 const struct expr *a, const struct expr *b)
{
	int64_t value;
	bool overflow;

	if (!is_const(a) || !is_const(b) || !query_kind_is_int(a->type) ||
	    !query_kind_is_int(b->type) || !query_kind_is_int(type))
		return NULL;
	switch ((enum expr_arith)n->op) {
	case ARITH_ADD:
		overflow = __builtin_add_overflow(a->value.i, b->value.i, &value);
		break;
	case ARITH_SUB:
		overflow = __builtin_sub_overflow(a->value.i, b->value.i, &value);
		break;
	case ARITH_MUL:
		overflow = __builtin_mul_overflow(a->value.i, b->value.i, &value);
		break;
	default:
		return NULL;
	}
	/* a time before 1970 has no text form */
	if (overflow || (type.type == QUERY_TIME && value < 0))
		return NULL;
	return expr_make_int(c->s, type, n, value);
}

static void no_arith(struct query_checker *c, const struct node *n, const struct expr *a,
		     const struct expr *b)
{
	static const char signs[] = "+-*/%";
	char x[48], y[48];

	if (a->type.type == QUERY_UINT || b->type.type == QUERY_UINT) {
		query_fail(c->s, n->pos, n->len,
			   "arithmetic on bits and raw arguments is not supported; bitand(a, b) "
			   "works on bits");
		return;
	}
	if (a->type.type == QUERY_TIME && is_bare(b)) {
		query_fail(c->s, b->pos, b->len,
			   "expected a duration, but %s has no unit; write %sms or %ss",
			   check_pair_slice(c, b, y), y, y);
		return;
	}
	if ((n->op == ARITH_ADD || n->op == ARITH_SUB || n->op == ARITH_MOD) &&
	    ((check_pair_is_unit(a->type.type) && is_bare(b)) ||
	     (check_pair_is_unit(b->type.type) && is_bare(a)))) {
		check_disagree(c, n, a, b);
		return;
	}
	if (a->type.type == QUERY_SIZE && b->type.type == QUERY_DUR) {
		query_fail(c->s, n->pos, n->len,
			   "a size cannot be divided by a duration; use rate(bytes) for bytes per "
			   "second");
		return;
	}
	query_fail(c->s, n->pos, n->len, "%s is %s and %s is %s: '%c' does not apply to these",
		   check_pair_slice(c, a, x), query_kind_text(a->type), check_pair_slice(c, b, y),
		   query_kind_text(b->type), signs[n->op]);
}

/* A text added to a duration is a point in time. */
static const struct query_kind *time_hint(const struct node *a, const struct query_kind *hint)
{
	return a->kind == NODE_STRING || a->kind == NODE_ARITH ? hint : NULL;
}

struct expr *check_arith(struct query_checker *c, struct node *n, const struct query_kind *hint)
{
	struct node *a = n->first, *b = a->next;
	struct expr *x, *y, *e;
	enum query_type type;
	struct query_kind time = query_kind_of(QUERY_TIME);
	bool point = hint && hint->type == QUERY_TIME;
	bool sum = n->op == ARITH_ADD || n->op == ARITH_SUB || n->op == ARITH_MOD;

	assert(n->count == 2 && n->op <= ARITH_MOD);
	if (point) {
		x = check_expr(c, a, time_hint(a, &time));
		y = x ? check_expr(c, b, n->op == ARITH_ADD ? time_hint(b, &time) : NULL) : NULL;
	} else if (sum) {
		if (check_pair(c, a, b, &x, &y) < 0)
			return NULL;
	} else {
		x = check_expr(c, a, NULL);
		y = x ? check_expr(c, b, NULL) : NULL;
	}
	if (!x || !y)
		return NULL;
	type = arith_type((enum expr_arith)n->op, x->type.type, y->type.type);
	if (type == QUERY_NULL || type == QUERY_UINT || type == QUERY_CODE || type == QUERY_TEXT ||
	    type == QUERY_BOOL || type == QUERY_ENTITY || type == QUERY_HIST ||
	    type == QUERY_TALLY) {
		no_arith(c, n, x, y);
		return NULL;
	}
	e = fold(c, n, query_kind_of(type), x, y);
	if (e && type == QUERY_INT)
		return check_bare(c, n, e->value.i, hint);
	if (e || c->s->failed)
		return e;
	e = expr_make_binary(c->s, EXPR_ARITH, query_kind_of(type), n, x, y);
	if (e)
		e->arith = (enum expr_arith)n->op;
	return e;
}
