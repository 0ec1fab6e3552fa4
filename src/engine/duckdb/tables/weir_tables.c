// SPDX-License-Identifier: Apache-2.0
/*
 * weir_tables.c: each table as a table function, weir_<table>(): its columns as stored, a TIMESTAMP_NS next to each
 * timestamp, and the names that op_named adds, which are expressions of the language. Rows are read by the scan of
 * weir_rows().
 */
#include <errno.h>
#include <stdio.h>

#include "engine/duckdb/rows/weir_rows.h"

/* A table function and its table. */
struct table_function {
	struct duck *e;
	enum table_id table; /* TABLE_OWN: weir_user(name) */
	bool named;	     /* op_named */
};

/* Columns that op_named adds; docs/howto/sql.md lists them. */
static const struct {
	const char *name;
	const char *expr;    /* NULL: file.inode of the id in the column */
	enum table_id table; /* from which the text comes */
	enum rows_cell cell;
	unsigned int column;
} named_columns[] = {
	{"comm", "comm", TABLE_THREAD, ROWS_TEXT, 0},
	{"exe", "exe", TABLE_THREAD, ROWS_TEXT, 0},
	{"pid", "pid", TABLE_THREAD, ROWS_INT, 0},
	{"ppid", "ppid", TABLE_THREAD, ROWS_INT, 0},
	{"uid", "uid", TABLE_THREAD, ROWS_INT, 0},
	{"process_id", "id(process)", TABLE_THREAD, ROWS_INT, 0},
	{"cgroup", "cgroup", TABLE_THREAD, ROWS_TEXT, 0},
	{"container", "container", TABLE_THREAD, ROWS_TEXT, 0},
	{"unit", "unit", TABLE_THREAD, ROWS_TEXT, 0},
	{"host", "host", TABLE_THREAD, ROWS_TEXT, 0},
	{"path", "path", TABLE_FILE, ROWS_TEXT, 0},
	{"hostpath", "hostpath", TABLE_FILE, ROWS_TEXT, 0},
	{"file_name", "text(file)", TABLE_FILE, ROWS_TEXT, 0},
	{"file_type", "file_type", TABLE_FILE, ROWS_CODE, 0},
	{"inode_id", NULL, TABLE_FILE, ROWS_INODE, OP_FILE_ID},
	{"path2", "path2", TABLE_FILE, ROWS_TEXT, 0},
	{"file2_name", "text(file2)", TABLE_FILE, ROWS_TEXT, 0},
	{"inode2_id", NULL, TABLE_FILE, ROWS_INODE, OP_FILE2_ID},
	{"peer", "peer", TABLE_FILE, ROWS_TEXT, 0},
	{"stack", "stack", TABLE_STACK, ROWS_TEXT, 0},
	{"kstack", "kstack", TABLE_STACK, ROWS_TEXT, 0},
};

static_assert(SCHEMA_COLUMNS_MAX + ARRAY_SIZE(named_columns) + OP_COLUMNS + 1 <= ROWS_COLUMNS_MAX,
	      "room for all");

/* ---- columns ---- */

static int tables_add(struct rows_table *t, const char *name, const char *more, enum rows_cell cell,
		      duckdb_type type, int direct)
{
	struct rows_column *c = &t->columns[t->count];

	if (asprintf(&c->name, "%s%s", name, more) < 0)
		return -ENOMEM;
	c->cell = cell;
	c->type = type;
	c->direct = direct;
	t->count++;
	return 0;
}

/* The cell and type of a stored column. */
static void stored_type(const struct rows_bind *b, unsigned int column, enum rows_cell *cell,
			duckdb_type *type)
{
	bool plain = b->of->plain;

	*cell = ROWS_INT;
	*type = DUCKDB_TYPE_BIGINT;
	switch (b->of->def->columns[column].type) {
	case COLUMN_BYTES:
		*cell = b->table == TABLE_PROCESS && column == PROCESS_ARGV   ? ROWS_ARGV
			: b->table == TABLE_SUMMARY && column == SUMMARY_HIST ? ROWS_BLOB
									      : ROWS_STORED;
		*type = *cell == ROWS_BLOB ? DUCKDB_TYPE_BLOB : DUCKDB_TYPE_VARCHAR;
		break;
	case COLUMN_UINT:
		*type = DUCKDB_TYPE_UBIGINT;
		break;
	case COLUMN_FLOAT:
		*type = DUCKDB_TYPE_DOUBLE;
		break;
	case COLUMN_BOOL:
		*cell = ROWS_TRUTH;
		*type = DUCKDB_TYPE_BOOLEAN;
		break;
	case COLUMN_TEXT:
		*cell = ROWS_SQL;
		*type = DUCKDB_TYPE_VARCHAR;
		break;
	case COLUMN_BLOB:
		*cell = plain ? ROWS_STORED : ROWS_BLOB;
		*type = plain ? DUCKDB_TYPE_VARCHAR : DUCKDB_TYPE_BLOB;
		break;
	case COLUMN_TIME:
		if (b->table == TABLE_OWN && !plain)
			*type = DUCKDB_TYPE_TIMESTAMP_NS;
		break;
	default:
		break;
	}
}

static int stored_column(struct rows_bind *b, unsigned int column, struct error *err)
{
	const struct column_def *def = &b->of->def->columns[column];
	/* a table unknown to this version of weir may have codes without words */
	const struct names_column *names = NULL;
	const struct words *words = NULL;
	struct rows_column *c;
	enum rows_cell cell;
	duckdb_type type;
	int r = def->type == COLUMN_CODE && !b->of->plain ? duck_vocab(b->e, def->name, &words, err)
							  : 0;

	if (r < 0)
		return r;
	stored_type(b, column, &cell, &type);
	r = tables_add(b->of, def->name, "", words ? ROWS_CODE : cell, type, (int)column);
	if (r < 0)
		return r;
	c = &b->of->columns[b->of->count - 1];
	c->words = words;
	r = names_column(b->e, b->table, column, &names, err);
	if (names) {
		c->cell = ROWS_NAME;
		c->words = &names->words;
		c->texts = &names->texts;
	}
	return r;
}

/* Adds the columns of op_named, without the types of texts that are ENUMs. */
static int name_columns(struct rows_bind *b, struct error *err)
{
	struct rows_table *t = b->of;
	int r = 0;

	for (unsigned int i = 0; i < ARRAY_SIZE(named_columns) && r >= 0; i++) {
		enum rows_cell cell = named_columns[i].cell;

		r = tables_add(t, named_columns[i].name, "", cell,
			       cell == ROWS_TEXT ? DUCKDB_TYPE_VARCHAR : DUCKDB_TYPE_BIGINT,
			       cell == ROWS_INODE ? (int)named_columns[i].column : -1);
		if (r < 0)
			break;
		if (cell == ROWS_CODE)
			r = duck_vocab(b->e, "type", &t->columns[t->count - 1].words, err);
		if (named_columns[i].expr)
			t->columns[t->count - 1].named = i + 1;
		t->late |= names_many(b->e, named_columns[i].table);
	}
	return r;
}

static int table_columns(struct rows_bind *b, bool named, struct error *err)
{
	const struct table_def *def = b->of->def;
	int r = 0;

	for (unsigned int i = 0; i < def->column_count && r >= 0; i++)
		r = stored_column(b, i, err);
	for (unsigned int i = 0; b->table != TABLE_OWN && i < def->column_count && r >= 0; i++) {
		if (def->columns[i].type == COLUMN_TIME)
			r = tables_add(b->of, def->columns[i].name, "_time", ROWS_INT,
				       DUCKDB_TYPE_TIMESTAMP_NS, (int)i);
	}
	return r < 0 || !named ? r : name_columns(b, err);
}

/* ---- names ---- */

/*
 * Resolves the names on which types depend: texts of tables with few rows, which are ENUMs. If all tables have few
 * rows, all other names are resolved too; otherwise those that are read are resolved later.
 */
static int table_types(struct rows_bind *b, struct error *err)
{
	struct rows_column *columns = b->of->columns, *asked[ARRAY_SIZE(named_columns)];
	const char *exprs[ARRAY_SIZE(named_columns)];
	size_t n = 0;
	int r;

	for (size_t i = 0; i < b->of->count; i++) {
		unsigned int k = columns[i].named;

		if (!k || (b->of->late && (columns[i].cell != ROWS_TEXT ||
					   names_many(b->e, named_columns[k - 1].table))))
			continue;
		asked[n] = &columns[i];
		exprs[n++] = named_columns[k - 1].expr;
	}
	r = rows_exprs_get(b->e, b->table, buf_str(&b->of->filter), true, exprs, n, &b->x, err);
	for (size_t i = 0; i < n && r >= 0; i++) {
		asked[i]->words = b->x->columns[i].words;
		asked[i]->k = i;
	}
	return r;
}

int rows_table_names(const struct rows_bind *b, const struct rows_column **outputs, size_t count,
		     struct rows_exprs **ret, struct error *err)
{
	const char *exprs[ARRAY_SIZE(named_columns)];
	size_t at[ARRAY_SIZE(named_columns)], n = 0;
	bool inodes = false;
	int r = 0;

	for (size_t i = 0; i < count; i++) {
		inodes |= outputs[i] && outputs[i]->cell == ROWS_INODE;
		if (!outputs[i] || !outputs[i]->named)
			continue;
		at[n] = i;
		exprs[n++] = named_columns[outputs[i]->named - 1].expr;
	}
	if (inodes)
		r = names_load_files(b->e, err);
	if (r >= 0 && n && b->of->late)
		r = rows_exprs_get(b->e, b->table, buf_str(&b->of->filter), true, exprs, n, ret,
				   err);
	for (size_t i = 0; i < n && r >= 0; i++)
		outputs[at[i]] = *ret ? &(*ret)->columns[i] : &b->x->columns[outputs[at[i]]->k];
	return r;
}

/* ---- binding ---- */

void rows_table_free(struct rows_table *t)
{
	if (!t)
		return;
	for (size_t i = 0; i < t->count; i++)
		free(t->columns[i].name);
	buf_free(&t->filter);
	free(t->parts);
	free(t);
}

/* Binds the table with the given name. */
static int bind_own(const struct duckdb_api *d, duckdb_bind_info info, struct rows_bind *b,
		    struct error *err)
{
	duckdb_value v = d->bind_get_parameter(info, 0);
	char *name = v && !d->is_null_value(v) ? d->get_varchar(v) : NULL;
	int64_t plain = 0;
	int r;

	b->of->plain = rows_argument(d, info, "plain", &plain) && plain;
	r = made_find(b->e, b->of, name ? name : "", err);
	if (name)
		d->free(name);
	if (v)
		d->destroy_value(&v);
	return r;
}

static int bind_table(const struct duckdb_api *d, duckdb_bind_info info, struct rows_bind *b,
		      bool named, struct error *err)
{
	int64_t row_id = 0;
	bool numbered;
	int r = 0;

	if (b->table == TABLE_OWN) {
		r = bind_own(d, info, b, err);
	} else {
		b->of->def = schema_table(b->table);
		r = filter_read(d, info, b->table, &b->of->filter, err);
	}
	if (r < 0)
		return r;
	r = table_columns(b, named, err);
	numbered = b->table == TABLE_OP && rows_argument(d, info, "row_id", &row_id) && row_id;
	if (r >= 0 && (numbered || b->of->plain))
		r = tables_add(b->of, numbered ? "row_id" : "row_number", "", ROWS_ID,
			       DUCKDB_TYPE_BIGINT, -1);
	return r < 0 ? error_errno(err, r, "cannot read the table") : table_types(b, err);
}

static void weir_tables_on_bind(duckdb_bind_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct table_function *f = d->bind_get_extra_info(info);
	struct rows_bind *b = calloc(1, sizeof(*b));
	struct error err = {0};
	int r;

	if (b)
		b->of = calloc(1, sizeof(*b->of));
	if (!b || !b->of) {
		free(b);
		d->bind_set_error(info, "out of memory");
		return;
	}
	d->bind_set_bind_data(info, b, rows_bind_free);
	b->e = f->e;
	b->table = f->table;
	/* blocks of a user's table are counted per table */
	b->pin = f->table == TABLE_OWN ? 0 : f->e->pin;
	b->from = INT64_MIN;
	b->to = INT64_MAX;
	pthread_mutex_lock(&b->e->names_lock);
	r = bind_table(d, info, b, f->named, &err);
	pthread_mutex_unlock(&b->e->names_lock);
	if (r < 0) {
		d->bind_set_error(info, err.message);
		return;
	}
	b->columns = b->of->columns;
	b->column_count = b->of->count;
	rows_bind_filter(b);
	rows_declare(info, b);
}

/* ---- declaring ---- */

static int register_table(struct duck *e, enum table_id table, bool named, const char *name,
			  struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_table_function f = d->create_table_function();
	struct table_function *t = calloc(1, sizeof(*t));
	duckdb_state state;

	if (!f || !t) {
		d->destroy_table_function(&f);
		free(t);
		return error_errno(err, -ENOMEM, "cannot declare %s", name);
	}
	*t = (struct table_function){e, table, named};
	d->table_function_set_name(f, name);
	d->table_function_set_extra_info(f, t, free);
	d->table_function_set_bind(f, weir_tables_on_bind);
	rows_set_scan(d, f);
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

int tables_register(struct duck *e, struct error *err)
{
	int r = 0;

	for (unsigned int i = 0; i < TABLE_COUNT && r >= 0; i++) {
		char name[64];

		snprintf(name, sizeof(name), "weir_%s", schema_table(i)->name);
		r = register_table(e, i, false, name, err);
	}
	if (r < 0)
		return r;
	r = register_table(e, TABLE_OP, true, "weir_op_named", err);
	return r < 0 ? r : register_table(e, TABLE_OWN, false, "weir_user", err);
}
