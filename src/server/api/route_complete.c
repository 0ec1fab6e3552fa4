// SPDX-License-Identifier: Apache-2.0
/* route_complete.c: /complete: words of the language and values of the trace. */
#include <errno.h>
#include <string.h>

#include "server/http/js.h"
#include "server/api/route_query.h"

#define WORDS_MAX  200u	   /* a longer list does not help the user */
#define LOOKED_MAX 500000u /* names examined for one completion */

/* The words of the language, except operators. */
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

struct completion {
	struct js j;
	size_t count;
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

static void offer_value(void *arg, const char *word)
{
	struct completion *c = arg;

	js_open(&c->j, '{');
	js_key_string(&c->j, "text", word);
	js_key_string(&c->j, "kind", "value");
	js_close(&c->j, '}');
}

int complete_answer(struct question *q)
{
	const char *text = http_param(q->request, "q"), *value_of = NULL;
	_cleanup_buf_ struct buf words = {0};
	struct completion c = {.j = {.to = &words}};
	struct js j = {.to = &q->out};
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
	if (value_of)
		r = query_complete_values(store_dims(q->server->store), value_of, text, start,
					  (size_t)pos, WORDS_MAX - MIN(c.count, (size_t)WORDS_MAX),
					  LOOKED_MAX, offer_value, &c);
	js_close(&c.j, ']');
	if (r < 0)
		return r;
	js_open(&j, '{');
	js_key_uint(&j, "start", start);
	js_key(&j, "words");
	js_raw(&j, words.data, words.len);
	js_close(&j, '}');
	return c.j.error < 0 ? c.j.error : j.error;
}
