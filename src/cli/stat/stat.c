/* SPDX-License-Identifier: Apache-2.0 */
/* weir stat: sums over the calls of a command, a process or the host, without a trace file. */
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/terminal/bars.h"
#include "cli/trace/call_text.h"
#include "cli/commands.h"
#include "cli/stat/stat_table.h"
#include "cli/terminal/format.h"
#include "cli/record/record_live.h"
#include "cli/terminal/output.h"
#include "cli/report/report_queued.h"
#include "cli/terminal/text.h"

#define ROWS_DEFAULT	  20
#define RUNNING_SHOWN_MAX 8

struct stat_opts {
	struct record_flags rec;
	const char *by, *sort, *output;
	int64_t every_ns, duration_ns, rows;
	bool lossless, total, json;
};

struct stat_run {
	const struct stat_opts *opts;
	struct stat_table_options figures;
	struct loss loss;	 /* since the start */
	uint64_t running;	 /* calls that had not ended when recording stopped */
	struct buf running_text; /* the first of them: program, call, duration so far */
	struct rollup *rollup;	 /* since the start, or since the last table */
	const struct dims *dims; /* of the live session */
	struct file_lines *lines;
	FILE *out;
	int64_t since, next; /* ns of recording: when the sums began, when the next table is due */
	int failed;
	bool ended; /* recording stopped, so running calls are known */
};

static int take_running(struct stat_run *s, const struct batch *b, size_t row,
			const struct dims *dims)
{
	const struct dims_thread *t = dims_thread(dims, batch_get(b, OP_THREAD_ID, row, -1));
	/* The call began before recording did, so only a lower bound of its duration is known. */
	bool more = batch_is_null(b, OP_START, row) && !batch_is_null(b, OP_DUR, row);
	char op[32];

	if (++s->running > RUNNING_SHOWN_MAX)
		return 0;
	buf_printf(&s->running_text, "%s", s->running > 1 ? ", " : "");
	if (t)
		call_text_escape(&s->running_text, t->comm, "");
	return buf_printf(&s->running_text, " %s %s%s",
			  op_name((uint32_t)batch_get(b, OP_OP, row, 0), op),
			  more ? bars_at_least() : "", format_dur(batch_get(b, OP_DUR, row, -1)).s);
}

static int stat_take(void *arg, const struct batch_set *rows, const struct dims *dims,
		     struct error *err)
{
	struct stat_run *s = arg;
	int r = rows->tables[TABLE_OP] ? rollup_add(s->rollup, rows->tables[TABLE_OP]) : 0;

	for (size_t i = 0; r >= 0 && rows->tables[TABLE_OP] && i < rows->tables[TABLE_OP]->rows;
	     i++) {
		if (batch_get(rows->tables[TABLE_OP], OP_STATUS, i, 0) & STATUS_UNFINISHED)
			r = take_running(s, rows->tables[TABLE_OP], i, dims);
	}
	if (rows->tables[TABLE_LOSS])
		loss_add(&s->loss, rows->tables[TABLE_LOSS]);
	return r < 0 ? error_errno(err, r, "summing up") : 0;
}

/* Width of the terminal that the table goes to; 0: not a terminal, so names are not cut. */
static size_t stat_width(FILE *out)
{
	return isatty(fileno(out)) ? text_width_of(fileno(out)) : 0;
}

/* "waiting   1,234 calls, 5.20 s   (epoll_wait 1,230, futex 4)" */
static void print_rest(FILE *out, const char *name, const struct stat_table_rest *rest)
{
	size_t width = stat_width(out);
	_cleanup_buf_ struct buf b = {0};

	if (rest->calls && format_next(&b, width, "%s", name) >= 0 &&
	    format_next(&b, width, "%s, %s", format_counted(rest->calls, "call").s,
			format_dur((int64_t)rest->time_ns).s) >= 0 &&
	    (!rest->bytes || format_next(&b, width, "%s moved", format_size(rest->bytes).s) >= 0) &&
	    format_next(&b, width, "(%s)", rest->kinds) >= 0)
		fprintf(out, "%s\n", buf_str(&b));
}

static int stat_print_rows(struct stat_run *s, const struct stat_table *f)
{
	size_t max = s->opts->rows > 0 ? (size_t)s->opts->rows : ROWS_DEFAULT;
	size_t width = stat_width(s->out);
	int r = 0;

	if (f->count)
		r = stat_table_print(s->out, f, s->figures.by, max, width,
				     width && *text_style(TEXT_BOLD), NULL);
	if (f->count > max)
		fprintf(s->out, "%zu more; -n %zu shows all\n", f->count - max, f->count);
	print_rest(s->out, "not I/O", &f->other);
	print_rest(s->out, "waiting", &f->waiting);
	if (s->running)
		fprintf(s->out, "still running   %s   %s%s\n", format_counted(s->running, "call").s,
			buf_str(&s->running_text), s->running > RUNNING_SHOWN_MAX ? ", ..." : "");
	return r;
}

static void print_causes(const struct stat_run *s)
{
	_cleanup_buf_ struct buf b = {0};

	if (loss_put_causes(&b, &s->loss, false, CAUSE_COUNT) >= 0 && b.len)
		fprintf(s->out, "missing   %s\n", buf_str(&b));
}

static void stat_print_queued(const struct stat_run *s)
{
	_cleanup_buf_ struct buf b = {0};

	if (queued_put(&b, s->rollup, &s->loss.requests) >= 0 && b.len)
		fprintf(s->out, "%s\n", buf_str(&b));
}

static void stat_print_head(const struct stat_run *s, const struct stat_table *f,
			    const struct record_totals *t, int64_t span_ns)
{
	size_t width = stat_width(s->out);
	_cleanup_buf_ struct buf b = {0};

	format_next(&b, width, "%s", format_dur(span_ns).s);
	format_next(&b, width, "%s calls",
		    format_count(f->calls + f->waiting.calls + f->other.calls).s);
	format_next(&b, width, "%s I/O, %s", format_count(f->calls).s,
		    format_dur((int64_t)f->time_ns).s);
	format_next(&b, width, "%s moved", format_size(f->bytes + f->waiting.bytes).s);
	format_next(&b, width, "errors %s", format_count(f->errors).s);
	format_next(&b, width, "lost %s%s%s", s->loss.at_least ? "at least " : "",
		    format_count(s->loss.lost).s,
		    !s->loss.lost && t->source.sequence_proved ? " (sequence gap-free)" : "");
	fprintf(s->out, "%s\n", buf_str(&b));
}

static int print_table(struct stat_run *s, const struct record_totals *t, int64_t span_ns)
{
	_cleanup_figures_ struct stat_table f = {0};
	int r = stat_table_make(&f, s->rollup, s->dims, s->lines, &s->figures);

	if (r < 0)
		return r;
	loss_raise(&s->loss, t->source.lost);
	s->loss.requests = (struct loss_requests){1, t->source.uring_seen, t->source.aio_seen};
	r = live_polled(t, &s->loss.polled);
	if (r < 0)
		return r;
	if (s->opts->json) {
		r = stat_table_put_json(
			s->out, &f, s->figures.by,
			s->opts->rows > 0 ? (size_t)s->opts->rows : SIZE_MAX,
			&(struct stat_table_json){.origin = t->now - span_ns,
						  .span_ns = span_ns,
						  .loss = &s->loss,
						  .running = s->ended ? &s->running : NULL},
			NULL);
		return r < 0 ? r : text_flush(s->out);
	}
	stat_print_head(s, &f, t, span_ns);
	if (loss_of_calls(&s->loss))
		print_causes(s);
	stat_print_queued(s);
	r = stat_print_rows(s, &f);
	return r < 0 ? r : text_flush(s->out);
}

/* If a table is due, prints it and resets the sums, unless they are cumulative. */
static int stat_tick(void *arg, const struct record_totals *t)
{
	struct stat_run *s = arg;
	int64_t every = s->opts->every_ns;
	int r;

	if (!every || t->ran_ns < s->next)
		return 0;
	r = print_table(s, t, t->ran_ns - s->since);
	if (!s->opts->json)
		fputc('\n', s->out);
	s->next = clock_next(s->next, t->ran_ns, every);
	if (r >= 0 && !s->opts->total) {
		rollup_free(TAKE_PTR(s->rollup));
		r = rollup_new(&s->rollup, FIGURES_KEYS);
		s->since = t->ran_ns;
	}
	s->failed = r;
	return r;
}

static int run_stat(struct stat_run *s, struct live *live)
{
	struct record_sink sink = {stat_take, s};
	struct record_totals totals = {0};
	struct error err = {0};
	int r;

	s->dims = enrich_dims(live->rec.enrich);
	live->rec.session.sinks = &sink;
	live->rec.session.sink_count = 1;
	live->rec.session.tick = stat_tick;
	live->rec.session.tick_arg = s;
	live->rec.session.duration_ns = s->opts->duration_ns;
	s->next = s->opts->every_ns;
	live->rec.session.every_ns = s->opts->every_ns;
	r = live_run(live, &totals, &err);
	s->ended = true;
	if (r >= 0)
		r = print_table(s, &totals, totals.ran_ns - s->since);
	if (r >= 0)
		r = s->failed;
	if (r < 0 && s->out == stdout && ferror(stdout))
		return 1; /* main() reports it */
	if (r < 0 && s->opts->output && ferror(s->out)) {
		err = (struct error){0};
		error_errno(&err, r, "-o %s", s->opts->output);
	}
	if (r < 0)
		return live_fail(live_at_work(r), err.code ? &err : &(struct error){.code = r});
	live_warn_lost(&totals, s->opts->lossless);
	return live_status(&totals);
}

static int stat_main(const void *opts, int argc, char **argv)
{
	const struct stat_opts *o = opts;
	_cleanup_(live_close) struct live live = {0};
	struct live_options lo = {.rec = &o->rec,
				  .argc = argc,
				  .argv = argv,
				  .usage = "weir stat",
				  .with = " faults ",
				  .lossless = o->lossless};
	struct stat_run s = {.opts = o, .out = stderr};
	struct error err = {0};
	int r = stat_table_options_parse(&s.figures, o->by, FIGURES_OP, o->sort, &err);

	if (r < 0)
		return fail_usage("stat: %s", err.message);
	if (o->every_ns && o->every_ns < RECORD_TICK_MIN_NS)
		return fail_usage(
			"stat: --every must be at least 20ms: calls are not fetched more often");
	/* With a command, standard output belongs to it, as for strace -c and perf stat. */
	if (!argc)
		s.out = stdout;
	r = live_open(&live, &lo, &err);
	/* Opened here, because under sudo weir now runs as the caller. */
	if (r == 0 && o->output) {
		s.out = output_text(o->output, &err);
		if (!s.out)
			return live_fail(live_at_work(err.code), &err);
	}
	if (r == 0) {
		r = rollup_new(&s.rollup, FIGURES_KEYS);
		if (r >= 0)
			r = file_lines_new(&s.lines);
		r = r < 0 ? live_fail(r, &err) : run_stat(&s, &live);
	} else {
		r = r < 0 ? live_fail(r, &err) : 0;
	}
	rollup_free(s.rollup);
	file_lines_free(s.lines);
	buf_free(&s.running_text);
	if (o->output && s.out != stderr && s.out != stdout && fclose(s.out) != 0 && !r)
		r = live_fail(live_at_work(error_errno(&err, -errno, "-o %s", o->output)), &err);
	return r;
}

static const struct option stat_options[] = {
	RECORD_FLAGS(struct stat_opts, rec),
	{0, "every", OPTION_DURATION, "TIME", "print a table at this interval: 1s, 5s",
	 offsetof(struct stat_opts, every_ns)},
	{0, "total", OPTION_FLAG, NULL,
	 "with --every: print sums since the start instead of since the last table",
	 offsetof(struct stat_opts, total)},
	{0, "by", OPTION_STRING, "KEY", "op (default), process, thread, file, error",
	 offsetof(struct stat_opts, by), .words = stat_table_by_word},
	{0, "sort", OPTION_STRING, "WORD",
	 "time (default), calls, bytes, errors, max, read, written, p99",
	 offsetof(struct stat_opts, sort), .words = stat_table_sort_word},
	{'n', "rows", OPTION_COUNT, "N", "print at most N rows (default 20)",
	 offsetof(struct stat_opts, rows)},
	{0, "json", OPTION_FLAG, NULL,
	 "print one JSON document, with --every one a line; sizes in bytes, durations in "
	 "nanoseconds",
	 offsetof(struct stat_opts, json)},
	{'o', "output", OPTION_STRING, "FILE",
	 "write to this file, which is overwritten unless it is a trace",
	 offsetof(struct stat_opts, output)},
	{0, "duration", OPTION_DURATION, "TIME", "stop after this time",
	 offsetof(struct stat_opts, duration_ns)},
	{0, "lossless", OPTION_FLAG, NULL,
	 "lose no calls: slow the program down when it is too fast",
	 offsetof(struct stat_opts, lossless)},
	{0},
};

static const struct command_example stat_examples[] = {
	{"weir stat -- tar cf /tmp/x.tar /etc", "what tar did, by call"},
	{"weir stat -p 4711 --every 1s --by file", "every second, the files that a process uses"},
	{"weir stat -a --duration 5s --by process", "five seconds of the whole host"},
	{0},
};

const struct command command_stat = {
	.name = "stat",
	.summary = "count and time the calls of a command, a process or the host, without a file",
	.usage = "[options] [--] CMD [ARG...] | -p PID | -a",
	.description =
		"Prints calls, errors, bytes, time and its distribution by operation, "
		"process, thread, file or error, at the "
		"end or every few seconds. Calls that wait for work (epoll_wait, futex, reads of "
		"empty pipes and sockets) have a line of their own and do not count in "
		"percentages; the same holds for calls that do no I/O (mmap, clone). Calls that "
		"have not ended when recording stops are not summed; the last line counts them.\n\n"
		"With a command the table goes to standard error, otherwise to standard output; -o "
		"names a file.\n\n"
		"Exit status: the command's own (128 + n where signal n ended it); without a "
		"command 0. 1 if recording failed, 2 for wrong options.",
	.options = stat_options,
	.options_size = sizeof(struct stat_opts),
	.examples = stat_examples,
	.takes_command = true,
	.records = true,
	.run = stat_main,
};
