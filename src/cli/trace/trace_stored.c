/* SPDX-License-Identifier: Apache-2.0 */
/* trace_stored.c: a stored trace line by line. */
#include <errno.h>
#include <string.h>

#include "cli/options/choose.h"
#include "cli/record/recorded.h"
#include "cli/terminal/loss_text.h"
#include "cli/trace/trace.h"
#include "engine/ask.h"

/* One line a call, in the order of their ends. */
static int trace_stored_lines(struct store *store, const struct choice *c, struct trace_out *t,
			      struct error *err)
{
	const struct scan_request q = {.table = TABLE_OP,
				       .columns = ~0ull,
				       .from = c->filter.from,
				       .to = c->filter.to,
				       .filter = c->expr};
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	_cleanup_(waited_scan_free) struct waited_scan waited = {0};
	struct trace_waited found;
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	int r = engine_scan_new(&scan, store, &q, err);

	r = r < 0 ? r : waited_scan_new(&waited, store, q.from, q.to, err);
	if (r < 0)
		return r;
	while ((n = engine_scan_next(scan, &b, &rows, err)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			r = waited_scan_find(&waited, b, rows[i], &found, err);
			r = r < 0 ? r : trace_call(t, b, rows[i], &found, store_dims(store));
			if (r < 0)
				return r;
		}
	}
	return (int)n;
}

/* Sums of the selection; calls that never ended are beside them. */
static int trace_stored_sums(const struct store *store, const struct scan_filter *filter,
			     struct scan_result *ret, struct error *err)
{
	const struct scan_options opt = {.keys = ROLLUP_OP, .filter = filter};

	return scan_run(store, &opt, ret, err);
}

/* Within a range of time a scan has ended calls alone. Those that still ran come last, as the trace ended before they did. */
static int trace_stored_running(struct store *store, const struct scan_filter *filter,
				struct trace_out *t, struct error *err)
{
	_cleanup_scan_result_ struct scan_result result = {0};
	int r = trace_stored_sums(store, filter, &result, err);

	for (size_t i = 0; r >= 0 && i < result.running->rows; i++) {
		if (scan_filter_time(filter, result.running, i))
			r = trace_call(t, result.running, i, NULL, store_dims(store));
	}
	return r;
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

	if (trace_out_begin(t, o, err) < 0)
		return -EIO;
	if (read_flags_select(&read, &select, err) < 0)
		return -EINVAL;
	r = read_flags_open(&read, argc, argv, &store, err);
	if (r < 0)
		return -EIO; /* whatever is wrong with the trace, the usage is not */
	store_range(store, &first, &last);
	r = choice_make(&choice, &read.sel, &select, &read.sel.where, store, err);
	if (r < 0)
		return r;
	if (read_flags_range(&read, first, last, &choice.filter.from, &choice.filter.to, err) < 0)
		return -EINVAL;
	if (o->rec.phases && !trace_has_phases(store))
		r = recorded_put_none(stderr, store, "phases");
	if (r < 0)
		return r;
	t->origin = first;
	r = t->rollup ? trace_stored_sum_up(store, &choice.filter, t, err)
		      : trace_stored_lines(store, &choice, t, err);
	if (r >= 0 && !t->rollup && (read.from || read.to))
		r = trace_stored_running(store, &choice.filter, t, err);
	if (r >= 0)
		r = loss_read(&loss, store, err);
	if (r >= 0)
		loss_warn(&loss);
	return r;
}
