// SPDX-License-Identifier: Apache-2.0
/* rows_sums.c: chooses blocks to be read as summaries, and digests to replace several blocks (sums/level.h). */
#include <errno.h>

#include "engine/duckdb/rows/rows_shared.h"

/* Columns that every row of the by-file part has. */
#define FILE_COLUMNS                                                             \
	(1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_CLASS | 1ull << SUMMARY_ERR | \
	 1ull << SUMMARY_CALLS | 1ull << SUMMARY_BYTES | 1ull << SUMMARY_TIME |  \
	 1ull << SUMMARY_MAX)

/* Columns of rows of files for which that part also has operations and histograms. */
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

/* The part of an expression that lists files, such that the expression is false for all others; NULL: none. */
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

/* Digests have complete rows only for a few busy files. */
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

/* Sets the scan's requirements for blocks. SQL distinguishes null from 0, and its sums do not saturate. */
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
		.windowless = !(s->sums >> SUMMARY_WINDOW & 1),
		.seconds = b->each_file,
		.exact = s->sums,
		/* an address passed to the call: summaries only have those of sockets */
		.absent = (s->first | s->rest) & 1ull << OP_PEER_ID,
	};
	if (by_file)
		s->ask.files = s->preaggregated && !(rows_digest_columns(s) & ~FILE_COLUMNS);
	else
		s->ask.times = s->preaggregated && !b->each_file;
}

/*
 * The digest of a block that would be read as a summary; NULL if it cannot replace its blocks in this scan, or one of
 * them is `done`.
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

/* ---- blocks excluded by digests ---- */

#define KEY_COLUMNS (1ull << OP_OP | 1ull << OP_CLASS | 1ull << OP_ERR)
#define KEYS_MAX    8

/* Results of the filter by key for a digest's rows, and which of its blocks were examined. */
struct rows_keys {
	const struct expr *parts[KEYS_MAX]; /* conjuncts of the filter: all must be true */
	size_t count;
	struct eval *eval;
	struct eval_scratch *scratch;
	struct sums_view *view;
	struct store_cursor *cursor;
	uint32_t *rows;
	uint8_t *known; /* by block: KEY_PASSES, KEY_FAILS; 0: its digest was not examined */
};
enum { KEY_PASSES = 1, KEY_FAILS };

static void rows_keys_free(struct rows_keys *k)
{
	if (k->scratch)
		eval_scratch_free(k->scratch);
	eval_free(k->eval);
	sums_view_free(k->view);
	store_cursor_free(k->cursor);
	free(k->rows);
	free(k->known);
}

static bool rows_keys_only_codes(const struct expr *e)
{
	bool only = e->kind == EXPR_CONST || e->kind == EXPR_COLUMN || e->kind == EXPR_COMPARE ||
		    e->kind == EXPR_IN || e->kind == EXPR_OR || e->kind == EXPR_AND ||
		    e->kind == EXPR_NOT || e->kind == EXPR_IS_NULL;

	for (unsigned int i = 0; i < e->arg_count && only; i++)
		only = rows_keys_only_codes(e->arg[i]);
	return only;
}

static void rows_keys_find(struct rows_keys *k, const struct expr *e)
{
	if (e->kind == EXPR_AND) {
		rows_keys_find(k, e->arg[0]);
		rows_keys_find(k, e->arg[1]);
		return;
	}
	if (k->count < KEYS_MAX && expr_columns(e) && !(expr_columns(e) & ~KEY_COLUMNS) &&
	    rows_keys_only_codes(e))
		k->parts[k->count++] = e;
}

static int rows_keys_prepare(struct rows_keys *k, const struct rows_bind *b)
{
	int r = eval_new(&k->eval, k->parts, k->count, NULL);

	if (r >= 0)
		r = eval_scratch_new(&k->scratch, k->eval);
	if (r >= 0)
		r = sums_view_new(&k->view);
	if (r >= 0)
		r = store_cursor_new(&k->cursor, b->e->store);
	k->rows = malloc(BATCH_ROWS_MAX * sizeof(*k->rows));
	k->known = calloc(b->pin + 1, 1);
	return r >= 0 && (!k->rows || !k->known) ? -ENOMEM : r;
}

/* True if a row of the digest may include a call that passes, or the digest cannot be read. */
static bool rows_keys_digest(struct rows_keys *k, const struct store_digest *d)
{
	const struct batch *sums;
	struct error unused = {0};
	ssize_t n;
	int r = store_decode_digest(k->cursor, d, STORE_DIGEST_TIMES, sums_columns_of(KEY_COLUMNS),
				    &sums, &unused);

	if (r < 0)
		return true;
	n = (ssize_t)sums->rows;
	sums = sums_view_rows(k->view, sums);
	for (size_t i = 0; i < k->count && n > 0; i++)
		n = eval_filter(k->eval, k->scratch, i, sums, i ? k->rows : NULL, (size_t)n,
				k->rows);
	return n != 0;
}

static bool rows_keys_block(struct rows_keys *k, const struct rows_bind *b, size_t block)
{
	const struct store_digest *d = store_digest_of(b->e->store, block);

	/* digests lack unfinished calls */
	if (!d || store_block_may_run(store_block(b->e->store, block)))
		return true;
	if (!k->known[block]) {
		uint8_t known = rows_keys_digest(k, d) ? KEY_PASSES : KEY_FAILS;

		for (size_t i = 0; i < d->count; i++) {
			if (d->blocks[i] < b->pin)
				k->known[d->blocks[i]] = known;
		}
		k->known[block] = known;
	}
	return k->known[block] == KEY_PASSES;
}

int rows_sums_leave_out(struct rows_shared *s)
{
	const struct rows_bind *b = s->bind;
	_cleanup_(rows_keys_free) struct rows_keys k = {0};
	size_t kept = 0;
	int r;

	if (b->table != TABLE_OP || b->each_file || !b->x->filter)
		return 0;
	rows_keys_find(&k, b->x->filter);
	if (!k.count)
		return 0;
	r = rows_keys_prepare(&k, b);
	if (r < 0)
		return r;
	for (size_t i = 0; i < s->block_count; i++) {
		if (rows_keys_block(&k, b, s->blocks[i].block))
			s->blocks[kept++] = s->blocks[i];
	}
	s->block_count = kept;
	return r;
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
		if (level == SUMS_NOTHING) /* nor is it needed as part of a digest */
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
