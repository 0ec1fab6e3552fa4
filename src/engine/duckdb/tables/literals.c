// SPDX-License-Identifier: Apache-2.0
/*
 * literals.c: checks words that a statement compares with columns of a vocabulary. DuckDB treats a word that an ENUM
 * lacks as unequal, without an error: `op = 'raed'` would return no rows. The check works on tokens, not on a parsed
 * statement: it recognizes `column = 'word'`, `<>` and `IN (...)`, and does nothing if the statement uses the column's
 * name as an alias. `op::VARCHAR = '...'` is not checked.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "engine/duckdb/internal.h"
#include "engine/sql_text.h"
#include "schema/ops.h"
#include "schema/vocab.h"

#define WORD_MAX 64

/* Columns to check, with their vocabularies. */
static const char *const vocabularies[][2] = {
	{"op", "op"},	    {"err", "err"},	   {"class", "class"}, {"kind", "kind"},
	{"cause", "cause"}, {"file_type", "type"}, {"via", "via"},     {"origin", "origin"},
};

enum token_kind { TOKEN_END, TOKEN_WORD, TOKEN_STRING, TOKEN_OTHER };

struct token {
	enum token_kind kind;
	char text[WORD_MAX]; /* truncated; no vocabulary has longer words */
	size_t offset;	     /* in the statement */
};

static const char *skip_blank(const char *p)
{
	for (;;) {
		if (isspace((unsigned char)*p))
			p++;
		else if ((p[0] == '-' && p[1] == '-') || (p[0] == '/' && p[1] == '*'))
			p = sql_skip_quoted(p) ?: p + strlen(p);
		else
			return p;
	}
}

/* Reads the token at *p and advances *p past it. */
static struct token next_token(const char *sql, const char **p)
{
	const char *s = skip_blank(*p), *from = s, *quoted = sql_skip_quoted(s);
	struct token t = {.kind = TOKEN_OTHER, .offset = (size_t)(s - sql)};
	size_t len;

	if (!*s) {
		t.kind = TOKEN_END;
	} else if (quoted != s) {
		size_t mark = *s == '$' ? 2 : 1;

		s = quoted ? quoted - mark : s + strlen(s);
		t.kind = *from == '"' ? TOKEN_WORD : TOKEN_STRING;
		from += mark;
	} else if (sql_is_word_char(*s)) {
		while (sql_is_word_char(*s))
			s++;
		t.kind = TOKEN_WORD;
	} else {
		/* the two-character operators that matter here; others are read one character at a time */
		s += !strncmp(s, "<>", 2) || !strncmp(s, "!=", 2) || !strncmp(s, "==", 2) ||
				     !strncmp(s, "::", 2)
			     ? 2
			     : 1;
	}
	len = (size_t)(s - from);
	snprintf(t.text, sizeof(t.text), "%.*s", (int)MIN(len, sizeof(t.text) - 1), from);
	*p = quoted && quoted > s ? quoted : s;
	return t;
}

static const char *vocabulary_of(const struct token *t)
{
	for (size_t i = 0; t->kind == TOKEN_WORD && i < ARRAY_SIZE(vocabularies); i++) {
		if (!strcasecmp(vocabularies[i][0], t->text))
			return vocabularies[i][1];
	}
	return NULL;
}

/* True if the statement defines the name as an alias: `... AS name`. */
static bool is_alias(const char *sql, const char *name)
{
	struct token t = {0}, before;
	const char *p = sql;

	do {
		before = t;
		t = next_token(sql, &p);
		if (t.kind == TOKEN_WORD && before.kind == TOKEN_WORD &&
		    !strcasecmp(before.text, "as") && !strcasecmp(t.text, name))
			return true;
	} while (t.kind != TOKEN_END);
	return false;
}

/* True for the prefix and one or more of these digits. */
static bool is_numbered(const char *word, const char *prefix, const char *digits)
{
	size_t len = strlen(prefix);

	return !strncmp(word, prefix, len) && word[len] && !word[len + strspn(word + len, digits)];
}

/* A code without a word has its number: `syscall_0x1f`, `err_134`. */
static bool literals_is_known(const char *vocabulary, const char *word)
{
	char prefix[WORD_MAX];

	if (!strcmp(vocabulary, "op"))
		return op_find(word) >= 0 || is_numbered(word, "syscall_0x", "0123456789abcdef");
	snprintf(prefix, sizeof(prefix), "%s_", vocabulary);
	return vocab_code(vocabulary, word) >= 0 || is_numbered(word, prefix, "0123456789");
}

static int literals_unknown_word(const char *sql, const char *vocabulary,
				 const struct token *column, const struct token *word,
				 struct error *err)
{
	struct nearest n = {.word = word->text};
	char text[64], hint[128] = "";

	if (!strcmp(vocabulary, "op")) {
		for (uint32_t code = 0; code < op_code_end(); code++) {
			if (op_def(code))
				nearest_offer(&n, op_name(code, text));
		}
	} else {
		for (size_t i = 0; vocab_at(vocabulary, i) >= 0; i++)
			nearest_offer(&n, vocab_word(vocabulary, vocab_at(vocabulary, i)));
	}
	if (n.best)
		snprintf(hint, sizeof(hint), "; nearest: %s", n.best);
	message_place(sql, word->offset, text, sizeof(text));
	return error_set(
		err, -EINVAL,
		"'%s' is not a value of %s%s%s; to compare with any text write %s::VARCHAR",
		word->text, column->text, text, hint, column->text);
}

static bool is_comparison(const struct token *t)
{
	return t->kind == TOKEN_OTHER && (!strcmp(t->text, "=") || !strcmp(t->text, "==") ||
					  !strcmp(t->text, "<>") || !strcmp(t->text, "!="));
}

/* Checks what follows a column, at `p`. */
static int check_column(const char *sql, const char *p, const char *vocabulary,
			const struct token *column, struct error *err)
{
	struct token t = next_token(sql, &p);

	if (is_comparison(&t)) {
		t = next_token(sql, &p);
		if (t.kind == TOKEN_STRING && !literals_is_known(vocabulary, t.text) &&
		    !is_alias(sql, column->text))
			return literals_unknown_word(sql, vocabulary, column, &t, err);
		return 0;
	}
	if (t.kind == TOKEN_WORD && !strcasecmp(t.text, "not"))
		t = next_token(sql, &p);
	if (t.kind != TOKEN_WORD || strcasecmp(t.text, "in"))
		return 0;
	for (t = next_token(sql, &p); t.kind != TOKEN_END && strcmp(t.text, ")");
	     t = next_token(sql, &p)) {
		if (t.kind == TOKEN_WORD)
			return 0; /* a subquery or a function */
		if (t.kind == TOKEN_STRING && !literals_is_known(vocabulary, t.text) &&
		    !is_alias(sql, column->text))
			return literals_unknown_word(sql, vocabulary, column, &t, err);
	}
	return 0;
}

int literals_check(const char *sql, struct error *err)
{
	const char *p = sql;
	struct token t;
	int r = 0;

	do {
		const char *vocabulary;

		t = next_token(sql, &p);
		vocabulary = vocabulary_of(&t);
		if (vocabulary)
			r = check_column(sql, p, vocabulary, &t, err);
	} while (r >= 0 && t.kind != TOKEN_END);
	return r;
}
