/* SPDX-License-Identifier: Apache-2.0 */
/*
 * parse.c: parses an expression into an untyped tree. Chains of && and || become one node with many operands, so that
 * their length costs no depth.
 *
 *   or      := and { ("||" | or) and }
 *   and     := not { ("&&" | and) not }
 *   not     := ("!" | not) not | compare
 *   compare := sum [ relation ]
 *   sum     := product { (+ | -) product }
 *   product := sign { (* | / | %) sign }
 *   sign    := "-" sign | primary
 *   primary := literal | name | name "(" [ or { "," or } ] ")" | "(" or ")" | "%" name
 */
#include <ctype.h>

#include "query/internal.h"

static struct node *parse_or(struct parser *p);

/* ---- tokens ---- */

void parser_take(struct parser *p)
{
	p->end = p->now.pos + p->now.len;
	p->now = p->after;
	if (p->now.kind == TOKEN_END || p->now.kind == TOKEN_BAD)
		return;
	lex_next(p->s, &p->pos, &p->after);
}

void parser_start(struct parser *p, struct query_source *s)
{
	assert(!s->failed);
	*p = (struct parser){.s = s};
	lex_next(s, &p->pos, &p->now);
	p->after = p->now;
	if (p->now.kind != TOKEN_END && p->now.kind != TOKEN_BAD)
		lex_next(s, &p->pos, &p->after);
	/*
	 * the parser fails when it reaches a bad token, whose error the lexer, at most one token ahead, has already
	 * recorded
	 */
}

bool parser_accept(struct parser *p, enum query_token_kind kind)
{
	if (p->now.kind != kind)
		return false;
	parser_take(p);
	return true;
}

bool parser_accept_word(struct parser *p, const char *word)
{
	if (!token_is(&p->now, word))
		return false;
	parser_take(p);
	return true;
}

int parser_expected(struct parser *p, const char *what)
{
	const struct query_token *t = &p->now;

	assert(t->kind != TOKEN_BAD || p->s->failed < 0);
	if (t->kind == TOKEN_BAD)
		return p->s->failed;
	if (t->kind == TOKEN_END)
		return query_fail(p->s, p->s->len, 0, "expected %s, but the query ends here", what);
	return query_fail(p->s, t->pos, t->len, "expected %s, found '%.*s%s'", what,
			  (int)MIN(t->len, 40u), p->s->text + t->pos, t->len > 40 ? "..." : "");
}

/* Words that end an operand. Words that begin a stage do not: select is also a call. */
bool word_is_keyword(const struct query_token *t)
{
	static const char *const words[] = {"and",     "or", "not", "in",    "has", "like", "is",
					    "between", "as", "by",  "every", "asc", "desc"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (token_is(t, words[i]))
			return true;
	}
	return false;
}

/* ---- nodes ---- */

static struct node *make_node(struct parser *p, enum node_kind kind, uint32_t pos)
{
	struct node *n;

	if (++p->s->nodes > QUERY_NODES_MAX) {
		query_fail(p->s, pos, 0, "the query has more than %d operands and operators",
			   QUERY_NODES_MAX);
		return NULL;
	}
	n = query_make(p->s, struct node);
	if (!n)
		return NULL;
	n->kind = kind;
	n->pos = pos;
	n->len = p->end > pos ? p->end - pos : 0;
	n->depth = 1;
	return n;
}

static int too_deep(struct parser *p, uint32_t pos)
{
	return query_fail(p->s, pos, 0, "the expression is nested more than %d levels deep",
			  QUERY_DEPTH_MAX);
}

/* Adds an operand at the end of the list. */
static bool add_operand(struct parser *p, struct node *n, struct node **last, struct node *operand)
{
	if (!operand)
		return false;
	if (*last)
		(*last)->next = operand;
	else
		n->first = operand;
	*last = operand;
	assert(!operand->next && operand->depth <= QUERY_DEPTH_MAX);
	n->count++;
	n->depth = MAX(n->depth, operand->depth + 1);
	n->len = p->end - n->pos;
	if (n->depth <= QUERY_DEPTH_MAX)
		return true;
	too_deep(p, n->pos);
	return false;
}

static struct node *unary(struct parser *p, enum node_kind kind, uint32_t pos, struct node *a)
{
	struct node *n = a ? make_node(p, kind, pos) : NULL, *last = NULL;

	assert(kind == NODE_NOT || kind == NODE_NEG || kind >= NODE_GLOB);
	return n && add_operand(p, n, &last, a) ? n : NULL;
}

static struct node *binary(struct parser *p, enum node_kind kind, unsigned int op, struct node *a,
			   struct node *b)
{
	struct node *n = a && b ? make_node(p, kind, a->pos) : NULL, *last = NULL;

	assert(kind == NODE_COMPARE || kind == NODE_ARITH || kind == NODE_DOTS);
	if (!n || !add_operand(p, n, &last, a) || !add_operand(p, n, &last, b))
		return NULL;
	n->op = op;
	assert(n->count == 2);
	return n;
}

/* ---- operands ---- */

static bool parse_enter(struct parser *p)
{
	if (++p->depth <= QUERY_DEPTH_MAX)
		return true;
	too_deep(p, p->now.pos);
	return false;
}

static struct node *parse_brackets(struct parser *p)
{
	uint32_t pos = p->now.pos;
	struct node *n;

	assert(p->now.kind == TOKEN_OPEN);
	parser_take(p);
	if (!parse_enter(p))
		return NULL;
	n = parse_or(p);
	p->depth--;
	if (!n)
		return NULL;
	if (p->now.kind == TOKEN_COMMA)
		return query_fail_at(p->s, &p->now,
				     "a list is allowed only after 'in': x in (a, b)");
	if (!parser_accept(p, TOKEN_CLOSE))
		return parser_missing(p, "')'");
	/* a field's name includes the brackets */
	n->pos = pos;
	n->len = p->end - pos;
	return n;
}

static struct node *parse_arguments(struct parser *p, struct node *call)
{
	struct node *last = NULL;

	assert(call->kind == NODE_CALL && p->now.kind == TOKEN_OPEN);
	parser_take(p); /* the bracket */
	if (!parse_enter(p))
		return NULL;
	/* count(*), as in SQL */
	if (p->now.kind == TOKEN_STAR && p->after.kind == TOKEN_CLOSE &&
	    token_text_is(call->text, "count"))
		parser_take(p);
	while (p->now.kind != TOKEN_CLOSE) {
		if (!add_operand(p, call, &last, parse_or(p)))
			return NULL;
		if (!parser_accept(p, TOKEN_COMMA))
			break;
		if (p->now.kind == TOKEN_CLOSE)
			return parser_missing(p, "an operand");
	}
	p->depth--;
	if (!parser_accept(p, TOKEN_CLOSE))
		return parser_missing(p, "')'");
	call->len = p->end - call->pos;
	return call;
}

/* Function names ignore case: COUNT(*), as in SQL. */
static struct bytes small_letters(struct parser *p, struct bytes name)
{
	char *to = query_array(p->s, name.len + 1, char);

	for (size_t i = 0; to && i < name.len; i++)
		to[i] = (char)tolower(name.data[i]);
	return to ? (struct bytes){(const uint8_t *)to, name.len} : name;
}

static struct node *parse_known_word(struct parser *p)
{
	struct query_token t = p->now;
	struct node *n;

	if (word_is_keyword(&t) && p->after.kind != TOKEN_OPEN)
		return parser_missing(p, "an operand");
	parser_take(p);
	if (p->now.kind == TOKEN_OPEN) {
		n = make_node(p, NODE_CALL, t.pos);
		if (!n)
			return NULL;
		n->text = small_letters(p, t.text);
		return parse_arguments(p, n);
	}
	n = make_node(p,
		      token_is(&t, "null")			      ? NODE_NULL
		      : token_is(&t, "true") || token_is(&t, "false") ? NODE_BOOL
								      : NODE_NAME,
		      t.pos);
	if (n) {
		n->text = t.text;
		n->number.i = token_is(&t, "true");
	}
	return n;
}

/* "%file": a set of calls, as for -e. */
static struct node *parse_set(struct parser *p)
{
	uint32_t pos = p->now.pos, end;
	struct node *n;

	assert(p->now.kind == TOKEN_PERCENT);
	while (p->now.kind == TOKEN_PERCENT)
		parser_take(p);
	if (p->now.kind != TOKEN_NAME || p->now.pos != p->end)
		return parser_missing(p, "the name of a set of calls (%file, %net)");
	parser_take(p);
	end = p->end;
	n = make_node(p, NODE_SET, pos);
	if (n)
		n->text = (struct bytes){(const uint8_t *)p->s->text + pos, end - pos};
	return n;
}

static struct node *parse_primary(struct parser *p)
{
	struct query_token t = p->now;
	struct node *n;

	switch (t.kind) {
	case TOKEN_NUMBER:
	case TOKEN_STRING:
		parser_take(p);
		if (t.kind == TOKEN_NUMBER && p->now.kind == TOKEN_NAME &&
		    !word_is_keyword(&p->now) && p->now.len <= 3) {
			query_fail(p->s, t.pos, p->now.pos + p->now.len - t.pos,
				   "write the unit directly after the number: %.*s%.*s", (int)t.len,
				   p->s->text + t.pos, (int)p->now.len, p->s->text + p->now.pos);
			return NULL;
		}
		n = make_node(p, t.kind == TOKEN_NUMBER ? NODE_NUMBER : NODE_STRING, t.pos);
		if (n) {
			n->number = t.number;
			n->text = t.text;
		}
		return n;
	case TOKEN_NAME:
		return parse_known_word(p);
	case TOKEN_OPEN:
		return parse_brackets(p);
	case TOKEN_PERCENT:
		return parse_set(p);
	default:
		return parser_missing(p, "an operand");
	}
}

static struct node *parse_sign(struct parser *p)
{
	uint32_t pos = p->now.pos;
	struct node *n;

	if (!parser_accept(p, TOKEN_MINUS))
		return parse_primary(p);
	if (!parse_enter(p))
		return NULL;
	n = unary(p, NODE_NEG, pos, parse_sign(p));
	p->depth--;
	return n;
}

static struct node *parse_product(struct parser *p)
{
	struct node *n = parse_sign(p);

	while (n) {
		if (parser_accept(p, TOKEN_STAR))
			n = binary(p, NODE_ARITH, ARITH_MUL, n, parse_sign(p));
		else if (parser_accept(p, TOKEN_SLASH))
			n = binary(p, NODE_ARITH, ARITH_DIV, n, parse_sign(p));
		else if (parser_accept(p, TOKEN_PERCENT))
			n = binary(p, NODE_ARITH, ARITH_MOD, n, parse_sign(p));
		else
			break;
	}
	return n;
}

static struct node *parse_sum(struct parser *p)
{
	struct node *n = parse_product(p);

	while (n) {
		if (parser_accept(p, TOKEN_PLUS))
			n = binary(p, NODE_ARITH, ARITH_ADD, n, parse_product(p));
		else if (parser_accept(p, TOKEN_MINUS))
			n = binary(p, NODE_ARITH, ARITH_SUB, n, parse_product(p));
		else
			break;
	}
	return n;
}

/* ---- relations ---- */

/* Parses "(a, b..c)" after in, has, ~ and appends it to the operands of n, which has one already. */
static bool parse_list(struct parser *p, struct node *n, bool ranges)
{
	struct node *last = n->first;

	assert(p->now.kind == TOKEN_OPEN && n->count == 1);
	parser_take(p);
	if (!parse_enter(p))
		return false;
	do {
		struct node *item = parse_sum(p);

		if (item && ranges && parser_accept(p, TOKEN_DOTS))
			item = binary(p, NODE_DOTS, 0, item, parse_sum(p));
		if (!add_operand(p, n, &last, item))
			return false;
	} while (parser_accept(p, TOKEN_COMMA));
	p->depth--;
	if (!parser_accept(p, TOKEN_CLOSE)) {
		parser_expected(p, "',' or ')'");
		return false;
	}
	n->len = p->end - n->pos;
	return true;
}

static struct node *range(struct parser *p, struct node *what, struct node *from, struct node *to)
{
	struct node *n = from && to ? make_node(p, NODE_RANGE, what->pos) : NULL, *last = NULL;

	if (!n || !add_operand(p, n, &last, what) || !add_operand(p, n, &last, from) ||
	    !add_operand(p, n, &last, to))
		return NULL;
	assert(n->count == 3);
	return n;
}

static struct node *parse_in(struct parser *p, struct node *what)
{
	struct node *n, *from;

	if (p->now.kind == TOKEN_OPEN) {
		n = unary(p, NODE_IN, what->pos, what);
		return n && parse_list(p, n, true) ? n : NULL;
	}
	/* %net is itself a list */
	if (p->now.kind == TOKEN_PERCENT) {
		struct node *last = what;

		n = unary(p, NODE_IN, what->pos, what);
		return n && add_operand(p, n, &last, parse_set(p)) ? n : NULL;
	}
	from = parse_sum(p);
	if (!from)
		return NULL;
	if (!parser_accept(p, TOKEN_DOTS)) {
		query_fail(p->s, from->pos, p->end - from->pos,
			   "'in' must be followed by a list (a, b) or a range a..b");
		return NULL;
	}
	return range(p, what, from, parse_sum(p));
}

static struct node *parse_between(struct parser *p, struct node *what)
{
	struct node *from = parse_sum(p);

	if (!from)
		return NULL;
	if (!parser_accept_word(p, "and") && !parser_accept(p, TOKEN_AND))
		return parser_missing(p, "'and'");
	return range(p, what, from, parse_sum(p));
}

/* what ~ pattern, what ~ (pattern, pattern), what has a, what has (a, b) */
static struct node *parse_operands(struct parser *p, enum node_kind kind, struct node *what)
{
	struct node *n = unary(p, kind, what->pos, what), *last = what;

	if (!n)
		return NULL;
	if (p->now.kind == TOKEN_OPEN)
		return parse_list(p, n, false) ? n : NULL;
	return add_operand(p, n, &last, parse_sum(p)) ? n : NULL;
}

static struct node *negate(struct parser *p, bool really, struct node *n)
{
	return n && really ? unary(p, NODE_NOT, n->pos, n) : n;
}

static struct node *parse_is(struct parser *p, struct node *what)
{
	bool negated = parser_accept_word(p, "not");

	if (!parser_accept_word(p, "null"))
		return parser_missing(p, negated ? "'null'" : "'null' or 'not null'");
	return negate(p, negated, unary(p, NODE_IS_NULL, what->pos, what));
}

static bool comparison(enum query_token_kind kind, unsigned int *ret)
{
	if (kind < TOKEN_EQ || kind > TOKEN_GE)
		return false;
	*ret = (unsigned int)(kind - TOKEN_EQ); /* in the same order */
	return true;
}

static_assert(TOKEN_GE - TOKEN_EQ == COMPARE_GE && TOKEN_LT - TOKEN_EQ == COMPARE_LT,
	      "tokens stand in the order of enum expr_compare");

static struct node *parse_relation(struct parser *p, struct node *what)
{
	unsigned int cmp;
	bool negated;

	if (comparison(p->now.kind, &cmp)) {
		parser_take(p);
		return binary(p, NODE_COMPARE, cmp, what, parse_sum(p));
	}
	if (parser_accept(p, TOKEN_GLOB))
		return parse_operands(p, NODE_GLOB, what);
	if (parser_accept(p, TOKEN_NOT_GLOB))
		return negate(p, true, parse_operands(p, NODE_GLOB, what));
	if (parser_accept(p, TOKEN_REGEX))
		return parse_operands(p, NODE_REGEX, what);
	if (parser_accept(p, TOKEN_NOT_REGEX))
		return negate(p, true, parse_operands(p, NODE_REGEX, what));
	if (parser_accept_word(p, "is"))
		return parse_is(p, what);
	negated = token_is(&p->now, "not") && p->after.kind == TOKEN_NAME;
	if (negated)
		parser_take(p);
	if (parser_accept_word(p, "in"))
		return negate(p, negated, parse_in(p, what));
	if (parser_accept_word(p, "has"))
		return negate(p, negated, parse_operands(p, NODE_HAS, what));
	if (parser_accept_word(p, "like"))
		return negate(p, negated, parse_operands(p, NODE_LIKE, what));
	if (parser_accept_word(p, "between"))
		return negate(p, negated, parse_between(p, what));
	if (negated)
		return parser_missing(p, "in, has, like or between");
	return what;
}

static struct node *parse_compare(struct parser *p)
{
	struct node *n = parse_sum(p), *relation;
	unsigned int cmp;

	if (!n)
		return NULL;
	relation = parse_relation(p, n);
	if (relation && relation != n && comparison(p->now.kind, &cmp))
		return query_fail_at(
			p->s, &p->now,
			"comparisons cannot be chained; write x in a..b, or join them with &&");
	return relation;
}

static struct node *parse_not(struct parser *p)
{
	uint32_t pos = p->now.pos;
	struct node *n;

	if (p->now.kind != TOKEN_NOT && !token_is(&p->now, "not"))
		return parse_compare(p);
	parser_take(p);
	if (!parse_enter(p))
		return NULL;
	n = unary(p, NODE_NOT, pos, parse_not(p));
	p->depth--;
	return n;
}

/* ---- and, or ---- */

/* Adds an operand to a chain; an operand that is itself a chain (in brackets) contributes its operands. */
static bool add_link(struct parser *p, struct node *chain, struct node **last, struct node *n)
{
	struct node *part, *next;

	assert(chain->kind == NODE_AND || chain->kind == NODE_OR);
	if (!n || n->kind != chain->kind)
		return add_operand(p, chain, last, n);
	for (part = n->first; part; part = next) {
		next = part->next;
		part->next = NULL;
		if (!add_operand(p, chain, last, part))
			return false;
	}
	return true;
}

static bool at_joint(struct parser *p, enum node_kind kind)
{
	return kind == NODE_AND ? parser_accept(p, TOKEN_AND) || parser_accept_word(p, "and")
				: parser_accept(p, TOKEN_OR) || parser_accept_word(p, "or");
}

static struct node *parse_chain(struct parser *p, enum node_kind kind,
				struct node *(*part)(struct parser *p))
{
	struct node *n = part(p), *chain, *last = NULL;

	if (!n || !at_joint(p, kind))
		return n;
	chain = make_node(p, kind, n->pos);
	if (!chain || !add_link(p, chain, &last, n))
		return NULL;
	do {
		if (!add_link(p, chain, &last, part(p)))
			return NULL;
	} while (at_joint(p, kind));
	assert(chain->count >= 2);
	return chain;
}

static struct node *parse_and(struct parser *p)
{
	return parse_chain(p, NODE_AND, parse_not);
}

static struct node *parse_or(struct parser *p)
{
	return parse_chain(p, NODE_OR, parse_and);
}

struct node *query_parse_node(struct parser *p)
{
	return parse_or(p);
}
