/* SPDX-License-Identifier: Apache-2.0 */
#include "store/file/write/fit.h"

#include "store/file/format.h"

static size_t fit_row_bytes(const struct batch *b, size_t row)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < b->def->column_count; i++) {
		if (b->columns[i].ends)
			sum += b->columns[i].ends[row] - (row ? b->columns[i].ends[row - 1] : 0);
	}
	return sum;
}

static bool fit_has_bytes(const struct batch *b)
{
	for (unsigned int i = 0; i < b->def->column_count; i++) {
		if (b->columns[i].ends)
			return true;
	}
	return false;
}

static size_t fit_batch_bytes(const struct batch *b)
{
	size_t sum = 0;

	for (unsigned int i = 0; i < b->def->column_count; i++)
		sum += b->columns[i].data_len;
	return sum;
}

size_t fit_rows(const struct batch *to, const struct batch *b, size_t from, size_t end)
{
	size_t room = STORE_ROWS_MAX - to->rows, bytes, n;

	assert(to->table == b->table && to->rows <= STORE_ROWS_MAX);
	assert(from <= end && end <= b->rows);
	end = MIN(end, from + room);
	if (!fit_has_bytes(b))
		return end - from;
	bytes = fit_batch_bytes(to);
	for (n = 0; from + n < end; n++) {
		bytes += fit_row_bytes(b, from + n);
		if (bytes > STORE_BLOB_CUT)
			break;
	}
	/* A single row may exceed the size at which blocks are cut, up to the limit of a blob. */
	return n == 0 && !to->rows && room && from < end && bytes <= STORE_BLOB_MAX ? 1 : n;
}
