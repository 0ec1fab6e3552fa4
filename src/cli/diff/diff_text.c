/* SPDX-License-Identifier: Apache-2.0 */
/* diff_text.c: texts for the rows, units and effects of a comparison. */
#include <errno.h>
#include <math.h>

#include "cli/diff/diff.h"
#include "cli/terminal/format.h"
#include "schema/ops.h"

#define FACTOR_MIN 3 /* "x3.1" from this factor on, percent below */

static const char *op_word(int64_t op, char buf[static 32])
{
	return op < 0 || op > UINT32_MAX ? "?" : op_name((uint32_t)op, buf);
}

int diff_put_what(struct buf *out, const struct diff_row *row, size_t width)
{
	char op[32], err[32];
	const char *word = row->err >= 0 ? vocab_word("err", row->err) : NULL;

	if (row->op >= 0)
		buf_printf(out, "%s", op_word(row->op, op));
	if (row->err >= 0 && !word) {
		snprintf(err, sizeof(err), "errno %lld", (long long)row->err);
		word = err;
	}
	if (word)
		buf_printf(out, " %s", word);
	if (row->by == DIFF_PROCESS)
		buf_printf(out, "threads ");
	if (!row->name.data)
		return buf_status(out);
	if (row->op >= 0)
		buf_printf(out, "  ");
	width = width > format_width(buf_str(out)) + 12 ? width - format_width(buf_str(out)) : 12;
	return format_path(out, row->name.data, row->name.len, width);
}

struct text diff_unit_text(const struct diff *d)
{
	_cleanup_buf_ struct buf b = {0};
	struct text t;

	(void)!diff_put_unit(&b, d);
	snprintf(t.s, sizeof(t.s), "%s", buf_str(&b));
	return t;
}

/*
 * Ranks how well a change explains the row's time: call counts and durations determine it, sizes and errors are
 * secondary, and a change in the opposite direction explains nothing.
 */
static int explains_time(const struct diff_row *row, enum diff_metric m)
{
	bool makes = m == DIFF_CALLS || m == DIFF_LATENCY || m == DIFF_MEAN;

	if (row->time_diff != 0 && row->test[m].effect * row->time_diff < 0)
		return 0;
	return makes ? 2 : 1;
}

const struct diff_test *diff_best(const struct diff_row *row, enum diff_metric *ret)
{
	const struct diff_test *best = NULL;
	int best_explains = 0;

	for (unsigned int m = 0; m < DIFF_METRICS; m++) {
		const struct diff_test *t = &row->test[m];
		int explains = explains_time(row, (enum diff_metric)m);

		if (!t->changed ||
		    (best && (explains < best_explains || (explains == best_explains &&
							   fabs(best->effect) >= fabs(t->effect)))))
			continue;
		best = t;
		best_explains = explains;
		*ret = (enum diff_metric)m;
	}
	return best;
}

struct text diff_change_text(double effect)
{
	struct text t;
	double factor = exp(effect), percent = (factor - 1) * 100;

	if (factor >= 1e6 || factor <= 1e-6)
		snprintf(t.s, sizeof(t.s), "%s", factor > 1 ? "x>1e6" : "/>1e6");
	else if (factor >= FACTOR_MIN)
		snprintf(t.s, sizeof(t.s), "x%.*f", factor < 10 ? 1 : 0, factor);
	else if (factor <= 1.0 / FACTOR_MIN)
		snprintf(t.s, sizeof(t.s), "/%.*f", factor > 0.1 ? 1 : 0, 1 / factor);
	else
		snprintf(t.s, sizeof(t.s), "%+.*f %%", fabs(percent) < 9.95 ? 1 : 0, percent);
	return t;
}

struct text diff_confidence_text(double q)
{
	struct text t;

	if (q < 0.0001)
		snprintf(t.s, sizeof(t.s), ">99.99 %%");
	else
		snprintf(t.s, sizeof(t.s), "%.*f %%",
			 q < 0.001 ? 2
			 : q < 0.1 ? 1
				   : 0,
			 floor((1 - q) * 10000) / 100);
	return t;
}

/* 12,345, 3.2, 0.031 */
struct text diff_number_text(double v)
{
	struct text t;

	if (v >= 100 || v == floor(v))
		return format_count((uint64_t)(v + 0.5));
	snprintf(t.s, sizeof(t.s), "%.*f", v >= 10 ? 1 : v >= 1 ? 2 : 3, v);
	return t;
}

struct text diff_value_text(enum diff_metric m, double v)
{
	if (m == DIFF_LATENCY || m == DIFF_MEAN)
		return format_dur((int64_t)(v + 0.5));
	if (m == DIFF_SIZE)
		return format_size((uint64_t)(v + 0.5));
	return diff_number_text(v);
}

/* A sum of durations per unit of work, signed. */
struct text diff_time_text(double ns)
{
	struct text t, plain = format_dur((int64_t)fmin(fabs(ns), 9e18));

	snprintf(t.s, sizeof(t.s), "%s%.40s", ns < 0 ? "-" : "+", plain.s);
	return t;
}
