// SPDX-License-Identifier: Apache-2.0
/* route_complete.c: /complete: words of the language and values of the trace. */
#include <errno.h>
#include <string.h>

#include "server/http/js.h"
#include "server/api/route_query.h"

#define WORDS_MAX  200u	   /* more are of no use to a reader */
#define LOOKED_MAX 500000u /* names that are looked at for one completion */

/* What the words of the language are, beside operators. */
static const struct {
	const char *word, *kind, *doc;
} known[] = {
#define N(NAME, name, id, type, more, doc) {#name, "name", doc},
#define F(NAME, name, sig, doc)		   {#name, "function", sig},
#define A(NAME, name, sig, doc)		   {#name, "aggregate", sig},
	QUERY_NAMES(N) QUERY_FUNCTIONS(F) QUERY_AGGREGATES(A)
#undef N
#undef F
#undef A
};

/* Names whose values are texts, and the table whose ids they hang on. */
static const struct {
	const char *name, *id;
	enum query_name code;
	bool is_text;
} names[] = {
#define IS_TEXT				   true
#define IS_INT				   false
#define IS_UINT				   false
#define IS_CODE				   false
#define IS_ENTITY			   false
#define N(NAME, name, id, type, more, doc) {#name, id, QNAME_##NAME, IS_##type},
	QUERY_NAMES(N)
#undef N
};

struct completion {
	struct js j;
	size_t count;
	struct intern seen;
};

static const struct column_def *column_of(const char *word)
{
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		int c = schema_column_find(t, word);

		if (c >= 0)
			return &schema_table(t)->columns[c];
	}
	return NULL;
}

static void route_complete_offer(void *arg, const char *word)
{
	struct completion *c = arg;
	const struct column_def *column = NULL;
	const char *kind = NULL, *doc = NULL;
	size_t len = strcspn(word, "(");

	if (c->count++ >= WORDS_MAX)
		return;
	for (size_t i = 0; i < ARRAY_SIZE(known) && !kind; i++) {
		if (strlen(known[i].word) != len || memcmp(known[i].word, word, len) != 0)
			continue;
		kind = known[i].kind;
		doc = known[i].doc;
	}
	if (!kind && (column = column_of(word))) {
		kind = "column";
		doc = column->doc;
	}
	js_open(&c->j, '{');
	js_key_string(&c->j, "text", word);
	js_key_string(&c->j, "kind", kind ? kind : "word");
	if (doc && *doc)
		js_key_string(&c->j, "doc", doc);
	js_close(&c->j, '}');
}

/* ---- values of the trace ---- */

struct typed {
	const char *text; /* behind the quote, where there is one */
	size_t len;
	char quote;
	bool open; /* its quote is there already */
	bool folders;
};

static int route_complete_put_value(struct completion *c, const struct typed *t, struct bytes v,
				    bool more)
{
	_cleanup_buf_ struct buf word = {0};
	int r = t->open ? 0 : buf_append(&word, &t->quote, 1);

	for (size_t i = 0; i < v.len && r >= 0; i++) {
		if (v.data[i] == (uint8_t)t->quote || v.data[i] == '\\')
			r = buf_printf(&word, "\\%c", v.data[i]);
		else if (v.data[i] < 0x20 || v.data[i] == 0x7f)
			r = buf_printf(&word, "\\x%02x", v.data[i]);
		else
			r = buf_append(&word, &v.data[i], 1);
	}
	if (r >= 0 && !more)
		r = buf_append(&word, &t->quote, 1);
	if (r < 0)
		return r;
	c->count++;
	js_open(&c->j, '{');
	js_key(&c->j, "text");
	js_bytes(&c->j, word.data, word.len);
	js_key_string(&c->j, "kind", "value");
	js_close(&c->j, '}');
	return 0;
}

static int route_complete_take_value(struct completion *c, const struct typed *t, struct bytes v)
{
	const uint8_t *slash = NULL;
	size_t before = c->seen.count;
	uint32_t id;
	int r;

	if (v.len < t->len || (t->len && memcmp(v.data, t->text, t->len)))
		return 0;
	if (t->folders && v.len > t->len)
		slash = memchr(v.data + t->len, '/', v.len - t->len);
	if (slash == v.data && v.len > 1) /* the root alone says nothing */
		slash = memchr(slash + 1, '/', v.len - 1);
	if (slash)
		v.len = (size_t)(slash - v.data) + 1;
	r = intern_add(&c->seen, v.data, v.len, &id);
	if (r < 0 || c->seen.count == before)
		return r;
	return route_complete_put_value(c, t, v, slash != NULL);
}

static int route_complete_offer_values(struct question *q, struct completion *c, const char *name,
				       struct typed *t)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_buf_ struct buf scratch = {0};
	enum table_id table;
	size_t n = 0, rows;
	int r = 0;

	while (n < ARRAY_SIZE(names) && (!names[n].is_text || strcmp(names[n].name, name) != 0))
		n++;
	if (n == ARRAY_SIZE(names))
		return 0;
	t->folders = strstr(name, "path") != NULL || strcmp(name, "exe") == 0;
	table = strcmp(names[n].id, "thread_id") == 0 ? TABLE_THREAD : TABLE_FILE;
	rows = MIN(dims_rows(d, table), (size_t)LOOKED_MAX);
	for (size_t i = 0; i < rows && c->count < WORDS_MAX && r >= 0; i++) {
		struct value v = {0};

		buf_clear(&scratch);
		r = query_name_value(names[n].code, d, dims_id_at(d, table, i), &scratch, &v);
		if (r >= 0 && !v.null && v.t.len)
			r = route_complete_take_value(c, t, v.t);
	}
	return r;
}

static int complete_answer(struct question *q)
{
	const char *text = http_param(q->request, "q"), *value_of = NULL;
	_cleanup_buf_ struct buf words = {0};
	struct completion c = {.j = {.to = &words}};
	struct js j = {.to = &q->out};
	struct typed t = {.quote = '"'};
	size_t len, start;
	int64_t pos;
	int r;

	if (!text)
		text = http_param(q->request, "filter");
	if (!text)
		text = "";
	len = strlen(text);
	r = question_number(q, "pos", 0, (int64_t)len, (int64_t)len, &pos);
	if (r < 0)
		return r;
	start = (size_t)pos;
	js_open(&c.j, '[');
	query_complete(text, (size_t)pos, annotations_get(q->server->annotations),
		       route_complete_offer, &c, &start, &value_of);
	if (value_of) {
		t.text = text + start;
		t.len = (size_t)pos - start;
		t.open = start && (text[start - 1] == '"' || text[start - 1] == '\'');
		t.quote = t.open ? text[start - 1] : '"';
		r = route_complete_offer_values(q, &c, value_of, &t);
	}
	js_close(&c.j, ']');
	intern_free(&c.seen);
	if (r < 0)
		return r;
	js_open(&j, '{');
	js_key_uint(&j, "start", start);
	js_key(&j, "words");
	js_raw(&j, words.data, words.len);
	js_close(&j, '}');
	return c.j.error < 0 ? c.j.error : j.error;
}

void complete_get(void *arg, struct http_request *r)
{
	question_quick(arg, r, complete_answer);
}
