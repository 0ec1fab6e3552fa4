/* SPDX-License-Identifier: Apache-2.0 */
/*
 * compile.c: splits an expression over several rows into parts that each read a single row, equalities between two
 * rows, and a rest.
 *
 *   op == close && end.file == begin.file && end.start - begin.stop < 1s
 *     own   op == close                            evaluated over batches
 *     key   end.file = begin.file                  looked up in a hash table
 *     rest  end.start - begin.stop < 1s            evaluated for each remaining pair
 *
 * Numbers that are only meaningful within a process are compared as the entities they denote: descriptors together with
 * the process and the open file's generation, thread and process ids together with the thread and process that have
 * them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/periods/definition.h"

#define PARTS_MAX 64 /* operands of the outermost `and` */

static void *set_alloc(struct period_set *s, size_t size)
{
	void *p = calloc(1, size);

	if (!p || grow((void **)&s->memory, &s->memory_cap, s->memory_count + 1,
		       sizeof(*s->memory)) < 0) {
		free(p);
		return NULL;
	}
	s->memory[s->memory_count++] = p;
	return p;
}

static bool reads_row(const struct expr *e)
{
	return e->kind == EXPR_COLUMN || e->kind == EXPR_STOP || e->kind == EXPR_NAME ||
	       e->kind == EXPR_ROW;
}

/* The set of rows that it reads, one bit each. */
static uint32_t rows_of(const struct expr *e)
{
	uint32_t rows = reads_row(e) ? 1u << e->row : 0;

	for (unsigned int i = 0; i < e->arg_count; i++)
		rows |= rows_of(e->arg[i]);
	return rows;
}

/* A copy in which every row is row 0. NULL: no memory. */
static struct expr *expr_of_one(struct period_set *s, const struct expr *e)
{
	struct expr *copy = set_alloc(s, sizeof(*copy));

	if (!copy)
		return NULL;
	*copy = *e;
	copy->row = 0;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		copy->arg[i] = expr_of_one(s, e->arg[i]);
		if (!copy->arg[i])
			return NULL;
	}
	return copy;
}

/* ---- values taken from a row ---- */

/* The role whose event is the row. */
static struct period_role *role_of_row(const struct period_set *s, struct period *p,
				       struct period_role *role, unsigned int row)
{
	if (row == LEVEL_EVENT)
		return role;
	for (; row > LEVEL_BEGIN; row--) {
		assert(p->parent >= 0);
		p = s->items[p->parent];
	}
	return &p->begin;
}

/* The index of the value among those taken; negative with a message. */
static int role_take(struct period_set *s, struct period_role *role, const struct expr *e,
		     struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	struct expr *one = expr_of_one(s, e);
	struct period_take *t;

	if (!one || expr_text(one, TABLE_OP, &text) < 0)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < role->take_count; i++) {
		t = &role->takes[i];
		if (t->text.len == text.len && !memcmp(t->text.data, text.data, text.len) &&
		    t->expr->type.type == one->type.type)
			return (int)i;
	}
	if (role->take_count == PERIOD_TAKES_MAX)
		return error_set(err, -EINVAL, "more than %d values of one call are needed",
				 PERIOD_TAKES_MAX);
	t = &role->takes[role->take_count];
	t->expr = one;
	t->text = text;
	text = (struct buf){0};
	return (int)role->take_count++;
}

static int expr_need(struct period_expr *x, unsigned int column, struct error *err)
{
	for (size_t i = 0; i < x->need_count; i++) {
		if (x->needs[i] == column)
			return 0;
	}
	if (x->need_count == PERIOD_NEEDS_MAX)
		return error_set(err, -EINVAL, "a condition needs more than %d values",
				 PERIOD_NEEDS_MAX);
	x->needs[x->need_count++] = (uint16_t)column;
	x->needs_event |= column < PERIOD_TAKES_MAX;
	return 0;
}

static struct expr *lift(struct period_set *s, struct period *p, struct period_role *role,
			 const struct expr *e, struct period_expr *x, struct error *err)
{
	uint32_t rows = rows_of(e);
	struct expr *to = set_alloc(s, sizeof(*to));
	unsigned int row;
	int take;

	if (!to) {
		error_set(err, -ENOMEM, "out of memory");
		return NULL;
	}
	if (!rows || (rows & (rows - 1))) {
		*to = *e;
		for (unsigned int i = 0; i < e->arg_count; i++) {
			to->arg[i] = lift(s, p, role, e->arg[i], x, err);
			if (!to->arg[i])
				return NULL;
		}
		return to;
	}
	row = (unsigned int)__builtin_ctz(rows);
	take = role_take(s, role_of_row(s, p, role, row), e, err);
	if (take < 0)
		return NULL;
	*to = (struct expr){.kind = EXPR_FIELD, .type = e->type, .pos = e->pos, .len = e->len};
	to->column = row * PERIOD_TAKES_MAX + (unsigned int)take;
	return expr_need(x, to->column, err) < 0 ? NULL : to;
}

int period_lift(struct period_set *s, struct period *p, struct period_role *role, struct expr *e,
		struct period_expr *ret, struct error *err)
{
	*ret = (struct period_expr){0};
	ret->e = lift(s, p, role, e, ret, err);
	return ret->e ? 0 : err->code;
}

/* ---- the parts of a condition ---- */

struct condition {
	struct expr *parts[PARTS_MAX];
	size_t count;
};

static int condition_add(struct condition *c, struct expr *e, struct error *err)
{
	if (e->kind == EXPR_AND) {
		int r = condition_add(c, e->arg[0], err);

		return r < 0 ? r : condition_add(c, e->arg[1], err);
	}
	if (c->count == PARTS_MAX)
		return error_set(err, -EINVAL, "a condition has more than %d parts", PARTS_MAX);
	c->parts[c->count++] = e;
	return 0;
}

static bool is_equality(const struct expr *e)
{
	return e->kind == EXPR_COMPARE && e->cmp == COMPARE_EQ;
}

static struct expr *expr_and(struct period_set *s, struct expr *a, struct expr *b)
{
	struct expr *e = a && b ? set_alloc(s, sizeof(*e)) : NULL;

	if (!e)
		return a ? (b ? NULL : a) : b;
	*e = (struct expr){
		.kind = EXPR_AND, .type = {.type = QUERY_BOOL}, .arg = {a, b}, .arg_count = 2};
	return e;
}

/* ---- entities denoted by numbers ---- */

static struct expr *entity_of(struct period_set *s, unsigned int row, enum query_name name)
{
	struct expr *e = set_alloc(s, sizeof(*e));
	bool file = name == QNAME_FILE || name == QNAME_FILE2;

	if (!e)
		return NULL;
	*e = (struct expr){
		.kind = EXPR_NAME,
		.type = {.type = QUERY_ENTITY,
			 .entity = file			  ? TABLE_FILE
				   : name == QNAME_THREAD ? TABLE_THREAD
							  : TABLE_PROCESS},
		.row = row,
	};
	e->column = name == QNAME_FILE ? OP_FILE_ID : file ? OP_FILE2_ID : OP_THREAD_ID;
	e->name = name;
	return e;
}

static int add_equality(struct period_set *s, struct condition *c, const struct expr *a,
			enum query_name name, const struct expr *b, enum query_name other,
			struct error *err)
{
	struct expr *e = set_alloc(s, sizeof(*e)), *x = entity_of(s, a->row, name),
		    *y = entity_of(s, b->row, other);

	if (!e || !x || !y)
		return error_set(err, -ENOMEM, "out of memory");
	*e = (struct expr){.kind = EXPR_COMPARE, .type = {.type = QUERY_BOOL}, .arg_count = 2};
	e->cmp = COMPARE_EQ;
	e->arg[0] = x;
	e->arg[1] = y;
	return condition_add(c, e, err);
}

static bool reads_column(const struct expr *e, unsigned int column)
{
	return e->kind == EXPR_COLUMN && e->column == column;
}

static bool reads_name(const struct expr *e, enum query_name name)
{
	return e->kind == EXPR_NAME && e->name == name;
}

/* The file behind a descriptor; QNAME_COUNT: not a descriptor. */
static enum query_name file_behind(const struct expr *e)
{
	return reads_column(e, OP_FD)	 ? QNAME_FILE
	       : reads_column(e, OP_FD2) ? QNAME_FILE2
					 : QNAME_COUNT;
}

/* Adds the conditions implied by an equality of two numbers of different rows. */
static int add_meaning(struct period_set *s, struct condition *c, const struct expr *e,
		       struct error *err)
{
	const struct expr *a = e->arg[0], *b = e->arg[1];
	enum query_name x = file_behind(a), y = file_behind(b);
	int r = 0;

	if (!reads_row(a) || !reads_row(b) || a->row == b->row)
		return 0;
	if (x != QNAME_COUNT || y != QNAME_COUNT ||
	    (reads_name(a, QNAME_PID) && reads_name(b, QNAME_PID)))
		r = add_equality(s, c, a, QNAME_PROCESS, b, QNAME_PROCESS, err);
	if (r >= 0 && x != QNAME_COUNT && y != QNAME_COUNT)
		r = add_equality(s, c, a, x, b, y, err);
	if (r >= 0 && reads_column(a, OP_TID) && reads_column(b, OP_TID))
		r = add_equality(s, c, a, QNAME_THREAD, b, QNAME_THREAD, err);
	return r;
}

/* ---- keys ---- */

/* True if equal values have equal bits. */
static bool hashes_alike(struct query_kind a, struct query_kind b)
{
	if (a.type == QUERY_TEXT || b.type == QUERY_TEXT)
		return a.type == b.type;
	return query_kind_is_int(a) && query_kind_is_int(b) &&
	       (a.type == QUERY_UINT) == (b.type == QUERY_UINT);
}

/* 1: made it a key; 0: it cannot be one. */
static int role_key(struct period_set *s, struct period *p, struct period_role *role,
		    const struct expr *e, struct error *err)
{
	struct period_key *k = &role->keys[role->key_count];
	const uint32_t event = 1u << LEVEL_EVENT;
	unsigned int mine;
	int take, r;

	if (s->scan || !is_equality(e) || role->key_count == PERIOD_KEYS_MAX ||
	    !hashes_alike(e->arg[0]->type, e->arg[1]->type))
		return 0;
	mine = rows_of(e->arg[0]) == event ? 0 : 1;
	if (rows_of(e->arg[mine]) != event || rows_of(e->arg[!mine]) & event)
		return 0;
	take = role_take(s, role, e->arg[mine], err);
	if (take < 0)
		return take;
	r = period_lift(s, p, role, e->arg[!mine], &k->other, err);
	if (r < 0)
		return r;
	k->take = (unsigned int)take;
	role->key_count++;
	return 1;
}

int period_compile(struct period_set *s, struct period *p, struct period_role *role,
		   struct expr *where, struct error *err)
{
	struct condition c = {.count = 0};
	struct expr *own = NULL, *rest = NULL;
	int r = condition_add(&c, where, err);

	for (size_t i = 0; i < c.count && r >= 0; i++) {
		if (is_equality(c.parts[i]))
			r = add_meaning(s, &c, c.parts[i], err);
	}
	for (size_t i = 0; i < c.count && r >= 0; i++) {
		struct expr *e = c.parts[i];
		bool alone = !(rows_of(e) & ~(1u << LEVEL_EVENT));

		r = alone ? 0 : role_key(s, p, role, e, err);
		if (r != 0)
			continue;
		if (alone)
			own = expr_and(s, own, e);
		else
			rest = expr_and(s, rest, e);
		if (!own && !rest)
			r = error_set(err, -ENOMEM, "out of memory");
	}
	if (r < 0)
		return error_prefix(err, "period '%.100s'", p->name);
	role->own = own;
	return rest ? period_lift(s, p, role, rest, &role->rest, err) : 0;
}
