// SPDX-License-Identifier: Apache-2.0
#include "cli/sql/sql_answer.h"

#include <errno.h>
#include <string.h>

#define TYPE_WORDS 4 /* words of an ENUM to show; CSV and JSON have all */

/* True for the columns of DESCRIBE and the like that contain type names. */
static bool has_types(const char *column)
{
	return !strcmp(column, "column_type") || !strcmp(column, "column_types") ||
	       !strcmp(column, "data_type");
}

/* The end of the quoted word that begins at `at` ('it''s'); `end` if it is not closed. */
static size_t word_end(const char *s, size_t at, size_t end)
{
	for (at++; at < end; at++) {
		if (s[at] == '\'' && (at + 1 >= end || s[at + 1] != '\''))
			return at + 1;
		at += s[at] == '\'';
	}
	return end;
}

/* Abbreviates an ENUM with hundreds of words: ENUM('fault', 'io_uring', ... 256 words). */
static int put_types(struct buf *out, const char *s, size_t len)
{
	static const char begin[] = "ENUM(";
	const size_t begin_len = sizeof(begin) - 1;

	for (size_t at = 0; at < len;) {
		size_t words = 0, shown = 0, end;

		if (len - at <= begin_len || memcmp(s + at, begin, begin_len) != 0) {
			buf_append(out, s + at++, 1);
			continue;
		}
		for (end = at + begin_len; end < len && s[end] == '\''; words++) {
			end = word_end(s, end, len);
			shown = words + 1 == TYPE_WORDS ? end : shown;
			if (end + 1 < len && s[end] == ',')
				end += 2;
		}
		if (words > TYPE_WORDS) {
			buf_append(out, s + at, shown - at);
			buf_printf(out, ", ... %zu words", words);
		} else {
			buf_append(out, s + at, end - at);
		}
		at = end;
	}
	return buf_status(out);
}

static int short_types(struct buf *text)
{
	_cleanup_buf_ struct buf all = *text;

	*text = (struct buf){0};
	return put_types(text, all.data ? (const char *)all.data : "", all.len);
}

static int sql_next(struct answer *r, struct error *err)
{
	struct sql_answer *s = r->arg;

	if (s->error < 0)
		return error_errno(err, s->error, "cannot print the result");
	return engine_result_next(s->result);
}

static struct value sql_get(struct answer *r, size_t column)
{
	struct sql_answer *s = r->arg;
	struct buf *text = &s->texts[column];
	struct value v = {.null = engine_result_is_null(s->result, column)};
	int e;

	if (v.null)
		return v;
	buf_clear(text);
	e = engine_result_text(s->result, column, text);
	if (e >= 0 && s->short_types && has_types(r->columns[column].name))
		e = short_types(text);
	s->error = s->error < 0 ? s->error : e;
	if (r->columns[column].kind.type == QUERY_TIME)
		v.i = engine_result_time(s->result, column);
	v.t = (struct bytes){(const uint8_t *)buf_str(text), text->len};
	return v;
}

static struct answer_column sql_answer_column(const struct engine_column *c)
{
	static const enum query_type types[] = {
		[ENGINE_BOOL] = QUERY_BOOL,   [ENGINE_INT] = QUERY_INT,
		[ENGINE_FLOAT] = QUERY_FLOAT, [ENGINE_TIME] = QUERY_TIME,
		[ENGINE_TEXT] = QUERY_TEXT,   [ENGINE_BLOB] = QUERY_TEXT,
		[ENGINE_OTHER] = QUERY_TEXT,
	};
	return (struct answer_column){.name = c->name,
				      .kind = {.type = types[c->type]},
				      .word = c->type == ENGINE_BLOB ? "blob" : NULL,
				      .unit = c->unit};
}

int sql_answer_init(struct sql_answer *s, struct answer *ret, struct engine_result *result,
		    bool short_types)
{
	size_t count = engine_result_columns(result);

	*s = (struct sql_answer){.result = result, .short_types = short_types};
	*ret = (struct answer){.next = sql_next, .get = sql_get, .arg = s};
	s->texts = calloc(count + 1, sizeof(*s->texts));
	ret->columns = calloc(count + 1, sizeof(*ret->columns));
	if (!s->texts || !ret->columns)
		return -ENOMEM;
	while (ret->count < count) {
		ret->columns[ret->count] =
			sql_answer_column(engine_result_column(result, ret->count));
		ret->count++;
	}
	return 0;
}

void sql_answer_free(struct sql_answer *s)
{
	for (size_t c = 0; s->texts && c < engine_result_columns(s->result); c++)
		buf_free(&s->texts[c]);
	free(s->texts);
}
