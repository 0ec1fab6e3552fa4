/* SPDX-License-Identifier: Apache-2.0 */
/* Queries and the plans that they become; expressions whose text gives the same expression again. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "query/query.h"

static struct plan *parse(const char *text)
{
	struct plan *p = NULL;
	struct query_error err;

	if (query_parse(text, strlen(text), &p, &err) < 0)
		fail_msg("%s: %s", text, err.err.message);
	return p;
}

static void check(const char *text, const char *want)
{
	_cleanup_(plan_freep) struct plan *p = parse(text);
	_cleanup_buf_ struct buf out = {0};

	assert_int_equal(plan_text(p, &out), 0);
	if (strcmp(buf_str(&out), want))
		fail_msg("%s\ngives\n%swanted\n%s", text, buf_str(&out), want);
}

static void groups(void **state)
{
	check("where op in (read, pread64) && dur > 1ms && path ~ \"/var/lib/**/*.sst\" | by comm, "
	      "op "
	      "| count(), sum(bytes), p99(dur), hist(dur) | sort p99 desc | head 10",
	      "scan op | columns dur, thread_id, op, bytes, file_id\n"
	      "filter op in (read, pread64) && dur > 1ms && path ~ \"/var/lib/**/*.sst\"\n"
	      "group by comm, op | count() as count, sum(bytes), percentile[99](dur) as p99(dur), "
	      "hist(dur)\n"
	      "sort p99(dur) desc, comm, op\n"
	      "head 10\n");
	check("by op every 100ms | count() as n",
	      "scan op | columns start, dur, op, status\n"
	      "group by bucket(stop, 100ms) as window, op | count() as n\n"
	      "sort window, n desc, op\n");
	check("by op",
	      "scan op | columns op\ngroup by op | count() as count\nsort count desc, op\n");
	check("count() by op",
	      "scan op | columns op\ngroup by op | count() as count\nsort count desc, op\n");
	check("sum(bytes) / count() as avg",
	      "scan op | columns bytes\n"
	      "group | sum(bytes) (hidden), count() as count (hidden)\n"
	      "select sum(bytes) / count as avg\n");
}

static void rows(void **state)
{
	check("dur > 1ms | head 3",
	      "scan op | columns start, dur, thread_id, tid, op, ret, err, file_id, pos, size\n"
	      "filter dur > 1ms\n"
	      "select start, dur, comm, tid, op, file, pos, size, ret, err\n"
	      "head 3\n");
	check("sort dur desc | head 3 | select comm, dir(path) as folder",
	      "scan op | columns dur, thread_id, file_id\n"
	      "select dur (hidden), comm (hidden), path (hidden)\n"
	      "sort dur desc\n"
	      "head 3\n"
	      "select comm, dir(path) as folder\n");
	check("select dur * 2 as d, comm | d > 1s | by comm | max(d)",
	      "scan op | columns dur, thread_id\n"
	      "filter dur * 2 > 1s\n"
	      "group by comm | max(dur * 2) as max(d)\n"
	      "sort max(d) desc, comm\n");
}

/* They are searched by halving: numbers without a sign by their own order. */
static void lists(void **state)
{
	check("where a0 in (0x8000000000000001, 16, 5) | select ret",
	      "scan op | columns ret, a0\n"
	      "filter a0 in (0x5, 0x10, 0x8000000000000001)\n"
	      "select ret\n");
	check("where ret in (16, -5) | select ret", "scan op | columns ret\n"
						    "filter ret in (-5, 16)\n"
						    "select ret\n");
}

/* What options of a command line add, parsed alone. */
static void added(void **state)
{
	_cleanup_(plan_freep) struct plan *p =
		parse("where dur > 1ms && op in (read, pread64, write, pwrite64) | head 3");
	_cleanup_buf_ struct buf out = {0};
	struct query_error err;

	assert_int_equal(plan_and_where(p, "fd > 1", &err), 0);
	assert_int_equal(plan_and_where(p, "where ret < 0 && fd < 9", &err), 0);
	assert_int_equal(expr_text(p->where, p->table, &out), 0);
	assert_string_equal(buf_str(&out),
			    "dur > 1ms && op in (read, write, pread64, pwrite64) && fd > 1 "
			    "&& ret < 0 && fd < 9");
	assert_int_equal(plan_and_where(p, "fd > 1 | head 3", &err), -EINVAL);
	assert_int_equal(err.pos, 7);
	assert_int_equal(plan_and_where(p, "fd", &err), -EINVAL);
}

static void streams(void **state)
{
	_cleanup_(plan_freep) struct plan *rows = parse("dur > 1ms | select dur, comm | head 3");
	_cleanup_(plan_freep) struct plan *sorted = parse("sort dur | head 3");
	_cleanup_(plan_freep) struct plan *groups = parse("by op");
	_cleanup_(plan_freep) struct plan *tail = parse("tail 3");

	assert_true(plan_is_stream(rows));
	assert_false(plan_is_stream(sorted));
	assert_false(plan_is_stream(groups));
	assert_false(plan_is_stream(tail));
}

/* Which columns of an answer rows were grouped by, one letter for each: k or v. */
static void keys(void **state)
{
	static const char *const cases[][2] = {
		{"by pid, log2(bytes) | count(), sum(ret)", "kkvv"},
		{"by cpu every 50ms | count() | sort count desc | head 3", "kkv"},
		{"by pid | count() | select count, pid, count * 2 as twice", "vkv"},
		{"by pid, op | count() as n | by n | count()", "kv"},
		{"by process | count() | join process | select pid, count", "kv"},
		{"dur > 1ms | select pid, ret", "vv"},
		{"count(), sum(bytes)", "vv"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(plan_freep) struct plan *p = parse(cases[i][0]);
		char got[16] = "";
		size_t count, n = 0;
		const struct plan_field *fields = plan_output(p, &count);

		for (size_t f = 0; f < count; f++) {
			if (!fields[f].hidden && n < sizeof(got) - 1)
				got[n++] = plan_is_key(p, f) ? 'k' : 'v';
		}
		if (strcmp(got, cases[i][1]))
			fail_msg("%s: %s instead of %s", cases[i][0], got, cases[i][1]);
	}
}

static struct plan *condition(const char *text)
{
	struct plan *p = NULL;
	struct query_error err;

	if (query_parse_expr(text, strlen(text), TABLE_OP, true, &p, &err) < 0)
		fail_msg("%s: %s", text, err.err.message);
	return p;
}

/* Which columns an expression reads, and whether it hangs on one id. */
static void columns(void **state)
{
	static const struct {
		const char *text;
		uint64_t columns;
	} cases[] = {
		{"dur > 1ms", 1ull << OP_DUR},
		{"path ~ \"*.sst\" && dir(path) != \"/\"", 1ull << OP_FILE_ID},
		{"comm == \"x\" || pid == 5", 1ull << OP_THREAD_ID},
		{"comm == path", 1ull << OP_THREAD_ID | 1ull << OP_FILE_ID},
		{"thread_id == 3 && comm == \"x\"", 1ull << OP_THREAD_ID},
		{"peer ~ \"10.*\"", 1ull << OP_PEER_ID | 1ull << OP_FILE_ID},
		{"stop > \"2026-11-21Z\"", 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_STATUS},
		{"true", 0},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(plan_freep) struct plan *p = condition(cases[i].text);

		assert_true(expr_columns(p->where) == cases[i].columns);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups),  cmocka_unit_test(rows),    cmocka_unit_test(lists),
		cmocka_unit_test(added),   cmocka_unit_test(streams), cmocka_unit_test(keys),
		cmocka_unit_test(columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
