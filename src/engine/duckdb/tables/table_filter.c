// SPDX-License-Identifier: Apache-2.0
/*
 * table_filter.c: the arguments of a table function. The library pushes no filters down, so ranges and id
 * sets come as arguments: they skip blocks unread, and what is left is cut to exactly the rows
 * asked for.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include "base/saturate.h"
#include "engine/duckdb/tables/table_scan.h"

struct filter_columns filter_columns_of(enum table_id table)
{
	const struct table_def *t = schema_table(table);
	struct filter_columns c = {.start = t->start,
				   .dur_or_stop = t->dur != NO_COLUMN ? t->dur : t->stop,
				   .file = NO_COLUMN,
				   .thread = NO_COLUMN,
				   .stop_is_time = t->stop != NO_COLUMN};

	if (t->kind == TABLE_IS_DIMENSION)
		c.start = c.dur_or_stop = NO_COLUMN;
	for (unsigned int i = t->column_count;
	     i-- > 0;) { /* the first column that refers to each */
		int to = t->columns[i].type == COLUMN_ID ? schema_refers(t, i) : -1;

		if (to == TABLE_FILE)
			c.file = i;
		else if (to == TABLE_THREAD)
			c.thread = i;
	}
	return c;
}

static void table_filter_declare(const struct duckdb_api *d, duckdb_table_function f,
				 const char *name, bool list)
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

	if (c.start != NO_COLUMN) {
		table_filter_declare(d, f, "start", false);
		table_filter_declare(d, f, "stop", false);
	}
	if (c.file != NO_COLUMN)
		table_filter_declare(d, f, "files", true);
	if (c.thread != NO_COLUMN)
		table_filter_declare(d, f, "threads", true);
}

/* False where the argument was not given, or is NULL. */
static bool read_number(const struct duckdb_api *d, duckdb_bind_info info, const char *name,
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

/* *ret: the argument was given. NULL is no id: it is what list() makes of no rows. */
static int table_filter_read_ids(const struct duckdb_api *d, duckdb_bind_info info,
				 const char *name, struct map *ids, bool *ret)
{
	duckdb_value v = d->bind_get_named_parameter(info, name);
	idx_t count = v && !d->is_null_value(v) ? d->get_list_size(v) : 0;
	int r = 0;

	*ret = v != NULL;
	for (idx_t i = 0; r >= 0 && i < count; i++) {
		duckdb_value id = d->get_list_child(v, i);

		if (!d->is_null_value(id))
			r = map_set(ids, (uint64_t)d->get_int64(id), 1);
		d->destroy_value(&id);
	}
	if (v)
		d->destroy_value(&v);
	return r;
}

int filter_read(const struct duckdb_api *d, duckdb_bind_info info, enum table_id table,
		struct scan_filter *f, struct error *err)
{
	struct filter_columns c = filter_columns_of(table);
	int r = 0;

	f->start = INT64_MIN;
	f->stop = INT64_MAX;
	if (c.start != NO_COLUMN) {
		f->by_time = read_number(d, info, "start", &f->start);
		f->by_time |= read_number(d, info, "stop", &f->stop);
	}
	if (f->start > f->stop)
		return error_set(err, -EINVAL, "start %lld is after stop %lld", (long long)f->start,
				 (long long)f->stop);
	if (c.file != NO_COLUMN)
		r = table_filter_read_ids(d, info, "files", &f->files, &f->by_file);
	if (r >= 0 && c.thread != NO_COLUMN)
		r = table_filter_read_ids(d, info, "threads", &f->threads, &f->by_thread);
	return r < 0 ? error_errno(err, r, "cannot keep the ids") : 0;
}

void filter_free(struct scan_filter *f)
{
	map_free(&f->files);
	map_free(&f->threads);
}

uint64_t filter_column_set(const struct scan_filter *f, enum table_id table)
{
	struct filter_columns c = filter_columns_of(table);
	uint64_t set = 0;

	if (f->by_time) {
		set |= 1ull << c.start;
		if (c.dur_or_stop != NO_COLUMN)
			set |= 1ull << c.dur_or_stop;
	}
	if (f->by_file)
		set |= 1ull << c.file;
	if (f->by_thread)
		set |= 1ull << c.thread;
	return set;
}

/* When the latest row of the block can have ended. */
static int64_t block_stop(const struct store_block *b, const struct filter_columns *c)
{
	if (c->dur_or_stop == NO_COLUMN || b->min[c->dur_or_stop] > b->max[c->dur_or_stop])
		return b->max[c->start];
	if (c->stop_is_time)
		return MAX(b->max[c->dur_or_stop], b->max[c->start]);
	return add_sat_signed(b->max[c->start], b->max[c->dur_or_stop]);
}

static bool block_has_ids(const struct store *s, size_t block, unsigned int column,
			  const struct map *ids)
{
	const struct store_block *b = store_block(s, block);
	uint64_t id, unused;
	size_t pos = 0;

	if (b->min[column] > b->max[column])
		return false; /* null throughout */
	while (map_next(ids, &pos, &id, &unused)) {
		if ((int64_t)id < b->min[column] || (int64_t)id > b->max[column])
			continue;
		if (b->table != TABLE_OP || store_block_has_id(s, block, column, (int64_t)id))
			return true;
	}
	return false;
}

bool filter_block(const struct scan_filter *f, const struct store *s, size_t block)
{
	const struct store_block *b = store_block(s, block);
	struct filter_columns c = filter_columns_of(b->table);

	if (f->by_time) {
		if (b->min[c.start] > b->max[c.start])
			return false; /* no row has a start */
		if (b->min[c.start] >= f->stop || block_stop(b, &c) < f->start)
			return false;
	}
	if (f->by_file && !block_has_ids(s, block, c.file, &f->files))
		return false;
	return !f->by_thread || block_has_ids(s, block, c.thread, &f->threads);
}

/* A row without a start (entered before recording) is in no range. */
static bool in_range(const struct scan_filter *f, const struct filter_columns *c,
		     const struct batch *b, size_t row)
{
	int64_t start, stop;

	if (batch_is_null(b, c->start, row))
		return false;
	start = stop = b->columns[c->start].val[row];
	if (c->dur_or_stop != NO_COLUMN && !batch_is_null(b, c->dur_or_stop, row)) {
		int64_t v = b->columns[c->dur_or_stop].val[row];

		stop = c->stop_is_time ? v : add_sat_signed(start, v);
	}
	return start < f->stop && stop >= f->start;
}

static bool in_set(const struct map *ids, const struct batch *b, unsigned int column, size_t row)
{
	return !batch_is_null(b, column, row) &&
	       map_get(ids, (uint64_t)b->columns[column].val[row], NULL);
}

size_t filter_rows(const struct scan_filter *f, const struct batch *b, const uint32_t *rows,
		   size_t count, uint32_t *out)
{
	struct filter_columns c = filter_columns_of(b->table);
	size_t n = 0;

	for (size_t i = 0; i < count; i++) {
		uint32_t row = rows ? rows[i] : (uint32_t)i;

		if (f->by_time && !in_range(f, &c, b, row))
			continue;
		if (f->by_file && !in_set(&f->files, b, c.file, row))
			continue;
		if (f->by_thread && !in_set(&f->threads, b, c.thread, row))
			continue;
		out[n++] = row;
	}
	return n;
}
