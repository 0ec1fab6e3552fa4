/* SPDX-License-Identifier: Apache-2.0 */
/*
 * noise.c: the expected difference between equal runs, estimated from the parts of a run; and the shift common to all
 * latencies of a run, which is due to the machine rather than to a single operation.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/diff/internal.h"

#define PARTS_MIN   5  /* minimum number of parts with enough calls */
#define PART_CALLS  4  /* in a part */
#define SHIFT_OPS   3  /* operations from which on a median is meaningful */
#define SHIFT_CALLS 30 /* in each run */
#define COUNT_CALLS 20
/* standard deviation of a normal distribution divided by its median absolute deviation */
#define NORMAL_MAD   1.4826
#define WEIGHT_CALLS 10000 /* further calls do not make a latency more certain */

bool metric_of(const struct run *r, const struct cell *c, enum diff_metric m, double *ret)
{
	switch (m) {
	case DIFF_CALLS:
		*ret = log((c->calls + 0.5) / r->work);
		return r->work > 0;
	case DIFF_LATENCY:
		*ret = cell_latency(c);
		return c->calls > 0;
	case DIFF_MEAN:
		*ret = c->time > 0 ? log(c->time / c->calls) : 0;
		return c->time > 0;
	case DIFF_SIZE:
		*ret = c->bytes > 0 ? log(c->bytes / c->calls) : 0;
		return c->bytes > 0;
	case DIFF_ERRORS:
		*ret = log((c->errors + 0.5) / r->work);
		return r->work > 0;
	case DIFF_METRICS:
		break;
	}
	return false;
}

/* ---- parts ---- */

static void noise_parts_of(const struct run *r, const struct key *k, struct cell ret[static PARTS])
{
	const struct cell *b = &r->blocks[k->row * BLOCKS];

	for (unsigned int i = 0; i < PARTS; i++) {
		ret[i] = (struct cell){0};
		for (unsigned int j = 0; j < BLOCKS / PARTS; j++)
			cell_add(&ret[i], &b[i * (BLOCKS / PARTS) + j]);
	}
}

static double calls_of_parts(const struct cell p[static PARTS])
{
	double calls = 0;

	for (unsigned int i = 0; i < PARTS; i++)
		calls += p[i].calls;
	return calls;
}

unsigned int noise_parts_used(const struct run *r, const struct key *k)
{
	struct cell parts[PARTS];
	unsigned int used = 0;

	if (!r->blocks)
		return 0;
	noise_parts_of(r, k, parts);
	for (unsigned int i = 0; i < PARTS; i++)
		used += parts[i].calls > 0;
	return used;
}

/* False for parts with too few calls, which at the edges contain only the start, the end, or a fragment. */
static bool part_counts(const struct cell *p, double calls)
{
	return p->calls >= PART_CALLS && p->calls >= calls / PARTS / 4;
}

static double variance(const double *v, size_t n)
{
	return n > 1 ? stats_squares(v, n) / (double)(n - 1) : 0;
}

/* A variance robust against outliers, from the median absolute deviation. */
static double robust_variance(const double *v, size_t n)
{
	double sorted[PARTS], middle, sd;

	assert(n <= PARTS);
	memcpy(sorted, v, n * sizeof(*v));
	middle = stats_median(sorted, n);
	for (size_t i = 0; i < n; i++)
		sorted[i] = fabs(v[i] - middle);
	sd = NORMAL_MAD * stats_median(sorted, n);
	return sd * sd;
}

/*
 * True if counts of other operations repeat exactly: then a part that includes the start or a distinct phase is not
 * noise, because the phase repeats as well. Such variation is not counted.
 */
static bool has_phases(const struct work *w, const struct key *k, enum diff_metric m)
{
	return m == DIFF_CALLS && k->op >= 0 && (w->exact || unit_counts_exactly(w, k->op));
}

static bool noise_of_counts(const struct work *w, const struct run *r, const struct key *k,
			    const struct cell *parts, enum diff_metric m, double *ret)
{
	double y[PARTS], all = calls_of_parts(parts);
	size_t n = 0;

	for (unsigned int i = 0; i < PARTS; i++) {
		double count = m == DIFF_ERRORS ? parts[i].errors : parts[i].calls;
		double done = w->out->unit == DIFF_UNIT_SECOND ? r->seconds / PARTS
			      : w->out->unit == DIFF_UNIT_OP   ? r->part_unit[i]
							       : r->part_io[i];

		if (part_counts(&parts[i], all) && done > 0)
			y[n++] = log((count + 0.5) / done);
	}
	*ret = has_phases(w, k, m) ? fmin(robust_variance(y, n), variance(y, n)) : variance(y, n);
	/* if a run is the unit, only its total matters: its parts average out */
	if (w->out->unit == DIFF_UNIT_RUN)
		*ret /= PARTS;
	return n >= PARTS_MIN;
}

bool noise_of_parts(const struct work *w, const struct run *r, const struct key *k,
		    enum diff_metric m, double *ret)
{
	struct cell parts[PARTS];
	double y[PARTS], all;
	size_t n = 0;

	*ret = 0;
	if (!r->blocks)
		return false;
	noise_parts_of(r, k, parts);
	if (m == DIFF_CALLS || m == DIFF_ERRORS)
		return noise_of_counts(w, r, k, parts, m, ret);
	all = calls_of_parts(parts);
	for (unsigned int i = 0; i < PARTS; i++) {
		if (!part_counts(&parts[i], all) || !metric_of(r, &parts[i], m, &y[n]))
			continue;
		y[n++] -= m == DIFF_SIZE ? 0 : r->part_shift[i];
	}
	*ret = variance(y, n);
	return n >= PARTS_MIN;
}

/* ---- the common shift ---- */

static bool shift_key(const struct work *w, size_t i)
{
	const struct key *k = &w->keys[i];

	if (k->by != DIFF_OP_FILE || !k->chosen || k->class == CLASS_SYNC)
		return false;
	for (size_t j = 0; j < w->run_count; j++) {
		if (w->runs[j].cells[i].calls < SHIFT_CALLS)
			return false;
	}
	return true;
}

struct shifts {
	size_t *keys; /* keys compared */
	double *weights, *votes, *bases;
	size_t count, ops;
	struct weighted *values; /* scratch buffer */
};

/* Gives each operation one vote, regardless of the number of files on which it is called. */
static void share_votes(const struct work *w, struct shifts *s)
{
	s->ops = 0;
	for (size_t i = 0; i < s->count; i++) {
		double of_op = 0, most = 0;
		bool first = true;

		for (size_t j = 0; j < s->count; j++) {
			if (w->keys[s->keys[j]].op != w->keys[s->keys[i]].op)
				continue;
			first &= j >= i;
			of_op += s->weights[j];
			most = fmax(most, s->weights[j]);
		}
		s->ops += first;
		s->votes[i] = s->weights[i] / of_op * most;
	}
}

static double weight_of(const struct work *w, size_t i)
{
	double least = WEIGHT_CALLS;

	for (size_t j = 0; j < w->run_count; j++)
		least = MIN(least, w->runs[j].cells[i].calls);
	return sqrt(least);
}

/* The middle between the medians of the sides, so that the larger side does not dominate. */
static double base_of(const struct work *w, size_t i, double *scratch)
{
	double sides[2];

	for (unsigned int s = 0; s < 2; s++) {
		size_t n = 0;

		for (size_t j = 0; j < w->run_count; j++) {
			if (w->runs[j].in->side == s)
				scratch[n++] = cell_latency(&w->runs[j].cells[i]);
		}
		sides[s] = stats_median(scratch, n);
	}
	return (sides[0] + sides[1]) / 2;
}

static void shift_of_run(const struct work *w, struct run *r, struct shifts *s)
{
	for (size_t i = 0; i < s->count; i++)
		s->values[i] = (struct weighted){cell_latency(&r->cells[s->keys[i]]) - s->bases[i],
						 s->votes[i]};
	r->shift = stats_weighted_median(s->values, s->count);
	for (unsigned int p = 0; r->blocks && p < PARTS; p++) {
		size_t n = 0;

		for (size_t i = 0; i < s->count; i++) {
			struct cell parts[PARTS];

			noise_parts_of(r, &w->keys[s->keys[i]], parts);
			if (part_counts(&parts[p], calls_of_parts(parts)))
				s->values[n++] = (struct weighted){
					cell_latency(&parts[p]) -
						cell_latency(&r->cells[s->keys[i]]),
					s->votes[i]};
		}
		r->part_shift[p] = n >= SHIFT_OPS ? stats_weighted_median(s->values, n) : 0;
	}
}

static void set_apart(struct work *w, size_t key)
{
	double sum[2] = {0};

	for (size_t j = 0; j < w->run_count; j++)
		sum[w->runs[j].in->side] += cell_latency(&w->runs[j].cells[key]) - w->runs[j].shift;
	w->keys[key].shift = true;
	w->keys[key].apart = sum[1] / (double)w->side_runs[1] - sum[0] / (double)w->side_runs[0];
}

static void shifts_free(struct shifts *s)
{
	free(s->keys);
	free(s->weights);
	free(s->votes);
	free(s->bases);
	free(s->values);
}

int noise_shift(struct work *w)
{
	_cleanup_(shifts_free) struct shifts s = {
		.keys = calloc(w->key_count + 1, sizeof(*s.keys)),
		.weights = calloc(w->key_count + 1, sizeof(*s.weights)),
		.votes = calloc(w->key_count + 1, sizeof(*s.votes)),
		.bases = calloc(w->key_count + 1, sizeof(*s.bases)),
		.values = calloc(w->key_count + 1, sizeof(*s.values)),
	};
	_cleanup_free_ double *scratch = calloc(w->run_count + 1, sizeof(*scratch));

	if (!s.keys || !s.weights || !s.votes || !s.bases || !s.values || !scratch)
		return -ENOMEM;
	for (size_t i = 0; i < w->key_count; i++) {
		if (!shift_key(w, i))
			continue;
		s.weights[s.count] = weight_of(w, i);
		s.bases[s.count] = base_of(w, i, scratch);
		s.keys[s.count++] = i;
	}
	share_votes(w, &s);
	w->out->shift_known = s.ops >= SHIFT_OPS;
	for (size_t j = 0; w->out->shift_known && j < w->run_count; j++)
		shift_of_run(w, &w->runs[j], &s);
	for (size_t i = 0; w->out->shift_known && i < s.count; i++)
		set_apart(w, s.keys[i]);
	return 0;
}

/* Reduces the variance of a difference, which has that of both sides, to one side's. */
static double one_side(const struct work *w, double difference)
{
	return difference / (1 / (double)w->side_runs[0] + 1 / (double)w->side_runs[1]);
}

double noise_of_others(const struct work *w, const struct key *k)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < w->chosen_count; i++) {
		const struct key *other = &w->keys[w->chosen[i]];

		if (!other->shift || other->op == k->op)
			continue;
		sum += other->apart * other->apart;
		n++;
	}
	return n ? one_side(w, sum / (double)n) : 0;
}

double noise_of_other_counts(const struct work *w, const struct key *k)
{
	double sum = 0, weights = 0;

	for (size_t i = 0; i < w->chosen_count; i++) {
		const struct key *other = &w->keys[w->chosen[i]];
		double a = (double)other->side[0].calls, b = (double)other->side[1].calls;
		double weight = sqrt(fmin(fmin(a, b), WEIGHT_CALLS)), ratio;

		if (other->by != DIFF_OP_FILE || fmin(a, b) < COUNT_CALLS || other->op == k->op ||
		    (k->op < 0 && other->label == k->label))
			continue;
		ratio = log(b / w->out->work[1] * w->out->work[0] / a);
		sum += weight * ratio * ratio;
		weights += weight;
	}
	return weights > 0 ? one_side(w, sum / weights) : 0;
}

/* Computes work by part: the denominators of counts. */
void noise_work(struct work *w)
{
	for (size_t j = 0; j < w->run_count; j++) {
		struct run *r = &w->runs[j];

		for (size_t i = 0; r->blocks && i < w->key_count; i++) {
			struct cell parts[PARTS];

			if (w->keys[i].by != DIFF_OP || !w->keys[i].chosen)
				continue;
			noise_parts_of(r, &w->keys[i], parts);
			for (unsigned int p = 0; p < PARTS; p++) {
				r->part_io[p] += parts[p].calls;
				if (w->keys[i].op == w->out->unit_op)
					r->part_unit[p] += parts[p].calls;
			}
		}
	}
}
