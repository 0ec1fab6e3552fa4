/* SPDX-License-Identifier: Apache-2.0 */
/*
 * check_query.c: converts the tree to a typed expression; conditions, and functions shared by all parts of the check.
 */
#include "query/internal.h"

/* Operators added by the check (text(file), and of operations) may nest this much deeper than the query's text. */
#define DEPTH_ADDED 40

/* ---- makers ---- */

struct expr *expr_make_expr(struct query_source *s, enum expr_kind kind, struct query_kind type,
			    const struct node *at)
{
	struct expr *e = query_make(s, struct expr);

	assert(kind <= EXPR_USER && type.type != QUERY_DISTINCT);
	assert(type.type != QUERY_CODE || type.vocab); /* the vocabulary of the words */
	if (!e)
		return NULL;
	e->kind = kind;
	e->type = type;
	e->pos = at->pos;
	e->len = at->len;
	return e;
}

struct expr *expr_make_unary(struct query_source *s, enum expr_kind kind, struct query_kind type,
			     const struct node *at, struct expr *a)
{
	struct expr *e = a ? expr_make_expr(s, kind, type, at) : NULL;

	if (e)
		e->arg[e->arg_count++] = a;
	return e;
}

struct expr *expr_make_binary(struct query_source *s, enum expr_kind kind, struct query_kind type,
			      const struct node *at, struct expr *a, struct expr *b)
{
	struct expr *e = a && b ? expr_make_expr(s, kind, type, at) : NULL;

	if (e) {
		e->arg[e->arg_count++] = a;
		e->arg[e->arg_count++] = b;
	}
	return e;
}

struct expr *expr_make_int(struct query_source *s, struct query_kind type, const struct node *at,
			   int64_t value)
{
	struct expr *e = expr_make_expr(s, EXPR_CONST, type, at);

	if (e)
		e->value.i = value;
	return e;
}

struct expr *expr_make_call(struct query_source *s, enum query_function f, struct query_kind type,
			    const struct node *at, struct expr *a, struct expr *b)
{
	struct expr *e = b ? expr_make_binary(s, EXPR_CALL, type, at, a, b)
			   : expr_make_unary(s, EXPR_CALL, type, at, a);

	static_assert(ARRAY_SIZE(((struct expr *)0)->arg) == 3, "if() has the most operands");

	assert(f < FUNCTION_COUNT);
	if (e)
		e->function = f;
	return e;
}

/* The number of operands after nested ones of the same kind are flattened. */
static size_t count_links(struct query_source *s, enum expr_kind kind, const struct expr *e)
{
	size_t count = 0;

	if (e->kind != kind)
		return 1;
	for (unsigned int i = 0; i < 2; i++) {
		count += count_links(s, kind, e->arg[i]);
		if (count > QUERY_NODES_MAX)
			break;
	}
	return count;
}

static void take_links(enum expr_kind kind, struct expr *e, struct expr **to, size_t *count)
{
	assert(e->kind != kind || e->arg_count == 2);
	if (e->kind != kind) {
		to[(*count)++] = e;
		return;
	}
	take_links(kind, e->arg[0], to, count);
	take_links(kind, e->arg[1], to, count);
}

static struct expr *balance(struct query_source *s, enum expr_kind kind, struct expr **all,
			    size_t count)
{
	struct expr *a, *b;
	struct node at;

	assert(count > 0 && (kind == EXPR_AND || kind == EXPR_OR));
	if (count == 1)
		return all[0];
	a = balance(s, kind, all, count / 2);
	b = balance(s, kind, all + count / 2, count - count / 2);
	if (!a || !b)
		return NULL;
	at = (struct node){.pos = a->pos,
			   .len = b->pos >= a->pos ? b->pos + b->len - a->pos : a->len};
	return expr_make_binary(s, kind, query_kind_of(QUERY_BOOL), &at, a, b);
}

struct expr *expr_make_logic(struct query_source *s, enum expr_kind kind, struct expr **all,
			     size_t count)
{
	struct expr **links;
	size_t total = 0, n = 0;

	assert(count > 0);
	for (size_t i = 0; i < count; i++) {
		total += count_links(s, kind, all[i]);
		if (total > QUERY_NODES_MAX) {
			query_fail(s, all[i]->pos, all[i]->len,
				   "the query has more than %d operands and operators",
				   QUERY_NODES_MAX);
			return NULL;
		}
	}
	assert(total >= count);
	links = query_array(s, total, struct expr *);
	if (!links)
		return NULL;
	for (size_t i = 0; i < count; i++)
		take_links(kind, all[i], links, &n);
	assert(n == total);
	return balance(s, kind, links, n);
}

/* ---- conditions ---- */

/* Suggests what the author of `where err` may have meant. */
static int no_condition(struct query_checker *c, const struct node *n, const struct expr *e)
{
	int len = (int)MIN(n->len, 40u);
	const char *text = c->s->text + n->pos;

	switch (e->type.type) {
	case QUERY_CODE:
	case QUERY_NULL:
		return query_fail(c->s, n->pos, n->len,
				  "expected a condition, but this is %s; %.*s is not null?",
				  query_kind_text(e->type), len, text);
	case QUERY_UINT:
		if (e->type.vocab)
			return query_fail(
				c->s, n->pos, n->len,
				"expected a condition, but these are bits; %.*s has WORD?", len,
				text);
		break;
	case QUERY_TEXT:
	case QUERY_ENTITY:
		return query_fail(c->s, n->pos, n->len,
				  "expected a condition, but this is %s; path ~ \"*.log\"?",
				  query_kind_text(e->type));
	default:
		break;
	}
	return query_fail(c->s, n->pos, n->len, "expected a condition, but this is %s; %.*s > 0?",
			  query_kind_text(e->type), len, text);
}

struct expr *check_condition(struct query_checker *c, struct node *n)
{
	struct expr *e = check_expr(c, n, NULL);

	if (!e || e->type.type == QUERY_BOOL)
		return e;
	no_condition(c, n, e);
	return NULL;
}

static struct expr *check_chain(struct query_checker *c, struct node *n)
{
	struct expr **all = query_array(c->s, n->count, struct expr *);
	size_t count = 0;

	assert(n->count >= 2);
	if (!all)
		return NULL;
	for (struct node *a = n->first; a; a = a->next) {
		all[count] = check_condition(c, a);
		if (!all[count++])
			return NULL;
	}
	assert(count == n->count);
	return expr_make_logic(c->s, n->kind == NODE_AND ? EXPR_AND : EXPR_OR, all, count);
}

static struct expr *check_bool(struct query_checker *c, struct node *n)
{
	return expr_make_int(c->s, query_kind_of(QUERY_BOOL), n, n->number.i);
}

static struct expr *check_null(struct query_checker *c, struct node *n)
{
	struct expr *e = expr_make_expr(c->s, EXPR_CONST, query_kind_of(QUERY_NULL), n);

	if (e)
		e->value.null = true;
	return e;
}

static struct expr *check_set(struct query_checker *c, struct node *n)
{
	return query_fail_at(c->s, n, "a set of calls must follow 'in': op in %.*s",
			     (int)n->text.len, (const char *)n->text.data);
}

struct expr *check_expr(struct query_checker *c, struct node *n, const struct query_kind *hint)
{
	switch (n->kind) {
	case NODE_NUMBER:
		return check_number(c, n, hint);
	case NODE_STRING:
		return check_string(c, n, hint);
	case NODE_NAME:
		return hint && hint->type == QUERY_CODE ? check_word(c, n, hint) : check_name(c, n);
	case NODE_NULL:
		return check_null(c, n);
	case NODE_BOOL:
		return check_bool(c, n);
	case NODE_SET:
		return check_set(c, n);
	case NODE_AND:
	case NODE_OR:
		return check_chain(c, n);
	case NODE_NOT:
		return expr_make_unary(c->s, EXPR_NOT, query_kind_of(QUERY_BOOL), n,
				       check_condition(c, n->first));
	case NODE_NEG:
		return check_negative(c, n, hint);
	case NODE_COMPARE:
		return check_compare(c, n);
	case NODE_ARITH:
		return check_arith(c, n, hint);
	case NODE_GLOB:
	case NODE_REGEX:
	case NODE_LIKE:
		return check_match(c, n);
	case NODE_HAS:
		return check_has(c, n);
	case NODE_IS_NULL:
		return expr_make_unary(c->s, EXPR_IS_NULL, query_kind_of(QUERY_BOOL), n,
				       check_expr(c, n->first, NULL));
	case NODE_IN:
		return check_in(c, n);
	case NODE_RANGE:
		return check_range(c, n);
	case NODE_CALL:
		return check_call(c, n, hint);
	case NODE_DOTS:
		break;
	}
	return query_fail_at(c->s, n, "a range must follow 'in': x in a..b");
}

/* ---- limits ---- */

static int check_query_walk(struct query_source *s, const struct expr *e, unsigned int depth,
			    size_t *nodes)
{
	assert(e->arg_count <= ARRAY_SIZE(e->arg));
	if (depth > QUERY_DEPTH_MAX + DEPTH_ADDED)
		return query_fail(s, e->pos, e->len,
				  "the expression is nested more than %d levels deep",
				  QUERY_DEPTH_MAX);
	if (++*nodes > QUERY_NODES_MAX)
		return query_fail(s, e->pos, e->len,
				  "the query has more than %d operands and operators",
				  QUERY_NODES_MAX);
	for (unsigned int i = 0; i < e->arg_count; i++) {
		int r = check_query_walk(s, e->arg[i], depth + 1, nodes);

		if (r < 0)
			return r;
	}
	return 0;
}

int check_limits(struct query_source *s, const struct expr *e)
{
	size_t nodes = 0;

	return check_query_walk(s, e, 1, &nodes);
}
