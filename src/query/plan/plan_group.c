/* SPDX-License-Identifier: Apache-2.0 */
/* plan_group.c: keys, windows and aggregates. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "hist/tally.h"
#include "query/plan/planner.h"

static const char *const signatures[] = {
#define A(NAME, name, sig, doc) [AGGREGATE_##NAME] = sig,
	QUERY_AGGREGATES(A)
#undef A
};

struct group_planner {
	struct planner *pl;
	struct plan_field *fields;
	size_t count, cap, keys;
};

/* ---- arguments ---- */

static int plan_group_wrong(struct group_planner *g, const struct node *n, struct query_kind k,
			    const char *want)
{
	return query_fail(g->pl->c.s, n->pos, n->len, "expected %s of %s, but this is %s",
			  "an aggregate", want, query_kind_text(k));
}

static bool is_countable(struct query_kind k) /* has whole numbers that a histogram can count */
{
	return k.type == QUERY_INT || k.type == QUERY_DUR || k.type == QUERY_SIZE;
}

/* The kind of the values in a histogram of this unit. */
static struct query_kind counted_kind(struct query_kind hist)
{
	const char *unit = query_kind_unit(hist);

	return query_kind_of(!strcmp(unit, "ns")      ? QUERY_DUR
			     : !strcmp(unit, "bytes") ? QUERY_SIZE
						      : QUERY_INT);
}

/* The type of the aggregate of x; QUERY_NULL: it does not take x. */
static struct query_kind result_kind(enum query_aggregate a, struct query_kind x, const char **want)
{
	struct query_kind none = query_kind_of(QUERY_NULL);
	bool number = kind_is_number(x) && x.type != QUERY_UINT;

	switch (a) {
	case AGGREGATE_COUNT:
	case AGGREGATE_DISTINCT:
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
	case AGGREGATE_ANY:
		*want = "values";
		if (x.type == QUERY_HIST || x.type == QUERY_TALLY || x.type == QUERY_NULL)
			return none;
		return a == AGGREGATE_COUNT || a == AGGREGATE_DISTINCT ? query_kind_of(QUERY_INT)
								       : x;
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
		*want = "numbers, points in time or texts";
		return kind_has_order(x) ? x : none;
	case AGGREGATE_SUM:
		*want = "numbers, durations or sizes";
		return number ? query_kind_of(x.type) : none;
	case AGGREGATE_AVG:
	case AGGREGATE_STDDEV:
		*want = "numbers, durations or sizes";
		return !number ? none : query_kind_of(x.type == QUERY_INT ? QUERY_FLOAT : x.type);
	case AGGREGATE_RATE:
		*want = "numbers, durations or sizes";
		return number ? query_kind_of(QUERY_FLOAT) : none;
	case AGGREGATE_PERCENTILE:
		*want = "whole numbers, durations, sizes or histograms";
		if (x.type == QUERY_HIST)
			return counted_kind(x);
		return is_countable(x) ? query_kind_of(x.type) : none;
	case AGGREGATE_HIST:
		if (x.type == QUERY_HIST) /* histograms can be added */
			return x;
		/* fall through */
	case AGGREGATE_QUANTIZE:
	case AGGREGATE_LQUANTIZE:
	case AGGREGATE_LLQUANTIZE:
		*want = "whole numbers, durations or sizes";
		if (!is_countable(x))
			return none;
		return (struct query_kind){.type = a == AGGREGATE_HIST ? QUERY_HIST : QUERY_TALLY,
					   .vocab = query_kind_unit(x)};
	case AGGREGATE_COUNTIF:
	case AGGREGATE_BUSY: /* takes no argument */
	case AGGREGATE_KINDS:
		break;
	}
	*want = "conditions";
	return x.type == QUERY_BOOL ? query_kind_of(QUERY_INT) : none;
}

/* Checks the constant operands after the first: whole numbers of the kind of x. */
static int parameters(struct group_planner *g, struct node *n, struct plan_field *f,
		      struct query_kind k)
{
	size_t i = 0;

	assert(n->first && f->expr);
	for (struct node *a = n->first->next; a; a = a->next) {
		struct expr *e = check_expr(&g->pl->c, a, &k);

		if (!e)
			return g->pl->c.s->failed;
		if (e->type.type != k.type && k.type == f->expr->type.type)
			check_disagree(&g->pl->c, a, f->expr, e); /* the first error counts */
		if (!is_const(e) || e->type.type != k.type)
			return query_fail(g->pl->c.s, a->pos, a->len, "expected %s, as a constant",
					  query_kind_text(k));
		assert(i < ARRAY_SIZE(f->param));
		f->param[i++] = e->value.i;
	}
	return 0;
}

static int check_lquantize(struct group_planner *g, const struct node *n,
			   const struct plan_field *f)
{
	const char *why = tally_lquantize_wrong(f->param[0], f->param[1], f->param[2]);

	return why ? query_fail(g->pl->c.s, n->pos, n->len, "lquantize(x, from, to, step): %s", why)
		   : 0;
}

static int check_llquantize(struct group_planner *g, const struct node *n,
			    const struct plan_field *f)
{
	int64_t base = f->param[0], low = f->param[1], high = f->param[2], steps = f->param[3];
	const char *why = tally_llquantize_wrong(base, low, high, steps);
	int64_t power = 1, least = 1;

	if (why)
		return query_fail(g->pl->c.s, n->pos, n->len,
				  "llquantize(x, base, low, high, steps): %s", why);
	for (int64_t i = 0; i <= high; i++) {
		if (__builtin_mul_overflow(power, base, &power))
			return query_fail(
				g->pl->c.s, n->pos, n->len,
				"llquantize(): the base to the power of high + 1 exceeds 64 bits");
		if (i <= low)
			least = power;
	}
	if (least % steps)
		return query_fail(
			g->pl->c.s, n->pos, n->len,
			"llquantize(): steps must divide %lld, the base to the power of low + 1",
			(long long)least);
	return 0;
}

/* percentile(x, 99.9) */
static int check_quantile(struct group_planner *g, const struct node *n, struct plan_field *f)
{
	const struct node *q = n->first->next;
	double value = q->number.type == QUERY_FLOAT ? q->number.f : (double)q->number.i;

	if (q->kind != NODE_NUMBER ||
	    (q->number.type != QUERY_INT && q->number.type != QUERY_FLOAT) || value <= 0 ||
	    value >= 100)
		return query_fail(g->pl->c.s, q->pos, q->len,
				  "percentile(x, 99.9): expected a number between 0 and 100");
	f->quantile = value / 100;
	assert(f->quantile > 0 && f->quantile < 1);
	return 0;
}

static int takes(struct group_planner *g, const struct node *n, const struct plan_field *f)
{
	unsigned int least = 1, most = 1;
	const char *sig = signatures[f->aggregate];

	switch (f->aggregate) {
	case AGGREGATE_COUNT:
	case AGGREGATE_RATE:
		least = 0;
		break;
	case AGGREGATE_BUSY:
		least = most = 0;
		break;
	case AGGREGATE_LQUANTIZE:
		least = most = 4;
		break;
	case AGGREGATE_LLQUANTIZE:
		least = most = 5;
		break;
	case AGGREGATE_PERCENTILE:
		if (f->quantile > 0)
			break;
		least = most = 2;
		sig = "percentile(x, 99.9)";
		break;
	default:
		break;
	}
	if (n->count >= least && n->count <= most)
		return 0;
	if (!n->count)
		return query_fail(
			g->pl->c.s, n->pos, n->len, "%.*s of what? %.*s(dur), %.*s(bytes)",
			(int)n->text.len, (const char *)n->text.data, (int)n->text.len,
			(const char *)n->text.data, (int)n->text.len, (const char *)n->text.data);
	return query_fail(g->pl->c.s, n->pos, n->len, "%s has other operands", sig);
}

static int check_argument(struct group_planner *g, struct node *n, struct plan_field *f)
{
	struct node *a = n->first;
	const char *want;
	int r;

	for (struct node *x = a; x; x = x->next) {
		if (node_has_aggregate(x) && g->pl->c.scope.kind != SCOPE_FIELDS)
			return query_fail(g->pl->c.s, x->pos, x->len,
					  "nested aggregates; group twice: by a, b | sum(x) | by a "
					  "| max(sum(x))");
	}
	f->expr = f->aggregate == AGGREGATE_COUNTIF ? check_condition(&g->pl->c, a)
						    : check_expr(&g->pl->c, a, NULL);
	if (!f->expr)
		return g->pl->c.s->failed;
	r = check_limits(g->pl->c.s, f->expr);
	if (r < 0)
		return r;
	f->type = result_kind(f->aggregate, f->expr->type, &want);
	if (f->type.type == QUERY_NULL)
		return plan_group_wrong(g, a, f->expr->type, want);
	switch (f->aggregate) {
	case AGGREGATE_LQUANTIZE:
		r = parameters(g, n, f, query_kind_of(f->expr->type.type));
		return r < 0 ? r : check_lquantize(g, n, f);
	case AGGREGATE_LLQUANTIZE:
		r = parameters(g, n, f, query_kind_of(QUERY_INT));
		return r < 0 ? r : check_llquantize(g, n, f);
	case AGGREGATE_PERCENTILE:
		return f->quantile > 0 ? 0 : check_quantile(g, n, f);
	default:
		return 0;
	}
}

/* busy(): the durations of its calls, which the engine divides among windows. */
static int check_busy(struct group_planner *g, const struct node *n, struct plan_field *f)
{
	struct planner *pl = g->pl;

	if (pl->staged || pl->plan->user || pl->plan->table != TABLE_OP)
		return query_fail(
			pl->c.s, n->pos, n->len,
			"busy() works on calls: use it in the first group of a query of calls");
	f->expr = check_table_name(pl->c.s, TABLE_OP, bytes_of("dur"), n->pos, n->len);
	if (!f->expr)
		return pl->c.s->failed;
	f->type = f->expr->type;
	return 0;
}

/* ---- fields ---- */

static int add_field(struct group_planner *g, const struct query_item *item,
		     const struct plan_field *f)
{
	struct query_source *s = g->pl->c.s;
	int r = f->hidden ? 0 : planner_check_name(g->pl, g->fields, g->count, item, f->name);

	if (r < 0)
		return r;
	assert(g->count <= g->cap && g->cap <= QUERY_FIELDS_MAX);
	if (g->count == g->cap)
		return query_fail(s, item->expr->pos, item->expr->len,
				  "a stage has more than %d fields", QUERY_FIELDS_MAX);
	g->fields[g->count++] = *f;
	return 0;
}

static int add_aggregate(struct group_planner *g, const struct query_item *item, bool hidden)
{
	struct node *n = item->expr;
	struct plan_field f = {.kind = FIELD_AGGREGATE, .hidden = hidden};
	int r;

	assert(node_is_aggregate(n));
	(void)aggregate_find(n->text, &f.aggregate, &f.quantile);
	f.name = planner_item_name(g->pl, item);
	if (!f.name)
		return g->pl->c.s->failed;
	/* a calculation may use the same aggregate twice */
	for (size_t i = 0; hidden && i < g->count; i++) {
		if (!strcmp(g->fields[i].name, f.name))
			return 0;
	}
	r = takes(g, n, &f);
	f.type = query_kind_of(f.aggregate == AGGREGATE_RATE ? QUERY_FLOAT : QUERY_INT);
	if (r >= 0 && f.aggregate == AGGREGATE_BUSY)
		r = check_busy(g, n, &f);
	else if (r >= 0 && n->count)
		r = check_argument(g, n, &f);
	return r < 0 ? r : add_field(g, item, &f);
}

/* Adds the aggregates inside a calculated item. */
static int add_parts(struct group_planner *g, struct node *n)
{
	struct query_item item = {.expr = n};

	if (node_is_aggregate(n))
		return add_aggregate(g, &item, true);
	for (struct node *a = n->first; a && !g->pl->c.s->failed; a = a->next)
		add_parts(g, a);
	return g->pl->c.s->failed;
}

static int add_key(struct group_planner *g, struct query_item *item)
{
	struct plan_field f = {.kind = FIELD_KEY};

	if (!item->expr)
		return query_fail(g->pl->c.s, 0, 0, "keys must be named, * is not allowed");
	if (node_is_aggregate(item->expr) && g->pl->c.scope.kind != SCOPE_FIELDS)
		return query_fail(g->pl->c.s, item->expr->pos, item->expr->len,
				  "an aggregate cannot be a key: by op | %.*s",
				  (int)MIN(item->expr->len, 40u),
				  g->pl->c.s->text + item->expr->pos);
	f.expr = check_expr(&g->pl->c, item->expr, NULL);
	if (!f.expr || check_limits(g->pl->c.s, f.expr) < 0)
		return g->pl->c.s->failed;
	f.type = f.expr->type;
	if (f.type.type == QUERY_HIST || f.type.type == QUERY_TALLY || f.type.type == QUERY_NULL)
		return query_fail(g->pl->c.s, item->expr->pos, item->expr->len,
				  "grouping by %s is not supported", query_kind_text(f.type));
	f.name = planner_item_name(g->pl, item);
	return f.name ? add_field(g, item, &f) : g->pl->c.s->failed;
}

/* ---- windows ---- */

/* The name of the time of a row; NULL: the table has none. */
static const char *time_name(enum table_id table)
{
	const struct table_def *t = schema_table(table);

	if (t->dur != NO_COLUMN)
		return "stop"; /* start + dur */
	if (t->stop != NO_COLUMN)
		return t->columns[t->stop].name;
	return t->start != NO_COLUMN ? t->columns[t->start].name : NULL;
}

static struct expr *row_time(struct group_planner *g, const struct query_part *by)
{
	struct planner *pl = g->pl;
	struct scope *scope = &pl->c.scope;
	const char *name = pl->plan->user ? NULL : time_name(pl->plan->table);
	struct bytes text = {(const uint8_t *)name, name ? strlen(name) : 0};
	struct node n = {.kind = NODE_NAME, .pos = by->pos, .len = by->len, .text = text};
	int found = -1;

	if (scope->kind != SCOPE_FIELDS || scope->open) {
		if (name)
			return scope->open ? check_name(&pl->c, &n)
					   : check_table_name(pl->c.s, pl->plan->table, text,
							      by->pos, by->len);
		return query_fail_at(pl->c.s, by,
				     "rows of %s have no time, so 'every' does not apply",
				     schema_table(pl->plan->table)->name);
	}
	for (size_t i = 0; i < scope->count; i++) {
		if (scope->fields[i].type.type != QUERY_TIME)
			continue;
		if (found >= 0)
			return query_fail_at(
				pl->c.s, by,
				"several fields of the previous stage are points in time: %s, "
				"%s; group by bucket(%s, ...)",
				scope->fields[found].name, scope->fields[i].name,
				scope->fields[found].name);
		found = (int)i;
	}
	if (found < 0)
		return query_fail_at(
			pl->c.s, by,
			"no field of the previous stage is a point in time, so 'every' does not "
			"apply");
	return planner_field(pl, (size_t)found);
}

static int add_window(struct group_planner *g, const struct query_part *by)
{
	struct node at = {.pos = by->pos, .len = by->len};
	struct query_item item = {.expr = &at};
	struct expr *time = row_time(g, by);
	struct expr *width =
		time ? expr_make_int(g->pl->c.s, query_kind_of(QUERY_DUR), &at, by->number) : NULL;
	struct plan_field f = {.name = "window",
			       .type = query_kind_of(QUERY_TIME),
			       .kind = FIELD_WINDOW,
			       .param = {by->number}};

	if (!width)
		return g->pl->c.s->failed;
	f.expr = expr_make_call(g->pl->c.s, FUNCTION_BUCKET, f.type, &at, time, width);
	return f.expr ? add_field(g, &item, &f) : g->pl->c.s->failed;
}

/* ---- items calculated from aggregates ---- */

static int add_calculated(struct group_planner *g, struct plan_field *to, size_t *count,
			  struct query_item *item, size_t plain)
{
	struct planner *pl = g->pl;
	bool aggregate = node_is_aggregate(item->expr);
	struct expr *e =
		aggregate ? planner_field(pl, plain) : check_expr(&pl->c, item->expr, NULL);
	const char *name;

	assert(!aggregate || (plain < g->count && g->fields[plain].kind == FIELD_AGGREGATE));
	if (!e || check_limits(pl->c.s, e) < 0)
		return pl->c.s->failed;
	name = aggregate ? g->fields[plain].name : planner_item_name(pl, item);
	if (!name || (!aggregate && planner_check_name(pl, to, *count, item, name) < 0))
		return pl->c.s->failed;
	to[(*count)++] = planner_made_field(name, e);
	return 0;
}

/* Outputs the keys, then the items in their order. */
static int calculate(struct group_planner *g, const struct query_part *part)
{
	struct planner *pl = g->pl;
	size_t count = g->keys, plain = g->keys, cap = g->keys;
	struct plan_field *to;

	assert(g->keys <= g->count);
	for (struct query_item *i = part->items; i; i = i->next)
		cap++;
	to = query_array(pl->c.s, cap, struct plan_field);
	if (!to || planner_keep_fields(pl, to, count) < 0)
		return pl->c.s->failed;
	pl->c.scope.see_hidden = true;
	for (struct query_item *i = part->items; i; i = i->next) {
		if (count == QUERY_FIELDS_MAX)
			return query_fail(pl->c.s, part->pos, part->len,
					  "a stage has more than %d fields", QUERY_FIELDS_MAX);
		if (add_calculated(g, to, &count, i, plain) < 0)
			return pl->c.s->failed;
		plain += node_is_aggregate(i->expr);
	}
	assert(count <= cap);
	planner_add_fields(pl, STAGE_SELECT, part->pos, to, count);
	return pl->c.s->failed;
}

/* ---- the order of groups ---- */

/* True if a sort follows before rows are dropped or grouped again. */
static bool sort_follows(const struct query_part *part)
{
	for (; part; part = part->next) {
		if (part->kind == PART_SORT || part->kind == PART_BY ||
		    part->kind == PART_AGGREGATE)
			return true;
		if (part->kind == PART_HEAD || part->kind == PART_TAIL)
			return false;
	}
	return false;
}

/* By window, then the largest first aggregate; ties by the keys. */
static int default_sort(struct group_planner *g, bool window, uint32_t pos)
{
	struct planner *pl = g->pl;
	const struct scope *scope = &pl->c.scope;
	struct sort_key *keys = query_array(pl->c.s, g->keys + 1, struct sort_key);
	struct plan_stage *stage;
	size_t count = 0;

	assert(g->keys <= scope->count);
	if (!keys)
		return pl->c.s->failed;
	if (window)
		keys[count++] = (struct sort_key){0, false};
	for (size_t i = g->keys; i < scope->count; i++) {
		if (!scope->fields[i].hidden && kind_has_order(scope->fields[i].type)) {
			keys[count++] = (struct sort_key){(unsigned int)i, true};
			break;
		}
	}
	for (size_t i = window; i < g->keys; i++)
		keys[count++] = (struct sort_key){(unsigned int)i, false};
	assert(count > 0 && count <= g->keys + 1);
	stage = planner_add_stage(pl, STAGE_SORT, pos);
	if (!stage)
		return pl->c.s->failed;
	stage->keys = keys;
	stage->key_count = count;
	return 0;
}

/* ---- all ---- */

static int no_aggregate(struct group_planner *g, const struct query_item *item)
{
	if (item->expr && !check_expr(&g->pl->c, item->expr, NULL))
		return g->pl->c.s->failed;
	return query_fail(g->pl->c.s, item->expr ? item->expr->pos : 0,
			  item->expr ? item->expr->len : 0,
			  "expected an aggregate; keys go after by, filters in a separate stage");
}

static int add_items(struct group_planner *g, const struct query_part *part, bool *ret_calculated)
{
	*ret_calculated = false;
	for (struct query_item *i = part->items; i; i = i->next) {
		if (!i->expr || !node_has_aggregate(i->expr))
			return no_aggregate(g, i);
		if (!node_is_aggregate(i->expr)) {
			*ret_calculated = true;
			continue;
		}
		if (add_aggregate(g, i, false) < 0)
			return g->pl->c.s->failed;
	}
	/* after the plain ones, so that those keep their positions */
	for (struct query_item *i = part->items; i && !g->pl->c.s->failed; i = i->next) {
		if (!node_is_aggregate(i->expr))
			add_parts(g, i->expr);
	}
	return g->pl->c.s->failed;
}

/* True if calls are grouped by a file, but not by both of their files. */
static bool is_by_file(const struct group_planner *g)
{
	uint64_t set = 0;

	for (size_t i = 0; i < g->keys; i++)
		set |= expr_columns(g->fields[i].expr);
	return g->pl->plan->table == TABLE_OP && set >> OP_FILE_ID & 1 && !(set >> OP_FILE2_ID & 1);
}

static int place_group(struct group_planner *g, const struct query_part *part)
{
	struct planner *pl = g->pl;

	if (pl->staged) {
		planner_add_fields(pl, STAGE_GROUP, part->pos, g->fields, g->count);
		return pl->c.s->failed;
	}
	pl->plan->grouped = true;
	pl->plan->each_file = is_by_file(g);
	pl->plan->fields = g->fields;
	pl->plan->field_count = g->count;
	pl->staged = true;
	planner_set_scope(pl, g->fields, g->count);
	return 0;
}

static size_t count_aggregates(const struct node *n)
{
	size_t count = 1;

	if (node_is_aggregate(n))
		return 1;
	for (const struct node *a = n->first; a; a = a->next)
		count += count_aggregates(a);
	return count;
}

/* An upper bound for the number of fields. */
static size_t plan_group_fields_needed(const struct query_part *by,
				       const struct query_part *aggregates)
{
	size_t count = 1; /* the window */

	for (const struct query_item *i = by ? by->items : NULL; i; i = i->next)
		count++;
	for (const struct query_item *i = aggregates->items; i; i = i->next)
		count += i->expr ? count_aggregates(i->expr) : 1;
	return MIN(count, (size_t)QUERY_FIELDS_MAX);
}

int planner_group(struct planner *pl, const struct query_part *by,
		  const struct query_part *aggregates)
{
	struct group_planner g = {.pl = pl};
	bool window = by && by->number, calculated;
	int r;

	assert(aggregates->kind == PART_AGGREGATE && (!by || by->kind == PART_BY));
	g.cap = plan_group_fields_needed(by, aggregates);
	g.fields = query_array(pl->c.s, g.cap, struct plan_field);
	r = g.fields && window ? add_window(&g, by) : pl->c.s->failed;
	for (struct query_item *i = by ? by->items : NULL; i && r >= 0; i = i->next)
		r = add_key(&g, i);
	g.keys = g.count;
	if (r >= 0)
		r = add_items(&g, aggregates, &calculated);
	if (r >= 0)
		r = place_group(&g, aggregates);
	if (r >= 0 && calculated)
		r = calculate(&g, aggregates);
	if (r < 0)
		return r;
	pl->keys = (unsigned int)g.keys;
	if (!g.keys || sort_follows(pl->parts ? pl->parts->next : NULL))
		return 0;
	return default_sort(&g, window, aggregates->pos);
}
