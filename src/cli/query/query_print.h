/* SPDX-License-Identifier: Apache-2.0 */
/* query_print.h: prints an answer to a pipeline in the form that suits its shape. */
#pragma once

#include "cli/terminal/answer_print.h"

/*
 * Prints a table, or a drawing for answers of a certain shape: one row with one histogram is drawn large; histograms
 * only by time become a heat map. 0 or negative.
 */
int query_print(const struct answer_print *p, struct answer *rows, struct error *err);

/* query_draw.c. Draws the bars of one histogram, with title, percentiles and counts. */
int query_draw_bars(const struct answer_print *p, const struct plan_field *f, struct bytes packed);
/* query_heat.c: true if the answer is histograms only by time. */
bool query_is_heat(const struct answer *rows);
int query_draw_heat(const struct answer_print *p, struct answer *rows, struct error *err);

/* query_trend.c: the same for counts by time and one key. */
bool query_is_trend(const struct answer *rows);
int query_draw_trend(const struct answer_print *p, struct answer *rows, struct error *err);
