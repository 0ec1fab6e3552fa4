/* SPDX-License-Identifier: Apache-2.0 */
/* weir top: current activity on a full screen, live from the kernel or from a growing trace. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "batch/seconds.h"
#include "cli/options/choose.h"
#include "cli/commands.h"
#include "cli/record/record_live.h"
#include "cli/stat/top_screen.h"
#include "privilege/privilege.h"

#define EVERY_DEFAULT_NS NSEC_PER_SEC
#define POLL_US		 50000

struct top_opts {
	struct record_flags rec;
	struct option_list inputs, hosts;
	const char *by, *sort;
	int64_t every_ns;
};

/* The displayed sums: the last interval, or everything since the start. */
struct top {
	struct top_view view;
	struct rollup *now, *last, *total; /* the current interval; the previous one; all */
	int64_t began, interval_began, next, every_ns; /* monotonic */
	struct top_disks disks_now, disks_last, disks_total;
	int64_t disks_from; /* start of the interval, ns since the epoch */
	bool ended;
	int failed;
	/* the selection over a trace */
	struct read_flags flags;
	struct select select;
	struct choice choice;
	struct eval_scratch *scratch; /* NULL: everything is selected */
	uint32_t *rows;		      /* [BATCH_ROWS_MAX] */
};

static void top_free(struct top *t)
{
	rollup_free(t->now);
	rollup_free(t->last);
	rollup_free(t->total);
	top_disks_free(&t->disks_now);
	top_disks_free(&t->disks_last);
	top_disks_free(&t->disks_total);
	file_lines_free(t->view.file_lines);
	if (t->scratch)
		eval_scratch_free(t->scratch);
	free(t->rows);
	choice_free(&t->choice);
	select_free(&t->select);
}

static int top_new(struct top *t, const struct top_opts *o)
{
	int r = rollup_new(&t->now, FIGURES_KEYS);

	if (r >= 0)
		r = rollup_new(&t->last, FIGURES_KEYS);
	if (r >= 0)
		r = rollup_new(&t->total, FIGURES_KEYS);
	if (r >= 0)
		r = file_lines_new(&t->view.file_lines);
	t->every_ns = o->every_ns ? o->every_ns : EVERY_DEFAULT_NS;
	t->began = t->interval_began = clock_monotonic_ns();
	t->next = t->began + t->every_ns;
	return r;
}

/* At the end of an interval, displays it and adds it to the total. */
static int turn(struct top *t, int64_t now)
{
	int r = rollup_merge(t->total, t->now);

	if (r >= 0)
		r = top_disks_merge(&t->disks_total, &t->disks_now);
	if (r < 0)
		return r;
	top_disks_free(&t->disks_last);
	t->disks_last = t->disks_now;
	t->disks_now = (struct top_disks){0};
	t->disks_from = clock_realtime_ns();
	rollup_free(t->last);
	t->last = TAKE_PTR(t->now);
	t->view.interval_ns = now - t->interval_began;
	t->view.total_ns = now - t->began;
	t->interval_began = now;
	t->next = clock_next(t->next, now, t->every_ns);
	return rollup_new(&t->now, FIGURES_KEYS);
}

static int top_forget(struct top *t)
{
	rollup_free(TAKE_PTR(t->total));
	rollup_free(TAKE_PTR(t->now));
	top_disks_free(&t->disks_now);
	top_disks_free(&t->disks_total);
	t->began = t->interval_began = clock_monotonic_ns();
	t->disks_from = clock_realtime_ns();
	if (rollup_new(&t->total, FIGURES_KEYS) < 0)
		return -ENOMEM;
	return rollup_new(&t->now, FIGURES_KEYS);
}

/* Handles keys, and redraws the screen when due. 1: the user quits. */
static int top_step(struct top *t)
{
	int64_t now = clock_monotonic_ns();
	enum top_wish wish = top_screen_keys(&t->view);
	bool due = now >= t->next && !t->view.paused && !t->ended;
	int r = 0;

	if (wish == TOP_LEAVE)
		return 1;
	if (wish == TOP_FORGET)
		r = top_forget(t);
	if (r >= 0 && due)
		r = turn(t, now);
	t->view.disks = t->view.show_total ? &t->disks_total : &t->disks_last;
	t->view.total = t->total;
	if (r >= 0 && (due || wish != TOP_NOTHING))
		r = top_screen_draw(&t->view, t->view.show_total ? t->total : t->last);
	t->failed = MIN(t->failed, r);
	return r;
}

/* ---- live ---- */

static int top_take(void *arg, const struct batch_set *rows, const struct dims *dims,
		    struct error *err)
{
	struct top *t = arg;
	int r = rows->tables[TABLE_OP] ? rollup_add(t->now, rows->tables[TABLE_OP]) : 0;

	if (r >= 0 && rows->tables[TABLE_REQUEST])
		r = top_disks_add(&t->disks_now, rows->tables[TABLE_REQUEST], t->disks_from);

	if (rows->tables[TABLE_LOSS])
		loss_add(&t->view.loss, rows->tables[TABLE_LOSS]);

	return r < 0 ? error_errno(err, r, "summing up") : 0;
}

static int top_tick(void *arg, const struct record_totals *totals)
{
	struct top *t = arg;

	loss_raise(&t->view.loss, totals->source.lost);
	return top_step(t);
}

static int run_live(const struct top_opts *o, struct top *t, int argc, char **argv)
{
	_cleanup_(live_close) struct live live = {0};
	struct live_options lo = {.rec = &o->rec,
				  .argc = argc,
				  .argv = argv,
				  .usage = "weir top",
				  .with = " block faults "};
	struct record_sink sink = {top_take, t};
	struct record_totals totals = {0};
	struct error err = {0};
	int r = live_open(&live, &lo, &err);

	if (r != 0)
		return r < 0 ? live_fail(r, &err) : 0;
	t->view.dims = enrich_dims(live.rec.enrich);
	t->disks_from = clock_realtime_ns();
	live.quiet = true; /* while it owns the screen */
	t->view.what = *live.selection ? live.selection : argc ? argv[0] : "";
	live.rec.session.sinks = &sink;
	live.rec.session.sink_count = 1;
	live.rec.session.tick = top_tick;
	live.rec.session.tick_arg = t;
	live.rec.session.every_ns = t->every_ns;
	r = top_screen_open(&err);
	if (r >= 0) {
		r = live_run(&live, &totals, &err);
		top_screen_close();
	}
	if (r >= 0)
		r = t->failed;
	if (r < 0)
		return live_fail(live_at_work(r), err.code ? &err : &(struct error){.code = r});
	if (totals.why_stopped && strcmp(totals.why_stopped, "asked to"))
		fprintf(stderr, "weir: top: %s\n", totals.why_stopped);
	live_warn_left(&live, &totals);
	live_warn_lost(&totals, false);
	return live_status(&totals);
}

/* ---- a trace ---- */

static int top_choice(struct top *t, struct store *s, struct error *err)
{
	const struct select_flags *f = &t->flags.sel;
	int r = choice_make(&t->choice, f, &t->select, &f->where, s, err);

	if (r < 0 || !t->choice.expr)
		return r;
	t->rows = malloc(BATCH_ROWS_MAX * sizeof(*t->rows));
	r = t->rows ? eval_scratch_new(&t->scratch, t->choice.chosen.eval) : -ENOMEM;
	return r < 0 ? error_errno(err, r, "choosing rows") : 0;
}

static int add_chosen(struct top *t, const struct batch *b, struct error *err)
{
	ssize_t count =
		sums_filter_rows(&t->choice.chosen, t->scratch, b, NULL, b->rows, t->rows, err);
	int r = 0;

	for (ssize_t i = 0; i < count && r >= 0; i++)
		r = rollup_add_row(t->now, b, t->rows[i]);
	return count < 0 ? (int)count : r;
}

static int add_rows(struct top *t, const struct batch *b, struct error *err)
{
	_cleanup_(batch_freep) struct batch *seconds = NULL;
	int r;

	if (!t->scratch)
		return rollup_add(t->now, b);
	r = add_chosen(t, b, err);
	if (r >= 0)
		r = batch_new(&seconds, TABLE_OP);
	if (r >= 0)
		r = batch_seconds(b, seconds);
	if (r < 0)
		return r;
	rollup_seconds(t->now, true);
	r = add_chosen(t, seconds, err);
	rollup_seconds(t->now, false);
	return r;
}

/* Adds the blocks of op and of loss from *next on. */
static int add_blocks(struct top *t, struct store *s, struct store_cursor *cursor, size_t *next,
		      struct error *err)
{
	uint64_t columns = seconds_columns(TABLE_OP, rollup_op_columns);

	if (t->scratch && *next < store_block_count(s)) {
		int r = sums_filter_names(&t->choice.chosen, s, err);

		if (r < 0)
			return r;
		columns = seconds_columns(TABLE_OP, columns | t->choice.chosen.columns);
	}
	for (; *next < store_block_count(s); (*next)++) {
		enum table_id table = store_block(s, *next)->table;
		const struct batch *b;
		int r;

		if (table != TABLE_OP && table != TABLE_LOSS && table != TABLE_REQUEST)
			continue;
		r = store_decode(cursor, *next, table == TABLE_OP ? columns : ~0ull, &b, err);
		if (r == -EBADMSG) { /* was counted as damage */
			*err = (struct error){0};
			continue;
		}
		if (r >= 0 && table == TABLE_LOSS)
			loss_add(&t->view.loss, b);
		else if (r >= 0 && table == TABLE_REQUEST)
			r = top_disks_add(&t->disks_now, b, t->disks_from);
		else if (r >= 0)
			r = add_rows(t, b, err);
		if (r < 0)
			return error_errno(err, r, "reading the trace");
	}
	loss_take_damage(&t->view.loss, s);
	return 0;
}

static int top_follow(struct top *t, struct store *s, struct error *err)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	int64_t first, last;
	size_t next = 0;
	int r = store_cursor_new(&cursor, s);

	if (r >= 0)
		r = add_blocks(t, s, cursor, &next, err);
	store_range(s, &first, &last);
	if (r >= 0)
		r = turn(t, clock_monotonic_ns());
	/* rates include what was recorded before top began */
	t->view.total_ns = first != INT64_MIN ? last - first : 0;
	t->began -= t->view.total_ns;
	t->view.disks = &t->disks_total;
	t->view.show_total = true; /* everything before is one interval of unknown length */
	t->ended = !store_is_open_ended(s);
	if (r >= 0)
		r = top_screen_draw(&t->view, t->total);
	while (r == 0) {
		usleep(POLL_US);
		r = t->ended ? 0 : (int)MIN(store_refresh(s, err), 0);
		if (r >= 0)
			r = add_blocks(t, s, cursor, &next, err);
		if (r >= 0)
			r = top_step(t);
	}
	return MIN(r, 0);
}

static int run_trace(const struct top_opts *o, struct top *t)
{
	_cleanup_(store_freep) struct store *s = NULL;
	struct error err = {0};
	int r;

	t->flags = (struct read_flags){.sel = o->rec.sel};
	if (privilege_drop(privilege_files(), &err) < 0)
		return fail(&err);
	r = read_flags_select(&t->flags, &t->select, &err);
	if (r < 0)
		return live_fail(-EINVAL, &err);
	r = read_flags_open(&(struct read_flags){.inputs = o->inputs, .hosts = o->hosts}, 0, NULL,
			    &s, &err);
	if (r >= 0)
		r = top_choice(t, s, &err);
	if (r < 0)
		return live_fail(r, &err);
	t->view.dims = store_dims(s);
	t->view.what = o->inputs.items[0];
	r = top_screen_open(&err);
	if (r >= 0) {
		r = top_follow(t, s, &err);
		top_screen_close();
	}
	return r < 0 ? fail(err.code ? &err : &(struct error){.code = r}) : 0;
}

/* ---- the command ---- */

static int top_main(const void *opts, int argc, char **argv)
{
	const struct top_opts *o = opts;
	_cleanup_(top_free) struct top t = {0};
	struct error err = {0};

	if (stat_table_options_parse(&t.view.figures, o->by, FIGURES_PROCESS, o->sort, &err) < 0)
		return fail_usage("top: %s", err.message);
	if (o->every_ns && o->every_ns < RECORD_TICK_MIN_NS)
		return fail_usage("top: --every must be at least 20ms");
	if (o->inputs.count && (argc || !record_flags_no_target(&o->rec)))
		return fail_usage("top: -i shows a trace, and a command, -p or -a the running "
				  "system: use one of them");
	if (o->hosts.count && !o->inputs.count)
		return fail_usage("top: --host selects among traces: it needs -i");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return fail(&(struct error){
			.code = -ENOTTY,
			.message = "top needs a terminal; `weir stat --every 1s` prints the "
				   "same figures line by line"});
	if (top_new(&t, o) < 0)
		return fail(&(struct error){.code = -ENOMEM});
	return o->inputs.count ? run_trace(o, &t) : run_live(o, &t, argc, argv);
}

static const struct option top_options[] = {
	RECORD_FLAGS(struct top_opts, rec),
	{'i', "input", OPTION_LIST, "TRACE", "show this trace, which may still be growing",
	 offsetof(struct top_opts, inputs)},
	HOST_FLAG(struct top_opts, hosts),
	{0, "every", OPTION_DURATION, "TIME", "refresh interval (default 1s)",
	 offsetof(struct top_opts, every_ns)},
	{0, "by", OPTION_STRING, "KEY",
	 "start grouped by op, process (default), thread, file or error",
	 offsetof(struct top_opts, by), .words = stat_table_by_word},
	{0, "sort", OPTION_STRING, "WORD",
	 "start sorted by time (default), calls, bytes, errors, max, read, written or p99",
	 offsetof(struct top_opts, sort), .words = stat_table_sort_word},
	{0},
};

static const struct command_example top_examples[] = {
	{"weir top -a", "the whole host, by process"},
	{"weir top -p 4711 --by file", "the files that a process uses"},
	{"weir top -a --with block", "the whole host, and how busy each disk is"},
	{"weir top -i weir.trace", "a trace that another weir is writing"},
	{0},
};

const struct command command_top = {
	.name = "top",
	.summary = "show the running I/O, on a full screen",
	.usage = "[options] [--] CMD [ARG...] | -p PID | -a | -i TRACE",
	.description =
		"Shows calls, bytes read and written a second, the part of the time spent in "
		"I/O, the 99th percentile and the distribution of latencies by process, "
		"thread, file, operation or error, refreshed "
		"every second. Keys: o p t f e select the grouping, c b T x m R W P the order "
		"(calls, bytes, time, errors, max, bytes read, written, p99), Enter opens the "
		"selected line (the files of a process, the processes of a file), Backspace goes "
		"back, / filters by text as it is typed, i switches between the last interval and "
		"everything since the start, r resets, space pauses, ? shows help, q quits.\n\n"
		"With --with block, or for a trace with requests to disks, each disk has a line: "
		"its load (the average number of requests in flight), the share of the time in "
		"which one was in the device, reads and writes with their bytes and 99th "
		"percentile.\n\n"
		"Calls that wait for work have a line of their own and do not count in "
		"percentages.\n\n"
		"Exit status: as weir stat; also 1 if standard output is not a terminal.",
	.options = top_options,
	.options_size = sizeof(struct top_opts),
	.examples = top_examples,
	.takes_command = true,
	.records = true,
	.run = top_main,
};
