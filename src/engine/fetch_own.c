// SPDX-License-Identifier: Apache-2.0
/* fetch_own.c: users' own tables of an engine, in a trace. */
#include "engine/fetch_own.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "engine/annotations.h"
#include "engine/ask.h"
#include "store/made/made.h"

/* A table as it is written. */
struct own_copy {
	const struct query_user_table *from;
	struct column_def *columns;
	struct table_def def;
	struct batch *rows;
	struct buf text;
};

static void own_copy_free(struct own_copy *c)
{
	batch_free(c->rows);
	free(c->columns);
	buf_free(&c->text);
}

void fetch_own_free(struct fetch_own *o)
{
	map_free(&o->calls);
	buf_free(&o->left_out);
	free(o->found);
}

static enum column_type own_copy_type(struct query_kind k)
{
	switch (k.type) {
	case QUERY_BOOL:
		return COLUMN_BOOL;
	case QUERY_UINT:
		return COLUMN_UINT;
	case QUERY_FLOAT:
		return COLUMN_FLOAT;
	case QUERY_TIME:
		return COLUMN_TIME;
	case QUERY_TEXT:
		return COLUMN_TEXT;
	default:
		return COLUMN_INT;
	}
}

static int own_copy_new(struct own_copy *c, const struct query_user_table *t)
{
	c->from = t;
	c->columns = calloc(t->column_count + 1, sizeof(*c->columns));
	if (!c->columns)
		return -ENOMEM;
	for (size_t i = 0; i < t->column_count; i++) {
		enum column_type type = own_copy_type(t->columns[i].type);
		bool number = type == COLUMN_INT || type == COLUMN_UINT;

		c->columns[i] =
			(struct column_def){t->columns[i].name, type,
					    number ? annotations_unit(t->columns[i].name) : "", ""};
	}
	c->def = made_own(t->name, c->columns, t->column_count);
	return batch_new_of(&c->rows, TABLE_OWN, &c->def);
}

/* ---- reading ---- */

/* 0: a table that is too large to be looked up, or differs between recordings, is left out. */
static int load_columns(const struct query_users *u, const struct query_user_table *t,
			struct error *err)
{
	for (size_t i = 0; i < t->column_count; i++) {
		int r = u->load(u, t, i, false, err);

		if (r == -EFBIG || r == -EINVAL) {
			*err = (struct error){0};
			return 0;
		}
		if (r < 0)
			return r;
	}
	return 1;
}

static bool is_loaded(const struct query_user_table *t)
{
	for (size_t i = 0; i < t->column_count; i++) {
		if (!t->columns[i].nulls)
			return false;
	}
	return true;
}

static int want_calls(struct fetch_own *o, const struct query_user_table *t)
{
	_cleanup_(own_copy_free) struct own_copy c = {0};
	int r = own_copy_new(&c, t);

	for (unsigned int i = 0; i < t->column_count && r >= 0; i++) {
		const struct query_user_column *col = &t->columns[i];

		for (size_t k = 0; schema_refers(&c.def, i) == TABLE_OP && k < col->count && r >= 0;
		     k++)
			r = col->nulls[k] ? 0 : map_set(&o->calls, (uint64_t)col->ints[k], 0);
	}
	return r;
}

int fetch_own_open(struct fetch_own *o, struct engine *e, struct error *err)
{
	int r = engine_users(e, &o->users, err);

	for (size_t i = 0; r >= 0 && o->users && i < o->users->count; i++) {
		const struct query_user_table *t = o->users->tables[i];

		r = load_columns(o->users, t, err);
		if (r == 0)
			r = buf_printf(&o->left_out, "%s%s", o->left_out.len ? ", " : "", t->name);
		else if (r > 0)
			r = want_calls(o, t);
	}
	return r < 0 ? error_errno(err, r, "the tables of users") : 0;
}

int fetch_own_calls(struct fetch_own *o, const struct batch *b, const uint32_t *rows, size_t n)
{
	int r = 0;

	for (size_t i = 0; i < n && o->calls.count && r >= 0; i++) {
		int64_t id = batch_row_id(b, rows[i]);

		if (!map_get(&o->calls, (uint64_t)id, NULL))
			continue;
		r = array_add(o->found, o->found_count, o->found_cap,
			      (struct fetch_call){o->seen + i, id});
	}
	o->seen += n;
	return r;
}

/* ---- writing ---- */

/* Calls are read in the order in which they were written. */
static int find_calls(struct fetch_own *o, struct store *s, struct error *err)
{
	const struct scan_request q = {.table = TABLE_OP, .from = INT64_MIN, .to = INT64_MAX};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	uint64_t place = 0;
	size_t next = 0;
	ssize_t n = 0;
	int r = o->found_count ? engine_scan_new(&scan, s, &q, err) : 0;

	while (r >= 0 && next < o->found_count &&
	       (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		for (;
		     r >= 0 && next < o->found_count && o->found[next].place < place + (uint64_t)n;
		     next++)
			r = map_set(&o->calls, (uint64_t)o->found[next].id,
				    (uint64_t)batch_row_id(b, rows[o->found[next].place - place]) +
					    1);
		place += (uint64_t)n;
	}
	return r < 0 ? error_errno(err, r, "the calls of users' tables") : (int)MIN(n, (ssize_t)0);
}

static int own_copy_cell(struct fetch_own *o, struct own_copy *c, unsigned int i, size_t row,
			 fetch_own_id *ids, void *arg)
{
	const struct query_user_column *col = &c->from->columns[i];
	int to = schema_refers(&c->def, i), r = 0;
	size_t at = c->rows->rows - 1;
	uint64_t call = 0;
	int64_t v;

	if (row >= col->count || col->nulls[row])
		return 0;
	if (col->texts) {
		buf_clear(&c->text);
		r = engine_escape(col->texts[row].data, col->texts[row].len, &c->text);
		return r < 0 ? r : batch_set_bytes(c->rows, i, at, c->text.data, c->text.len);
	}
	v = col->ints[row];
	if (to == TABLE_OP) {
		map_get(&o->calls, (uint64_t)v, &call);
		if (!call)
			return 0;
		v = (int64_t)call - 1;
	} else if (to >= 0 && schema_is_dimension((enum table_id)to)) {
		r = ids(arg, (enum table_id)to, &v);
	}
	return r < 0 ? r : batch_set(c->rows, i, at, v);
}

static int own_copy_rows(struct fetch_own *o, struct own_copy *c, struct store_writer *w,
			 fetch_own_id *ids, void *arg, struct error *err)
{
	size_t count = c->from->column_count ? c->from->columns[0].count : 0;
	int r = 0;

	for (size_t row = 0; row < count && r >= 0; row++) {
		r = (int)MIN(batch_add_row(c->rows), (ssize_t)0);
		for (unsigned int i = 0; i < c->def.column_count && r >= 0; i++)
			r = own_copy_cell(o, c, i, row, ids, arg);
		if (r < 0)
			return error_errno(err, r, "the table %s", c->def.name);
		if (c->rows->rows < BATCH_ROWS_MAX && row + 1 < count)
			continue;
		r = store_made_rows(w, c->rows, err);
		batch_clear(c->rows);
	}
	return r;
}

static int own_copy_table(struct fetch_own *o, const struct query_user_table *t,
			  struct store_writer *w, fetch_own_id *ids, void *arg, struct error *err)
{
	_cleanup_(own_copy_free) struct own_copy c = {0};
	int r = own_copy_new(&c, t);

	if (r < 0)
		return error_errno(err, r, "the table %s", t->name);
	r = store_made_begin(
		w,
		&(struct store_making){.table = TABLE_OWN, .own = &c.def, .origin = MADE_BY_USER},
		err);
	if (r >= 0)
		r = own_copy_rows(o, &c, w, ids, arg, err);
	return r < 0 ? r : store_made_end(w, false, err);
}

int fetch_own_write(struct fetch_own *o, const char *path, fetch_own_id *ids, void *arg,
		    struct error *err)
{
	_cleanup_(store_freep) struct store *s = NULL;
	_cleanup_(store_abandonp) struct store_writer *w = NULL;
	int r;

	if (!o->users || !o->users->count)
		return 0;
	r = store_open(&s, &path, 1, err);
	if (r >= 0)
		r = find_calls(o, s, err);
	if (r >= 0)
		r = store_reopen(&w, s, err);
	for (size_t i = 0; i < o->users->count && r >= 0; i++) {
		if (is_loaded(o->users->tables[i]))
			r = own_copy_table(o, o->users->tables[i], w, ids, arg, err);
	}
	return r < 0 ? r : store_close(TAKE_PTR(w), err);
}
