// SPDX-License-Identifier: Apache-2.0
/*
 * press_rival.c: which group's I/O slows down that of another group.
 *
 * For two groups on one device, the windows in which calls of the first ended are divided: windows of which the other
 * spent at least RIVAL_ACTIVE_PART in calls are busy, the others quiet.
 *   - Durations exclude the time in which the thread was runnable but had no CPU: a busy CPU is not a slow device.
 *   - Syncs, writes and other calls have different durations, and their mix may change when the other group becomes active. Busy
 *     windows are therefore compared with what the same calls would have taken at the quiet mean of their kind: direct
 *     standardization (Fleiss, Levin, Paik: Statistical Methods for Rates and Proportions, 2003, chapter 19). Kinds that do not
 *     occur in quiet windows are left out.
 *   - The slowness of a window is the time of its calls divided by what they take at the group's mean of their kind.
 *   - correlation: Spearman's (1904), of the slowness of the window with the time of the other group, over all windows of the
 *     first. Durations have long tails, to which ranks are robust.
 *   - lag: the shift of up to RIVAL_LAGS windows with the largest correlation; 0 unless another one is better by RIVAL_BETTER.
 *     Everything else is computed at that lag.
 *   - A pair has a row if calls took longer in busy windows by at least RIVAL_SLOWER, the correlation is positive, and the test of
 *     Mann and Whitney (1947) finds the windows significantly slower: its one-sided p, multiplied by the number of pairs and lags
 *     tested (Bonferroni), is at most RIVAL_P. For two groups this requires four windows of each kind, for 64 groups nine.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/features/press/press.h"
#include "analysis/stats.h"
#include "base/array.h"
#include "base/saturate.h"

#define RIVAL_ACTIVE_PART 100 /* 1/100: 1 ms of 100 ms */
#define RIVAL_WINDOWS_MIN 3   /* of each kind (busy, quiet) */
#define RIVAL_CALLS_MIN	  8   /* in windows of each kind */
#define RIVAL_SHARE	  200 /* groups with less than 1/200 of the device's time are left out */
#define RIVAL_LAGS	  10
#define RIVAL_BETTER	  0.1
#define RIVAL_P		  0.05
#define RIVAL_SLOWER	  0.1 /* smaller effects are within the normal variation of a device */

/* A window of the first group, with that of the other group at some lag. */
struct rival_point {
	const struct press_cell *own, *other; /* other: NULL if it had no calls */
	double slow, rank, other_rank;
	bool busy;
};

/* A group with data that all of its pairs need; windows in order, sorted only once. */
struct rival_group {
	const struct press_group *group;
	double *slow; /* slowness of each window; NAN: no call ended */
	/* [slow_count]: indexes of windows in which calls ended, the slowest last */
	uint32_t *by_slow;
	uint32_t *by_load; /* [group->count]: indexes of windows, those with most time last */
	size_t slow_count;
};

struct rival_pair {
	const struct press_cells *cells;
	const struct rival_group *first, *other;
	/* scratch space for all windows of the first, in order of time */
	struct rival_point *points;
	uint32_t *own_at,
		*other_at; /* index of the point for each window of both; FEATURE_NONE: none */
	size_t count, busy;
	uint32_t lag;
	double correlation;
	double quiet_mean, busy_mean, lost; /* ns */
};

/* ---- points ---- */

static void rival_align(struct rival_pair *p, uint32_t lag)
{
	const struct press_group *a = p->first->group, *b = p->other->group;
	int64_t active = p->cells->width / RIVAL_ACTIVE_PART;

	p->lag = lag;
	p->count = p->busy = 0;
	memset(p->own_at, 0xff, a->count * sizeof(*p->own_at));
	memset(p->other_at, 0xff, b->count * sizeof(*p->other_at));
	for (size_t i = 0, k = 0; i < a->count; i++) {
		struct rival_point *at = &p->points[p->count];

		if (isnan(p->first->slow[i]) || a->cells[i].window < lag)
			continue;
		while (k < b->count && b->cells[k].window + lag < a->cells[i].window)
			k++;
		*at = (struct rival_point){.own = &a->cells[i], .slow = p->first->slow[i]};
		p->own_at[i] = (uint32_t)p->count;
		if (k < b->count && b->cells[k].window + lag == a->cells[i].window) {
			at->other = &b->cells[k];
			p->other_at[k] = (uint32_t)p->count;
		}
		at->busy = at->other && at->other->time >= active;
		p->busy += at->busy;
		p->count++;
	}
}

/* Ranks windows by slowness; ties get the mean rank. */
static void rival_rank_slow(struct rival_pair *p)
{
	const struct rival_group *g = p->first;
	size_t rank = 0;

	for (size_t from = 0, to; from < g->slow_count; from = to) {
		size_t n = 0;

		for (to = from;
		     to < g->slow_count && g->slow[g->by_slow[to]] <= g->slow[g->by_slow[from]];
		     to++)
			n += p->own_at[g->by_slow[to]] != FEATURE_NONE;
		for (size_t i = from; i < to; i++) {
			uint32_t at = p->own_at[g->by_slow[i]];

			if (at != FEATURE_NONE)
				p->points[at].rank = (double)(2 * rank + n - 1) / 2;
		}
		rank += n;
	}
}

/* Likewise by the time of the other group, which is 0 if it had no calls. */
static void rival_rank_load(struct rival_pair *p)
{
	const struct rival_group *g = p->other;
	const struct press_cell *cells = g->group->cells;
	size_t idle = 0, rank;

	for (size_t i = 0; i < p->count; i++)
		idle += !p->points[i].other || p->points[i].other->time <= 0;
	for (size_t i = 0; i < p->count; i++)
		p->points[i].other_rank = ((double)idle - 1) / 2;
	rank = idle;
	for (size_t from = 0, to; from < g->group->count; from = to) {
		int64_t time = cells[g->by_load[from]].time;
		size_t n = 0;

		for (to = from; to < g->group->count && cells[g->by_load[to]].time == time; to++)
			n += p->other_at[g->by_load[to]] != FEATURE_NONE;
		if (time <= 0)
			continue;
		for (size_t i = from; i < to; i++) {
			uint32_t at = p->other_at[g->by_load[i]];

			if (at != FEATURE_NONE)
				p->points[at].other_rank = (double)(2 * rank + n - 1) / 2;
		}
		rank += n;
	}
}

static double rival_correlation(struct rival_pair *p)
{
	double mean = ((double)p->count - 1) / 2, xy = 0, xx = 0, yy = 0;

	if (!p->count)
		return 0;
	rival_rank_slow(p);
	rival_rank_load(p);
	for (size_t i = 0; i < p->count; i++) {
		double x = p->points[i].rank - mean, y = p->points[i].other_rank - mean;

		xy += x * y;
		xx += x * x;
		yy += y * y;
	}
	return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : 0;
}

/* ---- a pair ---- */

/* The time of calls in busy windows, and what they would have taken at quiet means. */
static void rival_compare(struct rival_pair *p)
{
	double calls[2][PRESS_KINDS] = {0}, durs[2][PRESS_KINDS] = {0}, n = 0, is = 0, expected = 0;

	for (size_t i = 0; i < p->count; i++) {
		for (int k = 0; k < PRESS_KINDS; k++) {
			calls[p->points[i].busy][k] += p->points[i].own->calls[k];
			durs[p->points[i].busy][k] += (double)p->points[i].own->durs[k];
		}
	}
	for (int k = 0; k < PRESS_KINDS; k++) {
		if (!calls[0][k])
			continue;
		n += calls[1][k];
		is += durs[1][k];
		expected += calls[1][k] * durs[0][k] / calls[0][k];
	}
	p->quiet_mean = n > 0 ? expected / n : 0;
	p->busy_mean = n > 0 ? is / n : 0;
	p->lost = is - expected;
}

static bool rival_has_enough(const struct rival_pair *p)
{
	uint64_t calls[2] = {0};

	if (p->busy < RIVAL_WINDOWS_MIN || p->count - p->busy < RIVAL_WINDOWS_MIN)
		return false;
	for (size_t i = 0; i < p->count; i++)
		calls[p->points[i].busy] += press_calls(p->points[i].own);
	return calls[0] >= RIVAL_CALLS_MIN && calls[1] >= RIVAL_CALLS_MIN;
}

/* 1: there are enough windows of both kinds. */
static bool rival_fit(struct rival_pair *p)
{
	double correlation, best;
	uint32_t lag = 0;

	rival_align(p, 0);
	best = correlation = rival_correlation(p);
	for (uint32_t i = 1; i <= RIVAL_LAGS; i++) {
		double at;

		rival_align(p, i);
		at = rival_has_enough(p) ? rival_correlation(p) : -1;
		if (at > best && at > correlation + RIVAL_BETTER) {
			best = at;
			lag = i;
		}
	}
	rival_align(p, lag);
	p->correlation = best;
	if (!rival_has_enough(p))
		return false;
	rival_compare(p);
	return true;
}

/* The p-value of the test. */
static int rival_test(const struct rival_pair *p, double *ret)
{
	_cleanup_free_ double *v = malloc(MAX(p->count, 1u) * sizeof(*v));
	size_t low = 0, high = p->count;

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++)
		v[p->points[i].busy ? --high : low++] = p->points[i].slow;
	return stats_mann_whitney(v, low, v + low, p->count - low, ret);
}

/* ---- rows ---- */

static int rival_put(const struct rival_pair *p, const struct feature_world *w, int64_t dev,
		     struct feature_rows *out)
{
	int64_t bytes = 0, syncs = 0, spells = 0, first = INT64_MAX, last = INT64_MIN;
	struct batch_row row;

	for (size_t i = 0; i < p->count; i++) {
		const struct rival_point *at = &p->points[i];
		int64_t from = p->cells->origin + (int64_t)at->own->window * p->cells->width;

		if (!at->busy)
			continue;
		spells += i == 0 || !p->points[i - 1].busy;
		bytes = add_sat_signed(bytes, at->other->bytes);
		syncs += at->other->calls[PRESS_SYNC];
		first = MIN(first, from);
		last = MAX(last, from + p->cells->width);
	}
	row = feature_row(out);
	row_set(&row, RIVAL_DEV, dev);
	row_set(&row, RIVAL_PROCESS_ID, feature_id(w->processes, p->first->group->process));
	row_set(&row, RIVAL_THREAD_ID, p->first->group->thread_id);
	row_set(&row, RIVAL_RIVAL_ID, feature_id(w->processes, p->other->group->process));
	row_set(&row, RIVAL_RIVAL_THREAD_ID, p->other->group->thread_id);
	row_set(&row, RIVAL_WINDOWS, (int64_t)p->count);
	row_set(&row, RIVAL_BUSY_WINDOWS, (int64_t)p->busy);
	row_set(&row, RIVAL_QUIET, llround(p->quiet_mean));
	row_set(&row, RIVAL_BUSY, llround(p->busy_mean));
	row_set(&row, RIVAL_LOST, llround(p->lost));
	row_set(&row, RIVAL_BYTES, bytes);
	row_set(&row, RIVAL_SYNCS, syncs);
	row_set(&row, RIVAL_CORRELATION, llround(p->correlation * 1000));
	row_set(&row, RIVAL_LAG, (int64_t)p->lag * p->cells->width);
	row_set(&row, RIVAL_FIRST, first);
	row_set(&row, RIVAL_LAST, last);
	row_set(&row, RIVAL_SPELLS, spells);
	return row.r;
}

/* ---- the groups of a device ---- */

/* The slowness of each window of a group; NAN if no call ended. */
static void rival_slowness(const struct press_group *g, double *slow)
{
	double calls[PRESS_KINDS] = {0}, durs[PRESS_KINDS] = {0};

	for (size_t i = 0; i < g->count; i++) {
		for (int k = 0; k < PRESS_KINDS; k++) {
			calls[k] += g->cells[i].calls[k];
			durs[k] += (double)g->cells[i].durs[k];
		}
	}
	for (size_t i = 0; i < g->count; i++) {
		double is = 0, usual = 0;

		for (int k = 0; k < PRESS_KINDS; k++) {
			is += (double)g->cells[i].durs[k];
			usual += calls[k] > 0 ? g->cells[i].calls[k] * durs[k] / calls[k] : 0;
		}
		slow[i] = usual > 0 ? is / usual : NAN;
	}
}

static int rival_by_slow(const void *x, const void *y, void *arg)
{
	const double *slow = arg;
	double a = slow[*(const uint32_t *)x], b = slow[*(const uint32_t *)y];

	return ORDER(a, b);
}

static int rival_by_load(const void *x, const void *y, void *arg)
{
	const struct press_cell *cells = arg;
	int64_t a = cells[*(const uint32_t *)x].time, b = cells[*(const uint32_t *)y].time;

	return ORDER(a, b);
}

static int rival_group_init(struct rival_group *r, const struct press_group *g)
{
	size_t room = MAX(g->count, 1u);

	*r = (struct rival_group){.group = g,
				  .slow = calloc(room, sizeof(*r->slow)),
				  .by_slow = calloc(room, sizeof(*r->by_slow)),
				  .by_load = calloc(room, sizeof(*r->by_load))};
	if (!r->slow || !r->by_slow || !r->by_load)
		return -ENOMEM;
	rival_slowness(g, r->slow);
	for (uint32_t i = 0; i < g->count; i++) {
		r->by_load[i] = i;
		if (!isnan(r->slow[i]))
			r->by_slow[r->slow_count++] = i;
	}
	array_sort_by(r->by_slow, r->slow_count, rival_by_slow, r->slow);
	array_sort_by(r->by_load, g->count, rival_by_load, g->cells);
	return 0;
}

/* A candidate pair. */
struct rival_found {
	uint32_t first, other, lag;
	double correlation;
};

struct rival_device {
	const struct press_cells *cells;
	struct rival_group groups[PRESS_GROUPS]; /* groups to compare */
	size_t count;
	struct rival_point *points;
	uint32_t *own_at, *other_at;
	size_t pairs; /* number with enough windows of both kinds */
	struct rival_found *found;
	size_t found_count, found_cap;
};

static void rival_device_free(struct rival_device *d)
{
	for (size_t i = 0; i < d->count; i++) {
		free(d->groups[i].slow);
		free(d->groups[i].by_slow);
		free(d->groups[i].by_load);
	}
	free(d->points);
	free(d->own_at);
	free(d->other_at);
	free(d->found);
}

static struct rival_pair rival_pair(const struct rival_device *d, size_t first, size_t other)
{
	return (struct rival_pair){.cells = d->cells,
				   .first = &d->groups[first],
				   .other = &d->groups[other],
				   .points = d->points,
				   .own_at = d->own_at,
				   .other_at = d->other_at};
}

/* Tests a pair, and notes it if calls of the first are slower while the other is active. */
static int rival_look(struct rival_device *d, uint32_t first, uint32_t other)
{
	struct rival_pair p = rival_pair(d, first, other);
	int r;

	if (!rival_fit(&p))
		return 0;
	d->pairs++;
	if (p.lost <= 0 || p.busy_mean < p.quiet_mean * (1 + RIVAL_SLOWER) || p.correlation <= 0)
		return 0;
	r = array_add(d->found, d->found_count, d->found_cap,
		      (struct rival_found){first, other, p.lag, p.correlation});
	return r;
}

/* Writes the pair's row if it is significant after correction for the number of tests. */
static int rival_put_found(const struct rival_device *d, const struct rival_found *found,
			   const struct feature_world *w, int64_t dev, struct feature_rows *out)
{
	struct rival_pair p = rival_pair(d, found->first, found->other);
	double chance = 1;
	int r;

	rival_align(&p, found->lag);
	rival_compare(&p);
	p.correlation = found->correlation;
	r = rival_test(&p, &chance);
	chance *= (double)d->pairs * (p.lag ? RIVAL_LAGS + 1 : 1) / 2;
	return r < 0 || chance > RIVAL_P ? r : rival_put(&p, w, dev, out);
}

/* Selects the groups that are large enough; they are sorted, the largest first. */
static int rival_device_init(struct rival_device *d, const struct press_group *groups, size_t count)
{
	int64_t all = 0;
	size_t most = 1;
	int r = 0;

	for (size_t i = 0; i < count; i++)
		all = add_sat_signed(all, groups[i].time);
	while (d->count < MIN(count, (size_t)PRESS_GROUPS) &&
	       groups[d->count].process != FEATURE_NONE &&
	       groups[d->count].time >= all / RIVAL_SHARE && r >= 0) {
		most = MAX(most, groups[d->count].count);
		r = rival_group_init(&d->groups[d->count], &groups[d->count]);
		d->count++;
	}
	d->points = malloc(most * sizeof(*d->points));
	d->own_at = malloc(most * sizeof(*d->own_at));
	d->other_at = malloc(most * sizeof(*d->other_at));
	return r < 0 || !d->points || !d->own_at || !d->other_at ? -ENOMEM : 0;
}

static int rival_device(const struct press_cells *cells, const struct press_group *groups,
			size_t count, const struct feature_world *w, int64_t dev,
			struct feature_rows *out)
{
	_cleanup_(rival_device_free) struct rival_device d = {.cells = cells};
	int r = rival_device_init(&d, groups, count);

	for (uint32_t i = 0; i < d.count; i++) {
		for (uint32_t k = 0; k < d.count && r >= 0; k++)
			r = i == k ? 0 : rival_look(&d, i, k);
	}
	for (size_t i = 0; i < d.found_count && r >= 0; i++)
		r = rival_put_found(&d, &d.found[i], w, dev, out);
	return r;
}

int press_rivals(const struct press_cells *p, const struct feature_world *w, const int64_t *devs,
		 struct feature_rows *out)
{
	int r = 0;

	for (size_t from = 0, to; from < p->group_count && r >= 0; from = to) {
		for (to = from;
		     to < p->group_count && p->groups[to].device == p->groups[from].device;)
			to++;
		r = rival_device(p, &p->groups[from], to - from, w, devs[p->groups[from].device],
				 out);
	}
	return r;
}
