/* SPDX-License-Identifier: Apache-2.0 */
/* check_call.c: functions of a row. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "query/internal.h"

static const char *const signatures[] = {
#define F(NAME, name, sig, doc) [FUNCTION_##NAME] = sig,
	QUERY_FUNCTIONS(F)
#undef F
};

static struct expr *check_call_wrong(struct query_checker *c, const struct node *n,
				     const struct expr *e, const char *want)
{
	return query_fail_at(c->s, n, "expected %s, but this is %s", want,
			     query_kind_text(e->type));
}

/* An operand converted to text: names of files, words of codes. */
static struct expr *check_call_text_of(struct query_checker *c, struct node *n)
{
	struct expr *e = check_expr(c, n, NULL);

	if (!e || e->type.type == QUERY_TEXT)
		return e;
	if (e->type.type == QUERY_ENTITY || e->type.type == QUERY_CODE)
		return expr_make_call(c->s, FUNCTION_TEXT, query_kind_of(QUERY_TEXT), n, e, NULL);
	return check_call_wrong(c, n, e, "a text");
}

static struct expr *check_text_function(struct query_checker *c, struct node *n,
					enum query_function f)
{
	struct expr *a = check_call_text_of(c, n->first);

	assert(f <= FUNCTION_LEN && n->count == 1);
	return a ? expr_make_call(c->s, f,
				  query_kind_of(f == FUNCTION_LEN ? QUERY_INT : QUERY_TEXT), n, a,
				  NULL)
		 : NULL;
}

static struct expr *check_bucket(struct query_checker *c, struct node *n)
{
	struct node *w = n->first->next;
	struct expr *x = check_expr(c, n->first, NULL), *width;
	struct query_kind k;

	assert(n->count == 2);
	if (!x)
		return NULL;
	if (x->type.type != QUERY_INT && x->type.type != QUERY_DUR && x->type.type != QUERY_SIZE &&
	    x->type.type != QUERY_TIME)
		return check_call_wrong(c, n->first, x,
					"a whole number, a duration, a size or a point in time");
	k = query_kind_of(x->type.type == QUERY_TIME ? QUERY_DUR : x->type.type);
	width = check_expr(c, w, &k);
	if (!width)
		return NULL;
	if (width->type.type != k.type) {
		struct expr like = *x;

		like.type = k;
		return check_disagree(c, w, &like, width);
	}
	if (!is_const(width) || width->value.i <= 0)
		return query_fail_at(c->s, w, "the width of a bucket must be a constant above 0");
	return expr_make_call(c->s, FUNCTION_BUCKET, x->type, n, x, width);
}

static struct expr *check_number_function(struct query_checker *c, struct node *n,
					  enum query_function f)
{
	struct expr *a = check_expr(c, n->first, NULL);

	assert(f == FUNCTION_LOG2 || f == FUNCTION_ABS);
	if (!a)
		return NULL;
	if (!kind_is_number(a->type) || (f == FUNCTION_LOG2 && a->type.type == QUERY_FLOAT) ||
	    (f == FUNCTION_ABS && a->type.type == QUERY_UINT))
		return check_call_wrong(c, n->first, a, "a number, a duration or a size");
	/* as plain bits, without their words */
	return expr_make_call(c->s, f, query_kind_of(a->type.type), n, a, NULL);
}

static struct expr *check_time_function(struct query_checker *c, struct node *n,
					enum query_function f)
{
	struct query_kind k = query_kind_of(QUERY_TIME);
	struct expr *a = check_expr(c, n->first, &k);

	assert(f == FUNCTION_HOUR || f == FUNCTION_MINUTE);

	if (!a)
		return NULL;
	if (a->type.type != QUERY_TIME)
		return check_call_wrong(c, n->first, a, "a point in time");
	return expr_make_call(c->s, f, query_kind_of(QUERY_INT), n, a, NULL);
}

static struct expr *check_bit_function(struct query_checker *c, struct node *n,
				       enum query_function f)
{
	struct expr *a, *b;

	assert(n->count == 2 && (f == FUNCTION_BITAND || f == FUNCTION_BITOR));
	if (check_pair(c, n->first, n->first->next, &a, &b) < 0)
		return NULL;
	if (a->type.type != QUERY_INT && a->type.type != QUERY_UINT)
		return check_call_wrong(c, n->first, a, "a whole number");
	if (b->type.type != a->type.type)
		return check_disagree(c, n, a, b);
	return expr_make_call(c->s, f, query_kind_of(a->type.type), n, a, b);
}

/* Checks two operands of the same kind, which is also the result's kind. */
static int alike(struct query_checker *c, struct node *n, struct node *x, struct node *y,
		 struct expr **ret_a, struct expr **ret_b, struct query_kind *ret_kind)
{
	struct expr *a, *b;
	int r = check_pair(c, x, y, &a, &b);

	assert(x != y);
	if (r < 0)
		return r;
	if (a->type.type == QUERY_NULL || b->type.type == QUERY_NULL) {
		*ret_kind = a->type.type == QUERY_NULL ? b->type : a->type;
		if (ret_kind->type == QUERY_NULL)
			query_fail(c->s, n->pos, n->len, "both values are null");
	} else if (a->type.type == b->type.type && kinds_agree(a->type, b->type)) {
		*ret_kind = a->type;
		if (a->type.type == QUERY_UINT || a->type.type == QUERY_INT)
			*ret_kind = query_kind_of(a->type.type);
	} else {
		check_disagree(c, n, a, b);
	}
	*ret_a = a;
	*ret_b = b;
	return c->s->failed;
}

static struct expr *check_coalesce(struct query_checker *c, struct node *n)
{
	struct query_kind k;
	struct expr *a, *b;

	if (alike(c, n, n->first, n->first->next, &a, &b, &k) < 0)
		return NULL;
	return expr_make_call(c->s, FUNCTION_COALESCE, k, n, a, b);
}

static struct expr *check_case(struct query_checker *c, struct node *n)
{
	struct expr *cond, *a, *b, *e;
	struct query_kind k;

	if (n->count != 3)
		return query_fail_at(c->s, n, "if(condition, a, b) takes three operands");
	cond = check_condition(c, n->first);
	if (!cond || alike(c, n, n->first->next, n->first->next->next, &a, &b, &k) < 0)
		return NULL;
	e = expr_make_binary(c->s, EXPR_CASE, k, n, cond, a);
	if (e)
		e->arg[e->arg_count++] = b;
	assert(!e || e->arg_count == 3);
	return e;
}

static struct expr *check_text(struct query_checker *c, struct node *n)
{
	struct expr *a = check_expr(c, n->first, NULL);

	if (!a || a->type.type == QUERY_TEXT)
		return a;
	if (a->type.type == QUERY_HIST || a->type.type == QUERY_TALLY || a->type.type == QUERY_NULL)
		return check_call_wrong(c, n->first, a, "a value");
	return expr_make_call(c->s, FUNCTION_TEXT, query_kind_of(QUERY_TEXT), n, a, NULL);
}

static struct expr *check_id(struct query_checker *c, struct node *n)
{
	struct expr *a = check_expr(c, n->first, NULL);

	if (!a)
		return NULL;
	if (a->type.type != QUERY_ENTITY)
		return check_call_wrong(c, n->first, a, "file, thread or process");
	return expr_make_call(c->s, FUNCTION_ID,
			      (struct query_kind){.type = QUERY_INT, .entity = a->type.entity}, n,
			      a, NULL);
}

static void unknown_function(struct query_checker *c, const struct node *n)
{
	char word[NEAREST_WORD_MAX + 2];
	struct nearest near = {.word = word};
	_cleanup_buf_ struct buf all = {0};
	const struct query_call *call;
	bool aggregates = false;

	snprintf(word, sizeof(word), "%.*s", (int)MIN(n->text.len, sizeof(word)),
		 (const char *)n->text.data);
	if (word[0] == 'p' && word[1] && strspn(word + 1, "0123456789") == strlen(word + 1)) {
		query_fail(c->s, n->pos, n->text.len,
			   "unknown percentile '%s'; available are p01 to p99, p999 and p9999, "
			   "percentile(x, 12.5) and max(x)",
			   word);
		return;
	}
	for (size_t i = 0; (call = query_call(i)); i++) {
		nearest_offer(&near, call->name);
		buf_printf(&all, "%s %s", call->aggregate && !aggregates ? "; in a group" : "",
			   call->name);
		aggregates = call->aggregate;
	}
	/* or a name that begins with the word */
	for (size_t i = 0; (call = query_call(i)) && !near.best && strlen(word) > 1; i++)
		near.best = strncmp(call->name, word, strlen(word)) ? NULL : call->name;
	if (near.best)
		query_fail(c->s, n->pos, n->text.len, "unknown function '%s'; did you mean %s?",
			   word, near.best);
	else
		query_fail(c->s, n->pos, n->text.len, "unknown function '%s'; available are%s",
			   word, buf_str(&all));
}

struct expr *check_call(struct query_checker *c, struct node *n, const struct query_kind *hint)
{
	int f = function_find(n->text);
	unsigned int takes;

	if (node_is_aggregate(n))
		return check_aggregate_name(c, n);
	if (token_text_is(n->text, "if"))
		return check_case(c, n);
	if (f < 0) {
		unknown_function(c, n);
		return NULL;
	}
	assert(f < FUNCTION_COUNT);
	takes = strchr(signatures[f], ',') ? 2 : 1;
	if (n->count != takes)
		return query_fail_at(c->s, n, "%s takes %s", signatures[f],
				     takes == 2 ? "two operands" : "one operand");
	switch ((enum query_function)f) {
	case FUNCTION_BUCKET:
		return check_bucket(c, n);
	case FUNCTION_LOG2:
	case FUNCTION_ABS:
		return check_number_function(c, n, (enum query_function)f);
	case FUNCTION_HOUR:
	case FUNCTION_MINUTE:
		return check_time_function(c, n, (enum query_function)f);
	case FUNCTION_BITAND:
	case FUNCTION_BITOR:
		return check_bit_function(c, n, (enum query_function)f);
	case FUNCTION_COALESCE:
		return check_coalesce(c, n);
	case FUNCTION_TEXT:
		return check_text(c, n);
	case FUNCTION_ID:
		return check_id(c, n);
	default:
		return check_text_function(c, n, (enum query_function)f);
	}
}
