// SPDX-License-Identifier: Apache-2.0
/* table_names.c: the current rows of dimension tables, and the number of names. */
#include <errno.h>

#include "engine/duckdb/internal.h"
#include "engine/duckdb/library/enum_types.h"
#include "query/expr.h"

static const struct {
	enum table_id table;
	unsigned int column;
	enum query_name name;
} enum_columns[] = {
	{TABLE_THREAD, THREAD_COMM, QNAME_COMM},
	{TABLE_THREAD, THREAD_EXE, QNAME_EXE},
	{TABLE_FILE, FILE_PATH, QNAME_PATH},
	{TABLE_FILE, FILE_HOSTPATH, QNAME_HOSTPATH},
};

static_assert(ARRAY_SIZE(enum_columns) == ARRAY_SIZE(((struct names *)0)->columns), "one each");

static void names_column_free(const struct duckdb_api *d, struct names_column *c)
{
	intern_free(&c->texts);
	words_free(d, &c->words);
	*c = (struct names_column){0};
}

void duck_names_free(const struct duckdb_api *d, struct names *n)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++)
		live_free(&n->live[i]);
	for (size_t i = 0; i < ARRAY_SIZE(n->columns); i++)
		names_column_free(d, &n->columns[i]);
	*n = (struct names){0};
}

int names_live(struct duck *e, enum table_id table, const struct live **ret, struct error *err)
{
	struct names *n = &e->names;

	assert(schema_is_dimension(table) && n->pin == e->pin);
	if (!n->live_made[table]) {
		int r = live_make(&n->live[table], e->store, e->pin, table, err);

		if (r < 0)
			return r;
		n->live_made[table] = true;
	}
	*ret = &n->live[table];
	return 0;
}

int names_load_files(struct duck *e, struct error *err)
{
	return store_load_files(e->store, &e->interrupted, err);
}

bool names_many(const struct duck *e, enum table_id table)
{
	size_t rows = 0;

	for (size_t i = 0; i < e->pin; i++) {
		const struct store_block *b = store_block(e->store, i);

		if (b->table == table)
			rows += b->rows;
	}
	return rows > NAMES_ENUM_MAX;
}

static int names_column_make(struct duck *e, enum table_id table, enum query_name name,
			     struct names_column *c)
{
	const struct dims *d = store_dims_few(e->store);
	_cleanup_buf_ struct buf scratch = {0}, escaped = {0};
	int r = 0;

	for (size_t i = 0; i < dims_rows(d, table) && r >= 0; i++) {
		struct value v;
		uint32_t id;

		r = query_name_value(name, d, dims_id_at(d, table, i), &scratch, &v);
		if (r < 0 || v.null)
			continue;
		buf_clear(&escaped);
		r = engine_escape(v.t.data, v.t.len, &escaped);
		if (r >= 0)
			r = intern_add(&c->texts, buf_str(&escaped), escaped.len, &id);
	}
	c->words.ordinals = calloc(c->texts.count + 1, sizeof(*c->words.ordinals));
	if (r < 0 || !c->words.ordinals)
		return -ENOMEM;
	c->words.ordinal_count = c->texts.count;
	for (size_t i = 0; i < c->texts.count; i++)
		c->words.ordinals[i] = (uint32_t)i;
	return words_declare(e->api, &c->texts, &c->words);
}

int names_column(struct duck *e, enum table_id table, unsigned int column,
		 const struct names_column **ret, struct error *err)
{
	size_t i = 0;
	int r;

	while (i < ARRAY_SIZE(enum_columns) &&
	       (enum_columns[i].table != table || enum_columns[i].column != column))
		i++;
	*ret = NULL;
	if (i == ARRAY_SIZE(enum_columns) || names_many(e, table))
		return 0;
	*ret = &e->names.columns[i];
	if ((*ret)->made)
		return 0;
	r = table == TABLE_FILE ? names_load_files(e, err) : 0;
	if (r >= 0)
		r = names_column_make(e, table, enum_columns[i].name, &e->names.columns[i]);
	if (r < 0)
		names_column_free(e->api, &e->names.columns[i]);
	e->names.columns[i].made = r >= 0;
	return r < 0 ? error_errno(err, r, "cannot collect the names of %zu ids",
				   dims_rows(store_dims_few(e->store), table))
		     : 0;
}
