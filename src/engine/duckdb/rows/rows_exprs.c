// SPDX-License-Identifier: Apache-2.0
/* rows_exprs.c: expressions of weir_rows(): parses them, resolves names, chooses types, and caches the result. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/duckdb/rows/weir_rows.h"
#include "engine/duckdb/library/enum_types.h"

static void exprs_free(struct rows_exprs *x)
{
	if (x->eval)
		eval_free(x->eval);
	plan_free(x->filter_plan);
	for (size_t i = 0; i < x->column_count; i++) {
		free(x->columns[i].name);
		plan_free(x->columns[i].plan);
		words_free(x->e->api, &x->columns[i].own);
	}
	free(x->key);
	free(x);
}

/* Parses one expression. `what` describes it in a message. */
static int rows_exprs_parse(struct rows_exprs *x, const char *text, bool filter, const char *what,
			    struct plan **ret, struct error *err)
{
	struct query_error wrong = {0};
	int r = query_parse_expr_users(text, strlen(text), x->table, filter,
				       annotations_get(x->e->annotations), ret, &wrong);

	if (r >= 0)
		return 0;
	return error_set(err, r, "weir_rows(): %s '%.200s', character %zu: %s", what, text,
			 wrong.pos + 1, wrong.err.message);
}

/* Columns that are not expressions. */
static const struct {
	const char *name;
	enum rows_cell cell;
	bool op_only;
} special[] = {
	{"row_number", ROWS_NUMBER, false}, {"row_end", ROWS_END, false},
	{"row_calls", ROWS_CALLS, true},    {"row_bytes", ROWS_BYTES, true},
	{"row_time", ROWS_TIME, true},	    {"row_max", ROWS_MAX, true},
	{"row_hist", ROWS_HIST, true},
};

static int column_parse(struct rows_exprs *x, struct rows_column *c, struct error *err)
{
	int r;

	c->direct = -1;
	c->type = DUCKDB_TYPE_BIGINT;
	for (size_t i = 0; i < ARRAY_SIZE(special); i++) {
		if (strcmp(c->name, special[i].name))
			continue;
		if (special[i].op_only && x->table != TABLE_OP)
			return error_set(err, -EINVAL, "weir_rows(): only op has %s", c->name);
		c->cell = special[i].cell;
		c->type = c->cell == ROWS_HIST ? DUCKDB_TYPE_BLOB : DUCKDB_TYPE_BIGINT;
		return 0;
	}
	r = rows_exprs_parse(x, c->name, false, "column", &c->plan, err);
	if (r < 0)
		return r;
	c->expr = c->plan->fields[0].expr;
	if (c->expr->kind == EXPR_COLUMN)
		c->direct = (int)c->expr->column;
	return 0;
}

/* ---- evaluation and types ---- */

static int make_eval(struct rows_exprs *x, struct error *err)
{
	const struct expr *exprs[ROWS_COLUMNS_MAX + 1];
	size_t n = 0;
	int r;

	if (x->filter)
		exprs[n++] = x->filter;
	for (size_t i = 0; i < x->column_count; i++) {
		struct rows_column *c = &x->columns[i];

		if (!c->expr)
			continue;
		c->k = n;
		exprs[n++] = c->expr;
	}
	if (!n)
		return 0;
	r = eval_new(&x->eval, exprs, n, err);
	if (r >= 0)
		eval_stop_with(x->eval, &x->e->interrupted);
	return r < 0 ? error_errno(err, r, "cannot prepare the expressions") : 0;
}

/* Makes the ENUM of the texts that a column can have. */
static int rows_exprs_make_words(struct rows_exprs *x, struct rows_column *c)
{
	_cleanup_(intern_free) struct intern texts = {0};
	_cleanup_buf_ struct buf escaped = {0};
	const struct bytes *words;
	size_t count = eval_words(x->eval, c->k, &words);
	struct words *w = &c->own;
	int r = 0;

	if (w->type && w->ordinal_count == count)
		return 0; /* a dictionary never shrinks */
	words_free(x->e->api, w);
	w->ordinals = calloc(count + 1, sizeof(*w->ordinals));
	w->ordinal_count = count;
	if (!w->ordinals)
		return -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		buf_clear(&escaped);
		r = engine_escape(words[i].data, words[i].len, &escaped);
		if (r >= 0)
			r = intern_add(&texts, escaped.data ? escaped.data : (const uint8_t *)"",
				       escaped.len, &w->ordinals[i]);
	}
	if (r >= 0)
		r = words_declare(x->e->api, &texts, w);
	c->words = w;
	return r;
}

/* The table to which a name in the expression belongs. */
static enum table_id rows_table_of(const struct expr *e)
{
	return e->kind == EXPR_NAME ? query_name_table(e->name) : rows_table_of(e->arg[0]);
}

/* True if the column's texts are a dictionary by id that is small enough for an ENUM. */
static bool is_words(const struct rows_exprs *x, const struct rows_column *c)
{
	const struct bytes *words;

	if (x->by_rows && names_many(x->e, rows_table_of(c->expr)))
		return false;
	return eval_is_words(x->eval, c->k) && eval_words(x->eval, c->k, &words) <= NAMES_ENUM_MAX;
}

static int choose_type(struct rows_exprs *x, struct rows_column *c, struct error *err)
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
		r = duck_vocab(x->e, c->expr->type.vocab, &c->words, err);
		if (r >= 0 && !c->words)
			return error_set(err, -EIO, "%s has no named values", c->expr->type.vocab);
		break;
	case QUERY_TEXT:
		c->cell = is_words(x, c) ? ROWS_WORDS : ROWS_TEXT;
		c->type = DUCKDB_TYPE_VARCHAR;
		if (c->cell == ROWS_WORDS)
			r = rows_exprs_make_words(x, c);
		break;
	case QUERY_HIST:
		c->cell = ROWS_PACKED;
		c->type = DUCKDB_TYPE_BLOB;
		break;
	default:
		break;
	}
	return r < 0 ? error_errno(err, r, "cannot collect the texts of %s", c->name) : 0;
}

/* ---- cache ---- */

static int rows_exprs_make_key(enum table_id table, const char *filter, bool by_rows,
			       const char *const *columns, size_t count, char **ret)
{
	_cleanup_buf_ struct buf key = {0};
	int r;

	buf_printf(&key, "%d %d %zu %s", (int)table, by_rows, strlen(filter), filter);
	for (size_t i = 0; i < count; i++)
		buf_printf(&key, " %zu %s", strlen(columns[i]), columns[i]);
	r = buf_status(&key);
	*ret = r < 0 ? NULL : strdup(buf_str(&key));
	return *ret ? 0 : -ENOMEM;
}

static int exprs_parse(struct rows_exprs *x, const char *filter, const char *const *columns,
		       size_t count, struct error *err)
{
	int r = 0;

	if (*filter) {
		r = rows_exprs_parse(x, filter, true, "filter", &x->filter_plan, err);
		if (r >= 0)
			x->filter = x->filter_plan->where;
	}
	for (size_t i = 0; i < count && r >= 0; i++) {
		struct rows_column *c = &x->columns[x->column_count++];

		c->name = strdup(columns[i]);
		r = c->name ? column_parse(x, c, err)
			    : error_errno(err, -ENOMEM, "cannot keep a column");
	}
	return r < 0 ? r : make_eval(x, err);
}

/* Resolves names added since, and what depends on them. */
static int exprs_update(struct rows_exprs *x, struct error *err)
{
	int r = 0;

	if (x->eval && eval_uses(x->eval, TABLE_FILE))
		r = names_load_files(x->e, err);
	if (x->eval && r >= 0)
		r = eval_names(x->eval, store_dims_few(x->e->store), err);

	if (r < 0)
		return error_errno(err, r, "cannot look up the names of the expressions");
	for (size_t i = 0; i < x->column_count && r >= 0; i++)
		r = choose_type(x, &x->columns[i], err);
	x->pin = x->e->pin;
	return r;
}

/* Removes a usable entry from the cache: one not in use, or one that already knows all names. */
static struct rows_exprs *rows_exprs_find_kept(struct duck *e, const char *key)
{
	for (struct rows_exprs **at = &e->rows_kept; *at; at = &(*at)->next) {
		struct rows_exprs *x = *at;

		if (strcmp(x->key, key) || (x->uses && x->pin != e->pin) ||
		    x->users != store_made_changes(e->store))
			continue;
		*at = x->next;
		return x;
	}
	return NULL;
}

/* Adds an entry as the newest; the oldest unused one is freed. */
static void rows_exprs_keep(struct duck *e, struct rows_exprs *x)
{
	struct rows_exprs **at, **last = NULL;
	size_t count = 0;

	x->next = e->rows_kept;
	e->rows_kept = x;
	for (at = &e->rows_kept; *at; at = &(*at)->next) {
		count++;
		if (!(*at)->uses)
			last = at;
	}
	if (count > ROWS_KEPT_MAX && last) {
		struct rows_exprs *old = *last;

		*last = old->next;
		exprs_free(old);
	}
}

int rows_exprs_get(struct duck *e, enum table_id table, const char *filter, bool by_rows,
		   const char *const *columns, size_t column_count, struct rows_exprs **ret,
		   struct error *err)
{
	_cleanup_free_ char *key = NULL;
	struct rows_exprs *x;
	int r = rows_exprs_make_key(table, filter, by_rows, columns, column_count, &key);

	if (r < 0)
		return error_errno(err, r, "cannot keep the expressions");
	x = rows_exprs_find_kept(e, key);
	if (!x) {
		x = calloc(1, sizeof(*x));
		if (!x)
			return error_errno(err, -ENOMEM, "cannot keep the expressions");
		x->e = e;
		x->table = table;
		x->by_rows = by_rows;
		x->key = TAKE_PTR(key);
		x->users = store_made_changes(e->store);
		x->pin = SIZE_MAX;
		r = exprs_parse(x, filter, columns, column_count, err);
	}
	if (r >= 0 && x->pin != e->pin)
		r = exprs_update(x, err);
	if (r < 0) {
		exprs_free(x);
		return r;
	}
	x->uses++;
	rows_exprs_keep(e, x);
	*ret = x;
	return 0;
}

void rows_exprs_put(struct rows_exprs *x)
{
	assert(x->uses);
	x->uses--;
}

void rows_exprs_free_all(struct duck *e)
{
	while (e->rows_kept) {
		struct rows_exprs *x = e->rows_kept;

		e->rows_kept = x->next;
		exprs_free(x);
	}
}
