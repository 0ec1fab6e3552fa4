/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tests.c: tests whether a difference exceeds the variation between equal runs. A moderated t-test on the logarithms of
 * each run's values: the variance between runs is shrunk towards the value expected a priori (Smyth), which is a fixed
 * floor with replicates, and is estimated from the parts of the runs without. docs/howto/diff.md gives the reasons, and
 * how the constants were found.
 */
#include <errno.h>
#include <math.h>

#include "analysis/diff/internal.h"

#define PRIOR_RUNS  3  /* degrees of freedom of the floor with replicates */
#define PRIOR_PARTS 10 /* ... of the estimate from parts of runs */
/* the ranks of the runs must be this unlikely, or as unlikely as possible */
#define RANKS_P	    0.02
#define SIZE_SPREAD 4	 /* variance of the size of one call, ln^2, which the sums do not contain */
#define ALPHA_FEW   0.05 /* for few runs: the floors are wide */
/* noise between runs has heavier tails than the test assumes: 3 to 5 % as measured */
#define ALPHA_RUNS    0.02
#define LATENCY_CALLS 20   /* in each run */
#define COUNT_CALLS   3	   /* on the larger side, in total */
#define LOSS_MAX      0.01 /* fraction of calls lost from which on nothing is tested */
/* standard deviation of counts between runs that depend on time, few runs */
#define LOOSE_COUNTS 0.10
#define LONE_COUNTS  0.05 /* the same if counts of all other operations do not depend on it */
#define LOOSE_SHARE  0.30 /* the same if threads may take work from one another */
#define LIGHT	     0.05 /* fraction of calls plus fraction of time of calls made by a timer */
#define SAME_RATE    0.20 /* ... and the maximum difference of its rate */
#define SAME_RUN     0.01
#define SHIFT_FLOOR  0.25 /* standard deviation of the machine's speed between runs, few runs */
#define SHIFT_REP    0.05 /* the same, with replicates */
#define SHIFT_LEAST  0.10 /* smaller shifts are not reported */

/* Standard deviation between runs, ln, if nothing else is known. */
static const struct floor {
	double replicated; /* with replicates: shrunk towards this */
	double few;	   /* single runs: in addition to the estimate from their parts */
	double blind;	   /* single runs without an estimate from parts */
	double least;	   /* smaller effects are not reported */
} floors[DIFF_METRICS] = {
	[DIFF_CALLS] = {0.01, 0.01, 0.30, 0.01},  [DIFF_LATENCY] = {0.06, 0.05, 0.40, 0.05},
	[DIFF_MEAN] = {0.12, 0.12, 0.60, 0.10},	  [DIFF_SIZE] = {0.01, 0.01, 0.30, 0.01},
	[DIFF_ERRORS] = {0.05, 0.05, 0.30, 0.05},
};
/* latency of fsync and similar calls, single runs: the speed of a device varies over days */
#define SYNC_FEW 0.50

struct sides {
	double *v[2]; /* values of runs, ln */
	size_t n[2];
	double prior[2]; /* variance */
};

static bool is_latency(enum diff_metric m)
{
	return m == DIFF_LATENCY || m == DIFF_MEAN;
}

static bool replicated(const struct work *w)
{
	return !w->blocks;
}

/* ---- prior variance ---- */

static double own_noise(const struct cell *c, enum diff_metric m)
{
	double mean = cell_latency(c);

	if (m == DIFF_CALLS)
		return 1 / (c->calls + 0.5);
	if (m == DIFF_SIZE)
		return SIZE_SPREAD / (c->calls + 0.5);
	if (m == DIFF_ERRORS)
		return 1 / (c->errors + 0.5);
	return is_latency(m) && c->calls > 0 ? MAX(c->log2 / c->calls - mean * mean, 0) / c->calls
					     : 0;
}

/*
 * Standard deviation of a count between runs. The operation tested is excluded when determining whether counts repeat:
 * otherwise its own change would prevent that if there are few others.
 */
static double count_floor(const struct work *w, const struct key *k, enum diff_metric m)
{
	if (k->by == DIFF_PROCESS)
		return LOOSE_SHARE;
	if (w->exact)
		return floors[m].few;
	return k->op >= 0 && unit_counts_exactly(w, k->op) ? MAX(LONE_COUNTS, floors[m].few)
							   : LOOSE_COUNTS;
}

/* The variance of the machine's speed, which a single run cannot show. */
static double machine(const struct work *w, const struct key *k, enum diff_metric m)
{
	const struct floor *f = &floors[m];
	double few = k->class == CLASS_SYNC && is_latency(m) ? SYNC_FEW : f->few;

	if (m == DIFF_CALLS || m == DIFF_ERRORS) {
		few = count_floor(w, k, m);
		return MAX(few * few, noise_of_other_counts(w, k));
	}
	if (!is_latency(m))
		return few * few;
	/* without other operations to compare with, it is part of every latency */
	return MAX(few * few, noise_of_others(w, k)) +
	       (w->out->shift_known ? 0 : SHIFT_FLOOR * SHIFT_FLOOR);
}

/* Variance of a metric between runs, estimated from one run. False: it cannot be. */
static bool prior_of(const struct work *w, const struct run *r, size_t at, enum diff_metric m,
		     double *ret)
{
	const struct key *k = &w->keys[at];
	const struct floor *f = &floors[m];
	double parts;

	*ret = f->replicated * f->replicated;
	if (replicated(w))
		return true;
	*ret = machine(w, k, m) + own_noise(&r->cells[at], m);
	if (noise_of_parts(w, r, k, m, &parts)) {
		*ret += parts;
		return true;
	}
	/* a call in only one phase of a run; if the runs do the same work, it repeats */
	if (!w->out->repeatable || (m != DIFF_CALLS && !(m == DIFF_SIZE && w->exact)))
		*ret += f->blind * f->blind;
	return m != DIFF_MEAN;
}

/* ---- one test ---- */

static double log_a_b(const struct work *w, const struct key *k, enum diff_metric m, unsigned int s)
{
	const struct diff_sum *sum = &k->side[s];
	double work = w->out->work[s], calls = (double)sum->calls;

	switch (m) {
	case DIFF_CALLS:
		return work > 0 ? calls / work : 0;
	case DIFF_ERRORS:
		return work > 0 ? (double)sum->errors / work : 0;
	case DIFF_SIZE:
		return calls > 0 ? (double)sum->bytes / calls : 0;
	case DIFF_MEAN:
		return calls > 0 ? (double)sum->time_ns / calls : 0;
	case DIFF_LATENCY:
	case DIFF_METRICS:
		break;
	}
	return 0;
}

/* Collects the values of the runs; false if the metric cannot be compared. */
static bool tests_collect(const struct work *w, size_t at, enum diff_metric m, struct sides *s,
			  struct diff_test *t)
{
	const struct key *k = &w->keys[at];
	double log_sum[2] = {0}, calls[2] = {0}, prior;

	s->n[0] = s->n[1] = 0;
	s->prior[0] = s->prior[1] = 0;
	for (size_t j = 0; j < w->run_count; j++) {
		const struct run *r = &w->runs[j];
		const struct cell *c = &r->cells[at];
		unsigned int side = r->in->side;
		double y;

		if (is_latency(m) && c->calls < LATENCY_CALLS)
			return false;
		if (!metric_of(r, c, m, &y) || !prior_of(w, r, at, m, &prior))
			return false;
		s->v[side][s->n[side]++] = y - (is_latency(m) ? r->shift : 0);
		s->prior[side] += prior;
		log_sum[side] += c->log;
		calls[side] += c->calls;
	}
	for (unsigned int side = 0; side < 2; side++) {
		double v = m == DIFF_LATENCY ? exp(log_sum[side] / calls[side])
					     : log_a_b(w, k, m, side);

		s->prior[side] /= (double)s->n[side];
		*(side ? &t->b : &t->a) = v;
	}
	return true;
}

/* Welch's test with moderated variances. */
static void tests_compare(const struct sides *s, double prior_df, struct diff_test *t)
{
	double square[2], df[2], se2, freedom, half;

	for (unsigned int i = 0; i < 2; i++) {
		double n = (double)s->n[i];

		df[i] = prior_df + n - 1;
		square[i] = (prior_df * s->prior[i] + stats_squares(s->v[i], s->n[i])) / df[i] / n;
	}
	t->tested = true;
	t->effect = stats_mean(s->v[1], s->n[1]) - stats_mean(s->v[0], s->n[0]);
	se2 = square[0] + square[1];
	if (se2 <= 0) {
		t->p = t->effect == 0;
		t->low = t->high = t->effect;
		return;
	}
	freedom = se2 * se2 / (square[0] * square[0] / df[0] + square[1] * square[1] / df[1]);
	t->p = stats_student_p(t->effect / sqrt(se2), freedom);
	half = stats_student_quantile(0.05, freedom) * sqrt(se2);
	t->low = t->effect - half;
	t->high = t->effect + half;
}

/* The smallest p that ranks of this many runs can have: all of one side above all of the other. */
static double least_p(size_t n, size_t m)
{
	double a = (double)n, b = (double)m;

	return 2 * exp(lgamma(a + 1) + lgamma(b + 1) - lgamma(a + b + 1));
}

/* An outlier can shift a mean, but not the ranks: few runs must be completely separate. */
static int check_ranks(const struct sides *s, struct diff_test *t)
{
	double p;
	int r;

	if (s->n[0] < DIFF_REPLICATES || s->n[1] < DIFF_REPLICATES)
		return 0;
	r = stats_mann_whitney(s->v[0], s->n[0], s->v[1], s->n[1], &p);
	if (r >= 0 && p > MAX(RANKS_P, 1.001 * least_p(s->n[0], s->n[1])))
		t->p = fmax(t->p, p);
	return r;
}

static bool tests_same(double a, double b, double within)
{
	return fabs(a - b) <= fmax(1, within * fmin(a, b));
}

/* True for calls that do not depend on the amount of work: made once at the start of every run, or by a timer. */
static bool not_by_work(const struct work *w, const struct key *k)
{
	double a = (double)k->side[0].calls, b = (double)k->side[1].calls;

	if (w->out->unit != DIFF_UNIT_RUN)
		return tests_same(a / (double)w->side_runs[0], b / (double)w->side_runs[1],
				  SAME_RUN);
	return k->score < LIGHT && a && b &&
	       tests_same(a, b / w->out->seconds[1] * w->out->seconds[0], SAME_RATE);
}

static bool worth(const struct work *w, const struct key *k, enum diff_metric m)
{
	const struct diff_sum *a = &k->side[0], *b = &k->side[1];

	if (!k->chosen || (k->by == DIFF_ERROR && m != DIFF_CALLS))
		return false;
	/* a file or program is a mixture: its latency follows from the calls on it or made by it */
	if ((k->by == DIFF_FILE || k->by == DIFF_PROCESS) && (is_latency(m) || m == DIFF_SIZE))
		return false;
	if (m == DIFF_CALLS)
		return MAX(a->calls, b->calls) >= COUNT_CALLS && !not_by_work(w, k) &&
		       !(w->out->unit == DIFF_UNIT_OP && k->by == DIFF_OP &&
			 k->op == w->out->unit_op);
	if (m == DIFF_ERRORS)
		return MAX(a->errors, b->errors) >= COUNT_CALLS && !not_by_work(w, k);
	if (m == DIFF_SIZE)
		return a->bytes && b->bytes;
	return a->calls && b->calls;
}

static int test_row(struct work *w, size_t i, struct sides *s)
{
	struct diff_row *row = &w->out->rows[i];
	size_t at = w->chosen[i];
	int r = 0;

	for (unsigned int m = 0; m < DIFF_METRICS && r >= 0; m++) {
		if (!worth(w, &w->keys[at], m) || !tests_collect(w, at, m, s, &row->test[m]))
			continue;
		tests_compare(s, replicated(w) ? PRIOR_RUNS : PRIOR_PARTS, &row->test[m]);
		r = check_ranks(s, &row->test[m]);
	}
	return r;
}

/* ---- the shift ---- */

static int test_shift(struct work *w, struct sides *s)
{
	double floor = replicated(w) ? SHIFT_REP : SHIFT_FLOOR;
	struct diff_test *t = &w->out->shift;

	if (!w->out->shift_known)
		return 0;
	s->n[0] = s->n[1] = 0;
	s->prior[0] = s->prior[1] = floor * floor;
	for (size_t j = 0; j < w->run_count; j++) {
		unsigned int side = w->runs[j].in->side;

		s->v[side][s->n[side]++] = w->runs[j].shift;
	}
	tests_compare(s, replicated(w) ? PRIOR_RUNS : PRIOR_PARTS, t);
	t->a = 1;
	t->b = exp(t->effect);
	return check_ranks(s, t);
}

/* ---- all tests ---- */

struct corrected {
	struct diff_test *t;
	double least; /* effect that is reported */
};

static int correct(struct work *w)
{
	struct diff *d = w->out;
	size_t cap = d->count * DIFF_METRICS + 1, n = 0;
	_cleanup_free_ struct corrected *all = calloc(cap, sizeof(*all));
	_cleanup_free_ double *p = calloc(cap, sizeof(*p)), *q = calloc(cap, sizeof(*q));
	double alpha = replicated(w) ? ALPHA_RUNS : ALPHA_FEW;
	int r;

	if (!all || !p || !q)
		return -ENOMEM;
	if (d->shift.tested)
		all[n++] = (struct corrected){&d->shift, SHIFT_LEAST};
	for (size_t i = 0; i < d->count; i++) {
		for (unsigned int m = 0; m < DIFF_METRICS; m++) {
			if (d->rows[i].test[m].tested)
				all[n++] = (struct corrected){&d->rows[i].test[m], floors[m].least};
		}
	}
	for (size_t i = 0; i < n; i++)
		p[i] = all[i].t->p;
	d->tests = n;
	r = stats_correct(p, n, q);
	for (size_t i = 0; i < n; i++) {
		all[i].t->q = q[i];
		all[i].t->changed = q[i] <= alpha && fabs(all[i].t->effect) > all[i].least;
	}
	return r;
}

/* True if losses exceed the size of differences: nothing can be concluded. */
static bool lossy(const struct run *r)
{
	double calls = r->io.calls + r->waiting.calls + r->other.calls;

	return r->in->lost_unknown || (double)r->in->lost > LOSS_MAX * calls;
}

int tests_run(struct work *w)
{
	_cleanup_free_ double *a = calloc(w->run_count + 1, sizeof(*a));
	_cleanup_free_ double *b = calloc(w->run_count + 1, sizeof(*b));
	struct sides s = {.v = {a, b}};
	int r = a && b ? 0 : -ENOMEM;

	for (size_t j = 0; j < w->run_count; j++)
		w->out->lossy[w->runs[j].in->side] |= lossy(&w->runs[j]);
	if (w->out->lossy[0] || w->out->lossy[1])
		return r;
	if (r < 0)
		return r;
	for (size_t i = 0; i < w->out->count; i++) {
		r = test_row(w, i, &s);
		if (r < 0)
			return r;
	}
	r = test_shift(w, &s);
	return r < 0 ? r : correct(w);
}
