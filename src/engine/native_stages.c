// SPDX-License-Identifier: Apache-2.0
/* native_stages.c: where, select, sort, head and groups over rows of values. */
#include <errno.h>
#include <string.h>

#include "base/strpool.h"
#include "engine/native_internal.h"
#include "query/fields.h"

struct stages {
	const struct dims *dims;
	double seconds; /* of the range, for rate() */
	struct native_table *t;
	struct native_texts *texts;
	struct error *err;
};

void native_table_free(struct native_table *t)
{
	free(t->values);
	free(t->estimated);
	*t = (struct native_table){0};
}

#define QUERY_VALUES_MAX 256 /* fields of a stage: as many as the language has */

static struct value *row_of(const struct native_table *t, size_t row)
{
	return t->values + row * t->width;
}

/* ---- where ---- */

static void move_row(struct native_table *t, size_t to, size_t from)
{
	if (to == from)
		return;
	memcpy(row_of(t, to), row_of(t, from), t->width * sizeof(struct value));
	if (t->estimated)
		memcpy(t->estimated + to * t->width, t->estimated + from * t->width, t->width);
}

static int stage_where(struct stages *s, const struct plan_stage *stage)
{
	const struct expr *const exprs[] = {stage->expr};
	_cleanup_(query_fields_freep) struct query_fields *f = NULL;
	size_t kept = 0;
	int r = query_fields_new(&f, exprs, 1, s->err);

	for (size_t i = 0; i < s->t->rows && r >= 0; i++) {
		struct value v;

		r = query_fields_value(f, 0, s->dims, row_of(s->t, i), &v);
		if (r >= 0 && !v.null && v.i)
			move_row(s->t, kept++, i);
		query_fields_clear(f);
	}
	s->t->rows = kept;
	return r;
}

/* ---- select ---- */

/* Reads an estimate: then it is one. */
static bool is_estimate(const struct native_table *t, size_t row, const struct expr *e)
{
	bool is = e->kind == EXPR_FIELD && t->estimated[row * t->width + e->column];

	for (unsigned int i = 0; i < e->arg_count && e->kind != EXPR_FIELD && !is; i++)
		is = is_estimate(t, row, e->arg[i]);
	return is;
}

static int select_row(struct stages *s, const struct plan_stage *stage, struct query_fields *f,
		      struct native_table *to, size_t row)
{
	int r = 0;

	for (size_t i = 0; i < to->width && r >= 0; i++) {
		struct value *v = &to->values[row * to->width + i];
		const struct plan_field *field = &stage->fields[i];

		r = query_fields_value(f, i, s->dims, row_of(s->t, row), v);
		if (r >= 0 && field->type.type == QUERY_TEXT && !v->null)
			r = native_text_add(s->texts, v->t, &v->t);
		if (to->estimated)
			to->estimated[row * to->width + i] = is_estimate(s->t, row, field->expr);
	}
	query_fields_clear(f);
	return r;
}

static int stage_select(struct stages *s, const struct plan_stage *stage)
{
	size_t width = stage->field_count;
	_cleanup_free_ const struct expr **exprs = calloc(width + 1, sizeof(*exprs));
	_cleanup_(query_fields_freep) struct query_fields *f = NULL;
	_cleanup_(native_table_free) struct native_table to = {.width = width};
	int r = 0;

	to.rows = s->t->rows;
	to.values = calloc(to.rows * width + 1, sizeof(*to.values));
	to.estimated = s->t->estimated ? calloc(to.rows * width + 1, 1) : NULL;
	if (!exprs || !to.values || (s->t->estimated && !to.estimated))
		return -ENOMEM;
	for (size_t i = 0; i < width; i++)
		exprs[i] = stage->fields[i].expr;
	r = query_fields_new(&f, exprs, width, s->err);
	for (size_t i = 0; i < to.rows && r >= 0; i++)
		r = select_row(s, stage, f, &to, i);
	if (r < 0)
		return r;
	native_table_free(s->t);
	*s->t = to;
	to = (struct native_table){0};
	return 0;
}

/* ---- sort ---- */

/* What a row is sorted by, worked out once. */
struct sort_value {
	bool null;
	int64_t i; /* also what breaks ties of names: the id */
	double f;
	struct bytes t;
};

struct sorting {
	const struct plan_stage *stage;
	const struct plan_field *fields;
	const struct sort_value *values; /* [row * key_count] */
};

static int compare_texts(struct bytes a, struct bytes b)
{
	int order = memcmp(a.data ? a.data : (const uint8_t *)"",
			   b.data ? b.data : (const uint8_t *)"", MIN(a.len, b.len));

	return order ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_values(enum query_type type, const struct sort_value *a,
			  const struct sort_value *b)
{
	switch (type) {
	case QUERY_TEXT:
	case QUERY_CODE:
	case QUERY_ENTITY:
		return compare_texts(a->t, b->t);
	case QUERY_FLOAT:
		return (a->f > b->f) - (a->f < b->f);
	case QUERY_UINT:
		return ((uint64_t)a->i > (uint64_t)b->i) - ((uint64_t)a->i < (uint64_t)b->i);
	default:
		return (a->i > b->i) - (a->i < b->i);
	}
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct sorting *s = arg;
	size_t count = s->stage->key_count;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	for (size_t k = 0; k < count; k++) {
		const struct sort_key *key = &s->stage->keys[k];
		enum query_type type = s->fields[key->field].type.type;
		const struct sort_value *p = &s->values[x * count + k],
					*q = &s->values[y * count + k];
		int order;

		if (p->null || q->null) { /* last, either way */
			if (p->null != q->null)
				return p->null ? 1 : -1;
			continue;
		}
		/* names first, as in an engine; where only ties are broken, by id alone */
		order = type == QUERY_ENTITY && k ? 0 : compare_values(type, p, q);
		if (!order && type == QUERY_ENTITY)
			order = (p->i > q->i) - (p->i < q->i);
		if (order)
			return key->desc ? -order : order;
	}
	return x < y ? -1 : x > y;
}

static int sort_values(struct stages *s, const struct plan_stage *stage, struct query_fields *f,
		       struct sort_value *values)
{
	int r = 0;

	for (size_t i = 0; i < s->t->rows && r >= 0; i++) {
		for (size_t k = 0; k < stage->key_count && r >= 0; k++) {
			unsigned int field = stage->keys[k].field;
			struct query_kind kind = stage->fields[field].type;
			const struct value *v = &row_of(s->t, i)[field];
			struct sort_value *to = &values[i * stage->key_count + k];

			*to = (struct sort_value){v->null, v->i, v->f, v->t};
			if (v->null || (kind.type != QUERY_CODE && kind.type != QUERY_ENTITY))
				continue;
			r = query_fields_text(f, kind, s->dims, v, &to->t);
		}
	}
	return r;
}

static int reorder(struct native_table *t, const uint32_t *order)
{
	struct native_table to = *t;

	to.values = malloc((t->rows * t->width + 1) * sizeof(*to.values));
	to.estimated = t->estimated ? malloc(t->rows * t->width + 1) : NULL;
	if (!to.values || (t->estimated && !to.estimated)) {
		native_table_free(&to);
		return -ENOMEM;
	}
	for (size_t i = 0; i < t->rows; i++) {
		memcpy(row_of(&to, i), row_of(t, order[i]), t->width * sizeof(*to.values));
		if (to.estimated)
			memcpy(to.estimated + i * t->width, t->estimated + order[i] * t->width,
			       t->width);
	}
	native_table_free(t);
	*t = to;
	return 0;
}

static int stage_sort(struct stages *s, const struct plan_stage *stage)
{
	struct native_table *t = s->t;
	_cleanup_free_ uint32_t *order = malloc((t->rows + 1) * sizeof(*order));
	_cleanup_free_ struct sort_value *values =
		calloc(t->rows * stage->key_count + 1, sizeof(*values));
	_cleanup_(query_fields_freep) struct query_fields *f = NULL;
	struct sorting sorting = {stage, stage->fields, values};
	int r = order && values ? query_fields_new(&f, NULL, 0, s->err) : -ENOMEM;

	if (r >= 0)
		r = sort_values(s, stage, f, values);
	if (r < 0)
		return r;
	for (size_t i = 0; i < t->rows; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, t->rows, sizeof(*order), compare_rows, &sorting);
	return reorder(t, order);
}

/* ---- head ---- */

static void stage_head(struct native_table *t, const struct plan_stage *stage)
{
	uint64_t wanted = stage->count > 0 ? (uint64_t)stage->count : 0;
	size_t count = wanted < t->rows ? (size_t)wanted : t->rows;

	for (size_t i = 0; stage->tail && i < count; i++)
		move_row(t, i, t->rows - count + i);
	t->rows = count;
}

/* ---- groups of what the stage before gave ---- */

struct grouping {
	const struct plan_stage *stage;
	size_t width, keys;
	struct intern groups;
	struct native_state *states; /* [group * (width - keys)] */
	size_t states_cap;
	struct buf key;
	struct native_table to;
	struct value row[QUERY_VALUES_MAX]; /* at hand: keys and arguments */
};

static void grouping_free(struct grouping *g)
{
	size_t width = g->width - g->keys;

	for (size_t i = 0; g->states && i < g->groups.count * width; i++)
		native_state_free(&g->stage->fields[g->keys + i % width], &g->states[i]);
	free(g->states);
	intern_free(&g->groups);
	buf_free(&g->key);
	native_table_free(&g->to);
}

int native_put_key(struct buf *out, enum query_type type, const struct value *v)
{
	double number = v->f + 0.0; /* -0 is 0 */
	uint64_t len = v->t.len;
	int r = buf_append(out, &(uint8_t){v->null}, 1);

	if (r < 0 || v->null)
		return r;
	if (type == QUERY_FLOAT)
		return buf_append(out, &number, sizeof(number));
	if (type != QUERY_TEXT)
		return buf_append(out, &v->i, sizeof(v->i));
	r = buf_append(out, &len, sizeof(len));
	return r < 0 ? r : buf_append(out, v->t.data, v->t.len);
}

static int start_group(struct stages *s, struct grouping *g)
{
	size_t width = g->width - g->keys, count = g->groups.count * width;
	struct native_table *to = &g->to;
	struct value *values;
	int r = grow((void **)&g->states, &g->states_cap, MAX(count, (size_t)1),
		     sizeof(*g->states));

	if (r >= 0)
		r = grow((void **)&to->values, &to->cap, (to->rows + 1) * to->width,
			 sizeof(*to->values));
	if (r < 0)
		return r;
	memset(g->states + (count - width), 0, width * sizeof(*g->states));
	values = to->values + to->rows++ * to->width;
	for (size_t i = 0; i < g->width && r >= 0; i++) {
		values[i] = i < g->keys ? g->row[i] : (struct value){.null = true};
		if (!values[i].null && g->stage->fields[i].type.type == QUERY_TEXT)
			r = native_text_add(s->texts, values[i].t, &values[i].t);
	}
	return r;
}

static int find_group(struct stages *s, struct grouping *g, uint32_t *ret)
{
	size_t before = g->groups.count;
	int r = 0;

	buf_clear(&g->key);
	for (size_t i = 0; i < g->keys && r >= 0; i++)
		r = native_put_key(&g->key, g->stage->fields[i].type.type, &g->row[i]);
	if (r >= 0)
		r = intern_add(&g->groups, g->key.data ? g->key.data : (const uint8_t *)"",
			       g->key.len, ret);
	return r < 0 || g->groups.count == before ? r : start_group(s, g);
}

static int group_row(struct stages *s, struct grouping *g, struct query_fields *f, size_t row)
{
	uint64_t held = 0;
	uint32_t group = 0;
	int r = 0;

	for (size_t i = 0; i < g->width && r >= 0; i++)
		r = query_fields_value(f, i, s->dims, row_of(s->t, row), &g->row[i]);
	if (r >= 0)
		r = find_group(s, g, &group);
	for (size_t i = g->keys; i < g->width && r >= 0; i++)
		r = native_add(&g->stage->fields[i],
			       &g->states[group * (g->width - g->keys) + i - g->keys], &g->row[i],
			       0, &held, s->err);
	query_fields_clear(f);
	return r;
}

/* Aggregates of the groups take their places in the rows. */
static int finish_groups(struct stages *s, struct grouping *g)
{
	struct native_table *to = &g->to;
	double seconds = native_seconds(g->stage->fields, g->width, s->seconds);
	int r = 0;

	to->estimated = calloc(to->rows * to->width + 1, 1);
	if (!to->estimated)
		return -ENOMEM;
	for (size_t k = 0; k < to->rows; k++) {
		for (size_t i = g->keys; i < g->width && r >= 0; i++) {
			bool estimated = false;

			r = native_finish(&g->stage->fields[i],
					  &g->states[k * (g->width - g->keys) + i - g->keys],
					  seconds, s->texts, &to->values[k * to->width + i],
					  &estimated);
			to->estimated[k * to->width + i] = estimated;
		}
	}
	return r;
}

static int stage_group(struct stages *s, const struct plan_stage *stage)
{
	static const struct expr one = {
		.kind = EXPR_CONST, .type = {.type = QUERY_INT}, .value = {.i = 1}};
	_cleanup_(grouping_free) struct grouping g = {.stage = stage, .width = stage->field_count};
	_cleanup_(query_fields_freep) struct query_fields *f = NULL;
	const struct expr *exprs[QUERY_VALUES_MAX];
	uint32_t group;
	int r;

	assert(g.width <= QUERY_VALUES_MAX);
	g.keys = native_keys(stage->fields, g.width);
	g.to.width = g.width;
	for (size_t i = 0; i < g.width; i++)
		exprs[i] = stage->fields[i].expr ? stage->fields[i].expr : &one;
	r = query_fields_new(&f, exprs, g.width, s->err);
	for (size_t i = 0; i < s->t->rows && r >= 0; i++)
		r = group_row(s, &g, f, i);
	if (r >= 0 && !g.keys && !g.groups.count)
		r = find_group(s, &g, &group);
	if (r >= 0)
		r = finish_groups(s, &g);
	if (r < 0)
		return r;
	native_table_free(s->t);
	*s->t = g.to;
	g.to = (struct native_table){0};
	return 0;
}

double native_seconds(const struct plan_field *fields, size_t count, double range)
{
	for (size_t i = 0; i < count; i++) {
		if (fields[i].kind == FIELD_WINDOW)
			return (double)fields[i].param[0] / 1e9;
	}
	return range;
}

size_t native_keys(const struct plan_field *fields, size_t count)
{
	size_t keys = 0;

	while (keys < count && fields[keys].kind != FIELD_AGGREGATE)
		keys++;
	return keys;
}

int native_top(const struct plan *p, const struct dims *d, struct native_table *t,
	       struct error *err)
{
	struct stages s = {.dims = d, .t = t, .err = err};
	int r = stage_sort(&s, &p->stages[0]);

	if (r >= 0)
		stage_head(t, &p->stages[1]);
	return r;
}

int native_stages(const struct plan *p, const struct dims *d, double seconds,
		  struct native_table *t, struct native_texts *texts, struct error *err)
{
	struct stages s = {.dims = d, .seconds = seconds, .t = t, .texts = texts, .err = err};
	int r = 0;

	for (size_t i = 0; i < p->stage_count && r >= 0; i++) {
		const struct plan_stage *stage = &p->stages[i];

		switch (stage->kind) {
		case STAGE_WHERE:
			r = stage_where(&s, stage);
			break;
		case STAGE_SELECT:
			r = stage_select(&s, stage);
			break;
		case STAGE_SORT:
			r = stage_sort(&s, stage);
			break;
		case STAGE_GROUP:
			r = stage_group(&s, stage);
			break;
		default:
			assert(stage->kind == STAGE_HEAD);
			stage_head(t, stage);
			break;
		}
	}
	if (r == -EOVERFLOW)
		return error_set(err, r, "the regular expression takes too many steps on a text");
	return r < 0 ? error_errno(err, r, "cannot work out the answer") : 0;
}
