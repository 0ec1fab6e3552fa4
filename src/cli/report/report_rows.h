/* SPDX-License-Identifier: Apache-2.0 */
/* report_rows.h: a table of `report` as values, before it becomes text or JSON. */
#pragma once

#include "cli/report/report.h"

enum value_type {
	VALUE_TEXT, /* bytes as a program chose them */
	VALUE_COUNT,
	VALUE_INT, /* a number that is none to be read: a tid */
	VALUE_SIZE,
	VALUE_DUR,	/* of one call */
	VALUE_QUANTILE, /* of durations: 3 % from the exact value */
	VALUE_TIME,	/* a sum of durations */
	VALUE_AT,	/* a point in time, ns since the epoch */
	VALUE_SPARK,	/* terminal only */
};

struct value_column {
	const char *name; /* title, JSON name and word for --sort */
	enum value_type type;
	bool text_only; /* left out of JSON */
	bool json_only; /* left out of the text */
};

struct value_cell {
	bool null;
	int64_t n;
	char *text; /* VALUE_TEXT, VALUE_SPARK */
	size_t len;
};

struct value_table {
	const struct value_column *columns;
	size_t column_count;
	struct value_cell *cells;
	size_t count, cap;
	int error;
	const char *note; /* printed below, or NULL */
};

void values_free(struct value_table *t);
#define _cleanup_values_ _cleanup_(values_free)
static inline size_t values_rows(const struct value_table *t)
{
	return t->column_count ? t->count / t->column_count : 0;
}

/* Fills a table: ops, files, dirs, processes, threads, peers, errors, slow; sorted, cut to --head.
 */
int report_values(struct report *r, const char *which, struct value_table *ret, struct error *err);
