/* SPDX-License-Identifier: Apache-2.0 */
/* diff_json.c: `weir diff --json` and `--csv`: a row for each test of each thing compared, and one for
 * what is only on one side. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/terminal/csv_out.h"
#include "cli/diff/diff.h"
#include "cli/terminal/json_text.h"
#include "schema/ops.h"

static json_t *json_text(struct bytes text)
{
	_cleanup_buf_ struct buf safe = {0};
	json_t *v = text.data ? json_stringn((const char *)text.data, text.len) : json_null();

	if (v || format_safe(&safe, text.data, text.len) < 0)
		return v;
	return json_string(buf_str(&safe));
}

static json_t *diff_json_columns(void)
{
	static const char *const names[][3] = {
		{"rank", "int", ""},
		{"by", "text", ""},
		{"op", "text", ""},
		{"err", "text", ""},
		{"name", "text", ""},
		{"pattern", "bool", ""},
		{"presence", "text", ""},
		{"changed", "bool", ""},
		{"runs_a", "int", ""},
		{"runs_b", "int", ""},
		{"calls_a", "int", ""},
		{"calls_b", "int", ""},
		{"errors_a", "int", ""},
		{"errors_b", "int", ""},
		{"bytes_a", "size", "bytes"},
		{"bytes_b", "size", "bytes"},
		{"time_a", "dur", "ns"},
		{"time_b", "dur", "ns"},
		{"p50_a", "dur", "ns"},
		{"p50_b", "dur", "ns"},
		{"p99_a", "dur", "ns"},
		{"p99_b", "dur", "ns"},
		{"time_diff", "float", "ns"},
		{"share", "float", ""},
		{"metric", "text", ""},
		{"a", "float", ""},
		{"b", "float", ""},
		{"ratio", "float", ""},
		{"ratio_low", "float", ""},
		{"ratio_high", "float", ""},
		{"p", "float", ""},
		{"q", "float", ""},
		{"metric_changed", "bool", ""},
	};
	json_t *all = json_array();

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_array_append_new(all, json_pack("{s:s, s:s, s:s}", "name", names[i][0], "type",
						     names[i][1], "unit", names[i][2]));
	return all;
}

static void put_sums(json_t *to, const struct diff_row *row)
{
	for (unsigned int s = 0; s < 2; s++) {
		const struct diff_sum *sum = &row->side[s];
		const struct {
			const char *name;
			uint64_t v;
		} values[] = {
			{"runs", sum->runs},
			{"calls", sum->calls},
			{"errors", sum->errors},
			{"bytes", sum->bytes},
			{"time", sum->time_ns},
			{"p50", hist_quantile(&sum->hist, 0.5)},
			{"p99", hist_quantile(&sum->hist, 0.99)},
		};

		for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
			char name[16];

			snprintf(name, sizeof(name), "%s_%c", values[i].name, s ? 'b' : 'a');
			json_object_set_new(
				to, name,
				json_integer((json_int_t)MIN(values[i].v, (uint64_t)INT64_MAX)));
		}
	}
}

static json_t *json_row(const struct diff_row *row, size_t rank)
{
	static const char *const presences[] = {"both", "only_a", "only_b"};
	char op[32];
	const char *err = row->err >= 0 ? vocab_word("err", row->err) : NULL;
	json_t *v = json_object();

	json_object_set_new(v, "rank", row->listed ? json_integer((json_int_t)rank) : json_null());
	json_object_set_new(v, "by", json_string(diff_by_word(row->by)));
	json_object_set_new(v, "op",
			    row->op >= 0 && row->op <= UINT32_MAX
				    ? json_string(op_name((uint32_t)row->op, op))
				    : json_null());
	json_object_set_new(v, "err", err ? json_string(err) : json_null());
	json_object_set_new(v, "name", json_text(row->name));
	json_object_set_new(v, "pattern", json_boolean(row->pattern));
	json_object_set_new(v, "presence", json_string(presences[row->presence]));
	json_object_set_new(v, "changed", json_boolean(row->changed));
	put_sums(v, row);
	json_object_set_new(v, "time_diff", json_real(row->time_diff));
	json_object_set_new(v, "share", json_real(row->share));
	return v;
}

static void diff_json_put_test(json_t *to, const struct diff_test *t, const char *metric)
{
	static const char *const names[] = {"a", "b", "ratio", "ratio_low", "ratio_high", "p", "q"};
	const double values[] = {t->a, t->b, exp(t->effect), exp(t->low), exp(t->high), t->p, t->q};

	json_object_set_new(to, "metric", metric ? json_string(metric) : json_null());
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		json_object_set_new(to, names[i],
				    metric && isfinite(values[i]) ? json_real(values[i])
								  : json_null());
	json_object_set_new(to, "metric_changed", json_boolean(metric && t->changed));
}

static json_t *rows(const struct diff *d)
{
	json_t *all = json_array();

	for (size_t i = 0; i < d->count; i++) {
		const struct diff_row *row = &d->rows[i];
		json_t *plain = json_row(row, i + 1);
		bool any = false;

		for (unsigned int m = 0; m < DIFF_METRICS; m++) {
			json_t *one;

			if (!row->test[m].tested)
				continue;
			one = json_copy(plain);
			diff_json_put_test(one, &row->test[m], diff_metric_word(m));
			json_array_append_new(all, one);
			any = true;
		}
		if (!any) {
			diff_json_put_test(plain, &row->test[0], NULL);
			json_array_append(all, plain);
		}
		json_decref(plain);
	}
	return all;
}

static json_t *side(const struct diff_view *v, unsigned int s)
{
	const struct diff *d = v->diff;
	json_t *runs = json_array();

	for (size_t i = 0; i < v->count; i++) {
		if (v->inputs[i].side == s)
			json_array_append_new(
				runs,
				json_pack(
					"{s:o, s:I, s:o}", "path",
					json_text((struct bytes){(const uint8_t *)v->traces[i].path,
								 strlen(v->traces[i].path)}),
					"dur", (json_int_t)(v->inputs[i].to - v->inputs[i].from),
					"loss", loss_json(&v->traces[i].loss)));
	}
	return json_pack("{s:o, s:f, s:b, s:f, s:f, s:f}", "runs", runs, "work", d->work[s],
			 "too_much_lost", (int)d->lossy[s], "io_time", d->io[s].time,
			 "waiting_time", d->waiting[s].time, "other_time", d->other[s].time);
}

static json_t *shift(const struct diff *d)
{
	json_t *v;

	if (!d->shift.tested)
		return json_null();
	v = json_object();
	diff_json_put_test(v, &d->shift, "latency of all calls");
	return v;
}

int diff_json(const struct diff_view *v)
{
	const struct diff *d = v->diff;
	json_t *doc = json_object();
	char origin[24];
	int r = 0;

	snprintf(origin, sizeof(origin), "%lld", (long long)v->inputs[0].from);
	json_object_set_new(doc, "origin", json_string(origin));
	json_object_set_new(doc, "columns", diff_json_columns());
	json_object_set_new(doc, "rows", rows(d));
	json_object_set_new(doc, "loss", loss_json(&v->loss));
	json_object_set_new(doc, "changes", json_integer((json_int_t)d->listed));
	json_object_set_new(doc, "unit", json_string(diff_unit_text(d).s));
	json_object_set_new(doc, "tests", json_integer((json_int_t)d->tests));
	json_object_set_new(doc, "repeatable", json_boolean(d->repeatable));
	json_object_set_new(doc, "all_calls", shift(d));
	json_object_set_new(doc, "a", side(v, 0));
	json_object_set_new(doc, "b", side(v, 1));
	if (json_put(stdout, doc, JSON_INDENT(1) | JSON_PRESERVE_ORDER) < 0)
		r = -EIO;
	else
		printf("\n");
	json_decref(doc);
	return r;
}

/* ---- CSV ---- */

/* The same text as in JSON, without its quotes. */
static int diff_json_put_value(const json_t *v)
{
	char *text;

	if (json_is_null(v))
		return 0;
	if (json_is_string(v)) {
		csv_print_text(stdout, json_string_value(v), json_string_length(v));
		return 0;
	}
	text = json_dumps(v, JSON_ENCODE_ANY);
	if (!text)
		return -ENOMEM;
	fputs(text, stdout);
	free(text);
	return 0;
}

static int diff_json_put_row(const json_t *names, const json_t *row)
{
	const json_t *column;
	size_t i;
	int r = 0;

	json_array_foreach(names, i, column)
	{
		const json_t *name = json_object_get(column, "name");

		if (i)
			fputc(',', stdout);
		if (r >= 0)
			r = diff_json_put_value(row ? json_object_get(row, json_string_value(name))
						    : name);
	}
	fputc('\n', stdout);
	return r;
}

int diff_csv(const struct diff_view *v)
{
	json_t *names = diff_json_columns(), *all = rows(v->diff);
	const json_t *row;
	size_t i;
	int r = names && all ? diff_json_put_row(names, NULL) : -ENOMEM;

	json_array_foreach(all, i, row)
	{
		if (r >= 0 && !ferror(stdout))
			r = diff_json_put_row(names, row);
	}
	json_decref(names);
	json_decref(all);
	return r;
}
