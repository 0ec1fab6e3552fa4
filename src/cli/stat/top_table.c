/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/stat/stat_table.h"

#include "base/clock.h"
#include "cli/terminal/answer_print.h"

#define TOP_COLUMNS(TITLE)                                                           \
	{TITLE, {QUERY_TEXT}}, {"calls/s", {QUERY_INT}, ANSWER_COUNT, .width = 7},   \
		{"read/s", {QUERY_SIZE}, .word = "size", .dash = true, .width = 8},  \
		{"write/s", {QUERY_SIZE}, .word = "size", .dash = true, .width = 8}, \
		{"I/O %", {QUERY_FLOAT}, .weight = true, .width = 5},                \
		{"p99", {QUERY_DUR}, .word = "dur", .width = 7},                     \
		{"max", {QUERY_DUR}, .word = "dur", .gives = 5, .width = 7},         \
		{"p50", {QUERY_DUR}, .word = "dur", .gives = 6, .width = 7},         \
		{"errors/s", {QUERY_INT}, ANSWER_COUNT, .alarm = true, .gives = 7},  \
	{                                                                            \
		FORMAT_SPARK_TITLE, {QUERY_TEXT}, .gives = 9, .fixed = true          \
	}

static const struct answer_column top_op[] = {TOP_COLUMNS("OPERATIONS")};
static const struct answer_column top_process[] = {TOP_COLUMNS("PROCESSES"),
						   {"argument", {QUERY_TEXT}, .gives = 10}};
static const struct answer_column top_thread[] = {TOP_COLUMNS("THREADS")};
static const struct answer_column top_file[] = {TOP_COLUMNS("FILES")};
static const struct answer_column top_error[] = {TOP_COLUMNS("ERRORS")};

static const struct {
	const struct answer_column *columns;
	size_t count;
} top_columns[FIGURES_BY_COUNT] = {
	[FIGURES_OP] = {top_op, ARRAY_SIZE(top_op)},
	[FIGURES_PROCESS] = {top_process, ARRAY_SIZE(top_process)},
	[FIGURES_THREAD] = {top_thread, ARRAY_SIZE(top_thread)},
	[FIGURES_FILE] = {top_file, ARRAY_SIZE(top_file)},
	[FIGURES_ERROR] = {top_error, ARRAY_SIZE(top_error)},
};

/* A sum per second, rounded so that a nonzero sum never shows as zero. */
static uint64_t top_rate(uint64_t sum, int64_t span_ns)
{
	double rate = span_ns > 0 ? (double)sum * NSEC_PER_SEC / (double)span_ns : (double)sum;

	return sum && rate < 1 ? 1 : (uint64_t)(rate + 0.5);
}

/* A share of the elapsed time; several threads may exceed 100 %. */
static struct text top_part(uint64_t time_ns, int64_t span_ns)
{
	double percent = span_ns > 0 ? 100.0 * (double)time_ns / (double)span_ns : 0;
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.*f", percent < 9.95 ? 1 : 0, percent);
	return t;
}

int top_table_print(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
		    size_t width, int64_t span_ns)
{
	_cleanup_answer_list_ struct answer_list list = {top_columns[by].columns,
							 top_columns[by].count};

	for (size_t i = 0; i < MIN(rows, f->count); i++) {
		const struct figure *item = &f->items[i];
		const struct rollup_row *row = item->row;

		answer_list_str(&list, item->label);
		answer_list_uint(&list, top_rate(row->calls, span_ns));
		answer_list_uint(&list, top_rate(item->read, span_ns));
		answer_list_uint(&list, top_rate(item->written, span_ns));
		answer_list_str(&list, top_part(row->time_ns, span_ns).s);
		answer_list_uint(&list, stat_table_quantile(row, 0.99));
		answer_list_uint(&list, row->max_ns);
		answer_list_uint(&list, stat_table_quantile(row, 0.5));
		answer_list_uint(&list, top_rate(row->errors, span_ns));
		answer_list_str(&list, format_spark(&row->hist).s);
		if (by == FIGURES_PROCESS)
			answer_list_text(&list, item->argument);
	}
	return answer_text_list(&(struct answer_print){.out = out, .width = width}, &list, NULL);
}
