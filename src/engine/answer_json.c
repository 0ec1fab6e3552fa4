// SPDX-License-Identifier: Apache-2.0
#include "engine/answer_json.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json.h"
#include "engine/window_bars.h"

#define PIECE	65536 /* bytes that are handed on together */
#define KEY_MAX 256

/* ---- values ---- */

static int json_bars(struct buf *out, const struct plan_field *f, const struct value *v)
{
	_cleanup_bars_ struct bars b;
	int r = bars_buckets(&b, f, v->t);

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
	int r = buf_append(out, "\"", 1);

	if (r >= 0)
		r = json_escape(out, t.data, t.len, "");
	return r < 0 ? r : buf_append(out, "\"", 1);
}

int answer_json_value(struct buf *out, const struct plan_field *f, const struct value *v,
		      int64_t origin)
{
	int64_t since;
	int r;

	if (v->null)
		return buf_printf(out, "null");
	switch (f->type.type) {
	case QUERY_NULL:
		return buf_printf(out, "null");
	case QUERY_TEXT:
	case QUERY_ENTITY:
		return json_string(out, v->t);
	case QUERY_HIST:
	case QUERY_TALLY:
		return json_bars(out, f, v);
	case QUERY_CODE:
		r = buf_printf(out, "\"");
		if (r >= 0)
			r = answer_put_plain(out, f, v);
		return r < 0 ? r : buf_printf(out, "\"");
	case QUERY_TIME:
		if (__builtin_sub_overflow(v->i, origin, &since))
			since = v->i < 0 ? INT64_MIN : INT64_MAX;
		return buf_printf(out, "%" PRId64, since);
	case QUERY_FLOAT:
		if (!isfinite(v->f))
			return buf_printf(out, "null");
		return answer_put_plain(out, f, v);
	default:
		return answer_put_plain(out, f, v);
	}
}

const char *answer_json_type(const struct plan_field *f)
{
	switch (f->type.type) {
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
	const struct answer_json *j;
	struct buf text; /* not handed on yet */
};

static int hand_on(struct writer *w, size_t least)
{
	int r = 0;

	if (w->text.len >= least && w->text.len)
		r = w->j->put(w->j->arg, w->text.data, w->text.len);
	if (w->text.len >= least)
		buf_clear(&w->text);
	return r;
}

/* The key of a column: a name that comes twice gets a number, or the second would hide the first.
 */
static int answer_json_put_key(struct buf *out, const struct answer *rows, size_t column)
{
	const char *name = rows->fields[column]->name;
	char numbered[KEY_MAX];
	unsigned int before = 0;

	for (size_t c = 0; c < column; c++)
		before += strcmp(rows->fields[c]->name, name) == 0;
	if (!before)
		return json_string(out, (struct bytes){(const uint8_t *)name, strlen(name)});
	snprintf(numbered, sizeof(numbered), "%.200s_%u", name, before + 1);
	return json_string(out, (struct bytes){(uint8_t *)numbered, strlen(numbered)});
}

static int answer_json_put_columns(struct writer *w, const struct answer *rows)
{
	int r = buf_printf(&w->text, "{\"origin\": \"%" PRId64 "\",%s\"columns\": [", w->j->origin,
			   w->j->compact ? " " : "\n");

	for (size_t c = 0; c < rows->count && r >= 0; c++) {
		const struct plan_field *f = rows->fields[c];

		r = buf_printf(&w->text, "%s%s{\"name\": ", c ? "," : "",
			       w->j->compact ? "" : "\n  ");
		if (r >= 0)
			r = answer_json_put_key(&w->text, rows, c);
		if (r >= 0)
			r = buf_printf(&w->text, ", \"type\": \"%s\", \"unit\": \"%s\"%s}",
				       answer_json_type(f), query_kind_unit(f->type),
				       rows->keys[c] ? ", \"key\": true" : "");
	}
	return r < 0 ? r : buf_printf(&w->text, "],%s\"rows\": [", w->j->compact ? " " : "\n");
}

static int answer_json_put_row(struct writer *w, struct answer *rows, bool first)
{
	bool estimated = false;
	int r = buf_printf(&w->text, "%s%s{", first ? "" : ",", w->j->compact ? "" : "\n  ");

	for (size_t c = 0; c < rows->count && r >= 0; c++) {
		struct value v = answer_get(rows, c);

		if (c)
			r = buf_printf(&w->text, ", ");
		if (r >= 0)
			r = answer_json_put_key(&w->text, rows, c);
		if (r >= 0)
			r = buf_printf(&w->text, ": ");
		if (r >= 0)
			r = answer_json_value(&w->text, rows->fields[c], &v, w->j->origin);
		estimated |= answer_estimated(rows, c);
	}
	if (r >= 0 && estimated)
		r = buf_printf(&w->text, ", \"estimated\": true");
	return r < 0 ? r : buf_printf(&w->text, "}");
}

int answer_json(struct answer *rows, const struct answer_json *j, struct error *err)
{
	struct writer w = {.j = j};
	bool first = true;
	int r = answer_json_put_columns(&w, rows), next = 0;

	while (r >= 0 && (next = answer_next(rows, err)) > 0) {
		if (next == ANSWER_PAUSE) {
			r = hand_on(&w, 0);
			continue;
		}
		r = answer_json_put_row(&w, rows, first);
		first = false;
		if (r >= 0)
			r = hand_on(&w, PIECE);
	}
	/* also where the rows ended in an error: what reads it must see that it is cut */
	if (r >= 0 && next >= 0)
		r = buf_printf(&w.text, "],%s\"loss\": ", j->compact ? " " : "\n");
	if (r >= 0 && next >= 0)
		r = j->put_loss(j->arg, &w.text, err);
	if (r >= 0 && next >= 0)
		r = buf_printf(&w.text, "}\n");
	if (r >= 0)
		r = hand_on(&w, 0);
	buf_free(&w.text);
	if (r == -ENOMEM)
		return error_errno(err, r, "cannot write the answer");
	return next < 0 ? next : r;
}
