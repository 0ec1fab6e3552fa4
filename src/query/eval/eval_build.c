/* SPDX-License-Identifier: Apache-2.0 */
/* eval_build.c: converts an expression to the tree of nodes that is run. */
#include <errno.h>

#include "base/array.h"
#include "query/eval/eval_internal.h"

/* ---- what an expression depends on ---- */

enum hang { HANG_NOTHING, HANG_ID, HANG_CODE, HANG_ROW };

struct hangs {
	enum hang on;
	unsigned int column;
	enum table_id table; /* HANG_ID */
	const char *vocab;   /* HANG_CODE */
	bool peer;	     /* HANG_ID: uses the file's peer if the call has none */
	bool text;	     /* handles texts, so that a table pays off */
};

static void hangs_join(struct hangs *a, const struct hangs *b)
{
	a->text |= b->text;
	if (b->on == HANG_NOTHING)
		return;
	if (a->on == HANG_NOTHING) {
		bool text = a->text;

		*a = *b;
		a->text = text;
	} else if (a->on != b->on || a->column != b->column || a->peer != b->peer ||
		   a->table != b->table) {
		a->on = HANG_ROW;
	}
}

static struct hangs hangs_of(const struct expr *e)
{
	struct hangs h = {.on = HANG_NOTHING};

	switch (e->kind) {
	case EXPR_CONST:
		return h;
	case EXPR_STOP:
	case EXPR_FIELD:
	case EXPR_ROW:
		h.on = HANG_ROW;
		return h;
	case EXPR_USER:
		if (!expr_is_id(e->arg[0]))
			break;
		return (struct hangs){.on = HANG_ID,
				      .column = e->arg[0]->column,
				      .table = e->arg[0]->type.entity,
				      .text = true};
	case EXPR_COLUMN:
		h.on = e->type.type == QUERY_CODE ? HANG_CODE : HANG_ROW;
		h.column = e->column;
		h.vocab = e->type.vocab;
		return h;
	case EXPR_NAME:
		return (struct hangs){.on = HANG_ID,
				      .column = e->column,
				      .table = query_name_table(e->name),
				      .peer = e->name == QNAME_PEER,
				      .text = true};
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
	case EXPR_CALL:
		h.text = true;
		break;
	default:
		h.text = e->type.type == QUERY_TEXT;
		break;
	}
	for (unsigned int i = 0; i < e->arg_count; i++) {
		struct hangs arg = hangs_of(e->arg[i]);

		h.text |= e->arg[i]->type.type == QUERY_TEXT;
		hangs_join(&h, &arg);
	}
	return h;
}

/* Notes what else the entries of a table by id depend on. */
static void note_uses(struct eval_table *t, const struct expr *e)
{
	if (e->kind == EXPR_NAME) {
		t->uses_process |= e->name == QNAME_PID || e->name == QNAME_PPID ||
				   e->name == QNAME_INNER_PID || e->name == QNAME_ARGV ||
				   e->name == QNAME_HOST_NAME || e->name == QNAME_PROCESS;
		t->uses_leader |= e->name == QNAME_PROCESS;
		t->uses_host |= e->name == QNAME_HOST_NAME;
		t->uses_cgroup |= e->name == QNAME_CGROUP_PATH || e->name == QNAME_CONTAINER ||
				  e->name == QNAME_UNIT;
		t->uses_latest |=
			e->name == QNAME_THREAD || e->name == QNAME_FILE || e->name == QNAME_FILE2;
	}
	for (unsigned int i = 0; e->kind != EXPR_CONST && i < e->arg_count; i++)
		note_uses(t, e->arg[i]);
}

/* ---- nodes ---- */

/* NULL after a failure, which sticks in the eval. */
static struct eval_node *build_node(struct eval *e, struct eval_expr *x, const struct expr *from);

static struct eval_node *build_fail(struct eval *e, int r)
{
	e->failed = e->failed ? e->failed : r;
	return NULL;
}

static enum rep rep_of(struct query_kind k)
{
	switch (k.type) {
	case QUERY_FLOAT:
		return REP_FLOAT;
	case QUERY_TEXT:
	case QUERY_HIST:
		return REP_TEXT;
	default:
		return REP_INT;
	}
}

static struct eval_node *node_new(struct eval *e, enum eval_node_kind kind, const struct expr *from,
				  size_t arg_count)
{
	struct eval_node *n = arena_alloc(&e->memory, 1, sizeof(*n));

	if (n && arg_count)
		n->args = arena_alloc(&e->memory, arg_count, sizeof(*n->args));
	if (!n || (arg_count && !n->args))
		return build_fail(e, -ENOMEM);
	n->kind = kind;
	n->expr = from;
	n->rep = rep_of(from->type);
	n->is_bool = from->type.type == QUERY_BOOL || from->type.type == QUERY_NULL;
	n->is_unsigned = kind_unsigned(from->type);
	n->arg_count = arg_count;
	n->cost = 1;
	return n;
}

/* A node with the operands of the expression. */
static struct eval_node *node_with_args(struct eval *e, struct eval_expr *x,
					enum eval_node_kind kind, const struct expr *from)
{
	struct eval_node *n = node_new(e, kind, from, from->arg_count);

	for (unsigned int i = 0; n && i < from->arg_count; i++) {
		n->args[i] = build_node(e, x, from->arg[i]);
		if (!n->args[i])
			return NULL;
		n->cost += n->args[i]->cost;
	}
	return n;
}

static struct eval_node *node_const(struct eval *e, struct eval_expr *x, const struct expr *from,
				    const struct value *v)
{
	struct eval_node *n = node_new(e, EVAL_CONST, from, 0);
	uint32_t word;
	int r;

	if (!n)
		return NULL;
	n->value = *v;
	n->cost = 0;
	if (n->rep != REP_TEXT || from->type.type != QUERY_TEXT)
		return n;
	n->rep = REP_WORD;
	n->value.i = 0;
	if (v->null)
		return n;
	r = dictionary_add(&x->words, v->t, false, &word);
	if (r < 0)
		return build_fail(e, r);
	n->value.i = word;
	n->value.t = x->words.texts[word];
	return n;
}

/* Computes a constant expression in advance. */
static struct eval_node *build_const(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	_cleanup_(arena_free) struct arena texts = {0};
	_cleanup_(scalar_done) struct eval_scalar s = {.e = e, .at = SCALAR_NONE, .texts = &texts};
	struct value v;
	int r = scalar_value(&s, from, &v);

	return r < 0 ? build_fail(e, r) : node_const(e, x, from, &v);
}

/* ---- tables ---- */

/* A table with its entry for "no id". */
static struct eval_table *eval_build_table_new(struct eval *e, struct eval_expr *x,
					       const struct expr *from, const struct hangs *h)
{
	struct eval_table *t = arena_alloc(&e->memory, 1, sizeof(*t));
	int r;

	assert(h->on == HANG_ID || h->on == HANG_CODE);
	if (!t || array_add(e->tables, e->table_count, e->tables_cap, t) < 0) {
		build_fail(e, -ENOMEM);
		return NULL;
	}
	t->expr = from;
	t->is_bool = from->type.type == QUERY_BOOL || from->type.type == QUERY_NULL;
	t->rep = from->type.type == QUERY_TEXT ? REP_WORD : rep_of(from->type);
	t->by_code = h->on == HANG_CODE;
	t->ids = h->table;
	t->column = h->column;
	t->other = -1;
	t->words = &x->words;
	note_uses(t, from);
	r = table_begin(e, t);
	if (r < 0) {
		build_fail(e, r);
		return NULL;
	}
	assert(t->none.count == 1); /* the entry for unknown ids */
	return t;
}

/* peer: the address given to the call, else the file's. A second table tells which ids have an address. */
static void table_peer(struct eval *e, struct eval_expr *x, struct eval_table *t,
		       const struct hangs *h)
{
	struct expr *name = arena_alloc(&e->memory, 1, sizeof(*name)),
		    *is_null = arena_alloc(&e->memory, 1, sizeof(*name));

	if (!name || !is_null) {
		build_fail(e, -ENOMEM);
		return;
	}
	name->kind = EXPR_NAME;
	name->type.type = QUERY_TEXT;
	name->name = QNAME_PEER;
	name->column = h->column;
	is_null->kind = EXPR_IS_NULL;
	is_null->type.type = QUERY_BOOL;
	is_null->arg[0] = name;
	is_null->arg_count = 1;
	t->known = eval_build_table_new(e, x, is_null, h);
	t->other = OP_FILE_ID;
}

static struct eval_node *build_table(struct eval *e, struct eval_expr *x, const struct expr *from,
				     const struct hangs *h)
{
	struct eval_table *t = eval_build_table_new(e, x, from, h);
	struct eval_node *n = t ? node_new(e, EVAL_TABLE, from, 0) : NULL;

	if (!n)
		return NULL;
	/* Only op has the column `peer_id`. */
	if (h->peer && h->column == OP_PEER_ID)
		table_peer(e, x, t, h);
	n->table = t;
	n->rep = t->rep;
	n->cost = t->by_code ? 2 : 3;
	return e->failed ? NULL : n;
}

/* ---- comparisons of ints with constants ---- */

#define INT_LOW	 ((__int128)INT64_MIN)
#define INT_HIGH ((__int128)INT64_MAX)

/* v in [low, high], clamped to the argument's range; empty if low > high. */
static struct eval_node *node_range(struct eval *e, const struct expr *from, struct eval_node *arg,
				    __int128 low, __int128 high)
{
	struct eval_node *n = node_new(e, EVAL_RANGE, from, 1);
	__int128 least = arg->is_unsigned ? 0 : INT_LOW;
	__int128 most = arg->is_unsigned ? (__int128)UINT64_MAX : INT_HIGH;

	if (!n)
		return NULL;
	assert(arg->rep == REP_INT);
	n->args[0] = arg;
	n->cost = arg->cost + 1;
	low = MAX(low, least);
	high = MIN(high, most);
	if (low > high) { /* matches nothing (not everything) */
		low = least;
		high = most;
		n->negate = true;
	}
	assert(low >= least && low <= high && high <= most);
	n->low = (uint64_t)low;
	n->span = (uint64_t)high - (uint64_t)low;
	return n;
}

static bool is_int(const struct eval_node *n)
{
	return n->rep == REP_INT;
}

static struct eval_node *compare_const(struct eval *e, const struct expr *from,
				       enum expr_compare cmp, struct eval_node *arg,
				       struct eval_node *constant)
{
	__int128 low, high;
	struct eval_node *n;

	assert(constant->kind == EVAL_CONST && !constant->value.null);
	query_const_range(cmp, constant->expr->type, &constant->value, &low, &high);
	n = node_range(e, from, arg, low, high);
	if (n)
		n->negate ^= cmp == COMPARE_NE;
	return n;
}

static struct eval_node *compare_nodes(struct eval *e, struct eval_expr *x, const struct expr *from,
				       enum expr_compare cmp, struct eval_node *a,
				       struct eval_node *b)
{
	struct value unknown = {.null = true};
	struct eval_node *n;

	if ((a->kind == EVAL_CONST && a->value.null) || (b->kind == EVAL_CONST && b->value.null))
		return node_const(e, x, from, &unknown);
	if (is_int(a) && b->kind == EVAL_CONST && b->rep != REP_WORD)
		return compare_const(e, from, cmp, a, b);
	if (is_int(b) && a->kind == EVAL_CONST && a->rep != REP_WORD)
		return compare_const(e, from, query_compare_turned(cmp), b, a);
	n = node_new(e, EVAL_COMPARE, from, 2);
	if (!n)
		return NULL;
	n->args[0] = a;
	n->args[1] = b;
	n->cmp = cmp;
	n->cost = a->cost + b->cost + (is_int(a) && is_int(b) ? 3 : 10);
	return n;
}

/* True if a code or an entity is compared with a text, which is then compared with its word. */
static bool mixes_text(const struct expr *a, const struct expr *b)
{
	return (a->type.type == QUERY_TEXT) != (b->type.type == QUERY_TEXT) &&
	       a->type.type != QUERY_NULL && b->type.type != QUERY_NULL;
}

static struct eval_node *build_slow(struct eval *e, const struct expr *from)
{
	struct eval_node *n = node_new(e, EVAL_SLOW, from, 0);

	if (n)
		n->cost = 200;
	return n;
}

static struct eval_node *build_compare(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	struct eval_node *a, *b;

	if (mixes_text(from->arg[0], from->arg[1]))
		return build_slow(e, from);
	a = build_node(e, x, from->arg[0]);
	b = build_node(e, x, from->arg[1]);
	return a && b ? compare_nodes(e, x, from, from->cmp, a, b) : NULL;
}

static struct eval_node *build_range(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	struct eval_node *v, *low, *high, *n;

	if (mixes_text(from->arg[0], from->arg[1]) || mixes_text(from->arg[0], from->arg[2]))
		return build_slow(e, from);
	v = build_node(e, x, from->arg[0]);
	low = build_node(e, x, from->arg[1]);
	high = build_node(e, x, from->arg[2]);
	if (!v || !low || !high)
		return NULL;
	if (is_int(v) && low->kind == EVAL_CONST && high->kind == EVAL_CONST && !low->value.null &&
	    !high->value.null) {
		__int128 from_low, to_high, unused;

		query_const_range(COMPARE_GE, low->expr->type, &low->value, &from_low, &unused);
		query_const_range(COMPARE_LE, high->expr->type, &high->value, &unused, &to_high);
		return node_range(e, from, v, from_low, to_high);
	}
	n = node_new(e, EVAL_ALL, from, 2);
	if (!n)
		return NULL;
	n->args[0] = compare_nodes(e, x, from, COMPARE_GE, v, low);
	n->args[1] = compare_nodes(e, x, from, COMPARE_LE, v, high);
	n->cost = 20;
	return e->failed ? NULL : n;
}

/* ---- in ---- */

static struct eval_node *fill_list(struct eval *e, struct eval_node *n, const struct expr *from)
{
	uint64_t span;

	assert(from->count > 1 && n->arg_count == 1);
	n->low = (uint64_t)from->list[0].i;
	span = (uint64_t)from->list[from->count - 1].i - n->low;
	if (span >= SET_SPAN_MAX) {
		n->kind = EVAL_LIST;
		n->cost = n->args[0]->cost + 10;
		n->list = arena_alloc(&e->memory, from->count, sizeof(*n->list));
		n->count = from->count;
		for (size_t i = 0; n->list && i < from->count; i++)
			n->list[i] = from->list[i].i;
		return n->list ? n : build_fail(e, -ENOMEM);
	}
	n->span = span;
	n->set = arena_alloc(&e->memory, span / 64 + 1, sizeof(*n->set));
	for (size_t i = 0; n->set && i < from->count; i++) {
		uint64_t at = (uint64_t)from->list[i].i - n->low;

		assert(at <= span); /* the list is sorted */
		n->set[at / 64] |= 1ull << (at % 64);
	}
	n->cost = n->args[0]->cost + 2;
	return n->set ? n : build_fail(e, -ENOMEM);
}

static struct eval_node *build_in(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	struct eval_node *arg, *n;

	if (rep_of(from->arg[0]->type) != REP_INT || !from->count || from->list[0].t.data)
		return build_slow(e, from);
	arg = build_node(e, x, from->arg[0]);
	if (!arg)
		return NULL;
	if (from->count == 1) {
		__int128 v = arg->is_unsigned ? (__int128)(uint64_t)from->list[0].i
					      : (__int128)from->list[0].i;

		return node_range(e, from, arg, v, v);
	}
	n = node_new(e, EVAL_SET, from, 1);
	if (!n)
		return NULL;
	n->args[0] = arg;
	return fill_list(e, n, from);
}

/* ---- and, or ---- */

static size_t count_operands(const struct expr *e, enum expr_kind kind)
{
	return e->kind == kind ? count_operands(e->arg[0], kind) + count_operands(e->arg[1], kind)
			       : 1;
}

static void build_operands(struct eval *e, struct eval_expr *x, const struct expr *from,
			   enum expr_kind kind, struct eval_node *n, size_t *at)
{
	struct eval_node *arg;

	if (from->kind == kind) {
		build_operands(e, x, from->arg[0], kind, n, at);
		build_operands(e, x, from->arg[1], kind, n, at);
		return;
	}
	arg = e->failed ? NULL : build_node(e, x, from);
	if (!arg)
		return;
	assert(*at < n->arg_count); /* as count_operands() counted */
	n->cost += arg->cost;
	n->args[(*at)++] = arg;
}

/* Puts cheap operands first, so that expensive ones see only the rows left. */
static void sort_by_cost(struct eval_node **args, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct eval_node *n = args[i];
		size_t k = i;

		for (; k && args[k - 1]->cost > n->cost; k--)
			args[k] = args[k - 1];
		args[k] = n;
	}
}

static struct eval_node *build_logic(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	struct eval_node *n = node_new(e, from->kind == EXPR_AND ? EVAL_ALL : EVAL_ANY, from,
				       count_operands(from, from->kind));
	size_t at = 0;

	assert(from->kind == EXPR_AND || from->kind == EXPR_OR);
	if (n)
		build_operands(e, x, from, from->kind, n, &at);
	if (e->failed)
		return NULL;
	assert(at == n->arg_count);
	sort_by_cost(n->args, n->arg_count);
	return n;
}

/* ---- the rest ---- */

static struct eval_node *build_coalesce(struct eval *e, struct eval_expr *x,
					enum eval_node_kind kind, const struct expr *from)
{
	bool words = from->type.type == QUERY_TEXT;
	size_t first = kind == EVAL_IF; /* the condition comes first */
	struct eval_node *n = node_with_args(e, x, kind, from);

	if (!n)
		return NULL;
	assert(n->arg_count > first);
	for (size_t i = first; words && i < n->arg_count; i++)
		words = n->args[i]->rep == REP_WORD || n->args[i]->expr->type.type == QUERY_NULL;
	if (words)
		n->rep = REP_WORD;
	return n;
}

static struct eval_node *build_call(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	struct eval_node *n;

	switch (from->function) {
	case FUNCTION_DIR:
	case FUNCTION_BASE:
	case FUNCTION_EXT:
	case FUNCTION_LOWER:
	case FUNCTION_LEN:
	case FUNCTION_TEXT:
		return build_slow(e, from);
	case FUNCTION_ID:
		return build_node(e, x, from->arg[0]);
	case FUNCTION_COALESCE:
		return build_coalesce(e, x, EVAL_COALESCE, from);
	default:
		break;
	}
	n = node_with_args(e, x, EVAL_CALL, from);
	if (!n)
		return NULL;
	n->function = from->function;
	n->cost += 4;
	return n;
}

static struct eval_node *build_kind(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	struct eval_node *n;

	switch (from->kind) {
	case EXPR_COLUMN:
		n = node_new(e, rep_of(from->type) == REP_TEXT ? EVAL_BYTES : EVAL_COLUMN, from, 0);
		if (n)
			n->column = from->column;
		return n;
	case EXPR_STOP:
		n = node_new(e, EVAL_STOP, from, 0);
		if (!n)
			return NULL;
		n->start = schema_table(from->table)->start;
		n->dur = schema_table(from->table)->dur;
		return n;
	case EXPR_AND:
	case EXPR_OR:
		return build_logic(e, x, from);
	case EXPR_COMPARE:
		return build_compare(e, x, from);
	case EXPR_RANGE:
		return build_range(e, x, from);
	case EXPR_IN:
		return build_in(e, x, from);
	case EXPR_GLOB:
	case EXPR_REGEX:
	case EXPR_LIKE:
	case EXPR_ROW:
	case EXPR_USER:
		return build_slow(e, from);
	case EXPR_CALL:
		return build_call(e, x, from);
	case EXPR_CASE:
		return build_coalesce(e, x, EVAL_IF, from);
	case EXPR_NOT:
		return node_with_args(e, x, EVAL_NOT, from);
	case EXPR_IS_NULL:
		return node_with_args(e, x, EVAL_IS_NULL, from);
	case EXPR_NEG:
		return node_with_args(e, x, EVAL_ARITH, from);
	case EXPR_HAS:
		n = node_with_args(e, x, EVAL_BITS, from);
		if (!n)
			return NULL;
		n->mask = from->mask;
		n->bits = from->bits;
		return n;
	default:
		assert(from->kind == EXPR_ARITH);
		n = node_with_args(e, x, EVAL_ARITH, from);
		if (!n)
			return NULL;
		n->arith = from->arith;
		n->cost += 2;
		return n;
	}
}

static struct eval_node *build_node(struct eval *e, struct eval_expr *x, const struct expr *from)
{
	struct hangs h = hangs_of(from);

	if (h.on == HANG_NOTHING)
		return build_const(e, x, from);
	if (h.on == HANG_ID || (h.on == HANG_CODE && from->kind != EXPR_COLUMN && h.text &&
				(from->type.type == QUERY_BOOL || from->type.type == QUERY_TEXT)))
		return build_table(e, x, from, &h);
	return build_kind(e, x, from);
}

int eval_patterns(struct eval *e, const struct expr *from, struct error *err)
{
	int r;

	if (from->kind == EXPR_GLOB || from->kind == EXPR_REGEX || from->kind == EXPR_LIKE) {
		_cleanup_(query_pattern_freep) struct query_pattern *p = NULL;

		r = query_pattern_new(&p, from->kind, from->pattern, err);
		if (r < 0)
			return r;
		r = map_set(&e->patterns, (uintptr_t)from, (uintptr_t)p);
		if (r < 0)
			return r;
		(void)TAKE_PTR(p); /* the map owns it */
	}
	for (unsigned int i = 0; i < from->arg_count; i++) {
		r = eval_patterns(e, from->arg[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool reads_fields(const struct expr *e)
{
	bool reads = e->kind == EXPR_FIELD;

	for (unsigned int i = 0; i < e->arg_count && !reads; i++)
		reads = reads_fields(e->arg[i]);
	return reads;
}

int build_expr(struct eval *e, struct eval_expr *x, struct error *err)
{
	int r;

	if (reads_fields(x->expr))
		return error_set(err, -EINVAL,
				 "a field of an earlier stage cannot be evaluated over rows");
	r = eval_patterns(e, x->expr, err);
	if (r < 0)
		return r;
	x->root = build_node(e, x, x->expr);
	return e->failed;
}
