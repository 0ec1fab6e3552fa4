/* SPDX-License-Identifier: Apache-2.0 */
/* eval_values.c: the values of a node for the rows of a list. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "query/eval/eval_internal.h"

/* Memory for computed values; `unknown` starts as 0. */
struct room {
	int64_t *i;
	double *f;
	struct bytes *t;
	uint8_t *unknown;
};

static int eval_values_make_room(struct eval_run *r, enum rep rep, size_t n, struct room *ret,
				 struct eval_values *v)
{
	size_t size = rep == REP_TEXT ? sizeof(*ret->t) : sizeof(*ret->i);
	void *p = arena_take(&r->s->memory, n * size);

	static_assert(sizeof(*ret->i) == sizeof(*ret->f), "ints and floats take the same room");

	*ret = (struct room){.unknown = arena_take(&r->s->memory, n)};
	if (!p || !ret->unknown)
		return -ENOMEM;
	memset(ret->unknown, 0, n);
	if (rep == REP_FLOAT)
		ret->f = p;
	else if (rep == REP_TEXT)
		ret->t = p;
	else
		ret->i = p;
	*v = (struct eval_values){.i = ret->i, .f = ret->f, .t = ret->t, .unknown = ret->unknown};
	return 0;
}

static bool unknown_at(const struct eval_values *v, size_t j)
{
	return v->unknown && v->unknown[j];
}

/* ---- leaves ---- */

static int const_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
			struct eval_values *ret)
{
	struct room to;
	int e = eval_values_make_room(r, n->rep, rows.n, &to, ret);

	if (e < 0)
		return e;
	memset(to.unknown, n->value.null, rows.n);
	for (size_t j = 0; j < rows.n; j++) {
		if (n->rep == REP_FLOAT)
			to.f[j] = n->value.f;
		else if (n->rep == REP_TEXT)
			to.t[j] = n->value.t;
		else
			to.i[j] = n->value.i;
	}
	return 0;
}

static int column_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
			 struct eval_values *ret)
{
	const struct column *c = &r->b->columns[n->column];
	struct room to;
	int e;

	if (c->val && !rows.rows && !c->nulls) {
		*ret = (struct eval_values){.i = c->val + rows.base};
		return 0;
	}
	e = eval_values_make_room(r, REP_INT, rows.n, &to, ret);
	if (e < 0)
		return e;
	if (!c->val) {
		memset(to.i, 0, rows.n * sizeof(*to.i));
		memset(to.unknown, 1, rows.n);
		return 0;
	}
	for (size_t j = 0; j < rows.n; j++)
		to.i[j] = c->val[row_at(rows, j)];
	if (!c->nulls) {
		ret->unknown = NULL;
		return 0;
	}
	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = row_at(rows, j);

		to.unknown[j] = c->nulls[row / 64] >> (row % 64) & 1;
	}
	return 0;
}

static int bytes_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
			struct eval_values *ret)
{
	struct room to;
	int e = eval_values_make_room(r, REP_TEXT, rows.n, &to, ret);

	if (e < 0)
		return e;
	for (size_t j = 0; j < rows.n; j++) {
		size_t row = row_at(rows, j);

		e = query_column_text(r->b, n->column, row, r->texts, &to.t[j]);
		if (e < 0)
			return e;
		to.unknown[j] = batch_is_null(r->b, n->column, row);
		if (!to.t[j].data)
			to.t[j].data = (const uint8_t *)"";
	}
	return 0;
}

static bool whole_column(const struct batch *b, unsigned int column)
{
	return b->columns[column].val && !b->columns[column].nulls;
}

static int stop_values(struct eval_run *r, struct row_list rows, struct eval_values *ret)
{
	const struct batch *b = r->b;
	const unsigned int from = b->def->start, took = b->def->dur;
	struct room to;
	int e;

	assert(from != NO_COLUMN && took != NO_COLUMN);
	e = eval_values_make_room(r, REP_INT, rows.n, &to, ret);
	if (e < 0)
		return e;
	if (whole_column(b, from) && whole_column(b, took) &&
	    (b->table != TABLE_OP || !batch_has(b, OP_STATUS))) {
		const int64_t *starts = b->columns[from].val, *durs = b->columns[took].val;

		for (size_t j = 0; j < rows.n; j++) {
			uint32_t row = row_at(rows, j);

			to.unknown[j] = __builtin_add_overflow(starts[row], durs[row], &to.i[j]);
		}
		return 0;
	}
	for (size_t j = 0; j < rows.n; j++) {
		size_t row = row_at(rows, j);
		int64_t start = batch_get(b, from, row, 0), dur = batch_get(b, took, row, 0);

		to.unknown[j] = batch_is_null(b, from, row) || batch_is_null(b, took, row) ||
				eval_unfinished(b, row) ||
				__builtin_add_overflow(start, dur, &to.i[j]);
		if (to.unknown[j])
			to.i[j] = 0;
	}
	return 0;
}

/* ---- tables ---- */

/* The common case: names by an id of the first trace. */
static void word_values(const struct eval_table *t, const struct column *c, struct row_list rows,
			struct room *to)
{
	const uint32_t *words = t->part_count ? t->parts[0].words : NULL;
	uint64_t known = t->part_count ? t->parts[0].count : 0;

	for (size_t j = 0; j < rows.n; j++) {
		uint32_t row = row_at(rows, j), word;
		int64_t id = c->val[row];

		if (unlikely((uint64_t)id >= known ||
			     (c->nulls && (c->nulls[row / 64] >> (row % 64) & 1)))) {
			size_t at;
			const struct table_part *p = table_at(
				t, c->nulls && (c->nulls[row / 64] >> (row % 64) & 1) ? -1 : id,
				&at);

			word = p->words[at];
		} else {
			word = words[id];
		}
		to->unknown[j] = word == WORD_UNKNOWN;
		to->i[j] = word == WORD_UNKNOWN ? 0 : word;
	}
}

static int table_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
			struct eval_values *ret)
{
	const struct eval_table *t = n->table;
	struct room to;
	int e = eval_values_make_room(r, n->rep, rows.n, &to, ret);

	if (e < 0)
		return e;
	if (t->rep == REP_WORD && t->other < 0 && r->b->columns[t->column].val) {
		word_values(t, &r->b->columns[t->column], rows, &to);
		return 0;
	}
	for (size_t j = 0; j < rows.n; j++) {
		size_t at;
		const struct table_part *p = table_at(t, table_id(t, r->b, row_at(rows, j)), &at);

		if (t->is_bool) {
			to.i[j] = p->truth[at] == 1;
			to.unknown[j] = p->truth[at] == TRUTH_UNKNOWN;
		} else if (t->rep == REP_WORD) {
			to.unknown[j] = p->words[at] == WORD_UNKNOWN;
			to.i[j] = to.unknown[j] ? 0 : p->words[at];
		} else if (t->rep == REP_FLOAT) {
			to.unknown[j] = isnan(p->floats[at]);
			to.f[j] = to.unknown[j] ? 0 : p->floats[at];
		} else {
			to.unknown[j] = p->unknown[at];
			to.i[j] = p->ints[at];
		}
	}
	return 0;
}

/* ---- logic ---- */

/* Marks the entries of `rows` that are in `found`, a subset in the same order. */
static void mark(struct row_list rows, const uint32_t *found, size_t count, int64_t value,
		 struct room *to)
{
	size_t t = 0;

	for (size_t j = 0; j < rows.n && t < count; j++) {
		if (found[t] != row_at(rows, j))
			continue;
		to->i[j] = value;
		to->unknown[j] = 0;
		t++;
	}
	assert(t == count);
}

/* Computes where it is true and where it is false; the rest is unknown. */
static int logic_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
			struct eval_values *ret)
{
	struct room to;
	uint32_t *found;
	int e = eval_values_make_room(r, REP_INT, rows.n, &to, ret);

	if (e < 0)
		return e;
	memset(to.i, 0, rows.n * sizeof(*to.i));
	memset(to.unknown, 1, rows.n);
	found = arena_take(&r->s->memory, rows.n * sizeof(*found));
	if (!found)
		return -ENOMEM;
	for (int want = 0; want < 2; want++) {
		ssize_t got = eval_node_filter(r, n, want, rows, found);

		if (got < 0)
			return (int)got;
		mark(rows, found, (size_t)got, want, &to);
	}
	return 0;
}

/* ---- operands ---- */

/* An operand's values, converted to a representation. */
static int values_as(struct eval_run *r, const struct eval_node *n, enum rep rep,
		     struct row_list rows, struct eval_values *ret)
{
	if (rep == REP_FLOAT)
		return eval_node_floats(r, n, rows, ret);
	if (rep == REP_TEXT)
		return eval_node_texts(r, n, rows, ret);
	return eval_node_values(r, n, rows, ret);
}

/* The values of one or two operands; of one, *b is the same as *a. */
static int operand_values(struct eval_run *r, const struct eval_node *n, enum rep rep,
			  struct row_list rows, struct eval_values *a, struct eval_values *b)
{
	int e = values_as(r, n->args[0], rep, rows, a);

	*b = *a;
	return e < 0 || n->arg_count < 2 ? e : values_as(r, n->args[1], rep, rows, b);
}

/* ---- comparisons of two columns ---- */

static bool compare_entry(const struct eval_node *n, const struct eval_values *a,
			  const struct eval_values *b, size_t j)
{
	const struct eval_node *left = n->args[0], *right = n->args[1];
	int order;

	if (left->rep == REP_INT && right->rep == REP_INT)
		order = compare_ints(a->i[j], left->is_unsigned, b->i[j], right->is_unsigned);
	else if (left->rep == REP_FLOAT && right->rep == REP_FLOAT)
		order = a->f[j] < b->f[j] ? -1 : a->f[j] > b->f[j];
	else if (left->rep == REP_INT)
		order = compare_int_float(a->i[j], left->is_unsigned, b->f[j]);
	else
		order = -compare_int_float(b->i[j], right->is_unsigned, a->f[j]);
	return compare_holds(n->cmp, order);
}

static bool eval_values_is_text(const struct eval_node *n)
{
	return n->rep == REP_TEXT || n->rep == REP_WORD;
}

static void compare_signed(enum expr_compare cmp, const int64_t *a, const int64_t *b, size_t n,
			   int64_t *to)
{
#define COMPARE_LOOP(op)               \
	for (size_t j = 0; j < n; j++) \
		to[j] = a[j] op b[j];  \
	break
	switch (cmp) {
	case COMPARE_EQ:
		COMPARE_LOOP(==);
	case COMPARE_NE:
		COMPARE_LOOP(!=);
	case COMPARE_LT:
		COMPARE_LOOP(<);
	case COMPARE_LE:
		COMPARE_LOOP(<=);
	case COMPARE_GT:
		COMPARE_LOOP(>);
	default:
		COMPARE_LOOP(>=);
	}
#undef COMPARE_LOOP
}

static int eval_values_compare_values(struct eval_run *r, const struct eval_node *n,
				      struct row_list rows, struct eval_values *ret)
{
	const struct eval_node *left = n->args[0], *right = n->args[1];
	bool words = left->rep == REP_WORD && right->rep == REP_WORD &&
		     (n->cmp == COMPARE_EQ || n->cmp == COMPARE_NE);
	bool texts = eval_values_is_text(left) && !words;
	bool ints = words || (left->rep == REP_INT && right->rep == REP_INT && !left->is_unsigned &&
			      !right->is_unsigned);
	struct eval_values a, b;
	struct room to;
	int e = eval_values_make_room(r, REP_INT, rows.n, &to, ret);

	if (e >= 0)
		e = operand_values(r, n, texts ? REP_TEXT : REP_INT, rows, &a, &b);
	if (e < 0)
		return e;
	/* texts are compared only with texts: eval_build.c leaves other pairs to EVAL_SLOW */
	assert(eval_values_is_text(left) == eval_values_is_text(right));
	if (ints)
		compare_signed(n->cmp, a.i, b.i, rows.n, to.i);
	for (size_t j = 0; j < rows.n; j++) {
		to.unknown[j] = unknown_at(&a, j) || unknown_at(&b, j);
		if (to.unknown[j])
			to.i[j] = 0;
		else if (texts)
			to.i[j] = compare_holds(n->cmp, bytes_compare(a.t[j], b.t[j]));
		else if (!ints)
			to.i[j] = compare_entry(n, &a, &b, j);
	}
	return 0;
}

/* ---- numbers ---- */

static bool number_float(const struct eval_node *n, double a, double b, double *ret)
{
	return n->kind == EVAL_ARITH ? arith_float(n->arith, a, b, ret)
				     : function_float(n->function, a, b, ret);
}

static bool number_int(const struct eval_node *n, int64_t a, int64_t b, int64_t *ret)
{
	const struct eval_node *left = n->args[0], *right = n->args[n->arg_count > 1];

	return n->kind == EVAL_CALL ? function_int(n->function, a, left->is_unsigned, b,
						   right->is_unsigned, n->is_unsigned, ret)
				    : arith_int(n->arith, a, left->is_unsigned, b,
						right->is_unsigned, n->is_unsigned, ret);
}

static bool is_signed(const struct eval_node *n)
{
	return !n->is_unsigned && !n->args[0]->is_unsigned &&
	       !n->args[n->arg_count > 1]->is_unsigned;
}

/* Avoids the division if neighbouring values fall into the same bucket. */
static void bucket_values(const struct eval_values *a, int64_t width, size_t n, struct room *to)
{
	int64_t low = 0;

	for (size_t j = 0; j < n; j++) {
		int64_t v = a->i[j], rest;

		if (unlikely(v < low || (uint64_t)v - (uint64_t)low >= (uint64_t)width)) {
			rest = v % width;
			if (__builtin_sub_overflow(v, rest < 0 ? rest + width : rest, &low)) {
				low = 0;
				to->unknown[j] = 1;
			}
		}
		to->unknown[j] |= unknown_at(a, j);
		to->i[j] = to->unknown[j] ? 0 : low;
	}
}

/* The common operations on signed ints; false: not one of them. */
static bool quick_values(const struct eval_node *n, const struct eval_values *a,
			 const struct eval_values *b, size_t count, struct room *to)
{
	bool adds = n->kind == EVAL_ARITH && n->arith <= ARITH_SUB;

	if (!is_signed(n))
		return false;
	if (n->kind == EVAL_CALL && n->function == FUNCTION_BUCKET &&
	    n->args[1]->kind == EVAL_CONST && !n->args[1]->value.null && n->args[1]->value.i > 0) {
		bucket_values(a, n->args[1]->value.i, count, to);
		return true;
	}
	if (!adds)
		return false;
	for (size_t j = 0; j < count; j++) {
		int64_t v;
		bool over = n->arith == ARITH_ADD ? __builtin_add_overflow(a->i[j], b->i[j], &v)
						  : __builtin_sub_overflow(a->i[j], b->i[j], &v);

		to->unknown[j] = over;
		to->i[j] = over ? 0 : v;
	}
	for (size_t j = 0; (a->unknown || b->unknown) && j < count; j++) {
		to->unknown[j] |= unknown_at(a, j) | unknown_at(b, j);
		if (to->unknown[j])
			to->i[j] = 0;
	}
	return true;
}

static int number_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
			 struct eval_values *ret)
{
	bool negate = n->expr->kind == EXPR_NEG, rounds = arith_rounds(n->expr);
	bool floats = n->rep == REP_FLOAT || rounds;
	struct eval_values a, b;
	struct room to;
	int e;

	assert(n->arg_count == 1 || n->arg_count == 2);
	assert(n->rep == REP_INT || n->rep == REP_FLOAT);
	e = eval_values_make_room(r, n->rep, rows.n, &to, ret);
	if (e >= 0)
		e = operand_values(r, n, floats ? REP_FLOAT : REP_INT, rows, &a, &b);
	if (e < 0)
		return e;
	if (!negate && !rounds && n->rep == REP_INT && quick_values(n, &a, &b, rows.n, &to))
		return 0;
	for (size_t j = 0; j < rows.n; j++) {
		bool known = !unknown_at(&a, j) && !unknown_at(&b, j);

		if (n->rep == REP_FLOAT) {
			to.f[j] = 0;
			known = known && (negate ? arith_float(ARITH_SUB, 0, a.f[j], &to.f[j])
						 : number_float(n, a.f[j], b.f[j], &to.f[j]));
		} else if (rounds) {
			double v;

			known = known && number_float(n, a.f[j], b.f[j], &v) &&
				round_float(v, n->is_unsigned, &to.i[j]);
		} else if (negate) {
			known = known &&
				arith_int(ARITH_SUB, 0, false, a.i[j], n->args[0]->is_unsigned,
					  n->is_unsigned, &to.i[j]);
		} else {
			known = known && number_int(n, a.i[j], b.i[j], &to.i[j]);
		}
		to.unknown[j] = !known;
		if (!known && n->rep != REP_FLOAT)
			to.i[j] = 0;
	}
	return 0;
}

/* ---- choices ---- */

static void eval_values_take(enum rep rep, const struct eval_values *from, size_t j,
			     struct room *to)
{
	to->unknown[j] = unknown_at(from, j);
	if (rep == REP_FLOAT)
		to->f[j] = from->f[j];
	else if (rep == REP_TEXT)
		to->t[j] = from->t[j];
	else
		to->i[j] = from->i[j];
}

static int if_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		     struct eval_values *ret)
{
	struct eval_values cond, yes, no;
	struct room to;
	int e;

	assert(n->arg_count == 3 && n->args[0]->is_bool);
	e = eval_values_make_room(r, n->rep, rows.n, &to, ret);
	if (e >= 0)
		e = eval_node_values(r, n->args[0], rows, &cond);
	if (e >= 0)
		e = values_as(r, n->args[1], n->rep, rows, &yes);
	if (e >= 0)
		e = values_as(r, n->args[2], n->rep, rows, &no);
	if (e < 0)
		return e;
	for (size_t j = 0; j < rows.n; j++)
		eval_values_take(n->rep, !unknown_at(&cond, j) && cond.i[j] ? &yes : &no, j, &to);
	return 0;
}

static int coalesce_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
			   struct eval_values *ret)
{
	struct room to;
	int e;

	assert(n->arg_count > 0); /* the first operand fills `to` */
	e = eval_values_make_room(r, n->rep, rows.n, &to, ret);
	if (e < 0)
		return e;
	for (size_t i = 0; i < n->arg_count; i++) {
		struct eval_values v;

		e = values_as(r, n->args[i], n->rep, rows, &v);
		if (e < 0)
			return e;
		for (size_t j = 0; j < rows.n; j++) {
			if (i == 0 || to.unknown[j])
				eval_values_take(n->rep, &v, j, &to);
		}
	}
	return 0;
}

/* ---- value by value ---- */

static int slow_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		       struct eval_values *ret)
{
	_cleanup_(scalar_done) struct eval_scalar s = {
		.e = r->e, .dims = r->e->dims, .at = SCALAR_ROW, .batch = r->b, .texts = r->texts};
	struct room to;
	int e = eval_values_make_room(r, n->rep, rows.n, &to, ret);

	if (e < 0)
		return e;
	assert(n->rep != REP_WORD); /* only tables and constants have words */
	for (size_t j = 0; j < rows.n; j++) {
		struct value v;

		s.row = row_at(rows, j);
		e = scalar_value(&s, n->expr, &v);
		if (e < 0)
			return e;
		to.unknown[j] = v.null;
		if (n->rep == REP_FLOAT)
			to.f[j] = v.null ? 0 : v.f;
		else if (n->rep == REP_TEXT)
			to.t[j] =
				v.null || !v.t.data ? (struct bytes){(const uint8_t *)"", 0} : v.t;
		else
			to.i[j] = v.null ? 0 : v.i;
	}
	return 0;
}

int eval_node_values(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		     struct eval_values *ret)
{
	assert(rows.n <= CHUNK_ROWS);
	switch (n->kind) {
	case EVAL_CONST:
		return const_values(r, n, rows, ret);
	case EVAL_COLUMN:
		return column_values(r, n, rows, ret);
	case EVAL_BYTES:
		return bytes_values(r, n, rows, ret);
	case EVAL_STOP:
		return stop_values(r, rows, ret);
	case EVAL_TABLE:
		return table_values(r, n, rows, ret);
	case EVAL_COMPARE:
		return eval_values_compare_values(r, n, rows, ret);
	case EVAL_ARITH:
	case EVAL_CALL:
		return number_values(r, n, rows, ret);
	case EVAL_IF:
		return if_values(r, n, rows, ret);
	case EVAL_COALESCE:
		return coalesce_values(r, n, rows, ret);
	case EVAL_SLOW:
		return slow_values(r, n, rows, ret);
	default:
		return logic_values(r, n, rows, ret);
	}
}

int eval_node_floats(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		     struct eval_values *ret)
{
	struct eval_values v;
	struct room to;
	int e;

	if (n->rep == REP_FLOAT)
		return eval_node_values(r, n, rows, ret);
	assert(n->rep == REP_INT);
	e = eval_values_make_room(r, REP_FLOAT, rows.n, &to, ret);
	if (e >= 0)
		e = eval_node_values(r, n, rows, &v);
	if (e < 0)
		return e;
	for (size_t j = 0; j < rows.n; j++) {
		to.unknown[j] = unknown_at(&v, j);
		to.f[j] = int_to_float(v.i[j], n->is_unsigned);
	}
	return 0;
}

int eval_node_texts(struct eval_run *r, const struct eval_node *n, struct row_list rows,
		    struct eval_values *ret)
{
	static const struct bytes empty = {(const uint8_t *)"", 0};
	struct eval_values v;
	struct room to;
	int e;

	if (n->rep == REP_TEXT && n->kind != EVAL_CONST)
		return eval_node_values(r, n, rows, ret);
	e = eval_values_make_room(r, REP_TEXT, rows.n, &to, ret);
	if (e >= 0)
		e = eval_node_values(r, n, rows, &v);
	for (size_t j = 0; j < rows.n && e >= 0; j++) {
		/* The literal null has any type. */
		bool word = n->rep == REP_WORD && !unknown_at(&v, j);

		to.unknown[j] = !word;
		to.t[j] = word ? r->words->texts[v.i[j]] : empty;
	}
	return e;
}
