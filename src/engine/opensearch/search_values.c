// SPDX-License-Identifier: Apache-2.0
/* search_values.c: converts values of documents and buckets to cells of a plan's fields. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/opensearch/search_internal.h"
#include "schema/vocab.h"

static bool search_is_stopped(void *arg)
{
	return atomic_load(&((struct search_engine *)arg)->stopped);
}

int search_rows_new(struct search_rows *r, struct search_engine *e, const struct plan *p)
{
	r->rows.fields = p->fields;
	r->rows.width = p->field_count;
	r->env = (struct local_env){.engine = &e->engine,
				    .memory_max = e->memory_max,
				    .stopped = search_is_stopped,
				    .arg = e};
	r->cells = calloc(p->field_count + 1, sizeof(*r->cells));
	r->texts = calloc(p->field_count + 1, sizeof(*r->texts));
	r->text_count = p->field_count;
	return r->cells && r->texts ? 0 : -ENOMEM;
}

void search_rows_free(struct search_rows *r)
{
	for (size_t i = 0; r->texts && i < r->text_count; i++)
		buf_free(&r->texts[i]);
	free(r->texts);
	free(r->cells);
	local_rows_free(&r->rows);
}

void search_rows_begin(struct search_rows *r)
{
	for (size_t i = 0; i < r->rows.width; i++)
		r->cells[i] = (struct value){.null = true};
}

/* The code of a word of the vocabulary, or of the text that query_code_text() writes for a code without one: err_4000. */
static void search_code(const char *vocab, const char *word, struct value *ret)
{
	int64_t code = vocab_code(vocab, word);
	const char *digits = strrchr(word, '_');

	if (code < 0 && digits)
		code = strtoll(digits + 1, NULL, 10);
	*ret = (struct value){.null = code < 0, .i = code};
}

int search_rows_set(struct search_rows *r, size_t column, const json_t *j)
{
	struct query_kind kind = r->rows.fields[column].type;
	struct value *v = &r->cells[column];
	struct buf *text = &r->texts[column];
	int e;

	*v = (struct value){.null = !j || json_is_null(j)};
	if (v->null)
		return 0;
	if ((kind.type == QUERY_TEXT || kind.type == QUERY_CODE) != json_is_string(j))
		return -EPROTO;
	switch (kind.type) {
	case QUERY_FLOAT:
		v->f = json_number_value(j);
		return 0;
	case QUERY_TEXT:
		buf_clear(text);
		e = engine_unescape(json_string_value(j), json_string_length(j), text);
		v->t = (struct bytes){text->data ? text->data : (const uint8_t *)"", text->len};
		return e;
	case QUERY_CODE:
		search_code(kind.vocab, json_string_value(j), v);
		return 0;
	default:
		v->i = json_is_integer(j) ? json_integer_value(j) : (int64_t)json_number_value(j);
		return 0;
	}
}
