/* SPDX-License-Identifier: Apache-2.0 */
/* plan_build.c: converts the parts of a pipeline, one after the other, to a plan. */
#include <errno.h>
#include <string.h>

#include "query/plan/planner.h"

/* ---- what the planner's files share ---- */

struct plan_stage *planner_add_stage(struct planner *pl, enum stage_kind kind, uint32_t pos)
{
	assert(pl->staged && pl->c.scope.kind == SCOPE_FIELDS);
	if (query_grow(pl->c.s, pl->stages, pl->stage_count, pl->stage_cap) < 0)
		return NULL;
	/* its fields are unchanged, unless planner_add_fields() changes them */
	pl->stages[pl->stage_count] = (struct plan_stage){.kind = kind,
							  .pos = pos,
							  .fields = pl->c.scope.fields,
							  .field_count = pl->c.scope.count};
	return &pl->stages[pl->stage_count++];
}

void planner_set_scope(struct planner *pl, struct plan_field *fields, size_t count)
{
	assert(count <= QUERY_FIELDS_MAX);
	pl->c.scope = (struct scope){
		.kind = SCOPE_FIELDS, .table = pl->plan->table, .fields = fields, .count = count};
}

struct plan_stage *planner_add_fields(struct planner *pl, enum stage_kind kind, uint32_t pos,
				      struct plan_field *fields, size_t count)
{
	struct plan_stage *s = planner_add_stage(pl, kind, pos);

	if (!s)
		return NULL;
	s->fields = fields;
	s->field_count = count;
	/* the source has got the fields that later stages named */
	if (pl->c.scope.open)
		pl->plan->field_count = pl->c.scope.count;
	planner_set_scope(pl, fields, count);
	return s;
}

static int planner_add_where(struct planner *pl, struct expr *e)
{
	assert(!pl->staged && e->type.type == QUERY_BOOL);
	if (query_grow(pl->c.s, pl->where, pl->where_count, pl->where_cap) < 0)
		return pl->c.s->failed;
	pl->where[pl->where_count++] = e;
	return 0;
}

int planner_check_name(struct planner *pl, const struct plan_field *fields, size_t count,
		       const struct query_item *item, const char *name)
{
	for (size_t i = 0; i < count; i++) {
		if (!fields[i].hidden && !strcmp(fields[i].name, name))
			return query_fail(
				pl->c.s, item->name.len ? item->name_pos : item->expr->pos,
				item->name.len ? (size_t)item->name.len : item->expr->len,
				"two fields are called %s; rename one of them with `as`", name);
	}
	return 0;
}

const char *planner_item_name(struct planner *pl, const struct query_item *item)
{
	char *name;

	if (!item->name.len)
		return node_name(pl->c.s, item->expr);
	name = query_array(pl->c.s, item->name.len + 1, char);
	if (name)
		memcpy(name, item->name.data, item->name.len);
	return name;
}

struct expr *planner_field(struct planner *pl, size_t i)
{
	const struct plan_field *f = &pl->c.scope.fields[i];
	struct node at = {.pos = f->expr ? f->expr->pos : 0, .len = f->expr ? f->expr->len : 0};
	struct expr *e = expr_make_expr(pl->c.s, EXPR_FIELD, f->type, &at);

	assert(pl->c.scope.kind == SCOPE_FIELDS && i < pl->c.scope.count);
	if (e)
		e->column = (unsigned int)i;
	return e;
}

int planner_keep_fields(struct planner *pl, struct plan_field *to, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		to[i] = pl->c.scope.fields[i];
		to[i].kind = FIELD_EXPR;
		to[i].expr = planner_field(pl, i);
	}
	return pl->c.s->failed;
}

/* ---- parts ---- */

static int plan_where(struct planner *pl, const struct query_part *part)
{
	struct expr *e = check_condition(&pl->c, part->expr);
	struct plan_stage *stage;

	if (!e || check_limits(pl->c.s, e) < 0)
		return pl->c.s->failed;
	if (!pl->staged)
		return planner_add_where(pl, e);
	stage = planner_add_stage(pl, STAGE_WHERE, part->pos);
	if (stage)
		stage->expr = e;
	return pl->c.s->failed;
}

static int plan_part(struct planner *pl, struct query_part *part)
{
	const struct query_part *by = pl->by;

	assert(!by || by->kind == PART_BY);
	/* `by op | cuont()`: report the error in the expression first */
	if (by && part->kind == PART_WHERE && !check_condition(&pl->c, part->expr))
		return pl->c.s->failed;
	if (by && part->kind != PART_AGGREGATE)
		return query_fail(pl->c.s, by->pos, by->len,
				  "by must be followed by a stage of aggregates: %.*s | count()",
				  (int)MIN(by->len, 60u), pl->c.s->text + by->pos);
	pl->by = NULL;
	switch (part->kind) {
	case PART_WHERE:
		return plan_where(pl, part);
	case PART_BY:
		pl->by = part;
		return 0;
	case PART_AGGREGATE:
		return planner_group(pl, by, part);
	case PART_SORT:
		return planner_sort(pl, part);
	case PART_HEAD:
	case PART_TAIL:
		return planner_head(pl, part);
	case PART_SELECT:
		return planner_select(pl, part);
	case PART_JOIN:
		return planner_join(pl, part);
	}
	return -EINVAL;
}

/* Stages that pass on the source's fields also get those that later stages added. */
static void settle_fields(struct planner *pl)
{
	struct plan *p = pl->plan;

	assert(pl->staged && !pl->by);
	if (pl->c.scope.open)
		p->field_count = pl->c.scope.count;
	for (size_t i = 0; i < pl->stage_count && pl->stages[i].fields == p->fields; i++)
		pl->stages[i].field_count = p->field_count;
	p->stages = pl->stages;
	p->stage_count = pl->stage_count;
}

/* `by op` at the end, without aggregates, counts the rows of each group. */
static int plan_count(struct planner *pl)
{
	static const char text[] = "count";
	const struct query_part *by = pl->by;
	struct node count = {.kind = NODE_CALL,
			     .pos = by->pos,
			     .len = by->len,
			     .text = {(const uint8_t *)text, sizeof(text) - 1}};
	struct query_item item = {.expr = &count};
	struct query_part aggregates = {
		.kind = PART_AGGREGATE, .pos = by->pos, .len = by->len, .items = &item};

	pl->by = NULL;
	return planner_group(pl, by, &aggregates);
}

static int plan_all(struct planner *pl, struct query_pipeline *pipeline)
{
	int r = 0;

	for (struct query_part *part = pipeline->parts; part && r >= 0; part = part->next) {
		pl->parts = part;
		r = plan_part(pl, part);
	}
	pl->parts = NULL;
	if (r >= 0 && pl->by)
		r = plan_count(pl);
	if (r >= 0)
		r = planner_open(pl);
	if (r >= 0 && pl->where_count)
		pl->plan->where = expr_make_logic(pl->c.s, EXPR_AND, pl->where, pl->where_count);
	if (r < 0 || pl->c.s->failed)
		return pl->c.s->failed;
	settle_fields(pl);
	return pl->plan->where ? check_limits(pl->c.s, pl->plan->where) : 0;
}

/* ---- public functions ---- */

static int source_start(struct query_source *s, const char *text, size_t len,
			const struct query_users *users, struct arena *arena,
			struct query_error *err)
{
	char *copy;
	const char *nul;

	*s = (struct query_source){.arena = arena, .error = err, .users = users};
	if (len > QUERY_TEXT_MAX) {
		err->pos = QUERY_TEXT_MAX;
		err->len = 0;
		return error_set(&err->err, -EINVAL, "the query has %zu bytes; the limit is %u",
				 len, QUERY_TEXT_MAX);
	}
	copy = query_array(s, len + 4, char); /* the lexer reads a few bytes ahead */
	if (!copy)
		return -ENOMEM;
	if (len)
		memcpy(copy, text, len);
	s->text = copy;
	s->len = len;
	nul = len ? memchr(copy, '\0', len) : NULL;
	if (nul)
		return query_fail(s, (size_t)(nul - copy), 1, "unexpected NUL byte");
	return 0;
}

static struct plan *plan_new(struct query_source *s, enum table_id table)
{
	struct plan *p = query_make(s, struct plan);

	if (!p)
		return NULL;
	p->text = s->text;
	p->table = table;
	p->from = INT64_MIN;
	p->to = INT64_MAX;
	p->arena = s->arena;
	p->users = s->users;
	return p;
}

static void error_clear(struct query_error *err)
{
	err->pos = err->len = 0;
	err->err = (struct error){0};
}

static int parse_to_plan(struct query_source *s, struct plan **ret)
{
	struct query_pipeline pipeline = {0};
	struct parser parser;
	struct planner pl = {.c.s = s};
	int r;

	parser_start(&parser, s);
	r = query_parse_parts(&parser, &pipeline);
	if (r < 0)
		return r;
	pl.c.scope = (struct scope){.kind = SCOPE_TABLE, .table = pipeline.table};
	pl.plan = plan_new(s, pipeline.table);
	if (pl.plan && pipeline.user)
		planner_user(&pl, pipeline.user);
	if (!s->failed)
		plan_all(&pl, &pipeline);
	if (!s->failed)
		*ret = pl.plan;
	return s->failed;
}

int query_parse(const char *text, size_t len, struct plan **ret, struct query_error *err)
{
	return query_parse_users(text, len, NULL, ret, err);
}

int query_parse_users(const char *text, size_t len, const struct query_users *users,
		      struct plan **ret, struct query_error *err)
{
	struct arena *arena;
	struct query_source s;
	int r;

	error_clear(err);
	if (arena_new(&arena) < 0)
		return error_set(&err->err, -ENOMEM, "out of memory for the query");
	r = source_start(&s, text, len, users, arena, err);
	if (r == 0)
		r = parse_to_plan(&s, ret);
	if (r < 0)
		arena_delete(arena);
	return r;
}

/* Parses one expression with nothing after it. */
static struct expr *parse_alone(struct query_source *s, enum table_id table, bool filter)
{
	struct query_checker c = {.s = s, .scope = {.kind = SCOPE_TABLE, .table = table}};
	struct parser parser;
	struct node *n;
	struct expr *e;

	parser_start(&parser, s);
	/* `where dur > 1ms`, as in a pipeline */
	if (filter && token_is(&parser.now, "where"))
		parser_take(&parser);
	n = query_parse_node(&parser);
	if (!n)
		return NULL;
	if (parser.now.kind != TOKEN_END) {
		if (parser.now.kind == TOKEN_PIPE)
			query_fail(s, parser.now.pos, 1,
				   "expected a condition only; pipelines are for weir query");
		else
			parser_expected(&parser, "&& or || or the end");
		return NULL;
	}
	e = filter ? check_condition(&c, n) : check_expr(&c, n, NULL);
	return e && check_limits(s, e) == 0 ? e : NULL;
}

static int expr_to_plan(struct query_source *s, enum table_id table, bool filter, struct plan **ret)
{
	struct expr *e = parse_alone(s, table, filter);
	struct plan *p = e ? plan_new(s, table) : NULL;

	if (s->failed)
		return s->failed;
	assert(p && e); /* NULL results were recorded in s->failed */
	if (filter) {
		assert(e->type.type == QUERY_BOOL);
		p->where = e;
	} else {
		p->fields = query_make(s, struct plan_field);
		if (!p->fields)
			return s->failed;
		p->field_count = 1;
		p->fields[0] = (struct plan_field){
			.name = s->text, .type = e->type, .kind = FIELD_EXPR, .expr = e};
	}
	*ret = p;
	return 0;
}

int query_parse_expr(const char *text, size_t len, enum table_id table, bool filter,
		     struct plan **ret, struct query_error *err)
{
	return query_parse_expr_users(text, len, table, filter, NULL, ret, err);
}

/* users and rows may be NULL. */
static int expr_parse(const char *text, size_t len, enum table_id table, bool filter,
		      const struct query_users *users, const struct query_rows_named *rows,
		      struct plan **ret, struct query_error *err)
{
	struct arena *arena;
	struct query_source s;
	int r;

	error_clear(err);
	if (arena_new(&arena) < 0)
		return error_set(&err->err, -ENOMEM, "out of memory for the query");
	r = source_start(&s, text, len, users, arena, err);
	s.rows = rows;
	if (r == 0)
		r = expr_to_plan(&s, table, filter, ret);
	if (r < 0)
		arena_delete(arena);
	return r;
}

int query_parse_expr_users(const char *text, size_t len, enum table_id table, bool filter,
			   const struct query_users *users, struct plan **ret,
			   struct query_error *err)
{
	return expr_parse(text, len, table, filter, users, NULL, ret, err);
}

int query_parse_expr_rows(const char *text, size_t len, enum table_id table, bool filter,
			  const struct query_rows_named *rows, struct plan **ret,
			  struct query_error *err)
{
	return expr_parse(text, len, table, filter, NULL, rows, ret, err);
}

int plan_and_where(struct plan *p, const char *text, struct query_error *err)
{
	struct query_source s;
	struct expr *both[2] = {p->where, NULL}, *e;
	int r;

	error_clear(err);
	r = source_start(&s, text, strlen(text), p->users, p->arena, err);
	if (r < 0)
		return r;
	if (p->user)
		return query_fail(&s, 0, s.len,
				  "rows of %s are not calls: filter your own table by its columns",
				  p->user->name);
	both[1] = parse_alone(&s, p->table, true);
	if (!both[1])
		return s.failed;
	e = p->where ? expr_make_logic(&s, EXPR_AND, both, 2) : both[1];
	if (!e || check_limits(&s, e) < 0)
		return s.failed;
	p->where = e;
	return 0;
}

void plan_free(struct plan *p)
{
	if (p)
		arena_delete(p->arena);
}

const struct plan_field *plan_output(const struct plan *p, size_t *ret_count)
{
	const struct plan_stage *last = p->stage_count ? &p->stages[p->stage_count - 1] : NULL;

	assert(!p->stage_count || p->stages);
	*ret_count = last ? last->field_count : p->field_count;
	return last ? last->fields : p->fields;
}

bool plan_is_key(const struct plan *p, size_t field)
{
	const struct plan_field *f;

	for (size_t i = p->stage_count; i-- > 0;) {
		const struct plan_stage *s = &p->stages[i];

		assert(field < s->field_count);
		f = &s->fields[field];
		if (s->kind == STAGE_GROUP)
			return f->kind == FIELD_KEY || f->kind == FIELD_WINDOW;
		if (s->kind != STAGE_JOIN && s->kind != STAGE_SELECT)
			continue;
		if (f->expr->kind == EXPR_FIELD)
			field = f->expr->column;
		else if (s->kind == STAGE_JOIN && !s->user)
			field = s->column;
		else
			return false;
	}
	assert(field < p->field_count);
	f = &p->fields[field];
	return p->grouped && (f->kind == FIELD_KEY || f->kind == FIELD_WINDOW);
}

bool plan_is_stream(const struct plan *p)
{
	if (p->grouped || p->user)
		return false;
	for (size_t i = 0; i < p->stage_count; i++) {
		const struct plan_stage *s = &p->stages[i];

		if (s->kind != STAGE_WHERE && s->kind != STAGE_SELECT &&
		    (s->kind != STAGE_HEAD || s->tail))
			return false;
	}
	return true;
}

const struct plan_field *plan_first_key(const struct plan *p, bool *ret_desc, int64_t *ret_count)
{
	const struct plan_stage *sort = p->stages, *head = p->stages + 1;
	const struct plan_field *f;

	if (p->grouped || p->stage_count < 2 || sort->kind != STAGE_SORT ||
	    head->kind != STAGE_HEAD || head->tail || head->count <= 0 || !sort->key_count)
		return NULL;
	f = &p->fields[sort->keys[0].field];
	*ret_desc = sort->keys[0].desc;
	*ret_count = head->count;
	switch (f->type.type) {
	case QUERY_INT:
	case QUERY_UINT:
	case QUERY_DUR:
	case QUERY_SIZE:
	case QUERY_TIME:
		return f->expr->kind == EXPR_CONST ? NULL : f;
	default:
		return NULL;
	}
}
