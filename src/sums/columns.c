// SPDX-License-Identifier: Apache-2.0
#include "sums/columns.h"

#include <errno.h>
#include <stdlib.h>

static const struct {
	unsigned int op, summary;
	bool exact; /* the column has the value of the calls themselves */
} pairs[] = {
	{OP_START, SUMMARY_WINDOW, false},	 {OP_OP, SUMMARY_OP, true},
	{OP_CLASS, SUMMARY_CLASS, true},	 {OP_ERR, SUMMARY_ERR, true},
	{OP_THREAD_ID, SUMMARY_THREAD_ID, true}, {OP_FILE_ID, SUMMARY_FILE_ID, true},
};

uint64_t sums_columns_of(uint64_t op_columns)
{
	uint64_t set = 1ull << SUMMARY_CALLS;

	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (op_columns >> pairs[i].op & 1)
			set |= 1ull << pairs[i].summary;
	}
	return set;
}

uint64_t sums_columns_missing(uint64_t op_columns)
{
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		if (pairs[i].exact)
			op_columns &= ~(1ull << pairs[i].op);
	}
	return op_columns;
}

struct sums_view {
	int64_t *zeros;
	struct batch *rows; /* its columns belong to the summary's batch */
};

int sums_view_new(struct sums_view **ret)
{
	_cleanup_(sums_view_freep) struct sums_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->zeros = calloc(BATCH_ROWS_MAX, sizeof(*v->zeros));
	v->rows = calloc(1, sizeof(*v->rows) + OP_COLUMNS * sizeof(v->rows->columns[0]));
	if (!v->zeros || !v->rows)
		return -ENOMEM;
	v->rows->table = TABLE_OP;
	v->rows->def = schema_table(TABLE_OP);
	v->rows->columns[OP_DUR].val = v->zeros;
	*ret = TAKE_PTR(v);
	return 0;
}

void sums_view_free(struct sums_view *v)
{
	if (!v)
		return;
	free(v->zeros);
	free(v->rows); /* not batch_free(): the view does not own the columns */
	free(v);
}

const struct batch *sums_view_rows(struct sums_view *v, const struct batch *sums)
{
	assert(sums->table == TABLE_SUMMARY && sums->rows <= BATCH_ROWS_MAX);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		v->rows->columns[pairs[i].op].val = sums->columns[pairs[i].summary].val;
		v->rows->columns[pairs[i].op].nulls = sums->columns[pairs[i].summary].nulls;
	}
	v->rows->rows = sums->rows;
	return v->rows;
}
