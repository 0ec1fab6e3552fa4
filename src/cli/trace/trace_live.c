/* SPDX-License-Identifier: Apache-2.0 */
/* trace_live.c: prints calls as they happen, a line each. */
#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "cli/record/record_live.h"
#include "cli/trace/trace.h"

struct session {
	struct trace_out *out;
	struct trace_beside beside;
	struct trace_running *running; /* NULL with -c */
	const struct live *live;
	int failed; /* failure in the tick, which cannot report it */
};

/* Passes each row of a table to a function. */
static int each_row(struct session *s, const struct batch *b,
		    int (*print)(struct trace_out *, const struct batch *, size_t))
{
	int r = 0;

	for (size_t row = 0; b && row < b->rows && r == 0; row++)
		r = print(s->out, b, row);
	return r;
}

static int print_calls(struct session *s, const struct batch_set *set, const struct dims *dims)
{
	const struct batch *op = set->tables[TABLE_OP], *signal = set->tables[TABLE_SIGNAL];
	int r = 0;

	trace_beside_begin(&s->beside);
	for (size_t row = 0; op && row < op->rows && r == 0; row++) {
		trace_running_ended(s->running, op, row);
		trace_beside_in(&s->beside, set, op, row);
		r = trace_call(s->out, op, row, &s->beside, dims);
	}
	for (size_t row = 0; signal && row < signal->rows && r == 0; row++)
		r = trace_signal(s->out, signal, row, dims);
	return r;
}

/* Threads that have made no call yet will soon have lines. */
static void note_threads(struct trace_out *t, const struct batch *thread)
{
	for (size_t row = 0; thread && row < thread->rows; row++) {
		if (batch_is_null(thread, THREAD_UNRECORDED, row))
			trace_thread(t, batch_get(thread, THREAD_TID, row, -1));
	}
}

/* With -tt a line waits this long for calls that began earlier and end later. */
static int64_t trace_live_turn(const struct trace_out *t)
{
	return t->by_start ? clock_realtime_ns() - TRACE_HOLD_NS : INT64_MAX;
}

/* The kernel may refuse what details need: the recording's mark states what it has. */
static void note_details(struct trace_out *t, const struct batch *mark)
{
	for (size_t row = 0; mark && row < mark->rows; row++) {
		struct bytes name = batch_get_bytes(mark, MARK_NAME, row),
			     text = batch_get_bytes(mark, MARK_TEXT, row);

		if (name.len == strlen("weir.with") && !memcmp(name.data, "weir.with", name.len))
			t->detailed = memmem(text.data, text.len, "details", strlen("details"));
	}
}

static int trace_live_take(void *arg, const struct batch_set *rows, const struct dims *dims,
			   struct error *err)
{
	struct session *s = arg;
	const struct batch *op = rows->tables[TABLE_OP];
	int r;

	if (s->out->rollup) {
		r = op ? rollup_add(s->out->rollup, op) : 0;
		return r < 0 ? error_errno(err, r, "summing up") : 0;
	}
	note_details(s->out, rows->tables[TABLE_MARK]);
	note_threads(s->out, rows->tables[TABLE_THREAD]);
	r = print_calls(s, rows, dims);
	if (r == 0)
		r = each_row(s, rows->tables[TABLE_PROCESS], trace_process);
	if (r == 0 && rows->tables[TABLE_LOSS] && rows->tables[TABLE_LOSS]->rows)
		r = trace_loss(s->out, rows->tables[TABLE_LOSS]);
	if (r == 0)
		r = trace_release(s->out, trace_live_turn(s->out));
	if (r == 0)
		r = trace_out_flush(s->out);
	return r < 0 ? error_errno(err, r, "printing") : 0;
}

static int trace_live_tick(void *arg, const struct record_totals *totals)
{
	struct session *s = arg;

	s->failed = trace_running_look(s->running, enrich_dims(s->live->rec.enrich),
				       &s->live->rec.select, s->out);
	if (s->failed == 0)
		s->failed = trace_release(s->out, trace_live_turn(s->out));
	if (s->failed == 0)
		s->failed = trace_out_flush(s->out);
	return s->failed;
}

int trace_live(const struct trace_opts *o, int argc, char **argv, struct trace_out *t,
	       struct error *err)
{
	_cleanup_(live_close) struct live live = {0};
	_cleanup_(trace_running_freep) struct trace_running *running = NULL;
	struct record_flags rec = o->rec;
	const struct live_options lo = {.rec = &rec,
					.argc = argc,
					.argv = argv,
					.usage = "weir trace",
					.with = " phases faults details stacks ",
					.details = !t->rollup,
					.detail_bytes = (uint32_t)o->string_bytes,
					.lossless = o->lossless,
					.keep_secrets = o->keep_secrets};
	struct session s = {.out = t, .live = &live};
	const struct record_sink sink = {trace_live_take, &s};
	struct record_totals totals = {0};
	int r;

	if (o->stacks && !rec.stacks)
		rec.stacks = "all";
	r = live_open(&live, &lo, err);

	if (r != 0)
		return MIN(r, 0);
	r = trace_out_begin(t, o, err);
	if (r < 0)
		return live_at_work(r);
	if (!t->rollup) {
		r = trace_running_new(&running);
		if (r < 0)
			return error_errno(err, r, "starting");
		s.running = running;
		for (size_t i = 0; i < live.rec.select.pid_count; i++)
			trace_running_add(running, live.rec.select.pids[i]);
		if (live.rec.child.pid > 0)
			trace_running_add(running, live.rec.child.pid);
		live.rec.session.tick = trace_live_tick;
		live.rec.session.tick_arg = &s;
	}
	live.rec.session.sinks = &sink;
	live.rec.session.sink_count = 1;
	live.rec.session.duration_ns = o->duration_ns;
	t->origin = clock_realtime_ns();
	/* when recording a whole host, user or group, most processes are irrelevant to the selection */
	t->only_shown = !argc && !o->rec.sel.pids.count;
	r = live_run(&live, &totals, err);
	if (r >= 0 && s.failed >= 0)
		s.failed = trace_release(t, INT64_MAX);
	if (r >= 0 && t->rollup)
		r = trace_summary(t);
	if (r >= 0 && s.failed < 0)
		r = error_errno(err, s.failed, "printing");
	live_warn_lost(&totals, o->lossless);
	return r < 0 ? live_at_work(r) : live_status(&totals);
}
