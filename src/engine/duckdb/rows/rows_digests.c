// SPDX-License-Identifier: Apache-2.0
/* rows_digests.c: digests instead of the summaries of their blocks. */
#include <errno.h>

#include "engine/duckdb/rows/rows_shared.h"
#include "engine/duckdb/translate/from_summaries.h"
#include "engine/order.h"

/* What every row of the part by file has. */
#define FILE_COLUMNS                                                             \
	(1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_ERR | \
	 1ull << SUMMARY_CALLS | 1ull << SUMMARY_BYTES | 1ull << SUMMARY_TIME |  \
	 1ull << SUMMARY_MAX)

/* True where the sums of `count` blocks like this one cannot have overflowed. */
static bool rows_digests_are_exact(const struct rows_shared *s, const struct store_block *b,
				   size_t count)
{
	const uint64_t bytes = 1ull << SUMMARY_BYTES;
	const uint64_t times = 1ull << SUMMARY_TIME | 1ull << SUMMARY_MAX | 1ull << SUMMARY_HIST;
	int64_t most = INT64_MAX / (int64_t)(b->rows * count);

	return (!(s->sums & bytes) || b->max[OP_BYTES] <= most) &&
	       (!(s->sums & times) || b->max[OP_DUR] <= most);
}

/*
 * True where the digest sums up what the scan reads and nothing else: all its blocks would be read by their summaries,
 * or have no row that passes the filter, which leaves them out of the sums too.
 */
static bool rows_digests_can_stand(const struct rows_shared *s, const struct map *places,
				   const struct store_digest *d)
{
	const struct rows_bind *b = s->bind;

	if (s->sums >> SUMMARY_FILE_ID & 1 &&
	    (!store_digest_has_files(d) || (store_digest_seconds(d) && !b->each_file)))
		return false;
	for (size_t i = 0; i < d->count; i++) {
		size_t block = d->blocks[i];
		uint64_t at;

		if (block < b->first_block || block >= b->pin)
			return false;
		if (!map_get(places, block, &at)) {
			if (!order_open(b->from, b->to))
				return false;
			continue;
		}
		if (s->blocks[at].sums == SIZE_MAX ||
		    !rows_digests_are_exact(s, store_block(b->e->store, block), d->count))
			return false;
	}
	return true;
}

/* The digest is read in the place of the first of its blocks, and the others are not. */
static void rows_digests_stand(struct rows_shared *s, const struct map *places, size_t first,
			       const struct store_digest *d)
{
	for (size_t i = 0; i < d->count; i++) {
		uint64_t at;

		if (map_get(places, d->blocks[i], &at) && at != first)
			s->blocks[at].block = SIZE_MAX;
	}
	s->blocks[first].digest = d;
}

bool rows_digest_has_seconds(const struct rows_shared *s, const struct store_digest *d)
{
	bool any = false;

	for (size_t i = 0; i < d->count && !any; i++)
		any = store_block_has_seconds(s->bind->e->store, d->blocks[i]);
	return any;
}

uint64_t rows_digest_columns(const struct rows_shared *s)
{
	const struct expr *filter = s->bind->x->filter;

	return s->preaggregated | (filter ? from_summaries_columns(expr_columns(filter)) : 0);
}

int rows_choose_digests(struct rows_shared *s)
{
	_cleanup_(map_free) struct map places = {0};
	bool by_file = s->sums >> SUMMARY_FILE_ID & 1;
	size_t kept = 0;
	int r = 0;

	if (!s->preaggregated || s->bind->table != TABLE_OP ||
	    (by_file ? rows_digest_columns(s) & ~FILE_COLUMNS : s->bind->each_file))
		return 0;
	for (size_t i = 0; i < s->block_count && r >= 0; i++)
		r = map_set(&places, s->blocks[i].block, i);
	for (size_t i = 0; r >= 0 && i < s->block_count; i++) {
		struct rows_block *b = &s->blocks[i];
		const struct store_digest *d =
			b->block == SIZE_MAX || b->sums == SIZE_MAX
				? NULL
				: store_digest_of(s->bind->e->store, b->block);

		if (d && rows_digests_can_stand(s, &places, d))
			rows_digests_stand(s, &places, i, d);
	}
	for (size_t i = 0; i < s->block_count; i++) {
		if (s->blocks[i].block != SIZE_MAX)
			s->blocks[kept++] = s->blocks[i];
	}
	s->block_count = kept;
	return r;
}
