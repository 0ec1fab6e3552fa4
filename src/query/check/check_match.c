/* SPDX-License-Identifier: Apache-2.0 */
/* check_match.c: in, ranges, patterns, bits. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "query/internal.h"
#include "query/eval/pattern.h"
#include "schema/ops.h"
#include "schema/select.h"
#include "schema/vocab.h"

/* ---- in ---- */

struct match_values {
	struct value *list;
	size_t count, cap;
};

static int add_value(struct query_checker *c, struct match_values *v, const struct value *value)
{
	if (query_grow(c->s, v->list, v->count, v->cap) < 0)
		return c->s->failed;
	v->list[v->count++] = *value;
	return 0;
}

/* Adds %file, with the meaning that -e gives it. */
static int check_match_add_set(struct query_checker *c, struct match_values *v,
			       const struct node *n, const struct query_kind *k)
{
	struct select s = {0};
	struct error err = {0};
	char text[64];

	if (k->type != QUERY_CODE || strcmp(k->vocab, "op"))
		return query_fail(c->s, n->pos, n->len, "%.*s is a set of calls: op in %.*s",
				  (int)n->text.len, (const char *)n->text.data, (int)n->text.len,
				  (const char *)n->text.data);
	snprintf(text, sizeof(text), "%.*s", (int)n->text.len, (const char *)n->text.data);
	if (select_ops(&s, text, &err) < 0)
		return query_fail(c->s, n->pos, n->len, "%s", err.message);
	for (uint32_t code = 0; !c->s->failed && code < OP_CODE_CALLS; code++) {
		if (op_def(code) && select_op(&s, code))
			add_value(c, v, &(struct value){.i = code});
	}
	select_free(&s);
	return c->s->failed;
}

static int by_int(const void *a, const void *b)
{
	return ORDER(((const struct value *)a)->i, ((const struct value *)b)->i);
}

static int by_uint(const void *a, const void *b)
{
	return ORDER((uint64_t)((const struct value *)a)->i,
		     (uint64_t)((const struct value *)b)->i);
}

static int by_float(const void *a, const void *b)
{
	return ORDER(((const struct value *)a)->f, ((const struct value *)b)->f);
}

static int check_match_by_text(const void *a, const void *b)
{
	return bytes_compare(((const struct value *)a)->t, ((const struct value *)b)->t);
}

/* Sorts the values and removes duplicates. */
static void sort_values(struct match_values *v, struct query_kind k)
{
	int (*compare)(const void *, const void *) = k.type == QUERY_TEXT    ? check_match_by_text
						     : k.type == QUERY_FLOAT ? by_float
						     : k.type == QUERY_UINT  ? by_uint
									     : by_int;
	size_t n = 0;

	assert(v->count <= v->cap);
	if (!v->count)
		return;
	qsort(v->list, v->count, sizeof(*v->list), compare);
	for (size_t i = 1; i < v->count; i++) {
		if (compare(&v->list[n], &v->list[i]))
			v->list[++n] = v->list[i];
	}
	assert(n < v->count);
	v->count = n + 1;
}

/* Checks an element of a list: a constant of the left operand's kind. */
static struct expr *element(struct query_checker *c, struct node *n, const struct node *in,
			    const struct expr *what)
{
	struct expr *e;

	if (n->kind == NODE_NAME && what->type.type == QUERY_TEXT && !name_resolves(c, n))
		return query_fail_at(c->s, n, "text must be quoted: \"%.*s\"",
				     (int)MIN(n->text.len, (size_t)64), (const char *)n->text.data);
	e = check_expr(c, n, &what->type);
	if (!e)
		return NULL;
	if (e->type.type == QUERY_NULL)
		return query_fail_at(c->s, n,
				     "null never matches in a list; write ... || %.*s is null",
				     (int)MIN(in->first->len, 40u), c->s->text + in->first->pos);
	if (!is_const(e))
		return query_fail_at(c->s, n,
				     "a list may contain only constants; write x == a || x == b");
	if (e->type.type == QUERY_INT && what->type.type == QUERY_FLOAT)
		e->value.f = (double)e->value.i;
	else if (!kinds_agree(what->type, e->type) || e->type.type == QUERY_FLOAT) {
		if (e->type.type != what->type.type)
			return check_disagree(c, n, what, e);
	}
	return e;
}

static struct expr *make_range(struct query_checker *c, const struct node *n, struct expr *what,
			       struct node *from, struct node *to)
{
	struct expr *e, *a = check_expr(c, from, &what->type), *b;

	assert(what && from && to);
	b = a ? check_expr(c, to, &what->type) : NULL;
	if (!b)
		return NULL;
	if (!kinds_agree(what->type, a->type))
		return check_disagree(c, n, what, a);
	if (!kinds_agree(what->type, b->type))
		return check_disagree(c, n, what, b);
	if (!kind_has_order(what->type))
		return query_fail_at(c->s, n,
				     "%s has no order and therefore no ranges; write in (a, b)",
				     query_kind_text(what->type));
	if (is_const(a) && is_const(b) && query_kind_is_int(a->type) &&
	    a->type.type == b->type.type &&
	    (a->type.type == QUERY_UINT ? (uint64_t)a->value.i > (uint64_t)b->value.i
					: a->value.i > b->value.i)) {
		query_fail(c->s, from->pos, to->pos + to->len - from->pos,
			   "this range is empty: its first value is above its second");
		return NULL;
	}
	e = expr_make_binary(c->s, EXPR_RANGE, query_kind_of(QUERY_BOOL), n, what, a);
	if (e)
		e->arg[e->arg_count++] = b;
	return e;
}

/* Checks the left operand; files and threads are matched by their names. */
static struct expr *subject(struct query_checker *c, struct node *n, bool text)
{
	struct expr *e = check_expr(c, n, NULL);

	if (e && e->type.type == QUERY_ENTITY && text)
		return expr_make_call(c->s, FUNCTION_TEXT, query_kind_of(QUERY_TEXT), n, e, NULL);
	return e;
}

struct expr *check_in(struct query_checker *c, struct node *n)
{
	struct expr *what = subject(c, n->first, true), *e, **any;
	struct match_values v = {0};
	size_t count = 0;

	assert(n->count >= 2);
	any = what ? query_array(c->s, n->count, struct expr *) : NULL;
	if (!any)
		return NULL;
	if (what->type.type == QUERY_BOOL || what->type.type == QUERY_NULL ||
	    !kinds_agree(what->type, what->type))
		return query_fail_at(c->s, n->first, "%s cannot be compared with a list",
				     query_kind_text(what->type));
	for (struct node *a = n->first->next; a; a = a->next) {
		if (a->kind == NODE_DOTS) {
			any[count] = make_range(c, n, what, a->first, a->first->next);
			if (!any[count++])
				return NULL;
		} else if (a->kind == NODE_SET) {
			if (check_match_add_set(c, &v, a, &what->type) < 0)
				return NULL;
		} else {
			e = element(c, a, n, what);
			if (!e || add_value(c, &v, &e->value) < 0)
				return NULL;
		}
	}
	if (v.count) {
		e = expr_make_unary(c->s, EXPR_IN, query_kind_of(QUERY_BOOL), n, what);
		if (!e)
			return NULL;
		sort_values(&v, what->type);
		e->list = v.list;
		e->count = v.count;
		any[count++] = e;
	}
	assert(count > 0 && count <= n->count);
	return expr_make_logic(c->s, EXPR_OR, any, count);
}

struct expr *check_range(struct query_checker *c, struct node *n)
{
	struct node *from = n->first->next;
	bool text = from->kind == NODE_STRING;
	struct expr *what = subject(c, n->first, text);

	return what ? make_range(c, n, what, from, from->next) : NULL;
}

/* ---- patterns ---- */

static const char *pattern_name(enum node_kind kind)
{
	return kind == NODE_GLOB   ? "a glob"
	       : kind == NODE_LIKE ? "a pattern of like"
				   : "a regular expression";
}

static int check_pattern(struct query_checker *c, const struct node *n, enum node_kind kind)
{
	if (n->kind == NODE_NAME)
		return query_fail(c->s, n->pos, n->len, "%s is a quoted text: \"%.*s\"",
				  pattern_name(kind), (int)MIN(n->text.len, (size_t)64),
				  (const char *)n->text.data);
	if (n->kind != NODE_STRING)
		return query_fail(c->s, n->pos, n->len, "%s is a quoted text: \"%s\"",
				  pattern_name(kind),
				  kind == NODE_GLOB   ? "*.log"
				  : kind == NODE_LIKE ? "%.log"
						      : "[.]log$");
	if (n->text.len > REGEX_LEN_MAX)
		return query_fail(c->s, n->pos, n->len, "%s has at most %d bytes",
				  pattern_name(kind), REGEX_LEN_MAX);
	/* globs are matched as C strings */
	if (kind == NODE_GLOB && memchr(n->text.data, '\0', n->text.len))
		return query_fail(c->s, n->pos, n->len, "a glob cannot contain \\x00");
	return 0;
}

/* Checks that PCRE accepts it; the evaluation compiles it again (pattern.c). */
static int check_regex(struct query_checker *c, const struct node *n)
{
	uint8_t message[160];
	pcre2_code *code;
	size_t at = 0;
	int why = 0;

	code = pcre2_compile(n->text.data, n->text.len, PCRE2_NEVER_UTF, &why, &at, NULL);
	if (code) {
		pcre2_code_free(code);
		return 0;
	}
	if (why == PCRE2_ERROR_NOMEMORY)
		return query_fail_memory(c->s);
	pcre2_get_error_message(why, message, sizeof(message));
	/* a position within the quotes; preceding escapes shift it a little */
	return query_fail(c->s, n->pos + MIN(at + 1, (size_t)n->len - 1), 1,
			  "the regular expression: %s", (char *)message);
}

/* True for the name of a file, or its folder, which begins with "/". */
static bool match_is_path(const struct node *subject, const struct expr *what)
{
	static const char *const columns[] = {"path", "exe"}; /* of the tables file and process */

	while (what->kind == EXPR_CALL &&
	       (what->function == FUNCTION_DIR || what->function == FUNCTION_LOWER ||
		what->function == FUNCTION_TEXT))
		what = what->arg[0];
	if (what->kind == EXPR_NAME)
		return what->name == QNAME_PATH || what->name == QNAME_PATH2 ||
		       what->name == QNAME_HOSTPATH || what->name == QNAME_EXE ||
		       what->name == QNAME_FILE || what->name == QNAME_FILE2 ||
		       what->name == QNAME_CGROUP_PATH;
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++) {
		if (subject->kind == NODE_NAME && token_text_is(subject->text, columns[i]))
			return true;
	}
	return false;
}

/*
 * At the beginning of a pattern "*x/" matches a single folder, and paths begin with "/": -P takes it for any folder.
 * A socket's name may begin with "unix:".
 */
static int check_first_folder(struct query_checker *c, const struct node *subject,
			      const struct expr *what, const struct node *pattern)
{
	struct bytes t = pattern->text;
	const uint8_t *slash = t.len ? memchr(t.data, '/', t.len) : NULL;
	size_t first = slash ? (size_t)(slash - t.data) : 0;
	bool whole = first == 1;

	if (!first || t.data[0] != '*' || t.data[1] == '*' || memchr(t.data, ':', first) ||
	    !match_is_path(subject, what))
		return 0;
	return query_fail(c->s, pattern->pos, pattern->len,
			  "* does not match '/', and paths begin with /: write \"**%s%.*s\"",
			  whole ? "" : "/", (int)MIN(t.len - whole, (size_t)64),
			  (const char *)t.data + whole);
}

static struct expr *make_match(struct query_checker *c, const struct node *n, struct expr *what,
			       const struct node *pattern)
{
	static const enum expr_kind kinds[] = {
		[NODE_GLOB] = EXPR_GLOB, [NODE_REGEX] = EXPR_REGEX, [NODE_LIKE] = EXPR_LIKE};
	struct expr *e;
	char *copy;

	assert((size_t)n->kind < ARRAY_SIZE(kinds));
	if (check_pattern(c, pattern, n->kind) < 0 ||
	    (n->kind == NODE_GLOB && check_first_folder(c, n->first, what, pattern) < 0) ||
	    (n->kind == NODE_REGEX && check_regex(c, pattern) < 0))
		return NULL;
	e = expr_make_unary(c->s, kinds[n->kind], query_kind_of(QUERY_BOOL), n, what);
	copy = query_array(c->s, pattern->text.len + 1,
			   char); /* NUL-terminated, for glob_match() */
	if (!e || !copy)
		return NULL;
	memcpy(copy, pattern->text.data, pattern->text.len);
	e->pattern = (struct bytes){(const uint8_t *)copy, pattern->text.len};
	return e;
}

struct expr *check_match(struct query_checker *c, struct node *n)
{
	struct expr *what = check_expr(c, n->first, NULL), **any;
	size_t count = 0;

	assert(n->kind == NODE_GLOB || n->kind == NODE_REGEX || n->kind == NODE_LIKE);
	if (!what)
		return NULL;
	if (what->type.type != QUERY_TEXT && what->type.type != QUERY_CODE &&
	    what->type.type != QUERY_ENTITY)
		return query_fail_at(c->s, n->first, "%s is searched for in text, but this is %s",
				     pattern_name(n->kind), query_kind_text(what->type));
	any = query_array(c->s, n->count, struct expr *);
	if (!any)
		return NULL;
	for (struct node *a = n->first->next; a; a = a->next) {
		any[count] = make_match(c, n, what, a);
		if (!any[count++])
			return NULL;
	}
	return expr_make_logic(c->s, EXPR_OR, any, count);
}

/* ---- bits ---- */

static struct expr *has_bits(struct query_checker *c, const struct node *n, struct expr *what,
			     uint64_t bits)
{
	struct expr *e = expr_make_unary(c->s, EXPR_HAS, query_kind_of(QUERY_BOOL), n, what);

	assert(bits != 0);
	if (e)
		e->mask = e->bits = bits;
	return e;
}

/* bitand(what, mask) == bits: O_RDWR is one of several codes in the same bits. */
static struct expr *has_code(struct query_checker *c, const struct node *n, struct expr *what,
			     const struct bit_word *w)
{
	struct query_kind k = query_kind_of(QUERY_UINT);
	struct expr *mask = expr_make_int(c->s, k, n, (int64_t)w->mask);
	struct expr *masked = mask ? expr_make_call(c->s, FUNCTION_BITAND, k, n, what, mask) : NULL;
	struct expr *bits = masked ? expr_make_int(c->s, k, n, (int64_t)w->bits) : NULL;
	struct expr *e = bits ? expr_make_binary(c->s, EXPR_COMPARE, query_kind_of(QUERY_BOOL), n,
						 masked, bits)
			      : NULL;

	assert(w->mask && !(w->bits & ~w->mask));
	if (e)
		e->cmp = COMPARE_EQ;
	return e;
}

/* Restricts the test to some operations: in the flags of others the same bits have another meaning. */
static struct expr *only_ops(struct query_checker *c, struct node *n, const struct bit_word *w,
			     const struct expr *of, struct expr *e)
{
	struct node op = {.kind = NODE_NAME,
			  .pos = n->pos,
			  .len = n->len,
			  .text = {(const uint8_t *)"op", 2}};
	struct expr *both[2] = {NULL, e}, *what;

	if (!e || !w->ops)
		return e;
	assert(w->op_count > 0);
	if (!name_resolves(c, &op))
		return query_fail_at(
			c->s, n,
			"the meaning of bits depends on the operation, but op is not a field of "
			"the previous stage");
	what = check_name(c, &op);
	if (what && of->row)
		what->row = of->row;
	both[0] = what ? expr_make_unary(c->s, EXPR_IN, query_kind_of(QUERY_BOOL), n, what) : NULL;
	if (!both[0])
		return NULL;
	both[0]->list = w->ops;
	both[0]->count = w->op_count;
	return expr_make_logic(c->s, EXPR_AND, both, 2);
}

static struct expr *check_match_has_word(struct query_checker *c, struct node *n, struct expr *what,
					 struct bytes word)
{
	struct bit_word w;
	char near[96];

	if (!what->type.vocab)
		return query_fail_at(
			c->s, n,
			"only flags and status have names; write the bits as a number: has 0x40");
	if (!bit_word_find(c->s, what->type.vocab, word, &w)) {
		if (!c->s->failed)
			query_fail(c->s, n->pos, n->len, "'%.*s' is not a value of %s%s",
				   (int)MIN(word.len, (size_t)64), (const char *)word.data,
				   what->type.vocab, nearest_bit(what->type.vocab, word, near));
		return NULL;
	}
	if (!w.mask)
		return query_fail_at(c->s, n, "%.*s has no bits set; write %s == 0", (int)word.len,
				     (const char *)word.data, what->type.vocab);
	return only_ops(c, n, &w, what,
			w.mask == w.bits ? has_bits(c, n, what, w.bits) : has_code(c, n, what, &w));
}

/* "O_CREAT|O_EXCL" in one text, as strace prints it. */
static struct expr *check_match_has_words(struct query_checker *c, struct node *n,
					  struct expr *what)
{
	struct expr *all[64];
	size_t count = 0, from = 0;

	for (size_t i = 0; i <= n->text.len; i++) {
		if (i < n->text.len && n->text.data[i] != '|')
			continue;
		if (count == ARRAY_SIZE(all))
			return query_fail_at(c->s, n, "more names than bits");
		all[count] = check_match_has_word(c, n, what,
						  (struct bytes){n->text.data + from, i - from});
		if (!all[count++])
			return NULL;
		from = i + 1;
	}
	return expr_make_logic(c->s, EXPR_AND, all, count);
}

static struct expr *has_one(struct query_checker *c, struct node *n, struct expr *what)
{
	struct query_kind k = query_kind_of(QUERY_UINT);
	struct expr *e;

	if (n->kind == NODE_NAME)
		return check_match_has_word(c, n, what, n->text);
	if (n->kind == NODE_STRING)
		return check_match_has_words(c, n, what);
	e = check_expr(c, n, &k);
	if (!e)
		return NULL;
	if (!is_const(e) || (e->type.type != QUERY_UINT && e->type.type != QUERY_INT))
		return query_fail_at(c->s, n, "expected a name (O_DIRECT) or a number (0x40)");
	if (!e->value.i)
		return query_fail_at(c->s, n, "0 has no bits set; write %.*s == 0",
				     (int)MIN(what->len, 40u), c->s->text + what->pos);
	return has_bits(c, n, what, (uint64_t)e->value.i);
}

/* The column is null if no bit is set, so null is converted to 0: a call without bits is known to lack each of them. */
static struct expr *known_status(struct query_checker *c, const struct node *n, struct expr *what)
{
	struct expr *none;

	if (what->kind != EXPR_COLUMN || !what->type.vocab || strcmp(what->type.vocab, "status"))
		return what;
	none = expr_make_int(c->s, query_kind_of(QUERY_UINT), n, 0);
	return none ? expr_make_call(c->s, FUNCTION_COALESCE, what->type, n, what, none) : NULL;
}

struct expr *check_has(struct query_checker *c, struct node *n)
{
	struct expr *what = check_expr(c, n->first, NULL), **all;
	size_t count = 0;

	if (!what)
		return NULL;
	if (what->type.type == QUERY_TEXT || what->type.type == QUERY_ENTITY)
		return query_fail_at(
			c->s, n,
			"'has' tests bits; to search for part of a text write ~ \"*part*\"");
	if (what->type.type != QUERY_UINT && what->type.type != QUERY_INT)
		return query_fail_at(c->s, n->first, "'has' tests bits, but this is %s",
				     query_kind_text(what->type));
	what = known_status(c, n->first, what);
	all = query_array(c->s, n->count, struct expr *);
	if (!what || !all)
		return NULL;
	for (struct node *a = n->first->next; a; a = a->next) {
		all[count] = has_one(c, a, what);
		if (!all[count++])
			return NULL;
	}
	return expr_make_logic(c->s, EXPR_AND, all, count);
}
