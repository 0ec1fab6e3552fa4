// SPDX-License-Identifier: Apache-2.0
/*
 * request_clusters.c: clusters requests of one name by the shares of their time, like Magpie (Barham et al., OSDI
 * 2004), with k-means (Lloyd 1982). Initial centres are as far apart as possible (Gonzalez 1985), and are added while
 * some request is FAR from all; nothing is random. Clusters that are too small, and requests far from their centre, are
 * outliers.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/array.h"

#include "analysis/spans/requests.h"

/* distance of shares: of a request from all centres, above which another centre is added */
#define FAR	   0.25
#define ODD	   0.35 /* distance of a request from its centre, above which it is an outlier */
#define ROUNDS_MAX 30
#define SMALL	   100 /* minimum size of a cluster: one in this many requests */

struct clustering {
	const struct requests *q;
	const struct requests_group *g;
	double (*shares)[SPAN_TIMES]; /* [g->count] */
	uint8_t *of;		      /* [g->count]: index of the centre */
	double centres[REQUESTS_CLUSTERS_MAX][SPAN_TIMES];
	size_t count;
};

static void clustering_free(struct clustering *k)
{
	free(k->shares);
	free(k->of);
}

static double cluster_distance(const double *a, const double *b)
{
	double sum = 0;

	for (unsigned int i = 0; i < SPAN_TIMES; i++)
		sum += (a[i] - b[i]) * (a[i] - b[i]);
	return sqrt(sum);
}

static double cluster_nearest(const struct clustering *k, uint32_t i, uint8_t *ret)
{
	double least = INFINITY;

	*ret = 0;
	for (size_t c = 0; c < k->count; c++) {
		double d = cluster_distance(k->shares[i], k->centres[c]);

		if (d < least) {
			least = d;
			*ret = (uint8_t)c;
		}
	}
	return least;
}

/* True while requests move to another centre. */
static bool cluster_round(struct clustering *k)
{
	double sums[REQUESTS_CLUSTERS_MAX][SPAN_TIMES] = {0};
	uint32_t counts[REQUESTS_CLUSTERS_MAX] = {0};
	bool moved = false;

	for (uint32_t i = 0; i < k->g->count; i++) {
		uint8_t was = k->of[i];

		cluster_nearest(k, i, &k->of[i]);
		moved |= k->of[i] != was;
		counts[k->of[i]]++;
		for (unsigned int t = 0; t < SPAN_TIMES; t++)
			sums[k->of[i]][t] += k->shares[i][t];
	}
	for (size_t c = 0; c < k->count; c++) {
		for (unsigned int t = 0; t < SPAN_TIMES && counts[c]; t++)
			k->centres[c][t] = sums[c][t] / counts[c];
	}
	return moved;
}

static void cluster_all(struct clustering *k)
{
	while (k->count < REQUESTS_CLUSTERS_MAX) {
		double most = -1;
		uint32_t far = 0;
		uint8_t ignored;

		for (uint32_t i = 0; i < k->g->count; i++) {
			double d = k->count ? cluster_nearest(k, i, &ignored) : 0;

			if (d > most) {
				most = d;
				far = i;
			}
		}
		if (k->count && most < FAR)
			break;
		if (!k->count)
			far = k->g->count / 2;
		memcpy(k->centres[k->count++], k->shares[far], sizeof(k->centres[0]));
	}
	for (int round = 0; round < ROUNDS_MAX && cluster_round(k); round++)
		;
}

static int clustering_make(struct clustering *k)
{
	k->shares = calloc(k->g->count, sizeof(*k->shares));
	k->of = calloc(k->g->count, sizeof(*k->of));
	if (!k->shares || !k->of)
		return -ENOMEM;
	for (uint32_t i = 0; i < k->g->count; i++) {
		const struct span *s = &k->q->spans.all[k->g->spans[i]];
		int64_t dur = span_dur(s), time[SPAN_TIMES];

		spanset_times(s, time);
		for (unsigned int t = 0; t < SPAN_TIMES; t++)
			k->shares[i][t] = dur ? (double)time[t] / (double)dur : t == SPAN_PROGRAM;
	}
	cluster_all(k);
	return 0;
}

/* ---- results ---- */

struct cluster_odd {
	uint32_t span;
	double far;
};

static int odd_order(const void *a, const void *b)
{
	const struct cluster_odd *x = a, *y = b;

	return ORDER(y->far, x->far) ?: ORDER(x->span, y->span);
}

static int cluster_order(const void *a, const void *b)
{
	const struct requests_cluster *x = a, *y = b;

	return ORDER(y->size, x->size) ?: ORDER(x->typical, y->typical);
}

/* Fills in a cluster for display. Its spans are visited in order of their durations. */
static void cluster_fill(const struct clustering *k, const double *far, const bool *odd, uint8_t c,
			 struct requests_cluster *to)
{
	uint32_t seen = 0;
	double least = INFINITY;

	memcpy(to->centre, k->centres[c], sizeof(to->centre));
	for (uint32_t i = 0; i < k->g->count; i++) {
		to->size += k->of[i] == c && !odd[i];
	}
	for (uint32_t i = 0; i < k->g->count; i++) {
		int64_t dur = span_dur(&k->q->spans.all[k->g->spans[i]]);

		if (k->of[i] != c || odd[i])
			continue;
		if (far[i] < least) {
			least = far[i];
			to->typical = k->g->spans[i];
		}
		if (seen == to->size / 2)
			to->p50 = dur;
		if (seen == (uint32_t)(0.99 * to->size))
			to->p99 = dur;
		to->max = dur;
		seen++;
	}
}

static int clusters_put(struct requests *q, const struct clustering *k, double *far, bool *odd,
			struct cluster_odd *all)
{
	struct requests_clusters *to = &q->clusters;
	uint32_t counts[REQUESTS_CLUSTERS_MAX] = {0};
	size_t count = 0;

	for (uint32_t i = 0; i < k->g->count; i++)
		counts[k->of[i]]++;
	for (uint32_t i = 0; i < k->g->count; i++) {
		far[i] = cluster_distance(k->shares[i], k->centres[k->of[i]]);
		odd[i] = far[i] > ODD || (uint64_t)counts[k->of[i]] * SMALL < k->g->count;
		if (odd[i])
			all[count++] = (struct cluster_odd){k->g->spans[i], far[i]};
	}
	array_sort(all, count, odd_order);
	to->outliers = calloc(count + 1, sizeof(*to->outliers));
	if (!to->outliers)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++)
		to->outliers[to->outlier_count++] = all[i].span;
	for (size_t c = 0; c < k->count; c++) {
		struct requests_cluster is = {0};

		cluster_fill(k, far, odd, (uint8_t)c, &is);
		if (is.size)
			to->all[to->count++] = is;
	}
	qsort(to->all, to->count, sizeof(to->all[0]), cluster_order);
	return 0;
}

int requests_make_clusters(struct requests *q)
{
	const struct requests_group *g = requests_largest(q);
	_cleanup_(clustering_free) struct clustering k = {.q = q, .g = g};
	_cleanup_free_ double *far = NULL;
	_cleanup_free_ bool *odd = NULL;
	_cleanup_free_ struct cluster_odd *all = NULL;
	int r;

	if (!g)
		return 0;
	q->clusters.name = g->name;
	far = calloc(g->count, sizeof(*far));
	odd = calloc(g->count, sizeof(*odd));
	all = calloc(g->count, sizeof(*all));
	if (!far || !odd || !all)
		return -ENOMEM;
	r = clustering_make(&k);
	return r < 0 ? r : clusters_put(q, &k, far, odd, all);
}
