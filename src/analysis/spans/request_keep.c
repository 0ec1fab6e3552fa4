// SPDX-License-Identifier: Apache-2.0
/*
 * request_keep.c: which calls belong to which span, and why: rows of the table span_op, kept beside the trace's own, in the pass in
 * which spans get their sums.
 */
#include <errno.h>

#include "analysis/spans/requests.h"
#include "store/made/made.h"

#define KEEP_ORIGIN  "weir.requests"
#define KEEP_VERSION 2

struct keeping {
	struct requests *q;
	const struct analysis_input *in;
	struct store_writer *to;
	struct batch *rows;
	struct error *err;
};

static int span_op_flush(struct keeping *k)
{
	int r = k->rows->rows ? store_made_rows(k->to, k->rows, k->err) : 0;

	batch_clear(k->rows);
	return r;
}

static int span_op_call(void *arg, const struct span_call *c)
{
	struct keeping *k = arg;
	int64_t id = batch_row_id(c->b, c->row);
	int r = spanset_sum(&k->q->spans, c);
	ssize_t row;

	if (r < 0 || c->unselected)
		return r;
	r = k->rows->rows == BATCH_ROWS_MAX ? span_op_flush(k) : 0;
	row = r < 0 ? r : batch_add_row(k->rows);
	if (row < 0)
		return (int)row;
	r = batch_set(k->rows, SPAN_OP_START, (size_t)row, c->start);
	if (r >= 0)
		r = batch_set(k->rows, SPAN_OP_DUR, (size_t)row, c->part);
	if (r >= 0)
		r = batch_set(k->rows, SPAN_OP_NUMBER, (size_t)row,
			      k->q->spans.all[c->span].number);
	if (r >= 0 && id >= 0)
		r = batch_set(k->rows, SPAN_OP_ROW_ID, (size_t)row, id);
	if (r >= 0)
		r = batch_set(k->rows, SPAN_OP_THREAD_ID, (size_t)row,
			      batch_get(c->b, OP_THREAD_ID, c->row, 0));
	if (r >= 0)
		r = batch_set(k->rows, SPAN_OP_VIA, (size_t)row, c->via);
	k->q->kept += r >= 0;
	return r;
}

static int span_op_stall(void *arg, uint32_t span, int64_t start, int64_t stop)
{
	struct keeping *k = arg;

	return spanset_sum_stall(&k->q->spans, span, start, stop);
}

static int span_op_put(void *arg, struct store_writer *w, uint64_t covered, struct error *err)
{
	struct keeping *k = arg;
	const struct analysis_run *run = &k->in->runs[0];
	const struct store_making what = {.table = TABLE_SPAN_OP,
					  .origin = KEEP_ORIGIN,
					  .version = KEEP_VERSION,
					  .covered = covered};
	struct span_pass p = {.from = INT64_MAX,
			      .to = INT64_MAX,
			      .of = SPAN_NONE,
			      .unselected = true,
			      .call = span_op_call,
			      .stall = span_op_stall,
			      .arg = k};
	int r = store_made_begin(w, &what, err);

	k->to = w;
	k->err = err;
	k->q->kept = 0;
	batch_clear(
		k->rows); /* of an attempt that failed; what comes of another is not stored, and fails */
	for (uint32_t i = 0; i < k->q->spans.count; i++)
		p.from = MIN(p.from, k->q->spans.all[i].start);
	if (r >= 0)
		r = spanset_pass(&k->q->spans, k->in, run, &p, err);
	if (r >= 0)
		r = span_op_flush(k);
	return r < 0 ? r
		     : store_made_end(w,
				      run->from != INT64_MIN || run->to != INT64_MAX || run->where,
				      err);
}

int requests_keep(struct requests *q, const struct analysis_input *in, struct error *err)
{
	_cleanup_(batch_freep) struct batch *rows = NULL;
	struct keeping k = {.q = q, .in = in};
	int r;

	if (in->shared)
		return error_set(err, -EINVAL,
				 "keep: a trace that is being served cannot be changed");
	r = batch_new(&rows, TABLE_SPAN_OP);
	if (r < 0)
		return r;
	k.rows = rows;
	r = store_made_keep(in->runs[0].store, true, span_op_put, &k, err);
	for (size_t i = 0; i < store_made_count(in->runs[0].store) && r >= 0; i++) {
		const struct store_made *m = store_made(in->runs[0].store, i);

		if (m && m->table == TABLE_SPAN_OP && m->trace == TRACE_ASIDE)
			return error_set(
				err, -EROFS,
				"--keep: the calls of spans cannot be stored: the trace is still "
				"being recorded or not writable, or there are several traces");
	}
	if (r >= 0)
		spanset_settle(&q->spans);
	return r;
}
