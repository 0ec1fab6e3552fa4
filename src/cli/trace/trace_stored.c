/* SPDX-License-Identifier: Apache-2.0 */
/*
 * trace_stored.c: a stored trace line by line. Blocks of one trace are ordered by the end of their
 * calls, but long calls have blocks of their own: each trace is two streams, and the lines are the
 * merge of all of them.
 */
#include <errno.h>
#include <string.h>

#include "cli/options/choose.h"
#include "cli/terminal/loss_text.h"
#include "cli/trace/trace.h"

struct stream {
	uint32_t trace;
	bool long_calls;
	size_t block; /* the next to look at */
	struct store_cursor *cursor;
	struct query_cursor *filter_cursor; /* where the filter has an expression */
	const struct batch *batch;	    /* NULL: at its end */
	const uint32_t *rows;		    /* that the expression takes; NULL: all */
	size_t at, count;		    /* of rows */
	size_t row;
	int64_t end; /* of the row */
};

struct merge {
	const struct store *store;
	const struct scan_filter *filter;
	struct stream *streams;
	size_t count;
};

static void merge_free(struct merge *m)
{
	for (size_t i = 0; i < m->count; i++) {
		store_cursor_free(m->streams[i].cursor);
		query_cursor_free(m->streams[i].filter_cursor);
	}
	free(m->streams);
}

static int64_t trace_stored_row_end(const struct batch *b, size_t row, int64_t otherwise)
{
	int64_t start = batch_get(b, OP_START, row, INT64_MIN), end;

	if (start == INT64_MIN || __builtin_add_overflow(start, batch_get(b, OP_DUR, row, 0), &end))
		return otherwise;
	return end;
}

/* The rows of the batch that the filter's expression takes. */
static int take_batch(struct stream *s, struct error *err)
{
	ssize_t count = (ssize_t)s->batch->rows;

	s->rows = NULL;
	if (s->filter_cursor)
		count = query_cursor_rows(s->filter_cursor, s->batch, &s->rows, err);
	s->count = (size_t)MAX(count, (ssize_t)0);
	return (int)MIN(count, (ssize_t)0);
}

/* Puts the stream at its next row that the filter takes; batch is NULL at the end. */
static int trace_stored_stream_advance(const struct merge *m, struct stream *s, struct error *err)
{
	size_t blocks = store_block_count(m->store);

	for (;;) {
		const struct store_block *b;
		int r;

		for (; s->batch && s->at < s->count; s->at++) {
			s->row = s->rows ? s->rows[s->at] : s->at;
			if (!scan_filter_op(m->filter, s->batch, s->row))
				continue;
			s->end = trace_stored_row_end(s->batch, s->row, s->end);
			return 0;
		}
		s->batch = NULL;
		s->at = s->count = 0;
		for (; s->block < blocks; s->block++) {
			b = store_block(m->store, s->block);
			if (b->table == TABLE_OP && b->trace == s->trace &&
			    b->long_calls == s->long_calls && !b->damaged &&
			    (!m->filter->where ||
			     scan_where_block(m->filter->where, m->store, s->block)))
				break;
		}
		if (s->block == blocks)
			return 0;
		r = store_decode(s->cursor, s->block++, ~0ull, &s->batch, err);
		if (r < 0 && r != -EBADMSG)
			return r;
		if (r < 0) { /* counted as damage */
			s->batch = NULL;
			err->code = 0;
		}
		r = s->batch ? take_batch(s, err) : 0;
		if (r < 0)
			return r;
	}
}

static int merge_open(struct merge *m, struct error *err)
{
	size_t traces = store_trace_count(m->store);

	m->streams = calloc(traces * 2, sizeof(*m->streams));
	if (!m->streams)
		return error_set(err, -ENOMEM, "out of memory");
	for (size_t i = 0; i < traces * 2; i++) {
		struct stream *s = &m->streams[m->count++];
		int r;

		*s = (struct stream){
			.trace = (uint32_t)(i / 2), .long_calls = i % 2, .end = INT64_MIN};
		r = store_cursor_new(&s->cursor, m->store);
		if (r == 0 && m->filter->where)
			r = query_cursor_new(&s->filter_cursor, m->filter->where->op);
		if (r < 0)
			return error_errno(err, r, "reading the trace");
		r = trace_stored_stream_advance(m, s, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static int merge_run(struct merge *m, struct trace_out *t, struct error *err)
{
	const struct dims *dims = store_dims(m->store);

	for (;;) {
		struct stream *first = NULL;
		int r;

		for (size_t i = 0; i < m->count; i++) {
			if (m->streams[i].batch && (!first || m->streams[i].end < first->end))
				first = &m->streams[i];
		}
		if (!first)
			return 0;
		r = trace_call(t, first->batch, first->row, dims);
		if (r < 0)
			return r;
		first->at++;
		r = trace_stored_stream_advance(m, first, err);
		if (r < 0)
			return r;
	}
}

static int trace_stored_sum_up(const struct store *store, const struct scan_filter *filter,
			       struct trace_out *t, struct error *err)
{
	const struct scan_options opt = {.keys = ROLLUP_OP, .filter = filter};
	_cleanup_scan_result_ struct scan_result result = {0};
	int r = scan_run(store, &opt, &result, err);

	if (r < 0)
		return r;
	r = rollup_merge(t->rollup, result.rollup);
	return r < 0 ? r : trace_summary(t);
}

int trace_stored(const struct trace_opts *o, int argc, char **argv, struct trace_out *t,
		 struct error *err)
{
	const struct read_flags read = {.sel = o->rec.sel,
					.inputs = o->inputs,
					.utc = o->utc,
					.from = o->from,
					.to = o->to};
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(choice_free) struct choice choice = {0};
	_cleanup_(select_free) struct select select = {0};
	_cleanup_(merge_free) struct merge merge = {0};
	struct loss loss;
	int64_t first, last;
	int r;

	if (trace_out_begin(t, o, err) < 0)
		return -EIO;
	if (read_flags_select(&read, &select, err) < 0)
		return -EINVAL;
	r = read_flags_open(&read, argc, argv, &store, err);
	if (r < 0)
		return -EIO; /* whatever is wrong with the trace, the usage is not */
	store_range(store, &first, &last);
	r = choice_make(&choice, &select, store_dims(store));
	if (r == 0 &&
	    read_flags_range(&read, first, last, &choice.filter.from, &choice.filter.to, err) < 0)
		return -EINVAL;
	if (r < 0)
		return r;
	r = choice_where(&choice, &read.sel.where, store, err);
	if (r < 0)
		return r;
	t->origin = first;
	if (t->rollup) {
		r = trace_stored_sum_up(store, &choice.filter, t, err);
	} else {
		merge.store = store;
		merge.filter = &choice.filter;
		r = merge_open(&merge, err);
		if (r == 0)
			r = merge_run(&merge, t, err);
	}
	if (r >= 0)
		r = loss_read(&loss, store, err);
	if (r >= 0)
		loss_warn(&loss);
	return r;
}
