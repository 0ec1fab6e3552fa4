// SPDX-License-Identifier: Apache-2.0
/* diff_answer.c: output of a comparison as rows and as members of a document. */
#include <math.h>
#include <string.h>

#include "analysis/diff/compare_runs.h"
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
	{"runs_a", {QUERY_INT}, ANSWER_COUNT},
	{"runs_b", {QUERY_INT}, ANSWER_COUNT},
	{"calls_a", {QUERY_INT}, ANSWER_COUNT},
	{"calls_b", {QUERY_INT}, ANSWER_COUNT},
	{"errors_a", {QUERY_INT}, ANSWER_COUNT},
	{"errors_b", {QUERY_INT}, ANSWER_COUNT},
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

static void diff_answer_put_sums(struct answer_list *to, const struct diff_sum *a,
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
	answer_list_uint(to, diff_sum_quantile(a, 0.5));
	answer_list_uint(to, diff_sum_quantile(b, 0.5));
	answer_list_uint(to, diff_sum_quantile(a, 0.99));
	answer_list_uint(to, diff_sum_quantile(b, 0.99));
}

/* Adds a row for a metric; `t` is NULL if there was no test. */
static void diff_answer_put_row(struct answer_list *to, const struct diff_row *row, size_t rank,
				const struct diff_test *t, enum diff_metric m)
{
	static const char *const presences[] = {"both", "only_a", "only_b"};
	char op[32];

	answer_list_if(to, row->listed, (int64_t)rank);
	answer_list_str(to, diff_by_word(row->by));
	answer_list_str(to, row->op >= 0 && row->op <= UINT32_MAX ? op_name((uint32_t)row->op, op)
								  : NULL);
	answer_list_str(to, row->err >= 0 ? vocab_word("err", row->err) : NULL);
	answer_list_some(to, row->name.data ? row->name : (struct bytes){0});
	answer_list_int(to, row->pattern);
	answer_list_str(to, presences[row->presence]);
	answer_list_int(to, row->changed);
	diff_answer_put_sums(to, &row->side[0], &row->side[1]);
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

int diff_rows(const struct diff *d, struct analysis_result *to)
{
	struct answer_list *list =
		analysis_table(to, "changes", diff_columns, ARRAY_SIZE(diff_columns));

	for (size_t i = 0; i < d->count; i++) {
		const struct diff_row *row = &d->rows[i];
		size_t before = list->count;

		for (unsigned int m = 0; m < DIFF_METRICS; m++) {
			if (row->test[m].tested)
				diff_answer_put_row(list, row, i + 1, &row->test[m], m);
		}
		if (list->count == before)
			diff_answer_put_row(list, row, i + 1, NULL, 0);
	}
	return list->error;
}

/* ---- overall results ---- */

int diff_put_unit(struct buf *to, const struct diff *d)
{
	char op[32];

	if (d->unit == DIFF_UNIT_OP)
		return buf_printf(to, "%.40s call", op_name((uint32_t)d->unit_op, op));
	return buf_printf(to, "%s", d->unit == DIFF_UNIT_SECOND ? "second" : "run");
}

struct diff_member {
	const char *name;
	enum query_type type;
	struct value v;
};

/* Appends each as `"name": value`, with a comma before all but the first of the object. */
static int diff_answer_put(struct buf *to, const struct diff_member *members, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const struct answer_column c = {.kind = {.type = members[i].type}};
		bool first = to->len && to->data[to->len - 1] == '{';

		buf_printf(to, "%s\"%s\": ", first ? "" : ", ", members[i].name);
		answer_json_value(to, &c, &members[i].v, 0);
	}
	return buf_status(to);
}

static int diff_answer_put_run(struct buf *to, const struct analysis_run *run)
{
	const struct diff_member members[] = {
		{"path", QUERY_TEXT, {.t = bytes_of(run->name)}},
		{"dur", QUERY_INT, {.i = run->last - run->first}},
	};

	buf_printf(to, "%s{", to->len && to->data[to->len - 1] == '[' ? "" : ", ");
	diff_answer_put(to, members, ARRAY_SIZE(members));
	return buf_printf(to, ", \"loss\": %.*s}", (int)run->loss.len,
			  (const char *)run->loss.data);
}

static int diff_answer_put_side(struct buf *to, const struct analysis_input *in,
				const struct diff *d, unsigned int side)
{
	const struct diff_member members[] = {
		{"work", QUERY_FLOAT, {.f = d->work[side]}},
		{"too_much_lost", QUERY_BOOL, {.i = d->lossy[side]}},
		{"io_time", QUERY_FLOAT, {.f = d->io[side].time}},
		{"waiting_time", QUERY_FLOAT, {.f = d->waiting[side].time}},
		{"other_time", QUERY_FLOAT, {.f = d->other[side].time}},
	};

	buf_printf(to, ",\n\"%c\": {\"runs\": [", side ? 'b' : 'a');
	for (size_t i = 0; i < in->count; i++) {
		if (in->runs[i].side == side)
			diff_answer_put_run(to, &in->runs[i]);
	}
	buf_printf(to, "]");
	diff_answer_put(to, members, ARRAY_SIZE(members));
	return buf_printf(to, "}");
}

static int diff_answer_put_shift(struct buf *to, const struct diff_test *t)
{
	const struct diff_member members[] = {
		{"metric", QUERY_TEXT, {.t = bytes_of("latency of all calls")}},
		{"a", QUERY_FLOAT, {.f = t->a}},
		{"b", QUERY_FLOAT, {.f = t->b}},
		{"ratio", QUERY_FLOAT, {.f = exp(t->effect)}},
		{"ratio_low", QUERY_FLOAT, {.f = exp(t->low)}},
		{"ratio_high", QUERY_FLOAT, {.f = exp(t->high)}},
		{"p", QUERY_FLOAT, {.f = t->p}},
		{"q", QUERY_FLOAT, {.f = t->q}},
		{"metric_changed", QUERY_BOOL, {.i = t->changed}},
	};
	int r = buf_printf(to, ",\n\"all_calls\": %s", t->tested ? "{" : "null");

	if (r < 0 || !t->tested)
		return r;
	diff_answer_put(to, members, ARRAY_SIZE(members));
	return buf_printf(to, "}");
}

int diff_put_members(const struct analysis_input *in, const struct analysis_result *result,
		     struct buf *to)
{
	const struct diff *d = result->own;
	_cleanup_buf_ struct buf unit = {0};
	int r = diff_put_unit(&unit, d);
	const struct diff_member members[] = {
		{"changes", QUERY_INT, {.i = (int64_t)d->listed}},
		{"unit", QUERY_TEXT, {.t = buf_bytes(&unit)}},
		{"tests", QUERY_INT, {.i = (int64_t)d->tests}},
		{"repeatable", QUERY_BOOL, {.i = d->repeatable}},
	};

	if (r < 0)
		return r;
	r = diff_answer_put(to, members, ARRAY_SIZE(members));
	if (r < 0)
		return r;
	r = diff_answer_put_shift(to, &d->shift);
	if (r < 0)
		return r;
	for (unsigned int side = 0; side < 2; side++) {
		r = diff_answer_put_side(to, in, d, side);
		if (r < 0)
			return r;
	}
	return r;
}
