// SPDX-License-Identifier: Apache-2.0
/* order.c: the times at which rows ended. */
#include "sums/order.h"

#include <string.h>

#include "base/saturate.h"
#include "schema/vocab.h"

/* Rows of dimension tables have no time: a time range never excludes them. */
static inline bool order_by_time(enum table_id table)
{
	return !schema_is_dimension(table) && schema_end_columns(table);
}

uint64_t order_columns(enum table_id table)
{
	uint64_t status = table == TABLE_OP ? 1ull << OP_STATUS : 0;

	return order_by_time(table) ? schema_end_columns(table) | status : 0;
}

/* INT64_MIN if the end is unknown. */
static inline int64_t order_row_end(const struct batch *b, size_t row)
{
	const struct table_def *t = b->def;
	int64_t end;

	if (t->stop != NO_COLUMN)
		return batch_get(b, t->stop, row, INT64_MIN);
	end = batch_get(b, t->start, row, INT64_MIN);
	if (t->dur == NO_COLUMN || end == INT64_MIN)
		return end;
	return __builtin_add_overflow(end, batch_get(b, t->dur, row, 0), &end) ? INT64_MIN : end;
}

/* The usual case: every row has start and duration, and no sum overflows. False: it is not that case. */
static bool plain_ends(const struct batch *b, int64_t *ends)
{
	const struct table_def *t = b->def;
	const int64_t *start, *dur;
	bool over = false;

	if (t->stop != NO_COLUMN || t->dur == NO_COLUMN || b->columns[t->start].nulls)
		return false;
	start = b->columns[t->start].val;
	dur = b->columns[t->dur].val;
	if (!start || !dur)
		return false;
	for (size_t i = 0; i < b->rows; i++)
		over |= __builtin_add_overflow(start[i], dur[i], &ends[i]);
	return !over;
}

void order_ends(const struct batch *b, int64_t *ends)
{
	int64_t last = INT64_MIN;

	if (b->def->kind != TABLE_IS_EVENTS || !order_by_time(b->table)) {
		memset(ends, 0, b->rows * sizeof(*ends));
		return;
	}
	if (plain_ends(b, ends))
		return;
	for (size_t i = 0; i < b->rows && last == INT64_MIN; i++)
		last = order_row_end(b, i);
	for (size_t i = 0; i < b->rows; i++) {
		int64_t end = order_row_end(b, i);

		if (end != INT64_MIN)
			last = end;
		ends[i] = last;
	}
}

bool order_block_in(const struct store_block *b, int64_t from, int64_t to)
{
	const struct table_def *t = schema_table(b->table);
	unsigned int column = t->stop != NO_COLUMN ? t->stop : t->start;
	int64_t first, last;

	if (order_open(from, to) || !order_by_time(b->table))
		return true;
	first = b->min[column];
	last = b->max[column];
	if (first > last)
		return false; /* the end of every row is unknown */
	if (t->stop == NO_COLUMN && t->dur != NO_COLUMN && b->min[t->dur] <= b->max[t->dur]) {
		/* a null dur counts as 0 */
		first = add_sat_signed(first, b->nulls[t->dur] ? MIN(b->min[t->dur], (int64_t)0)
							       : b->min[t->dur]);
		last = add_sat_signed(last, MAX(b->max[t->dur], (int64_t)0));
	}
	return first < to && last >= from;
}

bool order_block_part(const struct store_block *b, int64_t from, int64_t to)
{
	const struct table_def *t = schema_table(b->table);
	unsigned int column = t->stop != NO_COLUMN ? t->stop : t->start;

	return (to == INT64_MAX && b->min[column] > b->max[column]) || order_block_in(b, from, to);
}

size_t order_rows_part(const struct batch *b, const int64_t *ends, int64_t from, int64_t to,
		       uint32_t *out)
{
	size_t count = 0;

	for (size_t i = 0; i < b->rows; i++) {
		if (ends[i] == INT64_MIN ? to == INT64_MAX : ends[i] >= from && ends[i] < to)
			out[count++] = (uint32_t)i;
	}
	return count;
}

bool order_block_unended(const struct store_block *b)
{
	return b->nulls[OP_START] || b->nulls[OP_DUR] || b->max[OP_STATUS] >= STATUS_UNFINISHED;
}

static inline bool row_in(const struct batch *b, size_t row, int64_t from, int64_t to, bool unended)
{
	int64_t end;

	if (b->table == TABLE_OP && batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED)
		return unended;
	if (b->def->dur != NO_COLUMN && batch_is_null(b, b->def->dur, row))
		return unended;
	end = order_row_end(b, row);
	return end == INT64_MIN ? unended : end >= from && end < to;
}

size_t order_rows_in(const struct batch *b, int64_t from, int64_t to, bool unended,
		     const uint32_t *in, size_t n, uint32_t *out)
{
	bool all = order_open(from, to) || !order_by_time(b->table);
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t row = in ? in[i] : (uint32_t)i;

		if (all || row_in(b, row, from, to, unended))
			out[count++] = row;
	}
	return count;
}
