// SPDX-License-Identifier: Apache-2.0
/* test_ask.c: answers to queries against plain loops over the rows; streams; following a trace. */
#include "click_server.h"
#include "fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/ask.h"
#include "hist/sparse.h"
#include "hist/tally.h"
#include "query/query.h"

#define ROWS 150000

static struct fixture f, two;
static struct engine *third_f,
	*third_two; /* the same rows in ClickHouse; NULL: it is not installed */
static size_t third_grouped, third_sent; /* answers that were the same */
static struct buf text;
static struct error last;

static struct engine *third_open(const char *database)
{
	const struct engine_options opt = {0};
	struct engine *e;

	if (engine_connect(&e, click_server_address(database), &opt, &last) < 0)
		fail_msg("%s", last.message);
	return e;
}

static int setup(void **state)
{
	char a[256], b[256];
	const char *paths[] = {fixture_file("a.trace", a), fixture_file("b.trace", b)};

	fixture_write(a, ROWS);
	fixture_write(b, 1000);
	fixture_open(&f, paths, 1, NULL);
	fixture_open(&two, paths, 2, NULL);
	if (click_server_start()) {
		click_server_load("f", paths, 1);
		click_server_load("two", paths, 2);
		third_f = third_open("f");
		third_two = third_open("two");
	}
	return 0;
}

static int teardown(void **state)
{
	if (!third_f)
		print_message("clickhouse-server is not installed: no third answer\n");
	print_message("ClickHouse agreed %zu times in groups, %zu in rows\n", third_grouped,
		      third_sent);
	engine_free(third_f);
	engine_free(third_two);
	click_server_stop(SIGKILL);
	fixture_close(&f);
	fixture_close(&two);
	fixture_remove();
	buf_free(&text);
	return 0;
}

static struct plan *parse(const char *query)
{
	struct query_error wrong = {0};
	struct plan *p = NULL;

	if (query_parse(query, strlen(query), &p, &wrong) < 0)
		fail_msg("%s: %zu: %s", query, wrong.pos, wrong.err.message);
	return p;
}

/* All rows of an answer: columns separated by '|', rows ended by '\n'. */
static void put_rows(struct engine_result *r, struct buf *out)
{
	while (engine_result_next(r)) {
		for (size_t c = 0; c < engine_result_columns(r); c++) {
			if (c)
				assert_int_equal(buf_append(out, "|", 1), 0);
			if (engine_result_is_null(r, c))
				assert_int_equal(buf_append(out, "NULL", 4), 0);
			else
				assert_int_equal(engine_result_text(r, c, out), 0);
		}
		assert_int_equal(buf_append(out, "\n", 1), 0);
	}
}

/* ClickHouse gives the same, whether it groups the rows or sends them. */
static void third_agrees(struct engine *third, const struct plan *p, const char *query,
			 const struct buf *want)
{
	for (int rows = 0; rows < 2; rows++) {
		_cleanup_(engine_result_freep) struct engine_result *r = NULL;
		const struct ask_options opt = {.filter_in_sql = rows};
		_cleanup_buf_ struct buf got = {0}, sql = {0};
		struct error err = {0};
		int e = engine_ask(third, p, &opt, &r, &err);

		if (e >= 0)
			put_rows(r, &got);
		if (e >= 0 && got.len == want->len &&
		    (!got.len || !memcmp(got.data, want->data, got.len))) {
			*(rows ? &third_sent : &third_grouped) += 1;
			continue;
		}
		(void)engine_explain(third, p, &sql, &err);
		fail_msg("%s: %s %s\n%.3000s\nbut DuckDB\n%.3000s\n%.2000s", query,
			 rows ? "rows" : "groups", e < 0 ? err.message : "", buf_str(&got),
			 (const char *)want->data, buf_str(&sql));
	}
}

static int try_query(struct fixture *x, const char *query, bool in_sql, struct buf *out)
{
	_cleanup_(plan_freep) struct plan *p = parse(query);
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	const struct ask_options opt = {.filter_in_sql = in_sql};
	int e;

	last = (struct error){0};
	buf_clear(out);
	e = engine_ask(x->engine, p, &opt, &r, &last);
	if (e >= 0)
		put_rows(r, out);
	if (e >= 0 && third_f && (x == &f || x == &two)) {
		assert_int_equal(buf_append(out, "", 1), 0);
		out->len--;
		third_agrees(x == &f ? third_f : third_two, p, query, out);
	}
	return e;
}

static const char *query(struct fixture *x, const char *q)
{
	if (try_query(x, q, false, &text) < 0)
		fail_msg("%s: %s", q, last.message);
	return buf_str(&text);
}

static double number(struct fixture *x, const char *q)
{
	return strtod(query(x, q), NULL);
}

/* ---- every aggregate ---- */

struct sums {
	uint64_t rows, known, slow;
	int64_t sum, min, max, first, last;
	double sum_f, squares;
	struct hist hist;
	struct tally tally;
	bool seen[FIXTURE_FILES];
};

/* Over the rows of one operation. */
static void loop(int64_t op, struct sums *s)
{
	*s = (struct sums){.min = INT64_MAX, .max = INT64_MIN};
	for (uint64_t i = 0; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);

		if (o.op != op)
			continue;
		s->rows++;
		s->known += o.failed;
		s->slow += o.dur > 50000;
		s->sum += o.dur;
		s->sum_f += (double)o.dur;
		s->min = MIN(s->min, o.dur);
		s->max = MAX(s->max, o.dur);
		assert_int_equal(hist_add(&s->hist, (uint64_t)o.dur, 1), 0);
		assert_int_equal(tally_add(&s->tally, tally_quantize(o.dur), 1), 0);
		if (!o.no_file)
			s->seen[o.file_id] = true;
	}
	for (uint64_t i = 0; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);
		double off = (double)o.dur - s->sum_f / (double)s->rows;

		s->squares += o.op == op ? off * off : 0;
	}
}

static void aggregates(void **state)
{
	static const char *const ops[] = {"pread64", "write", "fsync", "openat", "epoll_wait"};

	for (size_t k = 0; k < ARRAY_SIZE(ops); k++) {
		struct sums s;
		uint64_t files = 0;
		char q[512], want[512];
		double deviation;

		loop(op_find(ops[k]), &s);
		for (size_t i = 0; i < FIXTURE_FILES; i++)
			files += s.seen[i];
		snprintf(q, sizeof(q),
			 "where op == %s | count(), count(err) as e, countif(dur > 50us) as s, "
			 "sum(dur) as t, min(dur) as a, max(dur) as b, p50(dur) as p, p99(dur) as "
			 "q, "
			 "p999(dur) as r, distinct(file) as d",
			 ops[k]);
		snprintf(want, sizeof(want),
			 "%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRId64 "|%" PRId64 "|%" PRId64
			 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "|%" PRIu64 "\n",
			 s.rows, s.known, s.slow, s.sum, s.min, s.max, hist_quantile(&s.hist, 0.5),
			 hist_quantile(&s.hist, 0.99), hist_quantile(&s.hist, 0.999), files);
		assert_string_equal(query(&f, q), want);
		snprintf(q, sizeof(q), "where op == %s | avg(dur) as x", ops[k]);
		assert_true(fabs(number(&f, q) - s.sum_f / (double)s.rows) <= 0.5);
		snprintf(q, sizeof(q), "where op == %s | stddev(dur) as x", ops[k]);
		deviation = sqrt(s.squares / (double)(s.rows - 1));
		assert_true(fabs(number(&f, q) - deviation) <= 0.5 + deviation * 1e-9);
		hist_free(&s.hist);
		tally_free(&s.tally);
	}
}

static void tallies(void **state)
{
	_cleanup_(plan_freep) struct plan *p =
		parse("where op == write | quantize(dur), lquantize(dur, 0ns, 100us, 5us)");
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	struct tally steps = {0};
	struct bytes got;
	struct sums s;

	loop(op_find("write"), &s);
	for (uint64_t i = 0; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);

		if (o.op == op_find("write"))
			assert_int_equal(
				tally_add(&steps, tally_lquantize(o.dur, 0, 100000, 5000), 1), 0);
	}
	assert_int_equal(engine_ask(f.engine, p, NULL, &r, &last), 0);
	assert_true(engine_result_next(r));
	for (size_t k = 0; k < 2; k++) {
		const struct tally *want = k ? &steps : &s.tally;

		got = engine_result_bytes(r, k);
		assert_int_equal(tally_count(got.len), want->count);
		for (size_t i = 0; i < want->count; i++) {
			struct tally_entry e = tally_get(got.data, i);

			assert_int_equal(e.from, want->entries[i].from);
			assert_int_equal(e.count, want->entries[i].count);
		}
	}
	hist_free(&s.hist);
	tally_free(&s.tally);
	tally_free(&steps);
}

/* By the order of their ends: rows 0 and 1 have no start and stand where the next one ended. */
static void first_and_last(void **state)
{
	int64_t end_first = INT64_MAX, end_last = INT64_MIN, first = 0, latest = 0;
	char want[64];

	for (uint64_t i = 2; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);

		if (o.op != op_find("fsync"))
			continue;
		if (o.start + o.dur < end_first) {
			end_first = o.start + o.dur;
			first = o.dur;
		}
		if (o.start + o.dur >= end_last) {
			end_last = o.start + o.dur;
			latest = o.dur;
		}
	}
	snprintf(want, sizeof(want), "%" PRId64 "|%" PRId64 "\n", first, latest);
	assert_string_equal(query(&f, "where op == fsync && start is not null | first(dur) as a, "
				      "last(dur) as b"),
			    want);
}

static void estimates_are_marked(void **state)
{
	_cleanup_(plan_freep) struct plan *p = parse("distinct(start) as a, distinct(file) as b");
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	double off;

	assert_int_equal(engine_ask(f.engine, p, NULL, &r, &last), 0);
	assert_int_equal(engine_result_columns(r), 2);
	assert_true(engine_result_next(r));
	assert_true(engine_result_estimated(r, 0));
	assert_false(engine_result_estimated(r, 1));
	off = (double)engine_result_int(r, 0) / (ROWS - 2) - 1;
	assert_true(fabs(off) < 0.05);
	assert_int_equal(engine_result_int(r, 1), FIXTURE_FILES);
}

/* ---- groups, order, stages ---- */

static void groups_with_nulls(void **state)
{
	_cleanup_buf_ struct buf want = {0};
	uint64_t counts[FIXTURE_FILES + 1] = {0};

	for (uint64_t i = 0; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);

		counts[o.no_file ? FIXTURE_FILES : o.file_id]++;
	}
	for (size_t i = 0; i < FIXTURE_FILES; i++)
		assert_int_equal(buf_printf(&want, "%zu|%" PRIu64 "\n", i, counts[i]), 0);
	assert_int_equal(buf_printf(&want, "NULL|%" PRIu64 "\n", counts[FIXTURE_FILES]), 0);
	assert_string_equal(query(&f, "by file_id | count() as n | sort file_id"), buf_str(&want));
}

static void names_are_escaped(void **state)
{
	const char *got = query(&f, "by path | count() as n | select path | sort path");

	assert_non_null(strstr(got, "/bad/\\xff\\xfe\n"));
	assert_non_null(strstr(got, "/bad/\\x5cxff\\x5cxfe\n"));
	assert_string_equal(
		query(&f, "where comm ~ \"bad*\" | by comm | count() as n | select comm"),
		"bad\\xff\n");
	assert_string_equal(
		query(&f, "by comm | count() as n | where len(comm) == 4 | select comm"),
		"bad\\xff\n");
}

static void later_stages(void **state)
{
	assert_string_equal(query(&f, "by op, file | count() as n | by op | count() as files, "
				      "sum(n) as calls | sum(calls) as c, max(files) as m"),
			    "150000|41\n");
	assert_string_equal(query(&f, "by op | count() as n | where n > 1000000"), "");
	assert_string_equal(query(&f, "by op | count() as n | sort op | head 2 | select op"),
			    "epoll_wait\nfsync\n");
	assert_string_equal(query(&f, "by op | count() as n | sort op desc | head 1 | select "
				      "base(\"/a/b\") as b, n / 0 as z, if(n > 0, op, null) as o"),
			    "b|NULL|write\n");
	assert_string_equal(query(&f,
				  "by thread | count() as n | join thread | where uid == 1000 | "
				  "count() as threads"),
			    "6\n");
}

/* The scan keeps the best rows only; all of them sorted give the same. */
static void top_rows(void **state)
{
	static const char *const queries[] = {
		"select dur, tid, start | sort dur desc | head 50",
		"select dur, tid, start | sort dur | head 50",
		"select pos, dur | sort pos desc, dur | head 30",
		"select ret, dur, start | sort ret | head 2000",
		"select ret, dur, start | sort ret desc | head 40",
		"where op == fsync | select dur, file | sort dur desc | head 7",
	};
	_cleanup_buf_ struct buf want = {0};

	for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
		assert_int_equal(try_query(&two, queries[i], true, &want), 0);
		assert_string_equal(query(&two, queries[i]), buf_str(&want));
	}
}

/* ---- the filter, here and there ---- */

static void filters_agree(void **state)
{
	static const char *const filters[] = {
		"dur > 50us",
		"op in (write, fsync) && err is null",
		"path ~ \"*.sst\" || err == ENOENT",
		"!(path ~ \"/data/0/*\")",
		"pos / 2 > 1000000 && bytes % 7 == 3",
		"comm =~ \"^worker-[5-7]$\"",
		"path like \"/data/%\" && dur in 10us..20us",
		"file_id in (3, 5, 7) && tid > 101",
		"has_nothing",
		"stop is null",
		"dir(path) == \"/data/1\" && len(path) > 20",
		"bucket(dur, 10us) == 30us || log2(bytes) == 4096",
		"hour(stop) == hour(start) && minute(stop) != 3",
		"coalesce(err, ENOENT) == ENOENT && pid == 100",
		"if(dur > 90us, bytes > 4000, bytes < 10)",
		"bitand(flags, 4) != 0 && abs(ret) < 50",
		"cgroup ~ \"*uuid*\" && peer is null",
		"dur * 3 > 200us && (pos is null || -ret > 1)",
		"file ~ \"*sst\" && thread is not null",
	};

	for (size_t i = 0; i < ARRAY_SIZE(filters); i++) {
		_cleanup_buf_ struct buf a = {0}, b = {0};
		char q[256];

		if (!strcmp(filters[i], "has_nothing"))
			continue;
		snprintf(q, sizeof(q), "where %s | count() as n, sum(dur) as t, max(pos) as p",
			 filters[i]);
		if (try_query(&two, q, false, &a) < 0 || try_query(&two, q, true, &b) < 0)
			fail_msg("%s: %s", q, last.message);
		if (strcmp(buf_str(&a), buf_str(&b)))
			fail_msg("%s: %s but in SQL %s", q, buf_str(&a), buf_str(&b));
	}
}

/* ---- streams ---- */

static void collect(struct engine_scan *s, struct buf *out)
{
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;

	while ((n = engine_scan_next(s, &b, &rows, &last)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			bool known = !batch_is_null(b, OP_START, rows[i]);

			if (known)
				assert_int_equal(buf_printf(out, "%" PRId64,
							    batch_get(b, OP_START, rows[i], 0)),
						 0);
			assert_int_equal(buf_printf(out, "%s|%" PRId64 "|%" PRId64 "\n",
						    known ? "" : "NULL",
						    batch_get(b, OP_DUR, rows[i], 0),
						    batch_get(b, OP_TID, rows[i], 0)),
					 0);
		}
	}
	assert_int_equal(n, 0);
}

/* A trace as recorders write them: calls by their ends, one of 50 so long that it has another block. */
static void write_ordered(const char *path, int64_t shift)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct store_writer *w;
	struct batch *b;

	assert_int_equal(store_create(&w, path, &opt, &last), 0);
	assert_int_equal(batch_new(&b, TABLE_OP), 0);
	for (int64_t i = 0; i < 5000; i++) {
		int64_t end = FIXTURE_ORIGIN + 300000000 + i * 1000 + shift;
		int64_t dur = i % 50 ? 500 : 200000000;
		size_t row = (size_t)batch_add_row(b);

		if (i % 70) /* else entered before recording: stands where it was written */
			assert_int_equal(batch_set(b, OP_START, row, end - dur), 0);
		assert_int_equal(batch_set(b, OP_DUR, row, dur), 0);
		assert_int_equal(batch_set(b, OP_TID, row, i), 0);
		assert_int_equal(batch_set(b, OP_OP, row, i % 3), 0);
	}
	assert_int_equal(store_append(w, b, &last), 0);
	batch_free(b);
	assert_int_equal(store_close(w, &last), 0);
}

/* Rows come in the order that SQL gives them, whatever blocks they lie in. */
static void streams(void **state)
{
	static const char filter[] = "tid % 10 != 3";
	_cleanup_(plan_freep) struct plan *p = NULL;
	_cleanup_(engine_scan_freep) struct engine_scan *s = NULL;
	_cleanup_buf_ struct buf got = {0};
	char one[256], other[256];
	const char *paths[] = {fixture_file("one.trace", one), fixture_file("other.trace", other)};
	struct query_error wrong = {0};
	struct scan_request q = {.table = TABLE_OP,
				 .columns = 1 << OP_START | 1 << OP_DUR | 1 << OP_TID,
				 .from = INT64_MIN,
				 .to = INT64_MAX};
	uint64_t done, total;
	struct fixture x;

	write_ordered(one, 0);
	write_ordered(other, 2000);
	fixture_open(&x, paths, 2, NULL);
	assert_int_equal(query_parse_expr(filter, strlen(filter), TABLE_OP, true, &p, &wrong), 0);
	q.filter = p->where;
	assert_int_equal(engine_scan_new(&s, x.store, &q, &last), 0);
	collect(s, &got);
	assert_string_equal(query(&x, "where tid % 10 != 3 | select start, dur, tid"),
			    buf_str(&got));
	engine_scan_progress(s, &done, &total);
	assert_int_equal(done, total);
	fixture_close(&x);
}

static void streams_by_time(void **state)
{
	_cleanup_(engine_scan_freep) struct engine_scan *s = NULL;
	_cleanup_buf_ struct buf got = {0};
	struct scan_request q = {.table = TABLE_OP,
				 .columns = 1 << OP_TID,
				 .from = FIXTURE_ORIGIN + 10000000,
				 .to = FIXTURE_ORIGIN + 30000000};
	uint64_t want = 0, lines = 0;

	for (uint64_t i = 0; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);
		int64_t end = o.start + o.dur;

		want += !o.no_start && !o.running && end >= q.from && end < q.to;
	}
	assert_int_equal(engine_scan_new(&s, f.store, &q, &last), 0);
	collect(s, &got);
	for (size_t i = 0; i < got.len; i++)
		lines += got.data[i] == '\n';
	assert_int_equal(lines, want);
}

static void streams_of_dimensions(void **state)
{
	_cleanup_(engine_scan_freep) struct engine_scan *s = NULL;
	const struct scan_request q = {
		.table = TABLE_THREAD, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	const struct batch *b;
	const uint32_t *rows;
	ssize_t n;
	size_t count = 0;

	assert_int_equal(engine_scan_new(&s, f.store, &q, &last), 0);
	while ((n = engine_scan_next(s, &b, &rows, &last)) > 0) {
		for (ssize_t i = 0; i < n; i++) {
			struct bytes comm = batch_get_bytes(b, THREAD_COMM, rows[i]);

			assert_false(comm.len == 8 && !memcmp(comm.data, "replaced", 8));
		}
		count += (size_t)n;
	}
	assert_int_equal(n, 0);
	assert_int_equal(count, FIXTURE_THREADS);
}

/* ---- a trace that grows ---- */

static const char *const followed[] = {
	"by op | count(), sum(dur) as s, avg(dur) as a, min(dur) as i, max(dur) as x, p99(dur) as "
	"p, distinct(file) as d, first(tid) as f, last(tid) as l, countif(err is null) as c",
	"by comm, path every 10ms | count() as n, hist(dur) as h, quantize(dur) as q | sort n desc "
	"| "
	"head 5",
	"where dur > 99us | select start, dur, op, path | sort dur desc | head 10",
	"select dur, tid | head 3",
	"count(), stddev(dur) as s",
	/* far from 0, of nothing at all */
	"by op | stddev(dur % 1us + 100s) as s, count()",
	"stddev(pos) as s, stddev(pos2) as n",
};

/* Blocks of calls from number `from` on. */
static uint64_t blocks_since(const struct store *s, size_t from)
{
	uint64_t count = 0;

	for (size_t i = from; i < store_block_count(s); i++)
		count += store_block(s, i)->table == TABLE_OP;
	return count;
}

/* A refresh gives what the whole question does, and reads no more than came since *seen blocks. */
static void follow_agrees(struct engine_follow *fo, struct fixture *x, const char *q, size_t *seen)
{
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_buf_ struct buf got = {0};
	uint64_t done, total;

	if (engine_follow_refresh(fo, &r, &last) < 0)
		fail_msg("%s: %s", q, last.message);
	engine_progress(x->engine, &done, &total);
	assert_true(done > 0 && done <= total && total <= blocks_since(x->store, *seen));
	*seen = store_block_count(x->store);
	put_rows(r, &got);
	if (strcmp(query(x, q), buf_str(&got)))
		fail_msg("%s: followed\n%s but at once\n%s", q, buf_str(&got), buf_str(&text));
}

static void following(void **state)
{
	const struct store_options opt = {.owner = (uid_t)-1};
	struct engine_follow *follows[ARRAY_SIZE(followed)];
	struct plan *plans[ARRAY_SIZE(followed)];
	size_t seen[ARRAY_SIZE(followed)] = {0};
	char path[256];
	const char *paths[] = {fixture_file("growing.trace", path)};
	struct store_writer *w;
	struct fixture x;

	assert_int_equal(store_create(&w, path, &opt, &last), 0);
	fixture_append_dims(w);
	fixture_append_ops(w, 0, 3000);
	assert_int_equal(store_flush(w, true, &last), 0);
	fixture_open(&x, paths, 1, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(followed); i++) {
		plans[i] = parse(followed[i]);
		assert_int_equal(engine_follow_new(&follows[i], x.engine, plans[i], &last), 0);
	}
	for (uint64_t k = 1; k < 5; k++) {
		for (size_t i = 0; i < ARRAY_SIZE(followed); i++)
			follow_agrees(follows[i], &x, followed[i], &seen[i]);
		fixture_append_ops(w, k * 3000, (k + 1) * 3000);
		assert_int_equal(store_flush(w, true, &last), 0);
	}
	for (size_t i = 0; i < ARRAY_SIZE(followed); i++) {
		follow_agrees(follows[i], &x, followed[i], &seen[i]);
		engine_follow_free(follows[i]);
		plan_free(plans[i]);
	}
	fixture_close(&x);
	assert_int_equal(store_close(w, &last), 0);
}

/* ---- what the statement printed by --explain gives ---- */

static void explained_sql_answers(void **state)
{
	static const char q[] =
		"where dur > 50us && path ~ \"*.sst\" | by op, file | count() as n, "
		"p99(dur) as p | sort n desc, op | head 5";
	_cleanup_(plan_freep) struct plan *p = parse(q);
	_cleanup_buf_ struct buf sql = {0}, want = {0};

	assert_int_equal(engine_explain(f.engine, p, &sql, &last), 0);
	assert_int_equal(try_query(&f, q, false, &want), 0);
	want.len--; /* the line break at the end */
	assert_string_equal(ask(&f, buf_str(&sql)), buf_str(&want));
}

static void sql_users_have_the_filter(void **state)
{
	int code;

	assert_int_equal(
		ask_number(&f, "SELECT count(*) FROM weir_rows('op', 'dur > 50us', ['op'])"),
		ask_number(&f, "SELECT count(*) FROM op WHERE dur > 50000"));
	assert_non_null(
		strstr(ask_error(&f, "FROM weir_rows('op', 'durr > 1', ['op'])", &code), "dur"));
	assert_int_equal(code, -EINVAL);
	assert_non_null(strstr(ask_error(&f, "FROM weir_rows('opp', NULL, ['op'])", NULL), "opp"));
	assert_non_null(
		strstr(ask_error(&f, "FROM weir_rows('op', NULL, NULL)", NULL), "no columns"));
}

static void steps_are_measured(void **state)
{
	_cleanup_(plan_freep) struct plan *p =
		parse("where dur > 50us | by op | count() as n | sort n desc | head 2");
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	const struct ask_options opt = {.analyze = true};
	const struct ask_step *steps;
	size_t count;

	assert_int_equal(engine_ask(f.engine, p, &opt, &r, &last), 0);
	count = engine_answer_steps(r, &steps);
	assert_true(count >= 3);
	assert_non_null(strstr(steps[0].what, "scan op: "));
	assert_int_equal(steps[0].rows,
			 ask_number(&f, "SELECT count(*) FROM op WHERE dur > 50000"));
	assert_int_equal(steps[count - 1].rows, 2);
}

/* ---- traps ---- */

/* A damaged block's rows are left out, of all columns alike. */
static void damage(void **state)
{
	char path[256];
	const char *paths[] = {fixture_file("damaged.trace", path)};
	const struct store_block *b = NULL;
	struct fixture x;
	uint64_t rows = 0;
	int fd;

	fixture_write(path, ROWS);
	fixture_open(&x, paths, 1, NULL);
	for (size_t i = 0; i < store_block_count(x.store) && !b; i++) {
		if (store_block(x.store, i)->table == TABLE_OP)
			b = store_block(x.store, i);
	}
	rows = b->rows;
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	for (uint64_t at = b->offset + b->bytes / 2; at < b->offset + b->bytes; at += 64)
		assert_int_equal(pwrite(fd, "\xa5\x5a", 2, (off_t)at), 2);
	close(fd);
	assert_int_equal((int64_t)number(&x, "where dur >= 0ns && tid >= 0 && bytes >= 0 && "
					     "pos is null || pos is not null | count() as n"),
			 ROWS - rows);
	fixture_close(&x);
}

static void too_many_groups_are_refused(void **state)
{
	const struct engine_options opt = {.memory_max = 12ull << 20, .spill_max = 1 << 20};
	_cleanup_buf_ struct buf out = {0};
	char path[256];
	const char *paths[] = {fixture_file("a.trace", path)};
	struct fixture x;

	fixture_open(&x, paths, 1, &opt);
	assert_int_equal(try_query(&x, "by start, dur, pos | hist(dur) as h, distinct(pos) as d",
				   false, &out),
			 -ENOMEM);
	assert_non_null(strstr(last.message, "emory"));
	assert_int_equal(try_query(&x, "count()", false, &out), 0);
	fixture_close(&x);
}

static void hostile_patterns_end(void **state)
{
	_cleanup_buf_ struct buf out = {0};
	int64_t before = clock_cpu_ns();
	int r = try_query(&f, "where path =~ \"^(([a-z/0-9.-])+.)+[A-Z]([a-z])+$\" | count() as n",
			  false, &out);

	assert_true(r >= 0 || r == -EOVERFLOW || r == -EINVAL);
	assert_true(clock_cpu_ns() - before < 30000000000ll);
}

static void *interrupt_soon(void *arg)
{
	usleep(30000);
	engine_interrupt(arg);
	return NULL;
}

static void interrupts(void **state)
{
	_cleanup_buf_ struct buf out = {0};
	pthread_t thread;
	int r = 0;

	for (int i = 0; i < 20 && r != -EINTR; i++) {
		assert_int_equal(pthread_create(&thread, NULL, interrupt_soon, f.engine), 0);
		r = try_query(
			&f,
			"by start, dur, path, op | count() as n, p99(dur) as p, distinct(pos) "
			"as d | sort p desc",
			false, &out);
		pthread_join(thread, NULL);
	}
	assert_int_equal(r, -EINTR);
	assert_string_equal(last.message, "interrupted");
	assert_int_equal(try_query(&f, "count()", false, &out), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(aggregates),
		cmocka_unit_test(tallies),
		cmocka_unit_test(first_and_last),
		cmocka_unit_test(estimates_are_marked),
		cmocka_unit_test(groups_with_nulls),
		cmocka_unit_test(names_are_escaped),
		cmocka_unit_test(later_stages),
		cmocka_unit_test(top_rows),
		cmocka_unit_test(filters_agree),
		cmocka_unit_test(streams),
		cmocka_unit_test(streams_by_time),
		cmocka_unit_test(streams_of_dimensions),
		cmocka_unit_test(following),
		cmocka_unit_test(explained_sql_answers),
		cmocka_unit_test(sql_users_have_the_filter),
		cmocka_unit_test(steps_are_measured),
		cmocka_unit_test(damage),
		cmocka_unit_test(too_many_groups_are_refused),
		cmocka_unit_test(hostile_patterns_end),
		cmocka_unit_test(interrupts),
	};

	fixture_need_library();
	return cmocka_run_group_tests_name("ask", tests, setup, teardown);
}
