/* SPDX-License-Identifier: Apache-2.0 */
/*
 * diff_screen.c: `weir diff`: one screen of at most 45 lines, as wide as the terminal if names need it. Its first
 * sentence is the answer.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/bars.h"
#include "cli/diff/diff.h"
#include "cli/terminal/text.h"

#define CHANGES_MAX   10 /* without --head */
#define CHANGE_LINES  22 /* lines of the table of changes, including details */
#define UNSURE_MAX    3	 /* differences that may be run-to-run noise, largest first */
#define UNSURE_SHARE  0.05
#define STRANGERS     10 /* counts that occur on one side only */
#define BAR_MAX	      36
#define BARS_REST     26 /* columns next to the two bars of a line */
#define OCTAVES	      64
#define PICTURE_LINES 9
#define WHAT_REST     25 /* columns next to the name of a change: number, share */
#define METRIC_MIN    14
#define SPREAD	      20 /* additional columns for the figures of a change, if there is room */

static size_t screen_width(void)
{
	return MAX(text_width(), (size_t)TEXT_WIDTH_MIN);
}

/* Prints a sentence, wrapped. */
static void put_wrapped(enum text_style style, const char *text)
{
	_cleanup_buf_ struct buf b = {0};

	if (format_wrapped(&b, text, 0, screen_width()) >= 0)
		printf("%s%.*s%s\n", text_style(style), (int)b.len - 1, buf_str(&b),
		       text_style(TEXT_PLAIN));
}

/* ---- head ---- */

/* Mean number of calls per run of the side. */
static uint64_t diff_calls(const struct diff *d, unsigned int side)
{
	return (uint64_t)((d->io[side].calls + d->waiting[side].calls + d->other[side].calls) *
				  d->work[side] / (double)d->runs[side] +
			  0.5);
}

static int put_side(const struct analysis_view *v, unsigned int side)
{
	const struct diff *d = v->result->own;
	_cleanup_buf_ struct buf b = {0};
	size_t first = side ? d->runs[0] : 0;
	const char *path = v->runs[first].name;
	double runs = (double)d->runs[side];
	int r;

	format_path(&b, path, strlen(path), screen_width() / 2);
	if (d->runs[side] > 1)
		buf_printf(&b, " and %zu more", d->runs[side] - 1);
	r = buf_status(&b);
	if (r < 0)
		return r;
	printf("%c  %s   %s%s%s   %s calls\n", side ? 'B' : 'A', buf_str(&b),
	       d->runs[side] > 1 ? diff_number_text(runs).s : "",
	       d->runs[side] > 1 ? " runs, " : "",
	       format_dur((int64_t)(d->seconds[side] / runs * 1e9)).s,
	       format_count(diff_calls(d, side)).s);
	return 0;
}

static int diff_screen_put_unit(const struct diff *d)
{
	_cleanup_buf_ struct buf b = {0};
	double ratio = d->work[0] > 0 && d->runs[1]
			       ? d->work[1] / (double)d->runs[1] / (d->work[0] / (double)d->runs[0])
			       : 1;
	bool scaled = strcmp(diff_number_text(ratio).s, "1") != 0;
	int r = 0;

	if (scaled && d->unit == DIFF_UNIT_SECOND)
		r = buf_printf(
			&b,
			"B lasted %s times as long as A: its calls and times are given for as "
			"long as A lasted",
			diff_number_text(ratio).s);
	else if (scaled && d->unit == DIFF_UNIT_OP)
		r = buf_printf(&b,
			       "B did %s times the work of A, counted in %ss: its calls and times "
			       "are given for as much as A did",
			       diff_number_text(ratio).s, diff_unit_text(d).s);
	if (r < 0)
		return r;
	if (b.len)
		put_wrapped(TEXT_PLAIN, buf_str(&b));
	if (!d->common && d->agree_of >= STRANGERS)
		put_wrapped(TEXT_YELLOW,
			    "The sides have nothing in common: are they the same program?");
	if (!d->shift_known || fabs(d->shift.effect) < log(1.01))
		return 0;
	buf_clear(&b);
	r = buf_printf(&b, "all calls take %s in B%s; this is taken out of the latencies below",
		       diff_change_text(d->shift.effect).s,
		       d->shift.changed ? ", more than repeated runs differ"
					: ", because of the machine as far as runs can show");
	if (r < 0)
		return r;
	put_wrapped(TEXT_PLAIN, buf_str(&b));
	return r;
}

static int diff_screen_put_time(struct buf *b, const struct diff *d, const char *what,
				const struct diff_total total[static 2])
{
	double scale = diff_scale(d), from = total[0].time * scale, to = total[1].time * scale;

	if (from <= 0 && to <= 0)
		return 0;
	return format_next(b, screen_width(), "%s %s to %s (%s)", what, format_dur((int64_t)from).s,
			   format_dur((int64_t)to).s, diff_time_text(to - from).s);
}

static int diff_screen_put_times(const struct diff *d)
{
	_cleanup_buf_ struct buf b = {0};

	buf_printf(&b, "%s", d->runs[0] > 1 || d->runs[1] > 1 ? "time of a run:" : "time:");
	diff_screen_put_time(&b, d, "I/O", d->io);
	diff_screen_put_time(&b, d, "waiting", d->waiting);
	diff_screen_put_time(&b, d, "other", d->other);
	printf("%s\n", buf_str(&b));
	return buf_status(&b);
}

static double percent_of(double share)
{
	return fabs(share) < 0.005 ? 0 : share * 100;
}

static int diff_screen_put_loss(const struct analysis_view *v)
{
	for (size_t i = 0; i < v->count; i++) {
		const struct loss *l = &v->traces[i].loss;
		_cleanup_buf_ struct buf b = {0};
		int r = 0;

		if (l->failed.count) {
			r = loss_put_failed(&b, l);
			printf("%sFAILED %s: recording failed: %s%s\n", text_style(TEXT_RED),
			       v->runs[i].name, buf_str(&b), text_style(TEXT_PLAIN));
			buf_clear(&b);
		}
		if (r < 0)
			return r;
		if (!loss_of_calls(l) && !l->damage.blocks)
			continue;
		loss_put_calls(&b, l);
		r = buf_printf(&b, " of %s%s", v->runs[i].name,
			       l->damage.blocks ? "; blocks are damaged" : "");
		if (r < 0)
			return r;
		printf("%sLOST %s%s\n", text_style(TEXT_RED), buf_str(&b), text_style(TEXT_PLAIN));
	}
	return 0;
}

/* ---- the answer ---- */

/* The test that best explains the time that changed. */
static bool unsure_test(const struct diff_row *row, enum diff_metric *ret)
{
	const struct diff_test *calls = &row->test[DIFF_CALLS], *mean = &row->test[DIFF_MEAN],
			       *typical = &row->test[DIFF_LATENCY];

	*ret = DIFF_CALLS;
	if (mean->tested && (!calls->tested || fabs(mean->effect) > fabs(calls->effect)))
		*ret = DIFF_MEAN;
	if (typical->tested && *ret == DIFF_MEAN && fabs(typical->effect) > fabs(mean->effect) / 2)
		*ret = DIFF_LATENCY;
	return row->test[*ret].tested;
}

/* True if a listed row covers the operation as a whole. */
static bool is_told(const struct diff *d, int64_t op)
{
	for (size_t i = 0; i < d->listed; i++) {
		if (d->rows[i].by == DIFF_OP && d->rows[i].op == op)
			return true;
	}
	return false;
}

/* True for a large difference that is not listed, as it may be run-to-run noise. */
static bool is_unsure(const struct diff *d, const struct diff_row *row, enum diff_metric *ret)
{
	return row->by == DIFF_OP_FILE && !row->changed && fabs(row->share) >= UNSURE_SHARE &&
	       !is_told(d, row->op) && unsure_test(row, ret);
}

/* Listed changes may be certain but small: names a larger one that may be chance. */
static int put_larger(const struct diff *d, struct buf *out)
{
	double told = d->listed ? fabs(d->rows[0].share) : 0;

	for (size_t i = d->listed; i < d->count && d->listed; i++) {
		const struct diff_row *row = &d->rows[i];
		enum diff_metric m;

		if (!is_unsure(d, row, &m) || fabs(row->share) <= told)
			continue;
		diff_put_what(out, row, 40);
		return buf_printf(out, " makes %.0f %%, but that may be chance.",
				  fabs(row->share) * 100);
	}
	return 0;
}

static int print_answer(const struct analysis_view *v)
{
	const struct diff *d = v->result->own;
	_cleanup_buf_ struct buf b = {0}, larger = {0};
	int r = diff_put_sentence(&b, d);

	if (r >= 0)
		r = put_larger(d, &larger);
	if (r < 0)
		return r;
	printf("\n");
	put_wrapped(TEXT_BOLD, buf_str(&b));
	if (larger.len)
		put_wrapped(TEXT_PLAIN, buf_str(&larger));
	if (MIN(d->runs[0], d->runs[1]) < DIFF_REPLICATES)
		put_wrapped(TEXT_YELLOW,
			    MIN(d->runs[0], d->runs[1]) > 1
				    ? "Two runs of a side prove little: runs of the same program "
				      "differ as well. Compare three or more: -a A1 -a A2 -a A3 "
				      "-b B1 -b B2 -b B3."
				    : "One run of a side proves nothing: runs of the same program "
				      "differ as well. Compare three or more: -a A1 -a A2 -a A3 "
				      "-b B1 -b B2 -b B3.");
	return 0;
}

/* ---- changes ---- */

/* Columns of the table of changes: 80, or as many as the longest name needs. */
struct layout {
	size_t width, metric;
};

/* Prints a line of the table; figures of a side without calls are empty. */
static void diff_screen_put_figures(const struct layout *l, const char *what, const char *a,
				    const char *b, const char *change, const char *range,
				    const char *sure)
{
	printf("    %-*s %9s %10s", (int)l->metric, what, a, b);
	if (*change)
		printf(" %8s", change);
	if (*sure)
		printf("  %-18s %9s", range, sure);
	printf("\n");
}

static void diff_screen_put_test(const struct diff *d, const struct layout *l,
				 const struct diff_test *t, enum diff_metric m)
{
	static const char *const words[DIFF_METRICS] = {"calls", "typical call", "time per call",
							"bytes per call", "errors"};
	double scale = m == DIFF_CALLS || m == DIFF_ERRORS ? diff_scale(d) : 1;
	char range[2 * FORMAT_TEXT_MAX + 8];

	snprintf(range, sizeof(range), "%s .. %s", diff_change_text(t->low).s,
		 diff_change_text(t->high).s);
	diff_screen_put_figures(l, words[m], diff_value_text(m, t->a * scale).s,
				diff_value_text(m, t->b * scale).s, diff_change_text(t->effect).s,
				range, diff_confidence_text(t->q).s);
}

/* Prints figures that are not tested but put the tests in context: total time, the slowest calls. */
static void put_untested(const struct layout *l, const char *what, double a, double b)
{
	diff_screen_put_figures(l, what, format_dur((int64_t)a).s, format_dur((int64_t)b).s,
				a > 0 && b > 0 ? diff_change_text(log(b / a)).s : "", "", "");
}

static int diff_screen_put_names(struct buf *out, const struct diff *d, const struct diff_row *row)
{
	unsigned long long a = row->side[0].names, b = row->side[1].names;
	unsigned int s = row->presence == DIFF_ONLY_B;

	if (row->presence != DIFF_BOTH)
		return buf_printf(out, "  (%c only, in %llu of %zu run%s)", s ? 'B' : 'A',
				  (unsigned long long)row->side[s].runs, d->runs[s],
				  d->runs[s] == 1 ? "" : "s");
	if (!row->pattern || (a <= 1 && b <= 1))
		return 0;
	return buf_printf(out, "  (%llu names, %llu in B)", a, b);
}

/* Computes the width from the names of the changes to print. */
static int find_layout(const struct diff *d, size_t from, size_t count, struct layout *ret)
{
	size_t width = TEXT_WIDTH_MIN, most = screen_width();

	for (size_t i = from; i < MIN(d->count, from + count); i++) {
		_cleanup_buf_ struct buf what = {0};
		int r = diff_put_what(&what, &d->rows[i], SIZE_MAX / 2);

		if (r >= 0)
			r = diff_screen_put_names(&what, d, &d->rows[i]);
		if (r < 0)
			return r;
		width = MAX(width, format_width(buf_str(&what)) + WHAT_REST);
	}
	ret->width = MIN(width, most);
	ret->metric = METRIC_MIN + MIN(ret->width - TEXT_WIDTH_MIN, (size_t)SPREAD);
	return 0;
}

/* Prints "write  /srv/x.log        22 % of the change in time" after the number. */
static int put_what_changed(const struct diff *d, const struct layout *l,
			    const struct diff_row *row)
{
	_cleanup_buf_ struct buf what = {0}, names = {0}, line = {0};
	size_t room = l->width - WHAT_REST;
	int r;

	diff_screen_put_names(&names, d, row);
	diff_put_what(&what, row, room - MIN(names.len, room));
	r = buf_add(&what, &names);
	if (r >= 0)
		r = format_pad(&line, buf_str(&what), room, false);
	if (r < 0)
		return r;
	printf("%s%s%s %4.0f %% of the change\n", text_style(TEXT_BOLD), buf_str(&line),
	       text_style(TEXT_PLAIN), percent_of(fabs(row->share)));
	return 0;
}

/* Prints a row that only one side has. Returns the lines printed. */
static int print_alone(const struct diff *d, const struct layout *l, const struct diff_row *row)
{
	unsigned int s = row->presence == DIFF_ONLY_B;
	struct text calls = diff_number_text(diff_of_run(d, s, (double)row->side[s].calls)),
		    time = format_dur((int64_t)diff_of_run(d, s, (double)row->side[s].time_ns)),
		    bytes = format_size(
			    (uint64_t)(diff_of_run(d, s, (double)row->side[s].bytes) + 0.5));

	diff_screen_put_figures(l, "calls", s ? "-" : calls.s, s ? calls.s : "-", "", "", "");
	diff_screen_put_figures(l, "time in all", s ? "-" : time.s, s ? time.s : "-", "", "", "");
	if (row->side[s].bytes)
		diff_screen_put_figures(l, "bytes", s ? "-" : bytes.s, s ? bytes.s : "-", "", "",
					"");
	return row->side[s].bytes ? 3 : 2;
}

/* Returns the lines printed, or negative. */
static int print_change(const struct diff *d, const struct layout *l, const struct diff_row *row,
			size_t number)
{
	const struct diff_sum *a = &row->side[0], *b = &row->side[1];
	int r, lines = 2;

	printf("%2zu  ", number);
	r = put_what_changed(d, l, row);
	if (r < 0)
		return r;
	if (row->presence != DIFF_BOTH)
		return 1 + print_alone(d, l, row);
	for (unsigned int m = 0; m < DIFF_METRICS; m++) {
		if (!row->test[m].changed)
			continue;
		diff_screen_put_test(d, l, &row->test[m], m);
		lines++;
		if (m != DIFF_LATENCY)
			continue;
		put_untested(l, "p99", (double)diff_sum_quantile(a, 0.99),
			     (double)diff_sum_quantile(b, 0.99));
		lines++;
	}
	put_untested(l, "time in all", diff_of_run(d, 0, (double)a->time_ns),
		     diff_of_run(d, 1, (double)b->time_ns));
	return lines;
}

static int print_changes(const struct analysis_view *v)
{
	const struct diff *d = v->result->own;
	const struct diff_flags *flags = v->in->options;
	size_t max = flags->head ? (size_t)flags->head : CHANGES_MAX, i = 0;
	struct layout l;
	int lines = 0;

	if (!d->listed)
		return 0;
	if (find_layout(d, 0, MIN(max, d->listed), &l) < 0)
		return -ENOMEM;
	printf("\n%s%-*s %9s %10s %8s  %-18s %9s%s\n", text_style(TEXT_BOLD), (int)l.metric + 4,
	       "CHANGES", "A", "B", "change", "95 % range", "sure", text_style(TEXT_PLAIN));
	while (i < d->listed && i < max && (flags->head || lines < CHANGE_LINES)) {
		int r = print_change(d, &l, &d->rows[i], i + 1);

		if (r < 0)
			return r;
		lines += r;
		i++;
	}
	if (i < d->listed)
		printf("    %zu more: --head %zu\n", d->listed - i, d->listed);
	return 0;
}

/* ---- what may be chance ---- */

static int print_unsure(const struct diff *d)
{
	size_t shown = 0;

	for (size_t i = d->listed; i < d->count && shown < UNSURE_MAX; i++) {
		const struct diff_row *row = &d->rows[i];
		enum diff_metric m;
		struct layout l;
		int r;

		if (!is_unsure(d, row, &m))
			continue;
		if (!shown++)
			printf("\n%sMAY BE CHANCE%s     (repeated runs may differ as much)\n",
			       text_style(TEXT_BOLD), text_style(TEXT_PLAIN));
		r = find_layout(d, 0, d->listed, &l);
		if (r < 0)
			return r;
		printf("    ");
		r = put_what_changed(d, &l, row);
		if (r < 0)
			return r;
		diff_screen_put_test(d, &l, &row->test[m], m);
	}
	return 0;
}

static int print_one_sided(const struct diff *d, enum diff_presence presence)
{
	_cleanup_buf_ struct buf b = {0};
	size_t named = 0, all = 0;
	int r = 0;

	for (size_t i = 0; i < d->count && r >= 0; i++) {
		const struct diff_row *row = &d->rows[i];

		if (row->by != DIFF_FILE || row->presence != presence || row->listed)
			continue;
		if (++all > 3)
			continue;
		buf_printf(&b, "%s", named++ ? "   " : "");
		r = format_path(&b, row->name.data, row->name.len, 26);
	}
	if (r < 0 || !all)
		return r;
	printf("\nONLY IN %c, MAYBE BY CHANCE   %s%s", presence == DIFF_ONLY_B ? 'B' : 'A',
	       buf_str(&b), all > 3 ? "" : "\n");
	if (all > 3)
		printf("   and %zu more\n", all - 3);
	return 0;
}

/* ---- the picture ---- */

static void octaves(const struct hist *h, double share[static OCTAVES])
{
	double all = (double)hist_total(h);

	for (unsigned int i = 0; i < hist_entries(h); i++) {
		struct hist_entry e = hist_entry(h, i);
		unsigned long long low = MAX(hist_lower(e.bucket), 1ull);

		share[63 - __builtin_clzll(low)] += all > 0 ? (double)e.count / all : 0;
	}
}

/* Chooses the rows to show: the range with most of the calls. */
static void picture_range(const double a[static OCTAVES], const double b[static OCTAVES],
			  unsigned int *ret_low, unsigned int *ret_high)
{
	unsigned int low = 0, high = OCTAVES - 1;

	while (low < high && a[low] + b[low] == 0)
		low++;
	while (high > low && a[high] + b[high] == 0)
		high--;
	while (high - low >= PICTURE_LINES)
		*(a[low] + b[low] < a[high] + b[high] ? &low : &high) +=
			a[low] + b[low] < a[high] + b[high] ? 1 : -1u;
	*ret_low = low;
	*ret_high = high;
}

static int print_picture(const struct diff *d)
{
	const struct diff_row *row = d->listed ? &d->rows[0] : NULL;
	double share[2][OCTAVES] = {{0}}, top = 0;
	_cleanup_buf_ struct buf what = {0};
	size_t bar = (screen_width() - BARS_REST) / 2;
	unsigned int low, high;
	int r;

	bar = MIN(bar, (size_t)BAR_MAX);
	if (!row || row->by == DIFF_PROCESS)
		return 0;
	r = diff_put_what(&what, row, screen_width() - 10);
	if (r < 0)
		return r;
	for (unsigned int s = 0; s < 2; s++) {
		octaves(&row->side[s].hist, share[s]);
		for (unsigned int i = 0; i < OCTAVES; i++)
			top = fmax(top, share[s][i]);
	}
	picture_range(share[0], share[1], &low, &high);
	printf("\n%sLATENCY%s   %s\n%8s   %-*s        %s\n", text_style(TEXT_BOLD),
	       text_style(TEXT_PLAIN), buf_str(&what), "from", (int)bar, "A", "B");
	for (unsigned int i = low; i <= high; i++) {
		_cleanup_buf_ struct buf line = {0};

		for (unsigned int j = 0; j < 2 && r >= 0; j++) {
			bars_lying(&line, top > 0 ? share[j][i] / top : 0, bar);
			r = buf_printf(&line, " %3.0f %%%s", share[j][i] * 100, j ? "" : "   ");
		}
		if (r < 0)
			return r;
		printf("%8s   %s\n", format_dur((int64_t)1 << MIN(i, 62u)).s, buf_str(&line));
	}
	return 0;
}

int diff_screen(const struct analysis_view *v)
{
	const struct diff *d = v->result->own;
	int r = put_side(v, 0);

	if (r >= 0)
		r = put_side(v, 1);
	if (r >= 0)
		r = diff_screen_put_loss(v);
	if (r < 0)
		return r;
	r = diff_screen_put_unit(d);
	if (r < 0)
		return r;
	r = diff_screen_put_times(d);
	if (r < 0)
		return r;
	r = print_answer(v);
	if (r < 0)
		return r;
	r = print_changes(v);
	if (r < 0)
		return r;
	r = print_unsure(d);
	if (r < 0)
		return r;
	r = print_one_sided(d, DIFF_ONLY_A);
	if (r < 0)
		return r;
	r = print_one_sided(d, DIFF_ONLY_B);
	return r < 0 ? r : print_picture(d);
}
