// SPDX-License-Identifier: Apache-2.0
/* search_table.c: rows in memory, the stages of a plan over them, and the result that is read from them. */
#include "engine/opensearch/search_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "query/eval/eval_fields.h"
#include "query/eval/pattern.h"
#include "schema/vocab.h"

static struct search_table *table_of(const struct engine_result *r)
{
	return (struct search_table *)(uintptr_t)r;
}

void search_table_free(struct search_table *t)
{
	if (!t)
		return;
	free(t->cells);
	free(t->estimated);
	free(t->shown);
	free(t->head.columns);
	strpool_free(&t->texts);
	buf_free(&t->scratch);
	free(t);
}

static struct value *search_row_at(const struct search_table *t, size_t row)
{
	return t->cells + row * t->width;
}

struct value *search_table_row(struct search_table *t, struct error *err)
{
	struct value *row;

	if (t->rows == SEARCH_ROWS_MAX) {
		error_set(err, -ENOMEM,
			  "more than %d rows or groups: choose fewer (where, --from, --to), or "
			  "group by less",
			  SEARCH_ROWS_MAX);
		return NULL;
	}
	if (grow((void **)&t->cells, &t->cap, (t->rows + 1) * t->width, sizeof(*t->cells)) < 0) {
		error_errno(err, -ENOMEM, "rows of an answer");
		return NULL;
	}
	row = search_row_at(t, t->rows++);
	for (size_t i = 0; i < t->width; i++)
		row[i] = (struct value){.null = true};
	return row;
}

/* A word of the vocabulary, or what query_code_text() writes for a code without one: err_4000. */
static int code_value(const char *vocab, const char *word, struct value *ret)
{
	int64_t code = vocab_code(vocab, word);
	const char *digits = strrchr(word, '_');

	if (code < 0 && digits)
		code = strtoll(digits + 1, NULL, 10);
	*ret = (struct value){.null = code < 0, .i = code};
	return 0;
}

int search_table_value(struct search_table *t, struct query_kind kind, const json_t *j,
		       struct value *ret)
{
	*ret = (struct value){.null = !j || json_is_null(j)};
	if (ret->null)
		return 0;
	switch (kind.type) {
	case QUERY_FLOAT:
		ret->f = json_number_value(j);
		return 0;
	case QUERY_TEXT:
		return strpool_add(&t->texts, json_string_value(j), json_string_length(j), &ret->t);
	case QUERY_CODE:
		return json_is_string(j) ? code_value(kind.vocab, json_string_value(j), ret)
					 : -EPROTO;
	default:
		ret->i = json_is_integer(j) ? json_integer_value(j) : (int64_t)json_number_value(j);
		return 0;
	}
}

/* ---- stages ---- */

static bool uses_estimate(const struct search_table *t, const struct expr *e)
{
	bool any = e->kind == EXPR_FIELD && t->estimated[e->column];

	for (unsigned int i = 0; i < e->arg_count; i++)
		any |= uses_estimate(t, e->arg[i]);
	return any;
}

int search_table_check(const struct plan *p, struct error *err)
{
	for (size_t i = 0; i < p->stage_count; i++) {
		if (p->stages[i].kind == STAGE_JOIN)
			return error_set(err, -EOPNOTSUPP,
					 "OpenSearch cannot join tables: every document has the "
					 "names that belong to it");
		if (p->stages[i].kind == STAGE_GROUP)
			return error_set(err, -EOPNOTSUPP,
					 "OpenSearch cannot group groups; load into ClickHouse or "
					 "ask the trace");
	}
	if (p->table == TABLE_COUNT)
		return error_set(err, -EOPNOTSUPP, "OpenSearch holds no tables of a user's own");
	if (!search_has_table(p->table))
		return error_set(err, -EOPNOTSUPP,
				 "OpenSearch holds no table %s: every document has the names that "
				 "belong to it",
				 schema_table(p->table)->name);
	return 0;
}

static int search_stage_where(struct search_table *t, const struct plan_stage *s, struct error *err)
{
	const struct expr *exprs[] = {s->expr};
	_cleanup_(eval_fields_freep) struct eval_fields *eval = NULL;
	size_t kept = 0;
	int r = eval_fields_new(&eval, exprs, 1, err);

	for (size_t i = 0; r >= 0 && i < t->rows; i++) {
		struct value v;

		r = eval_fields_value(eval, s->expr, search_row_at(t, i), &v);
		if (r < 0)
			return error_errno(err, r, "a condition");
		if (!v.null && v.i)
			memmove(search_row_at(t, kept++), search_row_at(t, i),
				t->width * sizeof(*t->cells));
	}
	t->rows = kept;
	return r;
}

static int search_stage_select(struct search_table *t, const struct plan_stage *s,
			       struct error *err)
{
	size_t width = s->field_count;
	_cleanup_free_ struct value *cells = calloc(t->rows * width + 1, sizeof(*cells));
	_cleanup_free_ bool *estimated = calloc(width + 1, sizeof(*estimated));
	_cleanup_free_ const struct expr **exprs = calloc(width + 1, sizeof(struct expr *));
	_cleanup_(eval_fields_freep) struct eval_fields *eval = NULL;
	int r;

	if (!cells || !estimated || !exprs)
		return error_errno(err, -ENOMEM, "rows of an answer");
	for (size_t c = 0; c < width; c++) {
		exprs[c] = s->fields[c].expr;
		estimated[c] = uses_estimate(t, exprs[c]);
	}
	r = eval_fields_new(&eval, exprs, width, err);
	for (size_t i = 0; r >= 0 && i < t->rows; i++) {
		for (size_t c = 0; r >= 0 && c < width; c++) {
			struct value *v = &cells[i * width + c];

			r = eval_fields_value(eval, exprs[c], search_row_at(t, i), v);
			if (r >= 0 && !v->null && s->fields[c].type.type == QUERY_TEXT)
				r = strpool_add(&t->texts, v->t.data, v->t.len, &v->t);
		}
	}
	if (r < 0)
		return error_errno(err, r, "a field");
	free(t->cells);
	free(t->estimated);
	t->cells = TAKE_PTR(cells);
	t->estimated = TAKE_PTR(estimated);
	t->cap = t->rows * width + 1;
	t->width = width;
	return 0;
}

static void search_stage_head(struct search_table *t, const struct plan_stage *s)
{
	uint64_t most = (uint64_t)MAX(s->count, 0);
	size_t count = MIN(most, t->rows);

	if (s->tail)
		memmove(t->cells, search_row_at(t, t->rows - count),
			count * t->width * sizeof(*t->cells));
	t->rows = count;
}

/* ---- order ---- */

struct sorting {
	const struct search_table *t;
	const struct sort_key *keys;
	size_t count;
};

static struct bytes code_word(const char *vocab, int64_t code)
{
	const char *word = vocab_word(vocab, code);

	return (struct bytes){(const uint8_t *)word, word ? strlen(word) : 0};
}

static int search_compare_values(struct query_kind kind, const struct value *a,
				 const struct value *b)
{
	switch (kind.type) {
	case QUERY_FLOAT:
		return (a->f > b->f) - (a->f < b->f);
	case QUERY_TEXT:
		return bytes_compare(a->t, b->t);
	case QUERY_CODE:
		return bytes_compare(code_word(kind.vocab, a->i), code_word(kind.vocab, b->i));
	case QUERY_UINT:
		return ((uint64_t)a->i > (uint64_t)b->i) - ((uint64_t)a->i < (uint64_t)b->i);
	default:
		return (a->i > b->i) - (a->i < b->i);
	}
}

static int search_compare_rows(const void *x, const void *y, void *arg)
{
	const struct sorting *s = arg;
	size_t i = *(const size_t *)x, j = *(const size_t *)y;

	for (size_t k = 0; k < s->count; k++) {
		unsigned int c = s->keys[k].field;
		const struct value *a = search_row_at(s->t, i) + c, *b = search_row_at(s->t, j) + c;
		int order = a->null || b->null ? a->null - b->null
			    : s->keys[k].desc  ? search_compare_values(s->t->fields[c].type, b, a)
					       : search_compare_values(s->t->fields[c].type, a, b);

		if (order)
			return order;
	}
	return (i > j) - (i < j);
}

static int table_sort(struct search_table *t, const struct sort_key *keys, size_t count,
		      struct error *err)
{
	struct sorting s = {t, keys, count};
	_cleanup_free_ size_t *order = calloc(t->rows + 1, sizeof(*order));
	struct value *cells = calloc(t->rows * t->width + 1, sizeof(*cells));

	if (!order || !cells) {
		free(cells);
		return error_errno(err, -ENOMEM, "rows of an answer");
	}
	for (size_t i = 0; i < t->rows; i++)
		order[i] = i;
	qsort_r(order, t->rows, sizeof(*order), search_compare_rows, &s);
	for (size_t i = 0; i < t->rows; i++)
		memcpy(cells + i * t->width, search_row_at(t, order[i]), t->width * sizeof(*cells));
	free(t->cells);
	t->cells = cells;
	t->cap = t->rows * t->width + 1;
	return 0;
}

/* Groups come in the order of their keys. */
static int sort_groups(struct search_table *t, const struct plan *p, struct error *err)
{
	_cleanup_free_ struct sort_key *keys = calloc(p->field_count + 1, sizeof(*keys));
	size_t count = 0;

	if (!keys)
		return error_errno(err, -ENOMEM, "rows of an answer");
	for (size_t i = 0; i < p->field_count; i++) {
		if (p->fields[i].kind != FIELD_AGGREGATE)
			keys[count++].field = (unsigned int)i;
	}
	return table_sort(t, keys, count, err);
}

/* ---- the result ---- */

static enum engine_type result_type(enum query_type type)
{
	switch (type) {
	case QUERY_BOOL:
		return ENGINE_BOOL;
	case QUERY_FLOAT:
		return ENGINE_FLOAT;
	case QUERY_TIME:
		return ENGINE_TIME;
	case QUERY_TEXT:
		return ENGINE_TEXT;
	default:
		return ENGINE_INT;
	}
}

static int describe(struct search_table *t)
{
	t->head.columns = calloc(t->width + 1, sizeof(*t->head.columns));
	t->shown = calloc(t->width + 1, sizeof(*t->shown));
	if (!t->head.columns || !t->shown)
		return -ENOMEM;
	for (size_t i = 0; i < t->width; i++) {
		const struct plan_field *f = &t->fields[i];

		if (f->hidden)
			continue;
		t->shown[t->head.count] = (unsigned int)i;
		t->head.columns[t->head.count++] =
			(struct engine_column){.name = f->name,
					       .type = result_type(f->type.type),
					       .unit = query_kind_unit(f->type),
					       .is_unsigned = f->type.type == QUERY_UINT};
	}
	t->head.has_rows = true;
	return 0;
}

int search_table_finish(struct search_table *t, const struct plan *p, struct error *err)
{
	int r = p->grouped ? sort_groups(t, p, err) : 0;

	for (size_t i = 0; r >= 0 && i < p->stage_count; i++) {
		const struct plan_stage *s = &p->stages[i];

		if (s->kind == STAGE_WHERE)
			r = search_stage_where(t, s, err);
		else if (s->kind == STAGE_SORT)
			r = table_sort(t, s->keys, s->key_count, err);
		else if (s->kind == STAGE_HEAD)
			search_stage_head(t, s);
		else
			r = search_stage_select(t, s, err);
		t->fields = s->fields;
	}
	if (r >= 0 && describe(t) < 0)
		r = error_errno(err, -ENOMEM, "rows of an answer");
	t->at = SIZE_MAX;
	return r;
}

static const struct value *search_cell(const struct engine_result *r, size_t column)
{
	const struct search_table *t = table_of(r);

	assert(t->at < t->rows && column < r->count);
	return search_row_at(t, t->at) + t->shown[column];
}

static bool search_result_next(struct engine_result *r)
{
	return ++table_of(r)->at < table_of(r)->rows;
}

static bool search_result_null(const struct engine_result *r, size_t column)
{
	return search_cell(r, column)->null;
}

static int64_t search_result_int(const struct engine_result *r, size_t column)
{
	return search_cell(r, column)->null ? 0 : search_cell(r, column)->i;
}

static double search_result_float(const struct engine_result *r, size_t column)
{
	return search_cell(r, column)->null ? 0 : search_cell(r, column)->f;
}

static struct bytes search_result_bytes(const struct engine_result *r, size_t column)
{
	return search_cell(r, column)->null ? (struct bytes){0} : search_cell(r, column)->t;
}

static int search_result_text(struct engine_result *r, size_t column, struct buf *out)
{
	const struct value *v = search_cell(r, column);
	const struct search_table *t = table_of(r);
	struct query_kind kind = t->fields[t->shown[column]].type;

	if (v->null)
		return 0;
	switch (kind.type) {
	case QUERY_FLOAT:
		return buf_printf(out, "%.17g", v->f);
	case QUERY_TEXT:
		return buf_append(out, v->t.data, v->t.len);
	case QUERY_CODE:
		return query_code_text(kind.vocab, v->i, out);
	case QUERY_BOOL:
		return buf_printf(out, v->i ? "true" : "false");
	case QUERY_UINT:
		return buf_printf(out, "%" PRIu64, (uint64_t)v->i);
	default:
		return buf_printf(out, "%" PRId64, v->i);
	}
}

static bool search_result_estimated(const struct engine_result *r, size_t column)
{
	return table_of(r)->estimated[table_of(r)->shown[column]];
}

static void search_result_free(struct engine_result *r)
{
	search_table_free(table_of(r));
}

static const struct engine_result_ops search_result_ops = {
	.next = search_result_next,
	.is_null = search_result_null,
	.get_int = search_result_int,
	.get_float = search_result_float,
	.get_bytes = search_result_bytes,
	.get_time = search_result_int,
	.text = search_result_text,
	.estimated = search_result_estimated,
	.free = search_result_free,
};

int search_table_new(struct search_table **ret, const struct plan_field *fields, size_t count)
{
	_cleanup_(search_table_freep) struct search_table *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->head.ops = &search_result_ops;
	t->fields = fields;
	t->width = count;
	t->estimated = calloc(count + 1, sizeof(*t->estimated));
	if (!t->estimated)
		return -ENOMEM;
	*ret = TAKE_PTR(t);
	return 0;
}
