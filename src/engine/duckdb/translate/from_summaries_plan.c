// SPDX-License-Identifier: Apache-2.0
/* from_summaries_plan.c: which plans summaries of blocks can answer, and the plans' aggregates over summaries. */
#include "engine/duckdb/translate/from_summaries.h"

#include <errno.h>
#include <string.h>

#include "sums/rollup.h"

/* True if all calls of a group have the same value of the expression. */
static bool is_of_group(const struct expr *e)
{
	if (e->kind == EXPR_STOP || e->kind == EXPR_FIELD || e->kind == EXPR_ROW)
		return false;
	if (e->kind == EXPR_CONST)
		return true;
	if (e->kind == EXPR_COLUMN)
		return e->column == OP_OP || e->column == OP_CLASS || e->column == OP_ERR ||
		       e->column == OP_THREAD_ID || e->column == OP_FILE_ID;
	if (e->kind == EXPR_NAME)
		return e->name == QNAME_PEER || e->column == OP_THREAD_ID ||
		       e->column == OP_FILE_ID;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (!is_of_group(e->arg[i]))
			return false;
	}
	return true;
}

/* bucket(stop, a multiple of the summary's windows) */
static bool is_window(const struct expr *e)
{
	return e->kind == EXPR_CALL && e->function == FUNCTION_BUCKET && e->arg_count == 2 &&
	       e->arg[0]->kind == EXPR_STOP && e->arg[1]->kind == EXPR_CONST &&
	       !e->arg[1]->value.null && e->arg[1]->value.i > 0 &&
	       query_kind_is_int(e->arg[1]->type) && e->arg[1]->value.i % SUMMARY_WINDOW_NS == 0;
}

static bool from_summaries_plan_is_column(const struct expr *e, unsigned int column)
{
	return e && e->kind == EXPR_COLUMN && e->column == column;
}

static bool is_summed(const struct expr *e)
{
	return from_summaries_plan_is_column(e, OP_BYTES) ||
	       from_summaries_plan_is_column(e, OP_DUR);
}

static bool aggregate_answers(const struct plan_field *f)
{
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
	case AGGREGATE_COUNTIF:
		return !f->expr || is_of_group(f->expr);
	case AGGREGATE_RATE:
		return !f->expr || is_summed(f->expr);
	case AGGREGATE_SUM:
	case AGGREGATE_AVG:
	case AGGREGATE_BUSY: /* must be divided between windows for calls that cross an edge */
		return is_summed(f->expr);
	case AGGREGATE_MAX:
		return from_summaries_plan_is_column(f->expr, OP_DUR) || is_of_group(f->expr);
	case AGGREGATE_MIN:
	case AGGREGATE_ANY:
	case AGGREGATE_DISTINCT:
		return is_of_group(f->expr);
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		return from_summaries_plan_is_column(f->expr, OP_DUR);
	default:
		return false;
	}
}

bool from_summaries_answer(const struct plan *p)
{
	if (p->table != TABLE_OP || !p->grouped || (p->where && !is_of_group(p->where)))
		return false;
	for (size_t i = 0; i < p->field_count; i++) {
		const struct plan_field *f = &p->fields[i];
		bool answers = f->kind == FIELD_AGGREGATE
				       ? aggregate_answers(f)
				       : is_of_group(f->expr) || is_window(f->expr);

		if (!answers)
			return false;
	}
	return true;
}

const char *from_summaries_column(const struct plan_field *f)
{
	if (f->kind != FIELD_AGGREGATE)
		return NULL;
	if (!f->expr)
		return "row_calls";
	switch (f->aggregate) {
	case AGGREGATE_SUM:
	case AGGREGATE_BUSY:
	case AGGREGATE_AVG:
	case AGGREGATE_RATE:
		return from_summaries_plan_is_column(f->expr, OP_BYTES) ? "row_bytes" : "row_time";
	case AGGREGATE_MAX:
		return from_summaries_plan_is_column(f->expr, OP_DUR) ? "row_max" : NULL;
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		return "row_hist";
	default:
		return NULL;
	}
}

bool from_summaries_differ(const struct plan_field *f)
{
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
	case AGGREGATE_COUNTIF:
	case AGGREGATE_AVG:
	case AGGREGATE_PERCENTILE:
	case AGGREGATE_HIST:
		return true;
	case AGGREGATE_RATE:
		return !f->expr;
	default:
		return false;
	}
}

/* The number of calls; `which` selects some. */
static int write_calls(const char *which, const char *arg, const char *more, struct buf *out)
{
	return buf_printf(out, "coalesce(TRY_CAST(sum(row_calls)%s%s%s AS BIGINT), 0)", which, arg,
			  more);
}

/* The result of round(avg()) over the calls in integer arithmetic: ties round away from 0. */
static int from_summaries_plan_write_mean(const char *arg, struct buf *out)
{
	return buf_printf(out,
			  "TRY_CAST(sign(sum(%s)) * ((2 * abs(sum(%s)) + sum(row_calls) FILTER "
			  "(WHERE %s IS NOT NULL)) // (2 * sum(row_calls) FILTER (WHERE %s IS NOT "
			  "NULL))) AS BIGINT)",
			  arg, arg, arg, arg);
}

int from_summaries_aggregate(const struct plan_field *f, const char *arg,
			     const struct aggregate_place *place, struct buf *out)
{
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
		return f->expr ? write_calls(" FILTER (WHERE ", arg, " IS NOT NULL)", out)
			       : write_calls("", "", "", out);
	case AGGREGATE_COUNTIF:
		return write_calls(" FILTER (WHERE ", arg, ")", out);
	case AGGREGATE_RATE:
		if (!(place->seconds > 0))
			return buf_printf(out, "NULL::DOUBLE");
		return buf_printf(out, "coalesce(sum(row_calls), 0) / '%.17g'::DOUBLE",
				  place->seconds);
	case AGGREGATE_AVG:
		return from_summaries_plan_write_mean(arg, out);
	case AGGREGATE_HIST:
		return buf_printf(out, "hist_merge(%s)", arg);
	case AGGREGATE_PERCENTILE:
		return buf_printf(out, "least(hist_quantile(hist_merge(%s), %.15g), max(%s))", arg,
				  f->quantile, place->max);
	default:
		return -EINVAL;
	}
}
