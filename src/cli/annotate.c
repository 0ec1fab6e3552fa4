// SPDX-License-Identifier: Apache-2.0
/* annotate.c: `weir annotate`: a user's own tables, appended to a trace. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/options/shared.h"
#include "store/user/user.h"

#define NAME_DEFAULT "note"
#define THREADS_MAX  256

struct annotate_opts {
	const char *name, *drop, *library;
	bool list;
	uint64_t memory, spill;
	int64_t threads;
};

/* ---- a result becomes a table ---- */

/* The type that keeps a column, 0 where none does. Whole numbers are looked at row by row. */
static enum user_type annotate_type_of(const struct engine_column *c)
{
	switch (c->type) {
	case ENGINE_BOOL:
		return USER_BOOL;
	case ENGINE_INT:
		return c->is_unsigned ? USER_UINT : USER_INT;
	case ENGINE_FLOAT:
		return USER_FLOAT;
	case ENGINE_TIME:
		return USER_TIME;
	case ENGINE_TEXT:
		return USER_TEXT;
	case ENGINE_BLOB:
		return USER_BLOB;
	default:
		return 0;
	}
}

static int put_int(struct user_writer *w, struct engine_result *r, size_t column, struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	long long v;
	int e = engine_result_text(r, column, &text);

	if (e < 0)
		return e;
	errno = 0;
	v = strtoll(buf_str(&text), NULL, 10);
	if (errno)
		return error_set(err, -ERANGE,
				 "%s in column %s is beyond 64 bits: cast it to DOUBLE or VARCHAR",
				 buf_str(&text), engine_result_column(r, column)->name);
	return user_put(w, (uint64_t)v);
}

static int put_float(struct user_writer *w, struct engine_result *r, size_t column)
{
	_cleanup_buf_ struct buf text = {0};
	double v;
	uint64_t bits;
	int e = engine_result_text(r, column, &text); /* DECIMAL too */

	if (e < 0)
		return e;
	v = strtod(buf_str(&text), NULL);
	memcpy(&bits, &v, sizeof(bits));
	return user_put(w, bits);
}

static int annotate_put_value(struct user_writer *w, struct engine_result *r, size_t column,
			      struct error *err)
{
	if (engine_result_is_null(r, column))
		return user_put_null(w);
	switch (annotate_type_of(engine_result_column(r, column))) {
	case USER_INT:
		return put_int(w, r, column, err);
	case USER_FLOAT:
		return put_float(w, r, column);
	case USER_TIME:
		return user_put(w, (uint64_t)engine_result_time(r, column));
	case USER_TEXT:
	case USER_BLOB:
		return user_put_bytes(w, engine_result_bytes(r, column));
	default:
		return user_put(w, (uint64_t)engine_result_int(r, column));
	}
}

static int annotate_put_rows(struct user_writer *w, struct engine_result *r, struct interrupt *it,
			     struct error *err)
{
	size_t count = engine_result_columns(r);

	while (engine_result_next(r)) {
		for (size_t i = 0; i < count; i++) {
			int e = annotate_put_value(w, r, i, err);

			if (e < 0)
				return error_errno(err, e, "cannot keep the answer's row %llu",
						   (unsigned long long)user_writer_rows(w) + 1);
		}
		if (user_writer_rows(w) % 4096 == 0 && interrupt_signal(it))
			return error_set(err, -EINTR, "interrupted");
	}
	return 0;
}

static int make_table(struct engine_result *r, const char *name, struct interrupt *it,
		      struct user_writer **ret, struct error *err)
{
	size_t count = engine_result_columns(r);
	_cleanup_free_ struct user_column *columns = calloc(count + 1, sizeof(*columns));
	int e = 0;

	if (!columns)
		return error_errno(err, -ENOMEM, "cannot keep the answer");
	for (size_t i = 0; i < count && e >= 0; i++) {
		const struct engine_column *c = engine_result_column(r, i);

		columns[i] = (struct user_column){(char *)c->name, annotate_type_of(c)};
		if (!columns[i].type)
			e = error_set(
				err, -EINVAL,
				"column %s is not a number, text, time or BLOB: cast it, as in "
				"x::VARCHAR",
				c->name);
	}
	if (e >= 0)
		e = user_writer_new(ret, name, columns, count, err);
	return e < 0 ? e : annotate_put_rows(*ret, r, it, err);
}

/* ---- what is asked for ---- */

static const struct user_table *find_table(const struct store *s, const char *name)
{
	for (size_t i = 0; i < store_user_count(s); i++) {
		const struct user_table *t = store_user_table(s, i);

		if (t && !strcasecmp(t->name, name))
			return t;
	}
	return NULL;
}

static int list_tables(const struct store *s)
{
	for (size_t i = 0; i < store_user_count(s); i++) {
		const struct user_table *t = store_user_table(s, i);

		if (t)
			printf("%s: %llu rows, %zu columns\n", t->name, (unsigned long long)t->rows,
			       t->column_count);
	}
	return 0;
}

static int drop_table(struct store *s, const char *name, struct error *err)
{
	_cleanup_(user_writer_freep) struct user_writer *w = NULL;
	const struct user_table *t = find_table(s, name);
	int r;

	if (!t)
		return error_set(err, -ENOENT, "the trace %s has no table '%.80s' of yours",
				 store_trace_path(s, 0), name);
	r = user_writer_new(&w, t->name, NULL, 0, err);
	return r < 0 ? r : user_append(w, s, err);
}

static int annotate(const struct annotate_opts *o, struct interrupt *it, struct store *s,
		    struct engine *e, const char *sql, struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	_cleanup_(user_writer_freep) struct user_writer *w = NULL;
	const char *name = o->name ? o->name : NAME_DEFAULT;
	int r = engine_check_name(e, name, err);

	if (r >= 0)
		r = engine_parse(e, sql, &statements, err);
	if (r >= 0 && engine_statements_count(statements) != 1)
		r = error_set(err, -EINVAL, "%zu statements; a table is the answer to one",
			      engine_statements_count(statements));
	if (r >= 0)
		r = engine_execute(statements, 0, &result, err);
	if (r < 0)
		return r;
	if (!engine_result_has_rows(result))
		return error_set(err, -EINVAL, "the statement has no rows: write a SELECT");
	r = make_table(result, name, it, &w, err);
	if (r >= 0)
		r = user_append(w, s, err);
	interrupt_quiet(it);
	if (r >= 0)
		printf("%s: %llu rows, %zu columns, in %s\n", name,
		       (unsigned long long)user_writer_rows(w), engine_result_columns(result),
		       store_trace_path(s, 0));
	return r;
}

static int run_engine(const struct annotate_opts *o, struct interrupt *it, struct store *s,
		      const char *sql, struct error *err)
{
	const struct engine_options options = {.library = o->library,
					       .memory_max = o->memory,
					       .spill_max = o->spill,
					       .threads = (unsigned int)o->threads};
	struct engine *engine = NULL;
	int r = engine_open(&engine, s, &options, err);

	if (r < 0)
		return r;
	interrupt_engine(it, engine);
	r = annotate(o, it, s, engine, sql, err);
	interrupt_engine(it, NULL);
	interrupt_release(it);
	engine_free(engine);
	return r;
}

/* A closed trace, alone: its ids are those of the file. */
static int annotate_open_trace(const char *path, struct store **ret, struct error *err)
{
	int r = input_is_path(path, err);

	if (r >= 0)
		r = store_open(ret, &path, 1, err);
	if (r < 0)
		return r;
	if (store_trace_count(*ret) != 1)
		return error_set(err, -EINVAL, "%s holds %zu traces: annotate one at a time", path,
				 store_trace_count(*ret));
	return 0;
}

static int run_annotate(const struct annotate_opts *o, const char *path, const char *sql)
{
	_cleanup_(store_freep) struct store *s = NULL;
	struct error err = {0};
	struct interrupt it;
	int r = annotate_open_trace(path, &s, &err);

	if (r < 0)
		return fail(&err);
	if (o->list)
		return list_tables(s);
	if (!o->drop && store_is_growing(s)) {
		error_set(&err, -EBUSY, "the trace %s is being recorded: annotate it when it ends",
			  path);
		return fail(&err);
	}
	if (o->drop)
		return drop_table(s, o->drop, &err) < 0 ? fail(&err) : 0;
	if (interrupt_start(&it, INTERRUPT_END, &err) < 0)
		return fail(&err);
	r = run_engine(o, &it, s, sql, &err);
	r = interrupt_stop(&it, r < 0 ? 1 : 0);
	return r == 1 ? fail(&err) : r;
}

static bool is_bad_name(const char *name)
{
	return name && !user_name_ok(name, strlen(name));
}

static int annotate_main(const void *opts, int argc, char **argv)
{
	const struct annotate_opts *o = opts;
	bool asks = !o->list && !o->drop;

	if ((o->list != 0) + (o->drop != NULL) + (o->name != NULL) > 1)
		return fail_usage("annotate: --name, --list and --drop exclude each other");
	if (o->threads > THREADS_MAX)
		return fail_usage("annotate: --threads: at most %d", THREADS_MAX);
	if (is_bad_name(o->name) || is_bad_name(o->drop))
		return fail_usage("annotate: --%s: '%.80s' cannot be the name of a table: a letter "
				  "or _, then "
				  "letters, digits and _, %u at most",
				  o->name ? "name" : "drop", o->name ? o->name : o->drop,
				  USER_NAME_MAX);
	if (argc < 1)
		return fail_usage("annotate: the trace is missing: weir annotate %s",
				  asks ? "TRACE 'SELECT ...'" : "... TRACE");
	if (asks && argc < 2)
		return fail_usage("annotate: the statement is missing: weir annotate %s 'SELECT "
				  "...'",
				  argv[0]);
	if (argc > 1 + asks)
		return fail_extra("annotate", argv[1 + asks]);
	return run_annotate(o, argv[0], asks ? argv[1] : NULL);
}

static const struct option annotate_options[] = {
	{'n', "name", OPTION_STRING, "NAME", "what the table is called (default " NAME_DEFAULT ")",
	 offsetof(struct annotate_opts, name)},
	{0, "list", OPTION_FLAG, NULL, "list the tables that were appended",
	 offsetof(struct annotate_opts, list)},
	{0, "drop", OPTION_STRING, "NAME", "hide this table from now on",
	 offsetof(struct annotate_opts, drop)},
	{0, "memory", OPTION_SIZE, "SIZE", "memory that the engine may take (default 512MiB)",
	 offsetof(struct annotate_opts, memory)},
	{0, "spill", OPTION_SIZE, "SIZE",
	 "size of its temporary files, which lie in $TMPDIR or /var/tmp (default 4GiB)",
	 offsetof(struct annotate_opts, spill)},
	{0, "threads", OPTION_COUNT, "N", "threads (default: one per CPU)",
	 offsetof(struct annotate_opts, threads)},
	{0, "duckdb", OPTION_STRING, "FILE",
	 "DuckDB's library, instead of weir's own and of $WEIR_DUCKDB",
	 offsetof(struct annotate_opts, library)},
	{0},
};

static const struct command_example annotate_examples[] = {
	{"weir annotate -n aof redis.trace \"SELECT id AS file_id, path GLOB '*.aof' AS is_aof "
	 "FROM "
	 "file\"",
	 "a mark for every file"},
	{"weir query 'by is_aof | sum(bytes)' redis.trace", "ask by it"},
	{"weir sql 'SELECT is_aof, sum(bytes) FROM op JOIN aof USING (file_id) GROUP BY 1' "
	 "redis.trace",
	 "the same in SQL"},
	{"weir annotate --drop aof redis.trace", "hide it again"},
	{0},
};

const struct command command_annotate = {
	.name = "annotate",
	.summary = "append a table of your own to a trace",
	.usage = "[options] TRACE ['STATEMENT']",
	.description =
		"Runs one SELECT over the trace, as weir sql does, and appends its answer to the "
		"file as a table. From then on weir sql knows the table by its name and can join "
		"it, and its columns are names of weir's language: in weir query, and in --where "
		"of a stored trace. Nothing that was recorded is changed: bytes are added behind "
		"the end of the "
		"file. A later table of the same name replaces the earlier one.\n\n"
		"weir_op(row_id := true) and weir_op_named(row_id := true) have a column row_id, "
		"which names a call for good: select it, and join by it. The language joins by the "
		"first column that calls have as well: row_id, file_id, thread_id, process_id, "
		"path, comm, ...; each of its values stands once.\n\n"
		"Columns may be numbers, texts, BLOBs, truth values and points in time. Whole "
		"numbers are of 64 bits, DECIMAL becomes DOUBLE. A trace that is being "
		"recorded, or was never closed, is refused. Where the disk is full the trace stays "
		"as it was.\n\n"
		"Exit status: 0 done, 1 it failed, 2 wrong options, 130 interrupted.",
	.options = annotate_options,
	.options_size = sizeof(struct annotate_opts),
	.examples = annotate_examples,
	.run = annotate_main,
};
