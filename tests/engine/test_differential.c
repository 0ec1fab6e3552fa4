// SPDX-License-Identifier: Apache-2.0
/*
 * test_differential.c: the ten questions of the bench and 200 made at random, answered by weir over a
 * trace and by DuckDB over the same rows in a Parquet file. The seed is printed; WEIR_SEED sets it.
 */
#include "fixture.h"

#include <inttypes.h>
#include <time.h>

#include "engine/ask.h"
#include "query/query.h"

#define ROWS	  60000
#define QUESTIONS 200
#define PARTS_MAX 3

static struct fixture f;
static struct error last;
static uint64_t seed, state_of_random;

/* What means the same in both languages. */
struct pair {
	const char *weir, *sql;
};

static const struct pair ten[] = {
	{"where dur > 50us && op in (read, pread64) | count()",
	 "SELECT count(*) FROM p WHERE dur > 50000 AND op IN ('read', 'pread64')"},
	{"by op | count() as n, sum(bytes) as b, p99(dur) as p",
	 "SELECT op, count(*), sum(bytes), p99(hist(dur)) FROM p GROUP BY op"},
	{"by comm, tid, op | count() as n, sum(dur) as t",
	 "SELECT comm, tid, op, count(*), sum(dur) FROM p GROUP BY ALL"},
	{"by path | sum(bytes) as b, count() as n | sort b desc, path | head 20",
	 "SELECT path, sum(bytes) b, count(*) FROM p GROUP BY path ORDER BY b DESC NULLS LAST, "
	 "path "
	 "NULLS LAST LIMIT 20"},
	{"where stop is not null | by bucket(stop, 10ms) as t, log2(dur) as d | count() as n",
	 "SELECT e - e % 10000000, CASE WHEN dur = 0 THEN 0 ELSE 1::BIGINT << "
	 "floor(log2(dur))::BIGINT END, count(*) FROM (SELECT *, start + dur AS e FROM p WHERE "
	 "start IS NOT NULL AND status & 1 = 0) GROUP BY ALL"},
	{"where stop is not null | by op every 100ms | rate() as r",
	 "SELECT e - e % 100000000, op, count(*) * 10.0::DOUBLE FROM (SELECT *, start + dur AS e "
	 "FROM "
	 "p WHERE start IS NOT NULL AND status & 1 = 0) GROUP BY ALL"},
	{"where path =~ \"[.]sst$\" | count() as n, sum(bytes) as b",
	 "SELECT count(*), sum(bytes) FROM p WHERE regexp_matches(path, '[.]sst$')"},
	{"where start is not null | select start, dur, op, path | sort dur desc, start | head 100",
	 "SELECT start, dur, op, path FROM p WHERE start IS NOT NULL ORDER BY dur DESC, start "
	 "LIMIT "
	 "100"},
	{"by pid | distinct(file_id) as d",
	 "SELECT pid, count(DISTINCT file_id) FROM p GROUP BY pid"},
	{"where file_id == 17 && start in "
	 "\"2026-11-21T10:08:22.120Z\"..\"2026-11-21T10:08:22.160Z\" | "
	 "count() as n, max(dur) as m",
	 "SELECT count(*), max(dur) FROM p WHERE file_id = 17 AND start BETWEEN "
	 "1795255702120000000 AND "
	 "1795255702160000000"},
};

static const struct pair conditions[] = {
	{"dur > 50us", "dur > 50000"},
	{"dur in 10us..20us", "dur BETWEEN 10000 AND 20000"},
	{"dur <= 99999ns", "dur <= 99999"},
	{"op in (write, fsync)", "op IN ('write', 'fsync')"},
	{"op != openat", "op <> 'openat'"},
	{"err is null", "err IS NULL"},
	{"err == ENOENT", "err = 'ENOENT'"},
	{"path like \"/data/%\"", "path LIKE '/data/%'"},
	{"path == \"/data/1/file-13.sst\"", "path = '/data/1/file-13.sst'"},
	{"path > \"/data/1\"", "path > '/data/1'"},
	{"comm =~ \"^worker-[5-7]$\"", "regexp_matches(comm, '^worker-[5-7]$')"},
	{"bytes % 7 == 3", "bytes % 7 = 3"},
	{"bytes / 2 > 2000", "bytes / 2 > 2000"},
	{"file_id in (3, 5, 17, 40)", "file_id IN (3, 5, 17, 40)"},
	{"pid == 100", "pid = 100"},
	{"tid - pid == 1", "tid - pid = 1"},
	{"pos is not null", "pos IS NOT NULL"},
	{"ret < 0", "ret < 0"},
	{"len(comm) == 8", "strlen(comm) = 8"},
	{"coalesce(err, EAGAIN) == EAGAIN", "coalesce(err, 'EAGAIN') = 'EAGAIN'"},
};

static const struct pair keys[] = {
	{"op", "op"},
	{"err", "err"},
	{"comm", "comm"},
	{"tid", "tid"},
	{"pid", "pid"},
	{"path", "path"},
	{"file_id", "file_id"},
	{"bucket(dur, 10us)", "dur - dur % 10000"},
	{"bytes % 5", "bytes % 5"},
	{"err is null", "err IS NULL"},
};

static const struct pair aggregates[] = {
	{"count()", "count(*)"},
	{"count(err)", "count(err)"},
	{"countif(dur > 70us)", "count(*) FILTER (WHERE dur > 70000)"},
	{"sum(bytes)", "sum(bytes)"},
	{"sum(ret)", "sum(ret)"},
	{"min(dur)", "min(dur)"},
	{"max(pos)", "max(pos)"},
	{"avg(dur)", "round(avg(dur))::BIGINT"},
	{"avg(tid)", "avg(tid)"},
	{"p50(dur)", "p50(hist(dur))"},
	{"p999(bytes)", "p999(hist(bytes))"},
	{"distinct(file_id)", "count(DISTINCT file_id)"},
	{"distinct(path)", "count(DISTINCT path)"},
};

static uint64_t random_below(uint64_t n)
{
	state_of_random += 0x9e3779b97f4a7c15ull;
	return hash_u64(state_of_random) % n;
}

static void put(struct buf *b, const char *text)
{
	assert_int_equal(buf_append(b, text, strlen(text)), 0);
}

/* One to three conditions, joined and negated. */
static void put_filter(struct buf *weir, struct buf *sql)
{
	size_t count = random_below(4);

	for (size_t i = 0; i < count; i++) {
		const struct pair *c = &conditions[random_below(ARRAY_SIZE(conditions))];
		bool either = random_below(3) == 0, not = random_below(4) == 0;

		put(weir, i == 0 ? "where (" : either ? " || (" : " && (");
		put(sql, i == 0 ? " WHERE (" : either ? " OR (" : " AND (");
		put(weir, not ? "!(" : "(");
		put(sql, not ? "NOT (" : "(");
		put(weir, c->weir);
		put(sql, c->sql);
		put(weir, "))");
		put(sql, "))");
	}
	if (count)
		put(weir, " | ");
}

/* A filter, keys, aggregates; most often the first groups of a total order. */
static void make_question(struct buf *weir, struct buf *sql)
{
	size_t key_count = random_below(PARTS_MAX), aggregate_count = 1 + random_below(PARTS_MAX);
	_cleanup_buf_ struct buf select = {0}, where = {0}, order = {0}, filter = {0};
	size_t column = 0;

	put_filter(&filter, &where);
	put(weir, buf_str(&filter));
	for (size_t i = 0; i < key_count; i++) {
		const struct pair *k = &keys[random_below(ARRAY_SIZE(keys))];

		assert_int_equal(buf_printf(weir, "%s%s as k%zu", i ? ", " : "by ", k->weir, i), 0);
		assert_int_equal(buf_printf(&select, "%s%s", column++ ? ", " : "", k->sql), 0);
		assert_int_equal(buf_printf(&order, ", k%zu", i), 0);
	}
	put(weir, key_count ? " | " : "");
	for (size_t i = 0; i < aggregate_count; i++) {
		const struct pair *a = &aggregates[random_below(ARRAY_SIZE(aggregates))];

		assert_int_equal(buf_printf(weir, "%s%s as a%zu", i ? ", " : "", a->weir, i), 0);
		assert_int_equal(buf_printf(&select, "%s%s", column++ ? ", " : "", a->sql), 0);
	}
	assert_int_equal(buf_printf(sql, "SELECT %s FROM p%s%s", buf_str(&select), buf_str(&where),
				    key_count ? " GROUP BY " : ""),
			 0);
	for (size_t i = 0; i < key_count; i++)
		assert_int_equal(buf_printf(sql, "%s%zu", i ? ", " : "", i + 1), 0);
	if (!key_count || random_below(3) == 0)
		return;
	assert_int_equal(buf_printf(weir, " | sort a0 desc%s | head 7", buf_str(&order)), 0);
	assert_int_equal(buf_printf(sql, " ORDER BY %zu DESC NULLS LAST", key_count + 1), 0);
	for (size_t i = 0; i < key_count; i++)
		assert_int_equal(buf_printf(sql, ", %zu NULLS LAST", i + 1), 0);
	put(sql, " LIMIT 7");
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The lines of a text in order of their bytes: an answer without an order has none. */
static void sort_lines(const char *text, struct buf *out)
{
	_cleanup_free_ char *copy = strdup(text);
	_cleanup_free_ char **lines = calloc(strlen(text) + 2, sizeof(*lines));
	size_t count = 0;
	char *rest = NULL;

	assert_true(copy && lines);
	for (char *l = strtok_r(copy, "\n", &rest); l; l = strtok_r(NULL, "\n", &rest))
		lines[count++] = l;
	qsort(lines, count, sizeof(*lines), compare_lines);
	buf_clear(out);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(buf_printf(out, "%s\n", lines[i]), 0);
}

static void answer(const char *question, bool in_sql, struct buf *out)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_(plan_freep) struct plan *p = NULL;
	_cleanup_buf_ struct buf text = {0};
	const struct ask_options opt = {.filter_in_sql = in_sql};
	struct query_error wrong = {0};

	if (query_parse(question, strlen(question), &p, &wrong) < 0)
		fail_msg("%s: %zu: %s", question, wrong.pos, wrong.err.message);
	last = (struct error){0};
	if (engine_ask(f.engine, p, &opt, &r, &last) < 0)
		fail_msg("%s: %s", question, last.message);
	while (engine_result_next(r)) {
		for (size_t c = 0; c < engine_result_columns(r); c++) {
			put(&text, c ? "|" : "");
			if (engine_result_is_null(r, c))
				put(&text, "NULL");
			else
				assert_int_equal(engine_result_text(r, c, &text), 0);
		}
		put(&text, "\n");
	}
	sort_lines(buf_str(&text), out);
}

static void compare(const char *question, const char *sql)
{
	_cleanup_buf_ struct buf want = {0}, got = {0};

	sort_lines(ask(&f, sql), &want);
	for (int in_sql = 0; in_sql < 2; in_sql++) {
		answer(question, in_sql, &got);
		if (strcmp(buf_str(&want), buf_str(&got)))
			fail_msg("seed %" PRIu64 ": %s%s\n%s but %s\n%s", seed, question,
				 in_sql ? " (filter in SQL)" : "", buf_str(&got), sql,
				 buf_str(&want));
	}
}

static int setup(void **state)
{
	char trace[256], parquet[256], sql[640];
	const char *paths[] = {fixture_file("diff.trace", trace)};
	const char *given = getenv("WEIR_SEED");

	seed = given ? strtoull(given, NULL, 10) : (uint64_t)time(NULL);
	printf("# seed %" PRIu64 " (WEIR_SEED)\n", seed);
	state_of_random = seed;
	fixture_write(trace, ROWS);
	fixture_open(&f, paths, 1, NULL);
	fixture_file("diff.parquet", parquet);
	snprintf(sql, sizeof(sql), "COPY (FROM op_named) TO '%s' (COMPRESSION zstd)", parquet);
	ask(&f, sql);
	snprintf(sql, sizeof(sql), "CREATE VIEW p AS FROM '%s'", parquet);
	ask(&f, sql);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_remove();
	return 0;
}

static void ten_questions(void **state)
{
	for (size_t i = 0; i < ARRAY_SIZE(ten); i++)
		compare(ten[i].weir, ten[i].sql);
}

static void random_questions(void **state)
{
	for (size_t i = 0; i < QUESTIONS; i++) {
		_cleanup_buf_ struct buf question = {0}, sql = {0};

		make_question(&question, &sql);
		compare(buf_str(&question), buf_str(&sql));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_questions),
		cmocka_unit_test(random_questions),
	};

	fixture_need_library();
	return cmocka_run_group_tests_name("differential", tests, setup, teardown);
}
