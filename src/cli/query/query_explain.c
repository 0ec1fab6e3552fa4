// SPDX-License-Identifier: Apache-2.0
/* query_explain.c: explains how a pipeline is executed. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "cli/query/query.h"

/* Text with each of its lines indented. */
static void put_indented(const char *text)
{
	while (*text) {
		size_t len = strcspn(text, "\n");

		printf("  %.*s\n", (int)len, text);
		text += len + (text[len] == '\n');
	}
}

/* ---- --analyze ---- */

static int put_steps(const struct ask_step *steps, size_t count, struct error *err)
{
	static const struct answer_column columns[] = {
		{"STEP", {QUERY_TEXT}},
		{"rows", {QUERY_INT}, ANSWER_COUNT},
		{"time", {QUERY_DUR}},
	};
	_cleanup_answer_list_ struct answer_list list = {columns, ARRAY_SIZE(columns)};

	for (size_t i = 0; i < count; i++) {
		answer_list_str(&list, steps[i].what);
		answer_list_uint(&list, steps[i].rows);
		answer_list_int(&list, steps[i].time_ns);
	}
	return answer_text_list(&(struct answer_print){.out = stdout}, &list, err);
}

static int analyze_engine(struct query_session *s, const struct plan *p, struct error *err)
{
	const struct ask_options options = {.analyze = true};
	_cleanup_(engine_result_freep) struct engine_result *result = NULL;
	const struct ask_step *steps = NULL;
	int64_t began = clock_monotonic_ns();
	uint64_t rows = 0;
	size_t count;
	int r;

	interrupt_engine(s->it, s->engine);
	r = engine_ask(s->engine, p, &options, &result, err);
	while (r >= 0 && engine_result_next(result))
		rows++;
	interrupt_engine(s->it, NULL);
	if (r < 0)
		return r;
	count = engine_answer_steps(result, &steps);
	putchar('\n');
	r = put_steps(steps, count, err);
	if (r < 0)
		return r;
	printf("%s rows in %s\n", format_count(rows).s, format_dur(clock_monotonic_ns() - began).s);
	return 0;
}

static int analyze_scan(struct query_session *s, const struct plan *p, struct error *err)
{
	_cleanup_(query_scan_freep) struct query_scan *scan = NULL;
	_cleanup_answer_ struct answer rows = {0};
	int64_t began = clock_monotonic_ns();
	uint64_t count = 0;
	int r = query_scan_new(&scan, s, p, false, err);

	if (r >= 0)
		r = query_answer_of_scan(&rows, p, scan);
	while (r >= 0 && (r = answer_next(&rows, err)) == 1)
		count++;
	if (r < 0)
		return r;
	printf("\n%s rows in %s, from a scan of the trace's blocks\n", format_count(count).s,
	       format_dur(clock_monotonic_ns() - began).s);
	return 0;
}

int query_explain(struct query_session *s, const struct plan *p, int64_t planned_ns,
		  struct error *err)
{
	_cleanup_buf_ struct buf plan = {0}, sql = {0};
	bool scan = query_is_scan(s, p);
	struct error no_engine = {0};
	int r = plan_text(p, &plan);

	if (r < 0)
		return error_errno(err, r, "cannot explain");
	printf("PLAN (made in %s)\n", format_dur(planned_ns).s);
	put_indented(buf_str(&plan));
	if (scan)
		puts("\nANSWERED BY a scan of the trace's blocks, row by row, without the engine");
	r = query_engine(s, &no_engine);
	if (r >= 0)
		r = engine_explain(s->engine, p, &sql, err);
	else if (!scan) /* the error contains the remedy */
		return error_set(err, no_engine.code, "%s", no_engine.message);
	else
		r = 0;
	if (r >= 0 && sql.len) {
		puts(scan ? "\nSQL (for --parquet)" : "\nSQL");
		put_indented(buf_str(&sql));
	}
	if (r >= 0 && s->opts->analyze)
		r = scan ? analyze_scan(s, p, err) : analyze_engine(s, p, err);
	return r;
}
