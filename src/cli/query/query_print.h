/* SPDX-License-Identifier: Apache-2.0 */
/* query_print.h: an answer on a stream: as an aligned table, drawn, as CSV, as JSON. */
#pragma once

#include <stdio.h>

#include "cli/terminal/loss_text.h"
#include "cli/query/query_cell.h"
#include "engine/answer.h"

struct query_print {
	FILE *out;
	struct cell_style style;
	size_t width;	 /* columns; 0: as many as it takes (a pipe) */
	size_t rows_max; /* rows of a list; 0: all */
	bool colour;	 /* 256 colours may be used */
	bool trends;	 /* counts by time and one key may be drawn */
	bool live;	 /* refreshed in place: no line about further rows */
};

/*
 * A table, or where the answer's shape asks for it a drawing: one row with one histogram is drawn
 * large; histograms by time alone are a heat map. 0 or negative.
 */
int query_print(const struct query_print *p, struct answer *rows, struct error *err);
/* RFC 4180 with a line of names and plain line ends, as `weir sql --csv`. */
int query_print_csv(const struct query_print *p, struct answer *rows, bool titles,
		    struct error *err);
/* One document (on one line where `compact`), answer_json.h's. */
int query_print_json(const struct query_print *p, struct answer *rows, const struct store *s,
		     bool compact, struct error *err);

/* query_table.c: rows as they come; on a pipe each piece of them is printed when it is full, or
 * when there are no more for now. */
int query_print_table(const struct query_print *p, struct answer *rows, struct error *err);

/* query_draw.c. The bars of one histogram, with the title, percentiles and counts. */
int query_draw_bars(const struct query_print *p, const struct plan_field *f, struct bytes packed);
/* query_heat.c: true where the answer is histograms by time alone. */
bool query_is_heat(const struct answer *rows);
int query_draw_heat(const struct query_print *p, struct answer *rows, struct error *err);

/* query_trend.c: the same for counts by time and one key. */
bool query_is_trend(const struct answer *rows);
int query_draw_trend(const struct query_print *p, struct answer *rows, struct error *err);
