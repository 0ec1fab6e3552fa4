// SPDX-License-Identifier: Apache-2.0
/*
 * table_scan.c: each table as a table function, parallel by block. A scan sees the blocks that the
 * statement was pinned to, decodes the columns that the plan names and no others, and leaves out
 * blocks that the arguments exclude.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/tables/table_scan.h"

/* What the threads of one scan share. */
struct scan_shared {
	const struct scan_bind *bind;
	size_t output_count;
	struct scan_output {
		const struct scan_column *column; /* NULL: a column that only counts rows */
	} outputs[SCAN_COLUMNS_MAX];
	uint64_t decode; /* columns to decode */
	size_t block_count;
	struct scan_block {
		size_t block;
		size_t live; /* dimension tables: which of bind->live's blocks */
	} *blocks;
	_Atomic size_t next;
};

/* What one thread has. */
struct scan_local {
	struct store_cursor *cursor;
	const struct batch *batch;
	uint32_t *sel;	      /* room for a block's rows */
	const uint32_t *rows; /* which rows of the batch to give; NULL: all */
	size_t row, row_count;
	size_t block;
	struct buf scratch;
};

static void scan_bind_free(void *p)
{
	struct scan_bind *b = p;

	if (!b)
		return;
	filter_free(&b->filter);
	free(b->parts);
	free(b);
}

static void declare_columns(const struct duckdb_api *d, duckdb_bind_info info,
			    const struct scan_bind *b)
{
	for (size_t i = 0; i < b->column_count; i++) {
		const struct scan_column *c = &b->columns[i];

		if (c->words) {
			d->bind_add_result_column(info, c->name, c->words->type);
		} else {
			duckdb_logical_type type = d->create_logical_type(c->type);

			d->bind_add_result_column(info, c->name, type);
			d->destroy_logical_type(&type);
		}
	}
}

/* True where rows of the block, which is of the table, may be given. */
static bool scan_takes_block(const struct scan_bind *b, size_t block)
{
	return store_block_counts(store_block(b->e->store, block)) &&
	       (!filter_any(&b->filter) || filter_block(&b->filter, b->e->store, block));
}

static void declare_cardinality(const struct duckdb_api *d, duckdb_bind_info info,
				const struct scan_bind *b)
{
	uint64_t rows = 0;

	for (size_t i = 0; b->table != TABLE_OWN && i < b->pin; i++) {
		if (store_block(b->e->store, i)->table == b->table && scan_takes_block(b, i))
			rows += store_block(b->e->store, i)->rows;
	}
	for (size_t i = 0; i < b->part_count; i++)
		rows += b->parts[i]->rows;
	d->bind_set_cardinality(info, rows, false);
}

static bool scan_flag(const struct duckdb_api *d, duckdb_bind_info info, const char *name)
{
	duckdb_value v = d->bind_get_named_parameter(info, name);
	bool wanted = v && !d->is_null_value(v) && d->get_int64(v) != 0;

	if (v)
		d->destroy_value(&v);
	return wanted;
}

/* The table of the function, or the one whose name is given. */
static int scan_bind_table(const struct duckdb_api *d, duckdb_bind_info info, struct scan_bind *b,
			   struct error *err)
{
	duckdb_value v;
	char *name;
	int r;

	if (b->table != TABLE_OWN) {
		b->def = schema_table(b->table);
		return 0;
	}
	b->plain = scan_flag(d, info, "plain");
	v = d->bind_get_parameter(info, 0);
	name = v && !d->is_null_value(v) ? d->get_varchar(v) : NULL;
	r = made_find(b, name ? name : "", err);
	if (name)
		d->free(name);
	if (v)
		d->destroy_value(&v);
	return r;
}

static void table_scan_on_bind(duckdb_bind_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct scan_table *t = d->bind_get_extra_info(info);
	struct scan_bind *b = calloc(1, sizeof(*b));
	struct error err = {0};
	int r;

	if (!b) {
		d->bind_set_error(info, "out of memory");
		return;
	}
	d->bind_set_bind_data(info, b, scan_bind_free);
	b->e = t->e;
	b->table = t->table;
	b->pin = t->e->pin;
	r = scan_bind_table(d, info, b, &err);
	if (r >= 0) {
		pthread_mutex_lock(&t->e->names_lock);
		r = sql_columns(b, t->named, &err);
		pthread_mutex_unlock(&t->e->names_lock);
	}
	if (r >= 0 && b->table != TABLE_OWN)
		r = filter_read(d, info, b->table, &b->filter, &err);
	if (b->table == TABLE_OP && r >= 0 && scan_flag(d, info, "row_id"))
		sql_row_id(b, "row_id");
	if (b->plain && r >= 0)
		sql_row_id(b, "row_number");
	if (r < 0) {
		d->bind_set_error(info, err.message);
		return;
	}
	declare_columns(d, info, b);
	declare_cardinality(d, info, b);
}

static void scan_shared_free(void *p)
{
	struct scan_shared *s = p;

	if (!s)
		return;
	free(s->blocks);
	free(s);
}

static void table_scan_choose_columns(const struct duckdb_api *d, duckdb_init_info info,
				      struct scan_shared *s)
{
	const struct scan_bind *b = s->bind;

	s->output_count = d->init_get_column_count(info);
	assert(s->output_count <= SCAN_COLUMNS_MAX);
	for (size_t i = 0; i < s->output_count; i++) {
		idx_t column = d->init_get_column_index(info, i);

		if (column >= b->column_count)
			continue; /* count(*): a column that does not exist */
		s->outputs[i].column = &b->columns[column];
		if (b->columns[column].cell == CELL_ROW)
			continue;
		s->decode |= 1ull << b->columns[column].column;
		if (b->columns[column].cell == CELL_PEER ||
		    b->columns[column].cell == CELL_PEER_TEXT)
			s->decode |= 1ull << b->columns[column].column2;
	}
	if (filter_any(&b->filter))
		s->decode |= filter_column_set(&b->filter, b->table);
}

/* What the columns hang on, and which rows of a dimension table hold. */
static int table_scan_prepare(const struct duckdb_api *d, duckdb_init_info info, struct error *err)
{
	struct scan_bind *b = d->init_get_bind_data(info);
	int r;

	pthread_mutex_lock(&b->e->names_lock);
	r = sql_prepare(b, SIZE_MAX, err);
	for (idx_t i = 0; i < d->init_get_column_count(info) && r >= 0; i++)
		r = sql_prepare(b, d->init_get_column_index(info, i), err);
	pthread_mutex_unlock(&b->e->names_lock);
	return r;
}

static int table_scan_choose_blocks(struct scan_shared *s)
{
	const struct scan_bind *b = s->bind;
	size_t candidates = b->live		    ? b->live->block_count
			    : b->table == TABLE_OWN ? store_block_count(b->e->store)
						    : b->pin;

	s->blocks = calloc(candidates + 1, sizeof(*s->blocks));
	if (!s->blocks)
		return -ENOMEM;
	for (size_t i = 0; b->table != TABLE_OWN && i < candidates; i++) {
		size_t block = b->live ? b->live->blocks[i] : i;

		if (store_block(b->e->store, block)->table != b->table)
			continue;
		if (b->live && b->live->from[i] == b->live->from[i + 1])
			continue;
		if (scan_takes_block(b, block))
			s->blocks[s->block_count++] = (struct scan_block){block, i};
	}
	for (size_t i = 0; i < b->part_count; i++) {
		const struct store_made *m = b->parts[i];

		for (size_t k = m->first_block; k < m->first_block + m->block_count; k++) {
			if (!store_block(b->e->store, k)->damaged)
				s->blocks[s->block_count++] = (struct scan_block){k, 0};
		}
	}
	return 0;
}

static void table_scan_on_init(duckdb_init_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct scan_shared *s = table_state_new(info, sizeof(*s), scan_shared_free);
	struct error err = {0};

	if (!s)
		return;
	s->bind = d->init_get_bind_data(info);
	table_scan_choose_columns(d, info, s);
	if (table_scan_prepare(d, info, &err) < 0) {
		d->init_set_error(info, err.message);
		return;
	}
	if (table_scan_choose_blocks(s) < 0) {
		d->init_set_error(info, "out of memory");
		return;
	}
	atomic_fetch_add(&s->bind->e->blocks_total, s->block_count);
	table_set_threads(info, s->bind->e, s->block_count);
}

static void scan_local_free(void *p)
{
	struct scan_local *l = p;

	if (!l)
		return;
	store_cursor_free(l->cursor);
	free(l->sel);
	buf_free(&l->scratch);
	free(l);
}

static void table_scan_on_local_init(duckdb_init_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct scan_bind *b = d->init_get_bind_data(info);
	struct scan_local *l = table_state_new(info, sizeof(*l), scan_local_free);

	if (!l)
		return;
	if (filter_any(&b->filter))
		l->sel = malloc(BATCH_ROWS_MAX * sizeof(*l->sel));
	if (store_cursor_new(&l->cursor, b->e->store) < 0 || (filter_any(&b->filter) && !l->sel))
		d->init_set_error(info, "out of memory");
}

/* Sets which rows of the block's batch are given. */
static void table_scan_choose_rows(const struct scan_bind *b, const struct scan_block *block,
				   struct scan_local *l)
{
	l->row = 0;
	l->rows = NULL;
	l->row_count = l->batch->rows;
	if (b->live) {
		l->rows = b->live->rows + b->live->from[block->live];
		l->row_count = b->live->from[block->live + 1] - b->live->from[block->live];
	}
	if (filter_any(&b->filter)) {
		l->row_count = filter_rows(&b->filter, l->batch, l->rows, l->row_count, l->sel);
		l->rows = l->sel;
	}
}

/* Decodes the next block that has rows to give. 1, 0 at the end, or negative. */
static int table_scan_next_block(struct scan_shared *s, struct scan_local *l, struct error *err)
{
	for (;;) {
		size_t i = atomic_fetch_add(&s->next, 1);
		int r;

		if (i >= s->block_count)
			return 0;
		if (atomic_load(&s->bind->e->interrupted))
			return error_set(err, -EINTR, "interrupted");
		r = store_decode(l->cursor, s->blocks[i].block, s->decode, &l->batch, err);
		atomic_fetch_add(&s->bind->e->blocks_done, 1);
		if (r == -EBADMSG) {
			*err = (struct error){
				0}; /* the store counts it as damage, which is shown */
			continue;
		}
		if (r < 0)
			return r;
		l->block = s->blocks[i].block;
		table_scan_choose_rows(s->bind, &s->blocks[i], l);
		if (l->row_count > 0)
			return 1;
	}
}

/* The number of the block in its file never changes, and neither do the rows in it. */
static void fill_row_ids(const struct duckdb_api *d, const struct scan_bind *b,
			 const struct scan_local *l, size_t count, duckdb_vector out)
{
	const struct store_block *block = store_block(b->e->store, l->block);
	int64_t base = id_compose((int64_t)(block->seq << 16) & ID_OWN_MASK, block->trace);
	int64_t *to = d->vector_get_data(out);

	for (size_t i = 0; i < count; i++) {
		size_t row = l->rows ? l->rows[l->row + i] : l->row + i;

		to[i] = base | (int64_t)row;
	}
}

static void table_scan_on_scan(duckdb_function_info info, duckdb_data_chunk chunk)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct scan_shared *s = d->function_get_init_data(info);
	struct scan_local *l = d->function_get_local_init_data(info);
	struct error err = {0};
	size_t count;
	int r = 0;

	if (l->row >= l->row_count) {
		r = table_scan_next_block(s, l, &err);
		if (r == 0) {
			d->data_chunk_set_size(chunk, 0);
			return;
		}
	}
	count = MIN(l->row_count - l->row, (size_t)VECTOR_ROWS);
	for (size_t i = 0; i < s->output_count && r >= 0; i++) {
		if (s->outputs[i].column && s->outputs[i].column->cell == CELL_ROW)
			fill_row_ids(d, s->bind, l, count, d->data_chunk_get_vector(chunk, i));
		else if (s->outputs[i].column)
			r = fill_vector(s->bind->e, s->outputs[i].column, l->batch, l->rows, l->row,
					count, d->data_chunk_get_vector(chunk, i), &l->scratch);
	}
	if (r < 0) {
		d->function_set_error(info, err.message[0] ? err.message : strerror(-r));
		d->data_chunk_set_size(chunk, 0);
		return;
	}
	l->row += count;
	d->data_chunk_set_size(chunk, count);
}

static int register_table(struct duck *e, enum table_id table, bool named, const char *name,
			  struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_table_function f = d->create_table_function();
	struct scan_table *t = calloc(1, sizeof(*t));
	duckdb_state state;

	if (!f || !t) {
		d->destroy_table_function(&f);
		free(t);
		return error_errno(err, -ENOMEM, "cannot declare %s", name);
	}
	*t = (struct scan_table){e, table, named};
	d->table_function_set_name(f, name);
	d->table_function_set_extra_info(f, t, free);
	d->table_function_set_bind(f, table_scan_on_bind);
	d->table_function_set_init(f, table_scan_on_init);
	d->table_function_set_local_init(f, table_scan_on_local_init);
	d->table_function_set_function(f, table_scan_on_scan);
	d->table_function_supports_projection_pushdown(f, true);
	if (table == TABLE_OWN) {
		duckdb_logical_type text = d->create_logical_type(DUCKDB_TYPE_VARCHAR);

		d->table_function_add_parameter(f, text);
		d->destroy_logical_type(&text);
	} else {
		filter_declare(d, f, table);
	}
	if (table == TABLE_OP || table == TABLE_OWN) {
		duckdb_logical_type flag = d->create_logical_type(DUCKDB_TYPE_BOOLEAN);

		d->table_function_add_named_parameter(f, table == TABLE_OP ? "row_id" : "plain",
						      flag);
		d->destroy_logical_type(&flag);
	}
	state = d->register_table_function(e->con, f);
	d->destroy_table_function(&f);
	return state ? error_set(err, -EIO, "DuckDB refuses the table function %s", name) : 0;
}

int scan_register(struct duck *e, struct error *err)
{
	int r = 0;

	for (unsigned int i = 0; i < TABLE_COUNT && r >= 0; i++) {
		char name[64];

		snprintf(name, sizeof(name), "weir_%s", schema_table(i)->name);
		r = register_table(e, i, false, name, err);
	}
	if (r >= 0)
		r = register_table(e, TABLE_OP, true, "weir_op_named", err);
	return r < 0 ? r : register_table(e, TABLE_OWN, false, "weir_user", err);
}
