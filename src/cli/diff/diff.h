/* SPDX-License-Identifier: Apache-2.0 */
/* diff.h: what the files of `weir diff` share. Not for other commands. */
#pragma once

#include "analysis/diff/compare_runs.h"
#include "cli/options/choose.h"
#include "cli/terminal/format.h"
#include "cli/terminal/loss_text.h"
#include "cli/options/shared.h"

struct diff_opts {
	struct read_flags read;
	struct option_list sides[2]; /* -a, -b */
	const char *from[2], *to[2]; /* --a-from, ... */
	struct option_list where[2]; /* --a-where, --b-where: beside --where */
	const char *per;
	bool csv;
	int64_t head;
};

/* One run as it was opened. */
struct diff_trace {
	struct store *store;
	struct select select;
	struct choice choice;
	struct scan_filter filter;
	struct loss loss;
	char *path;
};

struct diff_view {
	const struct diff_opts *opts;
	struct diff_trace *traces; /* A's first */
	size_t count, cap;
	struct diff_input *inputs;
	const struct diff *diff;
	struct loss loss;  /* of all runs */
	uint64_t calls[2]; /* of a run, in the mean */
};

/* "fdatasync  /srv/x.log", "new.conf", "ledger (process)", "openat ENOENT". 0 or -ENOMEM. */
int diff_put_what(struct buf *out, const struct diff_row *row, size_t width);
/* "run", "second", "call of pread64" */
struct text diff_unit_text(const struct diff *d);
/* The row's change that explains most of its time; NULL where none changed. */
const struct diff_test *diff_best(const struct diff_row *row, enum diff_metric *ret);

/* ln(b / a) as "+21 %", "x3.1", "/4"; 1 - q as "99.2 %"; counts below 100 with a fraction; a value of
 * the metric in its unit; "+12 ms". */
struct text diff_change_text(double effect);
struct text diff_confidence_text(double q);
struct text diff_number_text(double v);
struct text diff_value_text(enum diff_metric m, double v);
struct text diff_time_text(double ns);

/* Each prints to standard output. 0 or negative. */
int diff_screen(const struct diff_view *v);
int diff_json(const struct diff_view *v, struct error *err);
/* The rows of diff_json(), one a line. */
int diff_csv(const struct diff_view *v, struct error *err);
