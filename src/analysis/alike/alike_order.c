// SPDX-License-Identifier: Apache-2.0
/*
 * alike_order.c: which data is reread, and in which order. The k-th read of data belongs to epoch k; if data exists in
 * several copies (as blocks often do), an epoch has as many of its reads as there are copies. Epochs therefore need no
 * markers, and may overlap if the last reads of one come after the first of the next.
 *
 * Two orders are compared over the kinds of data that occur once in both:
 *
 *   tau          Kendall, "A new measure of rank correlation", Biometrika 30, 1938: pairs in the same order minus pairs in the
 *                opposite order, divided by all: 1 the same order, -1 reversed, near 0 shuffled. For a random order of n its
 *                variance is 2(2n + 5) / 9n(n - 1); up to three standard deviations from 0 are called shuffled.
 *   neighbours   of the pairs that are adjacent in one order, the fraction that is in the other, too: 1 minus the R-distance of
 *                Campos, Laguna and Marti, "Context-independent scatter and tabu search for permutation problems", 2005, divided
 *                by its maximum. It reveals runs: files in random order, each read from its beginning, keep their neighbours but
 *                not tau.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/alike/alike.h"
#include "base/array.h"
#include "schema/vocab.h"

#define EPOCHS_MAX 10000

static bool read_is(const struct alike *a, const struct alike_call *c)
{
	struct dims_file room;
	const struct dims_file *f;

	if (c->way != WAY_IN || c->copies || c->kind == ALIKE_NONE)
		return false;
	f = c->file == ALIKE_NONE ? NULL : dims_file(a->dims, alike_file_id(a, c), &room);
	return f && (f->type == FILE_TYPE_REGULAR || f->type == FILE_TYPE_BLOCK);
}

/* ---- epochs ---- */

/* Number of reads of each kind. */
static uint32_t *reads_count(struct alike *a)
{
	uint32_t *reads = calloc(a->kind_count + 1, sizeof(*reads));

	for (size_t i = 0; reads && i < a->call_count; i++) {
		if (read_is(a, &a->calls[i])) {
			reads[a->calls[i].kind]++;
			a->read_count++;
		}
	}
	return reads;
}

/* The number of times that most of the data, by size, is read; 1: nothing is reread. */
static int epochs_count(const struct alike *a, const uint32_t *reads, uint32_t *ret)
{
	_cleanup_(map_free) struct map bytes = {0};
	uint64_t times, sum, most = 0;
	size_t pos = 0;
	int r = 0;

	*ret = 1;
	for (size_t i = 0; i < a->kind_count && r >= 0; i++) {
		sum = 0;
		if (reads[i] < 2)
			continue;
		map_get(&bytes, reads[i], &sum);
		r = map_set(&bytes, reads[i], sum + (uint64_t)a->kinds[i].bytes);
	}
	while (map_next(&bytes, &pos, &times, &sum)) {
		if (sum > most || (sum == most && times < *ret)) {
			most = sum;
			*ret = (uint32_t)MIN(times, (uint64_t)EPOCHS_MAX);
		}
	}
	return r;
}

/* Assigns each read to its epoch: counts them, or with `place` lists them. Data read once has none. */
static void reads_assign(struct alike *a, const uint32_t *reads, uint32_t epochs, uint32_t *done,
			 bool place)
{
	memset(done, 0, a->kind_count * sizeof(*done));
	for (size_t i = 0; i < a->call_count; i++) {
		uint32_t kind = a->calls[i].kind, copies;
		struct alike_epoch *e;

		if (!read_is(a, &a->calls[i]) || reads[kind] < 2)
			continue;
		copies = MAX((reads[kind] + epochs / 2) / epochs, 1u);
		e = &a->epochs[MIN(done[kind]++ / copies, (uint32_t)EPOCHS_MAX - 1)];
		if (place)
			a->reads[e->first + e->reads] = (uint32_t)i;
		e->reads++;
	}
}

static int reads_find(struct alike *a, const uint32_t *reads, uint32_t epochs)
{
	_cleanup_free_ uint32_t *done = malloc((a->kind_count + 1) * sizeof(*done));
	size_t count = 0;

	a->epochs = calloc(EPOCHS_MAX, sizeof(*a->epochs));
	if (!done || !a->epochs)
		return -ENOMEM;
	reads_assign(a, reads, epochs, done, false);
	for (size_t i = 0; i < EPOCHS_MAX && a->epochs[i].reads; i++) {
		a->epochs[i].first = count;
		count += a->epochs[i].reads;
		a->epochs[i].reads = 0;
		a->epoch_count = i + 1;
	}
	a->once = a->read_count - count;
	a->read_count = count;
	a->reads = malloc((count + 1) * sizeof(*a->reads));
	if (!a->reads)
		return -ENOMEM;
	reads_assign(a, reads, epochs, done, true);
	return 0;
}

/* ---- orders ---- */

/* Counts inversions in [from, to), and sorts it. */
static uint64_t inversions(uint32_t *v, uint32_t *room, size_t count)
{
	uint64_t n = 0;

	for (size_t width = 1; width < count; width *= 2) {
		for (size_t from = 0; from < count; from += 2 * width) {
			size_t middle = MIN(from + width, count), to = MIN(from + 2 * width, count),
			       i = from, k = middle;

			for (size_t at = from; at < to; at++) {
				bool left = i < middle && (k == to || v[i] <= v[k]);

				n += left ? 0 : middle - i;
				room[at] = left ? v[i++] : v[k++];
			}
		}
		memcpy(v, room, count * sizeof(*v));
	}
	return n;
}

static const char *tau_word(double tau, double neighbours, size_t n)
{
	double chance = sqrt(2.0 * (2.0 * (double)n + 5) / (9.0 * (double)n * ((double)n - 1)));

	if (tau == 1)
		return "same";
	if (tau == -1)
		return "reversed";
	if (fabs(tau) <= 3 * chance)
		return neighbours >= 0.5 ? "shuffled in runs" : "shuffled";
	return tau > 0 ? "much the same" : "much reversed";
}

/* `v`: for each common kind, in the order of the later epoch, its position in the earlier one. */
static int order_compare(struct alike_epoch *e, uint32_t *v, size_t n)
{
	_cleanup_free_ uint32_t *room = malloc((n + 1) * sizeof(*room));
	uint64_t kept = 0;

	if (!room)
		return -ENOMEM;
	e->common = (uint32_t)n;
	e->tau = e->neighbours = NAN;
	if (n < 2)
		return 0;
	for (size_t i = 1; i < n; i++)
		kept += v[i] == v[i - 1] + 1;
	e->neighbours = (double)kept / (double)(n - 1);
	e->tau = 1 - 4.0 * (double)inversions(v, room, n) / ((double)n * (double)(n - 1));
	e->order = tau_word(e->tau, e->neighbours, n);
	return 0;
}

/* For a kind: how often an epoch and the one before it read it (2: or more), and its place in the earlier. */
struct read_kind {
	uint32_t place;
	uint8_t before, now;
};

static bool read_in_both(const struct read_kind *k)
{
	return k->before == 1 && k->now == 1;
}

static struct read_kind *read_kind_of(const struct alike *a, struct read_kind *kinds, size_t read)
{
	return &kinds[a->calls[a->reads[read]].kind];
}

/* Compares the order of the kinds that an epoch and the one before it both have once. `kinds` is zeroed, and stays so. */
static int epochs_compare(struct alike *a, struct alike_epoch *e, struct read_kind *kinds)
{
	_cleanup_free_ uint32_t *v = malloc((e->reads + 1) * sizeof(*v));
	size_t before = e[-1].first, to = e->first + e->reads, n = 0;
	uint32_t place = 0;

	if (!v)
		return -ENOMEM;
	for (size_t i = before; i < to; i++) {
		struct read_kind *k = read_kind_of(a, kinds, i);
		uint8_t *times = i < e->first ? &k->before : &k->now;

		*times = (uint8_t)MIN(*times + 1, 2);
	}
	for (size_t i = before; i < to; i++) {
		struct read_kind *k = read_kind_of(a, kinds, i);

		if (!read_in_both(k))
			continue;
		if (i < e->first)
			k->place = place++;
		else
			v[n++] = k->place;
	}
	for (size_t i = before; i < to; i++)
		*read_kind_of(a, kinds, i) = (struct read_kind){0};
	return order_compare(e, v, n);
}

static int epochs_make(struct alike *a)
{
	_cleanup_free_ struct read_kind *kinds = calloc(a->kind_count + 1, sizeof(*kinds));
	int r = kinds ? 0 : -ENOMEM;

	for (size_t k = 0; k < a->epoch_count && r >= 0; k++) {
		struct alike_epoch *e = &a->epochs[k];

		e->from = INT64_MAX;
		e->tau = e->neighbours = NAN;
		for (size_t i = e->first; i < e->first + e->reads; i++) {
			const struct alike_call *c = &a->calls[a->reads[i]];

			e->bytes += c->bytes;
			e->from = MIN(e->from, c->start);
			e->to = MAX(e->to, alike_call_end(c));
		}
		r = k ? epochs_compare(a, e, kinds) : 0;
	}
	return r;
}

int alike_make_order(struct alike *a)
{
	_cleanup_free_ uint32_t *reads = reads_count(a);
	uint32_t epochs;
	int r = reads ? epochs_count(a, reads, &epochs) : -ENOMEM;

	if (r < 0)
		return r;
	r = reads_find(a, reads, epochs);
	return r < 0 ? r : epochs_make(a);
}
