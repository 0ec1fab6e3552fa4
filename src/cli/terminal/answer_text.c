// SPDX-License-Identifier: Apache-2.0
/* answer_text.c: prints the rows of an answer as an aligned table. */
#include <errno.h>
#include <string.h>

#include "engine/window_bars.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/text.h"
#include "schema/ops.h"

#define PIECE	      20000 /* rows aligned together; in a longer list columns may widen */
#define TEXT_PIPE_MAX 100   /* columns to which texts in a pipe are padded */
#define COLUMN_GAP    2
#define NAME_MIN      26 /* columns that a text keeps while other columns can be left out */
#define SHRUNK_MIN    8	 /* minimum columns of a text */
#define WEIGHT_PARTS  4	 /* a value with this part of its column's sum is highlighted */
#define SPARK_MAX     16 /* columns for a histogram in a cell */
#define SPARK_INDEXES (1 + 64)

/* The text of a cell; for a histogram its packed bytes, drawn once the axis is known. */
struct cell {
	struct buf text;
	int64_t n;
	enum text_style style;
};

struct piece {
	const struct answer_print *print;
	struct answer *rows;
	struct cell *cells; /* rows * columns */
	size_t cap, count;  /* cells */
	struct cell *titles;
	struct layout {
		size_t wanted; /* columns needed; only grows from piece to piece */
		size_t width;  /* columns assigned */
		bool left_out;
	} *layout;
	struct axis {
		bool known;
		unsigned int first, last; /* bars of a histogram by powers of two */
	} *axes;
	size_t printed; /* rows */
	size_t op;	/* the column with the operation that flags belong to; SIZE_MAX: none */
	size_t class;	/* the column with the calls' class; SIZE_MAX: none */
};

static void piece_clear(struct piece *t)
{
	for (size_t i = 0; i < t->count; i++)
		buf_free(&t->cells[i].text);
	t->count = 0;
}

static void piece_free(struct piece *t)
{
	piece_clear(t);
	for (size_t c = 0; t->titles && c < t->rows->count; c++)
		buf_free(&t->titles[c].text);
	free(t->titles);
	free(t->cells);
	free(t->layout);
	free(t->axes);
}

static int piece_init(struct piece *t)
{
	size_t columns = t->rows->count;

	t->op = t->class = SIZE_MAX;
	for (size_t c = columns; c-- > 0;) {
		if (cell_is_op(&t->rows->columns[c]))
			t->op = c;
		if (cell_has_words(&t->rows->columns[c], QUERY_CODE, "class"))
			t->class = c;
	}
	t->layout = calloc(columns + 1, sizeof(*t->layout));
	t->axes = calloc(columns + 1, sizeof(*t->axes));
	t->titles = calloc(columns + 1, sizeof(*t->titles));
	return t->layout && t->axes && t->titles ? 0 : -ENOMEM;
}

/* Numbers are right-aligned; flags are words if their operation is known. */
static bool stands_right(const struct piece *t, size_t c)
{
	const struct answer_column *column = &t->rows->columns[c];

	return cell_is_number(column) &&
	       !(cell_is_flags(column) &&
		 (t->op != SIZE_MAX || t->print->style.flags != WORDS_NONE));
}

static bool can_shrink(const struct piece *t, size_t c)
{
	const struct answer_column *column = &t->rows->columns[c];

	return !column->fixed && !stands_right(t, c) && !answer_is_bars(column);
}

/* The code of an operation, or -1. An engine may return its word. */
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

/* True for rows of waiting calls, which are dimmed, as waiting is not work. */
static bool row_waits(const struct piece *t)
{
	struct value v;

	if (t->class == SIZE_MAX)
		return false;
	v = answer_get(t->rows, t->class);
	if (v.null || !v.t.data)
		return !v.null && v.i == CLASS_WAIT;
	return v.t.len == strlen("wait") && !memcmp(v.t.data, "wait", v.t.len);
}

static int add_row(struct piece *t)
{
	const struct cell_style style = row_style(t);
	bool waits = row_waits(t);
	size_t columns = t->rows->count;
	int r = 0;

	if (grow((void **)&t->cells, &t->cap, t->count + columns, sizeof(*t->cells)) < 0)
		return -ENOMEM;
	for (size_t c = 0; c < columns && r >= 0; c++) {
		const struct answer_column *column = &t->rows->columns[c];
		struct value v = answer_get(t->rows, c);
		struct cell *cell = &t->cells[t->count++];

		*cell = (struct cell){.n = v.null ? 0 : v.i,
				      .style = waits ? TEXT_DIM : TEXT_PLAIN};
		if (column->alarm && !v.null && (v.i || v.t.len))
			cell->style = TEXT_RED;
		if (answer_is_bars(column))
			r = v.null ? 0 : buf_append(&cell->text, v.t.data, v.t.len);
		else
			r = cell_put(&cell->text, column, &v, answer_estimated(t->rows, c), &style);
	}
	return r;
}

/* Highlights values that make a large part of their column. */
static void mark_weights(struct piece *t, size_t c)
{
	size_t columns = t->rows->count;
	double sum = 0;

	for (size_t i = c; i < t->count; i += columns)
		sum += (double)t->cells[i].n;
	for (size_t i = c; i < t->count; i += columns) {
		if (t->cells[i].style == TEXT_PLAIN && sum > 0 &&
		    (double)t->cells[i].n >= sum / WEIGHT_PARTS)
			t->cells[i].style = TEXT_BOLD;
	}
}

/* ---- histograms in cells ---- */

/* The number of columns of lquantize(), including those outside its range. */
static int64_t linear_steps(const struct plan_field *f)
{
	return (f->param[1] - f->param[0] + f->param[2] - 1) / f->param[2] + 2;
}

static bool is_linear(const struct plan_field *f)
{
	return f->type.type == QUERY_TALLY && f->aggregate == AGGREGATE_LQUANTIZE &&
	       f->param[2] > 0;
}

/* The position of a bar on the axis: its power of two, or its step. */
static unsigned int place(const struct plan_field *f, int64_t from)
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

/* The lower bound of a position. */
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

/* Counts by position on the axis. False if there are none. */
static int spark_counts(const struct plan_field *f, struct buf *cell,
			uint64_t counts[SPARK_INDEXES], unsigned int *ret_first,
			unsigned int *ret_last)
{
	_cleanup_bars_ struct bars b = {0};
	bool any = false;
	int r = bars_buckets(&b, f, buf_bytes(cell));

	for (size_t i = 0; i < b.count && r >= 0; i++) {
		unsigned int at = place(f, b.items[i].from);

		counts[at] += b.items[i].count;
		*ret_first = any ? MIN(*ret_first, at) : at;
		*ret_last = any ? MAX(*ret_last, at) : at;
		any = true;
	}
	return r < 0 ? r : any;
}

/* Makes the axis that all cells of a column share, and the title that describes it. */
static int make_axis(struct piece *t, size_t c)
{
	const struct plan_field *f = t->rows->columns[c].field;
	struct axis *axis = &t->axes[c];
	struct buf *title = &t->titles[c].text;

	for (size_t i = c; i < t->count; i += t->rows->count) {
		uint64_t counts[SPARK_INDEXES] = {0};
		unsigned int first = 0, last = 0;
		int r = spark_counts(f, &t->cells[i].text, counts, &first, &last);

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
		int r = spark_counts(t->rows->columns[c].field, &t->cells[i].text, counts, &first,
				     &last);

		for (unsigned int k = 0; k < SPARK_INDEXES && r > 0; k++) {
			unsigned int at = k > axis->last ? axis->last : MAX(k, axis->first);

			shown[(at - axis->first) / per] += counts[k];
		}
		if (r >= 0)
			r = r ? bars_spark(&drawn, shown, (span + per - 1) / per)
			      : buf_printf(&drawn, "-");
		buf_free(&t->cells[i].text);
		t->cells[i].text = drawn;
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- lines ---- */

static size_t total_width(const struct piece *t)
{
	size_t total = 0;

	for (size_t c = 0; c < t->rows->count; c++) {
		if (!t->layout[c].left_out)
			total += t->layout[c].width + (total ? COLUMN_GAP : 0);
	}
	return total;
}

/* True for a row with text only in its first cell: a heading within the table, which takes the whole line. */
static bool spans(const struct piece *t, const struct cell *row)
{
	for (size_t c = 1; c < t->rows->count; c++) {
		if (row[c].text.len)
			return false;
	}
	return t->rows->count > 1 && row[0].text.len;
}

/* Shrinks the widest texts first, down to `least` columns. True if the line then fits. */
static bool shrink(struct piece *t, size_t least)
{
	size_t total = total_width(t), width = t->print->width;

	while (total > width) {
		struct layout *widest = NULL;

		for (size_t c = 0; c < t->rows->count; c++) {
			struct layout *l = &t->layout[c];

			if (!l->left_out && can_shrink(t, c) && l->width > least &&
			    (!widest || l->width > widest->width))
				widest = l;
		}
		if (!widest)
			return false;
		widest->width--;
		total--;
	}
	return true;
}

/* True for an optional column with only zeros. */
static bool column_is_dashes(const struct piece *t, size_t c)
{
	if (!t->rows->columns[c].dash || !t->rows->columns[c].gives || !t->count)
		return false;
	for (size_t i = c; i < t->count; i += t->rows->count) {
		if (strcmp(buf_str(&t->cells[i].text), "-") != 0)
			return false;
	}
	return true;
}

/* Leaves out the next optional column, those without a value first. False if there is none. */
static bool leave_out(struct piece *t)
{
	struct layout *first = NULL;
	unsigned char gives = 0;

	for (size_t c = 0; c < t->rows->count; c++) {
		if (!t->layout[c].left_out && column_is_dashes(t, c)) {
			t->layout[c].left_out = true;
			return true;
		}
	}
	for (size_t c = 0; c < t->rows->count; c++) {
		if (!t->layout[c].left_out && t->rows->columns[c].gives > gives) {
			gives = t->rows->columns[c].gives;
			first = &t->layout[c];
		}
	}
	if (first)
		first->left_out = true;
	return first;
}

/* Restores columns that were left out but now fit, the last one left out first. */
static void put_back(struct piece *t)
{
	for (unsigned int gives = 1; gives <= UINT8_MAX; gives++) {
		for (size_t c = 0; c < t->rows->count; c++) {
			struct layout *l = &t->layout[c];

			if (t->rows->columns[c].gives == gives && l->left_out && l->wanted &&
			    total_width(t) + COLUMN_GAP + l->wanted <= t->print->width)
				l->left_out = false;
		}
	}
}

static void fit(struct piece *t)
{
	size_t columns = t->rows->count;

	for (size_t c = 0; c < columns; c++) {
		size_t w = MAX(t->layout[c].wanted, (size_t)t->rows->columns[c].width);

		w = MAX(w, format_width(buf_str(&t->titles[c].text)));
		for (size_t i = c; i < t->count; i += columns) {
			if (c || !spans(t, &t->cells[i]))
				w = MAX(w, format_width(buf_str(&t->cells[i].text)));
		}
		/* nothing is cut in a pipe: a text longer than this shifts the rest of its line */
		if (!t->print->width && can_shrink(t, c))
			w = MIN(w, (size_t)TEXT_PIPE_MAX);
		t->layout[c].wanted = t->layout[c].width = w;
		t->layout[c].left_out = !w;
	}
	if (!t->print->width)
		return;
	while (!shrink(t, NAME_MIN)) {
		if (!leave_out(t)) {
			shrink(t, SHRUNK_MIN);
			return;
		}
		for (size_t c = 0; c < columns; c++)
			t->layout[c].width = t->layout[c].wanted;
	}
	put_back(t);
}

/* Without printf, which takes most of the time of a long table. */
static int put_blanks(struct buf *line, size_t n)
{
	int r;

	if (!n)
		return 0;
	r = buf_reserve(line, n);
	if (r < 0)
		return buf_fail(line, r);
	memset(line->data + line->len, ' ', n);
	line->len += n;
	return 0;
}

static int put_chars(struct buf *line, const char *s)
{
	return buf_append(line, s, strlen(s));
}

/*
 * Appends a text, already safe, in its colour, cut to `width` columns (0: not cut), and with blanks to `least`, on the
 * left if it stands right.
 */
static int put_text(const struct piece *t, struct cell *cell, size_t width, size_t least,
		    bool right, struct buf *line)
{
	_cleanup_buf_ struct buf cut = {0};
	const char *s = buf_str(&cell->text), *name = s + strspn(s, " ");
	bool styled = t->print->colour && cell->style != TEXT_PLAIN && *s;
	size_t indent = (size_t)(name - s), taken = format_width(s), blanks;
	int r = 0;

	if (width > indent && taken > width) {
		buf_append(&cut, s, indent);
		r = format_path(&cut, name, strlen(name), width - indent);
		s = buf_str(&cut);
		taken = format_width(s);
	}
	if (r < 0)
		return r;
	blanks = least - MIN(taken, least);
	put_blanks(line, right ? blanks : 0);
	put_chars(line, styled ? text_style(cell->style) : "");
	put_chars(line, s);
	put_chars(line, styled ? text_style(TEXT_PLAIN) : "");
	return put_blanks(line, right ? 0 : blanks);
}

static int put_cell(const struct piece *t, size_t c, struct cell *cell, struct buf *line)
{
	size_t width = t->layout[c].width;

	return put_text(t, cell, t->print->width && can_shrink(t, c) ? width : 0, width,
			stands_right(t, c), line);
}

static int put_line(const struct piece *t, struct cell *cells, struct buf *line)
{
	bool whole = cells != t->titles && spans(t, cells);
	int r = 0;

	buf_clear(line);
	if (whole)
		r = put_text(t, &cells[0], t->print->width, 0, false, line);
	for (size_t c = 0; c < t->rows->count && r >= 0 && !whole; c++) {
		if (t->layout[c].left_out)
			continue;
		if (line->len)
			r = put_blanks(line, COLUMN_GAP);
		if (r >= 0)
			r = put_cell(t, c, &cells[c], line);
	}
	while (line->len && line->data[line->len - 1] == ' ')
		line->len--;
	if (r < 0)
		return r;
	r = buf_append(line, "\n", 1);
	if (r < 0)
		return r;
	fwrite(line->data, 1, line->len, t->print->out);
	return 0;
}

static int print_piece(struct piece *t)
{
	_cleanup_buf_ struct buf line = {0};
	size_t columns = t->rows->count;
	int r = 0;

	for (size_t c = 0; c < columns && r >= 0; c++) {
		if (!t->printed) {
			t->titles[c].style = TEXT_BOLD;
			buf_clear(&t->titles[c].text);
			r = buf_printf(&t->titles[c].text, "%s", t->rows->columns[c].name);
		}
		if (t->rows->columns[c].weight)
			mark_weights(t, c);
		if (r >= 0 && answer_is_bars(&t->rows->columns[c])) {
			if (!t->axes[c].known)
				r = make_axis(t, c);
			if (r >= 0)
				r = draw_cells(t, c);
		}
	}
	if (r >= 0) {
		fit(t);
		r = t->printed ? 0 : put_line(t, t->titles, &line);
	}
	for (size_t i = 0; i < t->count && r >= 0; i += columns) {
		r = put_line(t, t->cells + i, &line);
		t->printed++;
	}
	piece_clear(t);
	fflush(t->print->out);
	return r;
}

/* ---- the table ---- */

static int too_many(const struct answer_print *p, struct answer *rows, struct error *err)
{
	uint64_t more = 0;
	int r;

	while ((r = answer_next(rows, err)) == 1 && (!more || !rows->endless))
		more++;
	if (r < 0 || !more)
		return r;
	if (rows->endless)
		fprintf(p->out, "more rows");
	else
		fprintf(p->out, "%s", format_counted(more, "more row").s);
	fprintf(p->out, "%s%s\n", p->more ? ": " : "", p->more ? p->more : "");
	return 0;
}

int answer_text(const struct answer_print *p, struct answer *rows, struct error *err)
{
	_cleanup_(piece_free) struct piece t = {.print = p, .rows = rows};
	size_t limit = p->rows_max ? p->rows_max : SIZE_MAX;
	int r = piece_init(&t), next = 1;

	while (r >= 0 && next > 0 && t.printed < limit && !ferror(p->out)) {
		size_t held = rows->count ? t.count / rows->count : 0;

		next = answer_next(rows, err);
		if (next == 1)
			r = add_row(&t);
		if (next < 0)
			break;
		held += next == 1;
		if (r >= 0 && (held >= PIECE || t.printed + held >= limit || (next != 1 && held)))
			r = print_piece(&t);
	}
	if (next < 0)
		return next;
	if (r >= 0 && !t.printed)
		r = print_piece(&t);
	if (r < 0)
		return error_errno(err, r, "cannot print the answer");
	return next > 0 ? too_many(p, rows, err) : 0;
}
