// SPDX-License-Identifier: Apache-2.0
/*
 * test_differential.c: the ten questions of the bench and some made at random, answered by weir over a
 * trace, by DuckDB over the same rows in a Parquet file, and by plain loops over the rows (plain.c).
 * The seed is printed; WEIR_SEED sets it, as tools/soak does, and asks more questions.
 */
#include "click_server.h"
#include "fixture.h"

#include <inttypes.h>
#include <signal.h>

#include "engine/ask.h"
#include "plain.h"
#include "query/query.h"

#define ROWS	  60000
#define PART	  10000 /* rows of a block: in every other one all calls ended (fixture_op()) */
#define QUESTIONS 50	/* made at random */
#define SOAKED	  200	/* the same, of a seed that is given */
#define PARTS_MAX 3

static struct fixture f;
static struct engine *third; /* the rows of third_of in ClickHouse; NULL: it is not installed */
static const struct store *third_of;
static unsigned int third_rows;
static struct plain_row *rows;
static struct error last;
static uint64_t seed, state_of_random;
static size_t question_count;

/* ---- the ten questions, in C ---- */

static int is_read(const struct plain_row *r)
{
	return r->o.dur > 50000 && r->o.op == op_find("pread64") ? PLAIN_TRUE : PLAIN_FALSE;
}

static int has_stop(const struct plain_row *r)
{
	return !r->o.no_start && !r->o.running ? PLAIN_TRUE : PLAIN_FALSE;
}

static int has_start(const struct plain_row *r)
{
	return !r->o.no_start ? PLAIN_TRUE : PLAIN_FALSE;
}

static int is_sst(const struct plain_row *r)
{
	if (!r->path.data)
		return PLAIN_UNKNOWN;
	return r->path.len >= 4 && !memcmp(r->path.data + r->path.len - 4, ".sst", 4) ? PLAIN_TRUE
										      : PLAIN_FALSE;
}

static int is_needle(const struct plain_row *r)
{
	return !r->o.no_file && r->o.file_id == 17 && !r->o.no_start &&
			       r->o.start >= 1795255702120000000 &&
			       r->o.start <= 1795255702160000000
		       ? PLAIN_TRUE
		       : PLAIN_FALSE;
}

static struct cell window(const struct plain_row *r, int64_t width)
{
	int64_t end = r->o.start + r->o.dur;

	return plain_int(end - end % width);
}

static struct cell window_10ms(const struct plain_row *r)
{
	return window(r, 10000000);
}

static struct cell window_100ms(const struct plain_row *r)
{
	return window(r, 100000000);
}

static struct cell power_of_dur(const struct plain_row *r)
{
	int64_t power = r->o.dur ? 1 : 0;

	while (power && power <= r->o.dur / 2)
		power *= 2;
	return plain_int(power);
}

static struct cell per_second(const struct plain_row *all, const uint32_t *in, size_t n)
{
	return (struct cell){.kind = CELL_FLOAT, .f = (double)n * 10};
}

/* By name, as the tables of plain.c have them. */
static plain_key *key(const char *weir)
{
	for (size_t i = 0; i < plain_key_count; i++) {
		if (!strcmp(plain_keys[i].weir, weir))
			return plain_keys[i].plain;
	}
	fail_msg("no key %s", weir);
	return NULL;
}

static plain_aggregate *aggregate(const char *weir)
{
	for (size_t i = 0; i < plain_aggregate_count; i++) {
		if (!strcmp(plain_aggregates[i].weir, weir))
			return plain_aggregates[i].plain;
	}
	fail_msg("no aggregate %s", weir);
	return NULL;
}

/* What means the same in both languages. */
static const struct {
	const char *weir, *sql;
} ten[] = {
	{"where dur > 50us && op in (read, pread64) | count()",
	 "SELECT count(*) FROM p WHERE dur > 50000 AND op IN ('read', 'pread64')"},
	{"by op | count() as n, sum(bytes) as b, p99(dur) as p",
	 "SELECT op, count(*), sum(bytes), least(p99(hist(dur)), max(dur)) FROM p GROUP BY op"},
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

static uint64_t random_below(uint64_t n)
{
	state_of_random += 0x9e3779b97f4a7c15ull;
	return hash_u64(state_of_random) % n;
}

static void put(struct buf *b, const char *text)
{
	assert_int_equal(buf_append(b, text, strlen(text)), 0);
}

/* Up to three conditions, joined and negated. */
static void put_filter(struct buf *weir, struct buf *sql, struct plain_question *q)
{
	size_t count = random_below(PLAIN_CONDITIONS + 1);

	for (size_t i = 0; i < count; i++) {
		const struct condition *c = &plain_conditions[random_below(plain_condition_count)];
		bool either = random_below(3) == 0, not = random_below(4) == 0;

		q->conditions[q->condition_count].is = c->plain;
		q->conditions[q->condition_count].either = either;
		q->conditions[q->condition_count++].negated = not ;
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
static void make_question(struct buf *weir, struct buf *sql, struct plain_question *q)
{
	size_t key_count = random_below(PARTS_MAX), aggregate_count = 1 + random_below(PARTS_MAX);
	_cleanup_buf_ struct buf select = {0}, where = {0}, order = {0}, filter = {0};
	size_t column = 0;

	put_filter(&filter, &where, q);
	put(weir, buf_str(&filter));
	for (size_t i = 0; i < key_count; i++) {
		const struct key *k = &plain_keys[random_below(plain_key_count)];

		q->keys[q->key_count++] = k->plain;
		assert_int_equal(buf_printf(weir, "%s%s as k%zu", i ? ", " : "by ", k->weir, i), 0);
		assert_int_equal(buf_printf(&select, "%s%s", column++ ? ", " : "", k->sql), 0);
		assert_int_equal(buf_printf(&order, ", k%zu", i), 0);
	}
	put(weir, key_count ? " | " : "");
	for (size_t i = 0; i < aggregate_count; i++) {
		const struct aggregate *a = &plain_aggregates[random_below(plain_aggregate_count)];

		q->aggregates[q->aggregate_count++] = a->plain;
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
	q->head = 7;
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

/* Calls that ended in [from, to). */
struct range {
	int64_t from, to;
};

static const struct range open_range = {INT64_MIN, INT64_MAX};

static void answer_of(struct engine *e, const char *question, bool in_sql, struct range range,
		      struct buf *out)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_(plan_freep) struct plan *p = NULL;
	_cleanup_buf_ struct buf text = {0};
	const struct ask_options opt = {.filter_in_sql = in_sql};
	struct query_error wrong = {0};

	if (query_parse(question, strlen(question), &p, &wrong) < 0)
		fail_msg("%s: %zu: %s", question, wrong.pos, wrong.err.message);
	p->from = range.from;
	p->to = range.to;
	last = (struct error){0};
	if (engine_ask(e, p, &opt, &r, &last) < 0)
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

/* Of DuckDB; ClickHouse says the same of groups, and every few times of rows. */
static void answer(const char *question, bool in_sql, struct range range, struct buf *out)
{
	_cleanup_buf_ struct buf other = {0};

	answer_of(f.engine, question, in_sql, range, out);
	if (!third || third_of != f.store || (in_sql && ++third_rows % 8))
		return;
	answer_of(third, question, in_sql, range, &other);
	if (strcmp(buf_str(out), buf_str(&other)))
		fail_msg("seed %" PRIu64 ": %s from %" PRId64 " to %" PRId64
			 "\n%s but ClickHouse (%s)\n%s",
			 seed, question, range.from, range.to, buf_str(out),
			 in_sql ? "rows" : "groups", buf_str(&other));
}

static void compare(const char *question, const char *sql, const char *loops)
{
	_cleanup_buf_ struct buf want = {0}, got = {0}, plain = {0};

	sort_lines(ask(&f, sql), &want);
	sort_lines(loops, &plain);
	for (int in_sql = 0; in_sql < 2; in_sql++) {
		answer(question, in_sql, open_range, &got);
		if (strcmp(buf_str(&want), buf_str(&got)))
			fail_msg("seed %" PRIu64 ": %s%s\n%s but %s\n%s", seed, question,
				 in_sql ? " (filter in SQL)" : "", buf_str(&got), sql,
				 buf_str(&want));
	}
	if (strcmp(buf_str(&plain), buf_str(&got)))
		fail_msg("seed %" PRIu64 ": %s\n%s but loops\n%s", seed, question, buf_str(&got),
			 buf_str(&plain));
}

/* Blocks of PART rows: the summaries of some say as much as their rows, others have calls that had
 * not ended. */
static void write_trace(const char *path)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;

	assert_int_equal(store_create(&w, path, &opt, &last), 0);
	fixture_append_dims(w);
	for (uint64_t from = 0; from < ROWS; from += PART) {
		fixture_append_ops(w, from, from + PART);
		assert_int_equal(store_flush(w, true, &last), 0);
	}
	assert_int_equal(store_close(w, &last), 0);
}

static int setup(void **state)
{
	char trace[256], parquet[256], sql[640];
	const char *paths[] = {fixture_file("diff.trace", trace)};
	const char *given = getenv("WEIR_SEED");

	seed = given ? strtoull(given, NULL, 10) : 1;
	question_count = given ? SOAKED : QUESTIONS;
	printf("# seed %" PRIu64 " (WEIR_SEED)\n", seed);
	state_of_random = seed;
	write_trace(trace);
	rows = plain_rows(ROWS);
	fixture_open(&f, paths, 1, NULL);
	if (click_server_start()) {
		const struct engine_options opt = {0};

		click_server_load("diff", paths, 1);
		assert_int_equal(engine_connect(&third, click_server_address("diff"), &opt, &last),
				 0);
		third_of = f.store;
	}
	fixture_file("diff.parquet", parquet);
	snprintf(sql, sizeof(sql), "COPY (FROM op_named) TO '%s' (COMPRESSION zstd)", parquet);
	ask(&f, sql);
	snprintf(sql, sizeof(sql), "CREATE VIEW p AS FROM '%s'", parquet);
	ask(&f, sql);
	return 0;
}

static int teardown(void **state)
{
	engine_free(third);
	click_server_stop(SIGKILL);
	fixture_close(&f);
	free(rows);
	fixture_remove();
	return 0;
}

/* The eighth: rows, not groups. */
static int compare_slowest(const void *a, const void *b)
{
	const struct plain_row *x = &rows[*(const uint32_t *)a], *y = &rows[*(const uint32_t *)b];

	if (x->o.dur != y->o.dur)
		return x->o.dur > y->o.dur ? -1 : 1;
	return (x->o.start > y->o.start) - (x->o.start < y->o.start);
}

static void slowest(struct buf *out)
{
	_cleanup_free_ uint32_t *order = calloc(ROWS, sizeof(*order));
	size_t n = 0;

	assert_non_null(order);
	for (uint32_t i = 0; i < ROWS; i++) {
		order[n] = i;
		n += has_start(&rows[i]) == PLAIN_TRUE;
	}
	qsort(order, n, sizeof(*order), compare_slowest);
	for (size_t i = 0; i < 100; i++) {
		const struct plain_row *r = &rows[order[i]];
		const struct cell cells[] = {plain_int(r->o.start), plain_int(r->o.dur),
					     key("op")(r), key("path")(r)};

		for (size_t c = 0; c < ARRAY_SIZE(cells); c++) {
			put(out, c ? "|" : "");
			plain_put(&cells[c], out);
		}
		put(out, "\n");
	}
}

static void ten_questions(void **state)
{
	plain_aggregate *count = aggregate("count()"), *sum_bytes = aggregate("sum(bytes)"),
			*sum_dur = aggregate("sum(dur)"), *p99 = aggregate("p99(dur)"),
			*files = aggregate("distinct(file_id)"), *max = aggregate("max(dur)");
	plain_key *op = key("op");
	const struct plain_question questions[ARRAY_SIZE(ten)] = {
		{1, {{is_read}}, 0, {0}, 1, {count}, 0},
		{0, {{0}}, 1, {op}, 3, {count, sum_bytes, p99}, 0},
		{0, {{0}}, 3, {key("comm"), key("tid"), op}, 2, {count, sum_dur}, 0},
		{0, {{0}}, 1, {key("path")}, 2, {sum_bytes, count}, 20},
		{1, {{has_stop}}, 2, {window_10ms, power_of_dur}, 1, {count}, 0},
		{1, {{has_stop}}, 2, {window_100ms, op}, 1, {per_second}, 0},
		{1, {{is_sst}}, 0, {0}, 2, {count, sum_bytes}, 0},
		{0}, /* rows */
		{0, {{0}}, 1, {key("pid")}, 1, {files}, 0},
		{1, {{is_needle}}, 0, {0}, 2, {count, max}, 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(ten); i++) {
		_cleanup_buf_ struct buf loops = {0};

		if (questions[i].aggregate_count)
			plain_answer(&questions[i], rows, ROWS, &loops);
		else
			slowest(&loops);
		compare(ten[i].weir, ten[i].sql, buf_str(&loops));
	}
}

static void random_questions(void **state)
{
	for (size_t i = 0; i < question_count; i++) {
		_cleanup_buf_ struct buf question = {0}, sql = {0}, loops = {0};
		struct plain_question q = {0};

		make_question(&question, &sql, &q);
		plain_answer(&q, rows, ROWS, &loops);
		compare(buf_str(&question), buf_str(&sql), buf_str(&loops));
	}
}

/* From nowhere to after the last call: most often it begins and ends in blocks. */
static struct range random_range(void)
{
	const uint64_t span = ROWS * FIXTURE_STEP_NS;
	int64_t from = FIXTURE_ORIGIN + (int64_t)random_below(span),
		to = from + (int64_t)random_below(span + span / 4);

	return (struct range){random_below(4) ? from : INT64_MIN, random_below(4) ? to : INT64_MAX};
}

/* What summaries answer with rows at the edges is what rows alone say, whose filter is in SQL. */
static void ranges(void **state)
{
	for (size_t i = 0; i < question_count; i++) {
		_cleanup_buf_ struct buf question = {0}, unused = {0}, want = {0}, got = {0};
		struct plain_question q = {0};
		struct range range = random_range();

		make_question(&question, &unused, &q);
		answer(buf_str(&question), true, range, &want);
		answer(buf_str(&question), false, range, &got);
		if (strcmp(buf_str(&want), buf_str(&got)))
			fail_msg("seed %" PRIu64 ": %s from %" PRId64 " to %" PRId64
				 "\n%s but rows say\n%s",
				 seed, buf_str(&question), range.from, range.to, buf_str(&got),
				 buf_str(&want));
	}
}

/* Sums of many groups of many blocks, by keys that only summaries have by themselves. */
static void of_groups(void **state)
{
	static const char *const questions[] = {
		"by op | avg(dur), avg(bytes), count()",
		"err is null | by path, comm | avg(dur), sum(bytes), max(dur), p99(dur), count()",
		"by peer | count(), sum(bytes), avg(bytes)",
		"peer is null && class == data | by every 100ms | hist(dur), rate(bytes)",
		"by op every 200ms | p50(dur), distinct(comm), countif(err is not null)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		for (unsigned int k = 0; k < 4; k++) {
			_cleanup_buf_ struct buf want = {0}, got = {0};
			struct range range = k ? random_range() : open_range;

			answer(questions[i], true, range, &want);
			answer(questions[i], false, range, &got);
			assert_string_equal(buf_str(&got), buf_str(&want));
		}
	}
}

/* Versions of files: the second half are newer ones of the first. */
static void write_versions(const char *path)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;
	struct batch *b;

	assert_int_equal(store_create(&w, path, &opt, &last), 0);
	fixture_append_dims(w);
	assert_int_equal(batch_new(&b, TABLE_FILE), 0);
	for (int64_t k = 0; k < FIXTURE_FILES / 2; k++) {
		ssize_t row = batch_add_row(b);

		assert_true(row >= 0);
		assert_int_equal(batch_set(b, FILE_ID, (size_t)row, k + FIXTURE_FILES / 2), 0);
		assert_int_equal(batch_set(b, FILE_INODE, (size_t)row, k), 0);
		assert_int_equal(batch_set(b, FILE_SINCE, (size_t)row, FIXTURE_ORIGIN + 1), 0);
		assert_int_equal(batch_set_str(b, FILE_PATH, (size_t)row, "/newer"), 0);
	}
	assert_int_equal(store_append(w, b, &last), 0);
	batch_free(b);
	fixture_append_ops(w, 10000, 30000);
	assert_int_equal(store_close(w, &last), 0);
}

/* Files that a head leaves over are found first, the largest ones, and of each all versions. */
static void few_files_of_many(void **state)
{
	static const char *const questions[] = {
		"by file | sum(dur) as t, p99(dur), count() | sort t desc | head 5",
		"file is not null | by file | sum(dur) as t, p99(dur) | sort t desc | head 5",
		"by file_id | sum(bytes) as t, distinct(comm), hist(dur) | sort t desc | head 7",
		"err is null | by file | count() as n, quantize(bytes) | sort n | head 3",
		"class == data || err is not null | by file | max(dur) as m, min(dur), avg(pos) | "
		"sort m desc | head 30 | where m > 1us | head 4",
		"file_id == 99 | by file | count() as n, p50(dur) | sort n | head 3",
	};
	char trace[256];
	const char *paths[] = {fixture_file("versions.trace", trace)};
	struct fixture all = f;

	write_versions(trace);
	fixture_open(&f, paths, 1, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		_cleanup_(plan_freep) struct plan *p = NULL;
		_cleanup_buf_ struct buf want = {0}, got = {0}, sql = {0};
		struct query_error wrong = {0};

		answer(questions[i], true, open_range, &want);
		answer(questions[i], false, open_range, &got);
		assert_string_equal(buf_str(&got), buf_str(&want));
		assert_int_equal(query_parse(questions[i], strlen(questions[i]), &p, &wrong), 0);
		assert_int_equal(engine_explain(f.engine, p, &sql, &last), 0);
		assert_int_equal(strstr(buf_str(&sql), "-- first finds the files") != NULL,
				 strstr(questions[i], " desc") != NULL);
		/* and the statement alone is one */
		assert_true(ask(&f, buf_str(&sql)) != NULL);
	}
	fixture_close(&f);
	f = all;
}

/* True where the files were added up without SQL. */
static bool added_up(const char *question)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_(plan_freep) struct plan *p = NULL;
	const struct ask_options opt = {.analyze = true};
	struct query_error wrong = {0};
	const struct ask_step *steps;

	assert_int_equal(query_parse(question, strlen(question), &p, &wrong), 0);
	assert_int_equal(engine_ask(f.engine, p, &opt, &r, &last), 0);
	return engine_answer_steps(r, &steps) && !strcmp(steps[0].what, "scan op, by file");
}

/* The files with the largest sums, which need no SQL to be found: in ranges, with ties and without files. */
static void largest_files(void)
{
	static const char *const filters[] = {"",
					      "file is not null | ",
					      "class == data | ",
					      "err is null && file is not null | ",
					      "dur > 1us | ",
					      "file_id is null || op == read | ",
					      "path ~ \"*newer*\" | ",
					      "!(path ~ \"*newer*\") && class == data | ",
					      "peer is not null | ",
					      "class == data && ext(path) is not null | "};
	static const char *const keys[] = {"file", "file_id"};
	static const char *const values[] = {"count()", "sum(bytes)", "sum(dur)", "max(dur)"};
	size_t fast = 0;

	for (size_t i = 0; i < question_count / 2; i++) {
		_cleanup_buf_ struct buf question = {0}, want = {0}, got = {0};
		struct range range = i % 2 ? random_range() : open_range;
		const char *filter = filters[random_below(ARRAY_SIZE(filters))];
		const char *key = keys[random_below(ARRAY_SIZE(keys))];
		const char *value = values[random_below(ARRAY_SIZE(values))];

		assert_int_equal(buf_printf(&question,
					    "%sby %s | %s as v, %s | sort v desc | head %u", filter,
					    key, value, random_below(3) ? "p99(dur)" : "avg(bytes)",
					    1 + (unsigned int)random_below(40)),
				 0);
		answer(buf_str(&question), true, range, &want);
		answer(buf_str(&question), false, range, &got);
		if (strcmp(buf_str(&want), buf_str(&got)))
			fail_msg("seed %" PRIu64 ": %s from %" PRId64 " to %" PRId64
				 "\n%s but rows say\n%s",
				 seed, buf_str(&question), range.from, range.to, buf_str(&got),
				 buf_str(&want));
		fast += i < 20 && added_up(buf_str(&question));
	}
	assert_true(fast > 0);
}

/* Files of several values of something. */
static void several_files(void)
{
	static const char *const questions[] = {
		"by file | distinct(comm) as n, count(), sum(dur) | where n > 1",
		"file is not null | by file | distinct(op) as n, p99(dur) | where n >= 3 && n < 9",
		"by file_id | distinct(comm) as n, min(dur) | where n > 1 | sort n desc | head 4",
		"class == data | by file_id | distinct(tid) as n, sum(bytes) | where n > 2",
		"file is null || op == read | by file | distinct(err) as n, count() | where n > 1",
		"tid == 1 && tid == 2 | by file | distinct(comm) as n, count() | where n > 1",
		"by file | distinct(class) as n, avg(pos), distinct(comm) as m | where m > 1 && n "
		"> 1",
	};

	for (size_t i = 0; i < 4 * ARRAY_SIZE(questions); i++) {
		const char *question = questions[i / 4];
		_cleanup_buf_ struct buf want = {0}, got = {0};
		struct range range = i % 4 ? random_range() : open_range;

		answer(question, true, range, &want);
		answer(question, false, range, &got);
		if (strcmp(buf_str(&want), buf_str(&got)))
			fail_msg("seed %" PRIu64 ": %s from %" PRId64 " to %" PRId64
				 "\n%s but rows say\n%s",
				 seed, question, range.from, range.to, buf_str(&got),
				 buf_str(&want));
	}
}

static void largest_of_files(void **state)
{
	char trace[256];
	const char *paths[] = {fixture_file("newer.trace", trace)};
	struct fixture all = f;

	largest_files();
	several_files();
	write_versions(trace);
	fixture_open(&f, paths, 1, NULL);
	largest_files();
	several_files();
	fixture_close(&f);
	f = all;
}

/* Half of the blocks are answered by their summaries, the others by their rows. */
static void summaries_are_read(void **state)
{
	const char *sql = "SELECT count(*), sum(row_calls), sum(row_bytes), max(row_max) FROM "
			  "weir_rows('op', NULL, ['row_calls', 'row_bytes', 'row_max'], summed := "
			  "true)";
	const char *range = "SELECT count(*), sum(row_calls) FROM weir_rows('op', NULL, "
			    "['row_calls'], summed := true, ended_from := %lld, ended_to := %lld)";
	const int64_t from = FIXTURE_ORIGIN + 5 * FIXTURE_STEP_NS,
		      to = FIXTURE_ORIGIN + 1000000ll * ROWS;
	long long groups, calls, bytes, max;
	char in_range[256];

	assert_int_equal(sscanf(ask(&f, sql), "%lld|%lld|%lld|%lld", &groups, &calls, &bytes, &max),
			 4);
	assert_int_equal(calls, ROWS);
	/* the other half came as a sum or two */
	assert_true(groups > ROWS / 3 && groups < ROWS * 3 / 4);
	assert_int_equal(bytes, ask_number(&f, "SELECT sum(bytes) FROM p"));
	assert_int_equal(max, ask_number(&f, "SELECT max(dur) FROM p"));
	snprintf(in_range, sizeof(in_range), range, (long long)from, (long long)to);
	assert_int_equal(sscanf(ask(&f, in_range), "%lld|%lld", &groups, &calls), 2);
	assert_true(calls > ROWS * 9 / 10 && groups < ROWS * 3 / 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ten_questions),
		cmocka_unit_test(random_questions),
		cmocka_unit_test(ranges),
		cmocka_unit_test(of_groups),
		cmocka_unit_test(few_files_of_many),
		cmocka_unit_test(largest_of_files),
		cmocka_unit_test(summaries_are_read),
	};

	fixture_need_library();
	return cmocka_run_group_tests_name("differential", tests, setup, teardown);
}
