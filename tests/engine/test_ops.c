// SPDX-License-Identifier: Apache-2.0
/* test_ops.c: two engines in one binary, the embedded one and one behind an address, answer the same. */
#include "fixture.h"

#include <errno.h>

#include "counts.h"
#include "engine/ask.h"
#include "engine/duckdb/duckdb.h"
#include "query/query.h"

#define ROWS 70000

/* In place of engine/engines.c. */
const struct engine_ops *const engines[] = {&duckdb_engine, &counts_engine, NULL};

static struct fixture f;
static struct engine *other;
static char path[256], address[512];
static struct error last;

static int setup(void **state)
{
	const char *paths[] = {path};

	fixture_file("a.trace", path);
	fixture_write(path, ROWS);
	fixture_open(&f, paths, 1, NULL);
	snprintf(address, sizeof(address), "counts://%s", path);
	assert_int_equal(engine_address(address, &last), 1);
	assert_int_equal(engine_connect(&other, address, &(struct engine_options){0}, &last), 0);
	return 0;
}

static int teardown(void **state)
{
	engine_free(other);
	fixture_close(&f);
	fixture_remove();
	return 0;
}

static int64_t count(struct engine *e, const char *text, int64_t from, int64_t to)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_(plan_freep) struct plan *p = NULL;
	struct query_error wrong = {0};
	int64_t n;

	assert_int_equal(query_parse(text, strlen(text), &p, &wrong), 0);
	p->from = from;
	p->to = to;
	last = (struct error){0};
	if (engine_ask(e, p, NULL, &r, &last) < 0)
		fail_msg("%s: %s", text, last.message);
	assert_int_equal(engine_result_columns(r), 1);
	assert_true(engine_result_next(r));
	assert_false(engine_result_is_null(r, 0));
	assert_false(engine_result_estimated(r, 0));
	n = engine_result_int(r, 0);
	assert_false(engine_result_next(r));
	return n;
}

static void both_are_asked(void **state)
{
	static const char *const questions[] = {
		"count()",
		"dur > 50us | count()",
		"op == \"fsync\" && err is not null | count()",
		"comm ~ \"worker*\" | count()",
		"from file | count()",
		"from loss | count()",
	};
	int64_t middle = FIXTURE_ORIGIN + ROWS / 2 * FIXTURE_STEP_NS;

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		assert_int_equal(count(f.engine, questions[i], INT64_MIN, INT64_MAX),
				 count(other, questions[i], INT64_MIN, INT64_MAX));
		if (i < 4)
			assert_int_equal(count(f.engine, questions[i], middle, INT64_MAX),
					 count(other, questions[i], middle, INT64_MAX));
	}
	assert_int_equal(count(other, "count()", INT64_MIN, INT64_MAX), ROWS);
}

static void both_know_their_range(void **state)
{
	int64_t a, b, c, d;

	assert_int_equal(engine_range(f.engine, &a, &b, &last), 0);
	assert_int_equal(engine_range(other, &c, &d, &last), 0);
	assert_true(a != INT64_MIN && a < b);
	assert_int_equal(a, c);
	assert_int_equal(b, d);
}

/* Rows of a merged stream, and a sum over them that depends on their order. */
static uint64_t stream(struct engine_merge *m, uint64_t *ret_rows)
{
	const struct batch *b;
	const uint32_t *rows;
	uint64_t sum = 0;
	size_t which;
	ssize_t n;

	*ret_rows = 0;
	while ((n = engine_merge_next(m, &which, &b, &rows, &last)) > 0) {
		for (ssize_t i = 0; i < n; i++)
			sum = sum * 31 + which + (uint64_t)engine_merge_end(m, rows[i]);
		*ret_rows += (uint64_t)n;
	}
	assert_int_equal(n, 0);
	return sum;
}

/* Files, the embedded engine and the other one give the same stream. */
static void all_scan_alike(void **state)
{
	const struct scan_request q[] = {
		{.table = TABLE_OP, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX},
		{.table = TABLE_MARK, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX},
	};
	_cleanup_(engine_merge_freep) struct engine_merge *a = NULL, *b = NULL, *c = NULL;
	uint64_t rows[3], sum;

	assert_int_equal(engine_merge_new(&a, f.store, NULL, q, 2, &last), 0);
	assert_int_equal(engine_merge_new(&b, NULL, f.engine, q, 2, &last), 0);
	assert_int_equal(engine_merge_new(&c, NULL, other, q, 2, &last), 0);
	sum = stream(a, &rows[0]);
	assert_int_equal(sum, stream(b, &rows[1]));
	assert_int_equal(sum, stream(c, &rows[2]));
	assert_true(rows[0] == rows[1] && rows[0] == rows[2] && rows[0] > ROWS - 100);
}

/* What an engine does not implement is refused in one line that names it. */
static void what_one_cannot_do(void **state)
{
	struct engine_statements *statements = NULL;
	struct engine_follow *follow = NULL;
	_cleanup_buf_ struct buf text = {0};
	uint64_t done, total;

	last = (struct error){0};
	assert_int_equal(engine_parse(other, "SELECT 1", &statements, &last), -EOPNOTSUPP);
	assert_string_equal(last.message, "counts cannot run SQL");
	last = (struct error){0};
	assert_int_equal(engine_follow_new(&follow, other, NULL, &last), -EOPNOTSUPP);
	assert_int_equal(engine_explain(other, NULL, &text, NULL), -EOPNOTSUPP);
	assert_int_equal(engine_check_name(other, "x", NULL), -EOPNOTSUPP);
	engine_progress(other, &done, &total);
	assert_int_equal(total, 0);
	engine_abandon(other);
}

static void addresses(void **state)
{
	static const char *const are_paths[] = {"weir.trace", "/tmp/a://b", "./x",
						"x:y",	      "://x",	    ""};

	for (size_t i = 0; i < ARRAY_SIZE(are_paths); i++)
		assert_int_equal(engine_address(are_paths[i], &last), 0);
	last = (struct error){0};
	assert_int_equal(engine_address("clickhouse://host/db", &last), -EINVAL);
	assert_string_equal(
		last.message,
		"'clickhouse://host/db': this weir has no engine for clickhouse://; it "
		"reads trace files and folders of trace files, and addresses of counts://");
	last = (struct error){0};
	assert_int_equal(engine_address("count://x", &last), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_are_asked), cmocka_unit_test(both_know_their_range),
		cmocka_unit_test(all_scan_alike), cmocka_unit_test(what_one_cannot_do),
		cmocka_unit_test(addresses),
	};

	fixture_need_library();
	return cmocka_run_group_tests(tests, setup, teardown);
}
