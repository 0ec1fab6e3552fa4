// SPDX-License-Identifier: Apache-2.0
/* query_table.c: the rows of an answer as an aligned table. */
#include <errno.h>
#include <string.h>

#include "engine/window_bars.h"
#include "cli/terminal/bars.h"
#include "cli/query/query_print.h"
#include "schema/ops.h"

#define PIECE	      20000 /* rows aligned together; a longer list widens as it goes */
#define TEXT_CELL_MAX 60    /* columns of a text on a terminal; longer ones are cut in the middle */
#define TEXT_PIPE_MAX 100   /* that texts on a pipe are padded to */
#define COLUMN_GAP    2
#define SHRUNK_MIN    16 /* columns that a text keeps where the table is too wide */
#define SPARK_MAX     16 /* columns of a histogram in a cell */
#define SPARK_INDEXES (1 + 64)

/* A cell is its text; of a histogram the packed bytes, drawn when the axis is known. */
struct piece {
	const struct query_print *print;
	struct answer *rows;
	struct buf *cells; /* rows * columns */
	size_t cap, count; /* cells */
	size_t *widths;	   /* they only grow from piece to piece */
	struct buf *titles;
	struct axis {
		bool known;
		unsigned int first, last; /* bars of one per power of two */
	} *axes;
	size_t printed; /* rows */
	size_t op;	/* the column that says what operation flags are of; SIZE_MAX: none */
};

static bool query_table_is_bars(const struct plan_field *f)
{
	return f->type.type == QUERY_HIST || f->type.type == QUERY_TALLY;
}

static void piece_clear(struct piece *t)
{
	for (size_t i = 0; i < t->count; i++)
		buf_free(&t->cells[i]);
	t->count = 0;
}

static void query_table_piece_free(struct piece *t)
{
	piece_clear(t);
	for (size_t c = 0; t->titles && c < t->rows->count; c++)
		buf_free(&t->titles[c]);
	free(t->titles);
	free(t->cells);
	free(t->widths);
	free(t->axes);
}

static int piece_init(struct piece *t)
{
	size_t columns = t->rows->count;

	t->op = SIZE_MAX;
	for (size_t c = 0; c < columns && t->op == SIZE_MAX; c++)
		t->op = cell_is_op(t->rows->fields[c]) ? c : SIZE_MAX;
	t->widths = calloc(columns + 1, sizeof(*t->widths));
	t->axes = calloc(columns + 1, sizeof(*t->axes));
	t->titles = calloc(columns + 1, sizeof(*t->titles));
	return t->widths && t->axes && t->titles ? 0 : -ENOMEM;
}

/* Numbers stand to the right; flags are words where their operation is known. */
static bool query_table_is_number(const struct piece *t, size_t c)
{
	const struct plan_field *f = t->rows->fields[c];

	return cell_is_number(f) &&
	       !(cell_is_flags(f) && (t->op != SIZE_MAX || t->print->style.flags != WORDS_NONE));
}

/* The code of an operation, or -1. An engine may have given its word. */
static int64_t op_code(const struct value *v)
{
	char word[32];

	if (v->null)
		return -1;
	if (!v->t.data)
		return v->i;
	snprintf(word, sizeof(word), "%.*s", (int)MIN(v->t.len, sizeof(word) - 1),
		 (const char *)v->t.data);
	return op_find(word);
}

static struct cell_style row_style(const struct piece *t)
{
	struct cell_style style = t->print->style;

	if (t->op != SIZE_MAX) {
		const struct value op = answer_get(t->rows, t->op);
		int64_t code = op_code(&op);

		style.flags =
			code < 0 || code > UINT32_MAX ? WORDS_NONE : op_flag_words((uint32_t)code);
	}
	return style;
}

static int query_table_add_row(struct piece *t)
{
	const struct cell_style style = row_style(t);
	size_t columns = t->rows->count;
	int r = 0;

	if (grow((void **)&t->cells, &t->cap, t->count + columns, sizeof(*t->cells)) < 0)
		return -ENOMEM;
	for (size_t c = 0; c < columns && r >= 0; c++) {
		const struct plan_field *f = t->rows->fields[c];
		struct value v = answer_get(t->rows, c);
		struct buf *cell = &t->cells[t->count++];

		*cell = (struct buf){0};
		if (query_table_is_bars(f))
			r = v.null ? 0 : buf_append(cell, v.t.data, v.t.len);
		else
			r = cell_put(cell, f, &v, answer_estimated(t->rows, c), &style);
	}
	return r;
}

/* ---- histograms in cells ---- */

/* How many columns of equal steps lquantize() has, those of what lies outside included. */
static int64_t linear_steps(const struct plan_field *f)
{
	return (f->param[1] - f->param[0] + f->param[2] - 1) / f->param[2] + 2;
}

static bool is_linear(const struct plan_field *f)
{
	return f->type.type == QUERY_TALLY && f->aggregate == AGGREGATE_LQUANTIZE &&
	       f->param[2] > 0;
}

/* The place of a bar on the axis: its power of two, or its step. */
static unsigned int query_table_place(const struct plan_field *f, int64_t from)
{
	int64_t all, step;

	if (!is_linear(f))
		return bars_index((uint64_t)MAX(from, 0), 1);
	if (from < f->param[0])
		return 0;
	all = linear_steps(f);
	step = 1 + (from - f->param[0]) / f->param[2];
	return (unsigned int)(all > SPARK_INDEXES ? step * (SPARK_INDEXES - 1) / all : step);
}

/* Where a place begins. */
static int64_t place_lower(const struct plan_field *f, unsigned int at)
{
	int64_t all, step = at;

	if (!is_linear(f))
		return at >= 64 ? INT64_MAX : (int64_t)bars_lower(at, 1);
	all = linear_steps(f);
	if (all > SPARK_INDEXES)
		step = step * all / (SPARK_INDEXES - 1);
	return step < 1 ? f->param[0] : MIN(f->param[0] + (step - 1) * f->param[2], f->param[1]);
}

/* Counts by place on the axis. False where there is nothing. */
static int spark_counts(const struct plan_field *f, struct buf *cell,
			uint64_t counts[SPARK_INDEXES], unsigned int *ret_first,
			unsigned int *ret_last)
{
	_cleanup_bars_ struct bars b = {0};
	bool any = false;
	int r = bars_buckets(&b, f, (struct bytes){cell->data, cell->len});

	for (size_t i = 0; i < b.count && r >= 0; i++) {
		unsigned int at = query_table_place(f, b.items[i].from);

		counts[at] += b.items[i].count;
		*ret_first = any ? MIN(*ret_first, at) : at;
		*ret_last = any ? MAX(*ret_last, at) : at;
		any = true;
	}
	return r < 0 ? r : any;
}

/* The axis that all cells of a column share, and the title that says what it is. */
static int make_axis(struct piece *t, size_t c)
{
	const struct plan_field *f = t->rows->fields[c];
	struct axis *axis = &t->axes[c];
	struct buf *title = &t->titles[c];

	for (size_t i = c; i < t->count; i += t->rows->count) {
		uint64_t counts[SPARK_INDEXES] = {0};
		unsigned int first = 0, last = 0;
		int r = spark_counts(f, &t->cells[i], counts, &first, &last);

		if (r < 0)
			return r;
		if (!r)
			continue;
		axis->first = axis->known ? MIN(axis->first, first) : first;
		axis->last = axis->known ? MAX(axis->last, last) : last;
		axis->known = true;
	}
	if (!axis->known)
		return 0;
	return buf_printf(title, " %s..%s",
			  cell_number(query_kind_unit(f->type), place_lower(f, axis->first)).s,
			  cell_number(query_kind_unit(f->type), place_lower(f, axis->last + 1)).s);
}

static int draw_cells(struct piece *t, size_t c)
{
	const struct axis *axis = &t->axes[c];
	unsigned int span = axis->last - axis->first + 1, per = (span + SPARK_MAX - 1) / SPARK_MAX;

	for (size_t i = c; i < t->count; i += t->rows->count) {
		uint64_t counts[SPARK_INDEXES] = {0}, shown[SPARK_INDEXES] = {0};
		unsigned int first = 0, last = 0;
		struct buf drawn = {0};
		int r = spark_counts(t->rows->fields[c], &t->cells[i], counts, &first, &last);

		for (unsigned int k = 0; k < SPARK_INDEXES && r > 0; k++) {
			unsigned int at = k > axis->last ? axis->last : MAX(k, axis->first);

			shown[(at - axis->first) / per] += counts[k];
		}
		if (r >= 0)
			r = r ? bars_spark(&drawn, shown, (span + per - 1) / per)
			      : buf_printf(&drawn, "-");
		buf_free(&t->cells[i]);
		t->cells[i] = drawn;
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- lines ---- */

static void fit(struct piece *t)
{
	size_t total = 0, columns = t->rows->count, width = t->print->width;

	for (size_t c = 0; c < columns; c++) {
		size_t w = MAX(t->widths[c], format_width(buf_str(&t->titles[c])));

		for (size_t i = c; i < t->count; i += columns)
			w = MAX(w, format_width(buf_str(&t->cells[i])));
		/* on a pipe nothing is cut: a text longer than this shifts the rest of its line */
		if (!query_table_is_number(t, c) && !query_table_is_bars(t->rows->fields[c]))
			w = MIN(w, (size_t)(width ? TEXT_CELL_MAX : TEXT_PIPE_MAX));
		t->widths[c] = w;
		total += w + (c ? COLUMN_GAP : 0);
	}
	/* the widest text gives way first, down to a width at which it still says something */
	while (width && total > width) {
		size_t widest = columns, cut;

		for (size_t c = 0; c < columns; c++) {
			if (!query_table_is_number(t, c) && t->widths[c] > SHRUNK_MIN &&
			    (widest == columns || t->widths[c] > t->widths[widest]))
				widest = c;
		}
		if (widest == columns)
			return;
		cut = total - width > 8 ? 8 : total - width;
		cut = MIN(cut, t->widths[widest] - SHRUNK_MIN);
		t->widths[widest] -= cut;
		total -= cut;
	}
}

static int query_table_put_line(struct piece *t, struct buf *cells, struct buf *line)
{
	int r = 0;

	buf_clear(line);
	for (size_t c = 0; c < t->rows->count && r >= 0; c++) {
		_cleanup_buf_ struct buf cut = {0};
		const char *s = buf_str(&cells[c]);

		if (c)
			r = buf_printf(line, "%*s", COLUMN_GAP, "");
		/* safe already: what cutting in the middle needs is the width alone */
		if (r >= 0 && format_width(s) > t->widths[c] && !t->print->width) {
			r = buf_append(line, s, strlen(s));
			continue;
		}
		if (r >= 0 && format_width(s) > t->widths[c]) {
			r = format_path(&cut, s, strlen(s), t->widths[c]);
			s = buf_str(&cut);
		}
		if (r >= 0)
			r = format_pad(line, s, t->widths[c], query_table_is_number(t, c));
	}
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	if (r >= 0)
		fprintf(t->print->out, "%s\n", buf_str(line));
	return r;
}

static int query_table_print_piece(struct piece *t)
{
	_cleanup_buf_ struct buf line = {0};
	size_t columns = t->rows->count;
	int r = 0;

	for (size_t c = 0; c < columns && r >= 0; c++) {
		if (!t->printed) {
			buf_clear(&t->titles[c]);
			r = buf_printf(&t->titles[c], "%s", t->rows->fields[c]->name);
		}
		if (r >= 0 && query_table_is_bars(t->rows->fields[c])) {
			if (!t->axes[c].known)
				r = make_axis(t, c);
			if (r >= 0)
				r = draw_cells(t, c);
		}
	}
	if (r >= 0) {
		fit(t);
		r = t->printed ? 0 : query_table_put_line(t, t->titles, &line);
	}
	for (size_t i = 0; i < t->count && r >= 0; i += columns) {
		r = query_table_put_line(t, t->cells + i, &line);
		t->printed++;
	}
	piece_clear(t);
	fflush(t->print->out);
	return r;
}

/* ---- all of it ---- */

static int query_table_too_many(const struct query_print *p, struct answer *rows, struct error *err)
{
	uint64_t more = 0;
	int r;

	while ((r = answer_next(rows, err)) == 1 && (!more || !rows->endless))
		more++;
	if (r < 0 || !more)
		return r;
	if (rows->endless)
		fprintf(p->out, "there are more: add `| head N`, pipe the output, or use --csv to "
				"get them all\n");
	else if (p->live)
		fprintf(p->out, "%s more rows\n", format_count(more).s);
	else
		fprintf(p->out,
			"%s more rows: add `| head N`, pipe the output, or use --csv to get them "
			"all\n",
			format_count(more).s);
	return 0;
}

int query_print_table(const struct query_print *p, struct answer *rows, struct error *err)
{
	_cleanup_(query_table_piece_free) struct piece t = {.print = p, .rows = rows};
	size_t limit = p->rows_max ? p->rows_max : SIZE_MAX;
	int r = piece_init(&t), next = 1;

	while (r >= 0 && next > 0 && t.printed < limit && !ferror(p->out)) {
		size_t held = rows->count ? t.count / rows->count : 0;

		next = answer_next(rows, err);
		if (next == 1)
			r = query_table_add_row(&t);
		if (next < 0)
			break;
		held += next == 1;
		if (r >= 0 && (held >= PIECE || t.printed + held >= limit || (next != 1 && held)))
			r = query_table_print_piece(&t);
	}
	if (next < 0)
		return next;
	if (r >= 0 && !t.printed)
		r = query_table_print_piece(&t);
	if (r < 0)
		return error_errno(err, r, "cannot print the answer");
	return next > 0 ? query_table_too_many(p, rows, err) : 0;
}
