/* SPDX-License-Identifier: Apache-2.0 */
/* Queries and the plans that they become; expressions whose text gives the same expression again. */
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(groups),
		cmocka_unit_test(rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
