// SPDX-License-Identifier: Apache-2.0
/* test_many.c: so many files that their names are no ENUM, and are not read before they are asked
 * for. */
#include "engine/ask.h"
#include "fixture.h"
#include "query/query.h"

#define FILES 140000 /* more than NAMES_ENUM_MAX (engine/duckdb/internal.h) */
#define CALLS 3000

static struct fixture f;
static struct error last;

static int64_t file_of(size_t call)
{
	return (int64_t)(call * 7919 % FILES);
}

static void append_files(struct store_writer *w, int64_t from, int64_t to)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	for (int64_t id = from; id < to; id++) {
		size_t row = (size_t)batch_add_row(b);
		char path[64];

		snprintf(path, sizeof(path), id % 1000 == 7 ? "/many/\xff/%lld" : "/many/good/%lld",
			 (long long)id);
		assert_int_equal(batch_set(b, FILE_ID, row, id), 0);
		/* each second version is of the generation before it */
		assert_int_equal(batch_set(b, FILE_INODE, row, id / 2 * 2), 0);
		assert_int_equal(batch_set(b, FILE_TYPE, row, FILE_TYPE_REGULAR), 0);
		assert_int_equal(batch_set(b, FILE_SINCE, row, FIXTURE_ORIGIN + id), 0);
		assert_int_equal(batch_set_str(b, FILE_PATH, row, path), 0);
	}
	assert_int_equal(store_append(w, b, &last), 0);
}

static void append_calls(struct store_writer *w)
{
	_cleanup_(batch_freep) struct batch *b = NULL;

	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (size_t i = 0; i < CALLS; i++) {
		size_t row = (size_t)batch_add_row(b);

		assert_int_equal(batch_set(b, OP_START, row, FIXTURE_ORIGIN + (int64_t)i), 0);
		assert_int_equal(batch_set(b, OP_DUR, row, (int64_t)i), 0);
		assert_int_equal(batch_set(b, OP_THREAD_ID, row, 0), 0);
		assert_int_equal(batch_set(b, OP_OP, row, op_find("read")), 0);
		assert_int_equal(batch_set(b, OP_BYTES, row, 1), 0);
		assert_int_equal(batch_set(b, OP_FILE_ID, row, file_of(i)), 0);
	}
	assert_int_equal(store_append(w, b, &last), 0);
}

static int setup(void **state)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	char trace[256];
	const char *paths[] = {fixture_file("many.trace", trace)};
	struct store_writer *w;

	assert_int_equal(store_create(&w, trace, &opt, &last), 0);
	for (int64_t from = 0; from < FILES; from += 20000)
		append_files(w, from, from + 20000);
	append_calls(w);
	assert_int_equal(store_close(w, &last), 0);
	fixture_open(&f, paths, 1, NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_remove();
	return 0;
}

/* The answer to a question as text. */
static void query(const char *text, struct buf *out)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_(plan_freep) struct plan *p = NULL;
	struct query_error wrong = {0};

	last = (struct error){0};
	if (query_parse(text, strlen(text), &p, &wrong) < 0)
		fail_msg("%s: %s", text, wrong.err.message);
	if (engine_ask(f.engine, p, NULL, &r, &last) < 0)
		fail_msg("%s: %s", text, last.message);
	buf_clear(out);
	while (engine_result_next(r)) {
		for (size_t c = 0; c < engine_result_columns(r); c++) {
			assert_int_equal(buf_printf(out, "%s", c ? "|" : ""), 0);
			assert_int_equal(engine_result_text(r, c, out), 0);
		}
		assert_int_equal(buf_append(out, "\n", 1), 0);
	}
}

static size_t names_read(void)
{
	return dims_rows(store_dims_few(f.store), TABLE_FILE);
}

static void read_when_asked_for(void **state)
{
	_cleanup_buf_ struct buf out = {0};

	assert_int_equal(names_read(), 0);
	query("by op | count() as n", &out);
	assert_string_equal(buf_str(&out), "read|3000\n");
	query("where file_id == 7919 | count() as n", &out);
	assert_string_equal(buf_str(&out), "1\n");
	assert_int_equal(ask_number(&f, "SELECT count(DISTINCT file_id) FROM op_named"), CALLS);
	assert_int_equal(names_read(), 0);
	query("where path == \"/many/good/7919\" | count() as n", &out);
	assert_string_equal(buf_str(&out), "1\n");
	assert_int_equal(names_read(), FILES);
}

/* How many calls are on the files of the bad name. */
static int64_t bad_calls(void)
{
	int64_t n = 0;

	for (size_t i = 0; i < CALLS; i++)
		n += file_of(i) % 1000 == 7;
	return n;
}

/* The least name of all as a line of an answer: bad bytes are escaped, a backslash comes before
 * letters. */
static const char *first_bad(char room[static 64])
{
	room[0] = '\0';
	for (size_t i = 0; i < CALLS; i++) {
		char line[64];

		snprintf(line, sizeof(line), "/many/\\xff/%lld|1\n", (long long)file_of(i));
		if (file_of(i) % 1000 == 7 && (!room[0] || strcmp(line, room) < 0))
			memcpy(room, line, sizeof(line));
	}
	return room;
}

static void questions(void **state)
{
	char room[64];
	_cleanup_buf_ struct buf out = {0}, want = {0};

	query("where path ~ \"/many/good/*\" | count() as n", &out);
	assert_int_equal(strtoll(buf_str(&out), NULL, 10), CALLS - bad_calls());
	query("select path, dur | sort dur desc | head 2", &out);
	assert_int_equal(buf_printf(&want, "/many/good/%lld|2999\n/many/good/%lld|2998\n",
				    (long long)file_of(2999), (long long)file_of(2998)),
			 0);
	assert_string_equal(buf_str(&out), buf_str(&want));
	query("by path | sum(bytes) as b | sort b desc, path | head 1", &out);
	assert_string_equal(buf_str(&out), first_bad(room));
	/* the name of a file is its generation's latest */
	query("where file_id == 7919 | by file | count() as n", &out);
	assert_string_equal(buf_str(&out), "/many/good/7919|1\n");
	query("where path ~ \"/many/*\" | by comm | distinct(path) as n", &out);
	assert_string_equal(strchr(buf_str(&out), '|'), "|3000\n");
}

static void tables(void **state)
{
	assert_string_equal(ask(&f, "SELECT DISTINCT typeof(path) FROM op_named"), "VARCHAR");
	assert_int_equal(ask_number(&f, "SELECT count(DISTINCT path) FROM op_named"), CALLS);
	assert_int_equal(ask_number(&f, "SELECT count(*) FROM op_named WHERE path LIKE "
					"'/many/\\xff/%'"),
			 bad_calls());
	assert_string_equal(ask(&f, "SELECT path, hostpath, inode FROM file WHERE id = 139999"),
			    "/many/good/139999|NULL|139998");
	assert_int_equal(ask_number(&f, "SELECT count(*) FROM file"), FILES);
	assert_string_equal(ask(&f, "SELECT file_type, peer, file_name FROM op_named WHERE "
				    "file_id = 7919"),
			    "regular|NULL|/many/good/7919");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(read_when_asked_for),
		cmocka_unit_test(questions),
		cmocka_unit_test(tables),
	};

	fixture_need_library();
	return cmocka_run_group_tests_name("many files", tests, setup, teardown);
}
