// SPDX-License-Identifier: Apache-2.0
/* test_tables.c: every table and column of SQL against plain loops over the rows of the store. */
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <unistd.h>

#define ROWS 200000

static struct fixture f;
static char trace[256];

static int setup(void **state)
{
	const char *paths[] = {fixture_file("tables.trace", trace)};

	fixture_write(trace, ROWS);
	fixture_open(&f, paths, 1, NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_remove();
	return 0;
}

static bool is_dimension(unsigned int table)
{
	return table == TABLE_THREAD || table == TABLE_PROCESS || table == TABLE_CGROUP ||
	       table == TABLE_HOST || table == TABLE_FILE;
}

/* What a plain loop over all blocks finds in a column. */
struct sums {
	uint64_t rows, present;
	__int128 sum;
	int64_t min, max;
};

static void add_row(struct sums *s, const struct batch *b, unsigned int column, size_t row)
{
	int64_t v;

	s->rows++;
	if (batch_is_null(b, column, row))
		return;
	v = b->def->columns[column].type == COLUMN_BYTES
		    ? (int64_t)batch_get_bytes(b, column, row).len
		    : b->columns[column].val[row];
	s->min = s->present ? MIN(s->min, v) : v;
	s->max = s->present ? MAX(s->max, v) : v;
	s->present++;
	s->sum += v;
}

/* The last row of an id wins: only the last row of `seen` counts. */
static struct sums loop(unsigned int table, unsigned int column)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	struct map last = {0};
	struct sums s = {0};

	assert_int_equal(store_cursor_new(&cursor, f.store), 0);
	for (int pass = is_dimension(table) ? 0 : 1; pass < 2; pass++) {
		uint64_t n = 0;

		for (size_t i = 0; i < store_block_count(f.store); i++) {
			const struct batch *b;

			if (store_block(f.store, i)->table != table)
				continue;
			assert_int_equal(store_decode(cursor, i, ~0ull, &b, NULL), 0);
			for (size_t row = 0; row < b->rows; row++, n++) {
				uint64_t id = (uint64_t)batch_get(b, 0, row, -1), at;

				if (pass == 0)
					assert_int_equal(map_set(&last, id, n), 0);
				else if (!is_dimension(table) ||
					 (map_get(&last, id, &at) && at == n))
					add_row(&s, b, column, row);
			}
		}
	}
	map_free(&last);
	return s;
}

static void every_column(void **state)
{
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);

		for (unsigned int c = 0; c < def->column_count; c++) {
			const struct column_def *column = &def->columns[c];
			struct sums want = loop(t, c);
			char sql[512], expect[256];

			if (column->type == COLUMN_CODE || column->type == COLUMN_BYTES) {
				snprintf(sql, sizeof(sql), "SELECT count(*), count(%s) FROM %s",
					 column->name, def->name);
				snprintf(expect, sizeof(expect), "%" PRIu64 "|%" PRIu64, want.rows,
					 want.present);
			} else if (column->type == COLUMN_UINT) {
				/* unsigned in SQL: the same bits */
				snprintf(sql, sizeof(sql),
					 "SELECT count(*), count(%s), (sum(%s) %% "
					 "18446744073709551616)::UBIGINT FROM %s",
					 column->name, column->name, def->name);
				snprintf(expect, sizeof(expect), "%" PRIu64 "|%" PRIu64 "|%" PRIu64,
					 want.rows, want.present, (uint64_t)want.sum);
			} else {
				snprintf(
					sql, sizeof(sql),
					"SELECT count(*), count(%s), (sum(%s) // 1000000)::BIGINT, "
					"min(%s), max(%s) "
					"FROM %s",
					column->name, column->name, column->name, column->name,
					def->name);
				snprintf(expect, sizeof(expect),
					 "%" PRIu64 "|%" PRIu64 "|%" PRId64 "|%" PRId64 "|%" PRId64,
					 want.rows, want.present, (int64_t)(want.sum / 1000000),
					 want.min, want.max);
			}
			if (!want.present)
				snprintf(expect, sizeof(expect), "%" PRIu64 "|0%s", want.rows,
					 column->type == COLUMN_CODE || column->type == COLUMN_BYTES
						 ? ""
					 : column->type == COLUMN_UINT ? "|NULL"
								       : "|NULL|NULL|NULL");
			if (strcmp(ask(&f, sql), expect))
				fail_msg("%s: %s instead of %s", sql, ask(&f, sql), expect);
		}
	}
}

static const char *type_of(const struct column_def *c, const char *table)
{
	switch (c->type) {
	case COLUMN_UINT:
		return "UBIGINT";
	case COLUMN_CODE:
		return "ENUM";
	case COLUMN_BYTES:
		if (!strcmp(c->name, "hist"))
			return "BLOB";
		if (!strcmp(c->name, "comm") ||
		    (!strcmp(c->name, "exe") && !strcmp(table, "thread")))
			return "ENUM";
		if ((!strcmp(c->name, "path") || !strcmp(c->name, "hostpath")) &&
		    !strcmp(table, "file"))
			return "ENUM";
		return "VARCHAR";
	default:
		return "BIGINT";
	}
}

static void types(void **state)
{
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);

		for (unsigned int c = 0; c < def->column_count; c++) {
			const char *want = type_of(&def->columns[c], def->name);
			char sql[256];

			snprintf(sql, sizeof(sql),
				 "SELECT column_type FROM (DESCRIBE %s) WHERE column_name = '%s'",
				 def->name, def->columns[c].name);
			if (strncmp(ask(&f, sql), want, strlen(want)))
				fail_msg("%s.%s is %s instead of %s", def->name,
					 def->columns[c].name, ask(&f, sql), want);
			if (def->columns[c].type != COLUMN_TIME)
				continue;
			snprintf(sql, sizeof(sql),
				 "SELECT column_type FROM (DESCRIBE %s) WHERE column_name = "
				 "'%s_time'",
				 def->name, def->columns[c].name);
			assert_string_equal(ask(&f, sql), "TIMESTAMP_NS");
		}
	}
}

/* Columns come in the schema's order, so that SELECT * reads as docs do. */
static void order_of_columns(void **state)
{
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);
		_cleanup_buf_ struct buf want = {0};
		char sql[256];

		for (unsigned int c = 0; c < def->column_count; c++)
			assert_int_equal(
				buf_printf(&want, "%s%s", c ? "\n" : "", def->columns[c].name), 0);
		snprintf(sql, sizeof(sql), "SELECT column_name FROM (DESCRIBE %s) LIMIT %u",
			 def->name, def->column_count);
		assert_string_equal(ask(&f, sql), buf_str(&want));
	}
}

/* An engine declares what its first statement needs: one that lists tables finds all, one that fails is told of all. */
static void first_statement(void **state)
{
	static const char *const lists[] = {
		"SELECT count(*) FROM (SHOW TABLES)",
		"SELECT count(*) FROM (\n DESC) ORDER BY 1 DESC",
		"-- a comment\nFROM (DESCRIBE) SELECT count(*)",
		"SELECT count(*) FROM information_schema.tables",
		"SELECT count(*) FROM duckdb_views() WHERE NOT internal",
		"SELECT count(*) FROM sqlite_master",
		"SELECT count(*) FROM query('FROM duckdb' || '_views() WHERE NOT internal')",
	};
	static const char *const names[] = {
		"SELECT count(*) FROM OP",
		"SELECT count(*) FROM main.\"op\"",
		"SELECT count(*) FROM query_table('o' || 'p')",
		"SELECT count(WEIR_HOUR(0)) FROM op",
		"CREATE MACRO rows() AS TABLE FROM op; SELECT count(*) FROM rows()",
	};
	const char *paths[] = {trace};
	struct fixture fresh;

	for (size_t i = 0; i < ARRAY_SIZE(lists) + ARRAY_SIZE(names); i++) {
		bool is_list = i < ARRAY_SIZE(lists);
		const char *sql = is_list ? lists[i] : names[i - ARRAY_SIZE(lists)];
		int64_t want = is_list ? TABLE_COUNT + 1 : ROWS;

		fixture_open(&fresh, paths, 1, NULL);
		if (ask_number(&fresh, sql) != want)
			fail_msg("%s: not %lld", sql, (long long)want);
		fixture_close(&fresh);
	}
	fixture_open(&fresh, paths, 1, NULL);
	assert_non_null(strstr(ask_error(&fresh, "SELECT 1 FROM threat", NULL), "\"thread\""));
	assert_non_null(strstr(ask_error(&fresh, "SELECT 1 FROM nosuch.op", NULL), "nosuch"));
	fixture_close(&fresh);
	/* the same for macros */
	fixture_open(&fresh, paths, 1, NULL);
	assert_int_equal(ask_number(&fresh, "SELECT count(*) FROM duckdb_functions() WHERE "
					    "function_name = 'weir_' || 'hour'"),
			 1);
	fixture_close(&fresh);
	fixture_open(&fresh, paths, 1, NULL);
	assert_non_null(strstr(ask_error(&fresh, "SELECT weir_hou(0)", NULL), "\"weir_hour\""));
	fixture_close(&fresh);
}

/* Table and column names need no quotes, anywhere. */
static void no_reserved_words(void **state)
{
	for (unsigned int t = 0; t < TABLE_COUNT; t++) {
		const struct table_def *def = schema_table(t);
		char sql[512];

		snprintf(sql, sizeof(sql),
			 "SELECT count(*) FROM %s AS %s; SELECT %s FROM (SELECT 1 AS %s)",
			 def->name, def->name, def->name, def->name);
		ask(&f, sql);
		for (unsigned int c = 0; c < def->column_count; c++) {
			const char *name = def->columns[c].name;

			snprintf(sql, sizeof(sql),
				 "SELECT %s, x.%s FROM %s AS x GROUP BY %s, x.%s ORDER BY %s LIMIT "
				 "1;"
				 "WITH q AS (SELECT 1 AS %s) SELECT q.%s AS %s FROM q",
				 name, name, def->name, name, name, name, name, name, name);
			ask(&f, sql);
		}
	}
}

/* Row by row, through op_named: what the fixture wrote comes back under the right names. */
static void rows_of_op(void **state)
{
	_cleanup_(engine_statements_freep) struct engine_statements *s = NULL;
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	struct error err = {0};
	uint64_t n = 0;

	assert_true(
		engine_parse(
			f.engine,
			"SELECT (start - 1795254902114000000) // 1000 AS i, dur, op, err, bytes, "
			"ret, comm, "
			"path, pid, host, start_time = make_timestamp_ns(start) "
			"FROM op_named WHERE start IS NOT NULL AND op <> 'write' ORDER BY start",
			&s, &err) >= 0);
	assert_true(engine_execute(s, 0, &r, &err) >= 0);
	for (uint64_t i = 2; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);
		_cleanup_buf_ struct buf want = {0}, got = {0}, path = {0};
		char name[32], raw[64];
		struct bytes p = fixture_path((size_t)o.file_id, raw);

		if (o.op == op_find("write"))
			continue;
		assert_true(engine_result_next(r));
		n++;
		for (size_t c = 0; c < engine_result_columns(r); c++) {
			assert_int_equal(c ? buf_append(&got, "|", 1) : 0, 0);
			if (engine_result_is_null(r, c))
				assert_int_equal(buf_append(&got, "NULL", 4), 0);
			assert_int_equal(engine_result_text(r, c, &got), 0);
		}
		assert_int_equal(engine_escape(p.data, p.len, &path), 0);
		assert_int_equal(buf_printf(&want, "%" PRIu64 "|%" PRId64 "|%s|%s|%" PRId64 "|", i,
					    o.dur, op_name((uint32_t)o.op, name),
					    o.failed ? vocab_word("err", o.err) : "NULL", o.bytes),
				 0);
		if (o.running)
			assert_int_equal(buf_printf(&want, "NULL|"), 0);
		else
			assert_int_equal(buf_printf(&want, "%" PRId64 "|", o.ret), 0);
		snprintf(name, sizeof(name), o.thread_id == 5 ? "bad\\xff" : "worker-%" PRId64,
			 9 - o.thread_id);
		assert_int_equal(buf_printf(&want, "%s|%s|%" PRId64 "|alpha|true", name,
					    o.no_file || o.file_id == 12 ? "NULL" : buf_str(&path),
					    100 + o.thread_id / 3 * 3),
				 0);
		assert_string_equal(buf_str(&got), buf_str(&want));
	}
	assert_false(engine_result_next(r));
	assert_true(n > ROWS / 2);
}

/* op_named is op with joins that cost nothing: the same as joining by hand. */
static void named_is_joined(void **state)
{
	assert_int_equal(ask_number(&f, "SELECT count(*) FROM op_named"), ROWS);
	assert_string_equal(ask(&f, "SELECT count(*) FROM ((SELECT start, dur, thread_id, comm, "
				    "path FROM op_named) EXCEPT ALL "
				    "(SELECT start, dur, thread_id, t.comm, f.path FROM op LEFT "
				    "JOIN thread t ON t.id = thread_id "
				    "LEFT JOIN file f ON f.id = file_id))"),
			    "0");
	assert_string_equal(ask(&f, "SELECT DISTINCT peer FROM op_named WHERE file_id = 12"),
			    "10.0.0.2:4711");
	assert_string_equal(ask(&f, "SELECT DISTINCT file_type FROM op_named WHERE file_id = 12"),
			    "socket");
	assert_string_equal(ask(&f, "SELECT count(*) FROM op_named WHERE file_id IS NOT NULL AND "
				    "file_name IS NULL"),
			    "0");
	assert_string_equal(
		ask(&f, "SELECT DISTINCT cgroup, unit, uid, ppid, exe FROM op_named"),
		"/system.slice/dev-disk\\x2duuid.service|server.service|1000|1|/usr/bin/server");
}

static void arguments_of_processes(void **state)
{
	assert_string_equal(ask(&f, "SELECT DISTINCT argv FROM process"),
			    "server --dir '/a b' 'it'\\''s'");
	assert_string_equal(ask(&f, "SELECT comm FROM thread WHERE id = 0"),
			    "worker-9"); /* the last row wins */
	assert_int_equal(ask_number(&f, "SELECT count(*) FROM thread"), FIXTURE_THREADS);
}

/* Ranges and id sets give exactly the rows that WHERE gives, and read fewer blocks. */
static void arguments(void **state)
{
	static const char *const pairs[][2] = {
		{"SELECT count(*), sum(dur) FROM weir_op(start := 1795254902114050000, stop := "
		 "1795254902114060000)",
		 "SELECT count(*), sum(dur) FROM op WHERE start < 1795254902114060000 AND "
		 "start + dur >= 1795254902114050000"},
		{"SELECT count(*), sum(dur) FROM weir_op(start := 1795254902300000000)",
		 "SELECT count(*), sum(dur) FROM op WHERE start + dur >= 1795254902300000000"},
		{"SELECT count(*), sum(pos) FROM weir_op(files := [3, 7, 999])",
		 "SELECT count(*), sum(pos) FROM op WHERE file_id IN (3, 7, 999)"},
		{"SELECT count(*) FROM weir_op_named(threads := [1], files := [3])",
		 "SELECT count(*) FROM op WHERE thread_id = 1 AND file_id = 3"},
		{"SELECT count(*) FROM weir_op(files := [])", "SELECT 0"},
		{"SELECT count(*) FROM weir_op(files := NULL)", "SELECT 0"},
		{"SELECT count(*) FROM weir_op_named(threads := NULL::BIGINT[])", "SELECT 0"},
		{"SELECT count(*) FROM weir_op(start := NULL)", "SELECT count(*) FROM op"},
		{"SELECT count(*), sum(dur) FROM weir_op(filter := 'file_id == 3 || dur > 1us', "
		 "threads := [1])",
		 "SELECT count(*), sum(dur) FROM op WHERE thread_id = 1 AND (file_id = 3 OR dur > "
		 "1000)"},
		{"SELECT count(*) FROM weir_op(filter := NULL)", "SELECT 0"},
		{"SELECT sum(calls) FROM weir_summary(threads := [2])",
		 "SELECT sum(calls) FROM summary WHERE thread_id = 2"},
		{"SELECT path FROM weir_file(files := [20])",
		 "SELECT path FROM file WHERE id = 20"},
		{"SELECT count(*) FROM weir_mark(stop := 1795254902114000000)", "SELECT 0"},
		{"SELECT count(*) FROM weir_loss(start := 1795254902114004000)", "SELECT 1"},
	};
	uint64_t done, all, some;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		_cleanup_free_ char *want = strdup(ask(&f, pairs[i][1]));

		if (strcmp(ask(&f, pairs[i][0]), want))
			fail_msg("%s: %s instead of %s", pairs[i][0], ask(&f, pairs[i][0]), want);
	}
	ask(&f, "SELECT sum(dur) FROM op");
	engine_progress(f.engine, &done, &all);
	assert_int_equal(done, all);
	ask(&f, "SELECT sum(dur) FROM weir_op(stop := 1795254902114000010)");
	engine_progress(f.engine, &done, &some);
	assert_true(some < all);
	ask(&f, "SELECT sum(dur) FROM weir_op(files := [999])");
	engine_progress(f.engine, &done, &some);
	assert_int_equal(some, 0);
	assert_non_null(strstr(ask_error(&f, "FROM weir_op(start := 2, stop := 1)", NULL),
			       "start 2 is after stop 1"));
}

/* Summaries and rows say the same. */
static void summaries(void **state)
{
	_cleanup_free_ char *rows =
		strdup(ask(&f, "SELECT op, count(*), sum(bytes), sum(dur), max(dur), "
			       "p99(hist(dur)) FROM op WHERE ret IS NOT NULL "
			       "GROUP BY op ORDER BY op"));

	assert_string_equal(ask(&f, "SELECT op, sum(calls), sum(bytes), sum(time), max(max_dur), "
				    "p99(hist_merge(hist)) "
				    "FROM summary GROUP BY op ORDER BY op"),
			    rows);
}

#define SMALL_ROWS   100
#define SMALL_BLOCKS 300 /* more than a digest has */

static void write_small_blocks(const char *path)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct error err = {0};
	struct store_writer *w;

	assert_int_equal(store_create(&w, path, &opt, &err), 0);
	fixture_append_dims(w);
	for (uint64_t i = 0; i < SMALL_BLOCKS; i++) {
		fixture_append_ops(w, i * SMALL_ROWS, (i + 1) * SMALL_ROWS);
		assert_int_equal(store_flush(w, true, &err), 0);
	}
	assert_int_equal(store_close(w, &err), 0);
}

/* A block whose summary stands for it, in a digest, before others of that. */
static size_t summed_block(const struct store *s)
{
	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_digest *d =
			store_block(s, i)->table == TABLE_OP ? store_digest_of(s, i) : NULL;

		if (d && d->blocks[0] == i && store_summary_of(s, i) != SIZE_MAX)
			return i;
	}
	fail_msg("there is no digest");
	return 0;
}

/* A block is read by its rows, as its summary is damaged; a digest that has the same calls does not stand for others then. */
static void damaged_summary(void **state)
{
	static const char count[] = "SELECT sum(row_calls) FROM weir_rows('op', NULL, ['op', "
				    "'row_calls'], summed := true)";
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	const struct store_block *summary;
	struct fixture small;
	struct error err = {0};
	const struct batch *b;
	const char *paths[1];
	char path[256];
	uint8_t byte;
	int fd;

	paths[0] = fixture_file("small.trace", path);
	write_small_blocks(path);
	fixture_open(&small, paths, 1, NULL);
	assert_int_equal(ask_number(&small, count), SMALL_ROWS * SMALL_BLOCKS);
	summary =
		store_block(small.store, store_summary_of(small.store, summed_block(small.store)));
	fd = open(path, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &byte, 1, (off_t)(summary->offset + summary->bytes - 1)), 1);
	byte ^= 0x20;
	assert_int_equal(pwrite(fd, &byte, 1, (off_t)(summary->offset + summary->bytes - 1)), 1);
	close(fd);
	fixture_close(&small);
	fixture_open(&small, paths, 1, NULL);
	assert_int_equal(store_cursor_new(&cursor, small.store), 0);
	assert_int_equal(store_decode(cursor,
				      store_summary_of(small.store, summed_block(small.store)),
				      ~0ull, &b, &err),
			 -EBADMSG);
	assert_int_equal(ask_number(&small, count), SMALL_ROWS * SMALL_BLOCKS);
	store_cursor_free(TAKE_PTR(cursor));
	fixture_close(&small);
}

/* What a filter passes is found, whatever digests know of its blocks; where they know that it is nothing no block is read. */
static void rare_calls(void **state)
{
	static const struct {
		const char *filter, *where;
		bool none; /* no call is like it */
	} all[] = {
		{"op == pread64", "op = 'pread64'", false},
		{"op == ptrace", "op = 'ptrace'", true},
		{"op == ptrace && dur >= 0ns", "op = 'ptrace' AND dur >= 0", true},
		{"err is not null", "err IS NOT NULL", false},
		{"err == EXDEV && class in (data, meta)", "err = 'EXDEV'", true},
		{"err == EAGAIN || op == write", "err = 'EAGAIN' OR op = 'write'", false},
		{"op != pread64 && err is null && ret >= 0",
		 "op <> 'pread64' AND err IS NULL AND ret >= 0", false},
		{"op == ptrace || bytes > 10", "op = 'ptrace' OR bytes > 10", false},
		{"ret is null", "ret IS NULL", false},
	};
	struct fixture small;
	const char *paths[1];
	char path[256], sql[256];

	paths[0] = fixture_file("rare.trace", path);
	write_small_blocks(path);
	fixture_open(&small, paths, 1, NULL);
	(void)summed_block(small.store);
	for (size_t i = 0; i < ARRAY_SIZE(all); i++) {
		uint64_t done, total;
		int64_t found, want;

		snprintf(sql, sizeof(sql), "SELECT count(*) FROM op WHERE %s", all[i].where);
		want = ask_number(&small, sql);
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM weir_rows('op', '%s', ['dur'])",
			 all[i].filter);
		found = ask_number(&small, sql);
		engine_progress(small.engine, &done, &total);
		assert_int_equal(found, want);
		assert_int_equal(want == 0, all[i].none);
		if (all[i].none) /* but for blocks in which a call still ran */
			assert_true(total < SMALL_BLOCKS / 2);
	}
	fixture_close(&small);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_column),	     cmocka_unit_test(types),
		cmocka_unit_test(order_of_columns),  cmocka_unit_test(first_statement),
		cmocka_unit_test(no_reserved_words), cmocka_unit_test(rows_of_op),
		cmocka_unit_test(named_is_joined),   cmocka_unit_test(arguments_of_processes),
		cmocka_unit_test(arguments),	     cmocka_unit_test(summaries),
		cmocka_unit_test(damaged_summary),   cmocka_unit_test(rare_calls),
	};

	fixture_need_library();
	return cmocka_run_group_tests(tests, setup, teardown);
}
