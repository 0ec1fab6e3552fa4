/* SPDX-License-Identifier: Apache-2.0 */
#include "batch/seconds.h"

#include <errno.h>
#include <stdlib.h>

#include "schema/ops.h"

struct pair {
	unsigned int first, second;
};

static const struct pair op_pairs[] = {
	{OP_FILE_ID, OP_FILE2_ID}, {OP_FD, OP_FD2}, {OP_POS, OP_POS2}};
static const struct pair summary_pairs[] = {{SUMMARY_FILE_ID, SUMMARY_FILE2_ID}};

static const struct pair *pairs_of(enum table_id table, size_t *ret_count)
{
	static_assert(OP_COLUMNS <= 64 && SUMMARY_COLUMNS <= 64, "column sets are 64 bits");
	assert(table == TABLE_OP || table == TABLE_SUMMARY);
	*ret_count = table == TABLE_OP ? ARRAY_SIZE(op_pairs) : ARRAY_SIZE(summary_pairs);
	return table == TABLE_OP ? op_pairs : summary_pairs;
}

uint64_t seconds_columns(enum table_id table, uint64_t columns)
{
	uint64_t set = table == TABLE_OP ? 1ull << OP_OP | 1ull << OP_FILE_ID | 1ull << OP_FILE2_ID
					 : 1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_FILE2_ID;
	const struct pair *p;
	size_t count;

	p = pairs_of(table, &count);
	for (size_t i = 0; i < count; i++) {
		if (columns & (1ull << p[i].first | 1ull << p[i].second))
			set |= 1ull << p[i].first | 1ull << p[i].second;
	}
	return columns | set;
}

int64_t seconds_file(const struct batch *b, size_t row)
{
	int64_t file;

	if (b->table == TABLE_SUMMARY)
		return batch_get(b, SUMMARY_FILE2_ID, row, -1);
	file = batch_get(b, OP_FILE2_ID, row, -1);
	if (file < 0 || file == batch_get(b, OP_FILE_ID, row, -1))
		return -1;
	return op_copy((uint32_t)batch_get(b, OP_OP, row, OP_CODE_MAX)) == OP_COPY_NONE ? -1 : file;
}

/* Row numbers of the calls that have a second file; these are rare, so the null bits are scanned by words. */
static size_t seconds_rows(const struct batch *b, unsigned int file2, uint32_t *ret)
{
	const uint64_t *nulls = b->columns[file2].nulls;
	size_t n = 0;

	for (size_t first = 0; first < b->rows; first += 64) {
		uint64_t left = nulls ? ~nulls[first / 64] : ~0ull;

		if (b->rows - first < 64)
			left &= (1ull << (b->rows - first)) - 1;
		for (; left; left &= left - 1) {
			const size_t row = first + (size_t)__builtin_ctzll(left);

			ret[n] = (uint32_t)row;
			n += seconds_file(b, row) >= 0;
		}
	}
	return n;
}

int batch_seconds(const struct batch *b, struct batch *to)
{
	unsigned int file2 = b->table == TABLE_OP ? OP_FILE2_ID : SUMMARY_FILE2_ID;
	const struct pair *p;
	uint32_t *numbers;
	size_t count;
	int r;

	assert(b->table == TABLE_OP || b->table == TABLE_SUMMARY);
	assert(to->table == b->table && to != b);
	batch_clear(to);
	if (!batch_has(b, file2))
		return 0;
	numbers = reallocarray(to->numbers, b->rows + 1, sizeof(*numbers));
	if (!numbers)
		return -ENOMEM;
	to->numbers = numbers;
	r = batch_append_rows(to, b, numbers, seconds_rows(b, file2, numbers));
	if (r < 0)
		return r;
	assert(to->rows <= b->rows);
	p = pairs_of(b->table, &count);
	for (size_t i = 0; i < count; i++) {
		struct column first = to->columns[p[i].first];

		to->columns[p[i].first] = to->columns[p[i].second];
		to->columns[p[i].second] = first;
	}
	to->row_id = b->row_id;
	if (!b->row_ids || b->row_id < 0)
		return 0;
	free(to->row_ids);
	to->row_ids = calloc(to->rows + 1, sizeof(*to->row_ids));
	for (size_t i = 0; i < to->rows && to->row_ids; i++)
		to->row_ids[i] = b->row_ids[numbers[i]];
	return to->row_ids ? 0 : -ENOMEM;
}
