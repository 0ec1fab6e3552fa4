// SPDX-License-Identifier: Apache-2.0
/* query.c: `weir query`: queries over traces. */
#include "cli/options/conditions.h"
#include "cli/query/query.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/features/feature_pass.h"
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/terminal/text.h"

/* ---- the plan ---- */

int query_users(struct query_session *s, const struct query_users **ret, struct error *err)
{
	*ret = annotations_get(s->annotations);
	return s->store || !s->engine ? 0 : engine_users(s->engine, ret, err);
}

/* Returns the exit status. */
static int query_parse_or_fail(struct query_session *s, const char *text, size_t len,
			       struct plan **ret)
{
	const struct query_users *users = NULL;
	struct query_error why = {0};
	struct error err = {0};
	_cleanup_buf_ struct buf lines = {0};
	int r = query_users(s, &users, &err);

	if (r < 0)
		return fail(&err);
	r = query_parse_users(text, len, users, ret, &why);
	if (r >= 0)
		return 0;
	if (query_error_text(&why, text, len, &lines) < 0)
		fail_usage("query: %s", why.err.message);
	else
		fail_usage("query: %.*s",
			   (int)(lines.len - (lines.len && lines.data[lines.len - 1] == '\n')),
			   buf_str(&lines));
	return 2;
}

/* Evaluates --from and --to against the current contents of the trace. */
static int find_range(struct query_session *s, int64_t *ret_from, int64_t *ret_to,
		      struct error *err)
{
	const struct read_flags *f = &s->opts->read;
	int64_t first = INT64_MIN, last = INT64_MIN;
	/* an engine must read all times to know the range */
	bool wanted = f->from || f->to || f->rel || f->json || text_narrow();
	int r;

	if (s->opts->follow && s->store)
		interrupt_wait_rows(s->it, s->store);
	if (s->store)
		store_range(s->store, &first, &last);
	r = s->store || !wanted ? 0 : engine_range(s->engine, &first, &last, err);
	if (r < 0)
		return r;
	if (first == INT64_MIN)
		first = last = 0;
	s->style.origin = first;
	s->style.times = cell_times_of(f->rel, f->utc);
	return read_flags_range(f, first, last, ret_from, ret_to, err);
}

static struct engine_options query_engine_options(const struct query_session *s)
{
	struct engine_options options = engine_flags_options(&s->opts->engine);

	options.only_rows = true;
	options.annotations = s->annotations;
	return options;
}

int query_engine(struct query_session *s, struct error *err)
{
	const struct engine_options options = query_engine_options(s);

	return s->engine ? 0 : engine_open(&s->engine, s->store, &options, err);
}

/* ---- the answer ---- */

bool query_wants_rows(const struct plan *p)
{
	for (size_t i = 0; i < p->stage_count; i++) {
		if (p->stages[i].kind == STAGE_HEAD)
			return true;
	}
	return false;
}

struct cell_style query_style(const struct query_session *s, const struct plan *p)
{
	struct cell_style style = s->style;

	style.flags = cell_flag_words(p);
	return style;
}

struct answer_document query_document(const struct query_session *s, bool compact)
{
	return (struct answer_document){.origin = s->style.origin,
					.compact = compact,
					.store = s->store,
					.loss = s->store ? NULL : &s->loss};
}

static int query_print_rows(struct query_session *s, const struct plan *p, struct answer *rows,
			    bool pages, struct error *err)
{
	bool terminal = text_terminal();
	struct answer_print print = answer_print_out(
		query_style(s, p), "add `| head N`, pipe the output, or use --csv to get them all");
	const struct answer_document document = query_document(s, false);
	int r;

	if (s->opts->read.json)
		return answer_print_json(stdout, rows, &document, err);
	if (s->opts->csv)
		return answer_csv(stdout, rows, err);
	print.trends = terminal && !query_wants_rows(p);
	if (!terminal || !pages)
		return query_print(&print, rows, err);
	text_pager_begin();
	r = query_print(&print, rows, err);
	/* the answer is complete: from now on Ctrl-C goes to the pager */
	interrupt_mode(s->it, s->prompt ? INTERRUPT_CANCEL : INTERRUPT_IGNORE);
	text_pager_end();
	return r;
}

static int answer_scan(struct query_session *s, const struct plan *p, struct error *err)
{
	_cleanup_(query_scan_freep) struct query_scan *scan = NULL;
	_cleanup_answer_ struct answer rows = {0};
	int r = query_scan_new(&scan, s, p, s->opts->follow, err);

	if (r < 0)
		return r;
	r = query_answer_of_scan(&rows, p, scan);
	return r < 0 ? r : query_print_rows(s, p, &rows, false, err);
}

static int answer_engine(struct query_session *s, const struct plan *p, struct error *err)
{
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	_cleanup_answer_ struct answer rows = {0};
	int r = query_engine(s, err);

	if (r < 0)
		return r;
	interrupt_engine(s->it, s->engine);
	r = engine_ask(s->engine, p, NULL, &result, err);
	interrupt_quiet(s->it);
	if (r >= 0)
		r = answer_of_result(&rows, p, result);
	if (r >= 0)
		r = query_print_rows(s, p, &rows, true, err);
	interrupt_engine(s->it, NULL);
	return r;
}

static int query_answer_plan(struct query_session *s, const struct plan *p, int64_t planned_ns,
			     struct error *err)
{
	const struct query_opts *o = s->opts;

	if (o->explain)
		return query_explain(s, p, planned_ns, err);
#ifdef WEIR_ENGINE
	if (o->parquet)
		return query_parquet(s, p, o->parquet, err);
#endif
	if (query_is_scan(s, p))
		return answer_scan(s, p, err);
	return o->follow ? query_follow(s, p, err) : answer_engine(s, p, err);
}

/* Adds one condition to the plan. */
static int query_and(void *arg, const char *option, const char *text, struct error *err)
{
	struct query_error why = {0};
	int r = plan_and_where(arg, text, &why);

	return r < 0 ? error_set(err, r, "%s: %s", option, why.err.message) : 0;
}

/* Adds the conditions of -p, -e, -P, --where, ... */
static int query_select(struct plan *p, const struct read_flags *flags, struct error *err)
{
	_cleanup_(select_free) struct select s = {0};
	int r = read_flags_select(flags, &s, err);

	return r < 0 ? r : conditions_each(&flags->sel, &s, &flags->sel.where, query_and, p, err);
}

int query_statement(struct query_session *s, const char *text, size_t len)
{
	_cleanup_(plan_freep) struct plan *plan = NULL;
	int64_t began = clock_monotonic_ns(), planned, from, to;
	struct error err = {0};
	struct loss loss = s->loss;
	int r;

	r = find_range(s, &from, &to, &err);
	if (r < 0)
		return r == -EINVAL ? fail_usage("query: %s", err.message) : fail(&err);
	r = query_parse_or_fail(s, text, len, &plan);
	if (r)
		return r;
	plan->from = from;
	plan->to = to;
	if (s->store && features_need(s->store, plan->table, &err) < 0)
		return fail(&err);
	planned = clock_monotonic_ns() - began;
	r = query_select(plan, &s->opts->read, &err);
	if (r == -EINVAL)
		return fail_usage("query: %s", err.message);
	if (r >= 0)
		r = query_answer_plan(s, plan, planned, &err);
	fflush(stdout);
	if (interrupt_signal(s->it))
		return 1; /* the caller knows the reason */
	if (r < 0)
		return fail(&err);
	if (!s->store || loss_read(&loss, s->store, &err) >= 0)
		loss_warn(&loss);
	return 0;
}

/* ---- the command ---- */

static int read_text(FILE *f, const char *name, struct buf *ret, struct error *err)
{
	char piece[4096];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), f)) > 0) {
		if (ret->len + n > QUERY_TEXT_MAX)
			return error_set(err, -E2BIG, "query: %s holds more than %u KiB", name,
					 QUERY_TEXT_MAX >> 10);
		if (buf_append(ret, piece, n) < 0)
			return error_errno(err, -ENOMEM, "query");
	}
	return ferror(f) ? error_errno(err, -EIO, "query: %s", name) : 0;
}

/* Reads the text from -f, from standard input, or from the first argument. *ret_used: arguments taken. */
static int query_take_text(const struct query_opts *o, int argc, char **argv, struct buf *ret,
			   int *ret_used, struct error *err)
{
	FILE *f;
	int r;

	*ret_used = 0;
	if (o->file) {
		f = fopen(o->file, "re");
		if (!f)
			return error_errno(err, -errno, "query: -f %s", o->file);
		r = read_text(f, o->file, ret, err);
		fclose(f);
		return r;
	}
	*ret_used = argc > 0;
	if (argc == 0 || strcmp(argv[0], "-") == 0)
		return read_text(stdin, "standard input", ret, err);
	return buf_append(ret, argv[0], strlen(argv[0]));
}

/* Opens the inputs: trace files, or the engine that holds the rows. */
static int query_open(struct query_session *s, int argc, char **argv, struct error *err)
{
	const struct engine_options options = query_engine_options(s);
	int r = read_flags_address(&s->opts->read, argc, argv, &s->name, err);

	if (r < 0)
		return r;
	if (s->name) {
		r = read_flags_connect(&s->opts->read, s->name, options, &s->engine, err);
		return r < 0 ? r : loss_read_engine(&s->loss, s->engine, err);
	}
	r = read_flags_open(&s->opts->read, argc, argv, &s->store, err);
	if (r < 0)
		return r;
	s->name = store_trace_path(s->store, 0);
	return annotations_new(&s->annotations, s->store, err);
}

static int query_run(struct query_session *s, bool prompt, int argc, char **argv)
{
	_cleanup_buf_ struct buf text = {0};
	struct error err = {0};
	int used = 0, r = 0;

	if (!prompt)
		r = query_take_text(s->opts, argc, argv, &text, &used, &err);
	if (r >= 0)
		r = query_open(s, argc - used, argv + used, &err);
	if (r < 0)
		return fail(&err);
	if (!prompt)
		return query_statement(s, buf_str(&text), text.len);
	s->prompt = true;
#ifdef WEIR_ENGINE
	r = query_prompt(s, &err);
#endif
	return r < 0 ? fail(&err) : 0;
}

/* Reports an invalid selection before the trace is opened. */
static int check_selection(const struct query_opts *o)
{
	struct select s = {0};
	struct error err = {0};
	int r = read_flags_select(&o->read, &s, &err);

	if (r < 0)
		return fail_usage("query: %s", err.message);
	select_free(&s);
	return 0;
}

static int query_check(const struct query_opts *o, bool prompt, int argc, char **argv)
{
#ifndef WEIR_ENGINE
	if (o->parquet)
		return fail_usage("query: --parquet needs an engine, and this weir was built "
				  "without one; use --csv or --json");
	if (prompt)
		return fail_usage("query: a pipeline is missing: weir query 'dur > 1ms'");
#endif
	if (o->read.json + o->csv + (o->parquet != NULL) > 1)
		return fail_usage("query: --json, --csv and --parquet exclude each other");
	if (o->explain && (o->read.json || o->csv || o->parquet || o->follow))
		return fail_usage("query: --explain prints the plan instead of the answer: it "
				  "cannot be combined with --json, --csv, --parquet or --follow");
	if (o->analyze && !o->explain)
		return fail_usage("query: --analyze needs --explain");
	if (o->follow && o->parquet)
		return fail_usage(
			"query: --parquet writes a file once and cannot be combined with --follow");
	if (o->every_ns && !o->follow)
		return fail_usage("query: --every needs --follow");
	if (engine_flags_check(&o->engine, "query"))
		return 2;
	if (prompt && !isatty(STDOUT_FILENO))
		return fail_usage("query: a pipeline is missing: weir query 'by op | count()'");
	if (!prompt && argc > 0 && !o->file && access(argv[0], F_OK) == 0)
		return fail_usage("query: the pipeline comes first, then the trace: weir query "
				  "'by op | count()' %s",
				  argv[0]);
	return check_selection(o);
}

static int query_main(const void *opts, int argc, char **argv)
{
	const struct query_opts *o = opts;
	bool prompt = argc == 0 && !o->file && isatty(STDIN_FILENO);
	struct interrupt it;
	struct query_session s = {.opts = o, .it = &it};
	struct error err = {0};
	int r = query_check(o, prompt, argc, argv);

	if (r)
		return r;
	if (interrupt_start(&it, prompt ? INTERRUPT_CANCEL : INTERRUPT_END, &err) < 0)
		return fail(&err);
	r = query_run(&s, prompt, argc, argv);
	interrupt_release(&it);
	if (s.engine)
		engine_free(s.engine);
	annotations_free(s.annotations);
	if (s.store)
		store_free(s.store);
	return interrupt_stop(&it, r);
}

static const struct option query_options[] = {
	READ_FLAGS(struct query_opts, read),
	{'f', "file", OPTION_STRING, "FILE", "read the pipeline from this file",
	 offsetof(struct query_opts, file)},
	{0, "csv", OPTION_FLAG, NULL,
	 "print comma-separated values; times in nanoseconds since the epoch; a text like =1 "
	 "gets an apostrophe in front, so that no spreadsheet runs it",
	 offsetof(struct query_opts, csv)},
	{0, "parquet", OPTION_STRING, "FILE", "write the answer to this file as Parquet",
	 offsetof(struct query_opts, parquet)},
	{0, "follow", OPTION_FLAG, NULL,
	 "repeat the query on a growing trace: in place on a terminal, one answer after another on "
	 "a pipe",
	 offsetof(struct query_opts, follow)},
	{0, "every", OPTION_DURATION, "TIME", "with --follow: refresh interval (default 1s)",
	 offsetof(struct query_opts, every_ns)},
	{0, "explain", OPTION_FLAG, NULL, "print the plan and the SQL instead of the answer",
	 offsetof(struct query_opts, explain)},
	{0, "analyze", OPTION_FLAG, NULL, "with --explain: run it and show how long each step took",
	 offsetof(struct query_opts, analyze)},
	ENGINE_FLAGS(struct query_opts, engine),
	{0},
};

static const struct command_example query_examples[] = {
	{"weir query 'by op | count(), sum(bytes), p99(dur), hist(dur)'",
	 "which calls, how many, how slow"},
	{"weir query 'path ~ \"*.sst\" && dur > 1ms | by comm, path | count() | head 10'",
	 "where the slow calls on these files come from"},
	{"weir query 'op in (fsync, fdatasync) | quantize(dur)'",
	 "how long syncs take, drawn as in DTrace"},
	{"weir query 'by every 100ms | hist(dur)'", "a heat map of latency over time"},
	{"weir query 'err is not null | select start, comm, op, err, path' --rel",
	 "every call that failed, as lines"},
	{"weir query --follow 'by op | count(), rate(bytes) | sort rate(bytes) desc'",
	 "the same again every second, while the trace grows"},
	{0},
};

const struct command command_query = {
	.name = "query",
	.summary = "query a trace in weir's own language",
	.usage = "[options] ['PIPELINE' | - | -f FILE] [TRACE...]",
	.description =
		"A pipeline is a list of stages separated by `|`: conditions, `by` with keys and "
		"aggregates, sort, head, select, join. Names are those of the trace's columns, and "
		"names derived from them: path, comm, exe, pid, cgroup, container, peer, ... "
		"Numbers take units: 1ms, 4KiB. A caret marks the position of an error, with the "
		"nearest name.\n\n"
		"The options of a selection (-p, -e, -P, --slower, ...) are further conditions; a "
		"call counts at the time when it ended. `-` reads the pipeline from standard "
		"input; a terminal without one gets a prompt, with history and completion by "
		"Tab.\n\n"
		"A single row with one histogram is drawn large, histograms by time alone as a "
		"heat map; on a terminal, counts by time and one key are drawn as a line for each "
		"key. `~` marks "
		"an "
		"estimate. A terminal shows at most 50 rows, a pipe gets all. Missing data is "
		"reported on standard error.\n\n"
		"where, select and head stream rows straight from the trace and need only weir. "
		"Groups, order and joins are computed by DuckDB's library, which is searched for "
		"in --duckdb, $WEIR_DUCKDB, and weir's own folders.\n\n"
		"Exit status: 0 done, 1 it failed, 2 wrong options or a wrong pipeline, 130 "
		"interrupted.",
	.options = query_options,
	.options_size = sizeof(struct query_opts),
	.examples = query_examples,
	.run = query_main,
};
