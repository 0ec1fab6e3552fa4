/* SPDX-License-Identifier: Apache-2.0 */
/*
 * query_complete.c: what may stand at a position in an unfinished query. The previous stages are parsed for the names
 * that they define; the last few tokens of the current stage determine what is expected.
 */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "query/internal.h"
#include "schema/ops.h"
#include "schema/vocab.h"
#include "schema/words.h"

#define TOKENS_MAX 512 /* tokens of the current stage to look at */

struct query_completion {
	struct query_source s;
	struct query_token tokens[TOKENS_MAX]; /* those of the current stage, before the word */
	size_t count;
	size_t stage;	/* start of the stage */
	size_t grouped; /* start of the previous stage, if that is `by` or `every`; else SIZE_MAX */
	bool first;	/* this is the first stage */
	bool in_string; /* the word is in an unfinished text */
	size_t start;	/* start of the word */
	struct bytes word;
	struct plan *before; /* the previous stages; NULL: none, or with errors */
	enum table_id table;
	void (*offer)(void *arg, const char *word);
	void *arg;
};

static void query_complete_offer(struct query_completion *c, const char *word)
{
	if (strlen(word) >= c->word.len &&
	    !strncasecmp(word, (const char *)c->word.data, c->word.len))
		c->offer(c->arg, word);
}

static void offer_all(struct query_completion *c, const char *const *words)
{
	for (; *words; words++)
		query_complete_offer(c, *words);
}

/* ---- the word's position ---- */

/* Splits the text before the position into stages and tokens; keeps the tokens of the last stage. */
static void query_complete_find_place(struct query_completion *c, size_t pos)
{
	size_t at = 0;
	struct query_token t;

	for (;;) {
		lex_next(&c->s, &at, &t);
		if (t.kind == TOKEN_END)
			break;
		if (t.kind == TOKEN_BAD) {
			char quote = c->s.text[t.pos];

			c->in_string = quote == '"' || quote == '\'';
			if (c->in_string)
				c->start = t.pos + 1;
			break;
		}
		/* "owner." also begins a name */
		if (t.kind == TOKEN_NAME && (t.pos + t.len == pos || (t.pos + t.len + 1 == pos &&
								      c->s.text[pos - 1] == '.'))) {
			c->start = t.pos;
			break;
		}
		if (t.kind == TOKEN_PIPE) {
			c->grouped = c->count && (token_is(&c->tokens[0], "by") ||
						  token_is(&c->tokens[0], "every"))
					     ? c->stage
					     : SIZE_MAX;
			c->stage = at;
			c->first = false;
			c->count = 0;
		} else if (c->count < TOKENS_MAX) {
			c->tokens[c->count++] = t;
		}
	}
	assert(c->start <= pos && c->stage <= pos && c->count <= TOKENS_MAX);
}

static const struct query_token *back(const struct query_completion *c, size_t n)
{
	static const struct query_token none = {.kind = TOKEN_END};

	return n < c->count ? &c->tokens[c->count - 1 - n] : &none;
}

static bool is_relation(const struct query_token *t)
{
	return t->kind == TOKEN_EQ || t->kind == TOKEN_NE || t->kind == TOKEN_GLOB ||
	       t->kind == TOKEN_NOT_GLOB || t->kind == TOKEN_REGEX || t->kind == TOKEN_NOT_REGEX ||
	       token_is(t, "like") || token_is(t, "has");
}

/* The name that a value at this position is compared with: `op ==`, `op in (read,`. */
static const struct query_token *compared(const struct query_completion *c, bool *ret_has)
{
	size_t n = 0, inside = 0;
	bool list = false;

	/* goes back to the bracket of the list */
	if (back(c, 0)->kind == TOKEN_COMMA || back(c, 0)->kind == TOKEN_OPEN) {
		for (; n < c->count && !list; n++) {
			inside += back(c, n)->kind == TOKEN_CLOSE;
			if (back(c, n)->kind == TOKEN_OPEN) {
				list = !inside;
				inside -= inside > 0;
			}
		}
		if (!list)
			return NULL;
	}
	*ret_has = token_is(back(c, n), "has");
	if (!is_relation(back(c, n)) && !(list && token_is(back(c, n), "in")))
		return NULL;
	n++;
	if (token_is(back(c, n), "not"))
		n++;
	return back(c, n)->kind == TOKEN_NAME ? back(c, n) : NULL;
}

/* True within the brackets of sum() and the like, whose argument refers to the rows being summed. */
static bool in_aggregate(const struct query_completion *c)
{
	enum query_aggregate kind;
	size_t closed = 0;
	double quantile;

	for (size_t n = 0; n < c->count; n++) {
		closed += back(c, n)->kind == TOKEN_CLOSE;
		if (back(c, n)->kind != TOKEN_OPEN)
			continue;
		if (!closed && back(c, n + 1)->kind == TOKEN_NAME &&
		    aggregate_find(back(c, n + 1)->text, &kind, &quantile))
			return true;
		closed -= closed > 0;
	}
	return false;
}

/* ---- names ---- */

/* True if the table's rows are in scope: nothing before groups or selects. */
static bool query_complete_is_open(const struct query_completion *c)
{
	if (c->before && (c->before->grouped || c->before->user))
		return false;
	if (!c->before || !c->before->stage_count)
		return true;
	for (size_t i = 0; i < c->before->stage_count; i++) {
		if (c->before->stages[i].kind == STAGE_SELECT ||
		    c->before->stages[i].kind == STAGE_GROUP)
			return false;
	}
	return true;
}

static struct query_kind kind_of_name(struct query_completion *c, const struct query_token *t)
{
	size_t count = 0;
	const struct plan_field *fields = c->before ? plan_output(c->before, &count) : NULL;
	struct expr *e;

	for (size_t i = 0; i < count; i++) {
		if (token_text_is(t->text, fields[i].name))
			return fields[i].type;
	}
	e = c->table == TABLE_COUNT ? NULL : check_table_name(&c->s, c->table, t->text, 0, 0);
	return e ? e->type : query_kind_of(QUERY_NULL);
}

static void offer_user(void *arg, const char *word)
{
	query_complete_offer(arg, word);
}

static void offer_names(struct query_completion *c)
{
	static const char *const names[] = {
#define N(NAME, name, id, type, more, doc) #name,
		QUERY_NAMES(N)
#undef N
	};
	const struct table_def *def;
	size_t count = 0;
	const struct plan_field *fields = c->before ? plan_output(c->before, &count) : NULL;

	if (!query_complete_is_open(c)) {
		for (size_t i = 0; i < count; i++) {
			if (!fields[i].hidden)
				query_complete_offer(c, fields[i].name);
		}
		return;
	}
	assert(c->table < TABLE_COUNT); /* rows of users' tables are never in scope */
	def = schema_table(c->table);
	for (unsigned int i = 0; i < def->column_count; i++)
		query_complete_offer(c, def->columns[i].name);
	if (def->dur != NO_COLUMN)
		query_complete_offer(c, "stop");
	if (c->table == TABLE_OP)
		query_complete_offer(c, "row_id");
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		struct bytes name = {(const uint8_t *)names[i], strlen(names[i])};
		struct expr *e = check_table_name(&c->s, c->table, name, 0, 0);

		if (e && e->kind == EXPR_NAME)
			query_complete_offer(c, names[i]);
	}
	check_user_offer(&c->s, c->table, offer_user, c);
}

/* Offers functions of a row, or aggregates. */
static void offer_calls(struct query_completion *c, bool aggregates)
{
	const struct query_call *call;

	for (size_t i = 0; (call = query_call(i)); i++) {
		bool no_argument = strstr(call->signature, "()");
		char word[NEAREST_WORD_MAX];

		if (call->aggregate != aggregates)
			continue;
		snprintf(word, sizeof(word), "%s(%s", call->name, no_argument ? ")" : "");
		query_complete_offer(c, word);
	}
}

/* ---- values ---- */

static void query_complete_offer_flags(struct query_completion *c)
{
	bool seen[WORDS_COUNT] = {false};

	for (uint32_t code = 0; code < op_code_end(); code++) {
		const struct op_def *def = op_def(code);

		for (unsigned int i = 0; def && i < def->arg_count; i++) {
			unsigned int words = def->args[i].words;
			const struct flag_set *set;

			if ((def->args[i].role != ARG_FLAGS && def->args[i].role != ARG_HOW) ||
			    words >= WORDS_COUNT || seen[words] || !words)
				continue;
			seen[words] = true;
			set = flag_set((enum word_set)words);
			for (size_t k = 0; set && k < set->code_count; k++)
				query_complete_offer(c, set->codes[k].name);
			for (size_t k = 0; set && k < set->bit_count; k++)
				query_complete_offer(c, set->bits[k].name);
		}
	}
}

/* True if the values of the name are known, or are left to the caller. */
static bool query_complete_offer_values(struct query_completion *c, const struct query_token *name,
					bool has, const char **ret_value_of)
{
	struct query_kind k = kind_of_name(c, name);
	uint64_t bit;

	assert(name->kind == TOKEN_NAME);
	if (k.type == QUERY_CODE) {
		for (size_t i = 0; vocab_at(k.vocab, i) >= 0; i++)
			query_complete_offer(c, vocab_word(k.vocab, vocab_at(k.vocab, i)));
		return true;
	}
	if (has && k.vocab && !strcmp(k.vocab, "flags")) {
		query_complete_offer_flags(c);
		return true;
	}
	if (has && k.vocab) {
		for (size_t i = 0; query_status_word(i, &bit); i++)
			query_complete_offer(c, query_status_word(i, &bit));
		return true;
	}
	if (k.type != QUERY_TEXT && k.type != QUERY_ENTITY)
		return false;
	/* names of a schema table are static; fields are freed with the plan */
	for (unsigned int i = 0;
	     c->table != TABLE_COUNT && i < schema_table(c->table)->column_count; i++) {
		if (token_text_is(name->text, schema_table(c->table)->columns[i].name))
			*ret_value_of = schema_table(c->table)->columns[i].name;
	}
#define N(NAME, n, id, type, more, doc)    \
	if (token_text_is(name->text, #n)) \
		*ret_value_of = #n;
	QUERY_NAMES(N)
#undef N
	return true;
}

/* ---- what is expected ---- */

static void offer_tables(struct query_completion *c, bool dimensions)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (!dimensions || schema_is_dimension((enum table_id)i))
			query_complete_offer(c, schema_table((enum table_id)i)->name);
	}
	for (size_t i = 0; c->s.users && i < c->s.users->count; i++)
		query_complete_offer(c, c->s.users->tables[i]->name);
}

static void offer_stage(struct query_completion *c)
{
	static const char *const stages[] = {"where", "by",	"every", "sort", "head",
					     "tail",  "select", "join",	 NULL};

	if (c->first)
		query_complete_offer(c, "from");
	offer_all(c, stages);
	offer_names(c);
	offer_calls(c, false);
	offer_calls(c, true);
}

/* Offers what may follow a complete operand. */
static void offer_operators(struct query_completion *c)
{
	static const char *const relations[] = {"and", "or",	  "in",	 "not", "like",
						"is",  "between", "has", NULL};
	const struct query_token *stage = &c->tokens[0];

	if (token_is(stage, "sort")) {
		query_complete_offer(c, "desc");
		query_complete_offer(c, "asc");
	}
	if (token_is(stage, "by") || token_is(stage, "select") || back(c, 0)->kind == TOKEN_CLOSE)
		query_complete_offer(c, "as");
	if (token_is(stage, "by") || back(c, 0)->kind == TOKEN_CLOSE)
		query_complete_offer(c, "every");
	if (back(c, 0)->kind == TOKEN_CLOSE && !token_is(stage, "by"))
		query_complete_offer(c, "by");
	if (token_is(back(c, 0), "is")) {
		query_complete_offer(c, "null");
		query_complete_offer(c, "not null");
	} else if (!token_is(stage, "by")) {
		offer_all(c, relations);
	}
}

/* True after a name, a value or a closing bracket. */
static bool behind_operand(const struct query_completion *c)
{
	const struct query_token *t = back(c, 0);

	if (t->kind == TOKEN_NAME)
		return (c->count > 1 || !(token_is(t, "where") || token_is(t, "by") ||
					  token_is(t, "select") || token_is(t, "sort"))) &&
		       (!word_is_keyword(t) || token_is(t, "is") || token_is(t, "desc"));
	return t->kind == TOKEN_NUMBER || t->kind == TOKEN_STRING || t->kind == TOKEN_CLOSE;
}

static void complete(struct query_completion *c, const char **ret_value_of)
{
	bool has = false;
	const struct query_token *name = compared(c, &has), *t = back(c, 0);

	if (name && query_complete_offer_values(c, name, has, ret_value_of))
		return;
	if (c->in_string)
		return;
	if (t->kind == TOKEN_NUMBER && t->pos + t->len == c->start)
		return; /* part of a number */
	if (!c->count)
		offer_stage(c);
	else if (token_is(t, "from"))
		offer_tables(c, false);
	else if (token_is(t, "join"))
		offer_tables(c, true);
	else if (token_is(t, "as") || token_is(t, "head") || token_is(t, "tail") ||
		 token_is(t, "every"))
		return;
	else if (behind_operand(c))
		offer_operators(c);
	else {
		offer_names(c);
		offer_calls(c, false);
		if (t->kind != TOKEN_OPEN && !in_aggregate(c) && !token_is(&c->tokens[0], "by") &&
		    !token_is(&c->tokens[0], "where") && !token_is(&c->tokens[0], "select"))
			offer_calls(c, true);
	}
}

/* Parses the stages before the current one, for the names that they define. Aggregates read the rows before `by`. */
static void parse_before(struct query_completion *c)
{
	struct query_error err;
	size_t len = c->grouped != SIZE_MAX && in_aggregate(c) ? c->grouped : c->stage;

	assert(!c->before && len <= c->start);

	while (len && c->s.text[len - 1] != '|')
		len--;
	c->table = TABLE_OP;
	if (!len)
		return;
	if (query_parse_users(c->s.text, len - 1, c->s.users, &c->before, &err) < 0)
		c->before = NULL;
	else
		c->table = c->before->table;
}

void query_complete(const char *text, size_t pos, const struct query_users *users,
		    void (*offer_word)(void *arg, const char *word), void *arg, size_t *ret_start,
		    const char **ret_value_of)
{
	struct query_error err = {0};
	struct arena *arena;
	struct query_completion *c = calloc(1, sizeof(*c));
	struct query_users names = users ? *users : (struct query_users){0};
	char *copy;

	names.load = NULL; /* nothing is evaluated */

	*ret_start = pos;
	*ret_value_of = NULL;
	if (!c || pos > QUERY_TEXT_MAX || arena_new(&arena) < 0) {
		free(c);
		return;
	}
	copy = arena_alloc(arena, pos + 4, 1);
	if (copy) {
		memcpy(copy, text, pos);
		c->s = (struct query_source){
			.text = copy, .len = pos, .arena = arena, .error = &err, .users = &names};
		c->offer = offer_word;
		c->arg = arg;
		c->first = true;
		c->grouped = SIZE_MAX;
		c->start = pos;
		query_complete_find_place(c, pos);
		c->word = (struct bytes){(const uint8_t *)copy + c->start, pos - c->start};
		parse_before(c);
		complete(c, ret_value_of);
		*ret_start = c->start;
	}
	plan_free(c->before);
	arena_delete(arena);
	free(c);
}
