/* SPDX-License-Identifier: Apache-2.0 */
/* trace_stored.c: prints a stored trace line by line. */
#include <errno.h>

#include "base/array.h"
#include "base/saturate.h"
#include "cli/options/choose.h"
#include "cli/record/recorded.h"
#include "cli/terminal/loss_text.h"
#include "cli/trace/trace.h"
#include "engine/ask.h"

#define LONG_LINES_MAX (64u << 20) /* maximum bytes of held lines of long calls */

/* A scan over calls, with the rows that belong to them. */
struct stored_calls {
	struct store *store;
	const struct choice *choice;
	struct trace_out *out;
	bool long_ones; /* this pass: calls so long that others end before them */
	bool long_done; /* their lines were already made */
	struct stored_ends *ends;
};

/* Events between calls: signals, and the ends of processes in order. */
struct stored_ends {
	struct beside_table signals;
	struct ended {
		int64_t at, id;
	} *processes;
	size_t count, next;
	struct map threads; /* those that have a chosen call */
	bool chosen;	    /* only for these, and for their processes */
};

static int ended_compare(const void *a, const void *b)
{
	const struct ended *x = a, *y = b;

	return ORDER(x->at, y->at) ?: ORDER(x->id, y->id);
}

static void stored_ends_free(struct stored_ends *e)
{
	engine_scan_free(e->signals.scan);
	free(e->processes);
	map_free(&e->threads);
}

static int stored_ends_new(struct stored_ends *e, struct store *store, const struct choice *c,
			   struct error *err)
{
	const struct scan_request q = {.table = TABLE_SIGNAL,
				       .columns = ~0ull,
				       .from = c->filter.from,
				       .to = c->filter.to};
	const struct dims *d = store_dims(store);

	e->chosen = c->expr;
	e->processes = calloc(dims_rows(d, TABLE_PROCESS) + 1, sizeof(*e->processes));
	if (!e->processes)
		return error_errno(err, -ENOMEM, "reading processes");
	for (size_t i = 0; i < dims_rows(d, TABLE_PROCESS); i++) {
		int64_t id = dims_id_at(d, TABLE_PROCESS, i);
		const struct dims_process *p = dims_process(d, id);

		if (p && p->status >= 0 && p->stopped >= c->filter.from &&
		    p->stopped < c->filter.to)
			e->processes[e->count++] = (struct ended){p->stopped, id};
	}
	qsort(e->processes, e->count, sizeof(*e->processes), ended_compare);
	return engine_scan_new(&e->signals.scan, store, &q, err);
}

/* Adds lines for signals and ends of processes before a time, then prints all lines whose turn came. */
static int stored_release(const struct stored_calls *c, int64_t until, struct error *err)
{
	const struct dims *d = store_dims(c->store);
	struct stored_ends *e = c->ends;
	struct beside_table *s = &e->signals;
	ssize_t n = 0;
	int r = 0;

	while (r >= 0 && (n = beside_peek(s, err)) > 0 &&
	       batch_get(s->batch, SIGNAL_AT, s->rows[s->at], 0) < until) {
		size_t at = s->rows[s->at++];
		int64_t thread = batch_get(s->batch, SIGNAL_THREAD_ID, at, -1);

		if (!e->chosen || map_get(&e->threads, (uint64_t)thread, NULL))
			r = trace_signal(c->out, s->batch, at, d);
	}
	if (n < 0)
		return (int)n;
	while (r >= 0 && e->next < e->count && e->processes[e->next].at < until)
		r = trace_ended(c->out, e->processes[e->next++].id, d);
	return r < 0 ? r : trace_release(c->out, until);
}

static int stored_line(const struct stored_calls *c, struct beside_scan *beside,
		       const struct batch *b, size_t row, struct error *err)
{
	int64_t start = batch_get(b, OP_START, row, INT64_MIN), dur = batch_get(b, OP_DUR, row, 0);
	struct trace_beside found = {0};
	int r;

	if (start == INT64_MIN ? c->long_ones : c->long_done && dur > TRACE_HOLD_NS)
		return 0;
	r = beside_scan_find(beside, b, row, &found, err);
	r = r < 0 ? r : trace_call(c->out, b, row, &found, store_dims(c->store));
	if (r < 0 || start == INT64_MIN || c->long_ones)
		return r;
	/* a call that ends now began at most this long ago */
	return stored_release(c, add_sat_signed(beside_end(start, dur), -TRACE_HOLD_NS), err);
}

/* Makes the lines of the calls that a filter passes, in the order of their ends. */
static int stored_pass(const struct stored_calls *c, const struct expr *filter, struct error *err)
{
	const struct scan_request q = {.table = TABLE_OP,
				       .columns = ~0ull,
				       .from = c->choice->filter.from,
				       .to = c->choice->filter.to,
				       .filter = filter};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	_cleanup_(beside_scan_free) struct beside_scan beside = {0};
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	int r = engine_scan_new(&scan, c->store, &q, err);

	r = r < 0 ? r : beside_scan_new(&beside, c->store, q.from, q.to, err);
	if (r < 0)
		return r;
	while ((n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = stored_line(c, &beside, b, rows[i], err);
		if (r < 0 || (c->long_ones && c->out->held.bytes > LONG_LINES_MAX))
			return r < 0 ? r : -E2BIG;
	}
	return (int)n;
}

/* Collects the threads of the chosen calls, whose signals are shown from the start. */
static int stored_choose(const struct stored_calls *c, struct error *err)
{
	const struct scan_request q = {.table = TABLE_OP,
				       .columns = 1ull << OP_THREAD_ID,
				       .from = c->choice->filter.from,
				       .to = c->choice->filter.to,
				       .filter = c->choice->expr};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n = c->ends->chosen ? beside_peek(&c->ends->signals, err) : 0;
	int r;

	if (n <= 0)
		return (int)n;
	r = engine_scan_new(&scan, c->store, &q, err);
	while (r >= 0 && (n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		for (ssize_t i = 0; i < n && r >= 0; i++)
			r = map_set(&c->ends->threads,
				    (uint64_t)batch_get(b, OP_THREAD_ID, rows[i], -1), 1);
	}
	return r < 0 ? r : (int)n;
}

/* Determines whether lines need the thread. */
static void stored_threads(const struct store *store, struct trace_out *t)
{
	const struct dims *d = store_dims(store);

	for (size_t i = 0; i < dims_rows(d, TABLE_THREAD); i++)
		trace_thread(t, dims_thread(d, dims_id_at(d, TABLE_THREAD, i))->tid);
}

/*
 * Prints a line per call, in the order in which they began. Long calls are read first and wait for their turn; if
 * there are too many, they are printed in the order of their ends.
 */
static int trace_stored_lines(struct stored_calls *c, const struct read_flags *read,
			      struct error *err)
{
	_cleanup_(choice_free) struct choice longer = {0};
	_cleanup_(select_free) struct select select = {0};
	_cleanup_(stored_ends_free) struct stored_ends ends = {0};
	struct read_flags slow = *read;
	int r;

	slow.sel.slower_ns = MAX(slow.sel.slower_ns, TRACE_HOLD_NS + 1);
	r = read_flags_select(&slow, &select, err);
	r = r < 0 ? r : choice_make(&longer, &slow.sel, &select, &slow.sel.where, c->store, err);
	if (r < 0)
		return r;
	c->ends = &ends;
	stored_threads(c->store, c->out);
	r = stored_ends_new(&ends, c->store, c->choice, err);
	r = r < 0 ? r : stored_choose(c, err);
	c->long_ones = true;
	r = r < 0 ? r : stored_pass(c, longer.expr, err);
	c->long_ones = false;
	c->long_done = r >= 0;
	if (r == -E2BIG)
		held_free(&c->out->held);
	else if (r < 0)
		return r;
	r = stored_pass(c, c->choice->expr, err);
	return r < 0 ? r : stored_release(c, INT64_MAX, err);
}

/* Sums of the selection; calls that never ended are listed separately. */
static int trace_stored_sums(const struct store *store, const struct scan_filter *filter,
			     struct scan_result *ret, struct error *err)
{
	const struct scan_options opt = {.keys = ROLLUP_OP, .filter = filter};

	return scan_run(store, &opt, ret, err);
}

/*
 * Within a time range a scan returns only ended calls. Those still running come last, as the trace ended before they
 * did.
 */
static int trace_stored_running(struct store *store, const struct scan_filter *filter,
				struct trace_out *t, struct error *err)
{
	_cleanup_scan_result_ struct scan_result result = {0};
	int r = trace_stored_sums(store, filter, &result, err);

	for (size_t i = 0; r >= 0 && i < result.running->rows; i++) {
		if (scan_filter_time(filter, result.running, i))
			r = trace_call(t, result.running, i, NULL, store_dims(store));
	}
	return r < 0 ? r : trace_release(t, INT64_MAX);
}

static int trace_stored_sum_up(const struct store *store, const struct scan_filter *filter,
			       struct trace_out *t, struct error *err)
{
	_cleanup_scan_result_ struct scan_result result = {0};
	int r = trace_stored_sums(store, filter, &result, err);

	if (r < 0)
		return r;
	r = rollup_merge(t->rollup, result.rollup);
	return r < 0 ? r : trace_summary(t);
}

static bool trace_has_phases(const struct store *s)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);

		if (b->table == TABLE_OP && b->min[OP_MISSES] <= b->max[OP_MISSES])
			return true;
	}
	return false;
}

int trace_stored(const struct trace_opts *o, int argc, char **argv, struct trace_out *t,
		 struct error *err)
{
	const struct read_flags read = {.sel = o->rec.sel,
					.inputs = o->inputs,
					.hosts = o->hosts,
					.utc = o->utc,
					.from = o->from,
					.to = o->to};
	_cleanup_(store_freep) struct store *store = NULL;
	_cleanup_(choice_free) struct choice choice = {0};
	_cleanup_(select_free) struct select select = {0};
	struct loss loss;
	int64_t first, last;
	int r;

	if (read_flags_select(&read, &select, err) < 0)
		return -EINVAL;
	r = read_flags_open(&read, argc, argv, &store, err);
	if (r < 0)
		return -EIO; /* an invalid trace is not wrong usage */
	store_range(store, &first, &last);
	r = choice_make(&choice, &read.sel, &select, &read.sel.where, store, err);
	if (r < 0)
		return r;
	if (read_flags_range(&read, first, last, &choice.filter.from, &choice.filter.to, err) < 0)
		return -EINVAL;
	if (trace_out_begin(t, o, err) < 0)
		return -EIO;
	if (o->rec.phases && !trace_has_phases(store))
		r = recorded_put_none(stderr, store, "phases");
	if (r < 0)
		return r;
	t->origin = first;
	t->detailed = recorded_with(store, "details") > RECORDED_NOT;
	t->only_shown = choice.expr;
	t->by_start = true;
	r = t->rollup ? trace_stored_sum_up(store, &choice.filter, t, err)
		      : trace_stored_lines(
				&(struct stored_calls){.store = store, .choice = &choice, .out = t},
				&read, err);
	if (r >= 0 && !t->rollup && (read.from || read.to))
		r = trace_stored_running(store, &choice.filter, t, err);
	if (r < 0)
		return r;
	r = loss_read(&loss, store, err);
	if (r < 0)
		return r;
	loss_warn(&loss);
	return r;
}
