/* SPDX-License-Identifier: Apache-2.0 */
/* check_user.c: names from tables that users appended to a trace. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "query/internal.h"

/* Ignores case, as SQL does. */
static bool check_user_same_name(struct bytes a, const char *b)
{
	return strlen(b) == a.len && !strncasecmp((const char *)a.data, b, a.len);
}

const struct query_user_table *check_user_table(const struct query_source *s, struct bytes name)
{
	for (size_t i = 0; s->users && i < s->users->count; i++) {
		if (check_user_same_name(name, s->users->tables[i]->name))
			return s->users->tables[i];
	}
	return NULL;
}

static ssize_t find_column(const struct query_user_table *t, struct bytes name)
{
	for (size_t i = 0; i < t->column_count; i++) {
		if (check_user_same_name(name, t->columns[i].name))
			return (ssize_t)i;
	}
	return -1;
}

/* ---- keys ---- */

static struct expr *check_user_name_of(struct query_source *s, enum table_id table,
				       const char *name, const struct node *at)
{
	return check_schema_name(s, table, (struct bytes){(const uint8_t *)name, strlen(name)},
				 at->pos, at->len);
}

/* The expression for a column of this name over a row of the table; NULL: none. */
static struct expr *check_user_key_of(struct query_source *s, enum table_id table, const char *name,
				      const struct node *at)
{
	const char *own = schema_table(table)->name;
	struct expr *e = check_user_name_of(s, table, name, at);

	/* the file_id of a row of file is its id */
	if (!e && !strncmp(name, own, strlen(own)) && !strcmp(name + strlen(own), "_id"))
		e = check_user_name_of(s, table, "id", at);
	/* a call has its process through its thread */
	if (!e && !strcmp(name, "process_id")) {
		e = check_user_name_of(s, table, "process", at);
		if (e)
			e = expr_make_call(
				s, FUNCTION_ID,
				(struct query_kind){.type = QUERY_INT, .entity = TABLE_PROCESS}, at,
				e, NULL);
	}
	return e;
}

/* The key converted to the type of the column's values; NULL if that is impossible. */
static struct expr *fit_key(struct query_source *s, struct query_kind column, struct expr *e,
			    const struct node *at)
{
	if (column.type == QUERY_TEXT)
		return e->type.type == QUERY_TEXT ? e
		       : e->type.type == QUERY_CODE || e->type.type == QUERY_ENTITY
			       ? expr_make_call(s, FUNCTION_TEXT, query_kind_of(QUERY_TEXT), at, e,
						NULL)
			       : NULL;
	if (column.type == QUERY_BOOL || column.type == QUERY_FLOAT || e->type.type == QUERY_BOOL ||
	    e->type.type == QUERY_CODE || e->type.type == QUERY_ENTITY)
		return NULL;
	return query_kind_is_int(e->type) ? e : NULL;
}

/* The first column that rows of `table` also have; -1: none. */
static ssize_t find_key(struct query_source *s, const struct query_user_table *t,
			enum table_id table, const struct node *at, struct expr **ret)
{
	for (size_t i = 0; i < t->column_count && !s->failed; i++) {
		struct expr *e = check_user_key_of(s, table, t->columns[i].name, at);

		e = e ? fit_key(s, t->columns[i].type, e, at) : NULL;
		if (!e)
			continue;
		*ret = e;
		return (ssize_t)i;
	}
	return -1;
}

/* ---- columns ---- */

static int check_user_load_at(struct query_source *s, const struct query_user_table *t,
			      size_t column, bool key, const struct node *at)
{
	struct error err = {0};
	int r = s->look || !s->users->load ? 0 : s->users->load(s->users, t, column, key, &err);

	return r < 0 ? query_fail(s, at->pos, at->len, "%s", err.message) : 0;
}

int check_user_load(struct query_source *s, const struct query_user_table *t, size_t column,
		    bool key, const struct query_part *at)
{
	return check_user_load_at(s, t, column, key,
				  &(struct node){.pos = at->pos, .len = at->len});
}

static struct expr *check_user_make(struct query_source *s, const struct query_user_table *t,
				    size_t column, size_t key, struct expr *of,
				    const struct node *at)
{
	struct expr *e;

	assert(column < t->column_count && key < t->column_count);
	if (check_user_load_at(s, t, key, true, at) < 0 ||
	    check_user_load_at(s, t, column, false, at) < 0)
		return NULL;
	e = expr_make_unary(s, EXPR_USER, t->columns[column].type, at, of);
	if (!e)
		return NULL;
	e->user = t;
	e->user_column = column;
	e->user_key = key;
	return e;
}

static struct expr *no_key(struct query_source *s, const struct query_user_table *t,
			   enum table_id table, const struct node *at)
{
	return query_fail_at(
		s, at,
		"the table %s has no column that links it to rows of %s (file_id, thread_id, "
		"path, ...); it can be queried on its own: from %s",
		t->name, schema_table(table)->name, t->name);
}

/* ---- spans ---- */

/* The position of the span of a row; NULL: rows of the table belong to no span. */
static struct expr *check_span_place(struct query_source *s, enum table_id table,
				     const struct node *at)
{
	const struct query_user_spans *spans = s->users->spans;
	const struct query_user_table *by = table == TABLE_OP ? spans->of_call : spans->of_number;
	struct expr *key = check_user_name_of(s, table, table == TABLE_OP ? "row_id" : "number",
					      at),
		    *e;
	struct error err = {0};

	if (!key)
		return NULL;
	if (!s->look && spans->load(spans, table == TABLE_OP, &err) < 0)
		return query_fail_at(s, at, "%s", err.message);
	e = expr_make_unary(s, EXPR_USER, by->columns[1].type, at, key);
	if (e) {
		e->user = by;
		e->user_column = 1;
	}
	return e;
}

/* "span.name", "span.attributes.user" */
static struct expr *check_span_column(struct query_source *s, enum table_id table,
				      struct bytes name, const struct node *at)
{
	const struct query_user_spans *spans = s->users->spans;
	struct error err = {0};
	ssize_t column = spans->find(spans, name, s->look, &err);
	struct expr *place, *e;

	if (column < 0 && column != -ENOENT)
		query_fail(s, at->pos, at->len, "%s", err.message);
	if (column < 0)
		return NULL;
	place = check_span_place(s, table, at);
	e = place ? expr_make_unary(s, EXPR_USER, spans->span->columns[column].type, at, place)
		  : NULL;
	if (e) {
		e->user = spans->span;
		e->user_column = (size_t)column;
		e->user_key = EXPR_USER_PLACE;
	}
	return e;
}

/* "owner.team" */
static struct expr *qualified(struct query_source *s, enum table_id table, struct bytes name,
			      size_t dot, const struct node *at)
{
	struct bytes rest = {name.data + dot + 1, name.len - dot - 1};
	const struct query_user_table *t = check_user_table(s, (struct bytes){name.data, dot});
	ssize_t column = t ? find_column(t, rest) : -1, key;
	struct expr *of = NULL;

	if (column < 0)
		return NULL;
	key = find_key(s, t, table, at, &of);
	return key < 0 ? no_key(s, t, table, at)
		       : check_user_make(s, t, (size_t)column, (size_t)key, of, at);
}

struct expr *check_user_name(struct query_source *s, enum table_id table, struct bytes name,
			     uint32_t pos, uint32_t len)
{
	const struct node at = {.pos = pos, .len = len};
	const uint8_t *dot = s->users ? memchr(name.data, '.', name.len) : NULL;
	const struct query_user_table *found = NULL;
	struct expr *of = NULL, *one;
	ssize_t column = -1, key = -1;

	if (dot && s->users->spans &&
	    check_user_same_name((struct bytes){name.data, (size_t)(dot - name.data)}, "span"))
		return check_span_column(
			s, table, (struct bytes){dot + 1, name.len - (size_t)(dot + 1 - name.data)},
			&at);
	if (dot)
		return qualified(s, table, name, (size_t)(dot - name.data), &at);
	for (size_t i = 0; s->users && i < s->users->count && !s->failed; i++) {
		const struct query_user_table *t = s->users->tables[i];
		ssize_t c = find_column(t, name), k = c < 0 ? -1 : find_key(s, t, table, &at, &one);

		if (k < 0)
			continue;
		if (found) {
			query_fail(s, pos, len,
				   "several tables have a column %s; write %s.%s or %s.%s",
				   t->columns[c].name, found->name, t->columns[c].name, t->name,
				   t->columns[c].name);
			return NULL;
		}
		found = t;
		column = c;
		key = k;
		of = one;
	}
	return found && !s->failed ? check_user_make(s, found, (size_t)column, (size_t)key, of, &at)
				   : NULL;
}

/* ---- listing names ---- */

/* True if a column can be written as a name. */
static bool check_user_is_word(const char *name)
{
	struct query_error error = {0};
	struct query_source s = {.text = name, .len = strlen(name), .error = &error};
	struct query_token t;
	size_t pos = 0;

	if (!((*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') || *name == '_'))
		return false;
	lex_next(&s, &pos, &t);
	return t.kind == TOKEN_NAME && t.len == s.len && !memchr(name, '.', t.len) &&
	       !word_is_keyword(&t);
}

static void check_span_offer(struct query_source *s, enum table_id table,
			     void (*offer)(void *arg, const char *word), void *arg)
{
	const struct node at = {0};
	const struct query_user_spans *spans = s->users ? s->users->spans : NULL;

	if (!spans || !check_span_place(s, table, &at))
		return;
	for (size_t i = 0; i < spans->span->column_count; i++) {
		const char *name = spans->span->columns[i].name;
		size_t room = strlen(name) + sizeof("span.");
		char *both = query_array(s, room, char);

		if (!both)
			return;
		snprintf(both, room, "span.%s", name);
		offer(arg, both);
	}
}

void check_user_offer(struct query_source *s, enum table_id table,
		      void (*offer)(void *arg, const char *word), void *arg)
{
	struct query_error error = {0};
	struct query_source quiet = *s;

	quiet.error = &error;
	quiet.look = true;
	check_span_offer(&quiet, table, offer, arg);
	for (size_t i = 0; s->users && i < s->users->count; i++) {
		const struct query_user_table *t = s->users->tables[i];
		struct node at = {0};
		struct expr *of;

		if (find_key(&quiet, t, table, &at, &of) < 0)
			continue;
		for (size_t c = 0; c < t->column_count; c++) {
			const char *name = t->columns[c].name;
			struct bytes word = {(const uint8_t *)name, strlen(name)};
			size_t room = strlen(t->name) + strlen(name) + 2;
			char *both;

			if (!check_user_is_word(name))
				continue;
			quiet.failed = 0;
			if (!check_schema_name(&quiet, table, word, 0, 0) &&
			    check_user_name(&quiet, table, word, 0, 0)) {
				offer(arg, name);
				continue;
			}
			both = query_array(&quiet, room, char);
			if (!both)
				return;
			snprintf(both, room, "%s.%s", t->name, name);
			offer(arg, both);
		}
	}
}
