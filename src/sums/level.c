// SPDX-License-Identifier: Apache-2.0
#include "sums/level.h"

#include "sums/facts.h"
#include "sums/order.h"

/* ---- the range ---- */

bool sums_block_within(const struct store_block *b, int64_t from, int64_t to)
{
	int64_t start, end;

	facts_times(b, &start, &end);
	return !b->nulls[OP_START] && !b->nulls[OP_DUR] && !store_block_may_run(b) &&
	       b->min[OP_DUR] >= 0 && start >= from && end < to;
}

bool sums_block_overlaps(const struct store_block *b, int64_t from, int64_t to)
{
	int64_t start, end;

	facts_times(b, &start, &end);
	return start < to && end >= from;
}

uint64_t sums_overlapping_rows(const struct store *s, int64_t from, int64_t to)
{
	uint64_t rows = 0;

	for (size_t i = 0; i < store_block_count(s); i++) {
		const struct store_block *b = store_block(s, i);

		if (b->table == TABLE_OP && sums_block_overlaps(b, from, to))
			rows += b->rows;
	}
	return rows;
}

static bool level_in_range(const struct sums_ask *a, const struct store_block *b)
{
	return a->range == SUMS_ENDED ? order_block_in(b, a->from, a->to)
				      : sums_block_overlaps(b, a->from, a->to);
}

/* Tests the windows in which the calls ended. If none are known, no call is in the range. */
static bool level_windows_within(const struct store_block *summary, int64_t from, int64_t to)
{
	int64_t first = summary->min[SUMMARY_WINDOW], last = summary->max[SUMMARY_WINDOW];

	return !summary->nulls[SUMMARY_WINDOW] && first <= last && first >= from &&
	       last <= INT64_MAX - SUMMARY_WINDOW_NS && last + SUMMARY_WINDOW_NS <= to;
}

/* Tests the times of the calls themselves. */
static bool level_ends_within(const struct store_block *op, int64_t from, int64_t to)
{
	int64_t first, last;

	return op->min[OP_START] <= op->max[OP_START] && op->min[OP_DUR] <= op->max[OP_DUR] &&
	       !__builtin_add_overflow(op->min[OP_START], op->min[OP_DUR], &first) &&
	       !__builtin_add_overflow(op->max[OP_START], op->max[OP_DUR], &last) &&
	       first >= from && last < to;
}

/* True if all calls of the block are in the range. */
static bool level_takes_all(const struct sums_ask *a, size_t block)
{
	const struct store_block *b = store_block(a->store, block);
	int64_t start, end;
	size_t summary;

	assert(b->table == TABLE_OP);
	if (order_open(a->from, a->to))
		return true;
	if (a->range == SUMS_OVERLAP) {
		facts_times(b, &start, &end);
		return (a->from == INT64_MIN || start >= a->from) &&
		       (a->to == INT64_MAX || end < a->to);
	}
	if (b->nulls[OP_START] || b->nulls[OP_DUR]) /* such a call is in no range */
		return false;
	if (level_ends_within(b, a->from, a->to))
		return true;
	summary = store_summary_of(a->store, block);
	return summary != SIZE_MAX &&
	       level_windows_within(store_block(a->store, summary), a->from, a->to);
}

/* ---- the summary ---- */

/* True if every row has a value, none is negative, and the sum over `count` such blocks cannot overflow. */
static bool level_is_plain(const struct store_block *b, unsigned int column, size_t count)
{
	assert(count > 0 && b->table == TABLE_OP);
	return !b->nulls[column] && b->min[column] >= 0 &&
	       b->max[column] <= INT64_MAX / (int64_t)MAX(b->rows * count, (size_t)1);
}

static bool level_is_exact(const struct sums_ask *a, const struct store_block *b, size_t count)
{
	const uint64_t bytes = 1ull << SUMMARY_BYTES;
	const uint64_t times = 1ull << SUMMARY_TIME | 1ull << SUMMARY_MAX | 1ull << SUMMARY_HIST;

	for (uint64_t left = a->absent; left; left &= left - 1) {
		if (b->nulls[__builtin_ctzll(left)] != b->rows)
			return false;
	}
	return (!(a->exact & bytes) || level_is_plain(b, OP_BYTES, count)) &&
	       (!(a->exact & times) || level_is_plain(b, OP_DUR, count));
}

/* True if sums over all calls of the block can be used; `count` is the number of such blocks added together. */
static bool level_is_whole(const struct sums_ask *a, size_t block, size_t count)
{
	const struct store_block *b = store_block(a->store, block);

	return a->summaries && (a->windowless || store_block_on_grid(a->store, block)) &&
	       !store_block_may_run(b) && !(a->long_rows && b->long_calls) &&
	       level_is_exact(a, b, count) && level_takes_all(a, block);
}

bool sums_block_can(const struct sums_ask *a, size_t block)
{
	const struct store_block *b = store_block(a->store, block);

	return b->table == TABLE_OP && b->rows && !b->damaged && level_in_range(a, b) &&
	       sums_filter_may_pass(a->filter, a->store, block, a->seconds);
}

enum sums_level sums_level(const struct sums_ask *a, size_t block, size_t *ret_summary)
{
	assert(block < store_block_count(a->store));
	*ret_summary = SIZE_MAX;
	if (!sums_block_can(a, block))
		return SUMS_NOTHING;
	if (level_is_whole(a, block, 1) &&
	    (sums_filter_in_summary(a->filter, store_block(a->store, block)) ||
	     sums_filter_all_pass(a->filter, a->store, block, a->seconds)))
		*ret_summary = store_summary_of(a->store, block);
	return *ret_summary == SIZE_MAX ? SUMS_ROWS : SUMS_SUMMARY;
}

/* ---- digests ---- */

/* True if the wanted part of a digest has the columns that the filter reads, except columns that are empty in its blocks. */
static bool level_digest_filters(const struct sums_ask *a)
{
	const uint64_t file = 1ull << OP_FILE_ID;
	uint64_t reads = a->filter ? a->filter->columns & ~a->filter->missing : 0;

	return a->of_files ||
	       ((!a->times || !(reads & file)) && (!a->files || !(reads & ~SUMS_OF_FILES)));
}

const struct store_digest *sums_level_digest(const struct sums_ask *a, size_t block, bool *ret_all)
{
	const struct store_digest *d = a->summaries && (a->times || a->files || a->of_files)
					       ? store_digest_of(a->store, block)
					       : NULL;
	bool filters = level_digest_filters(a), all = true;

	if (!d || ((a->files || a->of_files) && !store_digest_has_files(d)) ||
	    (a->files && !a->seconds && store_digest_seconds(d)) ||
	    (a->of_files && !(a->filter && a->filter->files)))
		return NULL;
	for (size_t i = 0; i < d->count; i++) {
		if ((a->end && d->blocks[i] >= a->end) ||
		    !level_is_whole(a, d->blocks[i], d->count))
			return NULL;
		filters = filters &&
			  sums_filter_in_summary(a->filter, store_block(a->store, d->blocks[i]));
		all = all && ret_all &&
		      sums_filter_all_pass(a->filter, a->store, d->blocks[i], a->seconds);
		if (!filters && !all)
			return NULL;
	}
	if (ret_all)
		*ret_all = all;
	return d;
}

bool sums_digest_has_files(const struct sums_filter *f, const struct batch *b)
{
	assert(b->table == TABLE_SUMMARY && f->files);
	for (size_t i = 0; i < b->rows; i++) {
		if (!batch_is_null(b, SUMMARY_THREAD_ID, i)) {
			if (batch_has(b, SUMMARY_HIST) && !store_summary_row_counts(b, i))
				return false;
			continue;
		}
		if (sums_filter_names_file(f, batch_get(b, SUMMARY_FILE_ID, i, -1)) ||
		    sums_filter_names_file(f, batch_get(b, SUMMARY_FILE2_ID, i, -1)))
			return false;
	}
	return true;
}
