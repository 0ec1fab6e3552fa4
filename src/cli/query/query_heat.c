// SPDX-License-Identifier: Apache-2.0
/* query_heat.c: a heat map of histograms over time: time to the right, values upwards, counts as shades. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/saturate.h"
#include "engine/window_bars.h"
#include "cli/terminal/bars.h"
#include "cli/terminal/heat_grid.h"
#include "cli/terminal/text.h"
#include "cli/query/query_print.h"

#define LINES_MAX   24 /* bars on the axis of values */
#define COLUMNS_MIN 10
#define INDEXES_MAX (1 + 64 * BARS_PER_TWO_4)

struct heat {
	const struct answer_print *print;
	const struct plan_field *time, *hist;
	size_t time_at, hist_at; /* columns of the answer with time and histogram */
	int64_t step;		 /* of the windows, ns */
	int64_t from, to;	 /* starts of the first and the last window */
	size_t windows;		 /* windows per column */
	size_t columns;
	unsigned int per, first, last; /* the axis of values */
	uint64_t *counts;	       /* [last - first + 1][columns] */
	uint64_t max, untimed;	       /* values of rows without a time */
	/* rows are kept until the axes are known */
	struct heat_row {
		int64_t at;
		struct hist hist;
	} *rows;
	size_t row_count, row_cap;
};

bool query_is_heat(const struct answer *rows)
{
	unsigned int windows = 0, hists = 0;

	for (size_t i = 0; i < rows->count; i++) {
		const struct plan_field *f = rows->columns[i].field;

		windows += f->kind == FIELD_WINDOW && f->param[0] > 0;
		hists += f->type.type == QUERY_HIST;
	}
	return rows->count == 2 && windows == 1 && hists == 1;
}

static void heat_free(struct heat *h)
{
	for (size_t i = 0; i < h->row_count; i++)
		hist_free(&h->rows[i].hist);
	free(h->rows);
	free(h->counts);
}

static int add_untimed(struct heat *h, struct bytes packed)
{
	struct hist values = {0};
	int r = hist_unpack(&values, packed.data, packed.len);

	h->untimed += hist_total(&values);
	hist_free(&values);
	return r;
}

static int query_heat_read_rows(struct heat *h, struct answer *rows, struct error *err)
{
	int r;

	while ((r = answer_next(rows, err)) == 1) {
		struct value at = answer_get(rows, h->time_at);
		struct value packed = answer_get(rows, h->hist_at);
		struct heat_row *row;

		if (packed.null)
			continue;
		if (at.null) {
			r = add_untimed(h, packed.t);
			if (r < 0)
				return r;
			continue;
		}
		if (array_add(h->rows, h->row_count, h->row_cap, (struct heat_row){.at = at.i}) < 0)
			return -ENOMEM;
		row = &h->rows[h->row_count - 1];
		r = hist_unpack(&row->hist, packed.t.data, packed.t.len);
		if (r < 0)
			return r;
		h->from = h->row_count == 1 ? at.i : MIN(h->from, at.i);
		h->to = h->row_count == 1 ? at.i : MAX(h->to, at.i);
	}
	return r < 0 ? r : 0;
}

static bool value_range(struct heat *h)
{
	bool any = false;

	for (size_t i = 0; i < h->row_count; i++) {
		unsigned int first, last;

		if (!bars_range(&h->rows[i].hist, h->per, &first, &last))
			continue;
		h->first = any ? MIN(h->first, first) : first;
		h->last = any ? MAX(h->last, last) : last;
		any = true;
	}
	return any;
}

static size_t query_heat_label_width(const struct heat *h)
{
	size_t width = 0;

	for (unsigned int i = h->first; i <= h->last; i++)
		width = MAX(width, strlen(cell_number(query_kind_unit(h->hist->type),
						      (int64_t)bars_lower(i, h->per))
						  .s));
	return width;
}

static int query_heat_fill(struct heat *h)
{
	size_t lines = h->last - h->first + 1;
	uint64_t column[INDEXES_MAX];

	h->counts = calloc(lines * h->columns, sizeof(*h->counts));
	if (!h->counts)
		return -ENOMEM;
	for (size_t i = 0; i < h->row_count; i++) {
		size_t at = (size_t)(((uint64_t)h->rows[i].at - (uint64_t)h->from) /
				     (uint64_t)h->step) /
			    h->windows;

		memset(column, 0, sizeof(column));
		bars_add(&h->rows[i].hist, h->per, h->first, h->last, column);
		for (size_t line = 0; line < lines; line++) {
			uint64_t *cell = &h->counts[line * h->columns + at];

			*cell += column[line];
			h->max = MAX(h->max, *cell);
		}
	}
	return 0;
}

/* ---- drawing ---- */

static struct heat_grid query_heat_grid(const struct heat *h)
{
	return (struct heat_grid){.columns = h->columns,
				  .label = query_heat_label_width(h),
				  .max = h->max,
				  .colour = h->print->colour,
				  .out = h->print->out};
}

static int query_heat_put_line(const struct heat *h, const struct heat_grid *g, unsigned int index)
{
	return heat_grid_line(
		g,
		cell_number(query_kind_unit(h->hist->type), (int64_t)bars_lower(index, h->per)).s,
		&h->counts[(index - h->first) * h->columns]);
}

static int put_time_axis(const struct heat *h, const struct heat_grid *g)
{
	const struct answer_column as_time = {.kind = {.type = QUERY_TIME}};
	struct value from = {.i = h->from}, to = {.i = add_sat_signed(h->to, h->step)};
	_cleanup_buf_ struct buf left = {0}, right = {0};
	int r = cell_put(&left, &as_time, &from, false, &h->print->style);

	if (r >= 0)
		r = cell_put(&right, &as_time, &to, false, &h->print->style);
	if (r < 0)
		return r;
	heat_grid_axis(g, buf_str(&left), buf_str(&right));
	return 0;
}

static int query_heat_put_legend(const struct heat *h, const struct heat_grid *g)
{
	_cleanup_buf_ struct buf line = {0};
	uint64_t windows = ((uint64_t)h->to - (uint64_t)h->from) / (uint64_t)h->step + 1;
	int r;

	buf_printf(&line, "%s, %s of %s", h->hist->name, format_counted(windows, "window").s,
		   format_dur(h->step).s);
	if (h->windows > 1)
		buf_printf(&line, ", %zu a column", h->windows);
	buf_printf(&line, "; values a cell: ");
	r = heat_grid_scale(g, &line);
	if (h->untimed)
		r = buf_printf(&line, "; %s without a time left out", format_count(h->untimed).s);
	if (r < 0)
		return r;
	fprintf(h->print->out, "%s\n", buf_str(&line));
	return 0;
}

static int query_heat_draw(struct heat *h)
{
	size_t width = h->print->width ? h->print->width : TEXT_WIDTH_PIPE, label, all;
	struct heat_grid grid;
	int r;

	for (h->per = BARS_PER_TWO_4; value_range(h); h->per /= 2) {
		if (h->last - h->first + 1 <= LINES_MAX || h->per == 1)
			break;
	}
	label = query_heat_label_width(h);
	all = (size_t)(((uint64_t)h->to - (uint64_t)h->from) / (uint64_t)h->step) + 1;
	width = width > label + 2 + COLUMNS_MIN ? width - label - 2 : COLUMNS_MIN;
	h->windows = (all + width - 1) / width;
	h->columns = (all + h->windows - 1) / h->windows;
	r = query_heat_fill(h);
	grid = query_heat_grid(h);
	for (unsigned int i = h->last + 1; i-- > h->first && r >= 0;) {
		if (bars_exists(i, h->per))
			r = query_heat_put_line(h, &grid, i);
	}
	if (r < 0)
		return r;
	r = put_time_axis(h, &grid);
	return r < 0 ? r : query_heat_put_legend(h, &grid);
}

int query_draw_heat(const struct answer_print *p, struct answer *rows, struct error *err)
{
	_cleanup_(heat_free) struct heat h = {.print = p};
	int r;

	h.time_at = rows->columns[0].field->kind == FIELD_WINDOW ? 0 : 1;
	h.hist_at = 1 - h.time_at;
	h.time = rows->columns[h.time_at].field;
	h.hist = rows->columns[h.hist_at].field;
	h.step = h.time->param[0];
	r = query_heat_read_rows(&h, rows, err);
	if (r >= 0 &&
	    !value_range(&(struct heat){.rows = h.rows, .row_count = h.row_count, .per = 1}))
		fprintf(p->out, "%s: nothing\n", h.hist->name);
	else if (r >= 0)
		r = query_heat_draw(&h);
	return r < 0 ? error_errno(err, r, "cannot draw the answer") : 0;
}
