/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.c: what figures are told per. Where an operation that makes up much of the work was called as
 * often on both sides, runs did the same work and are compared as they are. Else by the second, or by
 * a call of the operation whose count is the median of all, whichever makes more of the counts agree
 * (a median is blind to the operations that changed; so are the size factors of Anders and Huber).
 */
#include <errno.h>
#include <math.h>

#include "analysis/diff/internal.h"

#define SAME_RUN    0.01 /* counts that differ by so little agree: the same work */
#define SAME_RATE   0.05 /* rates */
#define HEAVY	    0.25 /* of the score of the heaviest operation: much of the work, too */
#define REPEATABLE  0.7	 /* share that must agree for what is only in one side to mean something */
#define EXACT	    0.8	 /* share of counts that must be the same to the call */
#define EXACT_CALLS 20
#define REPEAT_MIN  3 /* operations by file that this can be asked of */

static double work_done(const struct work *w, const struct run *r, enum diff_unit unit, int64_t op)
{
	if (unit == DIFF_UNIT_SECOND)
		return r->seconds;
	if (unit == DIFF_UNIT_RUN)
		return 1;
	for (size_t i = 0; i < w->key_count; i++) {
		if (w->keys[i].by == DIFF_OP && w->keys[i].op == op)
			return r->cells[i].calls;
	}
	return 0;
}

static void set_work(struct work *w, enum diff_unit unit, int64_t op)
{
	struct diff *d = w->out;

	d->unit = unit;
	d->unit_op = unit == DIFF_UNIT_OP ? op : -1;
	d->work[0] = d->work[1] = 0;
	for (size_t k = 0; k < w->run_count; k++) {
		w->runs[k].work = work_done(w, &w->runs[k], unit, op);
		d->work[w->runs[k].in->side] += w->runs[k].work;
	}
}

/* True for the keys whose counts are compared: by operation and file, or by operation where it has
 * no file. */
static bool is_asked(const struct key *k)
{
	return k->chosen && (k->by == DIFF_OP_FILE || (k->by == DIFF_OP && k->class == CLASS_NET));
}

/* ln of calls per unit of work, B against A; NAN where a side has none. */
static double log_ratio(const struct work *w, const struct key *k)
{
	const struct diff *d = w->out;

	if (!k->side[0].calls || !k->side[1].calls || d->work[0] <= 0 || d->work[1] <= 0)
		return NAN;
	return log((double)k->side[1].calls / d->work[1] * d->work[0] / (double)k->side[0].calls);
}

/* The share of keys whose counts agree within `same`, or by one call. */
static double agreement(const struct work *w, double same, size_t *ret_of)
{
	size_t agree = 0;

	*ret_of = 0;
	for (size_t i = 0; i < w->key_count; i++) {
		const struct key *k = &w->keys[i];
		double calls = (double)MIN(k->side[0].calls, k->side[1].calls), ratio;

		if (!is_asked(k))
			continue;
		ratio = log_ratio(w, k);
		++*ret_of;
		agree += !isnan(ratio) && fabs(ratio) <= MAX(same, log1p(1 / calls));
	}
	return *ret_of ? (double)agree / (double)*ret_of : 0;
}

/* The score of operations whose counts agree, as a share of all; `but` does not count. */
static double weighty_agreement(const struct work *w, int64_t but)
{
	double agree = 0, all = 0;

	for (size_t i = 0; i < w->key_count; i++) {
		const struct key *k = &w->keys[i];

		if (k->by != DIFF_OP || k->op == but)
			continue;
		all += k->score;
		agree += fabs(log_ratio(w, k)) <= SAME_RATE ? k->score : 0;
	}
	return all > 0 ? agree / all : 0;
}

/* The operation whose count is the median, by how the others went; -1 where there is none. */
static int64_t median_op(const struct work *w, struct weighted *ratios)
{
	size_t n = 0, best = SIZE_MAX;
	double median;

	for (size_t i = 0; i < w->key_count; i++) {
		double ratio = w->keys[i].by == DIFF_OP ? log_ratio(w, &w->keys[i]) : NAN;

		if (!isnan(ratio))
			ratios[n++] = (struct weighted){ratio, sqrt(w->keys[i].score)};
	}
	median = stats_weighted_median(ratios, n);
	for (size_t i = 0; i < w->key_count; i++) {
		const struct key *k = &w->keys[i];
		double ratio = k->by == DIFF_OP ? log_ratio(w, k) : NAN;

		if (isnan(ratio) || fabs(ratio - median) > SAME_RATE)
			continue;
		if (best == SIZE_MAX || k->score > w->keys[best].score)
			best = i;
	}
	return best == SIZE_MAX ? -1 : w->keys[best].op;
}

/* True where runs did the same work, by an operation that is much of it. */
static bool same_work(const struct work *w)
{
	double top = 0;

	for (size_t i = 0; i < w->key_count; i++)
		top = w->keys[i].by == DIFF_OP ? MAX(top, w->keys[i].score) : top;
	for (size_t i = 0; i < w->key_count; i++) {
		const struct key *k = &w->keys[i];

		if (k->by == DIFF_OP && k->score >= HEAVY * top &&
		    fabs(log_ratio(w, k)) <= SAME_RUN)
			return true;
	}
	return false;
}

static int choose(struct work *w)
{
	_cleanup_free_ struct weighted *ratios = calloc(w->key_count + 1, sizeof(*ratios));
	double by_second;
	int64_t op;

	if (!ratios)
		return -ENOMEM;
	set_work(w, DIFF_UNIT_RUN, -1);
	if (same_work(w))
		return 0;
	op = median_op(w, ratios);
	if (op < 0)
		return 0;
	set_work(w, DIFF_UNIT_SECOND, -1);
	by_second = weighty_agreement(w, op);
	set_work(w, DIFF_UNIT_OP, op);
	if (by_second >= weighty_agreement(w, op))
		set_work(w, DIFF_UNIT_SECOND, -1);
	return 0;
}

/* True where the counts of a run tell those of the next to the call: nothing in it depends on time. */
static bool counts_exactly(const struct work *w)
{
	size_t exact = 0, of = 0;

	for (size_t i = 0; i < w->chosen_count; i++) {
		const struct key *k = &w->keys[w->chosen[i]];
		double a = (double)k->side[0].calls / (double)w->side_runs[0];
		double b = (double)k->side[1].calls / (double)w->side_runs[1];

		if (k->by != DIFF_OP_FILE || fmin(a, b) < EXACT_CALLS)
			continue;
		of++;
		exact += fabs(a - b) <= 1;
	}
	return of >= REPEAT_MIN && (double)exact >= EXACT * (double)of;
}

int unit_choose(struct work *w)
{
	struct diff *d = w->out;
	int r = 0;

	w->exact = counts_exactly(w);

	if (w->opt->unit == DIFF_UNIT_AUTO)
		r = choose(w);
	else
		set_work(w, w->opt->unit, w->opt->unit_op);
	d->agree = agreement(w, SAME_RUN, &d->agree_of);
	d->repeatable = d->agree_of >= REPEAT_MIN && d->agree >= REPEATABLE;
	return r;
}
