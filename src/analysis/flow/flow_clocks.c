// SPDX-License-Identifier: Apache-2.0
/* flow_clocks.c: bounds of offsets and drifts between the clocks of recordings. */
#include "analysis/flow/flow_clocks.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/map.h"

#define POINTS_MAX 32768 /* per direction, until they are reduced to hulls of slices */
#define SLICES	   128	 /* hulls are kept per slice, so that time can be divided later */
#define DRIFT_MAX  0.01
#define STEPS	   100 /* of a search; each step leaves two thirds or half of the interval */
#define DEPTH_MAX  6

/* At time x the offset is at most, or at least, y. */
struct clock_point {
	int64_t x;
	int64_t y;
};

struct clock_points {
	struct clock_point *all;
	size_t count, cap;
	size_t next; /* count at which they are reduced */
};

/* Bounds of the offset of recording `b` relative to `a`. */
struct clock_pair {
	uint16_t a, b;
	struct clock_points above, below;
	uint64_t pairs;
};

struct flow_clocks {
	struct clock_pair *pairs;
	size_t pair_count, pair_cap;
	struct map by_places;
	struct flow_clock *clocks;
	size_t count;
};

int flow_clocks_new(struct flow_clocks **ret)
{
	*ret = calloc(1, sizeof(**ret));
	return *ret ? 0 : -ENOMEM;
}

void flow_clocks_free(struct flow_clocks *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->pair_count; i++) {
		free(c->pairs[i].above.all);
		free(c->pairs[i].below.all);
	}
	free(c->pairs);
	free(c->clocks);
	map_free(&c->by_places);
	free(c);
}

/* ---- hulls ---- */

static int compare_points(const void *a, const void *b)
{
	const struct clock_point *p = a, *q = b;

	return ORDER(p->x, q->x) ?: ORDER(p->y, q->y);
}

/* True if b is on or beyond the line from a to c; `sign` 1: above it. */
static bool is_inside(const struct clock_point *a, const struct clock_point *b,
		      const struct clock_point *c, int sign)
{
	double left = ((double)(b->y - a->y)) * (double)(c->x - a->x),
	       right = ((double)(c->y - a->y)) * (double)(b->x - a->x);

	return sign > 0 ? left >= right : left <= right;
}

/* Andrew's monotone chain, one side, in place, for sorted points: `sign` 1 keeps the lower hull. Returns the number of points. */
static size_t hull(struct clock_point *p, size_t n, int sign)
{
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		if (kept && p[kept - 1].x == p[i].x) {
			if (sign > 0 ? p[kept - 1].y <= p[i].y : p[kept - 1].y >= p[i].y)
				continue;
			kept--;
		}
		while (kept >= 2 && is_inside(&p[kept - 2], &p[kept - 1], &p[i], sign))
			kept--;
		p[kept++] = p[i];
	}
	return kept;
}

static void points_thin(struct clock_points *p, int sign)
{
	size_t kept = 0;
	int64_t first, span;

	array_sort(p->all, p->count, compare_points);
	first = p->all[0].x;
	span = (p->all[p->count - 1].x - first) / SLICES + 1;
	for (size_t i = 0, to; i < p->count; i = to) {
		int64_t end = first + ((p->all[i].x - first) / span + 1) * span;
		size_t n;

		for (to = i; to < p->count && p->all[to].x < end;)
			to++;
		n = hull(&p->all[i], to - i, sign);
		memmove(&p->all[kept], &p->all[i], n * sizeof(*p->all));
		kept += n;
	}
	p->count = kept;
	p->next = MAX(2 * kept, (size_t)POINTS_MAX);
}

static int points_add(struct clock_points *p, int64_t x, int64_t y, int sign)
{
	if (array_add(p->all, p->count, p->cap, (struct clock_point){x, y}) < 0)
		return -ENOMEM;
	if (p->count > MAX(p->next, (size_t)POINTS_MAX))
		points_thin(p, sign);
	return 0;
}

int flow_clocks_pair(struct flow_clocks *c, uint16_t from, int64_t start, uint16_t to, int64_t end)
{
	uint16_t a = MIN(from, to), b = MAX(from, to);
	uint64_t key = (uint64_t)a << 16 | b;
	struct clock_pair *p =
		array_of_key(c->pairs, c->pair_count, c->pair_cap, &c->by_places, key, NULL);
	if (!p)
		return -ENOMEM;
	p->a = a;
	p->b = b;
	p->pairs++;
	return from == a ? points_add(&p->above, start, end - start, 1)
			 : points_add(&p->below, end, start - end, -1);
}

/* ---- lines ---- */

/* Hulls of a window, relative to its start and to one offset, in ns. */
struct clock_fit {
	struct clock_point *above, *below;
	size_t above_count, below_count;
	double x0, y0;
};

/* The highest intercept at this drift that is below all upper bounds; the lowest that is above all lower bounds. */
static double highest(const struct clock_fit *f, double drift)
{
	double best = DBL_MAX;

	for (size_t i = 0; i < f->above_count; i++)
		best = fmin(best, ((double)f->above[i].y - f->y0) -
					  drift * ((double)f->above[i].x - f->x0));
	return best;
}

static double lowest(const struct clock_fit *f, double drift)
{
	double best = -DBL_MAX;

	for (size_t i = 0; i < f->below_count; i++)
		best = fmax(best, ((double)f->below[i].y - f->y0) -
					  drift * ((double)f->below[i].x - f->x0));
	return best;
}

static double drift_gap(const struct clock_fit *f, double drift)
{
	return highest(f, drift) - lowest(f, drift);
}

static double drift_value(const struct clock_fit *f, double drift, int what, double x)
{
	return what == 0  ? drift_gap(f, drift)
	       : what > 0 ? highest(f, drift) + drift * x
			  : -lowest(f, drift) - drift * x;
}

/*
 * The drift in [from, to] that maximizes a concave function. `what` 0: the gap between highest() and lowest(); 1:
 * highest() at time x; -1: minus lowest() at time x.
 */
static double drift_best(const struct clock_fit *f, double from, double to, int what, double x)
{
	for (int i = 0; i < STEPS; i++) {
		double p = from + (to - from) / 3, q = to - (to - from) / 3;

		if (drift_value(f, p, what, x) < drift_value(f, q, what, x))
			from = p;
		else
			to = q;
	}
	return (from + to) / 2;
}

/* The last drift with a gap, searching from one with a gap towards one that may have none. */
static double drift_edge(const struct clock_fit *f, double good, double bad)
{
	if (drift_gap(f, bad) >= 0)
		return bad;
	for (int i = 0; i < STEPS; i++) {
		double middle = (good + bad) / 2;

		if (drift_gap(f, middle) >= 0)
			good = middle;
		else
			bad = middle;
	}
	return good;
}

/* False if no line fits. */
static bool window_fit(const struct clock_fit *f, struct flow_clock_window *w)
{
	double ends[2] = {(double)w->from - f->x0, (double)w->to - f->x0},
	       best = drift_best(f, -DRIFT_MAX, DRIFT_MAX, 0, 0);

	if (drift_gap(f, best) < 0)
		return false;
	w->drift_low = drift_edge(f, best, -DRIFT_MAX);
	w->drift_high = drift_edge(f, best, DRIFT_MAX);
	for (int i = 0; i < 2; i++) {
		double d = drift_best(f, w->drift_low, w->drift_high, 1, ends[i]);

		w->high[i] = f->y0 + highest(f, d) + d * ends[i];
		d = drift_best(f, w->drift_low, w->drift_high, -1, ends[i]);
		w->low[i] = f->y0 + lowest(f, d) + d * ends[i];
	}
	return true;
}

/* The hull of the points in a window. */
static int window_hull(const struct clock_points *p, int64_t from, int64_t to, int sign,
		       struct clock_point **ret, size_t *ret_count)
{
	size_t n = 0;

	*ret = malloc((p->count + 1) * sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < p->count; i++) {
		if (p->all[i].x >= from && p->all[i].x <= to)
			(*ret)[n++] = p->all[i];
	}
	array_sort(*ret, n, compare_points);
	*ret_count = hull(*ret, n, sign);
	return 0;
}

static int windows_solve(const struct clock_pair *p, int64_t from, int64_t to, int depth,
			 struct flow_clock *k)
{
	_cleanup_free_ struct clock_point *above = NULL, *below = NULL;
	struct clock_fit f = {.x0 = (double)from};
	struct flow_clock_window w = {.from = from, .to = to};
	int r = window_hull(&p->above, from, to, 1, &above, &f.above_count);

	if (r >= 0)
		r = window_hull(&p->below, from, to, -1, &below, &f.below_count);
	if (r < 0 || !f.above_count || !f.below_count)
		return r;
	f.above = above;
	f.below = below;
	f.y0 = (double)below[0].y;
	/* the clock is unknown before and after bytes passed: it may have been slewed */
	w.from = MIN(above[0].x, below[0].x);
	w.to = MAX(above[f.above_count - 1].x, below[f.below_count - 1].x);
	if (window_fit(&f, &w)) {
		if (k->window_count < FLOW_WINDOWS_MAX)
			k->windows[k->window_count++] = w;
		return 0;
	}
	if (depth == DEPTH_MAX || to - from < 2) {
		k->contradicts = true;
		return 0;
	}
	r = windows_solve(p, from, from + (to - from) / 2, depth + 1, k);
	return r < 0 ? r : windows_solve(p, from + (to - from) / 2 + 1, to, depth + 1, k);
}

static int pair_solve(const struct clock_pair *p, struct flow_clock *k)
{
	int64_t from = INT64_MAX, to = INT64_MIN;

	for (size_t i = 0; i < p->above.count; i++) {
		from = MIN(from, p->above.all[i].x);
		to = MAX(to, p->above.all[i].x);
	}
	for (size_t i = 0; i < p->below.count; i++) {
		from = MIN(from, p->below.all[i].x);
		to = MAX(to, p->below.all[i].x);
	}
	k->linked = true;
	k->pairs = p->pairs;
	return windows_solve(p, from, to, 0, k);
}

/* ---- recordings ---- */

/* Bounds of the line at time t, from the nearest window. */
static void bounds_at(const struct flow_clock *k, int64_t t, double *low, double *high)
{
	const struct flow_clock_window *w = &k->windows[0];
	double part;

	for (size_t i = 1; i < k->window_count && k->windows[i].from <= t; i++)
		w = &k->windows[i];
	part = w->to > w->from ? (double)(t - w->from) / (double)(w->to - w->from) : 0;
	*low = w->low[0] + (w->low[1] - w->low[0]) * part;
	*high = w->high[0] + (w->high[1] - w->high[0]) * part;
	if (part < 0 || part > 1) { /* outside the window the drift widens the bounds */
		double beyond = part < 0 ? (double)(w->from - t) : (double)(t - w->to);

		*low = w->low[part > 1] + beyond * (part < 0 ? -w->drift_high : w->drift_low);
		*high = w->high[part > 1] + beyond * (part < 0 ? -w->drift_low : w->drift_high);
	}
}

double flow_clock_offset(const struct flow_clock *k, int64_t t, double *ret_half)
{
	double low = 0, high = 0;

	if (k->window_count)
		bounds_at(k, t, &low, &high);
	if (ret_half)
		*ret_half = (high - low) / 2;
	return (low + high) / 2;
}

/* Inverts the offset of b relative to a, by a's time, to that of a relative to b, by b's time. */
static void window_turn(struct flow_clock_window *w)
{
	double drift = -w->drift_high;

	for (int e = 0; e < 2; e++) {
		double low = -w->high[e];

		*(e ? &w->to : &w->from) += (int64_t)((w->low[e] + w->high[e]) / 2);
		w->high[e] = -w->low[e];
		w->low[e] = low;
	}
	w->drift_high = -w->drift_low;
	w->drift_low = drift;
}

/* Adds (or, with `back`, subtracts) the result of pair_solve() to the known clock of the recording in between. */
static void clock_chain(struct flow_clock *to, const struct flow_clock *between,
			const struct flow_clock *found, bool back)
{
	*to = *found;
	for (size_t i = 0; i < to->window_count; i++) {
		struct flow_clock_window *w = &to->windows[i];

		if (back)
			window_turn(w);
		if (between->same || !between->known)
			continue;
		for (int e = 0; e < 2; e++) {
			int64_t *at = e ? &w->to : &w->from;
			double low, high;

			*at -= (int64_t)flow_clock_offset(between, *at, NULL);
			bounds_at(between, *at, &low, &high);
			w->low[e] += low;
			w->high[e] += high;
		}
		w->drift_low += between->windows[0].drift_low;
		w->drift_high += between->windows[0].drift_high;
	}
}

static bool holds_zero(const struct flow_clock *k)
{
	for (size_t i = 0; i < k->window_count; i++) {
		const struct flow_clock_window *w = &k->windows[i];

		if (w->low[0] > 0 || w->high[0] < 0 || w->low[1] > 0 || w->high[1] < 0)
			return false;
	}
	return !k->contradicts;
}

/* Connects one more recording to a known one; the pair with the most messages is used first. *done: no such pair remains. */
static int clocks_extend(struct flow_clocks *c, const uint64_t *machine, bool *done)
{
	struct clock_pair *best = NULL;
	struct flow_clock found = {0}, *to;
	bool back;
	int r;

	for (size_t i = 0; i < c->pair_count; i++) {
		struct clock_pair *p = &c->pairs[i];

		if (p->a < c->count && p->b < c->count && done[p->a] != done[p->b] &&
		    (!best || p->pairs > best->pairs))
			best = p;
	}
	if (!best)
		return 0;
	back = done[best->b];
	r = pair_solve(best, &found);
	if (r < 0)
		return r;
	to = &c->clocks[back ? best->a : best->b];
	clock_chain(to, &c->clocks[back ? best->b : best->a], &found, back);
	to->over = back ? best->b : best->a;
	to->same = machine[best->a] == machine[best->b] && holds_zero(&found) &&
		   c->clocks[to->over].same;
	to->known = to->same || to->window_count > 0;
	done[back ? best->a : best->b] = true;
	return 1;
}

int flow_clocks_solve(struct flow_clocks *c, const uint64_t *machine, size_t count)
{
	_cleanup_free_ bool *done = calloc(count + 1, sizeof(*done));
	int r = 1;

	c->clocks = calloc(count + 1, sizeof(*c->clocks));
	if (!c->clocks || !done)
		return -ENOMEM;
	c->count = count;
	for (size_t i = 0; i < count; i++) {
		c->clocks[i].same = machine[i] == machine[0];
		c->clocks[i].known = c->clocks[i].same;
	}
	done[0] = true;
	while (r > 0)
		r = clocks_extend(c, machine, done);
	return r;
}

const struct flow_clock *flow_clock(const struct flow_clocks *c, size_t place)
{
	return c && place < c->count ? &c->clocks[place] : NULL;
}

int64_t flow_clock_corrected(const struct flow_clocks *c, size_t place, int64_t t)
{
	const struct flow_clock *k = flow_clock(c, place);
	double offset;

	if (!k || k->same || !k->known || !k->window_count)
		return t;
	offset = flow_clock_offset(k, t, NULL);
	/* the offset is a function of the first clock's time: refine it from there */
	offset = flow_clock_offset(k, t - (int64_t)offset, NULL);
	return t - (int64_t)offset;
}
