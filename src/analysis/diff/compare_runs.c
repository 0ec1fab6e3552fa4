/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/diff/compare_runs.h"

#include <errno.h>

#include "analysis/diff/internal.h"

static const char *const metric_words[DIFF_METRICS] = {"calls", "latency", "mean", "size",
						       "errors"};
static const char *const by_words[DIFF_BY_COUNT] = {"op", "op_file", "file", "process", "error"};

const char *diff_metric_word(enum diff_metric m)
{
	return metric_words[m];
}

const char *diff_by_word(enum diff_by by)
{
	return by_words[by];
}

static int take_runs(struct work *w)
{
	const struct analysis_run *runs = w->in->runs;
	size_t count = w->in->count;

	w->runs = calloc(count + 1, sizeof(*w->runs));
	if (!w->runs)
		return -ENOMEM;
	for (unsigned int side = 0; side < 2; side++) {
		for (size_t i = 0; i < count; i++) {
			if (runs[i].side != side)
				continue;
			w->runs[w->run_count++].in = &runs[i];
			w->side_runs[side]++;
		}
	}
	w->blocks = MIN(w->side_runs[0], w->side_runs[1]) < DIFF_REPLICATES;
	return 0;
}

static void total(struct diff_total *to, const struct cell *c, double work)
{
	to->time += work > 0 ? c->time / work : 0;
	to->calls += work > 0 ? c->calls / work : 0;
}

static int make_result(struct work *w)
{
	struct diff *d = w->out;

	d->rows = calloc(w->chosen_count + 1, sizeof(*d->rows));
	if (!d->rows)
		return -ENOMEM;
	d->count = w->chosen_count;
	for (size_t j = 0; j < w->run_count; j++) {
		const struct run *r = &w->runs[j];
		unsigned int s = r->in->side;

		d->runs[s]++;
		d->seconds[s] += r->seconds;
		total(&d->io[s], &r->io, d->work[s]);
		total(&d->waiting[s], &r->waiting, d->work[s]);
		total(&d->other[s], &r->other, d->work[s]);
	}
	return 0;
}

static int compare_runs_compare(struct work *w, struct error *err)
{
	int r = load_called(w, err);

	if (r < 0)
		return r;
	r = names_make(w);
	if (r < 0)
		return r;
	r = load_sums(w, err);
	if (r < 0)
		return r;
	r = load_keys(w);
	if (r < 0)
		return r;
	if (w->blocks)
		r = load_blocks(w, err);
	if (r < 0)
		return r;
	r = unit_choose(w, err);
	if (r < 0)
		return r;
	r = make_result(w);
	if (r < 0)
		return r;
	noise_work(w);
	r = noise_shift(w);
	if (r < 0)
		return r;
	r = tests_run(w);
	return r < 0 ? r : rank_rows(w);
}

int diff_compare(const struct analysis_input *in, const struct diff_options *opt, struct diff **ret,
		 struct error *err)
{
	_cleanup_(diff_freep) struct diff *d = calloc(1, sizeof(*d));
	struct work w = {.in = in, .opt = opt, .out = d};
	int r;

	if (!d)
		return error_errno(err, -ENOMEM, "comparing");
	r = take_runs(&w);
	assert(r < 0 || (w.side_runs[0] && w.side_runs[1]));
	if (r >= 0)
		r = compare_runs_compare(&w, err);
	d->texts = w.texts;
	load_free(&w);
	if (r < 0)
		return error_errno(err, r, "comparing");
	*ret = TAKE_PTR(d);
	return 0;
}

void diff_free(struct diff *d)
{
	if (!d)
		return;
	for (size_t i = 0; i < d->count; i++) {
		hist_free(&d->rows[i].side[0].hist);
		hist_free(&d->rows[i].side[1].hist);
	}
	free(d->rows);
	intern_free(&d->texts);
	free(d);
}
