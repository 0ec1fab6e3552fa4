/* SPDX-License-Identifier: Apache-2.0 */
/* query_print.h: an answer to a pipeline as its shape asks for it. */
#pragma once

#include "cli/terminal/answer_print.h"

/*
 * A table, or where the answer's shape asks for it a drawing: one row with one histogram is drawn
 * large; histograms by time alone are a heat map. 0 or negative.
 */
int query_print(const struct answer_print *p, struct answer *rows, struct error *err);

/* query_draw.c. The bars of one histogram, with the title, percentiles and counts. */
int query_draw_bars(const struct answer_print *p, const struct plan_field *f, struct bytes packed);
/* query_heat.c: true where the answer is histograms by time alone. */
bool query_is_heat(const struct answer *rows);
int query_draw_heat(const struct answer_print *p, struct answer *rows, struct error *err);

/* query_trend.c: the same for counts by time and one key. */
bool query_is_trend(const struct answer *rows);
int query_draw_trend(const struct answer_print *p, struct answer *rows, struct error *err);
