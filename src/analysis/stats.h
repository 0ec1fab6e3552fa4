/* SPDX-License-Identifier: Apache-2.0 */
/* stats.h: statistical functions for analyses. Sources: docs/howto/diff.md. */
#pragma once

#include "base/util.h"

/* P(|T| >= t) of Student's distribution with `df` degrees of freedom. */
double stats_student_p(double t, double df);
/* The t that |T| exceeds with probability `p` (two-sided). */
double stats_student_quantile(double p, double df);
/*
 * Two-sided p of the Mann-Whitney test: exact without ties and for at most 20 values per side, otherwise the normal
 * approximation. 1 if a side is empty. 0 <= *ret; -ENOMEM.
 */
int stats_mann_whitney(const double *a, size_t na, const double *b, size_t nb, double *ret);
/* The q-values of Benjamini and Hochberg for p[0..n). 0 or -ENOMEM. */
int stats_correct(const double *p, size_t n, double *q);
/* Both sort v. 0 if n is 0. */
double stats_median(double *v, size_t n);
struct weighted {
	double v, weight;
};
double stats_weighted_median(struct weighted *v, size_t n);
double stats_mean(const double *v, size_t n);
/* Sum of squared deviations from the mean. */
double stats_squares(const double *v, size_t n);
