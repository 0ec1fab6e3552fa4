// SPDX-License-Identifier: Apache-2.0
/*
 * click_group.c: runs a grouped plan as one statement, whose rows are partial groups, and adds these up here.
 *
 *   by comm | count(), p99(dur)
 *   SELECT thread_id, recording, bucket of dur, count(), max(dur) FROM op GROUP BY 1, 2, 3
 *
 * A key that depends on an id is grouped by the id and looked up here; a percentile is grouped by the least value of its
 * argument's bucket, distinct() by its value. A single statement sees a consistent state of the table.
 *
 * Grouping by numbers that are not nullable, and by one rather than two, takes half the time. So an id or a code is
 * KEY_NONE if it is null, and with several recordings an id contains the index of its recording: index << ID_SHIFT + id.
 */
#include <errno.h>
#include <string.h>

#include "batch/ids.h"
#include "batch/seconds.h"
#include "engine/clickhouse/internal.h"
#include "hist/hist.h"
#include "query/eval/eval.h"
#include "schema/ops.h"

#define PLACES	 10			    /* maximum number of columns that a field reads */
#define KEY_NONE (-(1ll << (ID_SHIFT - 1))) /* the least number of ID_SHIFT bits */

/* The columns of the statement's rows that belong to a field. */
struct part_field {
	int looked_up;		/* column from which its value is looked up; -1: none */
	size_t expr;		/* index of its expression in `eval`, if looked up */
	bool is_key;		/* null is KEY_NONE in its dimension */
	size_t columns[PLACES]; /* columns of the answer, by purpose */
	struct vector values;	/* for the current block */
};

struct group_query {
	struct click_engine *engine;
	const struct plan *p;
	const struct local_env *env;
	char **columns; /* the SELECT list without duplicates */
	size_t column_count, column_cap;
	size_t dims;	    /* number of dimensions, which come first */
	size_t lookups[64]; /* column of the table -> column of the answer + 1; 0: none */
	struct part_field *fields;
	struct eval *eval;
	struct eval_scratch *scratch;
	struct batch *ids;
	struct value *cells;
	size_t weight;	   /* column of the answer */
	const char *where; /* WHERE clause while the statement is written */
};

static void group_query_free(struct group_query *g)
{
	for (size_t i = 0; i < g->column_count; i++)
		free(g->columns[i]);
	free(g->columns);
	free(g->fields);
	free(g->cells);
	eval_scratch_free(g->scratch);
	eval_free(g->eval);
	batch_free(g->ids);
}

/* ---- the statement ---- */

static int add_column(struct group_query *g, const char *text, size_t *ret)
{
	int r;

	for (*ret = 0; *ret < g->column_count; (*ret)++) {
		if (!strcmp(g->columns[*ret], text))
			return 0;
	}
	r = grow((void **)&g->columns, &g->column_cap, g->column_count + 1, sizeof(*g->columns));
	if (r < 0)
		return r;
	g->columns[g->column_count] = strdup(text);
	if (!g->columns[g->column_count])
		return -ENOMEM;
	g->column_count++;
	return 0;
}

static int add_format(struct group_query *g, size_t *ret, const char *fmt, const char *x)
{
	_cleanup_buf_ struct buf text = {0};
	int r = 0;

	for (const char *c = fmt; *c && r >= 0; c++)
		r = *c == '%'	? buf_printf(&text, "%s", x)
		    : *c == '$' ? click_recording_order(g->engine, &text)
				: buf_append(&text, c, 1);
	return r < 0 ? r : add_column(g, buf_str(&text), ret);
}

static int expr_sql(struct group_query *g, const struct expr *e, struct buf *out)
{
	struct click_writer w = {.engine = g->engine, .table = g->p->table, .out = out};

	return click_expr(&w, e);
}

static bool is_text(const struct expr *e)
{
	return e->type.type == QUERY_TEXT || e->type.type == QUERY_ENTITY ||
	       e->type.type == QUERY_CODE;
}

/* Across recordings the server has equal ids for different things. */
static bool id_has_recording(const struct group_query *g, unsigned int column)
{
	return g->engine->recording_count > 1 &&
	       schema_table(g->p->table)->columns[column].type == COLUMN_ID;
}

/* True if the expression depends on such an id alone. */
static bool is_of_id(const struct group_query *g, const struct expr *e)
{
	int column = click_only_column(g->p->table, e);

	return column >= 0 && id_has_recording(g, (unsigned int)column);
}

/* Adds an id or a code as a number. */
static int click_group_add_key(struct group_query *g, unsigned int column, size_t *ret)
{
	const struct click_engine *e = g->engine;
	_cleanup_buf_ struct buf text = {0};
	int r;

	if (id_has_recording(g, column)) {
		click_recording_key(e, &text);
		buf_printf(&text, " + ");
	}
	buf_printf(&text, "ifNull(");
	clickhouse_column(g->p->table, column, &text);
	r = buf_printf(&text, ", %lld)", KEY_NONE);
	return r < 0 ? r : add_column(g, buf_str(&text), ret);
}

/* Adds the dimension of a field: its expression as SQL, or the id or code from which it is looked up. */
static int add_dimension(struct group_query *g, size_t i)
{
	const struct plan_field *f = &g->p->fields[i];
	struct part_field *part = &g->fields[i];
	_cleanup_buf_ struct buf text = {0};
	bool code = f->expr->kind == EXPR_COLUMN && f->expr->type.type == QUERY_CODE;
	int column = click_only_column(g->p->table, f->expr), r;

	if (code) {
		part->is_key = true;
		return click_group_add_key(g, f->expr->column, &part->columns[0]);
	}
	if (!is_text(f->expr) && !is_of_id(g, f->expr) && expr_sql(g, f->expr, &text) >= 0)
		return add_column(g, buf_str(&text), &part->columns[0]);
	if (f->expr->kind == EXPR_COLUMN && f->expr->type.type == QUERY_TEXT) {
		buf_clear(&text);
		r = clickhouse_column(g->p->table, f->expr->column, &text);
		return r < 0 ? r : add_column(g, buf_str(&text), &part->columns[0]);
	}
	if (column < 0)
		return -EOPNOTSUPP;
	part->looked_up = column;
	r = click_group_add_key(g, (unsigned int)column, &part->columns[0]);
	if (r < 0)
		return r;
	g->lookups[column] = part->columns[0] + 1;
	return 0;
}

/* Fields that group by the value itself, or by its bucket. */
static bool click_group_by_value(const struct plan_field *f)
{
	return f->kind != FIELD_AGGREGATE || f->aggregate == AGGREGATE_DISTINCT;
}

static bool by_hist_bucket(const struct plan_field *f)
{
	return f->kind == FIELD_AGGREGATE &&
	       (f->aggregate == AGGREGATE_PERCENTILE || f->aggregate == AGGREGATE_HIST);
}

static bool by_bucket(const struct plan_field *f)
{
	return by_hist_bucket(f) ||
	       (f->kind == FIELD_AGGREGATE &&
		(f->aggregate == AGGREGATE_QUANTIZE || f->aggregate == AGGREGATE_LQUANTIZE ||
		 f->aggregate == AGGREGATE_LLQUANTIZE));
}

static int add_bucket(struct group_query *g, size_t i)
{
	const struct plan_field *f = &g->p->fields[i];
	_cleanup_buf_ struct buf text = {0};
	struct click_writer w = {.engine = g->engine, .table = g->p->table, .out = &text};
	int r = by_hist_bucket(f) ? click_hist_least(&w, f->expr) : click_tally_bucket(&w, f);

	return r < 0 ? r : add_column(g, buf_str(&text), &g->fields[i].columns[0]);
}

/* Adds all dimensions before the aggregates. */
static int add_dimensions(struct group_query *g)
{
	int r = 0;

	for (size_t i = 0; i < g->p->field_count && r >= 0; i++) {
		const struct plan_field *f = &g->p->fields[i];

		g->fields[i].looked_up = -1;
		if (click_group_by_value(f))
			r = add_dimension(g, i);
		else if (by_bucket(f))
			r = add_bucket(g, i);
		/* looked up, and weighted with the count */
		else if (f->expr && f->aggregate != AGGREGATE_COUNTIF &&
			 (is_text(f->expr) || click_only_column(g->p->table, f->expr) >= 0) &&
			 (f->expr->kind != EXPR_COLUMN || is_of_id(g, f->expr)))
			r = add_dimension(g, i);
		else if (f->expr && f->expr->kind == EXPR_COLUMN && is_text(f->expr))
			r = add_dimension(g, i);
	}
	g->dims = g->column_count;
	return r;
}

static bool is_dimension(const struct plan_field *f, const struct part_field *part)
{
	return click_group_by_value(f) || by_bucket(f) || part->looked_up >= 0 ||
	       (f->expr && f->expr->kind == EXPR_COLUMN && is_text(f->expr));
}

/* $ is replaced with the order of recordings. */
#define ORDER_TUPLE "(ended, $, block_no, row_no)"

static int add_ends(struct group_query *g, struct part_field *part, const char *x, bool first)
{
	static const char *const names[2][6] = {
		{"tupleElement(argMax((toUInt8(isNull(%)), ifNull(%, 0)), " ORDER_TUPLE "), 1)",
		 "tupleElement(argMax((toUInt8(isNull(%)), ifNull(%, 0)), " ORDER_TUPLE "), 2)",
		 "tupleElement(max(" ORDER_TUPLE "), 1)", "tupleElement(max(" ORDER_TUPLE "), 2)",
		 "tupleElement(max(" ORDER_TUPLE "), 3)", "tupleElement(max(" ORDER_TUPLE "), 4)"},
		{"tupleElement(argMin((toUInt8(isNull(%)), ifNull(%, 0)), " ORDER_TUPLE "), 1)",
		 "tupleElement(argMin((toUInt8(isNull(%)), ifNull(%, 0)), " ORDER_TUPLE "), 2)",
		 "tupleElement(min(" ORDER_TUPLE "), 1)", "tupleElement(min(" ORDER_TUPLE "), 2)",
		 "tupleElement(min(" ORDER_TUPLE "), 3)", "tupleElement(min(" ORDER_TUPLE "), 4)"}};
	int r = 0;

	for (size_t i = 0; i < 6 && r >= 0; i++)
		r = add_format(g, &part->columns[1 + i], names[first][i], x);
	return r;
}

/* Sums of whole numbers have 128 bits. Of no value they are null. */
static int add_sum(struct group_query *g, struct part_field *part, const struct expr *e,
		   const char *x)
{
	return add_format(
		g, &part->columns[2],
		e->type.type == QUERY_FLOAT ? "sum(toFloat64(%))" : "sum(toDecimal64(%, 0))", x);
}

static int click_group_add_aggregate(struct group_query *g, size_t i)
{
	const struct plan_field *f = &g->p->fields[i];
	struct part_field *part = &g->fields[i];
	_cleanup_buf_ struct buf x = {0};
	int r = f->expr ? expr_sql(g, f->expr, &x) : 0;

	if (r < 0)
		return r;
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
		return f->expr ? add_format(g, &part->columns[1], "count(%)", buf_str(&x))
			       : add_column(g, "count()", &part->columns[1]);
	case AGGREGATE_COUNTIF:
		return add_format(g, &part->columns[1], "countIf(ifNull(%, 0) != 0)", buf_str(&x));
	case AGGREGATE_RATE:
		if (!f->expr)
			return add_column(g, "count()", &part->columns[1]);
		return add_sum(g, part, f->expr, buf_str(&x));
	case AGGREGATE_AVG:
		r = add_format(g, &part->columns[1], "count(%)", buf_str(&x));
		return r < 0 ? r : add_sum(g, part, f->expr, buf_str(&x));
	case AGGREGATE_SUM:
	case AGGREGATE_BUSY:
		return add_sum(g, part, f->expr, buf_str(&x));
	case AGGREGATE_MIN:
	case AGGREGATE_ANY:
	case AGGREGATE_MAX:
		r = add_format(g, &part->columns[1], "count(%)", buf_str(&x));
		return r < 0 ? r
			     : add_format(g, &part->columns[2],
					  f->aggregate == AGGREGATE_MAX ? "max(%)" : "min(%)",
					  buf_str(&x));
	case AGGREGATE_STDDEV:
		r = add_format(g, &part->columns[1], "count(%)", buf_str(&x));
		if (r >= 0)
			r = add_format(g, &part->columns[2], "avg(toFloat64(%))", buf_str(&x));
		return r < 0 ? r
			     : add_format(g, &part->columns[3], "varPopStable(toFloat64(%))",
					  buf_str(&x));
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		return add_ends(g, part, buf_str(&x), f->aggregate == AGGREGATE_FIRST);
	default:
		return -EOPNOTSUPP;
	}
}

static int add_aggregates(struct group_query *g)
{
	int r = add_column(g, "count()", &g->weight);

	for (size_t i = 0; i < g->p->field_count && r >= 0; i++) {
		const struct plan_field *f = &g->p->fields[i];
		struct part_field *part = &g->fields[i];
		_cleanup_buf_ struct buf x = {0};

		if (!is_dimension(f, part)) {
			r = click_group_add_aggregate(g, i);
		} else if (f->kind == FIELD_AGGREGATE && f->aggregate == AGGREGATE_PERCENTILE) {
			r = expr_sql(g, f->expr, &x);
			if (r >= 0)
				r = add_format(g, &part->columns[1], "max(%)", buf_str(&x));
		} else if (f->kind == FIELD_AGGREGATE &&
			   (f->aggregate == AGGREGATE_FIRST || f->aggregate == AGGREGATE_LAST)) {
			r = add_ends(g, part, "toInt64(0)", f->aggregate == AGGREGATE_FIRST);
		}
	}
	return r;
}

/* ---- the table; if grouped by file, also calls seen from their second file, in a second SELECT ---- */

/* The column that holds the same of a call's other file. */
static unsigned int second_of(unsigned int column)
{
	static const unsigned int pairs[][2] = {
		{OP_FILE_ID, OP_FILE2_ID}, {OP_FD, OP_FD2}, {OP_POS, OP_POS2}};

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (pairs[i][0] == column || pairs[i][1] == column)
			return pairs[i][0] == column ? pairs[i][1] : pairs[i][0];
	}
	return column;
}

/* The columns to read: as y0, y1, ... of the columns they are exchanged with; or from these. */
enum half { HALF_INNER, HALF_OUTER };

/* Appends the columns outside the schema that the enclosing statement uses. */
static int put_half_keys(struct group_query *g, struct buf *out)
{
	static const char *const keys[] = {"block_no", "row_no", "ended", "day", "start_kind"};

	buf_printf(out, "SELECT recording");
	for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
		bool named = strstr(g->where, keys[k]) != NULL;

		for (size_t i = 0; i < g->column_count; i++)
			named |= strstr(g->columns[i], keys[k]) != NULL;
		if (named)
			buf_printf(out, ", %s", keys[k]);
	}
	return buf_status(out);
}

static int put_half(struct group_query *g, enum half half, struct buf *out)
{
	uint64_t columns = seconds_columns(TABLE_OP, plan_columns(g->p));

	put_half_keys(g, out);
	for (unsigned int i = 0; i < OP_COLUMNS; i++) {
		if (!(columns >> i & 1))
			continue;
		if (half == HALF_OUTER)
			buf_printf(out, ", y%u AS ", i);
		else
			buf_printf(out, ", ");
		clickhouse_column(TABLE_OP, half == HALF_INNER ? second_of(i) : i, out);
		if (half == HALF_INNER)
			buf_printf(out, " AS y%u", i);
	}
	return buf_status(out);
}

/* Condition for calls that move bytes between two files: seconds_file(). */
static int click_group_put_seconds(struct group_query *g, struct buf *out)
{
	bool first = true;

	put_half(g, HALF_OUTER, out);
	buf_printf(out, " FROM (");
	put_half(g, HALF_INNER, out);
	buf_printf(out, " FROM op WHERE op_code IN (");
	for (uint32_t code = 0; code < OP_CODE_MAX; code++) {
		if (op_copy(code) == OP_COPY_NONE)
			continue;
		buf_printf(out, "%s%u", first ? "" : ",", code);
		first = false;
	}
	return buf_printf(out, ") AND isNotNull(file2_id) AND (isNull(file_id) OR file2_id "
			       "!= file_id))");
}

static int put_select(struct group_query *g, bool seconds, struct buf *out)
{
	for (size_t i = 0; i < g->column_count; i++)
		buf_printf(out, "%s%s AS x%zu", i ? ", " : "SELECT ", g->columns[i], i);
	buf_printf(out, seconds ? " FROM (" : " FROM `%s`", schema_table(g->p->table)->name);
	if (seconds) {
		click_group_put_seconds(g, out);
		buf_printf(out, ")");
	}
	buf_printf(out, "%s", g->where);
	for (size_t i = 0; i < g->dims; i++)
		buf_printf(out, "%sx%zu", i ? ", " : " GROUP BY ", i);
	return buf_status(out);
}

static int group_statement(struct group_query *g, struct buf *out, struct error *err)
{
	_cleanup_buf_ struct buf where = {0};
	struct click_writer w = {
		.engine = g->engine, .table = g->p->table, .out = &where, .err = err};
	bool all = true;
	int r;

	g->fields = calloc(g->p->field_count + 1, sizeof(*g->fields));
	r = g->fields ? click_where(&w, g->p->where, g->p->from, g->p->to, &all) : -ENOMEM;
	if (r >= 0 && !all)
		r = -EOPNOTSUPP;
	if (r >= 0)
		r = add_dimensions(g);
	if (r >= 0)
		r = add_aggregates(g);
	g->where = buf_str(&where);
	if (r >= 0)
		r = put_select(g, false, out);
	if (r < 0 || !g->p->each_file)
		return r;
	buf_printf(out, " UNION ALL ");
	return put_select(g, true, out);
}

/* ---- the answer ---- */

static int group_open(struct group_query *g, struct error *err)
{
	_cleanup_free_ const struct expr **exprs = calloc(g->p->field_count + 1, sizeof(*exprs));
	size_t n = 0;
	int r;

	if (!exprs)
		return -ENOMEM;
	for (size_t i = 0; i < g->p->field_count; i++) {
		if (g->fields[i].looked_up < 0)
			continue;
		g->fields[i].expr = n;
		exprs[n++] = g->p->fields[i].expr;
	}
	g->cells = calloc(g->p->field_count + 1, sizeof(*g->cells));
	r = g->cells ? batch_new(&g->ids, g->p->table) : -ENOMEM;
	if (r < 0)
		return r;
	r = eval_new(&g->eval, exprs, n, err);
	if (r < 0)
		return r;
	r = eval_names(g->eval, g->engine->dims, err);
	return r < 0 ? r : eval_scratch_new(&g->scratch, g->eval);
}

/* The id or code in a row of the answer; -ESTALE: of an unknown recording. *ret_null: none. */
static int key_value(const struct group_query *g, unsigned int column, int same, int64_t key,
		     int64_t *ret, bool *ret_null)
{
	int64_t own = key, k = 0;

	if (id_has_recording(g, column)) {
		own = (int64_t)((uint64_t)key << (64 - ID_SHIFT)) >> (64 - ID_SHIFT);
		k = (key - own) >> ID_SHIFT;
	}
	*ret_null = own == KEY_NONE;
	if (k < 0 || k >= (int64_t)MAX(g->engine->recording_count, (size_t)1))
		return -ESTALE;
	*ret = g->ids->def->columns[column].type == COLUMN_ID
		       ? click_compose(g->engine, same, k, own)
		       : own;
	return 0;
}

static int group_stale(struct error *err)
{
	return error_set(err, -ESTALE, "a recording was added while the query ran: try again");
}

/* With one recording, keys do not contain it: fails if a second one has come, before its rows. */
static int still_one(const struct group_query *g, struct error *err)
{
	_cleanup_buf_ struct buf answer = {0};
	int r;

	if (g->engine->recording_count != 1)
		return 0;
	r = clickhouse_ask(&g->engine->server, &answer, err,
			   "SELECT uniqExact(recording) FROM recording WHERE 1%s",
			   buf_str(&g->engine->hosts));
	return r < 0 || !strcmp(buf_str(&answer), "1\n") ? r : group_stale(err);
}

/* Composes the ids of rows [from, to) of a block, and looks up values by them. */
static int look_up(struct group_query *g, const struct native_reader *in, size_t from, size_t to,
		   struct error *err)
{
	int r = 0;

	batch_clear(g->ids);
	batch_resize(g->ids, to - from);
	for (unsigned int c = 0; c < g->ids->def->column_count && r >= 0; c++) {
		int same = click_same_table(g->engine, g->ids->def, c);

		if (!g->lookups[c])
			continue;
		for (size_t i = from; i < to && r >= 0; i++) {
			int64_t key = native_int(&in->columns[g->lookups[c] - 1], i), id;
			bool null;

			r = key_value(g, c, same, key, &id, &null);
			if (r == -ESTALE)
				return group_stale(err);
			if (r >= 0 && !null)
				r = batch_set(g->ids, c, i - from, id);
		}
	}
	for (size_t i = 0; i < g->p->field_count && r >= 0; i++) {
		if (g->fields[i].looked_up >= 0)
			r = eval_rows(g->eval, g->scratch, g->fields[i].expr, g->ids, NULL,
				      to - from, &g->fields[i].values);
	}
	return r < 0 ? error_errno(err, r, "names") : 0;
}

/* The value of a dimension: from the answer's row, or looked up. `at`: the row in the batch of ids. */
static struct value dimension_value(const struct group_query *g, size_t field,
				    const struct native_reader *in, size_t row, size_t at)
{
	const struct part_field *part = &g->fields[field];
	struct value ret = {0};

	if (part->looked_up < 0) {
		ret = click_value(&in->columns[part->columns[0]], row);
		ret.null |= part->is_key && ret.i == KEY_NONE;
		return ret;
	}
	local_vector_value(g->eval, part->expr, &part->values, at, &ret);
	return ret;
}

static int64_t part_int(const struct native_reader *in, size_t column, size_t row)
{
	const struct native_column *c = &in->columns[column];

	return native_is_null(c, row) || c->is_float ? 0 : native_int(c, row);
}

static __int128 part_sum(const struct native_reader *in, size_t column, size_t row)
{
	const struct native_column *c = &in->columns[column];
	__int128 v = 0;

	if (c->width == sizeof(v) && !native_is_null(c, row))
		memcpy(&v, c->data + row * sizeof(v), sizeof(v));
	return v;
}

static double part_float(const struct native_reader *in, size_t column, size_t row)
{
	struct value v = click_value(&in->columns[column], row);

	return v.null ? 0 : v.f;
}

static void fill_order(const struct native_reader *in, const struct part_field *part, size_t row,
		       struct local_part *p)
{
	for (size_t i = 0; i < 4; i++)
		p->order[i] = part_int(in, part->columns[3 + i], row);
}

/* True for aggregates of which only matters whether there is a value. */
static bool is_sum(const struct plan_field *f)
{
	return f->aggregate == AGGREGATE_SUM || f->aggregate == AGGREGATE_BUSY ||
	       (f->aggregate == AGGREGATE_RATE && f->expr);
}

/* Copies aggregates computed by the server. */
static void fill_part(const struct plan_field *f, const struct part_field *part,
		      const struct native_reader *in, size_t row, struct local_part *p)
{
	bool is_float = f->expr && f->expr->type.type == QUERY_FLOAT;

	p->value.null = true;
	if (f->aggregate == AGGREGATE_FIRST || f->aggregate == AGGREGATE_LAST) {
		p->count = 1;
		p->value = click_value(&in->columns[part->columns[2]], row);
		p->value.null = part_int(in, part->columns[1], row) != 0;
		fill_order(in, part, row, p);
		return;
	}
	if (is_sum(f))
		p->count = !native_is_null(&in->columns[part->columns[2]], row);
	else
		p->count = (uint64_t)part_int(in, part->columns[1], row);
	switch (f->aggregate) {
	case AGGREGATE_MIN:
	case AGGREGATE_MAX:
	case AGGREGATE_ANY:
		p->value = click_value(&in->columns[part->columns[2]], row);
		break;
	case AGGREGATE_STDDEV:
		p->mean = part_float(in, part->columns[2], row);
		p->m2 = part_float(in, part->columns[3], row) * (double)p->count;
		break;
	case AGGREGATE_SUM:
	case AGGREGATE_BUSY:
	case AGGREGATE_AVG:
	case AGGREGATE_RATE:
		if (!f->expr)
			break;
		if (is_float)
			p->fsum = part_float(in, part->columns[2], row);
		else
			p->sum = part_sum(in, part->columns[2], row);
		break;
	default:
		break;
	}
}

/* Adds a looked-up value with the number of rows that it represents as weight. */
static void weigh_part(const struct plan_field *f, const struct part_field *part,
		       const struct native_reader *in, size_t row, const struct value *v,
		       uint64_t weight, struct local_part *p)
{
	p->value = *v;
	if (f->aggregate == AGGREGATE_FIRST || f->aggregate == AGGREGATE_LAST) {
		p->count = 1;
		fill_order(in, part, row, p);
		return;
	}
	if (v->null)
		return;
	p->count = weight;
	if (f->expr->type.type == QUERY_TEXT)
		return;
	p->sum = f->expr->type.type == QUERY_FLOAT ? 0 : (__int128)v->i * (__int128)weight;
	p->fsum = f->expr->type.type == QUERY_FLOAT ? v->f * (double)weight : 0;
	p->mean = f->expr->type.type == QUERY_FLOAT ? v->f : (double)v->i;
}

static int click_group_add_field(struct group_query *g, struct local_group *groups, size_t group,
				 size_t i, const struct native_reader *in, size_t row, size_t at,
				 struct error *err)
{
	const struct plan_field *f = &g->p->fields[i];
	const struct part_field *part = &g->fields[i];
	uint64_t weight = (uint64_t)part_int(in, g->weight, row);
	struct local_part p = {0};
	struct value v;

	if (!is_dimension(f, part)) {
		fill_part(f, part, in, row, &p);
		return local_add_part(groups, group, i, &p, err);
	}
	v = dimension_value(g, i, in, row, at);
	if (by_hist_bucket(f)) {
		v.null = v.i < 0;
		v.i = v.null ? 0 : hist_bucket((uint64_t)v.i);
	}
	if (f->aggregate == AGGREGATE_PERCENTILE && !v.null)
		local_add_max(groups, group, i, part_int(in, part->columns[1], row));
	if (click_group_by_value(f) || by_bucket(f))
		return local_add_value(groups, group, i, &v, weight, err);
	weigh_part(f, part, in, row, &v, weight, &p);
	return local_add_part(groups, group, i, &p, err);
}

static int click_group_add_row(struct group_query *g, struct local_group *groups,
			       const struct native_reader *in, size_t row, size_t at,
			       struct error *err)
{
	size_t group;
	int r;

	/* without keys a statement also returns a row if there was no input */
	if (!part_int(in, g->weight, row))
		return 0;
	for (size_t i = 0; i < g->p->field_count; i++) {
		if (g->p->fields[i].kind != FIELD_AGGREGATE)
			g->cells[i] = dimension_value(g, i, in, row, at);
	}
	r = local_group_at(groups, g->cells, &group, err);
	for (size_t i = 0; i < g->p->field_count && r >= 0; i++) {
		if (g->p->fields[i].kind == FIELD_AGGREGATE)
			r = click_group_add_field(g, groups, group, i, in, row, at, err);
	}
	return r;
}

static int read_groups(struct group_query *g, struct local_group *groups, struct error *err)
{
	_cleanup_(native_reader_free) struct native_reader in = {.client =
									 g->engine->server.client};
	int r;

	while ((r = click_read(&g->engine->server, &in, err)) > 0) {
		if (in.count != g->column_count)
			return error_set(err, -EPROTO,
					 "the server's response has unexpected columns");
		for (size_t from = 0; from < in.rows && r >= 0; from += BATCH_ROWS_MAX) {
			size_t to = MIN(from + BATCH_ROWS_MAX, in.rows);

			r = look_up(g, &in, from, to, err);
			for (size_t i = from; i < to && r >= 0; i++)
				r = click_group_add_row(g, groups, &in, i, i - from, err);
		}
		if (r < 0)
			return r;
	}
	return r;
}

int click_group(struct click_engine *e, const struct plan *p, const struct local_env *env,
		struct local_rows *ret, struct error *err)
{
	_cleanup_(group_query_free) struct group_query g = {.engine = e, .p = p, .env = env};
	_cleanup_(local_group_freep) struct local_group *groups = NULL;
	_cleanup_buf_ struct buf sql = {0};
	int r = group_statement(&g, &sql, err);

	if (r == -EOPNOTSUPP)
		return 0;
	if (r >= 0)
		r = buf_printf(&sql, " FORMAT Native");
	if (r >= 0)
		r = group_open(&g, err);
	if (r >= 0)
		r = local_group_new(&groups, p->fields, p->field_count, env, err);
	if (r < 0)
		return error_errno(err, r, "the query");
	r = click_begin_query(e, &e->server, buf_str(&sql), NULL, err);
	if (r < 0)
		return r;
	r = read_groups(&g, groups, err);
	if (r >= 0)
		r = still_one(&g, err);
	if (r < 0)
		return r;
	local_group_before(groups, p->stage_count ? &p->stages[0] : NULL);
	r = local_group_finish(groups, ret, err);
	return r < 0 ? r : 1;
}

int click_group_sql(struct click_engine *e, const struct plan *p, struct buf *out,
		    struct error *err)
{
	_cleanup_(group_query_free) struct group_query g = {.engine = e, .p = p};

	return group_statement(&g, out, err);
}
