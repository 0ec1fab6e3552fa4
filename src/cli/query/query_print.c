// SPDX-License-Identifier: Apache-2.0
/* query_print.c: chooses the form of an answer. */
#include "cli/query/query_print.h"

#include <errno.h>

/* ---- a single row: its numbers, then its histograms drawn large ---- */

/* A row that was read already, kept while the code checks whether there is another. */
struct kept {
	struct answer *from;
	struct value *values;
	struct buf *bytes;
	bool *estimated;
	unsigned int step; /* 0: before the kept row, 1: at it, 2: at the row read after it */
};

static int kept_next(struct answer *r, struct error *err)
{
	struct kept *k = r->arg;

	if (k->step == 2)
		return answer_next(k->from, err);
	k->step++;
	return 1;
}

static struct value kept_get(struct answer *r, size_t column)
{
	struct kept *k = r->arg;

	return k->step == 1 ? k->values[column] : answer_get(k->from, column);
}

static bool kept_estimated(const struct answer *r, size_t column)
{
	const struct kept *k = r->arg;

	return k->step == 1 ? k->estimated[column] : answer_estimated(k->from, column);
}

static void query_print_kept_free(struct kept *k)
{
	for (size_t c = 0; k->bytes && c < k->from->count; c++)
		buf_free(&k->bytes[c]);
	free(k->bytes);
	free(k->values);
	free(k->estimated);
}

static int keep_row(struct kept *k)
{
	size_t columns = k->from->count;

	k->values = calloc(columns + 1, sizeof(*k->values));
	k->bytes = calloc(columns + 1, sizeof(*k->bytes));
	k->estimated = calloc(columns + 1, sizeof(*k->estimated));
	if (!k->values || !k->bytes || !k->estimated)
		return -ENOMEM;
	for (size_t c = 0; c < columns; c++) {
		struct value v = answer_get(k->from, c);

		if (v.t.data && buf_append(&k->bytes[c], v.t.data, v.t.len) < 0)
			return -ENOMEM;
		v.t = (struct bytes){k->bytes[c].data, k->bytes[c].len};
		k->values[c] = v;
		k->estimated[c] = answer_estimated(k->from, c);
	}
	return 0;
}

static int print_single(const struct answer_print *p, const struct kept *k)
{
	const struct answer *rows = k->from;
	bool any = false;
	int r = 0;

	for (size_t c = 0; c < rows->count && r >= 0; c++) {
		_cleanup_buf_ struct buf text = {0};

		if (answer_is_bars(&rows->columns[c]))
			continue;
		r = cell_put(&text, &rows->columns[c], &k->values[c], k->estimated[c], &p->style);
		fprintf(p->out, "%s%s %s", any ? "  " : "", rows->columns[c].name, buf_str(&text));
		any = true;
	}
	if (any)
		fputc('\n', p->out);
	for (size_t c = 0; c < rows->count && r >= 0; c++) {
		if (!answer_is_bars(&rows->columns[c]))
			continue;
		if (any)
			fputc('\n', p->out);
		any = true;
		r = query_draw_bars(p, rows->columns[c].field, k->values[c].t);
	}
	return r;
}

/* Rows with histograms: a single one is drawn large, several become a table. */
static int print_bars(const struct answer_print *p, struct answer *rows, struct error *err)
{
	_cleanup_(query_print_kept_free) struct kept k = {.from = rows};
	struct answer again = *rows;
	int r = answer_next(rows, err), next;

	if (r < 0)
		return r;
	if (r != 1)
		return answer_text(p, rows, err);
	r = keep_row(&k);
	if (r < 0)
		return error_errno(err, r, "cannot print the answer");
	next = answer_next(rows, err);
	if (next < 0)
		return next;
	if (next != 1)
		return print_single(p, &k);
	/* the table begins with the kept row; the current one must not be skipped */
	again.arg = &k;
	again.next = kept_next;
	again.get = kept_get;
	again.estimated = kept_estimated;
	return answer_text(p, &again, err);
}

int query_print(const struct answer_print *p, struct answer *rows, struct error *err)
{
	bool bars = false;

	for (size_t c = 0; c < rows->count; c++)
		bars |= answer_is_bars(&rows->columns[c]);
	if (query_is_heat(rows))
		return query_draw_heat(p, rows, err);
	if (p->trends && query_is_trend(rows))
		return query_draw_trend(p, rows, err);
	return bars ? print_bars(p, rows, err) : answer_text(p, rows, err);
}
