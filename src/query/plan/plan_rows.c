/* SPDX-License-Identifier: Apache-2.0 */
/* plan_rows.c: select, sort, head and join, over rows of the table or fields of a stage. */
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/nearest.h"
#include "query/plan/planner.h"

/* Fields of op shown if nothing is selected. */
static const char *const op_fields[] = {"start", "dur", "comm", "tid", "op",
					"file",	 "pos", "size", "ret", "err"};

/* ---- the source's fields ---- */

/* Adds the default fields, for a query that selects none. */
static void add_default(struct planner *pl, struct plan_field *fields, size_t *count)
{
	const struct table_def *def = schema_table(pl->plan->table);
	bool op = pl->plan->table == TABLE_OP;
	size_t all = op ? ARRAY_SIZE(op_fields) : def->column_count;

	static_assert(ARRAY_SIZE(op_fields) <= QUERY_FIELDS_MAX &&
			      SCHEMA_COLUMNS_MAX <= QUERY_FIELDS_MAX,
		      "planner_open() has room for all of them");
	for (size_t i = 0; i < all; i++) {
		const char *name = op ? op_fields[i] : def->columns[i].name;
		struct expr *e = check_table_name(pl->c.s, pl->plan->table, bytes_of(name), 0, 0);

		if (e)
			fields[(*count)++] = planner_made_field(name, e);
	}
}

/* True if a later stage lists its fields, before any are shown or joined. */
static bool fields_follow(const struct query_part *part)
{
	for (; part; part = part->next) {
		if (part->kind == PART_SELECT || part->kind == PART_AGGREGATE ||
		    part->kind == PART_BY)
			return true;
		if (part->kind == PART_JOIN)
			return false;
	}
	return false;
}

int planner_open(struct planner *pl)
{
	struct scope *scope = &pl->c.scope;
	struct plan_field *fields;
	size_t count = 0;

	if (pl->staged)
		return 0;
	assert(scope->kind != SCOPE_FIELDS);
	pl->staged = true;
	if (scope->kind == SCOPE_PLACED) {
		pl->plan->fields = scope->fields;
		pl->plan->field_count = scope->count;
		scope->kind = SCOPE_FIELDS;
		return 0;
	}
	fields = query_array(pl->c.s, QUERY_FIELDS_MAX, struct plan_field);
	if (!fields)
		return pl->c.s->failed;
	if (!fields_follow(pl->parts))
		add_default(pl, fields, &count);
	planner_set_scope(pl, fields, count);
	scope->open = true;
	pl->plan->fields = fields;
	pl->plan->field_count = count;
	return pl->c.s->failed;
}

/* The value of a column of a user's table, in its own rows. */
static struct expr *user_column(struct planner *pl, const struct query_user_table *t, size_t column)
{
	const struct node at = {0};
	struct expr *e = expr_make_expr(pl->c.s, EXPR_COLUMN, t->columns[column].type, &at);

	if (e)
		e->column = (unsigned int)column;
	return e;
}

int planner_user(struct planner *pl, const struct query_user_table *t)
{
	struct plan *p = pl->plan;

	assert(t->column_count && t->column_count <= QUERY_FIELDS_MAX && !pl->staged);
	p->fields = query_array(pl->c.s, t->column_count, struct plan_field);
	p->field_count = p->fields ? t->column_count : 0;
	p->user = t;
	for (size_t i = 0; i < p->field_count; i++) {
		struct expr *e = user_column(pl, t, i);

		if (e)
			p->fields[i] = planner_made_field(t->columns[i].name, e);
	}
	pl->staged = true;
	planner_set_scope(pl, p->fields, p->field_count);
	return pl->c.s->failed;
}

/* ---- select ---- */

static int plan_rows_too_many(struct planner *pl, const struct query_part *part)
{
	return query_fail(pl->c.s, part->pos, part->len, "a stage has more than %d fields",
			  QUERY_FIELDS_MAX);
}

/* select *: the fields unchanged, or the table's columns. */
static int select_all(struct planner *pl, const struct query_part *part, struct plan_field *fields,
		      size_t *count)
{
	const struct scope *scope = &pl->c.scope;
	bool table = scope->kind == SCOPE_TABLE || scope->open;
	const struct table_def *def = table ? schema_table(pl->plan->table) : NULL;
	size_t all = table ? def->column_count : scope->count;

	for (size_t i = 0; i < all; i++) {
		const char *name = table ? def->columns[i].name : scope->fields[i].name;
		struct node n = {.kind = NODE_NAME,
				 .pos = part->pos,
				 .len = part->len,
				 .text = bytes_of(name)};
		struct expr *e;

		if (!table && scope->fields[i].hidden)
			continue;
		if (*count == QUERY_FIELDS_MAX)
			return plan_rows_too_many(pl, part);
		e = table			  ? check_name(&pl->c, &n)
		    : scope->kind == SCOPE_PLACED ? scope->fields[i].expr
						  : planner_field(pl, i);
		if (!e)
			return pl->c.s->failed;
		fields[(*count)++] = planner_made_field(name, e);
	}
	return 0;
}

static int select_item(struct planner *pl, const struct query_part *part,
		       const struct query_item *item, struct plan_field *fields, size_t *count)
{
	struct expr *e;
	const char *name;

	if (!item->expr)
		return select_all(pl, part, fields, count);
	if (*count == QUERY_FIELDS_MAX)
		return plan_rows_too_many(pl, part);
	e = check_expr(&pl->c, item->expr, NULL);
	if (!e || check_limits(pl->c.s, e) < 0)
		return pl->c.s->failed;
	name = planner_item_name(pl, item);
	if (!name || planner_check_name(pl, fields, *count, item, name) < 0)
		return pl->c.s->failed;
	fields[(*count)++] = planner_made_field(name, e);
	return 0;
}

static size_t plan_rows_fields_needed(struct planner *pl, const struct query_part *part)
{
	size_t columns = pl->plan->user ? 0 : schema_table(pl->plan->table)->column_count;
	size_t all = MAX(pl->c.scope.count, columns);
	size_t count = 0;

	for (const struct query_item *i = part->items; i && count < QUERY_FIELDS_MAX; i = i->next)
		count += i->expr ? 1 : all;
	return MIN(count, (size_t)QUERY_FIELDS_MAX);
}

int planner_select(struct planner *pl, const struct query_part *part)
{
	struct plan_field *fields =
		query_array(pl->c.s, plan_rows_fields_needed(pl, part), struct plan_field);
	size_t count = 0;

	assert(part->kind == PART_SELECT);
	for (const struct query_item *i = part->items; i && !pl->c.s->failed; i = i->next)
		select_item(pl, part, i, fields, &count);
	if (pl->c.s->failed)
		return pl->c.s->failed;
	if (!pl->staged) {
		planner_set_scope(pl, fields, count);
		pl->c.scope.kind = SCOPE_PLACED;
		return 0;
	}
	planner_add_fields(pl, STAGE_SELECT, part->pos, fields, count);
	pl->keys = 0;
	return pl->c.s->failed;
}

/* ---- sort ---- */

/*
 * A sort key that is not a field becomes a hidden field: over rows, an additional field of the source; else all
 * fields are passed on plus this one.
 */
static int hidden_field(struct planner *pl, struct query_item *item, struct expr *e,
			unsigned int *ret)
{
	struct scope *scope = &pl->c.scope;
	size_t count = scope->count;
	const char *name = node_name(pl->c.s, item->expr);

	assert(e->kind != EXPR_FIELD || scope->open);
	if (!name || check_limits(pl->c.s, e) < 0)
		return pl->c.s->failed;
	if (count >= QUERY_FIELDS_MAX)
		return query_fail(pl->c.s, item->expr->pos, item->expr->len,
				  "a stage has more than %d fields", QUERY_FIELDS_MAX);
	if (!scope->open) {
		struct plan_field *fields = query_array(pl->c.s, count + 1, struct plan_field);

		if (!fields || planner_keep_fields(pl, fields, count) < 0 ||
		    !planner_add_fields(pl, STAGE_SELECT, item->expr->pos, fields, count + 1))
			return pl->c.s->failed;
	}
	scope->fields[count] = planner_made_field(name, e);
	scope->fields[count].hidden = true;
	scope->count = count + 1;
	*ret = (unsigned int)count;
	return 0;
}

static int sort_key(struct planner *pl, struct query_item *item, unsigned int *ret)
{
	struct scope *scope = &pl->c.scope, fields = *scope;
	struct expr *e = check_expr(&pl->c, item->expr, NULL);

	if (!e)
		return pl->c.s->failed;
	if (!kind_has_order(e->type) && e->type.type != QUERY_CODE &&
	    e->type.type != QUERY_ENTITY && e->type.type != QUERY_BOOL)
		return query_fail(pl->c.s, item->expr->pos, item->expr->len,
				  "sorting by %s is not supported%s", query_kind_text(e->type),
				  e->type.type == QUERY_HIST ? "; sort by a percentile: p99(x)"
							     : "");
	if (e->kind == EXPR_FIELD) {
		*ret = e->column;
		return 0;
	}
	if (scope->open) {
		/* checked over the row itself; the fields added for it are not needed */
		*scope = (struct scope){.kind = SCOPE_TABLE, .table = scope->table};
		e = check_expr(&pl->c, item->expr, NULL);
		*scope = fields;
	}
	return e ? hidden_field(pl, item, e, ret) : pl->c.s->failed;
}

static bool has_key(const struct plan_stage *stage, unsigned int field)
{
	for (size_t i = 0; i < stage->key_count; i++) {
		if (stage->keys[i].field == field)
			return true;
	}
	return false;
}

int planner_sort(struct planner *pl, const struct query_part *part)
{
	struct plan_stage sort = {.kind = STAGE_SORT}, *stage;
	size_t count = 0;
	int r;

	assert(part->kind == PART_SORT);
	r = planner_open(pl);
	if (r < 0)
		return r;
	for (const struct query_item *i = part->items; i; i = i->next) {
		if (!i->expr)
			return query_fail(pl->c.s, part->pos, part->len,
					  "sort needs a field, not *");
		count++;
	}
	sort.keys = query_array(pl->c.s, count + pl->keys, struct sort_key);
	if (!sort.keys)
		return pl->c.s->failed;
	for (struct query_item *i = part->items; i; i = i->next) {
		unsigned int field = 0;

		r = sort_key(pl, i, &field);
		if (r < 0)
			return r;
		if (!has_key(&sort, field))
			sort.keys[sort.key_count++] = (struct sort_key){field, i->desc};
	}
	/* ties between groups are broken by their keys, so that the same query has the same answer */
	for (unsigned int i = 0; i < pl->keys; i++) {
		if (!has_key(&sort, i))
			sort.keys[sort.key_count++] = (struct sort_key){i, false};
	}
	assert(sort.key_count <= count + pl->keys);
	stage = planner_add_stage(pl, STAGE_SORT, part->pos);
	if (!stage)
		return pl->c.s->failed;
	stage->keys = sort.keys;
	stage->key_count = sort.key_count;
	return 0;
}

/* ---- head, tail ---- */

int planner_head(struct planner *pl, const struct query_part *part)
{
	struct plan_stage *stage;

	assert((part->kind == PART_HEAD || part->kind == PART_TAIL) && part->number >= 0);
	stage = planner_open(pl) < 0 ? NULL : planner_add_stage(pl, STAGE_HEAD, part->pos);
	if (!stage)
		return pl->c.s->failed;
	stage->count = part->number;
	stage->tail = part->kind == PART_TAIL;
	return 0;
}

/* ---- join ---- */

static int join_table(struct planner *pl, const struct query_part *part, enum table_id *ret)
{
	char word[NEAREST_WORD_MAX + 2];
	struct nearest n = {.word = word};
	int table;

	snprintf(word, sizeof(word), "%.*s", (int)MIN(part->table.len, sizeof(word)),
		 (const char *)part->table.data);
	table = schema_table_find(word);
	if (table >= 0 && schema_is_dimension((enum table_id)table)) {
		*ret = (enum table_id)table;
		return 0;
	}
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (schema_is_dimension((enum table_id)i))
			nearest_offer(&n, schema_table(i)->name);
	}
	for (size_t i = 0; pl->c.s->users && i < pl->c.s->users->count; i++)
		nearest_offer(&n, pl->c.s->users->tables[i]->name);
	if (n.best && table < 0)
		return query_fail(pl->c.s, part->pos, part->len,
				  "unknown table '%s'; did you mean %s?", word, n.best);
	return query_fail(pl->c.s, part->pos, part->len,
			  "only thread, process, cgroup, host or file can be joined, not '%s'",
			  word);
}

static bool refers_to(struct query_kind k, enum table_id table)
{
	return (k.type == QUERY_ENTITY || k.type == QUERY_INT) && k.entity == table;
}

/* The field that holds the id for a row of the table. */
static int join_field(struct planner *pl, const struct query_part *part, enum table_id table,
		      unsigned int *ret)
{
	struct scope *scope = &pl->c.scope;
	const char *name = schema_table(table)->name;
	struct node n = {.kind = NODE_NAME,
			 .pos = part->pos,
			 .len = part->len,
			 .text = {(const uint8_t *)name, strlen(name)}};
	struct expr *e = NULL;

	if (part->expr) {
		e = check_expr(&pl->c, part->expr, NULL);
		if (!e)
			return pl->c.s->failed;
		if (e->kind != EXPR_FIELD || !refers_to(e->type, table))
			return query_fail(pl->c.s, part->expr->pos, part->expr->len,
					  "expected a field that identifies a %s", name);
		*ret = e->column;
		return 0;
	}
	for (size_t i = 0; i < scope->count; i++) {
		if (refers_to(scope->fields[i].type, table)) {
			*ret = (unsigned int)i;
			return 0;
		}
	}
	if (scope->open && name_resolves(&pl->c, &n)) {
		e = check_name(&pl->c, &n);
		if (!e)
			return pl->c.s->failed;
		if (refers_to(e->type, table)) {
			*ret = e->column;
			return 0;
		}
	}
	return query_fail(
		pl->c.s, part->pos, part->len,
		"no field of the previous stage identifies the %s; group by %s, or select it", name,
		name);
}

static const char *joined_name(struct planner *pl, const char *of, const char *column,
			       const struct plan_field *fields, size_t count)
{
	char *name;

	for (size_t i = 0; i < count; i++) {
		if (strcmp(fields[i].name, column))
			continue;
		name = query_array(pl->c.s, strlen(of) + strlen(column) + 2, char);
		if (name)
			snprintf(name, strlen(of) + strlen(column) + 2, "%s_%s", of, column);
		return name;
	}
	return column;
}

static void joined_field(struct planner *pl, const char *of, const char *column, struct expr *e,
			 struct plan_field *fields, size_t *count)
{
	const char *name = joined_name(pl, of, column, fields, *count);

	if (e && name)
		fields[(*count)++] = planner_made_field(name, e);
}

static void joined_fields(struct planner *pl, enum table_id table, struct plan_field *fields,
			  size_t *count)
{
	const struct table_def *def = schema_table(table);

	assert(def->column_count > 1);
	/* the first column is the id, which exists already */
	for (unsigned int i = 1; i < def->column_count; i++) {
		const char *column = def->columns[i].name;

		joined_field(pl, def->name, column,
			     check_table_name(pl->c.s, table, bytes_of(column), 0, 0), fields,
			     count);
	}
}

/* ---- join with a user's table ---- */

/* True if the user's column has the same kind of values as the field, so that they can be joined. */
static bool joins_on(const struct query_user_column *c, const struct plan_field *f)
{
	bool text = f->type.type == QUERY_TEXT || f->type.type == QUERY_CODE;
	size_t len = strlen(f->name);

	if (c->type.type == QUERY_TEXT)
		return text && !strcasecmp(c->name, f->name);
	if (c->type.type == QUERY_BOOL || c->type.type == QUERY_FLOAT || text ||
	    !query_kind_is_int(f->type))
		return false;
	/* the field `file` matches a column file_id */
	if (f->type.type == QUERY_ENTITY)
		return c->type.entity == f->type.entity && c->type.entity != TABLE_OP &&
		       !strncasecmp(c->name, f->name, len) && !strcasecmp(c->name + len, "_id");
	return !strcasecmp(c->name, f->name);
}

static int user_key(struct planner *pl, const struct query_part *part,
		    const struct query_user_table *t, unsigned int *ret_field, size_t *ret_key)
{
	struct scope *scope = &pl->c.scope;
	struct expr *e = part->expr ? check_expr(&pl->c, part->expr, NULL) : NULL;

	if (part->expr && !e)
		return pl->c.s->failed;
	for (size_t c = 0; c < t->column_count; c++) {
		for (unsigned int i = 0; i < scope->count; i++) {
			if (!joins_on(&t->columns[c], &scope->fields[i]) ||
			    (e && (e->kind != EXPR_FIELD || e->column != i)))
				continue;
			*ret_field = i;
			*ret_key = c;
			return check_user_load(pl->c.s, t, c, true, part);
		}
	}
	return query_fail(pl->c.s, part->pos, part->len,
			  "no field of the previous stage is also a column of %s; select or group "
			  "by one that both have",
			  t->name);
}

static void user_joined(struct planner *pl, const struct query_user_table *t, size_t key,
			struct plan_field *fields, size_t *count)
{
	for (size_t i = 0; i < t->column_count; i++) {
		if (i != key)
			joined_field(pl, t->name, t->columns[i].name, user_column(pl, t, i), fields,
				     count);
	}
}

int planner_join(struct planner *pl, const struct query_part *part)
{
	const struct query_user_table *user = check_user_table(pl->c.s, part->table);
	enum table_id table = TABLE_COUNT;
	struct plan_stage *stage;
	struct plan_field *fields;
	unsigned int column = 0;
	size_t count, key = 0, more;
	int r;

	assert(part->kind == PART_JOIN);
	r = planner_open(pl);
	if (r >= 0)
		r = user ? user_key(pl, part, user, &column, &key) : join_table(pl, part, &table);
	if (r >= 0 && !user)
		r = join_field(pl, part, table, &column);
	if (r < 0)
		return r;
	assert(user || schema_is_dimension(table));
	assert(column < pl->c.scope.count);
	count = pl->c.scope.count;
	more = user ? user->column_count : schema_table(table)->column_count;
	if (count + more > QUERY_FIELDS_MAX)
		return plan_rows_too_many(pl, part);
	fields = query_array(pl->c.s, count + more, struct plan_field);
	if (!fields || planner_keep_fields(pl, fields, count) < 0)
		return pl->c.s->failed;
	if (user)
		user_joined(pl, user, key, fields, &count);
	else
		joined_fields(pl, table, fields, &count);
	if (pl->c.s->failed)
		return pl->c.s->failed;
	assert(count == pl->c.scope.count + more - 1); /* all columns but the key */
	stage = planner_add_fields(pl, STAGE_JOIN, part->pos, fields, count);
	if (!stage)
		return pl->c.s->failed;
	stage->column = column;
	stage->table = table;
	stage->user = user;
	stage->key = key;
	return 0;
}
