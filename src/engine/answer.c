// SPDX-License-Identifier: Apache-2.0
#include "engine/answer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/csv.h"
#include "engine/window_bars.h"
#include "query/eval/pattern.h"

/* ---- columns of a plan ---- */

static bool is_counter(const struct plan_field *f)
{
	return f->kind == FIELD_AGGREGATE &&
	       (f->aggregate == AGGREGATE_COUNT || f->aggregate == AGGREGATE_COUNTIF ||
		f->aggregate == AGGREGATE_SUM || f->aggregate == AGGREGATE_BUSY ||
		f->aggregate == AGGREGATE_DISTINCT);
}

static bool is_column(const struct plan_field *f, const char *name)
{
	return f->kind == FIELD_EXPR && f->expr && f->expr->kind == EXPR_COLUMN &&
	       strcmp(f->name, name) == 0;
}

static enum answer_look look_of(const struct plan_field *f)
{
	switch (f->type.type) {
	case QUERY_DUR:
		/* wall time minus monotonic time: the wall time at which that clock was 0 */
		return is_column(f, "clock_offset") ? ANSWER_CLOCK : ANSWER_PLAIN;
	case QUERY_SIZE:
		/* a position in a file is only useful to the exact byte */
		return is_column(f, "pos") || is_column(f, "pos2") ? ANSWER_COUNT : ANSWER_PLAIN;
	case QUERY_UINT:
		/* inode numbers are read as decimal numbers, addresses and bits in hexadecimal */
		return f->expr && f->expr->kind == EXPR_NAME ? ANSWER_PLAIN : ANSWER_BITS;
	case QUERY_FLOAT:
		return f->kind == FIELD_AGGREGATE && f->aggregate == AGGREGATE_RATE ? ANSWER_RATE
										    : ANSWER_PLAIN;
	default:
		return is_counter(f) ? ANSWER_COUNT : ANSWER_PLAIN;
	}
}

int answer_init(struct answer *r, const struct plan *p)
{
	size_t count;
	const struct plan_field *fields = plan_output(p, &count);

	r->columns = calloc(count + 1, sizeof(*r->columns));
	r->count = 0;
	if (!r->columns)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct plan_field *f = &fields[i];

		if (f->hidden)
			continue;
		r->columns[r->count++] = (struct answer_column){
			.name = f->name,
			.kind = f->type,
			.look = look_of(f),
			.key = plan_is_key(p, i),
			.field = f,
			.alarm = f->type.type == QUERY_CODE && f->type.vocab &&
				 !strcmp(f->type.vocab, "err"),
		};
	}
	return 0;
}

void answer_free(struct answer *r)
{
	free(TAKE_PTR(r->columns));
}

/* ---- the first rows of another answer ---- */

static int limit_next(struct answer *r, struct error *err)
{
	struct answer_limit *l = r->arg;
	int next = answer_next(l->rows, err);

	if (next != 1)
		return next;
	l->more = !l->left;
	l->left -= !l->more;
	return !l->more;
}

static struct value limit_get(struct answer *r, size_t column)
{
	return answer_get(((struct answer_limit *)r->arg)->rows, column);
}

static bool limit_estimated(const struct answer *r, size_t column)
{
	return answer_estimated(((const struct answer_limit *)r->arg)->rows, column);
}

struct answer answer_limited(struct answer_limit *limit)
{
	struct answer r = *limit->rows;

	r.next = limit_next;
	r.get = limit_get;
	r.estimated = limit_estimated;
	r.arg = limit;
	return r;
}

/* ---- rows in memory ---- */

static void list_put(struct answer_list *l, struct value v)
{
	if (array_add(l->cells, l->count, l->cap, v) < 0) {
		free((void *)v.t.data);
		l->error = -ENOMEM;
	}
}

void answer_list_free(struct answer_list *l)
{
	answer_list_cut(l, 0);
	free(l->cells);
	*l = (struct answer_list){0};
}

void answer_list_int(struct answer_list *l, int64_t n)
{
	list_put(l, (struct value){.i = n});
}

void answer_list_uint(struct answer_list *l, uint64_t n)
{
	answer_list_int(l, n > INT64_MAX ? INT64_MAX : (int64_t)n);
}

void answer_list_float(struct answer_list *l, double v)
{
	list_put(l, (struct value){.f = v, .null = !__builtin_isfinite(v)});
}

void answer_list_text(struct answer_list *l, struct bytes text)
{
	uint8_t *copy = malloc(text.len + 1);

	if (!copy) {
		l->error = -ENOMEM;
		return;
	}
	if (text.len)
		memcpy(copy, text.data, text.len);
	copy[text.len] = '\0';
	list_put(l, (struct value){.t = {copy, text.len}});
}

void answer_list_str(struct answer_list *l, const char *text)
{
	if (text)
		answer_list_text(l, (struct bytes){(const uint8_t *)text, strlen(text)});
	else
		answer_list_null(l);
}

void answer_list_some(struct answer_list *l, struct bytes text)
{
	if (text.len)
		answer_list_text(l, text);
	else
		answer_list_null(l);
}

void answer_list_if(struct answer_list *l, bool known, int64_t n)
{
	if (known)
		answer_list_int(l, n);
	else
		answer_list_null(l);
}

void answer_list_null(struct answer_list *l)
{
	list_put(l, (struct value){.null = true});
}

void answer_list_cut(struct answer_list *l, size_t rows)
{
	while (l->count > rows * l->column_count)
		free((void *)l->cells[--l->count].t.data);
}

static int list_next(struct answer *r, struct error *err _unused_)
{
	struct answer_list *l = r->arg;

	l->at += l->at <= answer_list_rows(l);
	return l->at <= answer_list_rows(l);
}

static struct value list_get(struct answer *r, size_t column)
{
	const struct answer_list *l = r->arg;

	assert(l->at && l->at <= answer_list_rows(l));
	return l->cells[(l->at - 1) * l->column_count + l->shown[column]];
}

int answer_of_list(struct answer *ret, struct answer_list *l, bool people)
{
	assert(l->column_count <= ANSWER_LIST_COLUMNS);
	*ret = (struct answer){.next = list_next, .get = list_get, .arg = l};
	ret->columns = calloc(l->column_count + 1, sizeof(*ret->columns));
	if (l->error < 0 || !ret->columns)
		return l->error < 0 ? l->error : -ENOMEM;
	assert(!l->count || l->count % l->column_count == 0);
	l->at = 0;
	for (size_t c = 0; c < l->column_count; c++) {
		if (people ? l->columns[c].programs : l->columns[c].people)
			continue;
		l->shown[ret->count] = c;
		ret->columns[ret->count++] = l->columns[c];
	}
	return 0;
}

/* ---- values without units ---- */

static int put_bars(struct buf *out, const struct answer_column *c, const struct value *v)
{
	_cleanup_bars_ struct bars b;
	int r = bars_buckets(&b, c->field, v->t);

	for (size_t i = 0; i < b.count && r >= 0; i++) {
		/* the bucket below the range has no lower bound */
		if (b.items[i].from == INT64_MIN)
			r = buf_printf(out, "%s:%" PRIu64, i ? " " : "", b.items[i].count);
		else
			r = buf_printf(out, "%s%" PRId64 ":%" PRIu64, i ? " " : "", b.items[i].from,
				       b.items[i].count);
	}
	return r;
}

int answer_put_plain(struct buf *out, const struct answer_column *c, const struct value *v)
{
	if (answer_is_bars(c))
		return put_bars(out, c, v);
	if (v->t.data || answer_is_text(c))
		return buf_append(out, v->t.data, v->t.len);
	switch (c->kind.type) {
	case QUERY_BOOL:
		return buf_printf(out, v->i ? "true" : "false");
	case QUERY_CODE:
		return query_code_text(c->kind.vocab, v->i, out);
	case QUERY_FLOAT:
		return buf_printf(out, "%.17g", v->f);
	case QUERY_UINT:
		return buf_printf(out, "%" PRIu64, (uint64_t)v->i);
	default:
		return buf_printf(out, "%" PRId64, v->i);
	}
}

/* ---- CSV ---- */

int answer_utf8(struct bytes *text, struct buf *room)
{
	int r;

	if (engine_is_utf8(text->data, text->len))
		return 0;
	r = engine_escape(text->data, text->len, room);
	*text = buf_bytes(room);
	return r;
}

static int csv_text(struct buf *out, struct bytes text, answer_safe_fn *safe)
{
	_cleanup_buf_ struct buf escaped = {0}, shown = {0};
	int r = answer_utf8(&text, &escaped);

	if (r >= 0 && safe) {
		r = safe(&shown, text.data, text.len);
		text = buf_bytes(&shown);
	}
	return r < 0 ? r : csv_put_text(out, text.len ? (const char *)text.data : "", text.len);
}

int answer_csv_names(struct buf *out, const struct answer *r, answer_safe_fn *safe)
{
	int e = 0;

	for (size_t c = 0; c < r->count && e >= 0; c++) {
		e = c ? buf_append(out, ",", 1) : 0;
		if (e >= 0)
			e = csv_text(out,
				     (struct bytes){(const uint8_t *)r->columns[c].name,
						    strlen(r->columns[c].name)},
				     safe);
	}
	return e < 0 ? e : buf_append(out, "\n", 1);
}

int answer_csv_row(struct buf *out, struct answer *r, answer_safe_fn *safe)
{
	_cleanup_buf_ struct buf text = {0};
	int e = 0;

	for (size_t c = 0; c < r->count && e >= 0; c++) {
		struct value v = answer_get(r, c);

		e = c ? buf_append(out, ",", 1) : 0;
		if (e < 0 || v.null || r->columns[c].kind.type == QUERY_NULL)
			continue;
		buf_clear(&text);
		e = answer_put_plain(&text, &r->columns[c], &v);
		if (e >= 0 && answer_is_text(&r->columns[c]))
			e = csv_text(out, buf_bytes(&text), safe);
		else if (e >= 0)
			e = csv_put(out, buf_str(&text), text.len);
	}
	return e < 0 ? e : buf_append(out, "\n", 1);
}
