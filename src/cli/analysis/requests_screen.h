/* SPDX-License-Identifier: Apache-2.0 */
/* requests_screen.h: the screens of `weir requests`, and what they share: bars of where time went. */
#pragma once

#include "analysis/spans/requests.h"
#include "cli/analysis/analysis_command.h"

/* 0 or negative. */
int requests_screen(const struct analysis_view *v);

/* ---- between its files ---- */

int requests_tree_screen(const struct analysis_view *v, const struct requests *q);
int requests_compare_screen(const struct requests *q);
int requests_heat_screen(const struct analysis_view *v, const struct requests *q);
int requests_clusters_screen(const struct analysis_view *v, const struct requests *q);

/* Columns of the screen, 80 at the least. */
size_t requests_width(void);
size_t requests_between(size_t v, size_t low, size_t high);
/* Appends "█ data 65 %  ─ program 22 %": the largest parts that `width` columns have room for, with their time if `of` > 0. */
int requests_parts(struct buf *to, const double time[static SPAN_TIMES], int64_t of, size_t width);
/* Both in what a line has left. */
int requests_where(struct buf *to, const int64_t time[static SPAN_TIMES], size_t width);
/* Appends a text that a program chose, made safe and cut or padded to `width` columns. */
int requests_put_name(struct buf *to, struct bytes name, size_t width);
/* Appends "+1.234 s" or the time of day, as options have it. */
int requests_put_at(struct buf *to, const struct analysis_view *v, int64_t at);
/* One line for a span: duration, when, number, what it was, where its time went. */
int requests_put_span(const struct analysis_view *v, const struct requests *q, uint32_t span);
/* Prints a line without blanks at its end. */
void requests_line(struct buf *line);
