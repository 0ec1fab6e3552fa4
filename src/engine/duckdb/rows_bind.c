// SPDX-License-Identifier: Apache-2.0
/* rows_bind.c: the arguments of weir_rows(): expressions parsed, names looked up, types chosen. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/rows.h"
#include "engine/duckdb/words.h"
#include "engine/order.h"

void rows_bind_free(void *p)
{
	struct rows_bind *b = p;

	if (!b)
		return;
	if (b->eval)
		eval_free(b->eval);
	plan_free(b->filter_plan);
	for (size_t i = 0; i < b->column_count; i++) {
		free(b->columns[i].name);
		plan_free(b->columns[i].plan);
		words_free(b->e->api, &b->columns[i].own);
	}
	free(b->pick.numbers);
	free(b);
}

/* ---- arguments ---- */

/* The text of a value; NULL where it is NULL or not given. Freed by the caller with api->free(). */
static char *text_of(const struct duckdb_api *d, duckdb_value v)
{
	return v && !d->is_null_value(v) ? d->get_varchar(v) : NULL;
}

static int read_table(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	duckdb_value v = d->bind_get_parameter(info, 0);
	char *name = text_of(d, v);
	int table = name ? schema_table_find(name) : -1;

	if (table < 0)
		error_set(err, -EINVAL, "weir_rows(): there is no table '%s'",
			  name ? name : "NULL");
	else
		b->table = (enum table_id)table;
	if (name)
		d->free(name);
	d->destroy_value(&v);
	return table < 0 ? -EINVAL : 0;
}

/* One expression. `what` names it in a message. */
static int parse(struct rows_bind *b, const char *text, bool filter, const char *what,
		 struct plan **ret, struct error *err)
{
	struct query_error wrong = {0};
	int r = query_parse_expr(text, strlen(text), b->table, filter, ret, &wrong);

	if (r >= 0)
		return 0;
	return error_set(err, r, "weir_rows(): %s '%.200s', character %zu: %s", what, text,
			 wrong.pos + 1, wrong.err.message);
}

static int read_filter(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	duckdb_value v = d->bind_get_parameter(info, 1);
	char *text = text_of(d, v);
	int r = 0;

	if (text && *text) {
		r = parse(b, text, true, "filter", &b->filter_plan, err);
		if (r >= 0)
			b->filter = b->filter_plan->where;
	}
	if (text)
		d->free(text);
	d->destroy_value(&v);
	return r;
}

static int column_parse(struct rows_bind *b, struct rows_column *c, struct error *err)
{
	int r;

	c->direct = -1;
	c->type = DUCKDB_TYPE_BIGINT;
	if (!strcmp(c->name, "row_number") || !strcmp(c->name, "row_end")) {
		c->cell = c->name[4] == 'n' ? ROWS_NUMBER : ROWS_END;
		return 0;
	}
	r = parse(b, c->name, false, "column", &c->plan, err);
	if (r < 0)
		return r;
	c->expr = c->plan->fields[0].expr;
	if (c->expr->kind == EXPR_COLUMN)
		c->direct = (int)c->expr->column;
	return 0;
}

static int read_columns(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	duckdb_value list = d->bind_get_parameter(info, 2);
	idx_t count = list && !d->is_null_value(list) ? d->get_list_size(list) : 0;
	int r = count ? 0 : error_set(err, -EINVAL, "weir_rows(): no columns are named");

	if (count > ROWS_COLUMNS_MAX)
		r = error_set(err, -E2BIG, "weir_rows(): more than %d columns", ROWS_COLUMNS_MAX);
	for (idx_t i = 0; i < count && r >= 0; i++) {
		struct rows_column *c = &b->columns[b->column_count++];
		duckdb_value v = d->get_list_child(list, i);
		char *text = text_of(d, v);

		c->name = text ? strdup(text) : NULL;
		if (text)
			d->free(text);
		d->destroy_value(&v);
		r = c->name ? column_parse(b, c, err)
			    : error_set(err, -EINVAL, "weir_rows(): a column is NULL");
	}
	d->destroy_value(&list);
	return r;
}

static bool named_number(const struct duckdb_api *d, duckdb_bind_info info, const char *name,
			 int64_t *ret)
{
	duckdb_value v = d->bind_get_named_parameter(info, name);
	bool given = v && !d->is_null_value(v);

	if (given)
		*ret = d->get_int64(v);
	if (v)
		d->destroy_value(&v);
	return given;
}

static int compare_places(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
	size_t p = order_number_block(x), q = order_number_block(y);

	if (p != q)
		return p < q ? -1 : 1;
	return order_number_row(x) < order_number_row(y)
		       ? -1
		       : order_number_row(x) > order_number_row(y);
}

static int read_numbers(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	duckdb_value v = d->bind_get_named_parameter(info, "numbers");
	idx_t count = 0;

	b->picked = v && !d->is_null_value(v);
	if (b->picked) {
		count = d->get_list_size(v);
		b->pick.numbers = calloc(count + 1, sizeof(*b->pick.numbers));
	}
	for (idx_t i = 0; i < count && b->pick.numbers; i++) {
		duckdb_value id = d->get_list_child(v, i);

		if (!d->is_null_value(id))
			b->pick.numbers[b->pick.count++] = d->get_int64(id);
		d->destroy_value(&id);
	}
	if (v)
		d->destroy_value(&v);
	if (b->picked && !b->pick.numbers)
		return error_errno(err, -ENOMEM, "cannot keep the rows' numbers");
	if (b->picked)
		qsort(b->pick.numbers, b->pick.count, sizeof(*b->pick.numbers), compare_places);
	return 0;
}

static int read_top(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	duckdb_value v = d->bind_get_named_parameter(info, "top_order");
	char *order = text_of(d, v);
	int64_t top = 0;
	int r = 0;

	if (named_number(d, info, "top", &top) && top > 0)
		b->top.count = (size_t)top;
	b->top.desc = !order || !strcmp(order, "desc");
	if (order && strcmp(order, "desc") && strcmp(order, "asc"))
		r = error_set(err, -EINVAL, "weir_rows(): top_order is 'asc' or 'desc', not '%s'",
			      order);
	if (order)
		d->free(order);
	if (v)
		d->destroy_value(&v);
	return r;
}

static int read_range(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	int64_t block = 0;

	b->from = INT64_MIN;
	b->to = INT64_MAX;
	named_number(d, info, "ended_from", &b->from);
	named_number(d, info, "ended_to", &b->to);
	if (b->from > b->to)
		return error_set(err, -EINVAL,
				 "weir_rows(): ended_from %lld is after ended_to %lld",
				 (long long)b->from, (long long)b->to);
	if (named_number(d, info, "first_block", &block) && block > 0)
		b->first_block = (size_t)block;
	return 0;
}

/* ---- evaluation and types ---- */

static int make_eval(struct rows_bind *b, struct error *err)
{
	const struct expr *exprs[ROWS_COLUMNS_MAX + 1];
	size_t n = 0;
	int r;

	if (b->filter)
		exprs[n++] = b->filter;
	for (size_t i = 0; i < b->column_count; i++) {
		struct rows_column *c = &b->columns[i];

		if (!c->expr)
			continue;
		c->k = n;
		exprs[n++] = c->expr;
	}
	if (!n)
		return 0;
	r = eval_new(&b->eval, exprs, n, err);
	if (r >= 0)
		r = eval_names(b->eval, store_dims(b->e->store), err);
	return r < 0 ? error_errno(err, r, "cannot prepare the expressions") : 0;
}

/* The ENUM of the texts that a column can have. */
static int make_words(struct rows_bind *b, struct rows_column *c)
{
	_cleanup_(intern_free) struct intern texts = {0};
	_cleanup_free_ uint32_t *ranks = NULL;
	_cleanup_buf_ struct buf escaped = {0};
	const struct bytes *words;
	size_t count = eval_words(b->eval, c->k, &words);
	struct words *w = &c->own;
	int r = 0;

	w->ordinals = calloc(1, sizeof(*w->ordinals));
	w->ordinal_counts = calloc(1, sizeof(*w->ordinal_counts));
	if (!w->ordinals || !w->ordinal_counts)
		return -ENOMEM;
	w->traces = 1;
	w->ordinals[0] = calloc(count + 1, sizeof(**w->ordinals));
	w->ordinal_counts[0] = count;
	if (!w->ordinals[0])
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		buf_clear(&escaped);
		r = engine_escape(words[i].data, words[i].len, &escaped);
		if (r >= 0)
			r = intern_add(&texts, escaped.data ? escaped.data : (const uint8_t *)"",
				       escaped.len, &w->ordinals[0][i]);
	}
	if (r >= 0)
		r = words_declare(b->e->api, &texts, w, &ranks);
	for (size_t i = 0; i < count && r >= 0; i++)
		w->ordinals[0][i] = ranks[w->ordinals[0][i]];
	c->words = w;
	return r;
}

/* True where the texts of the column are a dictionary by id. */
static bool is_words(const struct rows_bind *b, const struct rows_column *c)
{
	return eval_is_words(b->eval, c->k);
}

static int choose_type(struct rows_bind *b, struct rows_column *c, struct error *err)
{
	int r = 0;

	if (!c->expr)
		return 0;
	c->cell = ROWS_INT;
	switch (c->expr->type.type) {
	case QUERY_FLOAT:
		c->cell = ROWS_FLOAT;
		c->type = DUCKDB_TYPE_DOUBLE;
		break;
	case QUERY_BOOL:
		c->cell = ROWS_BOOL;
		c->type = DUCKDB_TYPE_BOOLEAN;
		break;
	case QUERY_UINT:
		c->type = DUCKDB_TYPE_UBIGINT;
		break;
	case QUERY_CODE:
		c->cell = ROWS_CODE;
		c->words = engine_vocab(b->e, c->expr->type.vocab);
		if (!c->words)
			return error_set(err, -EIO, "there are no words of %s",
					 c->expr->type.vocab);
		break;
	case QUERY_TEXT:
		c->cell = is_words(b, c) ? ROWS_WORDS : ROWS_TEXT;
		c->type = DUCKDB_TYPE_VARCHAR;
		if (c->cell == ROWS_WORDS)
			r = make_words(b, c);
		break;
	default:
		break;
	}
	return r < 0 ? error_errno(err, r, "cannot gather the texts of %s", c->name) : 0;
}

int rows_bind_read(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	int r = read_table(b, info, err);

	if (r >= 0)
		r = read_filter(b, info, err);
	if (r >= 0)
		r = read_columns(b, info, err);
	if (r >= 0)
		r = read_range(b, info, err);
	if (r >= 0)
		r = read_numbers(b, info, err);
	if (r >= 0)
		r = read_top(b, info, err);
	if (r >= 0)
		r = make_eval(b, err);
	for (size_t i = 0; i < b->column_count && r >= 0; i++)
		r = choose_type(b, &b->columns[i], err);
	if (r >= 0 && table_is_dimension(b->table))
		r = names_live(b->e, b->table, &b->live, err);
	if (b->filter)
		b->filter_columns |= expr_columns(b->filter);
	if (!order_open(b->from, b->to))
		b->filter_columns |= order_columns(b->table);
	return r;
}

/* ---- blocks ---- */

struct id_check {
	const struct store *store;
	size_t block;
};

static bool block_has_id(void *arg, unsigned int column, int64_t id)
{
	const struct id_check *c = arg;

	return store_block_has_id(c->store, c->block, column, id);
}

bool rows_block_passes(const struct rows_bind *b, size_t block)
{
	const struct store_block *s = store_block(b->e->store, block);
	struct id_check check = {b->e->store, block};
	const struct eval_block facts = {.rows = s->rows,
					 .min = s->min,
					 .max = s->max,
					 .nulls = s->nulls,
					 .has_id = s->table == TABLE_OP ? block_has_id : NULL,
					 .arg = &check};

	if (s->table != b->table || s->damaged || !order_block_in(s, b->from, b->to))
		return false;
	return !b->filter || eval_block(b->eval, 0, &facts);
}
