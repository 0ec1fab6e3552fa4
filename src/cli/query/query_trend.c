// SPDX-License-Identifier: Apache-2.0
/* query_trend.c: draws counts by time and one key on a terminal: a line per key, time to the right. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"
#include "base/saturate.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/text.h"
#include "cli/query/query_print.h"

#define COLUMNS_MIN 10
#define KEY_PARTS   3 /* a key takes at most this part of the width */
#define LINE_REST   4 /* columns between key, total and line */

struct trend {
	const struct answer_print *print;
	const struct answer_column *key, *value;
	size_t time_at, key_at, value_at;
	int64_t step, from, to; /* ns; starts of the first and last window */
	struct intern keys;
	struct cell {
		uint32_t key;
		int64_t at, n;
	} *cells;
	size_t count, cap;
	size_t windows, columns; /* windows per column; columns */
	uint64_t *sums;		 /* [key][columns] */
	uint64_t untimed;	 /* of rows without a time */
	struct total {
		uint32_t key;
		uint64_t n;
	} *totals;
};

static bool adds_up(const struct plan_field *f)
{
	return f->kind == FIELD_AGGREGATE &&
	       (f->aggregate == AGGREGATE_COUNT || f->aggregate == AGGREGATE_COUNTIF ||
		f->aggregate == AGGREGATE_BUSY ||
		(f->aggregate == AGGREGATE_SUM && f->type.type != QUERY_FLOAT));
}

/* Finds the columns of time, key and number; false if the answer has another shape. */
static bool find_columns(const struct answer *rows, struct trend *t)
{
	unsigned int times = 0, keys = 0, values = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct plan_field *f = rows->columns[i].field;

		if (f->kind == FIELD_WINDOW && f->param[0] > 0) {
			t->time_at = i;
			times++;
		} else if (f->kind == FIELD_KEY) {
			t->key_at = i;
			keys++;
		} else if (adds_up(f)) {
			t->value_at = i;
			values++;
		}
	}
	return rows->count == 3 && times == 1 && keys == 1 && values == 1;
}

bool query_is_trend(const struct answer *rows)
{
	return find_columns(rows, &(struct trend){0});
}

static void trend_free(struct trend *t)
{
	intern_free(&t->keys);
	free(t->cells);
	free(t->sums);
	free(t->totals);
}

static int query_trend_read_cells(struct trend *t, struct answer *rows, struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	int r;

	while ((r = answer_next(rows, err)) == 1) {
		struct value at = answer_get(rows, t->time_at), key = answer_get(rows, t->key_at),
			     n = answer_get(rows, t->value_at);
		struct cell cell = {.at = at.i, .n = n.i};

		if (n.null || n.i < 0)
			continue;
		if (at.null) {
			t->untimed += (uint64_t)n.i;
			continue;
		}
		buf_clear(&text);
		if (cell_put(&text, t->key, &key, false, &t->print->style) < 0 ||
		    intern_add(&t->keys, buf_str(&text), text.len, &cell.key) < 0 ||
		    array_add(t->cells, t->count, t->cap, cell) < 0)
			return -ENOMEM;
		t->from = t->count == 1 ? at.i : MIN(t->from, at.i);
		t->to = t->count == 1 ? at.i : MAX(t->to, at.i);
	}
	return r < 0 ? r : 0;
}

static int by_total(const void *a, const void *b)
{
	const struct total *x = a, *y = b;

	return ORDER(y->n, x->n) ?: ORDER(x->key, y->key);
}

static int add_totals(struct trend *t)
{
	t->totals = calloc(t->keys.count + 1, sizeof(*t->totals));
	if (!t->totals)
		return -ENOMEM;
	for (uint32_t k = 0; k < t->keys.count; k++)
		t->totals[k].key = k;
	for (size_t i = 0; i < t->count; i++)
		t->totals[t->cells[i].key].n += (uint64_t)t->cells[i].n;
	qsort(t->totals, t->keys.count, sizeof(*t->totals), by_total);
	return 0;
}

static int query_trend_add_columns(struct trend *t, size_t width)
{
	size_t all = (size_t)(((uint64_t)t->to - (uint64_t)t->from) / (uint64_t)t->step) + 1;

	t->windows = (all + width - 1) / width;
	t->columns = (all + t->windows - 1) / t->windows;
	t->sums = calloc(t->keys.count * t->columns + 1, sizeof(*t->sums));
	if (!t->sums)
		return -ENOMEM;
	for (size_t i = 0; i < t->count; i++) {
		const struct cell *c = &t->cells[i];
		size_t at = (size_t)(((uint64_t)c->at - (uint64_t)t->from) / (uint64_t)t->step) /
			    t->windows;

		t->sums[c->key * t->columns + at] += (uint64_t)c->n;
	}
	return 0;
}

static struct text query_trend_number(const struct trend *t, uint64_t n)
{
	struct text none = {0};
	_cleanup_buf_ struct buf text = {0};
	struct value v = {.i = n > INT64_MAX ? INT64_MAX : (int64_t)n};

	if (cell_put(&text, t->value, &v, false, &t->print->style) < 0)
		return none;
	snprintf(none.s, sizeof(none.s), "%.60s", buf_str(&text));
	return none;
}

static int query_trend_put_line(struct trend *t, const struct total *total, size_t key_width,
				size_t width)
{
	struct bytes key = intern_get(&t->keys, total->key);
	_cleanup_buf_ struct buf line = {0}, name = {0};
	int r = format_path(&name, key.data, key.len, key_width);

	if (r < 0)
		return r;
	format_pad(&line, buf_str(&name), key_width, cell_is_number(t->key));
	buf_printf(&line, "  %*s  ", (int)width, query_trend_number(t, total->n).s);
	r = bars_spark(&line, &t->sums[total->key * t->columns], t->columns);
	if (r < 0)
		return r;
	while (line.len && line.data[line.len - 1] == ' ')
		line.len--;
	fprintf(t->print->out, "%s\n", buf_str(&line));
	return r;
}

static int query_trend_put_legend(const struct trend *t, size_t shown)
{
	const struct answer_column as_time = {.kind = {.type = QUERY_TIME}};
	struct value from = {.i = t->from}, to = {.i = add_sat_signed(t->to, t->step)};
	_cleanup_buf_ struct buf text = {0};
	int r = cell_put(&text, &as_time, &from, false, &t->print->style);

	if (r >= 0)
		r = buf_printf(&text, " to ");
	if (r >= 0)
		r = cell_put(&text, &as_time, &to, false, &t->print->style);
	if (r < 0)
		return r;
	fprintf(t->print->out, "%s, %s a column, each line scaled to its own maximum",
		buf_str(&text), format_dur(t->step * (int64_t)t->windows).s);
	if (shown < t->keys.count)
		fprintf(t->print->out, "; %s more keys", format_count(t->keys.count - shown).s);
	if (t->untimed)
		fprintf(t->print->out, "; %s without a time left out",
			query_trend_number(t, t->untimed).s);
	fprintf(t->print->out, "%s\n",
		!t->print->more ? "" : "; for the numbers add `| head N`, or use --csv");
	return 0;
}

static int query_trend_draw(struct trend *t)
{
	size_t key = format_width(t->key->name), number_width = strlen(t->value->name), width;
	size_t shown;
	int r;

	for (uint32_t k = 0; k < t->keys.count; k++)
		key = MAX(key, intern_get(&t->keys, k).len);
	width = MAX(t->print->width, (size_t)TEXT_WIDTH_MIN);
	key = MIN(key, width / KEY_PARTS);
	r = add_totals(t);
	if (r < 0)
		return r;
	for (uint32_t k = 0; k < t->keys.count; k++)
		number_width = MAX(number_width, strlen(query_trend_number(t, t->totals[k].n).s));
	width = t->print->width > key + number_width + LINE_REST + COLUMNS_MIN
			? t->print->width - key - number_width - LINE_REST
			: COLUMNS_MIN;
	r = query_trend_add_columns(t, width);
	shown = t->print->rows_max ? MIN(t->keys.count, t->print->rows_max) : t->keys.count;
	if (r < 0)
		return r;
	fprintf(t->print->out, "%-*s  %*s\n", (int)key, t->key->name, (int)number_width,
		t->value->name);
	for (size_t i = 0; i < shown; i++) {
		r = query_trend_put_line(t, &t->totals[i], key, number_width);
		if (r < 0)
			return r;
	}
	return r < 0 ? r : query_trend_put_legend(t, shown);
}

int query_draw_trend(const struct answer_print *p, struct answer *rows, struct error *err)
{
	_cleanup_(trend_free) struct trend t = {.print = p};
	int r;

	if (!find_columns(rows, &t))
		return error_set(err, -EINVAL, "expected counts by time and one key");
	t.key = &rows->columns[t.key_at];
	t.value = &rows->columns[t.value_at];
	t.step = rows->columns[t.time_at].field->param[0];
	r = query_trend_read_cells(&t, rows, err);
	if (r >= 0 && !t.count)
		fprintf(p->out, "%s by %s: nothing\n", t.value->name, t.key->name);
	else if (r >= 0)
		r = query_trend_draw(&t);
	return r < 0 ? error_errno(err, r, "cannot draw the answer") : 0;
}
