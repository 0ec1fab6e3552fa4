// SPDX-License-Identifier: Apache-2.0
/*
 * click_expr.c: translates expressions over rows to ClickHouse's SQL, for versions from 18.16 to today's.
 *
 * An integer is Nullable(Int64), flags and addresses are Nullable(UInt64), a condition is Nullable(UInt8), a code is
 * its number. An expression of a single id or code is evaluated here and becomes a set of numbers. Arithmetic that
 * overflows gives null. Overflow is detected with the same arithmetic in floats; results within 1,024 of the limits of
 * 64 bits are therefore null, too.
 *
 * ClickHouse evaluates both branches of if(), and calls functions even if an operand is null: divisors are made safe
 * first.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "engine/clickhouse/internal.h"
#include "query/eval/eval.h"
#include "schema/vocab.h"

#define TEXT_MAX  (4u << 20)	    /* bytes; operands are written twice where overflow is tested */
#define CODES_MAX 4096		    /* the largest errno of the kernel */
#define UNKNOWN	  ((1ll << 38) + 7) /* an id that no row has */

static int expr_put(struct click_writer *w, const char *text)
{
	if (w->out->len > TEXT_MAX)
		return buf_fail(w->out, -EOPNOTSUPP);
	return buf_append(w->out, text, strlen(text));
}

/* Expands "...%...@...": % and @ are the two operands, other text is copied. */
static int put_format(struct click_writer *w, const char *format, const struct expr *a,
		      const struct expr *b)
{
	for (const char *c = format; *c; c++) {
		size_t plain = strcspn(c, "%@");

		if (plain) {
			if (w->out->len > TEXT_MAX)
				buf_fail(w->out, -EOPNOTSUPP);
			else
				buf_append(w->out, c, plain);
			c += plain - 1;
		} else {
			click_expr(w, *c == '%' ? a : b);
		}
	}
	return buf_status(w->out);
}

static bool is_number(const struct expr *e)
{
	return query_kind_is_int(e->type) || e->type.type == QUERY_FLOAT ||
	       e->type.type == QUERY_BOOL || e->type.type == QUERY_NULL;
}

static bool expr_is_float(const struct expr *e)
{
	return e->type.type == QUERY_FLOAT;
}

static bool expr_is_uint(const struct expr *e)
{
	return e->type.type == QUERY_UINT;
}

/* ---- leaves ---- */

static int put_const(struct click_writer *w, struct query_kind type, const struct value *v)
{
	if (v->null || type.type == QUERY_NULL)
		return expr_put(w, "NULL");
	switch (type.type) {
	case QUERY_UINT:
		return buf_printf(w->out, "toUInt64(%" PRIu64 ")", (uint64_t)v->i);
	case QUERY_FLOAT:
		return buf_printf(w->out, "toFloat64(%.17g)", v->f);
	case QUERY_TEXT:
		return clickhouse_literal(v->t, w->out);
	case QUERY_HIST:
	case QUERY_TALLY:
	case QUERY_DISTINCT:
		return buf_fail(w->out, -EOPNOTSUPP);
	default:
		if (v->i == INT64_MIN)
			return expr_put(w, "(toInt64(-9223372036854775807) - 1)");
		return buf_printf(w->out, "toInt64(%" PRId64 ")", v->i);
	}
}

static int expr_put_column(struct click_writer *w, const struct expr *e)
{
	if (e->type.type == QUERY_HIST)
		return buf_fail(w->out, -EOPNOTSUPP);
	return clickhouse_column(w->table, e->column, w->out);
}

static int put_stop(struct click_writer *w)
{
	const struct table_def *t = schema_table(w->table);
	const char *start = t->columns[t->start].name, *dur = t->columns[t->dur].name;

	if (w->table == TABLE_OP)
		return buf_printf(w->out, "if(start_kind = %d, ended, NULL)", START_IS_BEFORE_END);
	return buf_printf(w->out, "if(isNull(`%s`) OR isNull(`%s`), NULL, ended)", start, dur);
}

/* ---- expressions of one number ---- */

static bool has_peer(const struct expr *e)
{
	if (e->kind == EXPR_ROW || e->kind == EXPR_FIELD ||
	    (e->kind == EXPR_NAME && e->name == QNAME_PEER))
		return true;
	for (unsigned int i = 0; i < e->arg_count; i++) {
		if (has_peer(e->arg[i]))
			return true;
	}
	return false;
}

int click_only_column(enum table_id table, const struct expr *e)
{
	uint64_t set = expr_columns(e);
	unsigned int column = set ? (unsigned int)__builtin_ctzll(set) : 0;
	enum column_type type = schema_table(table)->columns[column].type;

	if (!set || (set & (set - 1)) || has_peer(e))
		return -1;
	return type == COLUMN_ID || type == COLUMN_CODE ? (int)column : -1;
}

/* Maps numbers to outcomes: 0 false, 1 true, 2 unknown. */
struct outcomes {
	struct map by_value; /* number -> outcome, unless it is `other` */
	int null, other;
};

static int outcome_at(const struct vector *v, size_t row)
{
	if (v->nulls && v->nulls[row / 64] >> (row % 64) & 1)
		return 2;
	return v->i[row] != 0;
}

/* Evaluates `values` [0, n), after null and UNKNOWN. */
static int find_outcomes(struct click_writer *w, const struct expr *e, unsigned int column,
			 const int64_t *values, size_t n, struct outcomes *o)
{
	_cleanup_(eval_freep) struct eval *eval = NULL;
	_cleanup_(eval_scratch_freep) struct eval_scratch *scratch = NULL;
	_cleanup_(batch_freep) struct batch *b = NULL;
	size_t at = 0;
	int r = eval_new(&eval, &e, 1, w->err);

	if (r >= 0)
		r = eval_names(eval, w->engine->dims, w->err);
	if (r >= 0)
		r = eval_scratch_new(&scratch, eval);
	if (r >= 0)
		r = batch_new(&b, w->table);
	for (bool first = true; r >= 0 && (first || at < n); first = false) {
		struct vector v;
		size_t from = at, skip = first ? 2 : 0;

		batch_clear(b);
		for (size_t i = 0; i < skip && r >= 0; i++) {
			ssize_t row = batch_add_row(b);

			r = row < 0 ? (int)row : i ? batch_set(b, column, (size_t)row, UNKNOWN) : 0;
		}
		for (; r >= 0 && at < n && b->rows < BATCH_ROWS_MAX; at++) {
			ssize_t row = batch_add_row(b);

			r = row < 0 ? (int)row : batch_set(b, column, (size_t)row, values[at]);
		}
		if (r >= 0)
			r = eval_rows(eval, scratch, 0, b, NULL, b->rows, &v);
		if (r >= 0 && first) {
			o->null = outcome_at(&v, 0);
			o->other = outcome_at(&v, 1);
		}
		for (size_t i = from; i < at && r >= 0; i++) {
			int outcome = outcome_at(&v, i - from + skip);

			if (outcome != o->other)
				r = map_set(&o->by_value, (uint64_t)values[i], (uint64_t)outcome);
		}
	}
	return r;
}

/* All numbers that a column can hold. */
static int domain_of(struct click_writer *w, unsigned int column, int64_t **ret, size_t *ret_count)
{
	const struct table_def *t = schema_table(w->table);
	int to = schema_refers(t, column);
	bool ids = t->columns[column].type == COLUMN_ID && to >= 0 && schema_is_dimension(to);
	size_t n = ids ? dims_rows(w->engine->dims, to) : CODES_MAX;
	int64_t *values = calloc(n + 1, sizeof(*values));

	if (!values)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		values[i] = ids ? dims_id_at(w->engine->dims, to, i) : (int64_t)i;
	*ret = values;
	*ret_count = n;
	return 0;
}

/* True for the columns that are in the sort key as ifNull(column, -1): in another form the index is not used. */
static bool in_sort_key(const struct click_writer *w, unsigned int column)
{
	return w->table == TABLE_OP && (column == OP_OP || column == OP_THREAD_ID);
}

/*
 * Sorted ids of several recordings as one set, since the server evaluates a set for each recording on every row: with
 * four recordings of 2 M calls a glob of 475 files takes 0.44 s of CPU instead of 0.60 s, a single name the same as
 * before. The recordings are named for the index.
 */
static int put_composed_set(struct click_writer *w, unsigned int column, const int64_t *ids,
			    size_t n)
{
	uint64_t last = UINT64_MAX;

	expr_put(w, "(recording IN (");
	for (size_t i = 0; i < n; i++) {
		uint64_t of = id_recording(ids[i]);

		if (of != last)
			buf_printf(w->out, "%s%u", i ? "," : "", w->engine->recordings[of].number);
		last = of;
	}
	expr_put(w, ") AND ");
	click_recording_key(w->engine, w->out);
	expr_put(w, " + assumeNotNull(");
	clickhouse_column(w->table, column, w->out);
	expr_put(w, ") IN (");
	for (size_t i = 0; i < n; i++)
		buf_printf(w->out, "%s%" PRId64, i ? "," : "", ids[i]);
	return expr_put(w, "))");
}

/* "column IN (...)" with the numbers of an outcome, for ids grouped by recording. "0" if there are none. */
static int put_set(struct click_writer *w, unsigned int column, const struct outcomes *o,
		   int outcome, bool ids)
{
	_cleanup_free_ int64_t *values = calloc(o->by_value.count + 1, sizeof(*values));
	uint64_t value, is, recording = UINT64_MAX;
	size_t pos = 0, n = 0;

	if (!values)
		return buf_fail(w->out, -ENOMEM);
	while (map_next(&o->by_value, &pos, &value, &is)) {
		if ((int)is == outcome)
			values[n++] = (int64_t)value;
	}
	array_sort(values, n, order_i64);
	if (ids && !in_sort_key(w, column) && n &&
	    id_recording(values[0]) != id_recording(values[n - 1]))
		return put_composed_set(w, column, values, n);
	for (size_t i = 0; i < n; i++) {
		uint64_t of = ids ? id_recording(values[i]) : 0;

		if (of != recording) {
			expr_put(w, recording == UINT64_MAX ? "((" : ")) OR (");
			if (ids && w->engine->recording_count > 1)
				buf_printf(w->out, "recording = %u AND ",
					   w->engine->recordings[of].number);
			expr_put(w, in_sort_key(w, column) ? "ifNull(" : "assumeNotNull(");
			clickhouse_column(w->table, column, w->out);
			expr_put(w, in_sort_key(w, column) ? ", -1) IN (" : ") IN (");
		}
		buf_printf(w->out, "%s%lld", of != recording ? "" : ",",
			   (long long)(ids ? (int64_t)id_own(values[i]) : values[i]));
		recording = of;
	}
	return expr_put(w, n ? ")))" : "0");
}

/* For cases where only true matters and most numbers give another outcome: a single set of the numbers that give true. */
static int put_true(struct click_writer *w, unsigned int column, const struct outcomes *o, bool ids)
{
	if (in_sort_key(w, column))
		return put_set(w, column, o, 1, ids);
	expr_put(w, "(isNotNull(");
	clickhouse_column(w->table, column, w->out);
	expr_put(w, ") AND ");
	put_set(w, column, o, 1, ids);
	return expr_put(w, ")");
}

/* The general case: a set for each outcome other than the most frequent. */
static int expr_put_each(struct click_writer *w, unsigned int column, const struct outcomes *o,
			 bool ids)
{
	static const char *const words[] = {"0", "1", "NULL"};

	expr_put(w, "multiIf(isNull(");
	clickhouse_column(w->table, column, w->out);
	buf_printf(w->out, "), %s", words[o->null]);
	for (int outcome = 0; outcome < 3; outcome++) {
		if (outcome == o->other)
			continue;
		expr_put(w, ", ");
		put_set(w, column, o, outcome, ids);
		buf_printf(w->out, ", %s", words[outcome]);
	}
	return buf_printf(w->out, ", %s)", words[o->other]);
}

/* A condition on a single id or code. */
static int put_looked_up(struct click_writer *w, const struct expr *e, unsigned int column)
{
	bool ids = schema_table(w->table)->columns[column].type == COLUMN_ID;
	_cleanup_free_ int64_t *values = NULL;
	struct outcomes o = {0};
	size_t count;
	int r = domain_of(w, column, &values, &count);

	if (r >= 0)
		r = find_outcomes(w, e, column, values, count, &o);
	if (r >= 0)
		r = w->truth && o.null != 1 && o.other != 1 ? put_true(w, column, &o, ids)
							    : expr_put_each(w, column, &o, ids);
	map_free(&o.by_value);
	return buf_fail(w->out, r);
}

/* ---- operators ---- */

static int expr_put_compare(struct click_writer *w, const struct expr *e)
{
	static const char *const signs[] = {"(% = @)",	"(% != @)", "(% < @)",
					    "(% <= @)", "(% > @)",  "(% >= @)"};
	const struct expr *a = e->arg[0], *b = e->arg[1];
	bool texts = a->type.type == QUERY_TEXT && b->type.type == QUERY_TEXT;
	bool codes = a->type.type == QUERY_CODE && b->type.type == QUERY_CODE && a->type.vocab &&
		     b->type.vocab && !strcmp(a->type.vocab, b->type.vocab);

	if (!texts && !codes && !(is_number(a) && is_number(b)))
		return buf_fail(w->out, -EOPNOTSUPP);
	return put_format(w, signs[e->cmp], a, b);
}

static int put_in(struct click_writer *w, const struct expr *e)
{
	const struct expr *a = e->arg[0];
	bool texts = e->count && e->list[0].t.data;

	if (!is_number(a) && !(texts && a->type.type == QUERY_TEXT) && a->type.type != QUERY_CODE)
		return buf_fail(w->out, -EOPNOTSUPP);
	if (texts && a->type.type != QUERY_TEXT)
		return buf_fail(w->out, -EOPNOTSUPP);
	put_format(w, "if(isNull(%), NULL, assumeNotNull(%) IN (", a, NULL);
	for (size_t i = 0; i < e->count; i++) {
		expr_put(w, i ? ", " : "");
		if (texts)
			clickhouse_literal(e->list[i].t, w->out);
		else if (expr_is_uint(a))
			buf_printf(w->out, "%" PRIu64, (uint64_t)e->list[i].i);
		else if (expr_is_float(a))
			buf_printf(w->out, "%.17g", e->list[i].f);
		else
			buf_printf(w->out, "%" PRId64, e->list[i].i);
	}
	return expr_put(w, "))");
}

static int expr_put_range(struct click_writer *w, const struct expr *e)
{
	if (is_number(e->arg[0]) && is_number(e->arg[1]) && is_number(e->arg[2]))
		put_format(w, "(% >= @ AND ", e->arg[0], e->arg[1]);
	else
		buf_fail(w->out, -EOPNOTSUPP);
	return put_format(w, "% <= @)", e->arg[0], e->arg[2]);
}

static int put_has(struct click_writer *w, const struct expr *e)
{
	put_format(w, "(bitAnd(toUInt64(%), ", e->arg[0], NULL);
	return buf_printf(w->out, "toUInt64(%" PRIu64 ")) = toUInt64(%" PRIu64 "))", e->mask,
			  e->bits);
}

/* Float arithmetic whose result may not be finite, as text. */
static int put_float_arith(struct click_writer *w, const struct expr *e)
{
	static const char *const formats[] = {
		"(toFloat64(%) + toFloat64(@))", "(toFloat64(%) - toFloat64(@))",
		"(toFloat64(%) * toFloat64(@))", "(toFloat64(%) / toFloat64(@))"};

	/* fmod() of floats truncates in some versions */
	return e->arith == ARITH_MOD ? buf_fail(w->out, -EOPNOTSUPP)
				     : put_format(w, formats[e->arith], e->arg[0], e->arg[1]);
}

static int put_twice(struct click_writer *w, const struct expr *e, const char *before,
		     const char *between, const char *after)
{
	expr_put(w, before);
	put_float_arith(w, e);
	expr_put(w, between);
	put_float_arith(w, e);
	return expr_put(w, after);
}

static int put_rounded(struct click_writer *w, const struct expr *e)
{
	/* rounds halves away from 0, unlike round() in some versions */
	put_twice(w, e, "if(abs(", ") < 9223372036854774784., toInt64(if(", " >= 0, ");
	return put_twice(w, e, "floor(", " + 0.5), -floor(0.5 - ", "))), NULL)");
}

static int put_arith(struct click_writer *w, const struct expr *e)
{
	static const char *const formats[] = {
		"if(abs(toFloat64(%) + toFloat64(@)) < 9223372036854774784., % + @, NULL)",
		"if(abs(toFloat64(%) - toFloat64(@)) < 9223372036854774784., % - @, NULL)",
		"if(abs(toFloat64(%) * toFloat64(@)) < 9223372036854774784., % * @, NULL)", NULL,
		"if(ifNull(@, 0) = 0, NULL, toInt64(modulo(%, if(ifNull(@, 0) = 0, 1, "
		"assumeNotNull(@)))))"};

	if (!is_number(e->arg[0]) || !is_number(e->arg[1]))
		return buf_fail(w->out, -EOPNOTSUPP);
	if (expr_is_float(e))
		return put_twice(w, e, "if(isFinite(", "), ", ", NULL)");
	if (expr_is_uint(e) || expr_is_uint(e->arg[0]) || expr_is_uint(e->arg[1]))
		return buf_fail(w->out, -EOPNOTSUPP);
	if (e->arith == ARITH_DIV || expr_is_float(e->arg[0]) || expr_is_float(e->arg[1]))
		return put_rounded(w, e);
	return put_format(w, formats[e->arith], e->arg[0], e->arg[1]);
}

static int put_neg(struct click_writer *w, const struct expr *e)
{
	if (expr_is_uint(e) || !is_number(e->arg[0]))
		return buf_fail(w->out, -EOPNOTSUPP);
	return expr_is_float(e)
		       ? put_format(w, "(-%)", e->arg[0], NULL)
		       : put_format(w, "if(% = toInt64(-9223372036854775807) - 1, NULL, -%)",
				    e->arg[0], NULL);
}

/* ---- functions ---- */

/* Rounds a down to a multiple of a positive constant. */
static int put_bucket(struct click_writer *w, const struct expr *a, int64_t width)
{
	put_format(w, "(% - modulo(modulo(%, ", a, NULL);
	return buf_printf(w->out, "toInt64(%lld)) + toInt64(%lld), toInt64(%lld)))",
			  (long long)width, (long long)width, (long long)width);
}

static int expr_put_clock(struct click_writer *w, const struct expr *a, int64_t unit, int64_t of)
{
	expr_put(w, "toInt64(modulo(modulo(intDiv(");
	put_bucket(w, a, unit);
	return buf_printf(w->out, ", toInt64(%lld)), %lld) + %lld, %lld))", (long long)unit,
			  (long long)of, (long long)of, (long long)of);
}

static int expr_put_call(struct click_writer *w, const struct expr *e)
{
	const struct expr *a = e->arg[0], *b = e->arg_count > 1 ? e->arg[1] : NULL;
	bool constant = b && b->kind == EXPR_CONST && !b->value.null;

	if (!is_number(a) || (b && !is_number(b)))
		return buf_fail(w->out, -EOPNOTSUPP);
	switch (e->function) {
	case FUNCTION_BUCKET:
		return constant && !expr_is_float(e) && !expr_is_uint(a) && b->value.i > 0 &&
				       b->value.i < INT64_MAX / 2
			       ? put_bucket(w, a, b->value.i)
			       : buf_fail(w->out, -EOPNOTSUPP);
	case FUNCTION_LOG2:
		return expr_is_float(e) || expr_is_uint(a)
			       ? buf_fail(w->out, -EOPNOTSUPP)
			       : put_format(w, "if(% < 0, NULL, toInt64(roundToExp2(toUInt64(%))))",
					    a, NULL);
	case FUNCTION_HOUR:
		return expr_put_clock(w, a, 3600000000000ll, 24);
	case FUNCTION_MINUTE:
		return expr_put_clock(w, a, 60000000000ll, 60);
	case FUNCTION_ABS:
		return expr_is_float(e) ? put_format(w, "abs(%)", a, NULL)
		       : expr_is_uint(e)
			       ? click_expr(w, a)
			       : put_format(w,
					    "if(% = toInt64(-9223372036854775807) - 1, NULL, "
					    "toInt64(abs(%)))",
					    a, NULL);
	case FUNCTION_BITAND:
		return put_format(w,
				  expr_is_uint(e) ? "bitAnd(toUInt64(%), toUInt64(@))"
						  : "bitAnd(toInt64(%), toInt64(@))",
				  a, b);
	case FUNCTION_BITOR:
		return put_format(w,
				  expr_is_uint(e) ? "bitOr(toUInt64(%), toUInt64(@))"
						  : "bitOr(toInt64(%), toInt64(@))",
				  a, b);
	case FUNCTION_COALESCE:
		return expr_is_uint(a) == expr_is_uint(b) && expr_is_float(a) == expr_is_float(b)
			       ? put_format(w, "ifNull(%, @)", a, b)
			       : buf_fail(w->out, -EOPNOTSUPP);
	default:
		return buf_fail(w->out, -EOPNOTSUPP);
	}
}

static int put_case(struct click_writer *w, const struct expr *e)
{
	const struct expr *a = e->arg[1], *b = e->arg[2];
	bool alike = expr_is_float(a) == expr_is_float(b) && expr_is_uint(a) == expr_is_uint(b);

	if (is_number(a) && is_number(b) &&
	    (alike || a->type.type == QUERY_NULL || b->type.type == QUERY_NULL))
		put_format(w, "if(ifNull(%, 0) != 0, ", e->arg[0], NULL);
	else
		buf_fail(w->out, -EOPNOTSUPP);
	return put_format(w, "%, @)", a, b);
}

int click_expr(struct click_writer *w, const struct expr *e)
{
	int column = e->kind == EXPR_CONST ? -1 : click_only_column(w->table, e);

	if (buf_status(w->out) < 0)
		return buf_status(w->out); /* sets of ids are dear */
	if (e->type.type == QUERY_BOOL && column >= 0 && e->kind != EXPR_IS_NULL) {
		put_looked_up(w, e, (unsigned int)column);
		w->truth = false;
		return buf_status(w->out);
	}
	/* operands may be negated */
	w->truth = false;
	switch (e->kind) {
	case EXPR_CONST:
		return put_const(w, e->type, &e->value);
	case EXPR_COLUMN:
		return expr_put_column(w, e);
	case EXPR_STOP:
		return put_stop(w);
	case EXPR_NOT:
		return put_format(w, "NOT (%)", e->arg[0], NULL);
	case EXPR_NEG:
		return put_neg(w, e);
	case EXPR_IS_NULL:
		return e->arg[0]->kind == EXPR_COLUMN || column < 0
			       ? put_format(w, "isNull(%)", e->arg[0], NULL)
			       : put_looked_up(w, e, (unsigned int)column);
	case EXPR_AND:
		return put_format(w, "(% AND @)", e->arg[0], e->arg[1]);
	case EXPR_OR:
		return put_format(w, "(% OR @)", e->arg[0], e->arg[1]);
	case EXPR_COMPARE:
		return expr_put_compare(w, e);
	case EXPR_IN:
		return put_in(w, e);
	case EXPR_RANGE:
		return expr_put_range(w, e);
	case EXPR_HAS:
		return put_has(w, e);
	case EXPR_ARITH:
		return put_arith(w, e);
	case EXPR_CALL:
		return expr_put_call(w, e);
	case EXPR_CASE:
		return put_case(w, e);
	default:
		return buf_fail(w->out, -EOPNOTSUPP);
	}
}

/* ---- buckets ---- */

/* Buckets of hist_bucket() are as wide as a 16th of the greatest power of two below, and at least 1. */
int click_hist_least(struct click_writer *w, const struct expr *e)
{
	_cleanup_buf_ struct buf x = {0};
	struct click_writer inner = *w;

	if (!is_number(e) || expr_is_float(e) || expr_is_uint(e))
		return buf_fail(w->out, -EOPNOTSUPP);
	inner.out = &x;
	buf_fail(w->out, click_expr(&inner, e));
	return buf_printf(
		w->out,
		"bitAnd(ifNull(greatest(%s, 0), -1), "
		"-toInt64(greatest(bitShiftRight(roundToExp2(toUInt64(ifNull(greatest(%s, "
		"0), -1))), 4), 1)))",
		buf_str(&x), buf_str(&x));
}

int click_tally_bucket(struct click_writer *w, const struct plan_field *f)
{
	const int64_t *p = f->param;
	const struct expr *e = f->expr;

	if (!is_number(e) || expr_is_float(e) || expr_is_uint(e))
		return buf_fail(w->out, -EOPNOTSUPP);
	switch (f->aggregate) {
	case AGGREGATE_QUANTIZE:
		return put_format(
			w,
			"if(% < 0, -toInt64(roundToExp2(toUInt64(-ifNull(%, 0))) * 2 - 1), "
			"toInt64(roundToExp2(toUInt64(%))))",
			e, NULL);
	case AGGREGATE_LQUANTIZE:
		put_format(w, "multiIf(isNull(%), NULL, ", e, NULL);
		put_format(w, "% < ", e, NULL);
		buf_printf(w->out, "toInt64(%lld), toInt64(-9223372036854775807) - 1, ",
			   (long long)p[0]);
		put_format(w, "% >= ", e, NULL);
		buf_printf(w->out, "toInt64(%lld), toInt64(%lld), toInt64(%lld) + intDiv(",
			   (long long)p[1], (long long)p[1], (long long)p[0]);
		put_format(w, "% - ", e, NULL);
		return buf_printf(w->out, "toInt64(%lld), toInt64(%lld)) * toInt64(%lld))",
				  (long long)p[0], (long long)p[2], (long long)p[2]);
	default:
		return buf_fail(w->out, -EOPNOTSUPP);
	}
}

/* ---- filters ---- */

/* Days outside the range are not read: days are partitions. */
static int64_t click_day(int64_t t, int64_t more)
{
	int64_t day = t / CLICKHOUSE_DAY_NS + more;

	day = MAX(day, (int64_t)0);
	return t < 0 ? 0 : MIN(day, (int64_t)CLICKHOUSE_DAY_NONE);
}

/* Limits a table made after recording to rows that ended in the range, as defined by order.h. */
static int put_made_range(struct click_writer *w, int64_t from, int64_t to)
{
	const struct table_def *t = schema_table(w->table);
	const char *start = t->columns[t->stop != NO_COLUMN ? t->stop : t->start].name;
	const char *dur =
		t->stop == NO_COLUMN && t->dur != NO_COLUMN ? t->columns[t->dur].name : NULL;
	char end[160];

	snprintf(end, sizeof(end), dur ? "`%s` + `%s`" : "`%s`", start, dur);
	buf_printf(w->out, " AND isNotNull(%s)", end);
	if (from != INT64_MIN)
		buf_printf(w->out, " AND %s >= %lld", end, (long long)from);
	if (to != INT64_MAX)
		buf_printf(w->out, " AND %s < %lld", end, (long long)to);
	return buf_status(w->out);
}

/* Limits a table made from a file to its newest complete generation. */
static int put_made(struct click_writer *w, int64_t from, int64_t to)
{
	int r = buf_printf(w->out,
			   " AND (recording, ended) IN (SELECT recording, max(generation) FROM "
			   "made WHERE name = '%s' GROUP BY recording, part)",
			   schema_table(w->table)->name);

	if (r < 0 || (from == INT64_MIN && to == INT64_MAX) || !schema_end_columns(w->table))
		return r;
	return put_made_range(w, from, to);
}

static int put_time_range(struct click_writer *w, int64_t from, int64_t to)
{
	const struct table_def *t = schema_table(w->table);

	if (t->kind == TABLE_IS_MADE)
		return put_made(w, from, to);
	if ((from == INT64_MIN && to == INT64_MAX) || schema_is_dimension(w->table) ||
	    !schema_end_columns(w->table))
		return 0;
	if (w->table == TABLE_OP)
		buf_printf(w->out, " AND start_kind = %d", START_IS_BEFORE_END);
	else if (t->stop != NO_COLUMN)
		buf_printf(w->out, " AND isNotNull(`%s`)", t->columns[t->stop].name);
	else
		buf_printf(w->out, " AND isNotNull(`%s`)", t->columns[t->start].name);
	if (w->table != TABLE_OP && t->stop == NO_COLUMN && t->dur != NO_COLUMN)
		buf_printf(w->out, " AND isNotNull(`%s`)", t->columns[t->dur].name);
	if (from != INT64_MIN)
		buf_printf(w->out,
			   " AND ended >= %lld AND (day >= toDate(%lld) OR day = toDate(%d))",
			   (long long)from, (long long)click_day(from, -1), CLICKHOUSE_DAY_NONE);
	if (to != INT64_MAX)
		buf_printf(w->out,
			   " AND ended < %lld AND (day <= toDate(%lld) OR day = toDate(%d))",
			   (long long)to, (long long)click_day(to, 0), CLICKHOUSE_DAY_NONE);
	return buf_status(w->out);
}

static int expr_put_parts(struct click_writer *w, const struct expr *e, bool *all)
{
	_cleanup_buf_ struct buf text = {0};
	struct click_writer inner = *w;
	int r;

	if (e->kind == EXPR_AND && click_only_column(w->table, e) < 0) {
		r = expr_put_parts(w, e->arg[0], all);
		return r < 0 ? r : expr_put_parts(w, e->arg[1], all);
	}
	inner.out = &text;
	inner.truth = true;
	r = click_expr(&inner, e);
	if (r == -EOPNOTSUPP) {
		*all = false;
		return 0;
	}
	if (r < 0)
		return r;
	buf_printf(w->out, " AND (");
	buf_append(w->out, text.data, text.len);
	return expr_put(w, ")");
}

int click_where(struct click_writer *w, const struct expr *where, int64_t from, int64_t to,
		bool *ret_all)
{
	int r = buf_printf(w->out, " WHERE 1%s", buf_str(&w->engine->hosts));

	*ret_all = true;
	if (r >= 0)
		r = put_time_range(w, from, to);
	return r < 0 || !where ? r : expr_put_parts(w, where, ret_all);
}
