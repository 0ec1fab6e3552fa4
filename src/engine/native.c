// SPDX-License-Identifier: Apache-2.0
/* native.c: one pass over the rows: groups by the bytes of their keys, or the rows themselves. */
#include "engine/native.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/strpool.h"
#include "engine/native_internal.h"

#define CUT_ROWS 4096 /* held at least before an order's later rows are left out */

struct native {
	struct store *store;
	const struct plan *plan;
	struct engine_scan *scan;
	struct eval *eval;
	struct eval_scratch *scratch;
	struct vector *vectors; /* by field; of those without an expression unset */
	size_t width, keys;	/* fields; of them keys, which come first */
	double seconds;		/* of the range, for rate() */
	/* groups */
	struct intern groups;
	struct native_state *states; /* [group * (width - keys)] */
	size_t states_cap;
	struct buf key;
	/* what comes out: rows, or the keys of groups and later all */
	struct native_table table;
	struct native_texts texts;
	uint64_t held; /* bytes */
	bool estimates;
	/* the answer */
	size_t at;
	size_t *shown_at, shown_count;
	struct buf *escaped; /* by column that is shown */
	bool begun;
};

/* ---- what can be answered ---- */

const char *native_lacks(const struct plan *p)
{
	if (p->user)
		return "from a table of your own";
	for (size_t i = 0; i < p->stage_count; i++) {
		if (p->stages[i].kind == STAGE_JOIN)
			return "join";
	}
	return NULL;
}

/* ---- life ---- */

static const struct plan_field *fields(const struct native *n)
{
	return n->plan->fields;
}

static size_t state_width(const struct native *n)
{
	return n->width - n->keys;
}

void native_free(struct native *n)
{
	if (!n)
		return;
	for (size_t g = 0; n->states && g < n->groups.count; g++) {
		for (size_t i = 0; i < state_width(n); i++)
			native_state_free(&fields(n)[n->keys + i],
					  &n->states[g * state_width(n) + i]);
	}
	free(n->states);
	intern_free(&n->groups);
	native_table_free(&n->table);
	native_texts_free(&n->texts);
	buf_free(&n->key);
	for (size_t i = 0; n->escaped && i < n->shown_count; i++)
		buf_free(&n->escaped[i]);
	free(n->escaped);
	free(n->vectors);
	free(n->shown_at);
	engine_scan_free(n->scan);
	if (n->scratch)
		eval_scratch_free(n->scratch);
	if (n->eval)
		eval_free(n->eval);
	free(n);
}

static int make_eval(struct native *n, struct error *err)
{
	_cleanup_free_ const struct expr **exprs = calloc(n->width + 1, sizeof(*exprs));
	static const struct expr none = {.kind = EXPR_CONST, .type = {.type = QUERY_BOOL}};
	struct scan_request q = {.table = n->plan->table,
				 .from = n->plan->from,
				 .to = n->plan->to,
				 .filter = n->plan->where};
	int r;

	if (!exprs)
		return -ENOMEM;
	for (size_t i = 0; i < n->width; i++) {
		exprs[i] = fields(n)[i].expr ? fields(n)[i].expr : &none;
		q.columns |= expr_columns(exprs[i]);
	}
	r = eval_new(&n->eval, exprs, n->width, err);
	if (r >= 0)
		r = eval_scratch_new(&n->scratch, n->eval);
	return r < 0 ? r : engine_scan_new(&n->scan, n->store, &q, err);
}

/* As an engine has it: of the range within what the trace holds; 0: not known. */
static double range_seconds(const struct native *n)
{
	int64_t first, last, from, to;

	store_range(n->store, &first, &last);
	from = MAX(n->plan->from, first);
	to = MIN(n->plan->to, last);
	return first == INT64_MIN || to <= from ? 0 : (double)(to - from) / 1e9;
}

int native_new(struct native **ret, struct store *s, const struct plan *p, struct error *err)
{
	_cleanup_(native_freep) struct native *n = calloc(1, sizeof(*n));
	int r;

	assert(!native_lacks(p));
	if (!n)
		return error_errno(err, -ENOMEM, "cannot answer the query");
	n->store = s;
	n->plan = p;
	n->width = p->field_count;
	n->keys = p->grouped ? native_keys(p->fields, n->width) : n->width;
	n->seconds = range_seconds(n);
	n->vectors = calloc(n->width + 1, sizeof(*n->vectors));
	r = n->vectors ? make_eval(n, err) : -ENOMEM;
	if (r < 0)
		return error_errno(err, r, "cannot answer the query");
	n->table.width = n->width;
	*ret = TAKE_PTR(n);
	return 0;
}

void native_progress(const struct native *n, uint64_t *ret_done, uint64_t *ret_total)
{
	engine_scan_progress(n->scan, ret_done, ret_total);
}

/* ---- values of a row ---- */

static struct value value_at(const struct native *n, size_t field, size_t row)
{
	const struct vector *v = &n->vectors[field];
	struct value value = {.null = v->nulls && (v->nulls[row / 64] >> (row % 64) & 1)};
	const struct bytes *words;

	if (value.null)
		return value;
	if (v->type.type == QUERY_FLOAT) {
		value.f = v->f[row];
	} else if (v->words) {
		(void)eval_words(n->eval, field, &words);
		value.t = words[v->i[row]];
	} else if (v->t) {
		value.t = v->t[row];
	} else {
		value.i = v->i[row];
	}
	return value;
}

/* Adds a row to the table of what comes out: the first `count` fields of a row of the trace. */
static int add_row(struct native *n, size_t row, size_t count)
{
	struct native_table *t = &n->table;
	struct value *to;
	int r = grow((void **)&t->values, &t->cap, (t->rows + 1) * t->width, sizeof(*t->values));

	if (r < 0)
		return r;
	to = t->values + t->rows * t->width;
	for (size_t i = 0; i < count && r >= 0; i++) {
		to[i] = value_at(n, i, row);
		if (to[i].null || !to[i].t.data || n->vectors[i].words)
			continue; /* words live as long as the evaluation */
		n->held += to[i].t.len;
		r = native_text_add(&n->texts, to[i].t, &to[i].t);
	}
	for (size_t i = count; i < t->width; i++)
		to[i] = (struct value){.null = true};
	t->rows++;
	n->held += t->width * sizeof(*to);
	return r;
}

/* ---- groups ---- */

/* A word is told by its number. */
static int put_key(struct native *n, size_t field, size_t row)
{
	struct value v = value_at(n, field, row);
	enum query_type type = n->vectors[field].type.type;

	if (n->vectors[field].words && !v.null) {
		v.i = n->vectors[field].i[row];
		type = QUERY_INT;
	}
	return native_put_key(&n->key, type, &v);
}

static int new_group(struct native *n, size_t row)
{
	size_t width = state_width(n), count = n->groups.count * width;
	int r = grow((void **)&n->states, &n->states_cap, MAX(count, (size_t)1),
		     sizeof(*n->states));

	if (r < 0)
		return r;
	memset(n->states + (count - width), 0, width * sizeof(*n->states));
	n->held += n->key.len + sizeof(uint64_t) * 2 + width * sizeof(*n->states);
	return add_row(n, row, n->keys);
}

static int group_of(struct native *n, size_t row, uint32_t *ret)
{
	size_t before = n->groups.count;
	int r = 0;

	buf_clear(&n->key);
	for (size_t i = 0; i < n->keys && r >= 0; i++)
		r = put_key(n, i, row);
	if (r >= 0)
		r = intern_add(&n->groups, n->key.data ? n->key.data : (const uint8_t *)"",
			       n->key.len, ret);
	return r < 0 || n->groups.count == before ? r : new_group(n, row);
}

static int add_to_group(struct native *n, size_t row, int64_t end, struct error *err)
{
	uint32_t group = 0;
	int r = group_of(n, row, &group);

	for (size_t i = n->keys; i < n->width && r >= 0; i++) {
		const struct plan_field *f = &fields(n)[i];
		struct value v = f->expr ? value_at(n, i, row) : (struct value){.i = 1};

		r = native_add(f, &n->states[group * state_width(n) + i - n->keys], &v, end,
			       &n->held, err);
	}
	return r;
}

/* ---- the pass ---- */

static int too_much(const struct native *n, struct error *err)
{
	return error_set(err, -E2BIG,
			 "%zu %s take more than %llu MiB, which is all that is held without an "
			 "engine: ask for fewer, or where weir has DuckDB's library",
			 n->table.rows, n->plan->grouped ? "groups" : "rows to be put in order",
			 NATIVE_BYTES_MAX >> 20);
}

/* How many rows the plan's first stage lets pass, whatever comes later. */
static uint64_t rows_wanted(const struct plan *p)
{
	const struct plan_stage *first = p->stages;

	if (p->grouped || !p->stage_count || first->kind != STAGE_HEAD || first->tail)
		return UINT64_MAX;
	return first->count > 0 ? (uint64_t)first->count : 0;
}

/* Texts of rows that are left out are given back: those of the rows that stay move. */
static int keep_texts(struct native *n)
{
	struct native_texts kept = {0};
	uint64_t bytes = 0;
	int r = 0;

	for (size_t k = 0; k < n->table.rows * n->width && r >= 0; k++) {
		struct value *v = &n->table.values[k];

		if (v->null || !v->t.data || n->vectors[k % n->width].words)
			continue;
		r = native_text_add(&kept, v->t, &v->t);
		bytes += v->t.len;
	}
	if (r < 0) { /* the rows are not looked at again */
		native_texts_free(&kept);
		return r;
	}
	native_texts_free(&n->texts);
	n->texts = kept;
	n->held = bytes + n->table.rows * n->width * sizeof(struct value);
	return 0;
}

/* Where the first rows of an order are asked for, the others need not be held. */
static int cut_rows(struct native *n, struct error *err)
{
	const struct plan *p = n->plan;
	const struct plan_stage *stages = p->stages;
	size_t before = n->table.rows;
	int r;

	if (p->grouped || p->stage_count < 2 || stages[0].kind != STAGE_SORT ||
	    stages[1].kind != STAGE_HEAD || stages[1].tail || before < CUT_ROWS ||
	    stages[1].count > (int64_t)(before / 4))
		return 0;
	r = native_top(p, store_dims(n->store), &n->table, err);
	n->table.cap = n->table.rows * n->width;
	return r < 0 ? r : keep_texts(n);
}

static int take_rows(struct native *n, const struct batch *b, const uint32_t *rows, size_t count,
		     struct error *err)
{
	int r = eval_names(n->eval, store_dims(n->store), err);

	for (size_t i = 0; i < n->width && r >= 0; i++) {
		if (fields(n)[i].expr)
			r = eval_rows(n->eval, n->scratch, i, b, rows, count, &n->vectors[i]);
	}
	for (size_t i = 0; i < count && r >= 0 && n->table.rows < rows_wanted(n->plan); i++) {
		r = n->plan->grouped ? add_to_group(n, i, engine_scan_end(n->scan, rows[i]), err)
				     : add_row(n, i, n->width);
		if (r >= 0 && !n->plan->grouped)
			r = cut_rows(n, err);
		if (r >= 0 && n->held > NATIVE_BYTES_MAX)
			return too_much(n, err);
	}
	return r < 0 ? error_errno(err, r, "cannot answer the query") : 0;
}

/* Without keys there is one group, of no rows as well. */
static int lone_group(struct native *n)
{
	uint32_t group;
	int r;

	if (!n->plan->grouped || n->keys || n->groups.count)
		return 0;
	r = intern_add(&n->groups, "", 0, &group);
	return r < 0 ? r : new_group(n, 0);
}

static int finish_groups(struct native *n)
{
	double seconds = native_seconds(fields(n), n->width, n->seconds);
	struct native_table *t = &n->table;
	int r = 0;

	if (!n->plan->grouped)
		return 0;
	for (size_t i = n->keys; i < n->width; i++)
		n->estimates |= fields(n)[i].aggregate == AGGREGATE_DISTINCT;
	if (n->estimates) {
		t->estimated = calloc(t->rows * t->width + 1, 1);
		if (!t->estimated)
			return -ENOMEM;
	}
	for (size_t g = 0; g < t->rows && r >= 0; g++) {
		for (size_t i = n->keys; i < n->width && r >= 0; i++) {
			bool estimated = false;

			r = native_finish(&fields(n)[i],
					  &n->states[g * state_width(n) + i - n->keys], seconds,
					  &n->texts, &t->values[g * t->width + i], &estimated);
			if (t->estimated)
				t->estimated[g * t->width + i] = estimated;
		}
	}
	return r;
}

int native_run(struct native *n, bool (*stopped)(void *arg), void *arg, struct error *err)
{
	const struct batch *b = NULL;
	const uint32_t *rows = NULL;
	ssize_t count;
	int r = 0;

	while (r >= 0 && n->table.rows < rows_wanted(n->plan) &&
	       (count = engine_scan_next(n->scan, &b, &rows, err)) != 0) {
		r = count < 0 ? (int)count : take_rows(n, b, rows, (size_t)count, err);
		if (r >= 0 && stopped(arg))
			r = error_set(err, -EINTR, "interrupted");
	}
	if (r >= 0)
		r = lone_group(n);
	if (r >= 0)
		r = finish_groups(n);
	if (r < 0)
		return error_errno(err, r, "cannot answer the query");
	return native_stages(n->plan, store_dims(n->store), n->seconds, &n->table, &n->texts, err);
}

/* ---- the answer ---- */

static int answer_row(struct answer *r, struct error *err _unused_)
{
	struct native *n = r->arg;

	n->at += n->begun;
	n->begun = true;
	return n->at < n->table.rows;
}

static struct bytes escaped(struct buf *to, struct bytes text)
{
	bool plain = true;

	for (size_t i = 0; i < text.len && plain; i++)
		plain = text.data[i] >= 0x20 && text.data[i] < 0x7f && text.data[i] != '\\';
	if (plain)
		return text;
	buf_clear(to);
	if (engine_escape(text.data, text.len, to) < 0)
		return (struct bytes){(const uint8_t *)"?", 1};
	return (struct bytes){to->data, to->len};
}

static struct value answer_value(struct answer *r, size_t column)
{
	struct native *n = r->arg;
	struct value v = n->table.values[n->at * n->table.width + n->shown_at[column]];
	struct query_kind kind = r->fields[column]->type;
	_cleanup_buf_ struct buf name = {0};

	if (v.null)
		return v;
	if (kind.type == QUERY_TEXT)
		v.t = escaped(&n->escaped[column], v.t);
	if (kind.type != QUERY_ENTITY)
		return v;
	v.null = query_entity_text(kind.entity, store_dims(n->store), v.i, &name) < 0;
	buf_clear(&n->escaped[column]);
	v.null |= engine_escape(name.data, name.len, &n->escaped[column]) < 0;
	v.t = (struct bytes){n->escaped[column].data, n->escaped[column].len};
	return v;
}

static bool answer_estimate(const struct answer *r, size_t column)
{
	const struct native *n = r->arg;

	return n->table.estimated &&
	       n->table.estimated[n->at * n->table.width + n->shown_at[column]];
}

int native_answer(struct answer *ret, struct native *n)
{
	size_t count;
	const struct plan_field *out = plan_output(n->plan, &count);

	*ret = (struct answer){
		.next = answer_row, .get = answer_value, .estimated = answer_estimate, .arg = n};
	n->shown_at = calloc(count + 1, sizeof(*n->shown_at));
	n->escaped = calloc(count + 1, sizeof(*n->escaped));
	if (!n->shown_at || !n->escaped)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		if (!out[i].hidden)
			n->shown_at[n->shown_count++] = i;
	}
	return answer_init(ret, n->plan);
}
