/* SPDX-License-Identifier: Apache-2.0 */
/* diff_json.c: `weir diff --json` and `--csv`: a row for each test of each thing compared, and one for
 * what is only on one side. */
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/diff/diff.h"
#include "cli/terminal/answer_print.h"
#include "cli/terminal/json_text.h"
#include "schema/ops.h"

static const struct answer_column diff_columns[] = {
	{"rank", {QUERY_INT}},
	{"by", {QUERY_TEXT}},
	{"op", {QUERY_TEXT}},
	{"err", {QUERY_TEXT}},
	{"name", {QUERY_TEXT}},
	{"pattern", {QUERY_BOOL}},
	{"presence", {QUERY_TEXT}},
	{"changed", {QUERY_BOOL}},
	{"runs_a", {QUERY_INT}},
	{"runs_b", {QUERY_INT}},
	{"calls_a", {QUERY_INT}},
	{"calls_b", {QUERY_INT}},
	{"errors_a", {QUERY_INT}},
	{"errors_b", {QUERY_INT}},
	{"bytes_a", {QUERY_SIZE}, .word = "size"},
	{"bytes_b", {QUERY_SIZE}, .word = "size"},
	{"time_a", {QUERY_DUR}, .word = "dur"},
	{"time_b", {QUERY_DUR}, .word = "dur"},
	{"p50_a", {QUERY_DUR}, .word = "dur"},
	{"p50_b", {QUERY_DUR}, .word = "dur"},
	{"p99_a", {QUERY_DUR}, .word = "dur"},
	{"p99_b", {QUERY_DUR}, .word = "dur"},
	{"time_diff", {QUERY_FLOAT}, .unit = "ns"},
	{"share", {QUERY_FLOAT}},
	{"metric", {QUERY_TEXT}},
	{"a", {QUERY_FLOAT}},
	{"b", {QUERY_FLOAT}},
	{"ratio", {QUERY_FLOAT}},
	{"ratio_low", {QUERY_FLOAT}},
	{"ratio_high", {QUERY_FLOAT}},
	{"p", {QUERY_FLOAT}},
	{"q", {QUERY_FLOAT}},
	{"metric_changed", {QUERY_BOOL}},
};

static void diff_json_put_sums(struct answer_list *to, const struct diff_sum *a,
			       const struct diff_sum *b)
{
	answer_list_uint(to, a->runs);
	answer_list_uint(to, b->runs);
	answer_list_uint(to, a->calls);
	answer_list_uint(to, b->calls);
	answer_list_uint(to, a->errors);
	answer_list_uint(to, b->errors);
	answer_list_uint(to, a->bytes);
	answer_list_uint(to, b->bytes);
	answer_list_uint(to, a->time_ns);
	answer_list_uint(to, b->time_ns);
	answer_list_uint(to, hist_quantile(&a->hist, 0.5));
	answer_list_uint(to, hist_quantile(&b->hist, 0.5));
	answer_list_uint(to, hist_quantile(&a->hist, 0.99));
	answer_list_uint(to, hist_quantile(&b->hist, 0.99));
}

/* What is compared; `t` is NULL where nothing was tested. */
static void diff_json_put_row(struct answer_list *to, const struct diff_row *row, size_t rank,
			      const struct diff_test *t, enum diff_metric m)
{
	static const char *const presences[] = {"both", "only_a", "only_b"};
	char op[32];

	if (row->listed)
		answer_list_uint(to, rank);
	else
		answer_list_null(to);
	answer_list_str(to, diff_by_word(row->by));
	answer_list_str(to, row->op >= 0 && row->op <= UINT32_MAX ? op_name((uint32_t)row->op, op)
								  : NULL);
	answer_list_str(to, row->err >= 0 ? vocab_word("err", row->err) : NULL);
	if (row->name.data)
		answer_list_text(to, row->name);
	else
		answer_list_null(to);
	answer_list_int(to, row->pattern);
	answer_list_str(to, presences[row->presence]);
	answer_list_int(to, row->changed);
	diff_json_put_sums(to, &row->side[0], &row->side[1]);
	answer_list_float(to, row->time_diff);
	answer_list_float(to, row->share);
	answer_list_str(to, t ? diff_metric_word(m) : NULL);
	answer_list_float(to, t ? t->a : NAN);
	answer_list_float(to, t ? t->b : NAN);
	answer_list_float(to, t ? exp(t->effect) : NAN);
	answer_list_float(to, t ? exp(t->low) : NAN);
	answer_list_float(to, t ? exp(t->high) : NAN);
	answer_list_float(to, t ? t->p : NAN);
	answer_list_float(to, t ? t->q : NAN);
	answer_list_int(to, t && t->changed);
}

/* A row for each test of each thing compared, and one for what was not tested. */
static int diff_rows(const struct diff *d, struct answer_list *list, struct answer *ret)
{
	*list = (struct answer_list){diff_columns, ARRAY_SIZE(diff_columns)};
	for (size_t i = 0; i < d->count; i++) {
		const struct diff_row *row = &d->rows[i];
		size_t before = list->count;

		for (unsigned int m = 0; m < DIFF_METRICS; m++) {
			if (row->test[m].tested)
				diff_json_put_row(list, row, i + 1, &row->test[m], m);
		}
		if (list->count == before)
			diff_json_put_row(list, row, i + 1, NULL, 0);
	}
	return answer_of_list(ret, list, false);
}

/* ---- what is said of the whole ---- */

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

static json_t *number(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

static json_t *shift(const struct diff *d)
{
	const struct diff_test *t = &d->shift;

	if (!t->tested)
		return json_null();
	return json_pack("{s:s, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:b}", "metric",
			 "latency of all calls", "a", number(t->a), "b", number(t->b), "ratio",
			 number(exp(t->effect)), "ratio_low", number(exp(t->low)), "ratio_high",
			 number(exp(t->high)), "p", number(t->p), "q", number(t->q),
			 "metric_changed", (int)t->changed);
}

static int put_whole(void *arg, struct buf *to, struct error *err _unused_)
{
	const struct diff_view *v = arg;
	const struct diff *d = v->diff;
	int r = json_put_member(to, "changes", json_integer((json_int_t)d->listed));

	if (r >= 0)
		r = json_put_member(to, "unit", json_string(diff_unit_text(d).s));
	if (r >= 0)
		r = json_put_member(to, "tests", json_integer((json_int_t)d->tests));
	if (r >= 0)
		r = json_put_member(to, "repeatable", json_boolean(d->repeatable));
	if (r >= 0)
		r = json_put_member(to, "all_calls", shift(d));
	if (r >= 0)
		r = json_put_member(to, "a", side(v, 0));
	return r < 0 ? r : json_put_member(to, "b", side(v, 1));
}

int diff_json(const struct diff_view *v, struct error *err)
{
	_cleanup_answer_list_ struct answer_list list = {0};
	_cleanup_answer_ struct answer rows = {0};
	int r = diff_rows(v->diff, &list, &rows);

	if (r < 0)
		return r;
	return answer_print_json(stdout, &rows,
				 &(struct answer_document){.origin = v->inputs[0].from,
							   .loss = &v->loss,
							   .put_more = put_whole,
							   .arg = (void *)v},
				 err);
}

int diff_csv(const struct diff_view *v, struct error *err)
{
	_cleanup_answer_list_ struct answer_list list = {0};
	_cleanup_answer_ struct answer rows = {0};
	int r = diff_rows(v->diff, &list, &rows);

	return r < 0 ? r : answer_csv(stdout, &rows, err);
}
