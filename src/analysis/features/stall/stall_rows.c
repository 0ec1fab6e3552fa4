// SPDX-License-Identifier: Apache-2.0
/* stall_rows.c: rows by thread, call and object. Medians are from histograms (hist/hist.h): at most 1/32 from the exact value. */
#include <errno.h>
#include <stdlib.h>

#include "analysis/features/stall/stall.h"
#include "base/saturate.h"

struct stall_row {
	struct stall_key key;
	int64_t first, last, last_start;
	int64_t time, paused, longest, runq;
	int64_t thread_id, file_id, peer_id;
	int64_t waker_id, waker_votes; /* majority vote of Boyer and Moore (1981) */
	uint32_t process, file;
	uint32_t times, timeouts, failures;
	uint16_t err; /* of the last failure */
	bool several_files, several_errs, has_runq;
	struct hist durations, periods;
};

struct stall_rows {
	struct intern keys; /* struct stall_key -> index of the row */
	struct stall_row *rows;
	size_t count, cap;
	size_t dense; /* number of histograms stored as arrays */
};

int stall_rows_new(struct stall_rows **ret)
{
	struct stall_rows *r = calloc(1, sizeof(*r));

	*ret = r;
	return r ? 0 : -ENOMEM;
}

void stall_rows_free(struct stall_rows *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->count; i++) {
		hist_free(&r->rows[i].durations);
		hist_free(&r->rows[i].periods);
	}
	intern_free(&r->keys);
	free(r->rows);
	free(r);
}

/* The key to use instead if there is no room for a new one, with fewer and fewer fields. */
static struct stall_key stall_rows_key(const struct stall_rows *r, const struct stall_key *key)
{
	struct stall_key less = *key;
	uint32_t row;

	if (r->count < STALL_ROWS_MAX || intern_find(&r->keys, key, sizeof(*key), &row))
		return *key;
	less.kind = STALL_NOTHING;
	less.object = 0;
	if (r->count < STALL_ROWS_MAX + STALL_ROWS_SPARE ||
	    intern_find(&r->keys, &less, sizeof(less), &row))
		return less;
	less.task = FEATURE_NONE; /* at most one row per call and error */
	return less;
}

static int stall_rows_find(struct stall_rows *r, const struct stall_key *key,
			   const struct stall_sample *s, struct stall_row **ret)
{
	struct stall_key k = stall_rows_key(r, key);
	uint32_t number;
	int e = grow((void **)&r->rows, &r->cap, r->count + 1, sizeof(*r->rows));

	if (e < 0)
		return e;
	e = intern_add(&r->keys, &k, sizeof(k), &number);
	if (e < 0)
		return e;
	assert(number <= r->count);
	*ret = &r->rows[number];
	if (number < r->count)
		return 0;
	r->count++;
	**ret = (struct stall_row){.key = k,
				   .first = INT64_MAX,
				   .last = s->stop,
				   .last_start = FEATURE_NULL,
				   .file = s->file,
				   .file_id = s->file_id,
				   .process = s->process,
				   .peer_id = -1,
				   .waker_id = -1};
	return 0;
}

/*
 * Once there are too many array histograms, one that has become an array accepts no further values: its median is that
 * of the first ones.
 */
static int stall_rows_hist(struct stall_rows *r, struct hist *h, int64_t value, uint64_t n)
{
	bool dense = h->used == HIST_DENSE;
	int e;

	if (r->dense >= STALL_DENSE_MAX && (dense || h->used >= HIST_SPARSE_MAX))
		return 0;
	e = hist_add(h, (uint64_t)MAX(value, 0), n);
	if (!dense && h->used == HIST_DENSE)
		r->dense++;
	return e;
}

static void stall_row_waker(struct stall_row *row, int64_t waker)
{
	if (waker < 0)
		return;
	if (!row->waker_votes)
		row->waker_id = waker;
	row->waker_votes += row->waker_id == waker ? 1 : -1;
}

static void stall_row_count(struct stall_row *row, const struct stall_sample *s)
{
	row->times += s->times;
	row->timeouts += s->timed_out ? s->times : 0;
	row->time = add_sat_signed(row->time, add_sat_signed(s->time, s->paused));
	row->paused = add_sat_signed(row->paused, s->paused);
	row->longest = MAX(row->longest, s->longest);
	if (s->start != FEATURE_NULL)
		row->first = MIN(row->first, s->start);
	row->last = MAX(row->last, s->stop);
	row->thread_id = s->thread_id;
	row->several_files |= row->file != s->file;
	row->file = s->file;
	row->file_id = s->file_id;
	if (s->peer_id >= 0)
		row->peer_id = s->peer_id;
	if (s->err) {
		row->several_errs |= row->failures && row->err != s->err;
		row->err = s->err;
		row->failures += s->times;
	}
	if (s->runq != FEATURE_NULL) {
		row->runq = add_sat_signed(row->runq, s->runq);
		row->has_runq = true;
	}
	stall_row_waker(row, s->waker_id);
}

int stall_rows_add(struct stall_rows *r, const struct stall_key *key, const struct stall_sample *s)
{
	struct stall_row *row;
	bool repeats;
	int e = stall_rows_find(r, key, s, &row);

	assert(s->times > 0);
	if (e < 0)
		return e;
	stall_row_count(row, s);
	/* the interval of a request that takes several calls is that of the pauses */
	repeats = row->paused > 0 && !s->paused;
	e = stall_rows_hist(r, &row->durations, add_sat_signed(s->time, s->paused) / s->times,
			    s->times);
	if (e >= 0 && !repeats && row->last_start != FEATURE_NULL)
		e = stall_rows_hist(r, &row->periods, add_sat_signed(s->start, -row->last_start),
				    1);
	if (!repeats)
		row->last_start = s->start;
	return e;
}

/* ---- the table ---- */

static const char *const stall_words[] = {"idle", "work", "retry", "poll"};

static void stall_row_ids(const struct stall_row *row, const struct feature_world *w,
			  struct batch_row *to)
{
	bool of_one = row->key.task != FEATURE_NONE;
	bool has_file =
		row->file_id >= 0 && (!row->several_files || row->key.kind != STALL_NOTHING);

	row_set_if(to, of_one && row->process != FEATURE_NONE, STALL_PROCESS_ID,
		   feature_id(w->processes, row->process));
	row_set_if(to, of_one && row->thread_id >= 0, STALL_THREAD_ID, row->thread_id);
	row_set_if(to, has_file, STALL_FILE_ID, row->file_id);
	row_set_if(to, row->peer_id >= 0 && row->key.kind == STALL_PEER, STALL_PEER_ID,
		   row->peer_id);
	row_set_if(to, row->waker_id >= 0, STALL_WAKER_ID, row->waker_id);
}

static int stall_row_put(const struct stall_row *row, const struct feature_world *w,
			 struct feature_rows *out)
{
	bool failed = row->failures == row->times && !row->several_errs;
	int64_t typical = MIN((int64_t)hist_quantile(&row->durations, 0.5), row->longest);
	struct batch_row to = feature_row(out);

	stall_row_ids(row, w, &to);
	row_set(&to, STALL_OP, row->key.op);
	row_set(&to, STALL_TIMES, row->times);
	row_set(&to, STALL_TIMEOUTS, row->timeouts);
	row_set(&to, STALL_TIME, row->time);
	row_set(&to, STALL_PAUSED, row->paused);
	row_set(&to, STALL_LONGEST, row->longest);
	row_set(&to, STALL_TYPICAL, typical);
	row_set_if(&to, row->first != INT64_MAX, STALL_FIRST, row->first);
	row_set_if(&to, row->last != FEATURE_NULL, STALL_LAST, row->last);
	row_set_str(&to, STALL_WHAT, stall_words[row->key.what]);
	row_set_if(&to, failed, STALL_ERR, row->err);
	row_set_if(&to, row->has_runq, STALL_RUNQ, row->runq);
	row_set_if(&to, hist_total(&row->periods) > 0, STALL_PERIOD,
		   (int64_t)hist_quantile(&row->periods, 0.5));
	return to.r;
}

int stall_rows_put(const struct stall_rows *r, const struct feature_world *w,
		   struct feature_rows *out)
{
	int e = 0;

	for (size_t i = 0; i < r->count && e >= 0; i++)
		e = stall_row_put(&r->rows[i], w, out);
	return e;
}
