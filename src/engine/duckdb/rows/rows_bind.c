// SPDX-License-Identifier: Apache-2.0
/* rows_bind.c: declares weir_rows() and reads its arguments. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
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
	rows_table_free(b->of);
	free(b->pick.numbers);
	free(b);
}

/* ---- arguments ---- */

/* The text of a value; NULL if it is NULL or missing. The caller frees it with api->free(). */
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

/* Copies the texts of a list. */
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
		r = rows_exprs_get(b->e, b->table, text ? text : "", false,
				   (const char *const *)columns, count, &b->x, err);
	for (size_t i = 0; i < count; i++)
		free(columns[i]);
	if (text)
		d->free(text);
	d->destroy_value(&filter);
	d->destroy_value(&list);
	return r;
}

bool rows_argument(const struct duckdb_api *d, duckdb_bind_info info, const char *name,
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

	return ORDER(order_number_block(x), order_number_block(y))
		       ?: ORDER(order_number_row(x), order_number_row(y));
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

	if (rows_argument(d, info, "top", &top) && top > 0)
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
	rows_argument(d, info, "ended_from", &b->from);
	rows_argument(d, info, "ended_to", &b->to);
	if (b->from > b->to)
		return error_set(err, -EINVAL,
				 "weir_rows(): ended_from %lld is after ended_to %lld",
				 (long long)b->from, (long long)b->to);
	if (rows_argument(d, info, "first_block", &block) && block > 0)
		b->first_block = (size_t)block;
	b->from_summaries = rows_argument(d, info, "summed", &from_summaries) && from_summaries &&
			    b->table == TABLE_OP;
	b->each_file = rows_argument(d, info, "each_file", &each) && each && b->table == TABLE_OP;
	return 0;
}

void rows_bind_filter(struct rows_bind *b)
{
	if (b->x->filter)
		b->filter_columns |= expr_columns(b->x->filter);
	if (!order_open(b->from, b->to))
		b->filter_columns |= order_columns(b->table);
}

static int rows_bind_read(struct rows_bind *b, duckdb_bind_info info, struct error *err)
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
	b->columns = b->x->columns;
	b->column_count = b->x->column_count;
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

/* ---- declaring ---- */

void rows_declare(duckdb_bind_info info, const struct rows_bind *b)
{
	const struct duckdb_api *d = duckdb_loaded();
	uint64_t rows = 0;

	for (size_t i = 0; i < b->column_count; i++) {
		const struct rows_column *c = &b->columns[i];
		duckdb_logical_type type = c->words ? NULL : d->create_logical_type(c->type);

		d->bind_add_result_column(info, c->name, c->words ? c->words->type : type);
		if (type)
			d->destroy_logical_type(&type);
	}
	for (size_t i = b->first_block; i < b->pin; i++) {
		if (rows_block_passes(b, i))
			rows += store_block(b->e->store, i)->rows;
	}
	for (size_t i = 0; b->of && i < b->of->part_count; i++)
		rows += b->of->parts[i]->rows;
	d->bind_set_cardinality(info, b->picked ? b->pick.count : rows, false);
}

static void rows_on_bind(duckdb_bind_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct duck *e = d->bind_get_extra_info(info);
	struct rows_bind *b = calloc(1, sizeof(*b));
	struct error err = {0};
	int r;

	if (!b) {
		d->bind_set_error(info, "out of memory");
		return;
	}
	b->e = e;
	b->pin = e->pin;
	d->bind_set_bind_data(info, b, rows_bind_free);
	pthread_mutex_lock(&e->names_lock);
	r = rows_bind_read(b, info, &err);
	pthread_mutex_unlock(&e->names_lock);
	if (r < 0)
		d->bind_set_error(info, err.message);
	else
		rows_declare(info, b);
}

static void rows_arguments(const struct duckdb_api *d, duckdb_table_function f)
{
	static const char *const numbers[] = {"ended_from", "ended_to", "first_block", "top"};
	duckdb_logical_type text = d->create_logical_type(DUCKDB_TYPE_VARCHAR);
	duckdb_logical_type texts = d->create_list_type(text);
	duckdb_logical_type number = d->create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_logical_type list = d->create_list_type(number);
	duckdb_logical_type flag = d->create_logical_type(DUCKDB_TYPE_BOOLEAN);

	d->table_function_add_parameter(f, text);
	d->table_function_add_parameter(f, text);
	d->table_function_add_parameter(f, texts);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		d->table_function_add_named_parameter(f, numbers[i], number);
	d->table_function_add_named_parameter(f, "summed", flag);
	d->table_function_add_named_parameter(f, "each_file", flag);
	d->table_function_add_named_parameter(f, "numbers", list);
	d->table_function_add_named_parameter(f, "top_order", text);
	d->destroy_logical_type(&text);
	d->destroy_logical_type(&texts);
	d->destroy_logical_type(&number);
	d->destroy_logical_type(&list);
	d->destroy_logical_type(&flag);
}

int rows_register(struct duck *e, struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_table_function f = d->create_table_function();
	duckdb_state state;

	if (!f)
		return error_errno(err, -ENOMEM, "cannot declare weir_rows");
	d->table_function_set_name(f, "weir_rows");
	d->table_function_set_extra_info(f, e, NULL);
	d->table_function_set_bind(f, rows_on_bind);
	rows_set_scan(d, f);
	rows_arguments(d, f);
	state = d->register_table_function(e->con, f);
	d->destroy_table_function(&f);
	return state ? error_set(err, -EIO, "DuckDB refuses the table function weir_rows") : 0;
}
