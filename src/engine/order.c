// SPDX-License-Identifier: Apache-2.0
/* order.c: when rows ended. */
#include "engine/order.h"

#include <limits.h>
#include <string.h>

#include "base/saturate.h"
#include "schema/vocab.h"

/* The column that says when a row of another table than op ended; UINT_MAX: nothing does. */
static unsigned int time_column(enum table_id table)
{
	switch (table) {
	case TABLE_MARK:
		return MARK_AT;
	case TABLE_LOSS:
		return LOSS_STOP;
	case TABLE_SUMMARY:
		return SUMMARY_WINDOW;
	default:
		return UINT_MAX;
	}
}

uint64_t order_columns(enum table_id table)
{
	unsigned int column = time_column(table);

	if (table == TABLE_OP)
		return 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_STATUS;
	return column == UINT_MAX ? 0 : 1ull << column;
}

/* INT64_MIN where the end is not known. */
static inline int64_t op_end(const struct batch *b, size_t row)
{
	int64_t start = batch_get(b, OP_START, row, INT64_MIN), end;

	if (start == INT64_MIN || __builtin_add_overflow(start, batch_get(b, OP_DUR, row, 0), &end))
		return INT64_MIN;
	return end;
}

/* Every row has both, nothing overflows: as nearly always. */
static bool plain_ends(const struct batch *b, int64_t *ends)
{
	const struct column *start = &b->columns[OP_START], *dur = &b->columns[OP_DUR];
	bool over = false;

	if (!start->val || start->nulls || !dur->val)
		return false;
	for (size_t i = 0; i < b->rows; i++)
		over |= __builtin_add_overflow(start->val[i], dur->val[i], &ends[i]);
	return !over;
}

void order_ends(const struct batch *b, int64_t *ends)
{
	int64_t last = INT64_MIN;

	if (b->table != TABLE_OP) {
		memset(ends, 0, b->rows * sizeof(*ends));
		return;
	}
	if (plain_ends(b, ends))
		return;
	for (size_t i = 0; i < b->rows && last == INT64_MIN; i++)
		last = op_end(b, i);
	for (size_t i = 0; i < b->rows; i++) {
		int64_t end = op_end(b, i);

		if (end != INT64_MIN)
			last = end;
		ends[i] = last;
	}
}

bool order_block_in(const struct store_block *b, int64_t from, int64_t to)
{
	unsigned int column = time_column(b->table);
	int64_t first, last;

	if (order_open(from, to))
		return true;
	if (b->table != TABLE_OP) {
		if (column == UINT_MAX)
			return true;
		return b->min[column] <= b->max[column] && b->min[column] < to &&
		       b->max[column] >= from;
	}
	if (b->min[OP_START] > b->max[OP_START])
		return false; /* no row's end is known */
	first = b->min[OP_START];
	last = b->max[OP_START];
	if (b->min[OP_DUR] <= b->max[OP_DUR]) {
		/* a null dur counts as 0 */
		first = add_sat_signed(first, b->nulls[OP_DUR] ? MIN(b->min[OP_DUR], (int64_t)0)
							       : b->min[OP_DUR]);
		last = add_sat_signed(last, MAX(b->max[OP_DUR], (int64_t)0));
	}
	return first < to && last >= from;
}

static inline bool row_in(const struct batch *b, unsigned int column, size_t row, int64_t from,
			  int64_t to)
{
	int64_t end;

	if (b->table == TABLE_OP) {
		if (batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED ||
		    batch_is_null(b, OP_DUR, row))
			return false;
		end = op_end(b, row);
		if (end == INT64_MIN)
			return false;
	} else {
		if (batch_is_null(b, column, row))
			return false;
		end = b->columns[column].val[row];
	}
	return end >= from && end < to;
}

size_t order_rows_in(const struct batch *b, int64_t from, int64_t to, const uint32_t *in, size_t n,
		     uint32_t *out)
{
	unsigned int column = time_column(b->table);
	bool all = order_open(from, to) || (b->table != TABLE_OP && column == UINT_MAX);
	size_t count = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t row = in ? in[i] : (uint32_t)i;

		if (all || row_in(b, column, row, from, to))
			out[count++] = row;
	}
	return count;
}
