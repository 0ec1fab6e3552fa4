/* SPDX-License-Identifier: Apache-2.0 */
/* rank.c: rows of the result: which of them changed, which only repeat what a more specific one shows, and their order. */
#include <errno.h>
#include <math.h>

#include "base/array.h"

#include "analysis/diff/internal.h"

#define EXPLAINS 0.8 /* a part with this fraction of a row's difference is shown instead */

/* The difference per unit of work. */
static double unit_diff(const struct diff *d, uint64_t a, uint64_t b)
{
	return (d->work[1] > 0 ? (double)b / d->work[1] : 0) -
	       (d->work[0] > 0 ? (double)a / d->work[0] : 0);
}

/* Errors that depend on timing: their absence has no significance. */
static bool by_chance(int64_t err)
{
	return err == EAGAIN || err == EINTR || err == ETIMEDOUT || err == EINPROGRESS ||
	       err == EALREADY;
}

/* True if each run of a side has it in all of its parts, as far as parts are known. */
static bool all_through(const struct work *w, size_t key, unsigned int side)
{
	for (size_t j = 0; j < w->run_count; j++) {
		const struct run *r = &w->runs[j];

		if (r->in->side == side && noise_parts_used(r, &w->keys[key]) < PARTS - 1)
			return false;
	}
	return true;
}

/*
 * True if only one side has it, in each of its runs, and not by chance: otherwise the runs do the same work, or it
 * occurs throughout the run.
 */
static bool is_new(const struct work *w, size_t key)
{
	const struct diff *d = w->out;
	const struct key *k = &w->keys[key];
	unsigned int s = k->side[0].runs ? 0 : 1;

	if (d->lossy[0] || d->lossy[1] || k->side[s].runs != d->runs[s])
		return false;
	if (k->by == DIFF_ERROR && by_chance(k->err))
		return false;
	return d->repeatable || all_through(w, key, s);
}

static void fill_row(struct work *w, size_t i)
{
	struct diff_row *row = &w->out->rows[i];
	struct key *k = &w->keys[w->chosen[i]];

	row->by = k->by;
	row->op = k->op;
	row->err = k->err;
	if (k->label != LABEL_NONE) {
		row->name = w->labels[k->label].text;
		row->pattern = w->labels[k->label].pattern;
	}
	row->time_diff = unit_diff(w->out, k->side[0].time_ns, k->side[1].time_ns);
	row->presence = !k->side[0].calls   ? DIFF_ONLY_B
			: !k->side[1].calls ? DIFF_ONLY_A
					    : DIFF_BOTH;
	row->changed = row->presence != DIFF_BOTH && is_new(w, w->chosen[i]);
	for (unsigned int m = 0; m < DIFF_METRICS; m++)
		row->changed |= row->test[m].changed;
	row->side[0] = k->side[0];
	row->side[1] = k->side[1];
	/* the row now owns the histograms */
	k->side[0].hist = k->side[1].hist = (struct hist){0};
}

/* ---- the row to show ---- */

static bool rank_same_name(const struct diff_row *a, const struct diff_row *b)
{
	return a->name.data == b->name.data;
}

static bool explains(const struct diff_row *part, const struct diff_row *whole)
{
	return fabs(part->time_diff) >= EXPLAINS * fabs(whole->time_diff) &&
	       part->time_diff * whole->time_diff >= 0;
}

static double calls_diff(const struct diff *d, const struct diff_row *row)
{
	return unit_diff(d, row->side[0].calls, row->side[1].calls);
}

/* False if the number of calls changed beyond this part. */
static bool explains_calls(const struct diff *d, const struct diff_row *part,
			   const struct diff_row *whole)
{
	double of_part = calls_diff(d, part), of_whole = calls_diff(d, whole);

	return !whole->test[DIFF_CALLS].changed ||
	       (of_part * of_whole > 0 && fabs(of_part) >= EXPLAINS * fabs(of_whole));
}

static bool rank_is_part(const struct diff_row *part, const struct diff_row *whole)
{
	if (part->by != DIFF_OP_FILE)
		return false;
	return whole->by == DIFF_OP ? part->op == whole->op
				    : whole->by == DIFF_FILE && rank_same_name(part, whole);
}

/* A file that only one side has represents all operations on it. */
static void list_new_files(struct diff *d)
{
	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *f = &d->rows[i];

		f->listed = f->changed && f->by == DIFF_FILE && f->presence != DIFF_BOTH;
	}
}

static bool of_new_file(const struct diff *d, const struct diff_row *row)
{
	for (size_t i = 0; i < d->count && row->name.data; i++) {
		if (d->rows[i].by == DIFF_FILE && d->rows[i].listed &&
		    rank_same_name(&d->rows[i], row))
			return true;
	}
	return false;
}

/*
 * An operation is represented by the one file whose calls changed, if that explains the change, otherwise by itself: a
 * change of all of its files may be significant in only one of them. Its figures are a mixture over files; files that
 * appeared or disappeared change it, and have rows of their own.
 */
static void list_operation(struct diff *d, struct diff_row *op)
{
	struct diff_row *only = NULL, *best = NULL;
	bool mixture = false;
	size_t changed = 0;

	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *p = &d->rows[i];

		if (!p->changed || !rank_is_part(p, op))
			continue;
		if (of_new_file(d, p)) {
			mixture = true;
			continue;
		}
		changed++;
		only = p;
		if (explains(p, op) && (!best || fabs(p->time_diff) > fabs(best->time_diff)))
			best = p;
	}
	if (changed == 1 && (mixture || explains_calls(d, only, op)))
		best = only;
	if (op->changed && best)
		best->listed = true;
	else if (op->changed && !mixture)
		op->listed = true;
	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *p = &d->rows[i];

		if (p->changed && rank_is_part(p, op) && !op->listed && !best && !of_new_file(d, p))
			p->listed = true;
	}
	if (best)
		best->listed = true;
}

static void list_files(struct diff *d, struct diff_row *f)
{
	bool told = f->listed;

	for (size_t i = 0; i < d->count && !told; i++)
		told = d->rows[i].changed && rank_is_part(&d->rows[i], f);
	f->listed |= f->changed && !told;
}

/* Lists programs only for what operations do not show; errors are listed separately. */
static void list_rows(struct diff *d)
{
	bool any = false;

	list_new_files(d);
	for (size_t i = 0; i < d->count; i++) {
		if (d->rows[i].by == DIFF_OP)
			list_operation(d, &d->rows[i]);
	}
	for (size_t i = 0; i < d->count; i++) {
		if (d->rows[i].by == DIFF_FILE)
			list_files(d, &d->rows[i]);
		any |= d->rows[i].listed;
	}
	for (size_t i = 0; i < d->count; i++) {
		struct diff_row *row = &d->rows[i];

		if (row->by == DIFF_PROCESS)
			row->listed = row->changed && (!any || row->presence != DIFF_BOTH);
		if (row->by == DIFF_ERROR)
			row->listed = row->changed && !of_new_file(d, row);
	}
}

/* ---- order ---- */

static int rank_by_time(const void *a, const void *b)
{
	const struct diff_row *x = a, *y = b;
	int order = ORDER(y->listed, x->listed) ?: ORDER(fabs(y->time_diff), fabs(x->time_diff));

	order = order ?: ORDER(x->by, y->by) ?: ORDER(x->op, y->op) ?: ORDER(x->err, y->err);
	return order ?: bytes_compare(x->name, y->name);
}

/* The sum of all differences, each counted once: by operation and file, and calls without a file. */
static double all_differences(const struct diff *d)
{
	double sum = 0;

	for (size_t i = 0; i < d->count; i++) {
		const struct diff_row *row = &d->rows[i];
		double rest = row->time_diff;

		if (row->by == DIFF_OP_FILE)
			sum += fabs(row->time_diff);
		if (row->by != DIFF_OP)
			continue;
		for (size_t k = 0; k < d->count; k++)
			rest -= rank_is_part(&d->rows[k], row) ? d->rows[k].time_diff : 0;
		sum += fabs(rest);
	}
	return sum;
}

int rank_rows(struct work *w)
{
	struct diff *d = w->out;
	double all;

	for (size_t i = 0; i < d->count; i++)
		fill_row(w, i);
	list_rows(d);
	all = all_differences(d);
	for (size_t i = 0; i < d->count; i++) {
		d->rows[i].share = all > 0 ? d->rows[i].time_diff / all : 0;
		d->listed += d->rows[i].listed;
	}
	array_sort(d->rows, d->count, rank_by_time);
	return 0;
}
