/* SPDX-License-Identifier: Apache-2.0 */
/*
 * report_screen.c: `weir report`: one page, at most 45 lines, as wide as the terminal. Each section has a budget of
 * lines; what does not fit is summed in one line, so that the page always adds up.
 */
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "cli/terminal/bars.h"
#include "cli/report/beside/beside.h"
#include "cli/report/report_queued.h"
#include "cli/report/report_page.h"
#include "cli/terminal/text.h"
#include "names/names.h"

#define THREAD_LINES  5	   /* of a section without its title, including the sum of the others */
#define OP_LINES      7	   /* excluding the lines for other calls and for waiting */
#define SELECTION_MAX 60   /* bytes of the options that selected what to record */
#define PER_CALL_MIN  1000 /* minimum number of calls for which the size per call is meaningful */
#define SLOWEST_REST  13   /* columns for a duration, and between columns */
#define ERR_MAX	      4096 /* above any error number of Linux */
#define THREAD_PARTS  10   /* columns of a thread, without asynchronous I/O */
#define LIST_WORDS    2	   /* causes named per line */

/* ---- head ---- */

/* Notes that not everything was recorded. */
static int print_selection(const struct report *r)
{
	_cleanup_buf_ struct buf b = {0};

	if (!page_selected(r))
		return 0;
	buf_printf(&b, "recorded: %s",
		   r->selection.differ ? "by options that differ between traces" : "");
	if (!r->selection.differ)
		format_path(&b, r->selection.text, strlen(r->selection.text), SELECTION_MAX);
	if (r->left_out)
		buf_printf(&b, "   %s left out", format_counted(r->left_out, "call").s);
	return page_line(&b);
}

/* Notes that not everything is shown. */
static int print_range(const struct report *r)
{
	_cleanup_buf_ struct buf b = {0};
	int e = print_selection(r);

	if (e < 0)
		return e;
	if (!r->ranged && !r->filtered)
		return 0;
	buf_printf(&b, "shown: %s", r->filtered ? "the selection" : "everything");
	if (r->ranged && r->from > r->to)
		buf_printf(&b, " in a range outside the recording, which lasts %s",
			   format_dur(r->last - r->first).s);
	else if (r->ranged)
		buf_printf(&b, " from %s to %s", format_rel(clock_between(r->first, r->from), 6).s,
			   format_rel(clock_between(r->first, r->to), 6).s);
	return page_line(&b);
}

/* Prints which hosts' times were corrected (weir flow --keep), if any. */
static int print_host_clocks(const struct report *r)
{
	_cleanup_buf_ struct buf b = {0};
	size_t hosts = dims_rows(r->dims, TABLE_HOST), corrected = 0;

	buf_printf(&b, "clocks:");
	for (size_t i = 0; i < hosts; i++) {
		int64_t id = dims_id_at(r->dims, TABLE_HOST, i);
		const struct dims_host *h = dims_host(r->dims, id);
		struct store_clock c = store_host_clock(r->store, id_recording(id), h->name);

		buf_printf(&b, "%s ", i ? "," : "");
		format_path(&b, h->name.data, h->name.len, 16);
		if (c.known)
			buf_printf(&b, " corrected by %+.6f s (+-%s)", -(double)c.ahead / 1e9,
				   format_dur(c.bound).s);
		else
			buf_printf(&b, " as recorded");
		if (c.several)
			buf_printf(&b, ", other recordings by others");
		corrected += c.known;
	}
	return corrected ? page_line(&b) : buf_status(&b);
}

static int count_totals(const struct report *r, struct page_totals *t)
{
	_cleanup_grouping_ struct grouping tasks = {.report = r, .fn = group_task};
	_cleanup_grouping_ struct grouping processes = {.report = r, .fn = group_process};

	*t = (struct page_totals){0};
	for (size_t i = 0; i < rollup_count(r->scan.rollup); i++) {
		const struct rollup_row *row = rollup_row(r->scan.rollup, i);

		if (row->second)
			continue;
		t->calls += row->calls;
		t->bytes = add_sat(t->bytes, row->bytes);
		if (report_is_io(row))
			t->io_ns = add_sat(t->io_ns, row->time_ns);
		grouping_of(&tasks, row->thread_id);
		grouping_of(&processes, row->thread_id);
	}
	for (size_t i = 0; i < r->scan.running->rows; i++) {
		grouping_of(&tasks, batch_get(r->scan.running, OP_THREAD_ID, i, -1));
		grouping_of(&processes, batch_get(r->scan.running, OP_THREAD_ID, i, -1));
	}
	t->calls += r->scan.running->rows;
	t->threads = grouping_count(&tasks);
	t->processes = grouping_count(&processes);
	return tasks.error ? tasks.error : processes.error;
}

static int print_size(const struct report *r, const struct page_totals *t)
{
	uint64_t bytes = store_bytes(r->store);
	_cleanup_buf_ struct buf b = {0};
	int e;

	format_next(&b, page_width(), "%s", format_counted(t->calls, "call").s);
	format_next(&b, page_width(), "%s, %s", format_counted(t->processes, "process").s,
		    format_counted(t->threads, "thread").s);
	format_next(&b, page_width(), "%s moved", format_size(t->bytes).s);
	if (t->calls >= PER_CALL_MIN && !r->ranged && !r->filtered)
		format_next(&b, page_width(), "trace %s (%.1f B per call)", format_size(bytes).s,
			    (double)bytes / (double)t->calls);
	else
		format_next(&b, page_width(), "trace %s", format_size(bytes).s);
	e = buf_status(&b);
	printf("%s\n", buf_str(&b));
	return e;
}

static int red_line(struct buf *b)
{
	int e;

	printf("%s", text_style(TEXT_RED));
	e = page_line(b);
	printf("%s", text_style(TEXT_PLAIN));
	return e;
}

/* Missing data come first, in red: every figure below may be too low. */
static int print_lost(const struct report *r)
{
	const enum format_zone zone = r->opts->read.utc ? FORMAT_UTC : FORMAT_LOCAL;
	_cleanup_buf_ struct buf failed = {0}, lost = {0}, damage = {0}, changes = {0},
				 killed = {0};
	struct buf *const lines[] = {&damage, &lost, &changes, &killed};
	int e = r->loss.failed.count ? loss_put_failed(&failed, &r->loss) : 0;

	if (e < 0)
		return e;
	if (loss_of_calls(&r->loss)) {
		buf_printf(&lost, "LOST ");
		loss_put_calls(&lost, &r->loss);
		buf_printf(&lost, ": ");
		loss_put_causes(&lost, &r->loss, false, LIST_WORDS);
	}
	if (r->loss.damage.blocks) {
		buf_printf(&damage, "DAMAGED ");
		loss_put_damage(&damage, &r->loss);
	}
	if (r->loss.changes.traces)
		loss_put_changes(&changes, &r->loss);
	if (r->loss.unclosed.traces) {
		buf_printf(&killed, "NOT CLOSED ");
		loss_put_unclosed(&killed, &r->loss, zone);
	}
	if (failed.len) /* never cut, as it says how to fix it */
		printf("%sRECORDING FAILED at %s: %s%s\n", text_style(TEXT_RED),
		       format_when(r->loss.failed.at, zone).s, buf_str(&failed),
		       text_style(TEXT_PLAIN));
	for (size_t i = 0; i < ARRAY_SIZE(lines) && e >= 0; i++)
		e = lines[i]->len || lines[i]->error ? red_line(lines[i]) : 0;
	return e;
}

/* Number of files of a file system that calls named and that have no name in the trace. */
static uint64_t nameless_files(const struct report *r)
{
	uint64_t n = 0;

	for (size_t i = 0; i < r->alias_count; i++) {
		struct dims_file room;
		const struct dims_file *f =
			r->scan.file_seen[i] ? dims_file(r->dims, (int64_t)i, &room) : NULL;

		n += f && (f->type == FILE_TYPE_REGULAR || f->type == FILE_TYPE_DIRECTORY) &&
		     !f->path.len && !f->base.len && !f->argument.len;
	}
	return n;
}

/* Prints which tables beside op lack rows, and why. */
static int print_beside(const struct report *r)
{
	_cleanup_buf_ struct buf b = {0};

	if (!r->loss.beside_count)
		return 0;
	buf_printf(&b, "lost in other tables: ");
	loss_put_beside(&b, &r->loss, true);
	return red_line(&b);
}

static int print_completeness(const struct report *r, struct buf *content)
{
	bool ended = !store_is_open_ended(r->store);
	_cleanup_buf_ struct buf b = {0};
	int e = 0;

	if (!loss_of_calls(&r->loss))
		format_next(&b, page_width(), "lost 0%s",
			    r->loss.unclosed.traces		    ? " as far as known"
			    : r->loss.failed.count		    ? " until it failed"
			    : !ended				    ? " so far"
			    : r->gap_free && !r->loss.damage.blocks ? " (sequence gap-free)"
								    : "");
	format_next(&b, page_width(), "cut %s", format_count(r->loss.cut).s);
	format_next(&b, page_width(), "files without a path %s", format_count(nameless_files(r)).s);
	format_next(&b, page_width(), "still running %s%s",
		    ended && r->loss.running_unread ? "at least " : "",
		    ended ? format_count(r->scan.running->rows).s : "not known");
	if (r->loss.no_file)
		format_next(&b, page_width(), "calls without a file %s",
			    format_count(r->loss.no_file).s);
	if (r->held_ns)
		format_next(&b, page_width(), "held %s", report_time(r->held_ns).s);
	if (r->masked)
		format_next(&b, page_width(), "masked %s", format_counted(r->masked, "argument").s);
	e = buf_status(&b);
	printf("%s\n", buf_str(&b));
	if (e >= 0 && content->len)
		e = page_line(content);
	if (e >= 0)
		e = print_beside(r);
	if (!ended && !r->loss.unclosed.traces)
		printf("no end mark: still being recorded\n");
	/* Rows of running calls are written when recording ends. */
	if (!ended)
		printf("calls %s: their time counts as outside calls\n",
		       r->loss.unclosed.traces ? "still running were not written"
					       : "still running are known only when it ends");
	return e;
}

/* In red, like losses: the figures do not include the I/O that these calls started. */
static int report_screen_print_queued(const struct report *r)
{
	_cleanup_buf_ struct buf b = {0};
	_cleanup_buf_ struct buf polled = {0};
	int e = queued_put(&b, r->scan.rollup, &r->loss.requests);

	if (e >= 0)
		e = loss_put_polled(&polled, &r->loss.polled);
	if (e < 0)
		return e;
	printf("%s", text_style(TEXT_RED));
	if (b.len)
		e = page_line(&b);
	if (polled.len) /* never cut, as it says what is not included */
		printf("%s\n", buf_str(&polled));
	printf("%s", text_style(TEXT_PLAIN));
	return e;
}

/* ---- threads ---- */

/* A displayed name, preceded by two blanks. */
static void report_screen_put_name(struct answer_list *to, const char *name)
{
	char text[64];

	snprintf(text, sizeof(text), "  %.60s", name);
	answer_list_str(to, text);
}

static void put_part_of(struct answer_list *to, uint64_t ns, uint64_t whole)
{
	answer_list_uint(to, ns);
	page_share(to, ns, whole);
}

static void put_thread(struct answer_list *to, const char *name, int64_t tid,
		       const struct thread_time *t)
{
	uint64_t in = add_sat(t->io, add_sat(t->wait, t->other)),
		 outside = t->span > in ? t->span - in : 0;
	uint64_t whole = MAX(t->span, in);

	report_screen_put_name(to, name);
	answer_list_known(to, tid);
	put_part_of(to, t->io, whole);
	put_part_of(to, t->wait, whole);
	put_part_of(to, t->other, whole);
	put_part_of(to, outside, whole);
	if (to->column_count > THREAD_PARTS)
		put_part_of(to, t->async, whole);
}

/* True if some calls of the listed threads are left out: the time between calls is then not time outside calls. */
static bool calls_left_out(const struct report *r)
{
	static const char *const words[] = {"-e", "-P", "-Z", "--slower", "--where"};
	const struct select *s = &r->select;
	bool some = r->choice.where.expr || s->path_count || s->ops_given || s->failed_only ||
		    s->min_dur_ns > 0 || r->selection.differ;

	for (size_t i = 0; r->selection.text && i < ARRAY_SIZE(words) && !some; i++) {
		size_t len = strlen(words[i]);

		for (const char *p = r->selection.text; (p = strstr(p, words[i])) && !some;
		     p += len)
			some = (p == r->selection.text || p[-1] == ' ') &&
			       (!p[len] || p[len] == ' ');
	}
	return some;
}

/*
 * Columns for the parts of a thread's life, the third of which is dropped if meaningless, and, if there were
 * requests, for the time with requests under way, which overlaps the other parts.
 */
#define THREAD_COLUMNS(OUTSIDE, OTHER_LEFT_OUT)                                                \
	{                                                                                      \
		{"THREADS", {QUERY_TEXT}}, {"", {QUERY_INT}},                                  \
			{"in I/O", {QUERY_DUR}, .dash = true}, {"", {QUERY_FLOAT}},            \
			{"waiting", {QUERY_DUR}, .dash = true}, {"", {QUERY_FLOAT}},           \
			{"other calls",                                                        \
			 {QUERY_DUR},                                                          \
			 .dash = true,                                                         \
			 .programs = OTHER_LEFT_OUT,                                           \
			 .gives = 7},                                                          \
			{"", {QUERY_FLOAT}, .programs = OTHER_LEFT_OUT, .gives = 9},           \
			{OUTSIDE, {QUERY_DUR}, .dash = true}, {"", {QUERY_FLOAT}, .gives = 8}, \
			{"async I/O", {QUERY_DUR}, .dash = true},                              \
			{"", {QUERY_FLOAT}, .gives = 10},                                      \
	}

static int print_threads(const struct report *r)
{
	static const struct answer_column columns[2][2][THREAD_PARTS + 2] = {
		{THREAD_COLUMNS("outside calls", true), THREAD_COLUMNS("outside calls", false)},
		{THREAD_COLUMNS("outside selected", true),
		 THREAD_COLUMNS("outside selected", false)},
	};
	_cleanup_answer_list_ struct answer_list list = {0};
	_cleanup_free_ struct thread_time *t = NULL;
	struct thread_time rest = {0};
	size_t count = 0, shown;
	bool other = false, async = false;
	int e = report_threads(r, &t, &count);

	if (e < 0)
		return e;
	shown = count <= THREAD_LINES ? count : THREAD_LINES - 1;
	for (size_t i = 0; i < count; i++) {
		other |= t[i].other > t[i].span / 100;
		async |= t[i].async;
		if (i < shown)
			continue;
		rest.io = add_sat(rest.io, t[i].io);
		rest.wait = add_sat(rest.wait, t[i].wait);
		rest.other = add_sat(rest.other, t[i].other);
		rest.async = add_sat(rest.async, t[i].async);
		rest.span =
			add_sat(rest.span,
				MAX(t[i].span, add_sat(t[i].io, add_sat(t[i].wait, t[i].other))));
	}
	list.columns = columns[calls_left_out(r)][other];
	list.column_count = THREAD_PARTS + 2 * async;
	for (size_t i = 0; i < shown && e >= 0; i++) {
		_cleanup_buf_ struct buf name = {0};

		buf_fail(&name, report_put_host(r, TABLE_THREAD, t[i].task, &name));
		e = format_path(&name, t[i].comm.data, t[i].comm.len, 18);
		put_thread(&list, buf_str(&name), t[i].tid, &t[i]);
	}
	if (shown < count) {
		char name[96];

		snprintf(name, sizeof(name), "%s others", format_count(count - shown).s);
		put_thread(&list, name, -1, &rest);
	}
	return e < 0 ? e : page_table(&list);
}

/* ---- operations ---- */

static bool is_other(const struct rollup_row *row)
{
	return !report_is_io(row) && !report_is_wait(row);
}

static bool map_io_op(void *arg, struct rollup_row *key)
{
	return report_is_io(key);
}

/* "EAGAIN" if all failures are of one kind, "3 kinds" if not, "" without failures. */
static void errors_text(const struct report *r, int64_t op, uint64_t errors, char *out, size_t size)
{
	_cleanup_free_ uint8_t *seen = calloc(ERR_MAX, 1);
	int64_t kind = -1;
	unsigned int kinds = 0;
	char word[32];

	for (size_t i = 0; seen && errors && i < rollup_count(r->scan.rollup); i++) {
		const struct rollup_row *row = rollup_row(r->scan.rollup, i);

		if ((op >= 0 && row->op != op) || row->err <= 0 || !report_is_io(row) ||
		    row->err >= ERR_MAX || seen[row->err])
			continue;
		seen[row->err] = 1;
		kind = row->err;
		kinds++;
	}
	if (kinds == 1)
		snprintf(out, size, "%s", report_err_name(kind, word));
	else
		snprintf(out, size, kinds ? "%u kinds" : "", kinds);
}

static void put_op(struct answer_list *to, const struct report *r, const char *name, int64_t op,
		   const struct rollup_row *row, uint64_t io_ns)
{
	char errors[32];

	errors_text(r, op, row->errors, errors, sizeof(errors));
	report_screen_put_name(to, name);
	answer_list_uint(to, row->calls);
	answer_list_uint(to, row->errors);
	answer_list_str(to, errors);
	answer_list_uint(to, row->bytes);
	answer_list_uint(to, row->time_ns);
	page_share(to, row->time_ns, io_ns);
	answer_list_int(to, report_quantile(row, 0.5));
	answer_list_int(to, report_quantile(row, 0.99));
	answer_list_uint(to, row->max_ns);
	answer_list_str(to, format_spark(&row->hist).s);
}

/*
 * " waiting 178,610 calls, 3.74 s (epoll_wait 178,585, futex 25)": calls that are listed but not ranked; as many
 * operations as fit.
 */
static int put_told(struct answer_list *to, const struct rollup *by_op, const char *what,
		    bool (*take)(const struct rollup_row *row))
{
	_cleanup_free_ const struct rollup_row **rows = NULL;
	_cleanup_buf_ struct buf b = {0};
	uint64_t calls = 0, bytes = 0, time_ns = 0;
	size_t count = 0, named = 0;
	char name[32];
	int e = rollup_sorted(by_op, take, page_calls_order, &rows, &count);

	if (e < 0 || !count)
		return e;
	for (size_t i = 0; i < count; i++) {
		calls += rows[i]->calls;
		bytes = add_sat(bytes, rows[i]->bytes);
		time_ns = add_sat(time_ns, rows[i]->time_ns);
	}
	buf_printf(&b, "  %s   %s, %s   ", what, format_counted(calls, "call").s,
		   report_time(time_ns).s);
	if (bytes)
		buf_printf(&b, "%s moved   ", format_size(bytes).s);
	buf_printf(&b, "(");
	for (; named < count; named++) {
		_cleanup_buf_ struct buf one = {0};

		buf_printf(&one, "%s%s %s", named ? ", " : "",
			   report_op_name(rows[named]->op, name),
			   format_count(rows[named]->calls).s);
		if (b.len + one.len + strlen(", 999 more)") > page_width())
			break;
		buf_add(&b, &one);
	}
	if (named < count)
		buf_printf(&b, "%s%zu more", named ? ", " : "", count - named);
	e = buf_printf(&b, ")");
	answer_list_text(to, buf_bytes(&b));
	page_rest(to);
	return e;
}

/* Calls that had not ended have no percentiles; their time is included in THREADS. */
static int put_running(const struct report *r, struct answer_list *to)
{
	_cleanup_(rollup_freep) struct rollup *by_op = NULL;
	int e = report_running(r, &by_op);

	return e < 0 ? e : put_told(to, by_op, "still running", NULL);
}

static int print_operations(const struct report *r, const struct page_totals *t)
{
	static const struct answer_column columns[] = {
		{"OPERATIONS", {QUERY_TEXT}},
		{"calls", {QUERY_INT}, ANSWER_COUNT},
		{"errors", {QUERY_INT}, ANSWER_COUNT, .dash = true, .alarm = true},
		{"", {QUERY_TEXT}, .fixed = true, .gives = 8},
		{"bytes", {QUERY_SIZE}, .dash = true},
		{"time", {QUERY_DUR}, .weight = true},
		{"% I/O", {QUERY_FLOAT}},
		{"p50", {QUERY_DUR}, .gives = 9},
		{"p99", {QUERY_DUR}},
		{"max", {QUERY_DUR}},
		{FORMAT_SPARK_TITLE, {QUERY_TEXT}, .fixed = true, .gives = 7},
	};
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};
	_cleanup_(rollup_freep) struct rollup *ops = NULL, *classes = NULL;
	_cleanup_free_ const struct rollup_row **rows = NULL;
	size_t count = 0, shown, lines;
	char name[32];
	int e = rollup_regroup(r->scan.rollup, ROLLUP_OP, map_io_op, NULL, &ops);

	if (e >= 0)
		e = rollup_project(r->scan.rollup, ROLLUP_OP | ROLLUP_CLASS, &classes);
	if (e >= 0)
		e = rollup_sorted(ops, NULL, page_row_order, &rows, &count);
	if (e < 0)
		return e;
	lines = OP_LINES - (r->scan.running->rows > 0);
	shown = count <= lines ? count : lines - 1;
	for (size_t i = 0; i < shown; i++)
		put_op(&list, r, report_op_name(rows[i]->op, name), rows[i]->op, rows[i], t->io_ns);
	if (shown < count) {
		struct rollup_row rest;

		snprintf(name, sizeof(name), "%zu others", count - shown);
		e = page_sum(rows, shown, count, &rest);
		put_op(&list, r, name, -1, &rest, t->io_ns);
		hist_free(&rest.hist);
	}
	if (e >= 0)
		e = put_told(&list, classes, "not I/O", is_other);
	if (e >= 0)
		e = put_told(&list, classes, "waiting", report_is_wait);
	if (e >= 0)
		e = put_running(r, &list);
	return e < 0 ? e : page_table(&list);
}

/* ---- single calls ---- */

static int print_slowest(const struct report *r)
{
	static const struct answer_column columns[] = {
		{"SLOWEST", {QUERY_DUR}},
		{"at", {QUERY_TIME}},
		{"thread", {QUERY_TEXT}, .fixed = true},
		{"call", {QUERY_TEXT}},
	};
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};
	const struct batch *b = r->scan.slowest;
	size_t rows = MIN(b->rows, (size_t)REPORT_SLOWEST_SCREEN);
	size_t at = strlen("at"), thread = strlen("thread");
	int e = 0;

	/* paths in a long call are cut first, which requires knowing the available width */
	for (size_t i = 0; i < rows && e >= 0; i++) {
		_cleanup_buf_ struct buf comm = {0};
		int64_t start = batch_get(b, OP_START, i, r->first);

		e = report_comm(r, batch_get(b, OP_THREAD_ID, i, -1), &comm);
		at = MAX(at, strlen(format_rel(clock_between(r->first, start), 3).s));
		thread = MAX(thread, format_width(buf_str(&comm)));
	}
	for (size_t i = 0; i < rows && e >= 0; i++) {
		_cleanup_buf_ struct buf call = {0}, comm = {0};
		int64_t start = batch_get(b, OP_START, i, r->first);

		e = report_comm(r, batch_get(b, OP_THREAD_ID, i, -1), &comm);
		if (e >= 0)
			e = report_call(r, b, i, page_width() - (SLOWEST_REST + at + thread),
					&call);
		answer_list_int(&list, batch_get(b, OP_DUR, i, 0));
		answer_list_str(&list, format_rel(clock_between(r->first, start), 3).s);
		answer_list_str(&list, buf_str(&comm));
		answer_list_text(&list, buf_bytes(&call));
	}
	return e < 0 ? e : page_table(&list);
}

/* The call was running before recording began, so only a lower bound of its duration is known. */
static bool report_screen_at_least(const struct batch *b, size_t row)
{
	return batch_is_null(b, OP_START, row) && !batch_is_null(b, OP_DUR, row);
}

static int print_running(const struct report *r)
{
	const struct batch *b = r->scan.running;
	_cleanup_buf_ struct buf out = {0};
	size_t shown = 0;

	if (!b->rows)
		return 0;
	buf_printf(&out, "STILL RUNNING");
	for (; shown < b->rows; shown++) {
		_cleanup_buf_ struct buf one = {0};
		char op[32];

		buf_printf(&one, "   ");
		report_comm(r, batch_get(b, OP_THREAD_ID, shown, -1), &one);
		buf_printf(&one, " %s %s%s", report_op_name(batch_get(b, OP_OP, shown, -1), op),
			   report_screen_at_least(b, shown) ? bars_at_least() : "",
			   format_dur(batch_get(b, OP_DUR, shown, -1)).s);
		if (format_width(buf_str(&out)) + format_width(buf_str(&one)) + 14 > page_width())
			break;
		buf_add(&out, &one);
	}
	if (shown < b->rows)
		buf_printf(&out, "   and %s more", format_count(b->rows - shown).s);
	printf("\n");
	return page_line(&out);
}

int report_screen(struct report *r)
{
	_cleanup_buf_ struct buf content = {0};
	struct page_totals t;
	int e = beside_content_line(r, &content);

	loss_take_damage(&r->loss, r->store); /* found in the content */
	if (e >= 0)
		e = print_lost(r);
	if (e >= 0)
		e = count_totals(r, &t);
	if (e >= 0)
		e = page_verdict(r, &t);
	if (e >= 0)
		e = page_origin(r);
	if (e >= 0)
		e = print_range(r);
	if (e >= 0)
		e = print_host_clocks(r);
	if (e < 0)
		return e;
	e = print_size(r, &t);
	if (e >= 0)
		e = print_completeness(r, &content);
	if (e >= 0)
		e = report_screen_print_queued(r);
	if (e < 0)
		return e;
	e = print_threads(r);
	if (e >= 0 && t.calls)
		e = print_operations(r, &t);
	if (e >= 0)
		e = page_files(r, &t);
	if (e >= 0)
		e = print_slowest(r);
	if (e >= 0)
		e = print_running(r);
	if (e >= 0)
		e = page_findings(r);
	return e < 0 ? e : page_next(r, &t);
}
