// SPDX-License-Identifier: Apache-2.0
/* duckdb.c: an in-memory database over a store: settings, tables, views, statements. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/ask.h"
#include "engine/duckdb/duckdb.h"
#include "engine/duckdb/internal.h"
#include "engine/sql_text.h"

#define THREADS_MAX 256

int duck_run(struct duck *e, const char *sql, struct error *err)
{
	duckdb_result result;
	int r = macros_declare(e, sql, err);

	if (r < 0)
		return r;
	if (e->api->query(e->con, sql, &result))
		r = message_from_duckdb(e->api->result_error(&result), sql, err);
	e->api->destroy_result(&result);
	return r;
}

/* Engines of this process, including one that is still being opened. */
static pthread_mutex_t alive_lock = PTHREAD_MUTEX_INITIALIZER;
static struct duck *alive;

/* Creates the folder and registers it under one lock: duck_abandon_all() runs before or after. */
static int make_spill(struct duck *e, struct error *err)
{
	int r;

	pthread_mutex_lock(&alive_lock);
	r = spill_make(&e->spill, err);
	pthread_mutex_unlock(&alive_lock);
	return r;
}

static int set_option(struct duck *e, duckdb_config config, const char *name, const char *value,
		      struct error *err)
{
	if (e->api->set_config(config, name, value))
		return error_set(err, -EIO, "DuckDB refuses the setting %s = %s", name, value);
	return 0;
}

static int set_options(struct duck *e, duckdb_config config, const struct engine_options *opt,
		       struct error *err)
{
	char memory[32], spill[32], threads[32];
	const char *const settings[][2] = {
		{"memory_limit", memory},
		{"threads", threads},
		/* private; DuckDB's default is .tmp in the working directory */
		{"temp_directory", opt->folder > 0 ? "." : e->spill.path},
		{"max_temp_directory_size", spill},
		/* do not download an extension because a statement uses it */
		{"autoinstall_known_extensions", "false"},
		{"autoload_known_extensions", "false"},
		/* a parallel scan has no order to preserve, and preserving it would buffer all rows */
		{"preserve_insertion_order", "false"},
		{"perfect_ht_threshold", "20"},
	};
	int r = 0;

	snprintf(memory, sizeof(memory), "%lluB",
		 (unsigned long long)(opt->memory_max ? opt->memory_max : ENGINE_MEMORY_DEFAULT));
	snprintf(spill, sizeof(spill), "%lluB",
		 (unsigned long long)(opt->spill_max ? opt->spill_max : ENGINE_SPILL_DEFAULT));
	/* a process with several threads cannot be confined */
	snprintf(threads, sizeof(threads), "%u", opt->folder > 0 ? 1 : e->threads);
	for (size_t i = 0; i < ARRAY_SIZE(settings) && r >= 0; i++)
		r = set_option(e, config, settings[i][0], settings[i][1], err);
	return r;
}

static int open_database(struct duck *e, const struct engine_options *opt, struct error *err)
{
	duckdb_config config = NULL;
	char *message = NULL;
	int r = 0;

	if (e->api->create_config(&config))
		return error_errno(err, -ENOMEM, "cannot configure DuckDB");
	r = set_options(e, config, opt, err);
	if (r >= 0 && e->api->open_ext(NULL, &e->db, config, &message))
		r = error_set(err, -EIO, "DuckDB failed to start: %.800s",
			      message ? message : "no reason given");
	if (message)
		e->api->free(message);
	e->api->destroy_config(&config);
	if (r >= 0 && e->api->connect(e->db, &e->con))
		r = error_set(err, -EIO, "DuckDB provides no connection");
	return r;
}

/* The name of a CODE column as the schema has it, which lives as long as the process; NULL: there is none. */
static const char *vocab_column(const char *column)
{
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);

		for (unsigned int c = 0; c < def->column_count; c++) {
			if (def->columns[c].type == COLUMN_CODE &&
			    !strcmp(def->columns[c].name, column))
				return def->columns[c].name;
		}
	}
	return NULL;
}

int duck_vocab(struct duck *e, const char *column, const struct words **ret, struct error *err)
{
	int r;

	for (size_t i = 0; i < e->vocab_count; i++) {
		*ret = &e->vocab[i];
		if (!strcmp(e->vocab_columns[i], column))
			return 0;
	}
	*ret = NULL;
	column = vocab_column(column);
	if (!column)
		return 0;
	assert(e->vocab_count < ARRAY_SIZE(e->vocab));
	r = words_of_vocab(e->api, column, &e->vocab[e->vocab_count]);
	if (r < 0)
		return error_errno(err, r, "cannot declare the values of %s", column);
	*ret = &e->vocab[e->vocab_count];
	e->vocab_columns[e->vocab_count++] = column;
	return 0;
}

/* True for (DESC), which lists tables; DESC also ends ORDER BY. */
static bool tables_are_described(const char *sql)
{
	for (const char *at = sql; (at = strcasestr(at, "desc")); at++) {
		const char *before = at;

		while (before > sql && strchr(" \t\n", before[-1]))
			before--;
		if (before == sql || strchr("(;", before[-1]))
			return true;
	}
	return false;
}

/* True for a statement that may list tables or functions, in any of DuckDB's ways, or take their names from values. */
static bool names_are_listed(const char *sql)
{
	static const char *const words[] = {"show",    "describe", "summarize", "pragma", "schema",
					    "duckdb_", "sqlite_",  "pg_",	"export", "query"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcasestr(sql, words[i]))
			return true;
	}
	return tables_are_described(sql);
}

/*
 * Declares the views and macros that a statement may read; NULL: all. DuckDB binds a view when it is declared, and then names of
 * all rows are looked up: all views take 0.2 s of CPU in a trace of 30,000 files, three quarters of a short statement's time.
 */
static int names_declare(struct duck *e, const char *statement, struct error *err)
{
	bool all = !statement || names_are_listed(statement);
	int r = macros_declare(e, all ? NULL : statement, err);

	if (r < 0)
		return r;
	for (unsigned int t = 0; t <= TABLE_COUNT; t++) {
		const char *name = t < TABLE_COUNT ? schema_table(t)->name : "op_named";
		char sql[256];

		if (e->view_made[t] || (!all && !sql_after_word(statement, name)))
			continue;
		snprintf(sql, sizeof(sql), "CREATE VIEW %s AS FROM weir_%s()", name, name);
		r = duck_run(e, sql, err);
		if (r < 0)
			return r;
		e->view_made[t] = true;
	}
	return 0;
}

/*
 * For untrusted SQL. The order matters: first the process drops what it can, then its threads are created, then
 * external access is disabled, then the configuration is locked. Disabling access leaves the folder for temporary files
 * open; execute() keeps statements from using it. Memory that DuckDB does not count is limited by the process that runs
 * the engine (RLIMIT_AS).
 */
static int confine(struct duck *e, const struct engine_options *opt, struct error *err)
{
	char sql[64];
	int r = opt->folder > 0 ? confine_process(opt->folder, err) : 0;

	snprintf(sql, sizeof(sql), "SET threads = %u", e->threads);
	if (r < 0)
		return r;
	r = duck_run(e, sql, err);
	if (r < 0)
		return r;
	r = duck_run(e, "SET enable_external_access = false", err);
	return r < 0 ? r : duck_run(e, "SET lock_configuration = true", err);
}

int duck_pin(struct duck *e, struct error *err)
{
	ssize_t more = e->borrowed ? 0 : store_refresh(e->store, err);
	size_t blocks = store_block_count(e->store);

	if (more < 0)
		return (int)more;
	if (blocks != e->names.pin)
		duck_names_free(e->api, &e->names);
	e->pin = e->names.pin = blocks;
	atomic_store(&e->interrupted, false);
	atomic_store(&e->blocks_done, 0);
	atomic_store(&e->blocks_total, 0);
	for (size_t i = 0; i < ARRAY_SIZE(e->blocks_read); i++)
		atomic_store(&e->blocks_read[i], 0);
	atomic_store(&e->state_bytes, 0);
	return 0;
}

static unsigned int cpus(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : (unsigned int)n;
}

/*
 * A thread for so many rows. On fewer another one costs more than it saves: each statement wakes it, and the first one
 * busy-waits until it is done (diagnose of a small trace took 6 % more CPU, 10 % on a busy machine).
 */
#define THREAD_ROWS 32768u

static unsigned int duck_threads(const struct store *s, const struct engine_options *opt)
{
	uint64_t rows = 0;

	if (opt->threads || !opt->only_rows || store_is_growing(s))
		return opt->threads ? opt->threads : cpus();
	for (size_t i = 0; i < store_block_count(s); i++)
		rows += store_block(s, i)->rows;
	return (unsigned int)MIN(cpus(), 1 + rows / THREAD_ROWS);
}

static int duck_start(struct duck *e, const struct engine_options *opt, struct error *err)
{
	int r = duckdb_load(opt->library, &e->api, NULL, err);

	if (r >= 0 && !opt->annotations)
		r = annotations_new(&e->annotations_own, e->store, err);
	e->annotations = opt->annotations ? opt->annotations : e->annotations_own;
	if (r >= 0 && opt->folder <= 0)
		r = make_spill(e, err);
	if (r >= 0)
		r = open_database(e, opt, err);
	if (r >= 0)
		r = duck_run(e, "SET errors_as_json = true", err);
	if (r >= 0)
		r = duck_pin(e, err);
	if (r >= 0)
		r = tables_register(e, err);
	if (r >= 0)
		r = rows_register(e, err);
	if (r >= 0)
		r = hist_functions_register(e, err);
	if (r >= 0)
		r = distinct_functions_register(e, err);
	if (r >= 0)
		r = tally_functions_register(e, err);
	if (r >= 0)
		r = sql_functions_register(e, err);
	if (r >= 0 && opt->confined)
		r = confine(e, opt, err);
	return r;
}

static void alive_add(struct duck *e)
{
	pthread_mutex_lock(&alive_lock);
	e->next_alive = alive;
	alive = e;
	pthread_mutex_unlock(&alive_lock);
}

static void alive_remove(struct duck *e)
{
	pthread_mutex_lock(&alive_lock);
	for (struct duck **at = &alive; *at; at = &(*at)->next_alive) {
		if (*at == e) {
			*at = e->next_alive;
			break;
		}
	}
	pthread_mutex_unlock(&alive_lock);
}

static void duck_abandon(struct engine *engine)
{
	/* DuckDB creates the files in it and removes them on close; after an interrupt some may remain. */
	spill_remove(&duck_of(engine)->spill);
}

static void duck_abandon_all(void)
{
	pthread_mutex_lock(&alive_lock);
	for (struct duck *e = alive; e; e = e->next_alive)
		duck_abandon(&e->head);
	/* stays locked: no folder may be created until the process has ended */
}

static void duck_free(struct engine *engine)
{
	struct duck *e = duck_of(engine);

	if (e->con)
		e->api->disconnect(&e->con);
	if (e->db)
		e->api->close(&e->db);
	if (e->api) {
		rows_exprs_free_all(e);
		duck_names_free(e->api, &e->names);
		for (size_t i = 0; i < e->vocab_count; i++)
			words_free(e->api, &e->vocab[i]);
	}
	alive_remove(e);
	spill_free(&e->spill);
	annotations_free(e->annotations_own);
	pthread_mutex_destroy(&e->names_lock);
	free(e);
}

static int duck_open(struct engine **ret, struct store *store, const struct engine_options *opt,
		     struct error *err)
{
	struct duck *e = calloc(1, sizeof(*e));
	int r;

	if (!e)
		return error_errno(err, -ENOMEM, "cannot open the engine");
	e->head.ops = &duckdb_engine;
	pthread_mutex_init(&e->names_lock, NULL);
	e->spill = SPILL_NONE;
	e->confined = opt->confined;
	e->store = store;
	e->borrowed = opt->borrowed;
	e->threads = MIN(duck_threads(store, opt), (unsigned int)THREADS_MAX);
	e->state_bytes_max = opt->memory_max ? opt->memory_max : ENGINE_MEMORY_DEFAULT;
	alive_add(e);
	r = duck_start(e, opt, err);
	if (r < 0) {
		duck_free(&e->head);
		return r;
	}
	*ret = &e->head;
	return 0;
}

static int duck_probe(const char *library, const char **ret_version, const char **ret_path,
		      struct error *err)
{
	const struct duckdb_api *d;
	int r = duckdb_load(library, &d, ret_path, err);

	if (r < 0)
		return r;
	if (ret_version)
		*ret_version = d->library_version();
	return 0;
}

static void duck_interrupt(struct engine *engine)
{
	struct duck *e = duck_of(engine);

	atomic_store(&e->interrupted, true);
	e->api->interrupt(e->con);
}

static void duck_progress(const struct engine *engine, uint64_t *ret_done, uint64_t *ret_total)
{
	const struct duck *e = (const struct duck *)engine;

	*ret_done = atomic_load(&e->blocks_done);
	*ret_total = atomic_load(&e->blocks_total);
}

static int duck_range(struct engine *engine, int64_t *ret_first, int64_t *ret_last,
		      struct error *err _unused_)
{
	store_range(duck_of(engine)->store, ret_first, ret_last);
	return 0;
}

static int duck_scan(struct engine *engine, const struct scan_request *q, struct engine_scan **ret,
		     struct error *err)
{
	return engine_scan_new(ret, duck_of(engine)->store, q, err);
}

/* ---- SQL ---- */

struct duck_statements {
	struct engine_statements head;
	struct duck *e;
	char *sql;
	duckdb_extracted_statements list;
};

static void duck_statements_free(struct engine_statements *statements)
{
	struct duck_statements *s = (struct duck_statements *)statements;

	if (s->list)
		s->e->api->destroy_extracted(&s->list);
	free(s->sql);
	free(s);
}

static int duck_parse(struct engine *engine, const char *sql, struct engine_statements **ret,
		      struct error *err)
{
	struct duck *e = duck_of(engine);
	struct duck_statements *s;
	int r;

	if (!engine_is_utf8(sql, strlen(sql)))
		return error_set(err, -EINVAL,
				 "the statement is not valid UTF-8: bad bytes of a name are "
				 "written \\xHH, as weir prints them");
	/* a table of the user's own may have columns of these names, with any text */
	r = users_in(e, sql) ? 0 : literals_check(sql, err);
	if (r < 0)
		return r;
	s = calloc(1, sizeof(*s));
	if (!s)
		return error_errno(err, -ENOMEM, "cannot parse the statement");
	s->head.ops = &duckdb_engine;
	s->e = e;
	s->sql = strdup(sql);
	s->head.count = s->sql ? e->api->extract_statements(e->con, sql, &s->list) : 0;
	if (s->head.count == 0) {
		const char *message = s->list ? e->api->extract_statements_error(s->list) : NULL;

		r = message ? message_from_duckdb(message, sql, err)
			    : error_set(err, -EINVAL, "the statement is empty");
		duck_statements_free(&s->head);
		return r;
	}
	*ret = &s->head;
	return 0;
}

/*
 * Like duckdb_execute_prepared(), which busy-waits while other threads finish the last tasks; here the calling thread
 * sleeps. NULL, or the error message, valid as long as *ret_pending and the result.
 */
static const char *execute_prepared(const struct duckdb_api *d, duckdb_prepared_statement prepared,
				    duckdb_pending_result *ret_pending, duckdb_result *ret)
{
	static const struct timespec pause = {.tv_nsec = 50 * NSEC_PER_USEC};
	duckdb_pending_state state = DUCKDB_PENDING_MORE;
	const char *message;

	if (d->pending_prepared(prepared, ret_pending))
		state = DUCKDB_PENDING_ERROR;
	while (state == DUCKDB_PENDING_MORE || state == DUCKDB_PENDING_NO_TASKS) {
		state = d->pending_execute_task(*ret_pending);
		if (state == DUCKDB_PENDING_NO_TASKS)
			nanosleep(&pause, NULL);
	}
	if (state == DUCKDB_PENDING_ERROR)
		message = d->pending_error(*ret_pending);
	else if (d->execute_pending(*ret_pending, ret))
		message = d->result_error(ret);
	else
		return NULL;
	return message ? message : "no reason given";
}

/* Runs statement i of a list over the pinned blocks. `sql`: the text to which errors refer; NULL: none. */
static int execute(struct duck *e, duckdb_extracted_statements list, size_t i, const char *sql,
		   struct engine_result **ret, struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_prepared_statement prepared = NULL;
	duckdb_pending_result pending = NULL;
	duckdb_result result = {0}; /* the library may fail without setting it */
	int r = 0;

	if (d->prepare_extracted_statement(e->con, list, i, &prepared)) {
		r = message_from_duckdb(prepared ? d->prepare_error(prepared) : NULL, sql, err);
	} else if (e->confined && sql) {
		r = admit_statement(d->prepared_statement_type(prepared), sql, err);
	}
	if (r >= 0) {
		const char *message = execute_prepared(d, prepared, &pending, &result);

		/* an interrupted scan may report an error before the library does */
		if (message)
			r = atomic_load(&e->interrupted) ? error_set(err, -EINTR, "interrupted")
							 : message_from_duckdb(message, sql, err);
	}
	if (r < 0)
		d->destroy_result(&result);
	d->destroy_pending(&pending);
	d->destroy_prepare(&prepared);
	return r < 0 ? r : result_new(e, &result, ret, err);
}

/* Runs a statement again with all names, among which the message of its failure then suggests one. */
static int execute_again(struct duck *e, size_t i, const char *sql, struct engine_result **ret,
			 struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_extracted_statements list = NULL;
	int r;

	*err = (struct error){0};
	r = names_declare(e, NULL, err);
	if (r < 0)
		return r;
	d->extract_statements(e->con, sql, &list); /* the first time it succeeded */
	r = execute(e, list, i, sql, ret, err);
	d->destroy_extracted(&list);
	return r;
}

static int duck_execute(struct engine_statements *statements, size_t i, struct engine_result **ret,
			struct error *err)
{
	struct duck_statements *s = (struct duck_statements *)statements;
	int r = duck_pin(s->e, err);

	assert(i < statements->count);
	if (r < 0)
		return r;
	r = names_declare(s->e, s->sql, err);
	if (r < 0)
		return r;
	r = users_declare(s->e, err);
	if (r < 0)
		return r;
	r = execute(s->e, s->list, i, s->sql, ret, err);
	return r < 0 && strstr(err->message, "did you mean")
		       ? execute_again(s->e, i, s->sql, ret, err)
		       : r;
}

int duck_run_text(struct duck *e, const char *sql, struct engine_result **ret, struct error *err)
{
	const struct duckdb_api *d = e->api;
	duckdb_extracted_statements list = NULL;
	idx_t count = d->extract_statements(e->con, sql, &list);
	int r = macros_declare(e, sql, err);

	if (r >= 0 && count == 1) {
		/* do not report a position in a statement that the user did not write */
		r = execute(e, list, 0, NULL, ret, err);
	} else if (r >= 0) {
		const char *message = list ? d->extract_statements_error(list) : NULL;

		r = message_from_duckdb(message, sql, err);
	}
	if (list)
		d->destroy_extracted(&list);
	return r;
}

const struct engine_ops duckdb_engine = {
	.name = "DuckDB",
	.open = duck_open,
	.free = duck_free,
	.probe = duck_probe,
	.interrupt = duck_interrupt,
	.progress = duck_progress,
	.abandon = duck_abandon,
	.abandon_all = duck_abandon_all,
	.range = duck_range,
	.ask = duck_ask,
	.scan = duck_scan,
	.explain = duck_explain,
	.follow = duck_follow,
	.follow_refresh = duck_follow_refresh,
	.follow_free = duck_follow_free,
	.parse = duck_parse,
	.execute = duck_execute,
	.statements_free = duck_statements_free,
	.check_name = duck_check_name,
};
