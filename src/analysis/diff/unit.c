/* SPDX-License-Identifier: Apache-2.0 */
/*
 * unit.c: the unit to which figures are normalized. If an operation that makes up much of the work was called equally
 * often on both sides, the runs did the same work and are compared as they are. Otherwise the unit is a second, or a
 * call of the operation whose count is the median of all, whichever makes more of the counts agree (a median is robust
 * against the operations that changed, like the size factors of Anders and Huber).
 */
#include <errno.h>
#include <math.h>

#include "analysis/diff/internal.h"
#include "schema/ops.h"

#define SAME_RUN  0.01 /* counts that differ by no more than this agree: the same work */
#define SAME_RATE 0.05 /* the same for rates */
#define HEAVY	  0.25 /* of the score of the heaviest operation: much of the work, too */
/* fraction that must agree for presence on one side only to be significant */
#define REPEATABLE  0.7
#define EXACT	    0.8 /* fraction of counts that must be exactly equal */
#define EXACT_CALLS 20
#define REPEAT_MIN  3 /* minimum number of operations by file examined */

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

/* True for keys whose counts are compared: by operation and file, or by operation if it has no file. */
static bool is_asked(const struct key *k)
{
	return k->chosen && (k->by == DIFF_OP_FILE || (k->by == DIFF_OP && k->class == CLASS_NET));
}

/* ln of calls per unit of work, B against A; NAN if a side has none. */
static double log_ratio(const struct work *w, const struct key *k)
{
	const struct diff *d = w->out;

	if (!k->side[0].calls || !k->side[1].calls || d->work[0] <= 0 || d->work[1] <= 0)
		return NAN;
	return log((double)k->side[1].calls / d->work[1] * d->work[0] / (double)k->side[0].calls);
}

/*
 * The fraction of keys whose counts agree within `same`, or by one call; with the number of keys, and of those that
 * both sides have.
 */
static double agreement(const struct work *w, double same, size_t *ret_of, size_t *ret_common)
{
	size_t agree = 0;

	*ret_of = *ret_common = 0;
	for (size_t i = 0; i < w->key_count; i++) {
		const struct key *k = &w->keys[i];
		double calls = (double)MIN(k->side[0].calls, k->side[1].calls), ratio;

		if (!is_asked(k))
			continue;
		ratio = log_ratio(w, k);
		++*ret_of;
		*ret_common += calls > 0;
		agree += !isnan(ratio) && fabs(ratio) <= MAX(same, log1p(1 / calls));
	}
	return *ret_of ? (double)agree / (double)*ret_of : 0;
}

/* The score of operations whose counts agree, as a fraction of all; `but` is excluded. */
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

/* The operation whose count is the median, by change of count; -1 if there is none. */
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

/* True if the runs did the same work, judged by an operation that is much of it. */
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

/* True if each run has calls of the key in nearly all of its parts. */
static bool goes_through(const struct work *w, const struct key *k)
{
	for (size_t j = 0; j < w->run_count; j++) {
		if (noise_parts_used(&w->runs[j], k) < PARTS - 1)
			return false;
	}
	return true;
}

/* Number of operations by file, excluding operation `but`, whose counts repeat exactly throughout the runs. */
static size_t steady_through(const struct work *w, int64_t but)
{
	size_t steady = 0;

	for (size_t i = 0; i < w->chosen_count; i++) {
		const struct key *k = &w->keys[w->chosen[i]];
		double a = (double)k->side[0].calls / (double)w->side_runs[0];
		double b = (double)k->side[1].calls / (double)w->side_runs[1];

		steady += k->by == DIFF_OP_FILE && k->op != but && fmin(a, b) >= EXACT_CALLS &&
			  fabs(a - b) <= 1 && goes_through(w, k);
	}
	return steady;
}

/* True if all runs of a side have the same number of calls of this key. */
static bool same_within_sides(const struct work *w, size_t key)
{
	const struct run *first[2] = {&w->runs[0], &w->runs[w->side_runs[0]]};

	for (size_t j = 0; j < w->run_count; j++) {
		const struct run *r = &w->runs[j];

		if (fabs(r->cells[key].calls - first[r->in->side]->cells[key].calls) > 1)
			return false;
	}
	return true;
}

/*
 * True if all counts but that of the heaviest operation repeat exactly: that operation is what changed. A program that
 * only waits for the disk, and does so twice as often, has the same rate as before; per second, nothing else would
 * agree. A program that runs for a fixed time also repeats its calls at the start; therefore the repeating calls must
 * occur throughout the runs, or the heaviest must repeat within each side.
 */
static bool all_but_one(const struct work *w)
{
	size_t top = SIZE_MAX;

	for (size_t i = 0; i < w->key_count; i++) {
		if (w->keys[i].by == DIFF_OP &&
		    (top == SIZE_MAX || w->keys[i].score > w->keys[top].score))
			top = i;
	}
	if (top == SIZE_MAX || !unit_counts_exactly(w, w->keys[top].op))
		return false;
	return w->blocks ? steady_through(w, w->keys[top].op) >= REPEAT_MIN
			 : same_within_sides(w, top);
}

/*
 * True if the unit's operation was called equally often in the runs of both sides: they did the same work, and a run is
 * the simpler unit.
 */
static bool as_often(const struct work *w)
{
	double a = w->out->work[0] / (double)w->side_runs[0];
	double b = w->out->work[1] / (double)w->side_runs[1];

	return a > 0 && b > 0 && fabs(log(b / a)) <= SAME_RUN;
}

static int unit_choose_auto(struct work *w)
{
	_cleanup_free_ struct weighted *ratios = calloc(w->key_count + 1, sizeof(*ratios));
	double by_second;
	int64_t op;

	if (!ratios)
		return -ENOMEM;
	set_work(w, DIFF_UNIT_RUN, -1);
	if (same_work(w) || all_but_one(w))
		return 0;
	op = median_op(w, ratios);
	if (op < 0)
		return 0;
	set_work(w, DIFF_UNIT_SECOND, -1);
	by_second = weighty_agreement(w, op);
	set_work(w, DIFF_UNIT_OP, op);
	if (by_second >= weighty_agreement(w, op))
		set_work(w, DIFF_UNIT_SECOND, -1);
	else if (as_often(w))
		set_work(w, DIFF_UNIT_RUN, -1);
	return 0;
}

bool unit_counts_exactly(const struct work *w, int64_t but)
{
	size_t exact = 0, of = 0;

	for (size_t i = 0; i < w->chosen_count; i++) {
		const struct key *k = &w->keys[w->chosen[i]];
		double a = (double)k->side[0].calls / (double)w->side_runs[0];
		double b = (double)k->side[1].calls / (double)w->side_runs[1];

		if (k->by != DIFF_OP_FILE || fmin(a, b) < EXACT_CALLS || k->op == but)
			continue;
		of++;
		exact += fabs(a - b) <= 1;
	}
	return of >= REPEAT_MIN && (double)exact >= EXACT * (double)of;
}

/* The requested unit; a run without any of it has no figures per unit. */
static int take_asked(struct work *w, struct error *err)
{
	char op[32];

	set_work(w, w->opt->unit, w->opt->unit_op);
	for (size_t i = 0; i < w->run_count; i++) {
		const struct analysis_run *in = w->runs[i].in;

		if (w->runs[i].work > 0)
			continue;
		return error_set(err, -EINVAL,
				 "--per %s: %s has no such call on side %c; leave out --per, or "
				 "name another operation",
				 op_name((uint32_t)w->opt->unit_op, op),
				 store_trace_path(in->store, 0), in->side ? 'B' : 'A');
	}
	return 0;
}

int unit_choose(struct work *w, struct error *err)
{
	struct diff *d = w->out;
	int r;

	w->exact = unit_counts_exactly(w, -1);
	r = w->opt->unit == DIFF_UNIT_AUTO ? unit_choose_auto(w) : take_asked(w, err);
	d->agree = agreement(w, SAME_RUN, &d->agree_of, &d->common);
	d->repeatable = d->agree_of >= REPEAT_MIN && d->agree >= REPEATABLE;
	return r;
}
