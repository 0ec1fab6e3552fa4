// SPDX-License-Identifier: Apache-2.0
/*
 * table_filter.c: the arguments of weir_<table>(). The library does not push filters down, so ranges, id sets and a
 * condition are arguments. They become a filter of the language, which skips blocks without reading them and keeps
 * exactly the selected rows.
 */
#include <errno.h>
#include <inttypes.h>

#include "engine/duckdb/rows/weir_rows.h"

/* The columns to which the arguments apply; NULL: the table has no such column. */
struct filter_columns {
	const char *start, *file, *thread;
	bool stops; /* rows have an end, named stop in the language */
};

static struct filter_columns filter_columns_of(enum table_id table)
{
	const struct table_def *t = schema_table(table);
	struct filter_columns c = {.stops = t->dur != NO_COLUMN || t->stop != NO_COLUMN};

	if (t->kind != TABLE_IS_DIMENSION && t->start != NO_COLUMN)
		c.start = t->columns[t->start].name;
	for (unsigned int i = t->column_count;
	     i-- > 0;) { /* find the first column that refers to each table */
		int to = t->columns[i].type == COLUMN_ID ? schema_refers(t, i) : -1;

		if (to == TABLE_FILE)
			c.file = t->columns[i].name;
		else if (to == TABLE_THREAD)
			c.thread = t->columns[i].name;
	}
	return c;
}

static void filter_argument(const struct duckdb_api *d, duckdb_table_function f, const char *name,
			    bool list)
{
	duckdb_logical_type number = d->create_logical_type(DUCKDB_TYPE_BIGINT);
	duckdb_logical_type numbers = d->create_list_type(number);

	d->table_function_add_named_parameter(f, name, list ? numbers : number);
	d->destroy_logical_type(&number);
	d->destroy_logical_type(&numbers);
}

void filter_declare(const struct duckdb_api *d, duckdb_table_function f, enum table_id table)
{
	struct filter_columns c = filter_columns_of(table);
	duckdb_logical_type text = d->create_logical_type(DUCKDB_TYPE_VARCHAR);

	d->table_function_add_named_parameter(f, "filter", text);
	d->destroy_logical_type(&text);
	if (c.start) {
		filter_argument(d, f, "start", false);
		filter_argument(d, f, "stop", false);
	}
	if (c.file)
		filter_argument(d, f, "files", true);
	if (c.thread)
		filter_argument(d, f, "threads", true);
}

/* Appends "&&" between conditions. */
static int filter_and(struct buf *out)
{
	return buf_printf(out, "%s", out->len ? " && " : "");
}

/* Appends nothing if the argument is missing. NULL selects nothing: it is the result of list() over no rows. */
static int filter_ids(const struct duckdb_api *d, duckdb_bind_info info, const char *argument,
		      const char *column, struct buf *out)
{
	duckdb_value v = d->bind_get_named_parameter(info, argument);
	idx_t count = v && !d->is_null_value(v) ? d->get_list_size(v) : 0;
	bool any = false;
	int r = v ? filter_and(out) : 0;

	for (idx_t i = 0; r >= 0 && i < count; i++) {
		duckdb_value id = d->get_list_child(v, i);

		if (!d->is_null_value(id)) {
			r = any ? buf_printf(out, ", ") : buf_printf(out, "%s in (", column);
			any = true;
			if (r >= 0)
				r = buf_printf(out, "%" PRId64, d->get_int64(id));
		}
		d->destroy_value(&id);
	}
	if (v && r >= 0) /* ids are not negative */
		r = any ? buf_printf(out, ")") : buf_printf(out, "%s < 0", column);
	if (v)
		d->destroy_value(&v);
	return r;
}

/* A condition in the language. NULL selects nothing. */
static int filter_condition(const struct duckdb_api *d, duckdb_bind_info info, struct buf *out)
{
	duckdb_value v = d->bind_get_named_parameter(info, "filter");
	char *text = v && !d->is_null_value(v) ? d->get_varchar(v) : NULL;
	int r = v ? filter_and(out) : 0;

	if (v && r >= 0)
		r = buf_printf(out, "(%s)", text ? text : "false");
	if (text)
		d->free(text);
	if (v)
		d->destroy_value(&v);
	return r;
}

/* A comparison with a time: "start >= ...". */
static int filter_time(const char *what, const char *sign, int64_t ns, struct buf *out)
{
	const struct expr time = {.kind = EXPR_CONST,
				  .type = {.type = QUERY_TIME},
				  .value = {.i = MAX(ns, (int64_t)0)}};

	buf_printf(out, "%s %s ", what, sign);
	return expr_text(&time, TABLE_OP, out);
}

/*
 * A row without a start is in no range; a row without a duration ended at its start; `stop` is null for a call that was
 * still running.
 */
static int filter_since(enum table_id table, const struct filter_columns *c, int64_t from,
			struct buf *out)
{
	filter_and(out);
	buf_printf(out, "(");
	if (c->stops)
		filter_time("stop", ">=", from, out);
	if (c->stops)
		buf_printf(out, " || ");
	filter_time(c->start, ">=", from, out);
	if (table == TABLE_OP)
		filter_time(" || ret is null && start + dur", ">=", from, out);
	return buf_printf(out, ")");
}

int filter_read(const struct duckdb_api *d, duckdb_bind_info info, enum table_id table,
		struct buf *out, struct error *err)
{
	struct filter_columns c = filter_columns_of(table);
	int64_t from = INT64_MIN, to = INT64_MAX;
	bool since = c.start && rows_argument(d, info, "start", &from);
	bool until = c.start && rows_argument(d, info, "stop", &to);
	int r = 0;

	if (from > to)
		return error_set(err, -EINVAL, "start %lld is after stop %lld", (long long)from,
				 (long long)to);
	if (until)
		r = filter_time(c.start, "<", to, out);
	if (r >= 0 && since)
		r = filter_since(table, &c, from, out);
	if (r >= 0 && c.file)
		r = filter_ids(d, info, "files", c.file, out);
	if (r >= 0 && c.thread)
		r = filter_ids(d, info, "threads", c.thread, out);
	if (r >= 0)
		r = filter_condition(d, info, out);
	return r < 0 ? error_errno(err, r, "cannot read the arguments") : 0;
}
