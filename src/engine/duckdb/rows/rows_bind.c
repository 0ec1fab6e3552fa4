// SPDX-License-Identifier: Apache-2.0
/* rows_bind.c: the arguments of weir_rows(). */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/rows/weir_rows.h"
#include "sums/facts.h"
#include "sums/order.h"

void rows_bind_free(void *p)
{
	struct rows_bind *b = p;

	if (!b)
		return;
	if (b->x)
		rows_exprs_put(b->x);
	free(b->pick.numbers);
	free(b);
}

/* ---- arguments ---- */

/* The text of a value; NULL where it is NULL or not given. Freed by the caller with api->free(). */
static char *rows_bind_text_of(const struct duckdb_api *d, duckdb_value v)
{
	return v && !d->is_null_value(v) ? d->get_varchar(v) : NULL;
}

static int read_table(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	duckdb_value v = d->bind_get_parameter(info, 0);
	char *name = rows_bind_text_of(d, v);
	int table = name ? schema_table_find(name) : -1;

	if (table < 0)
		error_set(err, -EINVAL, "weir_rows(): unknown table '%s'", name ? name : "NULL");
	else
		b->table = (enum table_id)table;
	if (name)
		d->free(name);
	d->destroy_value(&v);
	return table < 0 ? -EINVAL : 0;
}

/* The texts of a list of texts, in memory of their own. */
static int read_list(const struct duckdb_api *d, duckdb_value list, char **texts, size_t *ret_count,
		     struct error *err)
{
	idx_t count = list && !d->is_null_value(list) ? d->get_list_size(list) : 0;

	if (!count)
		return error_set(err, -EINVAL, "weir_rows(): no columns given");
	if (count > ROWS_COLUMNS_MAX)
		return error_set(err, -E2BIG, "weir_rows(): more than %d columns",
				 ROWS_COLUMNS_MAX);
	for (idx_t i = 0; i < count; i++) {
		duckdb_value v = d->get_list_child(list, i);
		char *text = rows_bind_text_of(d, v);

		texts[i] = text ? strdup(text) : NULL;
		if (text)
			d->free(text);
		d->destroy_value(&v);
		if (!texts[i])
			return error_set(err, -EINVAL, "weir_rows(): a column is NULL");
		*ret_count = (size_t)i + 1;
	}
	return 0;
}

static int read_exprs(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	const struct duckdb_api *d = b->e->api;
	duckdb_value filter = d->bind_get_parameter(info, 1), list = d->bind_get_parameter(info, 2);
	char *text = rows_bind_text_of(d, filter), *columns[ROWS_COLUMNS_MAX];
	size_t count = 0;
	int r = read_list(d, list, columns, &count, err);

	if (r >= 0)
		r = rows_exprs_get(b->e, b->table, text ? text : "", columns, count, &b->x, err);
	for (size_t i = 0; i < count; i++)
		free(columns[i]);
	if (text)
		d->free(text);
	d->destroy_value(&filter);
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
	char *order = rows_bind_text_of(d, v);
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
	int64_t block = 0, from_summaries = 0, each = 0;

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
	b->from_summaries = named_number(d, info, "summed", &from_summaries) && from_summaries &&
			    b->table == TABLE_OP;
	b->each_file = named_number(d, info, "each_file", &each) && each && b->table == TABLE_OP;
	return 0;
}

/* Notes the columns that choosing rows asks for, once expressions and range stand. */
static void rows_bind_filter(struct rows_bind *b)
{
	if (b->x->filter)
		b->filter_columns |= expr_columns(b->x->filter);
	if (!order_open(b->from, b->to))
		b->filter_columns |= order_columns(b->table);
}

int rows_bind_read(struct rows_bind *b, duckdb_bind_info info, struct error *err)
{
	int r = read_table(b, info, err);

	if (r >= 0)
		r = read_exprs(b, info, err);
	if (r >= 0)
		r = read_range(b, info, err);
	if (r >= 0)
		r = read_numbers(b, info, err);
	if (r >= 0)
		r = read_top(b, info, err);
	if (r >= 0 && schema_is_dimension(b->table))
		r = names_live(b->e, b->table, &b->live, err);
	if (r < 0)
		return r;
	rows_bind_filter(b);
	return 0;
}

/* ---- blocks ---- */

bool rows_block_passes(const struct rows_bind *b, size_t block)
{
	const struct store_block *s = store_block(b->e->store, block);

	if (s->table != b->table || !store_block_counts(s) || !order_block_in(s, b->from, b->to))
		return false;
	return !b->x->filter || facts_may_pass(b->x->eval, b->e->store, block) ||
	       (b->each_file && store_block_has_seconds(b->e->store, block));
}
