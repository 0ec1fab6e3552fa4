/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "cli/stat/stat_table.h"
#include "cli/terminal/json_text.h"

static void stat_json_put_columns(FILE *out, enum stat_table_by by)
{
	static const struct {
		const char *name, *type, *unit;
	} columns[] = {{"calls", "int", ""},  {"errors", "int", ""}, {"bytes", "size", "bytes"},
		       {"time", "dur", "ns"}, {"p50", "dur", "ns"},  {"p90", "dur", "ns"},
		       {"p99", "dur", "ns"},  {"max", "dur", "ns"}};

	fprintf(out, "\"columns\": [{\"name\": \"%s\", \"type\": \"text\", \"unit\": \"\"}",
		stat_table_by_word(by));
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		fprintf(out, ", {\"name\": \"%s\", \"type\": \"%s\", \"unit\": \"%s\"}",
			columns[i].name, columns[i].type, columns[i].unit);
	fputs("]", out);
}

static void stat_json_put_row(FILE *out, const struct figure *f, enum stat_table_by by)
{
	static const struct {
		const char *name;
		double q;
	} quantiles[] = {{"p50", 0.5}, {"p90", 0.9}, {"p99", 0.99}};
	const struct rollup_row *row = f->row;

	fprintf(out, "{\"%s\": ", stat_table_by_word(by));
	json_put_string(out, f->label, strlen(f->label));
	fprintf(out, ", \"calls\": %llu, \"errors\": %llu, \"bytes\": %llu, \"time\": %llu",
		(unsigned long long)row->calls, (unsigned long long)row->errors,
		(unsigned long long)row->bytes, (unsigned long long)row->time_ns);
	for (size_t i = 0; i < ARRAY_SIZE(quantiles); i++)
		fprintf(out, ", \"%s\": %llu", quantiles[i].name,
			(unsigned long long)MIN(hist_quantile(&row->hist, quantiles[i].q),
						row->max_ns));
	fprintf(out, ", \"max\": %llu}", (unsigned long long)row->max_ns);
}

static void put_rest(FILE *out, const char *name, const struct stat_table_rest *rest)
{
	fprintf(out, ", \"%s\": {\"calls\": %llu, \"time\": %llu}", name,
		(unsigned long long)rest->calls, (unsigned long long)rest->time_ns);
}

void stat_table_put_json(FILE *out, const struct stat_table *f, enum stat_table_by by, size_t rows,
			 const struct stat_table_json *j)
{
	fprintf(out, "{\"origin\": \"%lld\", ", (long long)j->origin);
	stat_json_put_columns(out, by);
	fputs(", \"rows\": [", out);
	for (size_t i = 0; i < MIN(rows, f->count); i++) {
		if (i)
			fputs(", ", out);
		stat_json_put_row(out, &f->items[i], by);
	}
	fputs("]", out);
	put_rest(out, "waiting", &f->waiting);
	put_rest(out, "other", &f->other);
	fprintf(out, ", \"span\": %lld", (long long)j->span_ns);
	if (j->running)
		fprintf(out, ", \"still_running\": %llu", (unsigned long long)*j->running);
	fputs(", \"loss\": ", out);
	loss_put_json(out, j->loss);
	fputs("}\n", out);
}
