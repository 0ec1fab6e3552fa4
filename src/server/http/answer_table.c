// SPDX-License-Identifier: Apache-2.0
#include "engine/answer.h"
#include "server/internal.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "engine/answer_json.h"
#include "server/http/answer_columns.h"
#include "server/http/js.h"

/* ---- columns ---- */

/* A column being gathered. Histograms are text: [[from, to, count], ...]. */
struct gathered {
	bool coded;
	struct buf f, u; /* double, uint32_t */
	struct intern words;
	size_t word_bytes;
};

static bool is_coded(const struct answer_column *c)
{
	switch (c->kind.type) {
	case QUERY_CODE:
	case QUERY_TEXT:
	case QUERY_ENTITY:
	case QUERY_HIST:
	case QUERY_TALLY:
		return true;
	default:
		return false;
	}
}

static int answer_table_add_word(struct question *q, struct gathered *g,
				 const struct answer_column *c, const struct value *v)
{
	_cleanup_buf_ struct buf text = {0};
	struct bytes word = v->t;
	uint32_t code = COLUMNS_NULL;
	int r = 0;

	if (!v->null && answer_is_bars(c))
		r = answer_json_value(&text, c, v, q->server->origin);
	else if (!v->null && c->kind.type == QUERY_CODE)
		r = answer_put_plain(&text, c, v);
	if (r < 0)
		return r;
	if (text.len)
		word = buf_bytes(&text);
	if (!v->null) {
		size_t before = g->words.count;

		r = intern_add(&g->words, word.data, word.len, &code);
		g->word_bytes += g->words.count > before ? word.len : 0;
	}
	return r < 0 ? r : buf_append(&g->u, &code, sizeof(code));
}

static int answer_table_add_number(const struct question *q, struct gathered *g,
				   const struct answer_column *c, const struct value *v)
{
	double d = (double)v->i;

	if (v->null)
		d = NAN;
	else if (c->kind.type == QUERY_FLOAT)
		d = v->f;
	else if (c->kind.type == QUERY_UINT)
		d = (double)(uint64_t)v->i;
	else if (c->kind.type == QUERY_TIME)
		d = (double)clock_between(q->server->origin, v->i);
	return buf_append(&g->f, &d, sizeof(d));
}

/* Size of the answer so far. */
static size_t answer_table_size_of(const struct gathered *g)
{
	return g->f.len + g->u.len + g->word_bytes;
}

static int check_size(struct question *q, const struct gathered *all, size_t count)
{
	size_t sum = 0;

	for (size_t c = 0; c < count; c++)
		sum += answer_table_size_of(&all[c]);
	return question_fits(q, sum);
}

/* 1 if there are more rows than the limit, 0, or negative. */
static int answer_table_gather(struct question *q, struct answer *rows, struct gathered *all,
			       int64_t limit, size_t *ret)
{
	size_t n = 0;
	int r = 0;

	while (r >= 0 && (int64_t)n < limit && (r = answer_next(rows, &q->err)) == 1) {
		for (size_t c = 0; c < rows->count && r >= 0; c++) {
			const struct value v = answer_get(rows, c);

			r = all[c].coded
				    ? answer_table_add_word(q, &all[c], &rows->columns[c], &v)
				    : answer_table_add_number(q, &all[c], &rows->columns[c], &v);
		}
		if (r >= 0)
			r = check_size(q, all, rows->count);
		n++;
	}
	*ret = n;
	return r < 0 || (int64_t)n < limit ? MIN(r, 0) : answer_next(rows, &q->err);
}

/* The words of a column as NUL-terminated texts. */
static int answer_table_make_words(const struct gathered *g, struct buf *texts, const char ***ret)
{
	const char **words = calloc(g->words.count + 1, sizeof(*words));
	size_t at = 0;
	int r = words ? 0 : -ENOMEM;

	for (size_t i = 0; i < g->words.count && r >= 0; i++) {
		struct bytes w = intern_get(&g->words, (uint32_t)i);

		buf_append(texts, w.data, w.len);
		r = buf_append(texts, "", 1);
	}
	for (size_t i = 0; i < g->words.count && r >= 0; i++) {
		words[i] = (const char *)texts->data + at;
		at += intern_get(&g->words, (uint32_t)i).len + 1;
	}
	*ret = words;
	return r;
}

static int answer_table_write_all(struct question *q, struct answer *rows, struct gathered *all,
				  size_t n, const struct buf *members)
{
	_cleanup_free_ struct columns_col *cols = calloc(rows->count + 1, sizeof(*cols));
	_cleanup_free_ struct buf *texts = calloc(rows->count + 1, sizeof(*texts));
	int r = cols && texts ? 0 : -ENOMEM;

	for (size_t c = 0; c < rows->count && r >= 0; c++) {
		const char **words = NULL;

		if (all[c].coded)
			r = answer_table_make_words(&all[c], &texts[c], &words);
		cols[c] = (struct columns_col){
			.name = rows->columns[c].name,
			.type = answer_json_type(rows->columns[c].kind),
			.unit = query_kind_unit(rows->columns[c].kind),
			.coded = all[c].coded,
			.f = (const double *)all[c].f.data,
			.u = (const uint32_t *)all[c].u.data,
			.words = words,
			.word_count = all[c].words.count,
		};
	}
	if (r >= 0)
		r = columns_write_with(q, members, cols, rows->count, n);
	for (size_t c = 0; cols && texts && c < rows->count; c++) {
		free((void *)cols[c].words);
		buf_free(&texts[c]);
	}
	return r;
}

int table_columns(struct question *q, struct answer *rows, int64_t limit)
{
	_cleanup_free_ struct gathered *all = calloc(rows->count + 1, sizeof(*all));
	_cleanup_buf_ struct buf members = {0};
	struct js j = {.to = &members};
	size_t n = 0;
	int r = all ? 0 : -ENOMEM;

	for (size_t c = 0; c < rows->count && r >= 0; c++)
		all[c].coded = is_coded(&rows->columns[c]);
	if (r >= 0)
		r = answer_table_gather(q, rows, all, limit, &n);
	if (r > 0) {
		js_key_bool(&j, "truncated", true);
		r = j.error;
	}
	if (r >= 0)
		r = answer_table_write_all(q, rows, all, n, &members);
	for (size_t c = 0; all && c < rows->count; c++) {
		buf_free(&all[c].f);
		buf_free(&all[c].u);
		intern_free(&all[c].words);
	}
	return r;
}
