/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h: the screen of `weir diff`, and functions shared by its files. */
#pragma once

#include "analysis/diff/compare_runs.h"
#include "cli/analysis/analysis_command.h"
#include "cli/terminal/format.h"

/* "fdatasync  /srv/x.log", "new.conf", "ledger (process)", "openat ENOENT". 0 or -ENOMEM. */
int diff_put_what(struct buf *out, const struct diff_row *row, size_t width);
/* The text of diff_put_unit(). */
struct text diff_unit_text(const struct diff *d);
/* The change that explains most of the row's time; NULL if nothing changed. */
const struct diff_test *diff_best(const struct diff_row *row, enum diff_metric *ret);

/*
 * ln(b / a) as "+21 %", "x3.1", "/4"; 1 - q as "99.2 %"; counts, with a fraction below 100; a value in the unit of
 * its metric; "+12 ms".
 */
struct text diff_change_text(double effect);
struct text diff_confidence_text(double q);
struct text diff_number_text(double v);
struct text diff_value_text(enum diff_metric m, double v);
struct text diff_time_text(double ns);

/* The factor that scales figures per unit of work: the units of work in a run of A. */
double diff_scale(const struct diff *d);
/* A sum over all runs of a side, scaled to one run with as much work as a run of A. */
double diff_of_run(const struct diff *d, unsigned int side, double sum);
/* "pread64 got 30 % slower (p99 1.1 ms to 2.6 ms); three files account for it. ..." 0 or -ENOMEM. */
int diff_put_sentence(struct buf *out, const struct diff *d);
