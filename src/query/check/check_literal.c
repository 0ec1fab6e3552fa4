/* SPDX-License-Identifier: Apache-2.0 */
/* check_literal.c: numbers, texts and words, interpreted by the type of the other operand. */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/when.h"
#include "query/internal.h"
#include "schema/ops.h"
#include "schema/vocab.h"

/* ---- numbers ---- */

static struct expr *make_float(struct query_checker *c, const struct node *n, double value)
{
	struct expr *e = expr_make_expr(c->s, EXPR_CONST, query_kind_of(QUERY_FLOAT), n);

	if (e)
		e->value.f = value;
	return e;
}

/* A bare whole number takes the unit of the other operand only if that is unambiguous: bytes, and 0 of anything. */
struct expr *check_bare(struct query_checker *c, const struct node *n, int64_t value,
			const struct query_kind *hint)
{
	enum query_type want = hint ? hint->type : QUERY_NULL;

	if (want == QUERY_FLOAT)
		return make_float(c, n, (double)value);
	if (want == QUERY_SIZE || (want == QUERY_UINT && value >= 0) ||
	    (want == QUERY_DUR && !value))
		return expr_make_int(c->s, query_kind_of(want), n, value);
	return expr_make_int(c->s, query_kind_of(QUERY_INT), n, value);
}

/* A number, preceded by a minus sign if `negative`. */
static struct expr *check_literal_number(struct query_checker *c, struct node *n,
					 const struct number *num, bool negative,
					 const struct query_kind *hint)
{
	int64_t value = num->i;

	/* the lexer makes no negative numbers: a uint exceeds INT64_MAX */
	assert(num->type == QUERY_UINT ? value < 0 : num->type == QUERY_FLOAT || value >= 0);
	if (num->type == QUERY_FLOAT)
		return make_float(c, n, negative ? -num->f : num->f);
	if (num->type == QUERY_UINT && !negative)
		return expr_make_int(c->s, query_kind_of(QUERY_UINT), n, value);
	/* INT64_MIN: its digits without the sign do not fit */
	if (num->type == QUERY_UINT && value != INT64_MIN)
		return query_fail_at(c->s, n, "the number exceeds 64 bits");
	if (negative && value != INT64_MIN)
		value = -value;
	if (num->type == QUERY_DUR || num->type == QUERY_SIZE)
		return expr_make_int(c->s, query_kind_of(num->type), n, value);
	return check_bare(c, n, value, hint);
}

struct expr *check_number(struct query_checker *c, struct node *n, const struct query_kind *hint)
{
	return check_literal_number(c, n, &n->number, false, hint);
}

struct expr *check_negative(struct query_checker *c, struct node *n, const struct query_kind *hint)
{
	struct node *a = n->first;
	struct expr *e;
	int64_t code;

	assert(n->count == 1);
	if (a->kind == NODE_NUMBER)
		return check_literal_number(c, n, &a->number, true, hint);
	/* ret == -ENOENT, as in C */
	if (a->kind == NODE_NAME && !name_resolves(c, a)) {
		code = check_code_find("err", a->text);
		if (code >= 0)
			return check_literal_number(
				c, n, &(struct number){.type = QUERY_INT, .i = code}, true, hint);
	}
	e = check_expr(c, a, hint);
	if (!e)
		return NULL;
	if (!kind_is_number(e->type) || e->type.type == QUERY_UINT)
		return query_fail_at(c->s, a, "'-' needs a number, but this is %s",
				     query_kind_text(e->type));
	if (is_const(e) && e->type.type != QUERY_FLOAT && e->value.i != INT64_MIN)
		return expr_make_int(c->s, e->type, n, -e->value.i);
	if (is_const(e) && e->type.type == QUERY_FLOAT)
		return make_float(c, n, -e->value.f);
	return expr_make_unary(c->s, EXPR_NEG, e->type, n, e);
}

/* ---- texts and words ---- */

int64_t check_code_find(const char *vocab, struct bytes word)
{
	char text[64];

	if (word.len >= sizeof(text))
		return -1;
	memcpy(text, word.data, word.len);
	text[word.len] = '\0';
	return strlen(text) == word.len ? vocab_code(vocab, text) : -1;
}

static int no_word(struct query_checker *c, const struct node *n, const char *vocab)
{
	char near[96];
	int len = (int)MIN(n->text.len, (size_t)64);

	return query_fail(c->s, n->pos, n->len, "unknown %s '%.*s'%s",
			  !strcmp(vocab, "err")	 ? "errno"
			  : !strcmp(vocab, "op") ? "operation"
						 : vocab,
			  len, (const char *)n->text.data, nearest_code(vocab, n->text, near));
}

/* Accepts libc's names of operations. */
static int64_t op_alias(struct bytes word)
{
	static const char *const aliases[][2] = {
		{"pread", "pread64"},		{"pwrite", "pwrite64"}, {"fstatat", "newfstatat"},
		{"fstatat64", "newfstatat"},	{"umount", "umount2"},	{"sendfile64", "sendfile"},
		{"posix_fadvise", "fadvise64"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(aliases); i++) {
		if (token_text_is(word, aliases[i][0]))
			return op_find(aliases[i][1]);
	}
	return -1;
}

static struct expr *word_const(struct query_checker *c, struct node *n,
			       const struct query_kind *hint)
{
	int64_t code = check_code_find(hint->vocab, n->text);

	assert(hint->type == QUERY_CODE && hint->vocab);
	if (code < 0 && !strcmp(hint->vocab, "op"))
		code = op_alias(n->text);
	return code < 0 ? NULL : expr_make_int(c->s, *hint, n, code);
}

/* A bare word compared with a code: a word of its vocabulary, else a name. */
struct expr *check_word(struct query_checker *c, struct node *n, const struct query_kind *hint)
{
	struct expr *e = word_const(c, n, hint);

	if (e || c->s->failed)
		return e;
	if (name_resolves(c, n))
		return check_name(c, n);
	no_word(c, n, hint->vocab);
	return NULL;
}

/* "[::ffff:10.0.0.1]:80" is recorded as the IPv4 address that it maps. NULL: no memory. */
static const struct bytes *plain_address(struct query_checker *c, struct bytes *t)
{
	static const char mapped[] = "[::ffff:";
	size_t begin = strlen(mapped), len;
	char host[INET_ADDRSTRLEN];
	const uint8_t *end;
	struct in_addr a;
	uint8_t *text;

	end = t->len > begin && !memcmp(t->data, mapped, begin) ? memchr(t->data, ']', t->len)
								: NULL;
	len = end ? (size_t)(end - t->data) - begin : 0;
	if (!len || len >= sizeof(host))
		return t;
	memcpy(host, t->data + begin, len);
	host[len] = '\0';
	if (inet_pton(AF_INET, host, &a) != 1)
		return t;
	text = query_array(c->s, t->len, uint8_t);
	if (!text)
		return NULL;
	memcpy(text, host, len);
	memcpy(text + len, end + 1, t->len - begin - len - 1);
	*t = (struct bytes){text, t->len - begin - 1};
	return t;
}

struct expr *check_string(struct query_checker *c, struct node *n, const struct query_kind *hint)
{
	struct expr *e;
	int64_t ns;

	if (hint && hint->type == QUERY_CODE) {
		e = word_const(c, n, hint);
		if (!e)
			no_word(c, n, hint->vocab);
		return e;
	}
	if (hint && hint->type == QUERY_TIME) {
		if (when_parse((const char *)n->text.data, n->text.len, NULL, &ns) == 0)
			return expr_make_int(c->s, *hint, n, ns);
		return query_fail_at(
			c->s, n,
			"not a point in time; write \"2026-11-21 14:00:03.5\" (local, or with Z or "
			"+01:00)");
	}
	e = expr_make_expr(c->s, EXPR_CONST, query_kind_of(QUERY_TEXT), n);
	if (!e)
		return NULL;
	e->value.t = n->text;
	return plain_address(c, &e->value.t) ? e : NULL;
}
