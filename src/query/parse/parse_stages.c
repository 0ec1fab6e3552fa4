/* SPDX-License-Identifier: Apache-2.0 */
/* parse_stages.c: the stages of a pipeline as written; plan_build.c combines them. */
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "query/internal.h"

#define HEAD_DEFAULT 10
#define STAGE_WORDS \
	"where, by, sort, head, tail, select, join, aggregates such as count(), or a condition"

/* ---- aggregates ---- */

bool node_is_aggregate(const struct node *n)
{
	enum query_aggregate kind;
	double quantile;

	return n->kind == NODE_CALL && aggregate_find(n->text, &kind, &quantile);
}

bool node_has_aggregate(const struct node *n)
{
	if (node_is_aggregate(n))
		return true;
	for (const struct node *a = n->first; a; a = a->next) {
		if (node_has_aggregate(a))
			return true;
	}
	return false;
}

/* `count` in place of count(): in a list of aggregates it can mean nothing else. */
static void parse_stages_call_count(struct node *n)
{
	if (n->kind == NODE_NAME &&
	    (token_text_is(n->text, "count") || token_text_is(n->text, "rate")))
		n->kind = NODE_CALL;
}

/* A condition on aggregates (count() > 10) filters their results and is not itself an aggregate. */
static bool is_condition(const struct node *n)
{
	return n->kind == NODE_AND || n->kind == NODE_OR || n->kind == NODE_NOT ||
	       (n->kind >= NODE_GLOB && n->kind <= NODE_RANGE) || n->kind == NODE_COMPARE;
}

/* ---- lists ---- */

static bool parse_as(struct parser *p, struct query_item *item)
{
	if (!parser_accept_word(p, "as"))
		return true;
	if ((p->now.kind != TOKEN_NAME && p->now.kind != TOKEN_STRING) || !p->now.text.len) {
		parser_expected(p, "a name");
		return false;
	}
	if (word_is_keyword(&p->now) || memchr(p->now.text.data, '\0', p->now.text.len)) {
		query_fail(p->s, p->now.pos, p->now.len,
			   "'%.*s' is a reserved word; choose another name",
			   (int)MIN(p->now.text.len, (size_t)40), (const char *)p->now.text.data);
		return false;
	}
	item->name = p->now.text;
	item->name_pos = p->now.pos;
	parser_take(p);
	return true;
}

static bool parse_direction(struct parser *p, struct query_item *item)
{
	if (parser_accept_word(p, "desc") || parser_accept_word(p, "descending"))
		item->desc = true;
	else if (!parser_accept_word(p, "asc"))
		parser_accept_word(p, "ascending");
	return true;
}

/* expr [more], expr [more], ... */
static struct query_item *parse_items(struct parser *p,
				      bool (*more)(struct parser *, struct query_item *))
{
	struct query_item *first = NULL, **next = &first;

	do {
		struct query_item *item = query_make(p->s, struct query_item);

		if (!item)
			return NULL;
		/* select *: everything */
		if (p->now.kind == TOKEN_STAR && more == parse_as)
			parser_take(p);
		else
			item->expr = query_parse_node(p);
		if (p->s->failed || !more(p, item))
			return NULL;
		*next = item;
		next = &item->next;
		if (!parser_accept(p, TOKEN_COMMA))
			return first;
	} while (!token_is(&p->now, "every"));
	return query_fail_at(p->s, &p->now, "no comma before every: by file every 1s");
}

/* ---- stages ---- */

static struct query_part *parse_stages_make_part(struct parser *p, enum query_part_kind kind,
						 uint32_t pos)
{
	struct query_part *part = query_make(p->s, struct query_part);

	if (part) {
		part->kind = kind;
		part->pos = pos;
		part->len = p->end - pos;
	}
	return part;
}

static int parse_every(struct parser *p, struct query_part *by)
{
	uint32_t pos = p->now.pos;

	if (!parser_accept_word(p, "every"))
		return 0;
	if (p->now.kind != TOKEN_NUMBER)
		return parser_expected(p, "a duration (every 100ms)");
	if (p->now.number.type != QUERY_DUR)
		return query_fail(p->s, p->now.pos, p->now.len,
				  "a window is a duration: every %.*sms, every %.*ss",
				  (int)p->now.len, p->s->text + p->now.pos, (int)p->now.len,
				  p->s->text + p->now.pos);
	if (p->now.number.i <= 0)
		return query_fail(p->s, p->now.pos, p->now.len, "a window must be longer than 0");
	by->number = p->now.number.i;
	parser_take(p);
	by->len = p->end - pos;
	assert(by->number > 0);
	return 0;
}

/* by a, b every 100ms | every 100ms */
static struct query_part *parse_by(struct parser *p)
{
	struct query_part *by = parse_stages_make_part(p, PART_BY, p->now.pos);

	assert(token_is(&p->now, "by") || token_is(&p->now, "every"));
	if (!by)
		return NULL;
	if (parser_accept_word(p, "by") && !token_is(&p->now, "every")) {
		by->items = parse_items(p, parse_as);
		if (!by->items)
			return NULL;
	}
	if (parse_every(p, by) < 0)
		return NULL;
	by->len = p->end - by->pos;
	return by;
}

static struct query_part *parse_sort(struct parser *p)
{
	struct query_part *part = parse_stages_make_part(p, PART_SORT, p->now.pos);

	parser_take(p);
	parser_accept_word(p, "by"); /* `by` after `every` is accepted */
	if (!part)
		return NULL;
	part->items = parse_items(p, parse_direction);
	return part->items ? part : NULL;
}

static struct query_part *parse_head(struct parser *p, enum query_part_kind kind)
{
	struct query_part *part = parse_stages_make_part(p, kind, p->now.pos);

	assert(kind == PART_HEAD || kind == PART_TAIL);
	parser_take(p);
	if (!part)
		return NULL;
	part->number = HEAD_DEFAULT;
	if (p->now.kind == TOKEN_PIPE || p->now.kind == TOKEN_END)
		return part;
	if (p->now.kind != TOKEN_NUMBER || p->now.number.type != QUERY_INT)
		return parser_missing(p, "a whole number of rows");
	part->number = p->now.number.i;
	assert(part->number >= 0); /* a sign is a separate token */
	parser_take(p);
	return part;
}

static struct query_part *parse_select(struct parser *p)
{
	struct query_part *part = parse_stages_make_part(p, PART_SELECT, p->now.pos);

	parser_take(p);
	if (!part)
		return NULL;
	part->items = parse_items(p, parse_as);
	return part->items ? part : NULL;
}

static struct query_part *parse_join(struct parser *p)
{
	struct query_part *part = parse_stages_make_part(p, PART_JOIN, p->now.pos);

	parser_take(p);
	if (p->now.kind != TOKEN_NAME)
		return parser_missing(p, "a table (thread, process, cgroup, host, file)");
	if (!part)
		return NULL;
	part->table = p->now.text;
	part->pos = p->now.pos;
	parser_take(p);
	part->len = p->end - part->pos;
	if (parser_accept_word(p, "on"))
		part->expr = query_parse_node(p);
	return p->s->failed ? NULL : part;
}

static struct query_part *parse_where(struct parser *p)
{
	struct query_part *part = parse_stages_make_part(p, PART_WHERE, p->now.pos);

	parser_take(p);
	if (!part)
		return NULL;
	part->expr = query_parse_node(p);
	if (part->expr && p->now.kind == TOKEN_COMMA)
		return query_fail_at(p->s, &p->now,
				     "join conditions with && or ||, not with a comma");
	return part->expr ? part : NULL;
}

static const char *other_stage(const struct query_token *word)
{
	static const char *const words[][2] = {
		{"top", "sort count desc | head 5"},
		{"take", "head 5"},
		{"first", "head 5"},
		{"last", "tail 5"},
		{"fields", "select"},
		{"project", "select"},
		{"stats", "by op | count()"},
		{"having", "where"},
		{"search", "where"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (token_is(word, words[i][0]))
			return words[i][1];
	}
	return NULL;
}

static int no_stage(struct parser *p, const struct query_token *word)
{
	static const char *const words[] = {"where", "by",     "sort", "head",	"tail",
					    "limit", "select", "join", "every", "from"};
	char text[NEAREST_WORD_MAX + 8];
	struct nearest n = {.word = text};

	snprintf(text, sizeof(text), "%.*s", (int)MIN(word->len, NEAREST_WORD_MAX + 1u),
		 p->s->text + word->pos);
	if (other_stage(word))
		return query_fail(p->s, word->pos, word->len, "unknown stage '%s'; use: %s", text,
				  other_stage(word));
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		nearest_offer(&n, words[i]);
	return n.best ? query_fail(p->s, word->pos, word->len,
				   "unknown stage '%s'; did you mean %s?", text, n.best)
		      : 0;
}

/* A stage without a leading keyword: aggregates, or a condition alone. */
static struct query_part *parse_other(struct parser *p)
{
	struct query_part *part = parse_stages_make_part(p, PART_AGGREGATE, p->now.pos);
	struct query_token word = p->now;
	bool has = false;

	if (!part)
		return NULL;
	part->items = parse_items(p, parse_as);
	if (!part->items)
		return NULL;
	part->len = p->end - part->pos;
	for (struct query_item *i = part->items; i; i = i->next) {
		if (i->expr)
			parse_stages_call_count(i->expr);
		has |= i->expr && node_has_aggregate(i->expr) && !is_condition(i->expr);
	}
	if (has)
		return part;
	if (part->items->next || !part->items->expr)
		return query_fail_at(
			p->s, part,
			"a list is allowed after select, by or sort; did you mean aggregates: "
			"sum(x), max(x)?");
	part->kind = PART_WHERE;
	part->expr = part->items->expr;
	/* two words in a row: the first was meant as a stage */
	if (part->expr->kind == NODE_NAME && p->now.kind >= TOKEN_NAME &&
	    p->now.kind <= TOKEN_STRING && no_stage(p, &word) < 0)
		return NULL;
	return part;
}

static struct query_part *parse_part(struct parser *p)
{
	struct query_token *t = &p->now;
	/* `where (...)` and `head(...)` are not calls: only functions are */
	bool call = p->after.kind == TOKEN_OPEN && function_find(t->text) >= 0;

	if (t->kind != TOKEN_NAME || call)
		return t->kind == TOKEN_PIPE || t->kind == TOKEN_END
			       ? parser_missing(p, "a stage (" STAGE_WORDS ")")
			       : parse_other(p);
	if (token_is(t, "where") || token_is(t, "filter"))
		return parse_where(p);
	if (token_is(t, "by") || token_is(t, "every"))
		return parse_by(p);
	if (token_is(t, "sort") || (token_is(t, "order") && token_is(&p->after, "by")))
		return parse_sort(p);
	if (token_is(t, "head") || token_is(t, "limit"))
		return parse_head(p, PART_HEAD);
	if (token_is(t, "tail"))
		return parse_head(p, PART_TAIL);
	if (token_is(t, "select"))
		return parse_select(p);
	if (token_is(t, "join"))
		return parse_join(p);
	if (token_is(t, "from"))
		return query_fail_at(p->s, t, "'from' must come first, before every other stage");
	if (token_is(t, "group") && token_is(&p->after, "by")) {
		query_fail(p->s, t->pos, p->after.pos + p->after.len - t->pos,
			   "grouping is a separate stage: by op | count()");
		return NULL;
	}
	return parse_other(p);
}

static int parse_from(struct parser *p, struct query_pipeline *ret)
{
	struct nearest n;
	char word[72];
	int table;

	ret->table = TABLE_OP;
	ret->user = NULL;
	if (!token_is(&p->now, "from"))
		return 0;
	parser_take(p);
	if (p->now.kind != TOKEN_NAME)
		return parser_expected(p, "a table");
	snprintf(word, sizeof(word), "%.*s", (int)MIN(p->now.len, 70u), p->s->text + p->now.pos);
	table = schema_table_find(word);
	if (table >= 0) {
		ret->table = (enum table_id)table;
		parser_take(p);
		return 0;
	}
	ret->user = check_user_table(p->s, p->now.text);
	if (ret->user) {
		ret->table = TABLE_COUNT;
		parser_take(p);
		return 0;
	}
	n = (struct nearest){.word = word};
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		nearest_offer(&n, schema_table(i)->name);
	for (size_t i = 0; p->s->users && i < p->s->users->count; i++)
		nearest_offer(&n, p->s->users->tables[i]->name);
	if (n.best)
		return query_fail(p->s, p->now.pos, p->now.len,
				  "unknown table '%s'; did you mean %s?", word, n.best);
	return query_fail(p->s, p->now.pos, p->now.len,
			  "unknown table '%s'; tables are op, thread, process, cgroup, host, file, "
			  "summary, loss, mark%s",
			  word, p->s->users && p->s->users->count ? ", and your own" : "");
}

/* `count() by op`: keys after the aggregates, as in other languages; they are moved before them. */
static int parse_trailing_by(struct parser *p, struct query_part *part, struct query_part **last,
			     struct query_part ***next)
{
	struct query_part *by;

	assert(**next == part); /* the keys take its place */
	if (part->kind != PART_AGGREGATE ||
	    (!token_is(&p->now, "by") && !token_is(&p->now, "every")))
		return 0;
	by = parse_by(p);
	if (!by)
		return p->s->failed;
	if (*last && (*last)->kind == PART_BY)
		return query_fail(p->s, by->pos, by->len, "the keys are specified twice");
	by->next = part;
	**next = by;
	return 0;
}

/* Reports text after a stage that does not belong to it. */
static int no_end(struct parser *p, const struct query_part *last)
{
	static const char *const words[] = {"where", "sort", "head",  "tail",  "limit", "select",
					    "join",  "by",   "every", "order", "from",	"group"};

	assert(p->now.kind != TOKEN_END);
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (token_is(&p->now, words[i]))
			return query_fail(p->s, p->now.pos, p->now.len,
					  "expected '|' before '%s': stages are separated by '|'",
					  words[i]);
	}
	return parser_expected(p, last->kind == PART_WHERE ? "'|', && or ||"
				  : last->items		   ? "',' or '|' or the end"
							   : "'|' or the end");
}

int query_parse_parts(struct parser *p, struct query_pipeline *ret)
{
	struct query_part **next = &ret->parts, *last = NULL;
	bool from = token_is(&p->now, "from");
	int r = parse_from(p, ret);

	if (r < 0)
		return r;
	assert(ret->user ? ret->table == TABLE_COUNT : ret->table < TABLE_COUNT);
	if (p->now.kind == TOKEN_END) {
		if (!from)
			return query_fail(p->s, 0, 0,
					  "the query is empty; expected a stage (" STAGE_WORDS ")");
		return 0;
	}
	if (from && !parser_accept(p, TOKEN_PIPE) && !token_is(&p->now, "where"))
		return parser_expected(p, "'|'");
	do {
		struct query_part *part = parse_part(p);

		if (!part)
			return p->s->failed;
		part->len = p->end > part->pos ? p->end - part->pos : 0;
		*next = part;
		r = parse_trailing_by(p, part, &last, &next);
		if (r < 0)
			return r;
		last = part;
		next = &part->next;
	} while (parser_accept(p, TOKEN_PIPE));
	if (p->now.kind != TOKEN_END)
		return no_end(p, last);
	return p->s->failed;
}
