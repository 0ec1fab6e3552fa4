// SPDX-License-Identifier: Apache-2.0
/* rows_memory.c: sums and calls in memory instead of blocks. */
#include <errno.h>

#include "engine/duckdb/rows/rows_shared.h"
#include "engine/duckdb/translate/from_summaries.h"
#include "engine/facts.h"
#include "engine/order.h"

/* True where the sums of `count` blocks like this one cannot have overflowed. */
static bool rows_memory_is_exact(const struct rows_shared *s, const struct store_block *b,
				 size_t count)
{
	const uint64_t bytes = 1ull << SUMMARY_BYTES;
	const uint64_t times = 1ull << SUMMARY_TIME | 1ull << SUMMARY_MAX | 1ull << SUMMARY_HIST;
	int64_t most = INT64_MAX / (int64_t)(b->rows * count);

	return (!(s->sums & bytes) || b->max[OP_BYTES] <= most) &&
	       (!(s->sums & times) || b->max[OP_DUR] <= most);
}

/*
 * True where the part tells of what the scan reads and of nothing else: all its blocks would be read by their summaries,
 * or have no row that passes the filter, which leaves them out of the sums too. `last` becomes the place of one of them.
 */
static bool can_stand(const struct rows_shared *s, const struct map *places,
		      const struct held_part *part, uint64_t *last)
{
	const struct rows_bind *b = s->bind;

	*last = UINT64_MAX;
	for (size_t i = 0; i < part->count; i++) {
		size_t block = part->blocks[i];
		uint64_t at;

		/* the sums may have been made before it was found damaged */
		if (block < b->first_block || block >= b->pin ||
		    store_block(b->e->store, block)->damaged)
			return false;
		if (map_get(places, block, &at)) {
			if (s->blocks[at].sums == SIZE_MAX ||
			    !rows_memory_is_exact(s, store_block(b->e->store, block), part->count))
				return false;
			*last = at;
		} else if (!order_open(b->from, b->to)) {
			return false;
		}
	}
	return *last != UINT64_MAX;
}

/* The batches by file of part i stand for the blocks of which blocks[at] is one. 0 or -ENOMEM. */
static int stand_by_file(struct rows_shared *s, size_t i, size_t at)
{
	struct rows_block *b = &s->blocks[at];
	size_t count = s->bind->e->held->file_batches(s->held, i), block = b->block;
	int r = grow((void **)&s->blocks, &s->block_cap, s->block_count + count,
		     sizeof(*s->blocks));

	if (r < 0)
		return r;
	for (size_t k = 0; k < count; k++) {
		b = &s->blocks[k ? s->block_count++ : at];
		*b = (struct rows_block){
			.block = block, .held_files = true, .part = i, .part_batch = k};
	}
	return 0;
}

/* The blocks of part i become one that is not read; the others have no rows from now on. 0 or -ENOMEM. */
static int stand(struct rows_shared *s, const struct map *places, size_t i,
		 const struct held_part *part, uint64_t last)
{
	for (size_t k = 0; k < part->count; k++) {
		uint64_t at;

		if (map_get(places, part->blocks[k], &at) && at != last)
			s->blocks[at].block = SIZE_MAX;
	}
	if (s->sums >> SUMMARY_FILE_ID & 1)
		return stand_by_file(s, i, last);
	s->blocks[last].held = part->sums;
	return 0;
}

uint64_t rows_held_columns(const struct rows_shared *s)
{
	const struct expr *filter = s->bind->x->filter;

	return s->preaggregated | (filter ? from_summaries_columns(expr_columns(filter)) : 0);
}

int rows_choose_held(struct rows_shared *s)
{
	_cleanup_(map_free) struct map places = {0};
	const struct held *h = s->bind->e->held;
	bool by_file = s->sums >> SUMMARY_FILE_ID & 1;
	size_t kept = 0;
	int r = 0;

	if (!h || !s->preaggregated || (by_file && rows_held_columns(s) & ~HELD_FILE_COLUMNS))
		return 0;
	s->held = h->take(h->arg);
	if (!s->held)
		return 0;
	for (size_t i = 0; i < s->block_count && r >= 0; i++)
		r = map_set(&places, s->blocks[i].block, i);
	for (size_t i = 0; r >= 0 && i < h->count(s->held); i++) {
		struct held_part part = h->part(s->held, i);
		uint64_t last;

		/* without each_file a call is wanted with its first file alone */
		if (part.seconds && by_file && !s->bind->each_file)
			continue;
		if (can_stand(s, &places, &part, &last))
			r = stand(s, &places, i, &part, last);
	}
	for (size_t i = 0; i < s->block_count; i++) {
		if (s->blocks[i].block != SIZE_MAX)
			s->blocks[kept++] = s->blocks[i];
	}
	s->block_count = kept;
	return r;
}

/* ---- the longest calls ---- */

/* True where the scan asks for rows by what names them. */
static bool asks_for_names(const struct rows_shared *s)
{
	const struct rows_bind *b = s->bind;
	bool asks = facts_name_rows(b->x->filter);

	for (size_t i = 0; i < s->output_count && !asks; i++) {
		const struct rows_column *c = s->outputs[i];

		asks = c && (c->cell == ROWS_NUMBER || (c->expr && facts_name_rows(c->expr)));
	}
	return asks;
}

void rows_choose_longest(struct rows_shared *s)
{
	const struct rows_bind *b = s->bind;
	const struct held *h = b->e->held;
	const void *longest;
	uint64_t columns;
	int64_t least;

	if (!h || !h->longest || b->table != TABLE_OP || !b->x->filter || b->picked || s->top ||
	    b->each_file || asks_for_names(s))
		return;
	longest = h->longest(h->arg, &least, &columns);
	if (longest && !((s->first | s->rest) & ~columns) && facts_need_long(b->x->eval, least))
		s->longest = longest;
}
