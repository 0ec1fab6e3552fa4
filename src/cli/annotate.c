// SPDX-License-Identifier: Apache-2.0
/* annotate.c: `weir annotate`: a user's own tables, appended to a trace. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/commands.h"
#include "cli/terminal/interrupt.h"
#include "cli/trace/call_text.h"
#include "cli/options/shared.h"
#include "engine/annotations.h"
#include "store/made/made.h"

#define NAME_DEFAULT "annotation"

#define ANNOTATE_ROWS  4096 /* rows handed to the trace at a time, or so many bytes */
#define ANNOTATE_BYTES (4u << 20)

struct annotate_opts {
	const char *name, *drop;
	bool list;
	struct engine_flags engine;
};

/* ---- from a result to a table ---- */

/* The table made from an answer. */
struct annotate_table {
	struct table_def def;
	struct column_def *columns;
	struct batch *rows; /* the current rows */
	size_t bytes;	    /* bytes of the texts in them */
	uint64_t count;
};

static void annotate_table_free(struct annotate_table *t)
{
	batch_free(t->rows);
	free(t->columns);
}

/* The column type for a column; COLUMN_TYPES: none fits. Whole numbers are checked row by row. */
static enum column_type annotate_type_of(const struct engine_column *c)
{
	switch (c->type) {
	case ENGINE_BOOL:
		return COLUMN_BOOL;
	case ENGINE_INT:
		return c->is_unsigned ? COLUMN_UINT : COLUMN_INT;
	case ENGINE_FLOAT:
		return COLUMN_FLOAT;
	case ENGINE_TIME:
		return COLUMN_TIME;
	case ENGINE_TEXT:
		return COLUMN_TEXT;
	case ENGINE_BLOB:
		return COLUMN_BLOB;
	default:
		return COLUMN_TYPES;
	}
}

/* Parses a number from its text, for numbers over 64 bits and DECIMAL. */
static int annotate_number(struct engine_result *r, size_t column, enum column_type type,
			   int64_t *ret, struct error *err)
{
	_cleanup_buf_ struct buf text = {0};
	int e = engine_result_text(r, column, &text);
	double v;

	if (e < 0)
		return e;
	if (type == COLUMN_FLOAT) {
		v = strtod(buf_str(&text), NULL);
		memcpy(ret, &v, sizeof(v));
		return 0;
	}
	errno = 0;
	*ret = strtoll(buf_str(&text), NULL, 10);
	return errno ? error_set(err, -ERANGE,
				 "%s in column %s is beyond 64 bits: cast it to DOUBLE or VARCHAR",
				 buf_str(&text), engine_result_column(r, column)->name)
		     : 0;
}

static int annotate_value(struct annotate_table *t, struct engine_result *r, unsigned int column,
			  struct error *err)
{
	enum column_type type = t->columns[column].type;
	size_t row = t->rows->rows - 1;
	struct bytes bytes;
	int64_t v = 0;
	int e = 0;

	if (engine_result_is_null(r, column))
		return 0;
	if (column_is_bytes(type)) {
		bytes = engine_result_bytes(r, column);
		t->bytes += bytes.len;
		return batch_set_bytes(t->rows, column, row, bytes.data, bytes.len);
	}
	if (type == COLUMN_INT || type == COLUMN_FLOAT)
		e = annotate_number(r, column, type, &v, err);
	else
		v = type == COLUMN_TIME ? engine_result_time(r, column)
					: (int64_t)engine_result_int(r, column);
	return e < 0 ? e : batch_set(t->rows, column, row, v);
}

static int annotate_rows(struct store_writer *w, struct annotate_table *t, struct engine_result *r,
			 struct interrupt *it, struct error *err)
{
	int e = 0;

	while (e >= 0 && engine_result_next(r)) {
		e = (int)MIN(batch_add_row(t->rows), (ssize_t)0);
		for (unsigned int i = 0; i < t->def.column_count && e >= 0; i++)
			e = annotate_value(t, r, i, err);
		t->count++;
		if (e < 0)
			return error_errno(err, e, "cannot store row %llu of the answer",
					   (unsigned long long)t->count);
		if (t->rows->rows < ANNOTATE_ROWS && t->bytes < ANNOTATE_BYTES)
			continue;
		e = store_made_rows(w, t->rows, err);
		batch_clear(t->rows);
		t->bytes = 0;
		if (interrupt_signal(it))
			return error_set(err, -EINTR, "interrupted");
	}
	return e < 0 ? e : store_made_rows(w, t->rows, err);
}

static int annotate_columns(struct annotate_table *t, struct engine_result *r, struct error *err)
{
	size_t count = engine_result_columns(r);

	t->columns = calloc(count + 1, sizeof(*t->columns));
	if (!t->columns)
		return error_errno(err, -ENOMEM, "cannot store the answer");
	t->def.columns = t->columns;
	t->def.column_count = (unsigned int)count;
	for (size_t i = 0; i < count; i++) {
		const struct engine_column *c = engine_result_column(r, i);
		enum column_type type = annotate_type_of(c);
		bool number = type == COLUMN_INT || type == COLUMN_UINT;

		if (type == COLUMN_TYPES)
			return error_set(err, -EINVAL,
					 "column %s is not a number, text, time or BLOB: cast it, "
					 "as in x::VARCHAR",
					 c->name);
		t->columns[i] = (struct column_def){c->name, type,
						    number ? annotations_unit(c->name) : "", ""};
	}
	return 0;
}

/* Appends the rows of an answer, or nothing, which hides the table. All or none. */
static int annotate_append(struct annotate_table *t, struct store *s,
			   const struct store_making *what, struct engine_result *r,
			   struct interrupt *it, struct error *err)
{
	_cleanup_(store_abandonp) struct store_writer *w = NULL;
	int e = store_reopen(&w, s, err);

	if (e >= 0)
		e = store_made_begin(w, what, err);
	if (e >= 0 && r && batch_new_of(&t->rows, TABLE_OWN, &t->def) < 0)
		e = error_errno(err, -ENOMEM, "cannot store the answer");
	if (e >= 0 && r)
		e = annotate_rows(w, t, r, it, err);
	if (e >= 0)
		e = store_made_end(w, false, err);
	return e < 0 ? e : store_close(TAKE_PTR(w), err);
}

/* ---- actions ---- */

/* Finds a table that can be dropped. */
static const struct store_made *find_table(const struct store *s, const char *name)
{
	for (size_t i = 0; i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);

		if (m && (m->table == TABLE_OWN || m->table == TABLE_CLOCK) &&
		    !strcasecmp(m->name, name))
			return m;
	}
	return NULL;
}

/* Prints the origin, which may be any text. */
static int list_origin(const struct store_made *m)
{
	_cleanup_buf_ struct buf origin = {0};
	struct bytes text = {(const uint8_t *)m->origin, strlen(m->origin)};

	if (!strcmp(m->origin, MADE_BY_USER))
		return 0;
	if (call_text_escape(&origin, text, "") < 0)
		return -ENOMEM;
	printf(", made by %s %llu", buf_str(&origin), (unsigned long long)m->version);
	return 0;
}

static int list_tables(const struct store *s, struct error *err)
{
	for (size_t i = 0; i < store_made_count(s); i++) {
		const struct store_made *m = store_made(s, i);

		if (!m)
			continue;
		printf("%s: %llu row%s, %u column%s", m->name, (unsigned long long)m->rows,
		       m->rows == 1 ? "" : "s", m->def->column_count,
		       m->def->column_count == 1 ? "" : "s");
		if (list_origin(m) < 0)
			return error_errno(err, -ENOMEM, "cannot list the tables");
		puts(m->partial			 ? ", of a part of the trace"
		     : store_made_is_stale(s, m) ? ", of what had been recorded then"
						 : "");
	}
	return 0;
}

static int drop_table(struct store *s, const char *name, struct error *err)
{
	const struct store_made *m = find_table(s, name);
	struct annotate_table t = {.rows = NULL};
	struct store_making what = {.own = &t.def, .origin = MADE_BY_USER};

	if (!m)
		return error_set(err, -ENOENT,
				 "the trace %s has no table '%.80s' that you appended",
				 store_trace_path(s, 0), name);
	t.def = made_own(m->name, NULL, 0);
	what.table = m->table;
	if (m->table == TABLE_CLOCK) {
		what.origin = m->origin;
		what.version = m->version;
	}
	return annotate_append(&t, s, &what, NULL, NULL, err);
}

static int annotate(const struct annotate_opts *o, struct interrupt *it, struct store *s,
		    struct engine *e, const char *sql, struct error *err)
{
	_cleanup_(engine_statements_freep) struct engine_statements *statements = NULL;
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	const char *name = o->name ? o->name : NAME_DEFAULT;
	_cleanup_(annotate_table_free) struct annotate_table t = {.def = made_own(name, NULL, 0)};
	int r = engine_check_name(e, name, err);

	if (r >= 0)
		r = engine_parse(e, sql, &statements, err);
	if (r >= 0 && engine_statements_count(statements) != 1)
		r = error_set(err, -EINVAL,
			      "%zu statements; a table is the answer to one statement",
			      engine_statements_count(statements));
	if (r >= 0)
		r = engine_execute(statements, 0, &result, err);
	if (r < 0)
		return r;
	if (!engine_result_has_rows(result))
		return error_set(err, -EINVAL, "the statement has no rows: write a SELECT");
	r = annotate_columns(&t, result, err);
	if (r >= 0)
		r = annotate_append(&t, s,
				    &(struct store_making){.table = TABLE_OWN,
							   .own = &t.def,
							   .origin = MADE_BY_USER,
							   .options = sql},
				    result, it, err);
	interrupt_quiet(it);
	if (r < 0)
		return r;
	printf("%s: %llu row%s, %zu column%s, in %s\n", name, (unsigned long long)t.count,
	       t.count == 1 ? "" : "s", engine_result_columns(result),
	       engine_result_columns(result) == 1 ? "" : "s", store_trace_path(s, 0));
	return r;
}

static int run_engine(const struct annotate_opts *o, struct interrupt *it, struct store *s,
		      const char *sql, struct error *err)
{
	const struct engine_options options = engine_flags_options(&o->engine);
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

/* Opens a closed trace alone, so that its ids are those of the file. */
static int annotate_open_trace(const char *path, struct store **ret, struct error *err)
{
	int r = input_is_path(path, err);

	if (r >= 0)
		r = store_open_corrected(ret, &path, 1, err);
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
		return list_tables(s, &err) < 0 ? fail(&err) : 0;
	if (!o->drop && store_is_growing(s)) {
		error_set(&err, -EBUSY,
			  "the trace %s is being recorded: annotate it when recording has ended",
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
	return name && !made_name_ok(name, strlen(name));
}

static int annotate_main(const void *opts, int argc, char **argv)
{
	const struct annotate_opts *o = opts;
	bool asks = !o->list && !o->drop;

	if ((o->list != 0) + (o->drop != NULL) + (o->name != NULL) > 1)
		return fail_usage("annotate: --name, --list and --drop exclude each other");
	if (engine_flags_check(&o->engine, "annotate"))
		return 2;
	if (is_bad_name(o->name) || is_bad_name(o->drop))
		return fail_usage("annotate: --%s: '%.80s' cannot be the name of a table: a letter "
				  "or _, then "
				  "letters, digits and _, %u at most",
				  o->name ? "name" : "drop", o->name ? o->name : o->drop,
				  MADE_NAME_MAX);
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
	{'n', "name", OPTION_STRING, "NAME", "name of the table (default " NAME_DEFAULT ")",
	 offsetof(struct annotate_opts, name)},
	{0, "list", OPTION_FLAG, NULL, "list the tables that were appended",
	 offsetof(struct annotate_opts, list)},
	{0, "drop", OPTION_STRING, "NAME",
	 "hide this table from now on; also weir's table clock, by which times are corrected",
	 offsetof(struct annotate_opts, drop)},
	ENGINE_FLAGS(struct annotate_opts, engine),
	{0},
};

static const struct command_example annotate_examples[] = {
	{"weir annotate -n aof redis.trace \"SELECT id AS file_id, path GLOB '*.aof' AS is_aof "
	 "FROM "
	 "file\"",
	 "mark every file"},
	{"weir query 'by is_aof | sum(bytes)' redis.trace", "query by the mark"},
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
		"file as a table. From then on weir sql can query and join the table by its name, "
		"and its columns are names of weir's language: in weir query, and in --where on a "
		"stored trace. Recorded data is not changed: bytes are appended to the end of the "
		"file. A later table of the same name replaces the earlier one.\n\n"
		"weir_op(row_id := true) and weir_op_named(row_id := true) have a column row_id, "
		"which identifies a call permanently: select it, and join by it. The language "
		"joins by the first column that calls also have: row_id, file_id, thread_id, "
		"process_id, "
		"path, comm, ...; each of its values stands once.\n\n"
		"Columns may be numbers, texts, BLOBs, booleans and points in time. Whole numbers "
		"have 64 bits, DECIMAL becomes DOUBLE. A trace that is being recorded, or was "
		"never closed, is refused. If the disk is full the trace stays unchanged. The "
		"statement is stored with the table.\n\n"
		"Exit status: 0 done, 1 it failed, 2 wrong options, 130 interrupted.",
	.options = annotate_options,
	.options_size = sizeof(struct annotate_opts),
	.examples = annotate_examples,
	.run = annotate_main,
};
