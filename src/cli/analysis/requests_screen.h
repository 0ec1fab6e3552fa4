/* SPDX-License-Identifier: Apache-2.0 */
/* requests_screen.h: the screens of `weir requests`, and the bars of time that they share. */
#pragma once

#include "analysis/spans/requests.h"
#include "cli/analysis/analysis_command.h"

int requests_tree_screen(const struct analysis_view *v, const struct requests *q);
int requests_compare_screen(const struct analysis_view *v, const struct requests *q);
int requests_heat_screen(const struct analysis_view *v, const struct requests *q);
int requests_clusters_screen(const struct analysis_view *v, const struct requests *q);

/* Width of the screen, at least 80 columns. */
size_t requests_width(void);
size_t requests_between(size_t v, size_t low, size_t high);
/*
 * Appends "█ data 65 % ─ program 22 %": the largest parts that fit into `width` columns, with their time if `of` > 0.
 */
int requests_parts(struct buf *to, const double time[static SPAN_TIMES], int64_t of, size_t width);
/* Appends both in the rest of a line. */
int requests_where(struct buf *to, const int64_t time[static SPAN_TIMES], size_t width);
/* Appends a text that a program chose, made safe and cut or padded to `width` columns. */
int requests_put_name(struct buf *to, struct bytes name, size_t width);
/* Appends "+1.234 s" or the time of day, as the options request. */
int requests_put_at(struct buf *to, const struct analysis_view *v, int64_t at);
/* Prints two further commands for the same traces, given their options. 0 or negative. */
int requests_next(const struct analysis_view *v, const char *one, const char *other);
/* Prints a line for a span: duration, start, number, name, and where its time went. */
int requests_put_span(const struct analysis_view *v, const struct requests *q, uint32_t span);
/* Prints a line without trailing blanks. */
void requests_line(struct buf *line);
