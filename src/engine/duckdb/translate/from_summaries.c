// SPDX-License-Identifier: Apache-2.0
/* from_summaries.c: the summary of a block as if its groups were calls. */
#include "engine/duckdb/translate/from_summaries.h"

#include <errno.h>

/* Which column of a summary is which of op. */
static const struct {
	unsigned int op, summary;
} same[] = {
	{OP_START, SUMMARY_WINDOW},	   {OP_OP, SUMMARY_OP},
	{OP_CLASS, SUMMARY_CLASS},	   {OP_ERR, SUMMARY_ERR},
	{OP_THREAD_ID, SUMMARY_THREAD_ID}, {OP_FILE_ID, SUMMARY_FILE_ID},
};

struct from_summaries_view {
	int64_t *zeros;	    /* a group ended when its window began */
	struct batch *rows; /* its columns belong to the summary's batch */
};

int from_summaries_view_new(struct from_summaries_view **ret)
{
	struct from_summaries_view *v = calloc(1, sizeof(*v));

	if (!v)
		return -ENOMEM;
	v->zeros = calloc(BATCH_ROWS_MAX, sizeof(*v->zeros));
	v->rows = calloc(1, sizeof(*v->rows) + OP_COLUMNS * sizeof(v->rows->columns[0]));
	if (!v->zeros || !v->rows) {
		from_summaries_view_free(v);
		return -ENOMEM;
	}
	v->rows->table = TABLE_OP;
	v->rows->def = schema_table(TABLE_OP);
	v->rows->columns[OP_DUR].val = v->zeros;
	*ret = v;
	return 0;
}

void from_summaries_view_free(struct from_summaries_view *v)
{
	if (!v)
		return;
	free(v->zeros);
	free(v->rows); /* not batch_free(): the columns are not its own */
	free(v);
}

uint64_t from_summaries_columns(uint64_t op_columns)
{
	uint64_t set = 1ull << SUMMARY_CALLS;

	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		if (op_columns >> same[i].op & 1)
			set |= 1ull << same[i].summary;
	}
	return set;
}

uint64_t from_summaries_cell_columns(enum rows_cell cell)
{
	switch (cell) {
	case ROWS_BYTES:
		return 1ull << SUMMARY_BYTES;
	case ROWS_TIME:
		return 1ull << SUMMARY_TIME;
	case ROWS_MAX:
		return 1ull << SUMMARY_MAX;
	case ROWS_HIST:
		return 1ull << SUMMARY_HIST;
	default:
		return 0;
	}
}

/* True where every row has a value, none is negative, and their sum cannot overflow. */
static bool from_summaries_is_plain(const struct store_block *b, unsigned int column)
{
	return !b->nulls[column] && b->min[column] >= 0 && b->max[column] <= INT64_MAX / b->rows;
}

bool from_summaries_say_enough(const struct store_block *op, uint64_t op_columns,
			       uint64_t summary_columns)
{
	const uint64_t bytes = 1ull << SUMMARY_BYTES;
	const uint64_t times = 1ull << SUMMARY_TIME | 1ull << SUMMARY_MAX | 1ull << SUMMARY_HIST;

	/* an address given to the call: summaries know those of sockets alone */
	if (op_columns >> OP_PEER_ID & 1 && op->min[OP_PEER_ID] <= op->max[OP_PEER_ID])
		return false;
	return (!(summary_columns & bytes) || from_summaries_is_plain(op, OP_BYTES)) &&
	       (!(summary_columns & times) || from_summaries_is_plain(op, OP_DUR));
}

/* Where nothing is known, nothing is in. */
static bool windows_within(const struct store_block *summary, int64_t from, int64_t to)
{
	int64_t first = summary->min[SUMMARY_WINDOW], last = summary->max[SUMMARY_WINDOW];

	return first <= last && first >= from && last <= INT64_MAX - SUMMED_WINDOW_NS &&
	       last + SUMMED_WINDOW_NS <= to;
}

static bool calls_within(const struct store_block *op, int64_t from, int64_t to)
{
	int64_t first, last;

	return op->min[OP_START] <= op->max[OP_START] && op->min[OP_DUR] <= op->max[OP_DUR] &&
	       !__builtin_add_overflow(op->min[OP_START], op->min[OP_DUR], &first) &&
	       !__builtin_add_overflow(op->max[OP_START], op->max[OP_DUR], &last) &&
	       first >= from && last < to;
}

bool from_summaries_within(const struct store_block *op, const struct store_block *summary,
			   int64_t from, int64_t to)
{
	/* a call without a start or an end is in no range */
	return !op->nulls[OP_START] && !op->nulls[OP_DUR] &&
	       (windows_within(summary, from, to) || calls_within(op, from, to));
}

const struct batch *from_summaries_gathered(struct from_summaries_view *v, const struct batch *sums)
{
	for (size_t i = 0; i < ARRAY_SIZE(same); i++) {
		v->rows->columns[same[i].op].val = sums->columns[same[i].summary].val;
		v->rows->columns[same[i].op].nulls = sums->columns[same[i].summary].nulls;
	}
	v->rows->rows = sums->rows;
	return v->rows;
}

const struct batch *from_summaries_as_rows(struct from_summaries_view *v,
					   const struct batch *summary,
					   const struct store_block *op, bool hists)
{
	const struct column *calls = &summary->columns[SUMMARY_CALLS];

	assert(summary->table == TABLE_SUMMARY && summary->rows <= BATCH_ROWS_MAX);
	if (!calls->val || calls->nulls || !store_summary_counts(summary, op->rows, hists))
		return NULL;
	return from_summaries_gathered(v, summary);
}
