// SPDX-License-Identifier: Apache-2.0
/* local_result.c: presents rows in memory as an engine's result. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/amount.h"
#include "engine/local/local.h"
#include "query/eval/pattern.h"
#include "schema/vocab.h"

struct local_answer {
	struct engine_result head;
	struct local_rows rows;
	size_t *fields;	     /* [head.count]: field of each column */
	struct bytes *texts; /* [rows * head.count]: texts of entities, words and texts, escaped */
	struct strpool pool;
	size_t next;
};

static struct local_answer *local_answer_of(const struct engine_result *r)
{
	return (struct local_answer *)r;
}

static const struct value *answer_cell(const struct engine_result *r, size_t column)
{
	const struct local_answer *a = local_answer_of(r);

	assert(a->next && column < r->count);
	return &a->rows.cells[(a->next - 1) * a->rows.width + a->fields[column]];
}

static void local_answer_free(struct engine_result *r)
{
	struct local_answer *a = local_answer_of(r);

	local_rows_free(&a->rows);
	strpool_free(&a->pool);
	free(a->fields);
	free(a->texts);
	free(r->columns);
	free(r->steps);
	free(a);
}

static bool local_answer_next(struct engine_result *r)
{
	struct local_answer *a = local_answer_of(r);

	if (a->next >= a->rows.count)
		return false;
	a->next++;
	return true;
}

static bool local_answer_is_null(const struct engine_result *r, size_t column)
{
	return answer_cell(r, column)->null;
}

static int64_t local_answer_int(const struct engine_result *r, size_t column)
{
	const struct value *v = answer_cell(r, column);

	return v->null ? 0 : v->i;
}

static double local_answer_float(const struct engine_result *r, size_t column)
{
	const struct value *v = answer_cell(r, column);

	return v->null ? 0 : v->f;
}

static struct bytes local_answer_bytes(const struct engine_result *r, size_t column)
{
	const struct local_answer *a = local_answer_of(r);
	const struct value *v = answer_cell(r, column);

	if (v->null)
		return (struct bytes){NULL, 0};
	return r->columns[column].type == ENGINE_TEXT ? a->texts[(a->next - 1) * r->count + column]
						      : v->t;
}

/* As in DuckDB's results: the shortest text that reads back as the same number, with a decimal point. */
static int put_float(double v, struct buf *out)
{
	struct text t = format_shortest(v, 15, false);

	return buf_printf(out, "%s%s", t.s, strpbrk(t.s, ".en") ? "" : ".0");
}

static int put_blob(struct bytes v, struct buf *out)
{
	for (size_t i = 0; i < v.len; i++) {
		bool plain = v.data[i] >= ' ' && v.data[i] < 0x7f && !strchr("\\'\"", v.data[i]);

		if (plain)
			buf_append(out, &v.data[i], 1);
		else
			buf_printf(out, "\\x%02X", v.data[i]);
	}
	return buf_status(out);
}

static int local_answer_text(struct engine_result *r, size_t column, struct buf *out)
{
	const struct value *v = answer_cell(r, column);
	struct bytes t;

	if (v->null)
		return 0;
	switch (r->columns[column].type) {
	case ENGINE_BOOL:
		return buf_printf(out, "%s", v->i ? "true" : "false");
	case ENGINE_FLOAT:
		return put_float(v->f, out);
	case ENGINE_TEXT:
		t = local_answer_bytes(r, column);
		return buf_append(out, t.data, t.len);
	case ENGINE_BLOB:
		return put_blob(v->t, out);
	default:
		return r->columns[column].is_unsigned
			       ? buf_printf(out, "%llu", (unsigned long long)v->i)
			       : buf_printf(out, "%lld", (long long)v->i);
	}
}

static bool local_answer_estimated(const struct engine_result *r, size_t column)
{
	return answer_cell(r, column)->estimate;
}

static const struct engine_result_ops local_answer_ops = {
	.next = local_answer_next,
	.is_null = local_answer_is_null,
	.get_int = local_answer_int,
	.get_float = local_answer_float,
	.get_bytes = local_answer_bytes,
	.get_time = local_answer_int,
	.text = local_answer_text,
	.estimated = local_answer_estimated,
	.free = local_answer_free,
};

static enum engine_type local_type(enum query_type type)
{
	switch (type) {
	case QUERY_BOOL:
		return ENGINE_BOOL;
	case QUERY_FLOAT:
		return ENGINE_FLOAT;
	case QUERY_CODE:
	case QUERY_TEXT:
	case QUERY_ENTITY:
		return ENGINE_TEXT;
	case QUERY_HIST:
	case QUERY_TALLY:
		return ENGINE_BLOB;
	default:
		return ENGINE_INT;
	}
}

/* Sets the text of a cell, escaped. */
static int local_put_text(struct local_answer *a, struct query_kind kind, const struct value *v,
			  const struct local_env *env, struct bytes *ret)
{
	_cleanup_buf_ struct buf text = {0}, escaped = {0};
	struct bytes t = v->t;
	int r = 0;

	if (kind.type == QUERY_CODE)
		r = query_code_text(kind.vocab, v->i, &text);
	else if (kind.type == QUERY_ENTITY)
		r = query_entity_shown(kind.entity, env->dims, v->i, &text);
	if (kind.type != QUERY_TEXT)
		t = buf_bytes(&text);
	if (r < 0)
		return r;
	r = engine_escape(t.data, t.len, &escaped);
	return r < 0 ? r : strpool_add(&a->pool, buf_str(&escaped), escaped.len, ret);
}

static int local_put_texts(struct local_answer *a, const struct plan_field *fields,
			   const struct local_env *env)
{
	size_t width = a->head.count;
	int r = 0;

	a->texts = calloc(a->rows.count * width + 1, sizeof(*a->texts));
	if (!a->texts)
		return -ENOMEM;
	for (size_t i = 0; i < a->rows.count; i++) {
		for (size_t c = 0; c < width && r >= 0; c++) {
			size_t f = a->fields[c];
			const struct value *v = &a->rows.cells[i * a->rows.width + f];

			if (a->head.columns[c].type == ENGINE_TEXT && !v->null)
				r = local_put_text(a, fields[f].type, v, env,
						   &a->texts[i * width + c]);
		}
	}
	return r;
}

int local_result(struct local_rows *rows, const struct plan *p, const struct local_env *env,
		 struct engine_result **ret, struct error *err)
{
	size_t count;
	const struct plan_field *fields = plan_output(p, &count);
	struct local_answer *a = calloc(1, sizeof(*a));
	int r = 0;

	if (!a)
		return error_errno(err, -ENOMEM, "the result");
	a->head.ops = &local_answer_ops;
	a->head.has_rows = true;
	a->rows = *rows;
	*rows = (struct local_rows){0};
	a->head.columns = calloc(count + 1, sizeof(*a->head.columns));
	a->fields = calloc(count + 1, sizeof(*a->fields));
	if (!a->head.columns || !a->fields)
		r = -ENOMEM;
	for (size_t i = 0; i < count && r >= 0; i++) {
		struct engine_column *c = &a->head.columns[a->head.count];

		if (fields[i].hidden)
			continue;
		*c = (struct engine_column){.name = fields[i].name,
					    .type = local_type(fields[i].type.type),
					    .unit = query_kind_unit(fields[i].type),
					    .is_unsigned = fields[i].type.type == QUERY_UINT};
		a->fields[a->head.count++] = i;
	}
	if (r >= 0)
		r = local_put_texts(a, fields, env);
	if (r < 0) {
		local_answer_free(&a->head);
		return error_errno(err, r, "the result");
	}
	*ret = &a->head;
	return 0;
}
