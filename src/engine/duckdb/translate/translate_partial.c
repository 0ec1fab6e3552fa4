// SPDX-License-Identifier: Apache-2.0
/* translate_partial.c: aggregates as sums of partial results. Field i has the columns p<i>, q<i>, r<i>. */
#include "engine/duckdb/translate/translate_partial.h"

#include <errno.h>
#include <stdio.h>

#include "engine/duckdb/translate/translate_busy.h"
#include "engine/duckdb/translate/translate_source.h"
#include "engine/duckdb/translate/sql_expr.h"

#define PARTS_MAX 3

/*
 * A partial result of an aggregate: %s in `make` is its argument; `merge` combines two. A NULL argument (count(),
 * rate()) is "*".
 */
struct part {
	const char *make;
	const char *merge; /* %s: the column */
};

static const struct part part_count = {"count(%s)", "sum(%s)"};
static const struct part part_sum = {"sum(%s)", "sum(%s)"};
static const struct part part_max = {"max(%s)", "max(%s)"};
static const struct part part_hist = {"weir_hist(%s)", "hist_merge(%s)"};
static const struct part part_hists = {"hist_merge(%s)", "hist_merge(%s)"}; /* of histograms */
static const struct part part_tally = {NULL, "tally_merge(%s)"};
static const struct part part_set = {NULL, "distinct_merge(%s)"};
static const struct part part_value = {NULL, NULL}; /* first(), last(): stored with its position */

static bool has_max(const struct plan_field *f)
{
	return f->aggregate == AGGREGATE_PERCENTILE && f->expr->type.type != QUERY_HIST;
}

/* Sets the parts of an aggregate; returns their number. */
static size_t translate_partial_parts_of(const struct plan_field *f, struct part *ret)
{
	switch (f->aggregate) {
	case AGGREGATE_COUNT:
		ret[0] = part_count;
		return 1;
	case AGGREGATE_COUNTIF:
		ret[0] = (struct part){"count(*) FILTER (WHERE %s)", "sum(%s)"};
		return 1;
	case AGGREGATE_SUM:
	case AGGREGATE_BUSY:
		ret[0] = part_sum;
		return 1;
	case AGGREGATE_RATE:
		ret[0] = f->expr ? part_sum : part_count;
		return 1;
	case AGGREGATE_AVG:
		ret[0] = part_sum;
		ret[1] = part_count;
		return 2;
	/* number of values, their mean, and the sum of squared distances from it */
	case AGGREGATE_STDDEV:
		ret[0] = part_count;
		ret[1] = (struct part){"favg((%s)::DOUBLE)", NULL};
		ret[2] = (struct part){"var_pop((%1$s)::DOUBLE) * count(%1$s)", NULL};
		return 3;
	case AGGREGATE_MIN:
	case AGGREGATE_ANY:
		ret[0] = (struct part){"min(%s)", "min(%s)"};
		return 1;
	case AGGREGATE_MAX:
		ret[0] = part_max;
		return 1;
	case AGGREGATE_PERCENTILE: /* and the largest value, which limits it */
	case AGGREGATE_HIST:
		ret[0] = f->expr->type.type == QUERY_HIST ? part_hists : part_hist;
		ret[1] = part_max;
		return has_max(f) ? 2 : 1;
	case AGGREGATE_DISTINCT:
		ret[0] = part_set;
		return 1;
	case AGGREGATE_FIRST:
	case AGGREGATE_LAST:
		ret[0] = ret[1] = part_value;
		return 2;
	default:
		ret[0] = part_tally;
		return 1;
	}
}

static char letter_of(size_t part)
{
	return (char)('p' + (int)part);
}

static bool translate_partial_is_key(const struct plan_field *f)
{
	return f->kind != FIELD_AGGREGATE;
}

static bool is_end(const struct plan_field *f)
{
	return f->aggregate == AGGREGATE_FIRST || f->aggregate == AGGREGATE_LAST;
}

/* Texts are stored as text: an ENUM of names changes when names are added. */
static bool translate_partial_is_word(struct query_kind k)
{
	return k.type == QUERY_TEXT || k.type == QUERY_CODE;
}

static int translate_partial_make_part(const struct plan_field *f, const struct part *part,
				       size_t k, const char *arg, struct buf *out)
{
	struct aggregate_place place = {.source = true, .order = ""};
	bool first = f->aggregate == AGGREGATE_FIRST;

	if (is_end(f) && k == 0)
		return level_aggregate(f, arg, &place, out);
	if (is_end(f))
		return buf_printf(out, "%s(" ROW_PLACE ")", first ? "min" : "max");
	if (f->aggregate == AGGREGATE_DISTINCT)
		return level_set(f, arg, &place, out);
	if (!part->make)
		return level_aggregate(f, arg, &place, out);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	return buf_printf(out, part->make, arg);
#pragma GCC diagnostic pop
}

static int make_field(const struct plan_field *f, size_t i, const char *arg, struct buf *head,
		      struct buf *tail)
{
	struct part parts[PARTS_MAX];
	size_t count;

	if (translate_partial_is_key(f)) {
		buf_printf(head, "%s%s AS p%zu", head->len ? ", " : "", arg, i);
		return buf_printf(tail, "%sp%zu", tail->len ? ", " : " GROUP BY ", i);
	}
	count = translate_partial_parts_of(f, parts);
	for (size_t k = 0; k < count; k++) {
		buf_printf(head, "%s", head->len ? ", " : "");
		buf_fail(head, translate_partial_make_part(f, &parts[k], k, arg, head));
		buf_printf(head, " AS %c%zu", letter_of(k), i);
	}
	return buf_status(head);
}

/* Selects a key, with texts as text. */
static int plain_field(const struct plan_field *f, size_t i, struct buf *out)
{
	struct part parts[PARTS_MAX];
	size_t count = translate_partial_is_key(f) ? 1 : translate_partial_parts_of(f, parts);
	struct query_kind kind = f->type;

	for (size_t k = 0; k < count; k++)
		buf_printf(out, "%s%c%zu%s AS %c%zu", out->len ? ", " : "", letter_of(k), i,
			   k == 0 && translate_partial_is_word(kind) ? "::VARCHAR" : "",
			   letter_of(k), i);
	return buf_status(out);
}

/*
 * T. F. Chan, G. H. Golub, R. J. LeVeque, "Updating formulae and a pairwise algorithm for computing sample variances"
 * (1979): avoids subtracting large numbers from each other. At most two rows of a group are merged, the stored one and
 * the new one, so that the minimum and the maximum are these two.
 */
static int merge_squares(size_t i, struct buf *head)
{
	return buf_printf(head,
			  "sum(p%1$zu) AS p%1$zu, "
			  "sum(p%1$zu * q%1$zu) / nullif(sum(p%1$zu), 0) AS q%1$zu, "
			  "sum(r%1$zu) + (count(*) - 1) * min(p%1$zu)::DOUBLE * max(p%1$zu) / "
			  "nullif(sum(p%1$zu), 0) * pow(max(q%1$zu) - min(q%1$zu), 2) AS r%1$zu",
			  i);
}

static int merge_field(const struct plan_field *f, size_t i, struct buf *head, struct buf *tail)
{
	struct part parts[PARTS_MAX];
	size_t count;

	buf_printf(head, "%s", head->len ? ", " : "");
	if (translate_partial_is_key(f)) {
		buf_printf(head, "p%zu", i);
		return buf_printf(tail, "%sp%zu", tail->len ? ", " : " GROUP BY ", i);
	}
	if (is_end(f)) {
		bool first = f->aggregate == AGGREGATE_FIRST;

		return buf_printf(head, "arg_%s_null(p%zu, q%zu) AS p%zu, %s(q%zu) AS q%zu",
				  first ? "min" : "max", i, i, i, first ? "min" : "max", i, i);
	}
	if (f->aggregate == AGGREGATE_STDDEV)
		return merge_squares(i, head);
	count = translate_partial_parts_of(f, parts);
	for (size_t k = 0; k < count; k++) {
		char column[32];

		snprintf(column, sizeof(column), "%c%zu", letter_of(k), i);
		buf_printf(head, "%s", k ? ", " : "");
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		buf_printf(head, parts[k].merge, column);
#pragma GCC diagnostic pop
		buf_printf(head, " AS %s", column);
	}
	return buf_status(head);
}

void partial_free(struct partial *p)
{
	buf_free(&p->rows);
	buf_free(&p->merge);
	buf_free(&p->merge_tail);
}

int partial_translate(const struct plan *p, const struct translate_options *opt,
		      struct partial *ret)
{
	_cleanup_(asked_free) struct asked a = {.table = p->table};
	_cleanup_buf_ struct buf head = {0}, tail = {0}, plain = {0}, merge = {0};

	for (size_t i = 0; i < p->field_count; i++) {
		const struct plan_field *f = &p->fields[i];
		_cleanup_buf_ struct buf arg = {0};

		buf_fail(&head, source_argument(&a, p, f, &arg));
		if (f->kind == FIELD_AGGREGATE && !f->expr)
			buf_fail(&head, buf_printf(&arg, "%s", busy_counted(p)));
		make_field(f, i, buf_str(&arg), &head, &tail);
		plain_field(f, i, &plain);
		merge_field(f, i, &merge, &ret->merge_tail);
	}
	buf_printf(&ret->rows, "SELECT ");
	buf_add(&ret->rows, &plain);
	buf_printf(&ret->rows, " FROM (SELECT ");
	buf_add(&ret->rows, &head);
	buf_fail(&ret->rows, source_from(p, opt, &a, NULL, &ret->rows));
	buf_add(&ret->rows, &tail);
	buf_printf(&ret->merge, "SELECT ");
	buf_add(&ret->merge, &merge);
	buf_printf(&ret->merge, " FROM ");
	buf_fail(&ret->rows, buf_status(&ret->merge));
	buf_fail(&ret->rows, buf_status(&ret->merge_tail));
	return buf_printf(&ret->rows, ")");
}

/* ---- fields from merged results ---- */

static int whole_mean(const struct plan_field *f, const char *mean, struct buf *out)
{
	return f->type.type == QUERY_FLOAT ? buf_printf(out, "weir_finite(%s)", mean)
					   : buf_printf(out, "TRY_CAST(round(%s) AS BIGINT)", mean);
}

static int finish_mean(const struct plan_field *f, size_t i, struct buf *out)
{
	char mean[256];

	if (f->aggregate == AGGREGATE_AVG)
		snprintf(mean, sizeof(mean), "p%zu::DOUBLE / nullif(q%zu, 0)::DOUBLE", i, i);
	else
		snprintf(mean, sizeof(mean),
			 "CASE WHEN p%zu > 1 THEN sqrt(greatest(r%zu, 0) / (p%zu - 1)) END", i, i,
			 i);
	return whole_mean(f, mean, out);
}

static int finish_rate(size_t i, double seconds, struct buf *out)
{
	if (!(seconds > 0))
		return buf_printf(out, "NULL::DOUBLE");
	return buf_printf(out, "weir_finite(p%zu::DOUBLE / '%.17g'::DOUBLE)", i, seconds);
}

static int finish_field(struct level *l, const struct plan_field *f, size_t i, double seconds,
			struct buf *out)
{
	switch (translate_partial_is_key(f) ? AGGREGATE_KINDS : f->aggregate) {
	case AGGREGATE_COUNT:
	case AGGREGATE_COUNTIF:
		return buf_printf(out, "coalesce(p%zu, 0)::BIGINT", i);
	case AGGREGATE_SUM:
	case AGGREGATE_BUSY:
		return f->type.type == QUERY_FLOAT ? buf_printf(out, "weir_finite(p%zu)", i)
						   : buf_printf(out, "TRY_CAST(p%zu AS BIGINT)", i);
	case AGGREGATE_AVG:
	case AGGREGATE_STDDEV:
		return finish_mean(f, i, out);
	case AGGREGATE_RATE:
		return finish_rate(i, seconds, out);
	case AGGREGATE_PERCENTILE:
		return has_max(f) ? buf_printf(out, "least(hist_quantile(p%zu, %.15g), q%zu)", i,
					       f->quantile, i)
				  : buf_printf(out, "hist_quantile(p%zu, %.15g)", i, f->quantile);
	case AGGREGATE_DISTINCT:
		return buf_printf(out, "coalesce(distinct_count(p%zu), 0)", i);
	default:
		return buf_printf(out, "p%zu", i);
	}
}

int partial_finish(const struct plan *p, const struct translate_options *opt, const char *table,
		   struct level *l, struct buf *sql)
{
	_cleanup_buf_ struct buf head = {0};
	double seconds = level_seconds(p->fields, p->field_count, p, opt);
	int r = level_name(l, p->fields, p->field_count);

	for (size_t i = 0; i < p->field_count && r >= 0; i++) {
		const struct plan_field *f = &p->fields[i];

		buf_printf(&head, "%s", i ? ", " : "");
		finish_field(l, f, i, seconds, &head);
		level_as(l, i, &head);
		if (translate_partial_is_key(f)) {
			r = level_order_field(l, i);
		} else if (f->aggregate == AGGREGATE_DISTINCT) {
			r = level_estimate(l, i);
			if (r < 0)
				return r;
			buf_printf(&head, ", distinct_estimated(p%zu) AS ", i);
			sql_name(l->fields[i].estimate, &head);
		}
	}
	if (r < 0)
		return r;
	buf_printf(sql, "SELECT ");
	buf_add(sql, &head);
	return buf_printf(sql, " FROM %s", table);
}
