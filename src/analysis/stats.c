/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/stats.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"

#define FRACTION_STEPS 300
#define BISECTIONS     80
#define EXACT_MAX      20

/* The continued fraction of the incomplete beta function (Lentz's method). */
static double beta_fraction(double a, double b, double x)
{
	double c = 1, d = 1 - (a + b) * x / (a + 1), h;

	d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
	h = d;
	for (int m = 1; m <= FRACTION_STEPS; m++) {
		double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
		double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
		double step;

		d = 1 + even * d;
		c = 1 + even / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		h *= d * c;
		d = 1 + odd * d;
		c = 1 + odd / c;
		d = 1 / (fabs(d) < 1e-300 ? 1e-300 : d);
		step = d * c;
		h *= step;
		if (fabs(step - 1) < 1e-14)
			break;
	}
	return h;
}

/* I_x(a, b) */
static double beta_share(double a, double b, double x)
{
	double front;

	if (x <= 0 || x >= 1)
		return x <= 0 ? 0 : 1;
	front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x));
	if (x < (a + 1) / (a + b + 2))
		return front * beta_fraction(a, b, x) / a;
	return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

double stats_student_p(double t, double df)
{
	assert(df > 0);
	if (!isfinite(t))
		return isnan(t) ? 1 : 0;
	return beta_share(df / 2, 0.5, df / (df + t * t));
}

double stats_student_quantile(double p, double df)
{
	double low = 0, high = 1e6;

	for (int i = 0; i < BISECTIONS; i++) {
		double middle = (low + high) / 2;

		*(stats_student_p(middle, df) > p ? &low : &high) = middle;
	}
	return (low + high) / 2;
}

/*
 * The number of ways to choose na of na + nb ranks with each sum U: counts[u], by the recurrence of Mann and Whitney.
 * Doubles are precise enough.
 */
static double exact_share(size_t na, size_t nb, double u)
{
	size_t top = na * nb;
	double *counts = calloc(top + 1, sizeof(*counts)), all = 0, below = 0;

	if (!counts)
		return -1;
	counts[0] = 1;
	/* the product of (1 - x^(nb + i)) / (1 - x^i) over i = 1 .. na, coefficient by coefficient */
	for (size_t i = 1; i <= na; i++) {
		for (size_t k = top; k >= nb + i && k <= top; k--)
			counts[k] -= counts[k - nb - i];
		for (size_t k = i; k <= top; k++)
			counts[k] += counts[k - i];
	}
	for (size_t k = 0; k <= top; k++) {
		all += counts[k];
		below += (double)k <= u ? counts[k] : 0;
	}
	free(counts);
	return fmin(1, 2 * below / all);
}

int stats_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double *ret)
{
	double u = 0, mean, sd, n = (double)na, m = (double)nb;
	bool ties = false;

	*ret = 1;
	if (!na || !nb)
		return 0;
	for (size_t i = 0; i < na; i++) {
		for (size_t k = 0; k < nb; k++) {
			u += a[i] < b[k] ? 1 : a[i] == b[k] ? 0.5 : 0;
			ties |= a[i] == b[k];
		}
	}
	u = fmin(u, n * m - u);
	if (!ties && na <= EXACT_MAX && nb <= EXACT_MAX) {
		*ret = exact_share(na, nb, u);
		return *ret < 0 ? -ENOMEM : 0;
	}
	mean = n * m / 2;
	sd = sqrt(n * m * (n + m + 1) / 12);
	*ret = erfc(fmax(0, fabs(u - mean) - 0.5) / sd / M_SQRT2);
	return 0;
}

struct ranked {
	double p;
	size_t at;
};

static int by_p(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return ORDER(x->p, y->p);
}

int stats_correct(const double *p, size_t n, double *q)
{
	struct ranked *order = calloc(n + 1, sizeof(*order));
	double least = 1;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct ranked){p[i], i};
	array_sort(order, n, by_p);
	for (size_t i = n; i-- > 0;) {
		least = fmin(least, order[i].p * (double)n / (double)(i + 1));
		q[order[i].at] = least;
	}
	free(order);
	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return ORDER(x, y);
}

double stats_median(double *v, size_t n)
{
	if (!n)
		return 0;
	array_sort(v, n, by_value);
	return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static int by_weighted(const void *a, const void *b)
{
	const struct weighted *x = a, *y = b;

	return ORDER(x->v, y->v);
}

double stats_weighted_median(struct weighted *v, size_t n)
{
	double all = 0, sum = 0;

	if (!n)
		return 0;
	array_sort(v, n, by_weighted);
	for (size_t i = 0; i < n; i++)
		all += v[i].weight;
	for (size_t i = 0; i < n; i++) {
		sum += v[i].weight;
		if (sum * 2 > all)
			return v[i].v;
		if (sum * 2 == all && i + 1 < n)
			return (v[i].v + v[i + 1].v) / 2;
	}
	return v[n - 1].v;
}

double stats_mean(const double *v, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += v[i];
	return n ? sum / (double)n : 0;
}

double stats_squares(const double *v, size_t n)
{
	double mean = stats_mean(v, n), sum = 0;

	for (size_t i = 0; i < n; i++)
		sum += (v[i] - mean) * (v[i] - mean);
	return sum;
}
