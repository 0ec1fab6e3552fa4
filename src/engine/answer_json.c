// SPDX-License-Identifier: Apache-2.0
#include "engine/answer_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "engine/window_bars.h"

#define PIECE	65536 /* bytes passed on at once */
#define KEY_MAX 256

/* ---- values ---- */

static int json_bars(struct buf *out, const struct answer_column *c, const struct value *v)
{
	_cleanup_bars_ struct bars b;
	int r = bars_buckets(&b, c->field, v->t);

	if (r >= 0)
		r = buf_printf(out, "[");
	for (size_t i = 0; i < b.count && r >= 0; i++) {
		const struct bar *bar = &b.items[i];

		r = bar->from == INT64_MIN
			    ? buf_printf(out, "%s[null", i ? ", " : "")
			    : buf_printf(out, "%s[%" PRId64, i ? ", " : "", bar->from);
		if (r >= 0)
			r = bar->to == INT64_MAX ? buf_printf(out, ", null")
						 : buf_printf(out, ", %" PRId64, bar->to);
		if (r >= 0)
			r = buf_printf(out, ", %" PRIu64 "]", bar->count);
	}
	return r < 0 ? r : buf_printf(out, "]");
}

static int json_string(struct buf *out, struct bytes t)
{
	_cleanup_buf_ struct buf escaped = {0};
	int r = buf_append(out, "\"", 1);

	if (r < 0)
		return r;
	r = answer_utf8(&t, &escaped);
	if (r < 0)
		return r;
	json_escape(out, t.data, t.len, "");
	return buf_append(out, "\"", 1);
}

static int json_quoted(struct buf *out, const struct answer_column *c, const struct value *v)
{
	int r = buf_append(out, "\"", 1);

	if (r < 0)
		return r;
	r = answer_put_plain(out, c, v);
	return r < 0 ? r : buf_append(out, "\"", 1);
}

int answer_json_value(struct buf *out, const struct answer_column *c, const struct value *v,
		      int64_t origin)
{
	int64_t since;

	if (v->null)
		return buf_printf(out, "null");
	switch (c->kind.type) {
	case QUERY_NULL:
		return buf_printf(out, "null");
	case QUERY_TEXT:
	case QUERY_ENTITY:
		return json_string(out, v->t);
	case QUERY_HIST:
	case QUERY_TALLY:
		return json_bars(out, c, v);
	case QUERY_CODE:
		return json_quoted(out, c, v);
	case QUERY_TIME:
		if (__builtin_sub_overflow(v->i, origin, &since))
			since = v->i < 0 ? INT64_MIN : INT64_MAX;
		return buf_printf(out, "%" PRId64, since);
	case QUERY_FLOAT:
		/* JSON has neither nan nor inf */
		if (v->t.data && memchr(v->t.data, 'n', v->t.len))
			return json_string(out, v->t);
		if (!v->t.data && !isfinite(v->f))
			return buf_printf(out, "null");
		return answer_put_plain(out, c, v);
	default:
		return answer_put_plain(out, c, v);
	}
}

const char *answer_json_type(struct query_kind k)
{
	switch (k.type) {
	case QUERY_BOOL:
		return "bool";
	case QUERY_FLOAT:
		return "float";
	case QUERY_TIME:
		return "time";
	case QUERY_NULL:
	case QUERY_CODE:
	case QUERY_TEXT:
	case QUERY_ENTITY:
		return "text";
	case QUERY_HIST:
		return "hist";
	case QUERY_TALLY:
		return "tally";
	default:
		return "int";
	}
}

/* ---- the document ---- */

struct writer {
	struct answer *rows;
	int64_t origin;
	bool compact;
	struct buf *keys; /* quoted names of the columns */
	struct buf text;  /* not yet passed on */
};

static void answer_json_free(struct writer *w)
{
	for (size_t c = 0; w->keys && c < w->rows->count; c++)
		buf_free(&w->keys[c]);
	free(w->keys);
	buf_free(&w->text);
}

static bool key_is_taken(struct writer *w, size_t before, struct buf *key)
{
	for (size_t c = 0; c < before; c++) {
		if (!strcmp(buf_str(&w->keys[c]), buf_str(key)))
			return true;
	}
	return false;
}

/* Repeated names get a number: a JSON reader would otherwise drop one of the columns. */
static int answer_json_init(struct writer *w)
{
	w->keys = calloc(w->rows->count + 1, sizeof(*w->keys));
	if (!w->keys)
		return -ENOMEM;
	for (size_t c = 0; c < w->rows->count; c++) {
		const char *name = w->rows->columns[c].name;
		struct buf *key = &w->keys[c];
		int r = json_string(key, (struct bytes){(const uint8_t *)name, strlen(name)});

		for (unsigned int n = 2; r >= 0 && key_is_taken(w, c, key); n++) {
			char numbered[KEY_MAX];

			snprintf(numbered, sizeof(numbered), "%.200s_%u", name, n);
			buf_clear(key);
			r = json_string(key, (struct bytes){(uint8_t *)numbered, strlen(numbered)});
		}
		if (r < 0)
			return r;
	}
	return 0;
}

static int answer_json_put_columns(struct writer *w)
{
	buf_printf(&w->text, "\"columns\": [");
	for (size_t c = 0; c < w->rows->count; c++) {
		const struct answer_column *column = &w->rows->columns[c];

		buf_printf(&w->text, "%s%s{\"name\": %s, \"type\": \"%s\", \"unit\": \"%s\"%s}",
			   c ? "," : "", w->compact ? "" : "\n  ", buf_str(&w->keys[c]),
			   column->word ? column->word : answer_json_type(column->kind),
			   column->unit ? column->unit : query_kind_unit(column->kind),
			   column->key ? ", \"key\": true" : "");
	}
	return buf_printf(&w->text, "],%s\"rows\": [", w->compact ? " " : "\n");
}

static int answer_json_put_row(struct writer *w, bool first)
{
	bool estimated = false;
	int r = buf_printf(&w->text, "%s%s{", first ? "" : ",", w->compact ? "" : "\n  ");

	for (size_t c = 0; c < w->rows->count && r >= 0; c++) {
		struct value v = answer_get(w->rows, c);

		r = buf_printf(&w->text, "%s%s: ", c ? ", " : "", buf_str(&w->keys[c]));
		if (r >= 0)
			r = answer_json_value(&w->text, &w->rows->columns[c], &v, w->origin);
		estimated |= answer_estimated(w->rows, c);
	}
	if (r >= 0 && estimated)
		r = buf_printf(&w->text, ", \"estimated\": true");
	return r < 0 ? r : buf_printf(&w->text, "}");
}

/* Passes on the text once it has `least` bytes; without put() it only accumulates. */
static int hand_on(struct writer *w, const struct answer_json *j, size_t least)
{
	int r = 0;

	if (!j || w->text.len < least)
		return 0;
	if (w->text.len)
		r = j->put(j->arg, w->text.data, w->text.len);
	buf_clear(&w->text);
	return r;
}

/* 0 at the end of the rows, or negative; *ret_cut is set if reading the rows failed. */
static int answer_json_put_rows(struct writer *w, const struct answer_json *j, bool *ret_cut,
				struct error *err)
{
	bool first = true;
	int r = answer_json_put_columns(w), next = 0;

	while (r >= 0 && (next = answer_next(w->rows, err)) > 0) {
		if (next == ANSWER_PAUSE) {
			r = hand_on(w, j, 0);
			continue;
		}
		r = answer_json_put_row(w, first);
		first = false;
		if (r >= 0)
			r = hand_on(w, j, PIECE);
	}
	*ret_cut = next < 0;
	if (next < 0 || r < 0)
		return next < 0 ? next : r;
	return buf_printf(&w->text, "]");
}

int answer_json_table(struct buf *out, struct answer *rows, int64_t origin, struct error *err)
{
	_cleanup_(answer_json_free) struct writer w = {.rows = rows, .origin = origin};
	bool cut;
	int r = answer_json_init(&w);

	if (r < 0)
		return r;
	r = answer_json_put_rows(&w, NULL, &cut, err);
	return r < 0 ? r : buf_append(out, w.text.data, w.text.len);
}

int answer_json(struct answer *rows, const struct answer_json *j, struct error *err)
{
	_cleanup_(answer_json_free) struct writer w = {
		.rows = rows, .origin = j->origin, .compact = j->compact};
	const char *gap = j->compact ? " " : "\n";
	bool cut = false;
	int r = answer_json_init(&w), sent;

	if (r >= 0)
		r = buf_printf(&w.text, "{\"origin\": \"%" PRId64 "\",%s", j->origin, gap);
	if (r >= 0)
		r = answer_json_put_rows(&w, j, &cut, err);
	if (r >= 0)
		r = buf_printf(&w.text, ",%s\"loss\": ", gap);
	if (r >= 0)
		r = j->put_loss(j->arg, &w.text, err);
	if (r >= 0)
		r = buf_printf(&w.text, "}\n");
	/* also if reading the rows failed: the reader must see that the document is truncated */
	if (r >= 0 || cut) {
		sent = hand_on(&w, j, 0);
		r = r < 0 ? r : sent;
	}
	return r == -ENOMEM && !cut ? error_errno(err, r, "cannot write the result") : r;
}
