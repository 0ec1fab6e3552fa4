// SPDX-License-Identifier: Apache-2.0
/* sql.c: `weir sql`: SQL over traces, executed by the embedded engine. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analysis/features/feature_pass.h"
#include "cli/commands.h"
#include "cli/sql/sql.h"
#include "cli/sql/sql_answer.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/text.h"
#include "engine/sql_text.h"
#include "privilege/privilege.h"

#define STATEMENT_MAX (16u << 20) /* bytes of SQL from standard input */

/* ---- statements ---- */

static int read_stdin(struct buf *sql, struct error *err)
{
	char piece[65536];
	size_t n;

	while ((n = fread(piece, 1, sizeof(piece), stdin)) > 0) {
		if (sql->len + n > STATEMENT_MAX)
			return error_set(err, -E2BIG, "more than %u MiB of SQL on standard input",
					 STATEMENT_MAX >> 20);
		if (buf_append(sql, piece, n) < 0)
			return error_errno(err, -ENOMEM, "cannot read the statement");
	}
	if (memchr(sql->data ? sql->data : (const uint8_t *)"", 0, sql->len))
		return error_set(err, -EINVAL, "standard input contains a NUL byte: it is not SQL");
	return 0;
}

static int put_truncated(void *arg, struct buf *to, struct error *err _unused_)
{
	return ((struct answer_limit *)arg)->more ? buf_printf(to, ", \"truncated\": true") : 0;
}

static int sql_print_json(const struct sql_opts *o, struct store *s, struct answer *rows,
			  struct error *err)
{
	struct answer_limit limit = {.rows = rows,
				     .left = o->rows ? (uint64_t)o->rows : UINT64_MAX};
	struct answer some = answer_limited(&limit);
	struct answer_document d = {.store = s, .put_more = put_truncated, .arg = &limit};
	int64_t last;

	store_range(s, &d.origin, &last);
	if (d.origin == INT64_MIN)
		d.origin = 0;
	return answer_print_json(o->answer, &some, &d, err);
}

static int print_result(const struct sql_opts *o, struct store *s, struct engine_result *result,
			struct error *err)
{
	const struct answer_print print =
		answer_print_out((struct cell_style){.null = "NULL"},
				 "pipe the output, or use --csv, to get them all");
	_cleanup_(sql_answer_free) struct sql_answer source = {0};
	_cleanup_answer_ struct answer rows = {0};
	int r;

	if (!o->json && !engine_result_has_rows(result))
		return 0;
	r = sql_answer_init(&source, &rows, result, !o->json && !o->csv);
	if (r < 0)
		return error_errno(err, r, "cannot print the result");
	if (o->json)
		return sql_print_json(o, s, &rows, err);
	return o->csv ? answer_csv(stdout, &rows, err) : answer_text(&print, &rows, err);
}

/* Makes the tables that are computed on demand and that the statements name, as use or as weir_use(). */
static int sql_need_tables(struct store *s, const char *sql, struct error *err)
{
	for (unsigned int i = 0; i < TABLE_COUNT; i++) {
		const struct table_def *t = schema_table(i);
		char function[64];
		int r;

		snprintf(function, sizeof(function), "weir_%s", t->name);
		if (t->kind != TABLE_IS_MADE ||
		    (!sql_after_word(sql, t->name) && !sql_after_word(sql, function)))
			continue;
		r = features_need(s, (enum table_id)i, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* Runs all statements. For --json and --csv only the last may return rows, as the output is one document. */
int sql_run(const struct sql_opts *o, struct interrupt *it, struct store *s, struct engine *e,
	    const char *sql, struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	int r = o->confined ? 0 : sql_need_tables(s, sql, err);
	bool printed = false;
	size_t count;

	if (r >= 0)
		r = engine_parse(e, sql, &statements, err);
	count = r < 0 ? 0 : engine_statements_count(statements);

	for (size_t i = 0; i < count && r >= 0 && !ferror(stdout); i++) {
		_cleanup_(engine_result_freep) struct engine_result *result = NULL;

		r = engine_execute(statements, i, &result, err);
		interrupt_quiet(it);
		if (r < 0)
			break;
		if ((o->json || o->csv) && i + 1 < count) {
			if (engine_result_has_rows(result))
				return error_set(err, -EINVAL,
						 "--json and --csv print one answer: only the last "
						 "statement may "
						 "have rows, and statement %zu has",
						 i + 1);
			continue;
		}
		if (printed && engine_result_has_rows(result))
			putchar('\n');
		printed |= engine_result_has_rows(result);
		r = print_result(o, s, result, err);
	}
	return r;
}

static int sql_run_sql(const struct sql_opts *o, struct interrupt *it, const char *sql, int argc,
		       char **argv, struct error *err)
{
	const struct read_flags flags = {.inputs = o->inputs, .hosts = o->hosts};
	struct engine_options options = engine_flags_options(&o->engine);
	_cleanup_(store_freep) struct store *store = NULL;
	struct engine *engine = NULL;
	struct loss loss;
	int r = read_flags_open(&flags, argc, argv, &store, err);

	options.borrowed = options.confined = o->confined; /* borrowed: files cannot be opened */
	options.folder = o->confined ? ENGINE_FOLDER_FD : 0;
	if (r >= 0)
		r = engine_open(&engine, store, &options, err);
	if (r < 0)
		return r;
	if (sql) {
		interrupt_engine(it, engine);
		r = sql_run(o, it, store, engine, sql, err);
		fflush(stdout);
		if (r >= 0 && loss_read(&loss, store, err) >= 0)
			loss_warn(&loss);
		interrupt_engine(it, NULL);
	} else {
		r = sql_prompt(o, it, store, engine, err);
	}
	interrupt_release(it);
	engine_free(engine);
	return r;
}

/* For `weir serve`: runs untrusted SQL with no threads but the engine's, and prints only the rows. */
static int sql_confined(struct sql_opts *o)
{
	struct interrupt it = {.mode = INTERRUPT_IGNORE, .lock = PTHREAD_MUTEX_INITIALIZER};
	_cleanup_buf_ struct buf sql = {0};
	struct error err = {0};
	int out = dup(STDOUT_FILENO), r;

	/* DuckDB may log to standard output */
	o->answer = out < 0 ? NULL : fdopen(out, "w");
	if (!o->answer || !freopen("/dev/null", "w", stdout))
		return fail(&(struct error){.code = -errno});
	r = read_stdin(&sql, &err);
	if (r >= 0)
		r = sql_run_sql(o, &it, buf_str(&sql), 0, NULL, &err);
	if (fclose(o->answer) && r >= 0)
		r = error_errno(&err, -errno, "cannot print the result");
	return r < 0 ? fail(&err) : 0;
}

static int sql_main(const void *opts, int argc, char **argv)
{
	struct sql_opts o = *(const struct sql_opts *)opts;
	struct interrupt it;
	_cleanup_buf_ struct buf sql = {0};
	struct error err = {0};
	bool prompt = argc == 0 && isatty(STDIN_FILENO);
	bool piped = argc == 0 && !prompt;
	int r = 0;

	if (privilege_drop(privilege_files() | (o.confined ? privilege_child() : 0), &err) < 0)
		return fail(&err);
	if (o.confined)
		return sql_confined(&o);
	o.answer = stdout;
	if (o.json && o.csv)
		return fail_usage("sql: --json and --csv exclude each other");
	if (engine_flags_check(&o.engine, "sql"))
		return 2;
	if (prompt && !isatty(STDOUT_FILENO))
		return fail_usage("sql: a statement is missing: weir sql 'SELECT ...', or SQL on "
				  "standard input; a prompt needs a terminal for its answers too");
	if (argc > 0 && access(argv[0], F_OK) == 0)
		return fail_usage(
			"sql: the statement comes first, then the trace: weir sql 'SELECT ...' %s",
			argv[0]);
	if (interrupt_start(&it, prompt ? INTERRUPT_CANCEL : INTERRUPT_END, &err) < 0)
		return fail(&err);
	if (piped)
		r = read_stdin(&sql, &err);
	else if (!prompt)
		r = buf_append(&sql, argv[0], strlen(argv[0]));
	if (r >= 0)
		r = sql_run_sql(&o, &it, prompt ? NULL : buf_str(&sql), MAX(argc - 1, 0), argv + 1,
				&err);
	r = interrupt_stop(&it, r < 0 ? 1 : 0);
	if (r == 1)
		return fail(&err);
	return r;
}

static const struct option sql_options[] = {
	{'i', "input", OPTION_LIST, "TRACE",
	 "query this trace, or every trace in this folder; repeatable; weir.trace if none is named",
	 offsetof(struct sql_opts, inputs)},
	HOST_FLAG(struct sql_opts, hosts),
	{0, "csv", OPTION_FLAG, NULL,
	 "print comma-separated values; a text like =1 gets an apostrophe in front, so that no "
	 "spreadsheet runs it",
	 offsetof(struct sql_opts, csv)},
	{0, "json", OPTION_FLAG, NULL,
	 "print one JSON document; sizes in bytes, durations in nanoseconds",
	 offsetof(struct sql_opts, json)},
	ENGINE_FLAGS(struct sql_opts, engine),
	/* for `weir serve`, which runs untrusted SQL in a separate process */
	{0, "confined", OPTION_FLAG, NULL, NULL, offsetof(struct sql_opts, confined)},
	{0, "rows", OPTION_COUNT, "N", NULL, offsetof(struct sql_opts, rows)},
	{0},
};

static const struct command_example sql_examples[] = {
	{"weir sql 'SELECT op, count(*), sum(bytes) FROM op GROUP BY op ORDER BY 2 DESC'",
	 "which calls, how many bytes"},
	{"weir sql \"SELECT path, p99(hist(dur)) FROM op_named WHERE op = 'fsync' GROUP BY path\" "
	 "redis.trace",
	 "how long syncs take, file by file"},
	{"weir sql \"COPY (FROM op_named) TO 'calls.parquet'\" -i redis.trace",
	 "every call as Parquet"},
	{0},
};

const struct command command_sql = {
	.name = "sql",
	.summary = "query a trace in SQL",
	.usage = "[options] ['STATEMENT' [TRACE...]]",
	.description =
		"Runs SQL (DuckDB's) over the tables of one or several traces, also while they are "
		"being recorded: op, thread, "
		"process, cgroup, host, file, summary, loss, mark; and op_named, which is op with "
		"the names of threads and files. "
		"Times and durations are nanoseconds, sizes bytes; each point in time also has a "
		"column of type TIMESTAMP_NS "
		"(start and start_time), in UTC.\n\n"
		"hist(x) is a histogram; p50(h), p90(h), p95(h), p99(h), p999(h) and "
		"hist_quantile(h, q) read percentiles from it; hist_merge(h) adds up histograms. A "
		"terminal shows at most 50 rows.\n\n"
		"Without an argument the SQL comes from standard input; statements end with a "
		"semicolon. A terminal gets a prompt, with history (in $XDG_STATE_HOME/weir or "
		"~/.local/state/weir), completion by Tab, \\d for the tables and \\? for help; "
		"Ctrl-C stops a statement, Ctrl-D leaves.\n\n"
		"Missing data is reported on standard error. The engine is DuckDB's library, which "
		"is searched for in --duckdb, $WEIR_DUCKDB, and weir's own folders.\n\n"
		"Exit status: 0 done, 1 the statement failed, 2 wrong options, 130 interrupted.",
	.options = sql_options,
	.drops = true, /* with --confined it drops more */
	.options_size = sizeof(struct sql_opts),
	.examples = sql_examples,
	.run = sql_main,
};
