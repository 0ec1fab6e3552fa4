// SPDX-License-Identifier: Apache-2.0
/*
 * table_users.c: tables that users appended to traces, each as a view of its own name over the table
 * function weir_user(name). Of several traces they are one table, ids composed. With `plain := true`
 * the values are as the language has them, for translations: times are numbers, BLOBs texts, and the
 * last column is the row's number in the order of the table.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "engine/duckdb/internal.h"
#include "store/user/user.h"

struct users_bind {
	struct duck *e;
	size_t count; /* tables, one of a trace each */
	const struct user_table **tables;
	bool plain;
	bool ids[USER_COLUMNS_MAX]; /* columns that hold ids of the trace */
};

struct users_shared {
	const struct users_bind *bind;
	size_t output_count;
	idx_t *outputs; /* column of the table, or beyond */
	size_t part_count;
	struct users_part {
		const struct user_table *table;
		size_t block;
	} *parts;
	_Atomic size_t next;
};

struct users_local {
	struct user_reader *reader;
	const struct user_table *table;
	size_t part; /* of the shared list */
	size_t row, rows;
	struct buf scratch;
};

/* ---- names ---- */

static bool is_own_name(const char *name)
{
	if (!strcasecmp(name, "op_named") || !strncasecmp(name, "weir_", strlen("weir_")))
		return true;
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		if (!strcasecmp(name, schema_table(i)->name))
			return true;
	}
	return false;
}

int duck_check_name(struct engine *engine, const char *name, struct error *err)
{
	struct duck *e = duck_of(engine);
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	char sql[400];
	int r;

	if (!user_name_ok(name, strlen(name)))
		return error_set(err, -EINVAL,
				 "a table cannot be called '%.80s': a letter or _, then letters, "
				 "digits and _, %u at most",
				 name, USER_NAME_MAX);
	if (is_own_name(name))
		return error_set(err, -EINVAL,
				 "%s is a name of weir's own: give the table another one", name);
	snprintf(sql, sizeof(sql),
		 "SELECT 1 FROM duckdb_keywords() WHERE keyword_name = lower('%s') AND "
		 "keyword_category <> 'unreserved' UNION ALL SELECT 1 FROM duckdb_views() WHERE "
		 "internal AND lower(view_name) = lower('%s')",
		 name, name);
	r = duck_run_text(e, sql, &result, err);
	if (r >= 0 && engine_result_next(result))
		r = error_set(err, -EINVAL, "%s is a word of SQL: give the table another name",
			      name);
	return r;
}

/* ---- bind ---- */

static void bind_free(void *p)
{
	struct users_bind *b = p;

	if (!b)
		return;
	free(b->tables);
	free(b);
}

static int check_shape(const struct users_bind *b, const struct user_table *t, struct error *err)
{
	const struct user_table *first = b->tables[0];

	if (annotations_same_shape(first, t))
		return 0;
	return error_set(err, -EINVAL,
			 "the table %s has other columns in %.300s than in %.300s: annotate them "
			 "alike, or ask one trace at a time",
			 t->name, store_trace_path(b->e->store, t->trace),
			 store_trace_path(b->e->store, first->trace));
}

static int find_tables(struct users_bind *b, const char *name, struct error *err)
{
	size_t count = store_user_count(b->e->store);
	int r = 0;

	b->tables = calloc(count + 1, sizeof(*b->tables));
	if (!b->tables)
		return error_errno(err, -ENOMEM, "cannot read the table %s", name);
	for (size_t i = 0; i < count && r >= 0; i++) {
		const struct user_table *t = store_user_table(b->e->store, i);

		if (!t || strcasecmp(t->name, name))
			continue;
		b->tables[b->count++] = t;
		r = check_shape(b, t, err);
	}
	if (r >= 0 && !b->count)
		r = error_set(err, -ENOENT, "the trace has no table %.80s", name);
	return r;
}

static const duckdb_type types[USER_TYPES] = {
	[USER_INT] = DUCKDB_TYPE_BIGINT,	[USER_UINT] = DUCKDB_TYPE_UBIGINT,
	[USER_FLOAT] = DUCKDB_TYPE_DOUBLE,	[USER_BOOL] = DUCKDB_TYPE_BOOLEAN,
	[USER_TIME] = DUCKDB_TYPE_TIMESTAMP_NS, [USER_TEXT] = DUCKDB_TYPE_VARCHAR,
	[USER_BLOB] = DUCKDB_TYPE_BLOB,
};

static duckdb_type plain_type(enum user_type type)
{
	return type == USER_TIME   ? DUCKDB_TYPE_BIGINT
	       : type == USER_BLOB ? DUCKDB_TYPE_VARCHAR
				   : types[type];
}
/* A column's name is SQL's text; a damaged file may hold anything. */
static int table_users_declare(const struct duckdb_api *d, duckdb_bind_info info,
			       struct users_bind *b)
{
	const struct user_table *t = b->tables[0];
	uint64_t rows = 0;

	for (size_t i = 0; i < t->column_count; i++) {
		_cleanup_buf_ struct buf name = {0};
		enum user_type own = t->columns[i].type;
		duckdb_logical_type type =
			d->create_logical_type(b->plain ? plain_type(own) : types[own]);
		int r = engine_escape(t->columns[i].name, strlen(t->columns[i].name), &name);

		if (r >= 0)
			d->bind_add_result_column(
				info,
				engine_is_utf8(t->columns[i].name, strlen(t->columns[i].name))
					? t->columns[i].name
					: buf_str(&name),
				type);
		d->destroy_logical_type(&type);
		if (r < 0)
			return r;
		b->ids[i] = annotations_is_id(&t->columns[i]);
	}
	if (b->plain) {
		duckdb_logical_type number = d->create_logical_type(DUCKDB_TYPE_BIGINT);

		d->bind_add_result_column(info, "row_number", number);
		d->destroy_logical_type(&number);
	}
	for (size_t i = 0; i < b->count; i++)
		rows += b->tables[i]->rows;
	d->bind_set_cardinality(info, rows, true);
	return 0;
}

static void table_users_on_bind(duckdb_bind_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct users_bind *b = calloc(1, sizeof(*b));
	duckdb_value v = d->bind_get_parameter(info, 0),
		     plain = d->bind_get_named_parameter(info, "plain");
	char *name = v && !d->is_null_value(v) ? d->get_varchar(v) : NULL;
	struct error err = {0};

	if (b) {
		d->bind_set_bind_data(info, b, bind_free);
		b->plain = plain && !d->is_null_value(plain) && d->get_int64(plain) != 0;
		b->e = d->bind_get_extra_info(info);
		if (find_tables(b, name ? name : "", &err) < 0)
			d->bind_set_error(info, err.message);
		else if (table_users_declare(d, info, b) < 0)
			d->bind_set_error(info, "out of memory");
	} else {
		d->bind_set_error(info, "out of memory");
	}
	if (name)
		d->free(name);
	if (v)
		d->destroy_value(&v);
	if (plain)
		d->destroy_value(&plain);
}

/* ---- scan ---- */

static void shared_free(void *p)
{
	struct users_shared *s = p;

	if (!s)
		return;
	free(s->parts);
	free(s->outputs);
	free(s);
}

static int list_parts(struct users_shared *s)
{
	size_t count = 0;

	for (size_t i = 0; i < s->bind->count; i++)
		count += s->bind->tables[i]->block_count;
	s->parts = calloc(count + 1, sizeof(*s->parts));
	if (!s->parts)
		return -ENOMEM;
	for (size_t i = 0; i < s->bind->count; i++) {
		for (size_t k = 0; k < s->bind->tables[i]->block_count; k++)
			s->parts[s->part_count++] = (struct users_part){s->bind->tables[i], k};
	}
	return 0;
}

static void table_users_on_init(duckdb_init_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct users_shared *s = table_state_new(info, sizeof(*s), shared_free);

	if (!s)
		return;
	s->bind = d->init_get_bind_data(info);
	s->output_count = d->init_get_column_count(info);
	s->outputs = calloc(s->output_count + 1, sizeof(*s->outputs));
	if (!s->outputs || list_parts(s) < 0) {
		d->init_set_error(info, "out of memory");
		return;
	}
	for (size_t i = 0; i < s->output_count; i++)
		s->outputs[i] = d->init_get_column_index(info, i);
	table_set_threads(info, s->bind->e, s->part_count);
}

static void table_users_local_free(void *p)
{
	struct users_local *l = p;

	if (!l)
		return;
	user_reader_free(l->reader);
	buf_free(&l->scratch);
	free(l);
}

static void table_users_on_local_init(duckdb_init_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct users_bind *b = d->init_get_bind_data(info);
	struct users_local *l = table_state_new(info, sizeof(*l), table_users_local_free);

	if (!l)
		return;
	if (user_reader_new(&l->reader, b->e->store) < 0)
		d->init_set_error(info, "out of memory");
}

static int table_users_next_block(struct users_shared *s, struct users_local *l, struct error *err)
{
	for (;;) {
		size_t i = atomic_fetch_add(&s->next, 1);
		ssize_t rows;

		if (i >= s->part_count)
			return 0;
		l->part = i;
		l->table = s->parts[i].table;
		l->row = 0;
		rows = user_read(l->reader, l->table, s->parts[i].block, err);
		l->rows = rows < 0 ? 0 : (size_t)rows;
		if (rows > 0)
			return 1;
		if (rows == -EBADMSG)
			*err = (struct error){0}; /* counted as damage, which is shown */
		else if (rows < 0)
			return (int)rows;
	}
}

/* Text that is no UTF-8 is escaped, as names are; plain BLOBs are, too. */
static int table_users_fill_bytes(const struct duckdb_api *d, const struct users_bind *b,
				  struct users_local *l, size_t column, size_t i, duckdb_vector out)
{
	struct bytes v = user_bytes(l->reader, column, l->row + i);
	bool text = l->table->columns[column].type == USER_TEXT;

	if (text ? !engine_is_utf8(v.data, v.len) : b->plain) {
		int r;

		buf_clear(&l->scratch);
		r = engine_escape(v.data, v.len, &l->scratch);
		if (r < 0)
			return r;
		v = (struct bytes){l->scratch.data, l->scratch.len};
	}
	d->vector_assign_string_element_len(out, i, (const char *)v.data, v.len);
	return 0;
}

static int table_users_fill(const struct duckdb_api *d, const struct users_bind *b,
			    struct users_local *l, size_t column, size_t count, duckdb_vector out)
{
	enum user_type type = l->table->columns[column].type;
	bool id = b->ids[column] && l->table->trace;
	uint64_t *validity = NULL;
	void *to = d->vector_get_data(out);
	int r = 0;

	for (size_t i = 0; i < count && r >= 0; i++) {
		if (user_is_null(l->reader, column, l->row + i)) {
			if (!validity) {
				d->vector_ensure_validity_writable(out);
				validity = d->vector_get_validity(out);
			}
			validity[i / 64] &= ~(1ull << (i % 64));
		} else if (user_type_is_bytes(type)) {
			r = table_users_fill_bytes(d, b, l, column, i, out);
		} else if (type == USER_BOOL) {
			((uint8_t *)to)[i] = user_value(l->reader, column, l->row + i) != 0;
		} else {
			uint64_t v = user_value(l->reader, column, l->row + i);

			if (id)
				v = (uint64_t)annotations_compose(b->e->store, l->table,
								  &l->table->columns[column],
								  (int64_t)v);
			((uint64_t *)to)[i] = v;
		}
	}
	return r;
}

/* Blocks hold at most 65,536 rows. */
static void fill_numbers(const struct duckdb_api *d, const struct users_local *l, size_t count,
			 duckdb_vector out)
{
	int64_t *to = d->vector_get_data(out);

	for (size_t i = 0; i < count; i++)
		to[i] = (int64_t)l->part << 16 | (int64_t)(l->row + i);
}

static void table_users_on_scan(duckdb_function_info info, duckdb_data_chunk chunk)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct users_shared *s = d->function_get_init_data(info);
	struct users_local *l = d->function_get_local_init_data(info);
	struct error err = {0};
	size_t count;
	int r = l->row < l->rows ? 1 : table_users_next_block(s, l, &err);

	if (r == 0) {
		d->data_chunk_set_size(chunk, 0);
		return;
	}
	count = MIN(l->rows - l->row, (size_t)VECTOR_ROWS);
	for (size_t i = 0; i < s->output_count && r >= 0; i++) {
		if (s->bind->plain && s->outputs[i] == l->table->column_count)
			fill_numbers(d, l, count, d->data_chunk_get_vector(chunk, i));
		else if (s->outputs[i] < l->table->column_count)
			r = table_users_fill(d, s->bind, l, s->outputs[i], count,
					     d->data_chunk_get_vector(chunk, i));
	}
	if (r < 0) {
		d->function_set_error(info, err.message[0] ? err.message : strerror(-r));
		d->data_chunk_set_size(chunk, 0);
		return;
	}
	l->row += count;
	d->data_chunk_set_size(chunk, count);
}

/* ---- declaring ---- */

int users_register(struct duck *e, struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_table_function f = d->create_table_function();
	duckdb_logical_type text = d->create_logical_type(DUCKDB_TYPE_VARCHAR),
			    flag = d->create_logical_type(DUCKDB_TYPE_BOOLEAN);
	duckdb_state state;

	if (!f || !text || !flag)
		return error_errno(err, -ENOMEM, "cannot declare weir_user");
	d->table_function_set_name(f, "weir_user");
	d->table_function_add_parameter(f, text);
	d->table_function_add_named_parameter(f, "plain", flag);
	d->table_function_set_extra_info(f, e, NULL);
	d->table_function_set_bind(f, table_users_on_bind);
	d->table_function_set_init(f, table_users_on_init);
	d->table_function_set_local_init(f, table_users_on_local_init);
	d->table_function_set_function(f, table_users_on_scan);
	d->table_function_supports_projection_pushdown(f, true);
	state = d->register_table_function(e->con, f);
	d->destroy_table_function(&f);
	d->destroy_logical_type(&text);
	d->destroy_logical_type(&flag);
	return state ? error_set(err, -EIO, "DuckDB refuses the table function weir_user") : 0;
}

/* Where the columns differ, whoever asks for the table is told; everything else can be asked. */
static int declare_error(struct duck *e, const char *name, const char *message, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	int r = buf_printf(&sql, "CREATE OR REPLACE VIEW \"%s\" AS SELECT error('", name);

	for (const char *p = message; *p && r >= 0; p++)
		r = buf_append(&sql, *p == '\'' ? "''" : p, *p == '\'' ? 2 : 1);
	if (r >= 0)
		r = buf_printf(&sql, "') AS \"other columns in each trace: ask one at a time\"");
	return r < 0 ? error_errno(err, r, "cannot declare %s", name)
		     : duck_run(e, buf_str(&sql), err);
}

int users_declare(struct duck *e, struct error *err)
{
	uint64_t changes = store_user_changes(e->store);

	if (changes == e->users_seen)
		return 0;
	for (size_t i = 0; i < store_user_count(e->store); i++) {
		const struct user_table *t = store_user_table(e->store, i);
		struct error why = {0};
		char sql[256];

		if (!t || is_own_name(t->name))
			continue;
		snprintf(sql, sizeof(sql), "CREATE OR REPLACE VIEW \"%s\" AS FROM weir_user('%s')",
			 t->name, t->name);
		/* a table that was made in this session under the name stays what it is */
		if (duck_run(e, sql, &why) < 0)
			(void)declare_error(e, t->name, why.message, NULL);
	}
	e->users_seen = changes;
	return 0;
}
