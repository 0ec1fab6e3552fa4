/* SPDX-License-Identifier: Apache-2.0 */
/* check_name.c: resolves a name: a field of the previous stage, a column, or a name that depends on an id. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "query/internal.h"

#define LISTED_MAX 12 /* fields listed in an error */

static const struct name_def {
	const char *name, *id;
	enum query_type type;
	enum table_id entity;
	const char *vocab;
} names[] = {
#define N_TEXT(more)   .vocab = NULL
#define N_INT(more)    .vocab = NULL
#define N_UINT(more)   .vocab = NULL
#define N_CODE(more)   .vocab = more
#define N_ENTITY(more) .entity = more
#define N(NAME, n, i, t, more, doc) \
	[QNAME_##NAME] = {.name = #n, .id = i, .type = QUERY_##t, N_##t(more)},
	QUERY_NAMES(N)
#undef N
};

/* The column of a table that holds the id behind a name; in a dimension table's own rows it is the first. -1: none. */
static int id_column(enum table_id table, const char *id)
{
	if (table == TABLE_THREAD && !strcmp(id, "thread_id"))
		return THREAD_ID;
	if (table == TABLE_FILE && !strcmp(id, "file_id"))
		return FILE_ID;
	return schema_column_find(table, id);
}

struct query_kind query_column_kind(const struct table_def *t, unsigned int column)
{
	const struct column_def *def = &t->columns[column];
	struct query_kind k = {.type = QUERY_INT};

	assert(column < t->column_count);
	switch (def->type) {
	case COLUMN_INT:
		/* a position counts bytes */
		k.type = strcmp(def->unit, "bytes") ? QUERY_INT : QUERY_SIZE;
		break;
	case COLUMN_UINT:
		k.type = QUERY_UINT;
		if (t == schema_table(TABLE_OP) && (column == OP_FLAGS || column == OP_STATUS))
			k.vocab = def->name;
		break;
	case COLUMN_ID:
		k.entity = (enum table_id)MAX(schema_refers(t, column), (int)TABLE_OP);
		break;
	case COLUMN_TIME:
		k.type = QUERY_TIME;
		break;
	case COLUMN_DUR:
		k.type = QUERY_DUR;
		break;
	case COLUMN_SIZE:
		k.type = QUERY_SIZE;
		break;
	case COLUMN_CODE:
		k.type = QUERY_CODE;
		k.vocab = def->name;
		break;
	case COLUMN_BYTES:
		k.type = t == schema_table(TABLE_SUMMARY) && column == SUMMARY_HIST ? QUERY_HIST
										    : QUERY_TEXT;
		k.vocab = k.type == QUERY_HIST ? "ns" : NULL;
		break;
	case COLUMN_FLOAT:
		k.type = QUERY_FLOAT;
		break;
	case COLUMN_BOOL:
		k.type = QUERY_BOOL;
		break;
	case COLUMN_TEXT:
	case COLUMN_BLOB:
		k.type = QUERY_TEXT;
		break;
	case COLUMN_TYPES:
		break;
	}
	return k;
}

struct expr *check_schema_name(struct query_source *s, enum table_id table, struct bytes name,
			       uint32_t pos, uint32_t len)
{
	const struct table_def *def = schema_table(table);
	struct node at = {.pos = pos, .len = len};
	struct expr *e;

	for (unsigned int i = 0; i < def->column_count; i++) {
		if (!token_text_is(name, def->columns[i].name))
			continue;
		e = expr_make_expr(s, EXPR_COLUMN, query_column_kind(def, i), &at);
		if (e)
			e->column = i;
		return e;
	}
	if (def->dur != NO_COLUMN && token_text_is(name, "stop")) {
		e = expr_make_expr(s, EXPR_STOP, query_kind_of(QUERY_TIME), &at);
		if (e)
			e->table = table;
		return e;
	}
	if (table == TABLE_OP && token_text_is(name, "row_id"))
		return expr_make_expr(s, EXPR_ROW, query_kind_of(QUERY_INT), &at);
	for (unsigned int i = 0; i < QNAME_COUNT; i++) {
		int column =
			token_text_is(name, names[i].name) ? id_column(table, names[i].id) : -1;

		if (column < 0)
			continue;
		e = expr_make_expr(
			s, EXPR_NAME,
			(struct query_kind){names[i].type, names[i].vocab, names[i].entity}, &at);
		if (e) {
			e->column = (unsigned int)column;
			e->name = (enum query_name)i;
		}
		return e;
	}
	return NULL;
}

/* Finds the row that a name belongs to, and the part of the name after its prefix. NULL: row 0. */
static const struct query_row *row_of_name(const struct query_source *s, struct bytes name,
					   struct bytes *ret_rest)
{
	for (size_t i = 0; s->rows && i < s->rows->count; i++) {
		const struct query_row *row = &s->rows->all[i];
		size_t len = strlen(row->prefix);

		if (name.len <= len || memcmp(name.data, row->prefix, len) != 0)
			continue;
		*ret_rest = (struct bytes){name.data + len, name.len - len};
		return row;
	}
	return NULL;
}

struct expr *check_table_name(struct query_source *s, enum table_id table, struct bytes name,
			      uint32_t pos, uint32_t len)
{
	const char *own = schema_table(table)->name;
	struct bytes rest = name;
	const struct query_row *row = row_of_name(s, name, &rest);
	struct expr *e;

	if (row && row->why_not) {
		query_fail(s, pos, len, "%s", row->why_not);
		return NULL;
	}
	if (row) {
		e = check_schema_name(s, table, rest, pos, len);
		if (e)
			e->row = row->row;
		return e;
	}
	/* op.dur, as in SQL */
	if (name.len > strlen(own) && !memcmp(name.data, own, strlen(own)) &&
	    name.data[strlen(own)] == '.')
		rest = (struct bytes){name.data + strlen(own) + 1, name.len - strlen(own) - 1};
	e = check_schema_name(s, table, rest, pos, len);
	return e ? e : check_user_name(s, table, name, pos, len);
}

/* ---- fields ---- */

static struct expr *field_expr(struct query_checker *c, size_t i, const struct node *n)
{
	const struct plan_field *f = &c->scope.fields[i];
	struct expr *e;

	assert(i < c->scope.count && c->scope.kind != SCOPE_TABLE);
	if (c->scope.kind == SCOPE_PLACED)
		return f->expr;
	e = expr_make_expr(c->s, EXPR_FIELD, f->type, n);
	if (e)
		e->column = (unsigned int)i;
	return e;
}

/* The index of the field, or -1. Hidden fields of rows are their columns. */
static int field_find(const struct scope *s, struct bytes name)
{
	for (size_t i = 0; i < s->count; i++) {
		if ((!s->fields[i].hidden || s->open || s->see_hidden) &&
		    token_text_is(name, s->fields[i].name))
			return (int)i;
	}
	return -1;
}

/* `p99` if p99(x) is the only field of that function. -1: none, -2: several. */
static int field_by_function(const struct scope *s, struct bytes name)
{
	int found = -1;
	enum query_aggregate kind;
	double quantile;

	if (!aggregate_find(name, &kind, &quantile))
		return -1;
	for (size_t i = 0; i < s->count; i++) {
		const char *field = s->fields[i].name;

		if (s->fields[i].hidden || strncmp(field, (const char *)name.data, name.len) ||
		    field[name.len] != '(')
			continue;
		if (found >= 0)
			return -2;
		found = (int)i;
	}
	return found;
}

/* A name of the table's row that no earlier stage used is added as a hidden field. */
static struct expr *open_field(struct query_checker *c, const struct node *n)
{
	struct scope *s = &c->scope;
	struct expr *e = check_table_name(c->s, s->table, n->text, n->pos, n->len);
	char *name;

	assert(s->open && s->kind == SCOPE_FIELDS);
	if (!e)
		return NULL;
	if (s->count >= QUERY_FIELDS_MAX)
		return query_fail_at(c->s, n, "a stage has more than %d fields", QUERY_FIELDS_MAX);
	name = query_array(c->s, n->text.len + 1, char);
	if (!name)
		return NULL;
	memcpy(name, n->text.data, n->text.len);
	s->fields[s->count] = (struct plan_field){
		.name = name, .type = e->type, .kind = FIELD_EXPR, .expr = e, .hidden = true};
	return field_expr(c, s->count++, n);
}

bool name_resolves(const struct query_checker *c, const struct node *n)
{
	struct query_error error = {0};
	struct query_source quiet = *c->s;

	if (n->kind != NODE_NAME)
		return n->kind == NODE_CALL;
	if (c->scope.kind != SCOPE_TABLE &&
	    (field_find(&c->scope, n->text) >= 0 || field_by_function(&c->scope, n->text) >= 0))
		return true;
	if (c->scope.kind != SCOPE_TABLE && !c->scope.open)
		return false;
	quiet.error = &error;
	quiet.look = true;
	return check_table_name(&quiet, c->scope.table, n->text, n->pos, n->len);
}

struct expr *check_name(struct query_checker *c, struct node *n)
{
	struct expr *e = NULL;
	int i;

	if (c->scope.kind == SCOPE_TABLE) {
		e = check_table_name(c->s, c->scope.table, n->text, n->pos, n->len);
	} else {
		i = field_find(&c->scope, n->text);
		if (i < 0)
			i = field_by_function(&c->scope, n->text);
		if (i == -2)
			return query_fail_at(c->s, n,
					     "several fields are %.*s(...); specify which one",
					     (int)n->text.len, (const char *)n->text.data);
		e = i >= 0 ? field_expr(c, (size_t)i, n) : c->scope.open ? open_field(c, n) : NULL;
	}
	if (!e)
		check_unknown_name(c, n);
	return e;
}

struct expr *check_aggregate_name(struct query_checker *c, struct node *n)
{
	const char *name = node_name(c->s, n);
	struct bytes bytes;
	int i;

	if (!name)
		return NULL;
	bytes = (struct bytes){(const uint8_t *)name, strlen(name)};
	i = c->scope.kind == SCOPE_FIELDS ? field_find(&c->scope, bytes) : -1;
	if (i < 0 && c->scope.kind == SCOPE_FIELDS && !n->count)
		i = field_find(&c->scope, n->text); /* the field of count() is named "count" */
	if (i >= 0)
		return field_expr(c, (size_t)i, n);
	if (c->scope.kind != SCOPE_FIELDS || c->scope.open)
		query_fail(c->s, n->pos, n->len,
			   "an aggregate applies to groups of rows, not to single rows; make it a "
			   "stage: by op | %s",
			   name);
	else
		query_fail(
			c->s, n->pos, n->len,
			"%s is not a field of the previous stage; add it to the aggregates there",
			name);
	return NULL;
}

/* ---- unknown ---- */

static void offer_word(void *near, const char *word)
{
	nearest_offer(near, word);
}

static void offer_table(struct query_source *s, struct nearest *near, enum table_id table)
{
	const struct table_def *def = schema_table(table);

	for (unsigned int i = 0; i < def->column_count; i++)
		nearest_offer(near, def->columns[i].name);
	for (unsigned int i = 0; i < QNAME_COUNT; i++) {
		if (id_column(table, names[i].id) >= 0)
			nearest_offer(near, names[i].name);
	}
	if (def->dur != NO_COLUMN)
		nearest_offer(near, "stop");
	if (table == TABLE_OP)
		nearest_offer(near, "row_id");
	check_user_offer(s, table, offer_word, near);
}

static void list_fields(const struct scope *s, struct buf *out)
{
	size_t shown = 0;

	for (size_t i = 0; i < s->count; i++) {
		if (s->fields[i].hidden)
			continue;
		if (shown == LISTED_MAX) {
			buf_printf(out, ", ...");
			break;
		}
		buf_printf(out, "%s%s", shown++ ? ", " : "", s->fields[i].name);
	}
}

/* Words of other tools, and weir's name for each. */
static const char *other_word(struct bytes word)
{
	static const struct {
		const char *theirs, *ours;
	} words[] = {
		{"latency", "dur"},
		{"duration", "dur"},
		{"elapsed", "dur"},
		{"syscall", "op"},
		{"operation", "op"},
		{"call", "op"},
		{"filename", "path"},
		{"filepath", "path"},
		{"command", "comm"},
		{"execname", "comm"},
		{"program", "comm or exe"},
		{"errno", "err"},
		{"error", "err"},
		{"errors", "err is not null"},
		{"failed", "err is not null"},
		{"failures", "err is not null"},
		{"offset", "pos"},
		{"length", "size"},
		{"device", "dev"},
		{"inode", "ino"},
		{"timestamp", "start or stop"},
		{"time", "start, stop or dur"},
		{"end", "stop"},
		{"retval", "ret"},
		{"user", "uid"},
		{"second", "every 1s"},
		{"minute", "every 1m"},
		{"args", "argv"},
		{"cmdline", "argv"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (token_text_is(word, words[i].theirs))
			return words[i].ours;
	}
	return NULL;
}

/* Reports a name from another tool, or an aggregate without its argument; 0: neither. */
static int known_elsewhere(struct query_checker *c, const struct node *n, bool table)
{
	enum query_aggregate kind;
	double quantile;
	const char *ours = table ? other_word(n->text) : NULL;

	if (ours)
		return query_fail(c->s, n->pos, n->len, "unknown name '%.*s'; use %s",
				  (int)n->text.len, (const char *)n->text.data, ours);
	if (table && aggregate_find(n->text, &kind, &quantile))
		return query_fail(c->s, n->pos, n->len, "%.*s of what? %.*s(dur), %.*s(bytes)",
				  (int)n->text.len, (const char *)n->text.data, (int)n->text.len,
				  (const char *)n->text.data, (int)n->text.len,
				  (const char *)n->text.data);
	return 0;
}

/* The column of table op of which this is a value: an operation or an errno. NULL: none. */
static const char *column_of_value(const struct query_checker *c, struct bytes word)
{
	if (c->scope.kind != SCOPE_TABLE || c->scope.table != TABLE_OP)
		return NULL;
	return check_code_find("op", word) >= 0	   ? "op"
	       : check_code_find("err", word) >= 0 ? "err"
						   : NULL;
}

/* A table that has a column of this name; NULL: none. */
static const char *table_with(const char *name)
{
	for (enum table_id t = 0; t < TABLE_COUNT; t++) {
		if (schema_column_find(t, name) >= 0)
			return schema_table(t)->name;
	}
	return NULL;
}

int check_unknown_name(struct query_checker *c, const struct node *n)
{
	char word[NEAREST_WORD_MAX + 2];
	struct nearest near = {.word = word};
	_cleanup_buf_ struct buf list = {0};
	bool table = c->scope.kind == SCOPE_TABLE || c->scope.open;

	if (c->s->failed)
		return c->s->failed;
	if (known_elsewhere(c, n, table) < 0)
		return c->s->failed;
	snprintf(word, sizeof(word), "%.*s", (int)MIN(n->text.len, sizeof(word)),
		 (const char *)n->text.data);
	if (column_of_value(c, n->text))
		return query_fail(c->s, n->pos, n->len,
				  "'%s' is a value of %s, not a name: write %s == %s", word,
				  column_of_value(c, n->text), column_of_value(c, n->text), word);
	if (table)
		offer_table(c->s, &near, c->scope.table);
	for (size_t i = 0; c->scope.kind != SCOPE_TABLE && i < c->scope.count; i++) {
		if (!c->scope.fields[i].hidden)
			nearest_offer(&near, c->scope.fields[i].name);
	}
	if (near.best)
		return query_fail(c->s, n->pos, n->len, "unknown name '%s'; did you mean %s?", word,
				  near.best);
	if (table && table_with(word))
		return query_fail(c->s, n->pos, n->len,
				  "unknown name '%s' in table %s; table %s has it: from %s", word,
				  schema_table(c->scope.table)->name, table_with(word),
				  table_with(word));
	if (table)
		return query_fail(c->s, n->pos, n->len,
				  "unknown name '%s' in table %s; text is written \"%s\"", word,
				  schema_table(c->scope.table)->name, word);
	list_fields(&c->scope, &list);
	return query_fail(c->s, n->pos, n->len,
			  "the previous stage has no field '%s'; its fields are: %s", word,
			  buf_str(&list));
}

/* ---- the names of fields ---- */

/* "sum( bytes )" becomes "sum(bytes)": blanks next to brackets are removed, others become one; texts are kept. */
const char *node_name(struct query_source *s, const struct node *n)
{
	const char *from = s->text + n->pos;
	char *to = query_array(s, n->len + 3, char), quote = 0;
	size_t len = 0;

	assert(n->pos + n->len <= s->len);
	if (!to)
		return NULL;
	if (n->kind == NODE_NAME || (n->kind == NODE_CALL && !n->count)) {
		memcpy(to, n->text.data, n->text.len);
		return to;
	}
	if (n->kind == NODE_CALL && from[0] != '(') {
		memcpy(to, n->text.data, n->text.len);
		len = n->text.len;
	}
	for (uint32_t i = (uint32_t)len; i < n->len; i++) {
		char c = from[i];

		if (quote) {
			quote = c == quote ? 0 : quote;
		} else if (isspace((unsigned char)c)) {
			char next = i + 1 < n->len ? from[i + 1] : ')';

			if (isspace((unsigned char)next) || strchr("),(", next) ||
			    (len && to[len - 1] == '('))
				continue;
			c = ' ';
		} else if (c == '"' || c == '\'') {
			quote = c;
		}
		to[len++] = c;
	}
	to[len] = '\0';
	return to;
}
