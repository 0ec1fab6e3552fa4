// SPDX-License-Identifier: Apache-2.0
/* test_busy.c: busy() against plain loops over the rows: calls shared out between windows and cut at a range's ends. */
#include "fixture.h"

#include <inttypes.h>
#include <unistd.h>

#include "engine/ask.h"
#include "query/query.h"

#define ROWS	150000
#define WINDOWS 8000
#define THREADS FIXTURE_THREADS
#define NONE	INT64_MIN

static struct fixture f;
static struct error last;

static int setup(void **state)
{
	char path[256];
	const char *paths[] = {fixture_file("a.trace", path)};

	fixture_write(path, ROWS);
	fixture_open(&f, paths, 1, NULL);
	return 0;
}

static int teardown(void **state)
{
	fixture_close(&f);
	fixture_remove();
	return 0;
}

static struct plan *parse(const char *query, int64_t from, int64_t to)
{
	struct query_error wrong = {0};
	struct plan *p = NULL;

	if (query_parse(query, strlen(query), &p, &wrong) < 0)
		fail_msg("%s: %zu: %s", query, wrong.pos, wrong.err.message);
	p->from = from;
	p->to = to;
	return p;
}

static void put_rows(struct engine_result *r, struct buf *out)
{
	while (engine_result_next(r)) {
		for (size_t c = 0; c < engine_result_columns(r); c++) {
			assert_int_equal(buf_append(out, "|", c > 0), 0);
			if (engine_result_is_null(r, c))
				assert_int_equal(buf_append(out, "NULL", 4), 0);
			else
				assert_int_equal(engine_result_text(r, c, out), 0);
		}
		assert_int_equal(buf_append(out, "\n", 1), 0);
	}
}

/* What one line of the answer says. */
struct line {
	uint64_t count;
	int64_t busy, sum;
	bool any;
};

struct question {
	const char *filter; /* in the language; `slow` says the same */
	int64_t width;	    /* 0: no window */
	int64_t from, to;   /* NONE: open */
	bool slow;	    /* calls of more than 50 us alone */
	bool in_sql;
};

static struct line lines[WINDOWS][THREADS];

/* A call within [a, b) belongs to the window that begins at `at`. */
static void share(const struct question *q, const struct fixture_op *o, int64_t first)
{
	int64_t end = o->start + o->dur, from = q->from == NONE ? INT64_MIN : q->from,
		to = q->to == NONE ? INT64_MAX : q->to;
	int64_t width = q->width ? q->width : INT64_MAX / 2, a = MAX(o->start, from),
		b = MIN(end, to);
	bool ended = !o->running && end >= from && end < to;

	if (end < from || o->start >= to)
		return;
	for (int64_t i = q->width ? a / width - first : 0;; i++) {
		int64_t at = q->width ? (i + first) * width : 0;
		int64_t until = q->width ? at + width : INT64_MAX;
		struct line *l = &lines[i][o->thread_id];

		assert_true(i >= 0 && i < WINDOWS && o->thread_id < THREADS);
		l->any = true;
		l->busy += MIN(b, until) - MAX(a, q->width ? at : a);
		if (ended && end < until && (!q->width || end >= at)) {
			l->count++;
			l->sum += o->dur;
		}
		if (b < until || (b == until && !(ended && end == until)))
			break;
	}
}

static void loop(const struct question *q, struct buf *out)
{
	int64_t origin = q->from == NONE ? FIXTURE_ORIGIN : q->from;
	int64_t first = q->width ? origin / q->width : 0;

	memset(lines, 0, sizeof(lines));
	for (uint64_t i = 0; i < ROWS; i++) {
		struct fixture_op o = fixture_op(i);

		if (!o.no_start && (!q->slow || o.dur > 50000))
			share(q, &o, first);
	}
	for (int64_t i = 0; i < WINDOWS; i++) {
		for (int64_t t = 0; t < THREADS; t++) {
			const struct line *l = &lines[i][t];

			if (!l->any)
				continue;
			if (q->width)
				assert_true(buf_printf(out, "%" PRId64 "|",
						       (i + first) * q->width) >= 0);
			assert_true(buf_printf(out, "%" PRId64 "|%" PRId64 "|%" PRIu64 "|", t,
					       l->busy, l->count) >= 0);
			assert_true(l->count ? buf_printf(out, "%" PRId64 "\n", l->sum) >= 0
					     : buf_printf(out, "NULL\n") >= 0);
		}
	}
}

static void answer(const struct question *q, struct buf *out)
{
	char text[256];
	_cleanup_(plan_freep) struct plan *p = NULL;
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	const struct ask_options opt = {.filter_in_sql = q->in_sql};

	snprintf(text, sizeof(text),
		 q->width ? "start is not null%s%s | by thread_id every %" PRId64
			    "ns | busy(), count(), sum(dur) as s | where window is not null | sort "
			    "window, thread_id"
			  : "start is not null%s%s | by thread_id | busy(), count(), sum(dur) "
			    "as s | sort thread_id",
		 q->filter ? " && " : "", q->filter ? q->filter : "", q->width);
	p = parse(text, q->from == NONE ? INT64_MIN : q->from, q->to == NONE ? INT64_MAX : q->to);
	if (engine_ask(f.engine, p, &opt, &r, &last) < 0)
		fail_msg("%s: %s", text, last.message);
	put_rows(r, out);
}

static void test_against_loops(void **state)
{
	const int64_t o = FIXTURE_ORIGIN;
	const struct question questions[] = {
		{.width = 100000000, .from = NONE, .to = NONE},
		{.width = 1000000, .from = NONE, .to = NONE},
		{.width = 7000003, .from = o + 20000123, .to = o + 120000456},
		{.width = 100000, .from = o + 50000000, .to = o + 50900000},
		{.width = 500000000,
		 .from = o + 20000123,
		 .to = NONE,
		 .filter = "dur > 50us",
		 .slow = true},
		{.width = 10000000,
		 .from = NONE,
		 .to = o + 100000000,
		 .filter = "dur > 50us",
		 .slow = true,
		 .in_sql = true},
		{.from = o + 20000123, .to = o + 20000999},
		{.from = NONE, .to = o + 100000000},
		{.from = o + 100000000, .to = NONE, .in_sql = true},
	};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		_cleanup_buf_ struct buf want = {0}, got = {0};

		loop(&questions[i], &want);
		answer(&questions[i], &got);
		if (strcmp(buf_str(&want), buf_str(&got)))
			fail_msg("question %zu: want\n%.600s\ngot\n%.600s", i, buf_str(&want),
				 buf_str(&got));
	}
}

static double number(const char *text)
{
	_cleanup_(plan_freep) struct plan *p = parse(text, INT64_MIN, INT64_MAX);
	_cleanup_(engine_result_freep) struct engine_result *r = NULL;
	_cleanup_buf_ struct buf out = {0};

	if (engine_ask(f.engine, p, NULL, &r, &last) < 0)
		fail_msg("%s: %s", text, last.message);
	put_rows(r, &out);
	return strtod(buf_str(&out), NULL);
}

/* Over all windows it is all of the time, from summaries and from rows; and a thread that makes one call after another
 * has no more than its window in any. */
static void test_sums(void **state)
{
	assert_true(number("sum(dur)") == number("busy()"));
	assert_true(number("sum(dur)") == number("every 100ms | busy() | sum(busy)"));
	assert_true(number("sum(dur)") == number("by tid every 3ms | busy() | sum(busy)"));
	assert_true(number("sum(dur)") ==
		    number("by comm every 100ms | busy(), p99(dur) | sum(busy)"));
}

/* Corrections count for nothing but the time. */
static void test_beside_others(void **state)
{
	static const char *const aggregates[] = {
		"count()",	 "countif(err is not null)",
		"p99(dur)",	 "distinct(file)",
		"first(tid)",	 "last(tid)",
		"max(dur)",	 "min(dur)",
		"avg(dur)",	 "stddev(dur)",
		"quantize(dur)", "rate()",
		"count(op)",
	};

	for (size_t i = 0; i < ARRAY_SIZE(aggregates); i++) {
		_cleanup_buf_ struct buf want = {0}, got = {0};
		char text[256];

		for (int busy = 0; busy < 2; busy++) {
			_cleanup_(plan_freep) struct plan *p = NULL;
			_cleanup_(engine_result_freep) struct engine_result *r = NULL;

			snprintf(text, sizeof(text),
				 "by op every 5ms | %s as x, count() as n%s | n > 0 | sort window, "
				 "op | select window, op, x",
				 aggregates[i], busy ? ", busy() as b" : "");
			p = parse(text, INT64_MIN, INT64_MAX);
			if (engine_ask(f.engine, p, NULL, &r, &last) < 0)
				fail_msg("%s: %s", text, last.message);
			put_rows(r, busy ? &got : &want);
		}
		if (strcmp(buf_str(&want), buf_str(&got)))
			fail_msg("%s: want\n%.600s\ngot\n%.600s", aggregates[i], buf_str(&want),
				 buf_str(&got));
	}
}

/* A refresh gives what the whole question does, though a new call may have filled windows that are long over. */
static void test_follow(void **state)
{
	static const char *const questions[] = {
		"by op every 10ms | busy() as b, count() as n | sort window, op", "busy() as b"};
	const struct store_options opt = {.owner = (uid_t)-1};
	char path[256];
	const char *paths[] = {fixture_file("growing.trace", path)};

	for (size_t i = 0; i < ARRAY_SIZE(questions); i++) {
		_cleanup_(plan_freep) struct plan *p = parse(questions[i], INT64_MIN, INT64_MAX);
		struct engine_follow *fo;
		struct store_writer *w;
		struct fixture x;

		assert_int_equal(store_create(&w, path, &opt, &last), 0);
		fixture_append_dims(w);
		fixture_append_ops(w, 0, 3000);
		assert_int_equal(store_flush(w, true, &last), 0);
		fixture_open(&x, paths, 1, NULL);
		assert_int_equal(engine_follow_new(&fo, x.engine, p, &last), 0);
		for (uint64_t k = 1; k < 5; k++) {
			_cleanup_(engine_result_freep) struct engine_result *r = NULL, *all = NULL;
			_cleanup_buf_ struct buf got = {0}, want = {0};

			if (engine_follow_refresh(fo, &r, &last) < 0 ||
			    engine_ask(x.engine, p, NULL, &all, &last) < 0)
				fail_msg("%s: %s", questions[i], last.message);
			put_rows(r, &got);
			put_rows(all, &want);
			assert_string_equal(buf_str(&got), buf_str(&want));
			fixture_append_ops(w, k * 3000, (k + 1) * 3000);
			assert_int_equal(store_flush(w, true, &last), 0);
		}
		engine_follow_free(fo);
		fixture_close(&x);
		assert_int_equal(store_close(w, &last), 0);
		assert_int_equal(unlink(path), 0);
	}
}

static void test_refused(void **state)
{
	static const char *const wrong[] = {"busy(dur)", "by op | count() | busy()",
					    "from file | busy()"};

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		struct query_error why = {0};
		struct plan *p = NULL;

		assert_true(query_parse(wrong[i], strlen(wrong[i]), &p, &why) < 0);
		assert_non_null(strstr(why.err.message, "busy()"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_against_loops), cmocka_unit_test(test_sums),
		cmocka_unit_test(test_beside_others), cmocka_unit_test(test_follow),
		cmocka_unit_test(test_refused),
	};

	fixture_need_library();
	return cmocka_run_group_tests_name("busy", tests, setup, teardown);
}
