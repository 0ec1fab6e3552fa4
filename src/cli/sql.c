// SPDX-License-Identifier: Apache-2.0
/* sql.c: `weir sql`: SQL over traces by the embedded engine. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/shared.h"
#include "cli/sql_print.h"
#include "cli/text.h"

#define INTERRUPT_GRACE_NS \
	(25 * NSEC_PER_MSEC) /* for the engine to stop after Ctrl-C; then the process just ends */
#define INTERRUPT_POLL_NS (5 * NSEC_PER_MSEC)
#define THREADS_MAX	  256
#define STATEMENT_MAX	  (16u << 20) /* bytes of SQL from standard input */

struct sql_opts {
	struct option_list inputs;
	bool json, csv;
	const char *library;
	uint64_t memory;
	uint64_t spill;
	int64_t threads;
};

/* ---- Ctrl-C ---- */

/*
 * Signals are blocked in every thread and taken by one that waits for them: telling the engine to
 * stop is nothing that a signal handler may do.
 */
struct watcher {
	pthread_t thread;
	bool started;
	sigset_t signals;
	pthread_mutex_t lock;
	struct engine *engine; /* NULL while there is none */
	int signal;	       /* the one that came */
};

static void sleep_ns(long ns)
{
	nanosleep(&(struct timespec){.tv_nsec = ns}, NULL);
}

static void *watch(void *arg)
{
	struct watcher *w = arg;
	int sig = 0;

	sigwait(&w->signals, &sig);
	if (sig == SIGUSR2)
		return NULL; /* the command is done */
	for (int64_t waited = 0; waited < INTERRUPT_GRACE_NS; waited += INTERRUPT_POLL_NS) {
		pthread_mutex_lock(&w->lock);
		w->signal = sig;
		if (w->engine)
			engine_interrupt(w->engine);
		pthread_mutex_unlock(&w->lock);
		sleep_ns(INTERRUPT_POLL_NS);
	}
	/* A sort's merge and some functions do not look for interrupts. */
	pthread_mutex_lock(&w->lock);
	if (w->engine)
		engine_abandon(w->engine);
	_exit(128 + sig);
}

static int watcher_start(struct watcher *w)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGUSR2};

	sigemptyset(&w->signals);
	for (size_t i = 0; i < ARRAY_SIZE(signals); i++)
		sigaddset(&w->signals, signals[i]);
	pthread_mutex_init(&w->lock, NULL);
	signal(SIGPIPE,
	       SIG_IGN); /* a reader that goes must not leave the temporary folder behind */
	if (pthread_sigmask(SIG_BLOCK, &w->signals, NULL) ||
	    pthread_create(&w->thread, NULL, watch, w))
		return -EAGAIN;
	w->started = true;
	return 0;
}

static void watcher_set(struct watcher *w, struct engine *e)
{
	pthread_mutex_lock(&w->lock);
	w->engine = e;
	pthread_mutex_unlock(&w->lock);
}

static int watcher_signal(struct watcher *w)
{
	int sig;

	pthread_mutex_lock(&w->lock);
	sig = w->signal;
	pthread_mutex_unlock(&w->lock);
	return sig;
}

/* Ends the thread; the status that a signal asks for, or `status`. */
static int watcher_stop(struct watcher *w, int status)
{
	int sig = watcher_signal(w);

	if (sig) /* its thread may be about to end the process: let it, it has the same to say */
		return 128 + sig;
	pthread_kill(w->thread, SIGUSR2);
	pthread_join(w->thread, NULL);
	sig = watcher_signal(w);
	return sig ? 128 + sig : status;
}

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
		return error_set(err, -EINVAL, "standard input holds a NUL byte: it is no SQL");
	return 0;
}

static int print_result(const struct sql_opts *o, struct store *s, struct engine_result *r,
			struct error *err)
{
	struct loss loss;
	int64_t first, last;
	int e;

	if (!o->json && !engine_result_has_rows(r))
		return 0;
	if (o->csv)
		return sql_print_csv(r, err);
	if (!o->json)
		return sql_print_table(r, text_terminal() ? text_rows_max() : 0,
				       text_terminal() ? text_width() : 0, err);
	e = loss_read(&loss, s, err);
	if (e < 0)
		return e;
	store_range(s, &first, &last);
	return sql_print_json(r, first == INT64_MIN ? 0 : first, &loss, err);
}

/* Runs all statements. For --json and --csv only the last may have rows: one document is promised.
 */
static int run_statements(const struct sql_opts *o, struct store *s, struct engine *e,
			  const char *sql, struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	int r = engine_parse(e, sql, &statements, err);
	size_t count = r < 0 ? 0 : engine_statements_count(statements);
	bool printed = false;

	for (size_t i = 0; i < count && r >= 0 && !ferror(stdout); i++) {
		_cleanup_(engine_result_freep) struct engine_result *result = NULL;

		r = engine_execute(statements, i, &result, err);
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

static int run_sql(const struct sql_opts *o, struct watcher *w, const char *sql, int argc,
		   char **argv, struct error *err)
{
	const struct read_flags flags = {.inputs = o->inputs};
	const struct engine_options options = {.library = o->library,
					       .memory_max = o->memory,
					       .spill_max = o->spill,
					       .threads = (unsigned int)o->threads};
	_cleanup_(store_freep) struct store *store = NULL;
	struct engine *engine = NULL;
	struct loss loss;
	int r = read_flags_open(&flags, argc, argv, &store, err);

	if (r >= 0)
		r = engine_open(&engine, store, &options, err);
	if (r < 0)
		return r;
	watcher_set(w, engine);
	r = run_statements(o, store, engine, sql, err);
	fflush(stdout);
	if (r >= 0 && loss_read(&loss, store, err) >= 0)
		loss_warn(&loss);
	watcher_set(w, NULL);
	engine_free(engine);
	return r;
}

static int sql_main(const void *opts, int argc, char **argv)
{
	const struct sql_opts *o = opts;
	struct watcher w = {0};
	_cleanup_buf_ struct buf sql = {0};
	struct error err = {0};
	bool piped = argc == 0;
	int r = 0;

	if (o->json && o->csv)
		return fail_usage("sql: --json and --csv exclude each other");
	if (o->threads > THREADS_MAX)
		return fail_usage("sql: --threads: at most %d", THREADS_MAX);
	if (piped && isatty(STDIN_FILENO))
		return fail_usage("sql: a statement is missing: weir sql 'SELECT ...', or SQL on "
				  "standard input; "
				  "there is no prompt yet");
	if (!piped && argc > 0 && access(argv[0], F_OK) == 0)
		return fail_usage(
			"sql: the statement comes first, then the trace: weir sql 'SELECT ...' %s",
			argv[0]);
	if (watcher_start(&w) < 0)
		return fail_usage("cannot start a thread");
	r = piped ? read_stdin(&sql, &err) : buf_append(&sql, argv[0], strlen(argv[0]));
	if (r >= 0)
		r = run_sql(o, &w, buf_str(&sql), piped ? 0 : argc - 1, argv + 1, &err);
	r = watcher_stop(&w, r < 0 ? 1 : 0);
	if (r == 1)
		return fail(&err);
	return r;
}

static const struct option sql_options[] = {
	{'i', "input", OPTION_LIST, "TRACE",
	 "ask this trace, or every trace in this folder; repeatable; weir.trace where "
	 "none is named",
	 offsetof(struct sql_opts, inputs)},
	{0, "csv", OPTION_FLAG, NULL, "print comma-separated values",
	 offsetof(struct sql_opts, csv)},
	{0, "json", OPTION_FLAG, NULL,
	 "print one JSON document; sizes in bytes, durations in nanoseconds",
	 offsetof(struct sql_opts, json)},
	{0, "memory", OPTION_SIZE, "SIZE", "memory that the engine may take (default 512MiB)",
	 offsetof(struct sql_opts, memory)},
	{0, "spill", OPTION_SIZE, "SIZE",
	 "size of its temporary files, which lie in $TMPDIR or /var/tmp (default 4GiB)",
	 offsetof(struct sql_opts, spill)},
	{0, "threads", OPTION_COUNT, "N", "threads (default: one per CPU)",
	 offsetof(struct sql_opts, threads)},
	{0, "duckdb", OPTION_STRING, "FILE",
	 "DuckDB's library, instead of weir's own and of $WEIR_DUCKDB",
	 offsetof(struct sql_opts, library)},
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
	.summary = "ask a trace in SQL",
	.usage = "[options] ['STATEMENT' [TRACE...]]",
	.description =
		"Runs SQL (DuckDB's) over the tables of one or several traces, also while they are "
		"being recorded: op, thread, "
		"process, cgroup, host, file, summary, loss, mark; and op_named, which is op with "
		"the names of threads and files. "
		"Times and durations are nanoseconds, sizes bytes; each point in time also has a "
		"column of type TIMESTAMP_NS "
		"(start and start_time), in UTC.\n\n"
		"hist(x) is a histogram of which p50(h), p90(h), p95(h), p99(h), p999(h) and "
		"hist_quantile(h, q) are read; "
		"hist_merge(h) adds up histograms. Without an argument the SQL comes from standard "
		"input; statements end with a "
		"semicolon. On a terminal at most 50 rows are shown.\n\n"
		"What is missing from a trace is said on standard error. The engine is DuckDB's "
		"library, looked for with --duckdb, "
		"$WEIR_DUCKDB, and in weir's own folders.\n\n"
		"Exit status: 0 done, 1 the statement failed, 2 wrong options, 130 interrupted.",
	.options = sql_options,
	.options_size = sizeof(struct sql_opts),
	.examples = sql_examples,
	.run = sql_main,
};
