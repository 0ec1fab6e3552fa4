/* SPDX-License-Identifier: Apache-2.0 */
/*
 * plan.h: a query, typed and in the normalized form that every engine translates.
 *
 *   rows of `table` that ended in [from, to) and for which `where` is true
 *     -> fields: by expression for each row (grouped false), or
 *                keys and aggregates for each group (grouped true)
 *     -> stages, in order, each over the fields of the one before
 *
 * Expressions in `where` and in the fields of the source are over the table's row; those of stages are over fields
 * (EXPR_FIELD). The parser merges what it can: filters before the first group become one `where`, and selections
 * before it are substituted. It adds hidden columns that only a sort needs, and makes the order of results explicit,
 * so that engines need no rules of their own.
 */
#pragma once

#include "base/error.h"
#include "query/expr.h"

/* QUERY_AGGREGATES(A): A(NAME, name, "signature", "what it gives") */
#define QUERY_AGGREGATES(A)                                                              \
	A(COUNT, count, "count()", "number of rows; count(x): rows with a known x")      \
	A(COUNTIF, countif, "countif(condition)",                                        \
	  "number of rows for which the condition is true")                              \
	A(SUM, sum, "sum(x)", "")                                                        \
	A(BUSY, busy, "busy()",                                                          \
	  "time of calls within the window or range, not attributed to where they end")  \
	A(AVG, avg, "avg(x)", "")                                                        \
	A(MIN, min, "min(x)", "")                                                        \
	A(MAX, max, "max(x)", "")                                                        \
	A(STDDEV, stddev, "stddev(x)", "of the sample; null for fewer than two")         \
	A(DISTINCT, distinct, "distinct(x)",                                             \
	  "distinct values; exact up to 4096 per group, then estimated and marked ~")    \
	A(RATE, rate, "rate()",                                                          \
	  "rows per second; rate(x): sum of x per second; over the window or range")     \
	A(PERCENTILE, percentile, "p50(x), p75, p90, p95, p99, p999, p9999",             \
	  "from the histogram: within 1/32 of the exact value")                          \
	A(HIST, hist, "hist(x)", "the log-linear histogram")                             \
	A(QUANTIZE, quantize, "quantize(x)", "counts by power of two")                   \
	A(LQUANTIZE, lquantize, "lquantize(x, from, to, step)", "counts by equal steps") \
	A(LLQUANTIZE, llquantize, "llquantize(x, base, low, high, steps)",               \
	  "counts by steps within each power of the base")                               \
	A(FIRST, first, "first(x)", "x of the row that ended first")                     \
	A(LAST, last, "last(x)", "x of the row that ended last")                         \
	A(ANY, any, "any(x)", "one of the values")

enum query_aggregate {
#define A(NAME, name, sig, doc) AGGREGATE_##NAME,
	QUERY_AGGREGATES(A)
#undef A
		AGGREGATE_KINDS,
};

enum field_kind { FIELD_EXPR, FIELD_KEY, FIELD_WINDOW, FIELD_AGGREGATE };

struct plan_field {
	const char *name; /* as in the query: "count", "sum(bytes)", "path", or after `as` */
	struct query_kind type;
	enum field_kind kind;
	struct expr *expr; /* EXPR, KEY; WINDOW: bucket(stop, every); AGGREGATE: the
					  argument, NULL for count() and rate() */
	enum query_aggregate aggregate;
	double quantile;  /* PERCENTILE: 0.99 */
	int64_t param[4]; /* LQUANTIZE: from, to, step; LLQUANTIZE: base, low, high,
					  steps; WINDOW: width in ns */
	bool hidden; /* made for a later stage (a sort key that is not selected); not printed */
};

enum stage_kind {
	STAGE_WHERE,  /* expr */
	STAGE_SORT,   /* keys; ties by the group's keys, or by the rows' order */
	STAGE_HEAD,   /* count; from the end where `tail` */
	STAGE_SELECT, /* fields (FIELD_EXPR) */
	STAGE_GROUP,  /* fields (keys, aggregates) over fields: a second `by` */
	STAGE_JOIN,   /* adds the columns of the dimension table of the id in field `column`.
			  Fields: all previous ones (EXPR_FIELD), then EXPR_COLUMN of `table` */
};

struct sort_key {
	unsigned int field;
	bool desc; /* nulls sort last either way */
};

struct query_user_table;

struct plan_stage {
	enum stage_kind kind;
	uint32_t pos; /* in the text */
	struct expr *expr;
	struct sort_key *keys;
	size_t key_count;
	int64_t count; /* HEAD */
	bool tail;
	unsigned int column; /* JOIN: the field that holds the entity or id */
	enum table_id table; /* JOIN */
	/*
	 * JOIN with a user's table, by its column `key`; `table` is then unused, and the added fields are EXPR_COLUMN
	 * of it
	 */
	const struct query_user_table *user;
	size_t key;
	struct plan_field *fields; /* the stage's output (for WHERE, SORT, HEAD: unchanged) */
	size_t field_count;
};

struct plan {
	const char *text;
	/*
	 * TABLE_COUNT for rows of the user's table `user`. The fields are then all of its columns (EXPR_COLUMN), and
	 * everything else is a stage over them
	 */
	enum table_id table;
	const struct query_user_table *user;
	const struct query_users *users; /* for resolving names; NULL: none */
	int64_t from, to;   /* INT64_MIN, INT64_MAX if open; set by the parser's caller */
	struct expr *where; /* NULL: all rows */
	bool grouped;
	/* Grouped by a file or one of its names: a call that moves bytes between two files gives a row for each of them
	 * (batch/seconds.h), and `where` is tested for each. */
	bool each_file;
	struct plan_field *fields;
	size_t field_count;
	struct plan_stage *stages;
	size_t stage_count;
	struct arena *arena; /* owns all memory of the plan */
};

void plan_free(struct plan *p);
DEFINE_CLEANUP(struct plan *, plan_free)

/* The fields of the plan's result. */
const struct plan_field *plan_output(const struct plan *p, size_t *ret_count);
/* True if rows were grouped by column `field` of the result: a key, a window, or a column joined by a key. Other
 * numbers in the result are values. */
bool plan_is_key(const struct plan *p, size_t field);
/* True if the plan needs no engine: a filter, fields and heads over rows in the trace's order. */
bool plan_is_stream(const struct plan *p);
/*
 * If the plan sorts rows of its table by a number that is stored or computed from the row, and keeps only the first:
 * the field that sorts first, its direction, and how many rows are kept. NULL: it keeps all rows, or sorts by
 * something else.
 */
const struct plan_field *plan_first_key(const struct plan *p, bool *ret_desc, int64_t *ret_count);
/* Joins the condition `text` to the plan's filter by `and`, for -p, -e, --slower and the like on a
 * command line. It is parsed as by query_parse_expr(), over the plan's table. */
struct query_error;
int plan_and_where(struct plan *p, const char *text, struct query_error *err);
/* Columns of the table that its filter and its fields read, as a set of bits. */
uint64_t plan_columns(const struct plan *p);
/* Writes the plan as lines, for --explain: "scan op | columns dur, thread_id | filter ...". 0 or
 * -ENOMEM. */
int plan_text(const struct plan *p, struct buf *out);
