/* SPDX-License-Identifier: Apache-2.0 */
/* diff_sentence.c: what changed, in a sentence with calls and seconds. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "cli/diff/diff.h"

#define ACCOUNTS_MAX   5   /* files named as accounting for a change */
#define ACCOUNTS_SHARE 0.8 /* of the time that changed */

double diff_scale(const struct diff *d)
{
	return d->runs[0] && d->work[0] > 0 ? d->work[0] / (double)d->runs[0] : 1;
}

double diff_of_run(const struct diff *d, unsigned int side, double sum)
{
	return d->work[side] > 0 ? sum / d->work[side] * diff_scale(d) : sum;
}

/* "30 %" of a change, "2.3 times" from a factor of two on. */
static struct text sentence_much(double effect)
{
	double factor = exp(fabs(effect));
	struct text t;

	if (factor >= 2)
		snprintf(t.s, sizeof(t.s), "%.*f times", factor < 10 ? 1 : 0, factor);
	else
		snprintf(t.s, sizeof(t.s), "%.*f %%",
			 effect < 0		     ? 0
			 : (factor - 1) * 100 < 9.95 ? 1
						     : 0,
			 (effect < 0 ? 1 - 1 / factor : factor - 1) * 100);
	return t;
}

static int sentence_put_range(struct buf *out, const char *what, struct text a, struct text b)
{
	return buf_printf(out, " (%s%s%s to %s)", what, *what ? " " : "", a.s, b.s);
}

/* " got 30 % slower (p99 1.10 ms to 2.60 ms)" */
static int put_latency(struct buf *out, const struct diff_row *row, const struct diff_test *t)
{
	uint64_t from = diff_sum_quantile(&row->side[0], 0.99);
	uint64_t to = diff_sum_quantile(&row->side[1], 0.99);
	/* if the slowest calls moved the other way, uses a typical call */
	bool slowest = (t->effect > 0) == (to > from);

	buf_printf(out, " got %s %s", sentence_much(t->effect).s,
		   t->effect > 0 ? "slower" : "faster");
	return slowest ? sentence_put_range(out, "p99", format_dur((int64_t)from),
					    format_dur((int64_t)to))
		       : sentence_put_range(out, "a typical call", format_dur((int64_t)t->a),
					    format_dur((int64_t)t->b));
}

static int sentence_put_effect(struct buf *out, const struct diff *d, const struct diff_row *row,
			       const struct diff_test *t, enum diff_metric m)
{
	bool more = t->effect > 0, twice = fabs(t->effect) >= log(2);
	double scale = m == DIFF_CALLS || m == DIFF_ERRORS ? diff_scale(d) : 1;
	const char *what = m == DIFF_CALLS  ? "calls"
			   : m == DIFF_SIZE ? "bytes a call"
			   : m == DIFF_MEAN ? "time a call"
					    : "errors";

	if (m == DIFF_LATENCY)
		return put_latency(out, row, t);
	if (twice)
		buf_printf(out, " has %s %s %s", sentence_much(t->effect).s,
			   m == DIFF_MEAN ? more ? "the" : "less"
			   : more	  ? "as many"
					  : "fewer",
			   what);
	else
		buf_printf(out, " has %s %s %s", sentence_much(t->effect).s,
			   more		    ? "more"
			   : m == DIFF_MEAN ? "less"
					    : "fewer",
			   what);
	return sentence_put_range(out, "", diff_value_text(m, t->a * scale),
				  diff_value_text(m, t->b * scale));
}

/* " is in B alone (93 calls)" */
static int put_alone(struct buf *out, const struct diff *d, const struct diff_row *row)
{
	unsigned int s = row->presence == DIFF_ONLY_B;
	double calls = diff_of_run(d, s, (double)row->side[s].calls);

	return buf_printf(out, " %s in %c only (%s call%s)", row->by == DIFF_PROCESS ? "are" : "is",
			  s ? 'B' : 'A', diff_number_text(calls).s, calls == 1 ? "" : "s");
}

static int sentence_by_time(const void *a, const void *b)
{
	const struct diff_row *x = *(const struct diff_row *const *)a,
			      *y = *(const struct diff_row *const *)b;

	return (fabs(x->time_diff) < fabs(y->time_diff)) -
	       (fabs(x->time_diff) > fabs(y->time_diff));
}

/* "; three files account for it" */
static int put_accounts(struct buf *out, const struct diff *d, const struct diff_row *top)
{
	static const char *const words[] = {"",
					    "one file accounts",
					    "two files account",
					    "three files account",
					    "four files account",
					    "five files account"};
	_cleanup_free_ const struct diff_row **files =
		calloc(d->count + 1, sizeof(const struct diff_row *));
	size_t count = 0, n = 0;
	double sum = 0;

	if (!files)
		return -ENOMEM;
	for (size_t i = 0; i < d->count && top->by == DIFF_OP; i++) {
		const struct diff_row *row = &d->rows[i];

		if (row->by == DIFF_OP_FILE && row->op == top->op &&
		    row->time_diff * top->time_diff > 0)
			files[count++] = row;
	}
	qsort(files, count, sizeof(const struct diff_row *), sentence_by_time);
	while (n < MIN(count, (size_t)ACCOUNTS_MAX) && sum < ACCOUNTS_SHARE * fabs(top->time_diff))
		sum += fabs(files[n++]->time_diff);
	if (!n || sum < ACCOUNTS_SHARE * fabs(top->time_diff))
		return 0;
	if (n > 1)
		return buf_printf(out, "; %s for it", words[n]);
	buf_printf(out, "; ");
	format_path(out, files[0]->name.data, files[0]->name.len, 40);
	return buf_printf(out, " accounts for it");
}

int diff_put_sentence(struct buf *out, const struct diff *d)
{
	const struct diff_row *top = d->listed ? &d->rows[0] : NULL;
	enum diff_metric m;
	const struct diff_test *t = top ? diff_best(top, &m) : NULL;

	if (d->lossy[0] || d->lossy[1])
		return buf_printf(out, "Too much is missing from %s to say what changed.",
				  d->lossy[0] && d->lossy[1] ? "both sides"
				  : d->lossy[0]		     ? "A"
							     : "B");
	if (!top && d->shift.changed)
		return buf_printf(out, "All calls take %s in B; none of them by itself.",
				  diff_change_text(d->shift.effect).s);
	if (!top)
		return buf_printf(out,
				  "No change is larger than the difference between repeated runs.");
	diff_put_what(out, top, 40);
	if (t && top->presence == DIFF_BOTH)
		sentence_put_effect(out, d, top, t, m);
	else
		put_alone(out, d, top);
	if (top->presence == DIFF_BOTH)
		buf_fail(out, put_accounts(out, d, top));
	return buf_printf(out, ". Its time: %s to %s%s, %.0f %% of all that changed.",
			  format_dur((int64_t)diff_of_run(d, 0, (double)top->side[0].time_ns)).s,
			  format_dur((int64_t)diff_of_run(d, 1, (double)top->side[1].time_ns)).s,
			  d->runs[0] > 1 || d->runs[1] > 1 ? " a run" : "", fabs(top->share) * 100);
}
