// SPDX-License-Identifier: Apache-2.0
/*
 * request_keep.c: stores which calls belong to which span, and why, as table span_op, in the same pass that computes
 * the sums of spans.
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
	struct error *err;
};

static int span_op_call(void *arg, const struct span_call *c)
{
	struct keeping *k = arg;
	int64_t id = batch_row_id(c->b, c->row);
	struct batch_row row;

	if (c->unselected)
		return 0;
	row = store_made_row(k->to, k->err);
	row_set(&row, SPAN_OP_START, c->start);
	row_set(&row, SPAN_OP_DUR, c->part);
	row_set(&row, SPAN_OP_NUMBER, k->q->spans.all[c->span].number);
	row_set_if(&row, id >= 0, SPAN_OP_ROW_ID, id);
	row_set(&row, SPAN_OP_THREAD_ID, batch_get(c->b, OP_THREAD_ID, c->row, 0));
	row_set(&row, SPAN_OP_VIA, c->via);
	k->q->kept += row.r >= 0;
	return row.r;
}

static int span_op_rows(void *arg, struct store_writer *w, struct error *err)
{
	struct keeping *k = arg;
	struct span_pass p = {
		.of = SPAN_NONE, .sum = true, .unselected = true, .call = span_op_call, .arg = k};

	k->to = w;
	k->err = err;
	k->q->kept = 0;
	spanset_range(&k->q->spans, &p.from, &p.to);
	p.to = INT64_MAX;
	return spanset_pass(&k->q->spans, k->in, &k->in->runs[0], &p, err);
}

int requests_keep(struct requests *q, const struct analysis_input *in, struct error *err)
{
	static const struct store_making what = {
		.table = TABLE_SPAN_OP, .origin = KEEP_ORIGIN, .version = KEEP_VERSION};
	const struct analysis_run *run = &in->runs[0];
	bool partial = run->from != INT64_MIN || run->to != INT64_MAX || run->where;
	struct keeping k = {.q = q, .in = in};
	int r;

	if (in->shared)
		return error_set(err, -EINVAL,
				 "keep: a trace that is being served cannot be changed");
	r = store_made_table(run->store, true, &what, partial, "calls of spans", span_op_rows, &k,
			     err);
	if (r < 0)
		return r;
	spanset_settle(&q->spans);
	return r;
}
