// SPDX-License-Identifier: Apache-2.0
/* rows_sums.c: which blocks are read by their summaries, and which digests instead of several (sums/level.h). */
#include <errno.h>

#include "engine/duckdb/rows/rows_shared.h"

/* What every row of the part by file has. */
#define FILE_COLUMNS                                                             \
	(1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_ERR | \
	 1ull << SUMMARY_CALLS | 1ull << SUMMARY_BYTES | 1ull << SUMMARY_TIME |  \
	 1ull << SUMMARY_MAX)

/* What the rows of a file have that keeps its operations and histograms there. */
#define HOT_COLUMNS                                                                             \
	(FILE_COLUMNS | 1ull << SUMMARY_OP | 1ull << SUMMARY_THREAD_ID | 1ull << SUMMARY_HIST | \
	 1ull << SUMMARY_FILE2_ID)

uint64_t rows_sums_of_cell(enum rows_cell cell)
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

uint64_t rows_digest_columns(const struct rows_shared *s)
{
	uint64_t columns = s->preaggregated | sums_columns_of(s->filter.columns);

	return s->ask.of_files ? columns | SUMS_OF_FILES_COLUMNS : columns;
}

bool rows_digest_has_seconds(const struct rows_shared *s, const struct store_digest *d)
{
	bool any = false;

	for (size_t i = 0; i < d->count && !any; i++)
		any = store_block_has_seconds(s->bind->e->store, d->blocks[i]);
	return any;
}

/* The part of an expression that lists the files, without one of which nothing is true for it; NULL: there is none. */
static const struct expr *rows_sums_listed(const struct expr *e)
{
	const struct expr *found;

	if (!e)
		return NULL;
	if (e->kind == EXPR_AND) {
		found = rows_sums_listed(e->arg[0]);
		return found ? found : rows_sums_listed(e->arg[1]);
	}
	return e->kind == EXPR_IN && e->count && e->arg[0]->kind == EXPR_COLUMN &&
			       e->arg[0]->column == OP_FILE_ID
		       ? e
		       : NULL;
}

/* Digests have all of a few files that are busy. */
static int rows_sums_name_files(struct rows_shared *s)
{
	const struct expr *listed = rows_sums_listed(s->bind->x->filter);
	_cleanup_free_ int64_t *ids = listed ? calloc(listed->count, sizeof(*ids)) : NULL;
	int r;

	if (!listed || s->ask.files || !s->preaggregated || rows_digest_columns(s) & ~HOT_COLUMNS)
		return 0;
	if (!ids)
		return -ENOMEM;
	for (size_t i = 0; i < listed->count; i++)
		ids[i] = listed->list[i].i;
	r = sums_filter_name_files(&s->filter, ids, listed->count);
	s->ask.of_files = r >= 0;
	return r;
}

/* What the scan asks of blocks. SQL tells nulls from 0, and adds up without an end. */
static void rows_sums_ask(struct rows_shared *s)
{
	const struct rows_bind *b = s->bind;
	bool by_file = s->sums >> SUMMARY_FILE_ID & 1;

	s->filter.eval = b->x->filter ? b->x->eval : NULL;
	sums_filter_describe(&s->filter, b->x->filter);
	s->ask = (struct sums_ask){
		.store = b->e->store,
		.filter = &s->filter,
		.from = b->from,
		.to = b->to,
		.end = b->pin,
		.summaries = true,
		.seconds = b->each_file,
		.exact = s->sums,
		/* an address given to the call: summaries know those of sockets alone */
		.absent = (s->first | s->rest) & 1ull << OP_PEER_ID,
	};
	if (by_file)
		s->ask.files = s->preaggregated && !(rows_digest_columns(s) & ~FILE_COLUMNS);
	else
		s->ask.times = s->preaggregated && !b->each_file;
}

/*
 * The digest of a block whose summary would be read; NULL: it cannot stand for its blocks in this scan, of which those that
 * are `done` are read already.
 */
static const struct store_digest *rows_sums_digest(const struct rows_shared *s, size_t block,
						   const uint8_t *done)
{
	const struct rows_bind *b = s->bind;
	const struct store_digest *d = sums_level_digest(&s->ask, block, NULL);

	for (size_t i = 0; d && i < d->count; i++) {
		if (d->blocks[i] < b->first_block || done[d->blocks[i]])
			return NULL;
	}
	return d;
}

int rows_sums_choose(struct rows_shared *s)
{
	_cleanup_free_ uint8_t *done = calloc(s->bind->pin + 1, 1);
	size_t kept = 0;

	if (!done)
		return -ENOMEM;
	rows_sums_ask(s);
	if (s->sums >> SUMMARY_FILE_ID & 1 && rows_sums_name_files(s) < 0)
		return -ENOMEM;
	for (size_t i = 0; i < s->block_count; i++) {
		struct rows_block *b = &s->blocks[i];
		enum sums_level level;
		size_t summary;

		if (done[b->block])
			continue;
		level = sums_level(&s->ask, b->block, &summary);
		if (level == SUMS_NOTHING) /* nor of it as part of a digest */
			continue;
		if (level == SUMS_SUMMARY && summary < s->bind->pin &&
		    sums_filter_in_summary(&s->filter, store_block(s->ask.store, b->block))) {
			b->sums = summary;
			b->digest = rows_sums_digest(s, b->block, done);
		}
		done[b->block] = 1;
		for (size_t k = 0; b->digest && k < b->digest->count; k++)
			done[b->digest->blocks[k]] = 1;
		s->blocks[kept++] = *b;
	}
	s->block_count = kept;
	return 0;
}
