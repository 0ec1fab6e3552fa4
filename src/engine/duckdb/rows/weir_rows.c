// SPDX-License-Identifier: Apache-2.0
/* weir_rows.c: the scan behind weir_rows() and weir_<table>(), parallel by block. */
#include "engine/duckdb/rows/weir_rows.h"

#include <errno.h>
#include <string.h>

#include "batch/seconds.h"
#include "sums/preaggregate.h"
#include "engine/duckdb/rows/rows_shared.h"
#include "engine/duckdb/rows/topk_heap.h"
#include "sums/order.h"

/* State of one thread. */
struct rows_local {
	struct store_cursor *cursor;
	struct eval_scratch *scratch;
	uint32_t *chosen;   /* buffer for the selected rows of a block */
	uint32_t *identity; /* 0, 1, 2, ... */
	struct sums_view *sums;
	/* block whose calls are read next as seen from their second file */
	const struct rows_block *second;
	const struct store_digest *failed; /* unreadable digest: its blocks are read next */
	size_t failed_next;
	struct rows_block instead;	      /* the current one of them */
	struct batch *seconds, *seconds_sums; /* rows of op, of summary: see batch/seconds.h */
	struct preagg *gather;		      /* NULL: no preaggregation */
	bool preagg_out;		      /* the slice has its sums */
	struct rows_slice more;		      /* rows of a summary not yet added up */
	int64_t *ends;
	struct rows_slice slice; /* rows of the current block to output */
	size_t at;
	struct buf text;
};

static void rows_shared_free(void *p)
{
	struct rows_shared *s = p;

	if (!s)
		return;
	top_free(s->top);
	free(s->blocks);
	free(s->filter.files);
	if (s->names)
		rows_exprs_put(s->names);
	free(s);
}

static uint64_t columns_of(const struct rows_bind *b, const struct rows_column *c)
{
	switch (c->cell) {
	case ROWS_END:
		return order_columns(b->table);
	case ROWS_BYTES:
		return 1ull << OP_BYTES;
	case ROWS_TIME:
	case ROWS_MAX:
	case ROWS_HIST:
		return 1ull << OP_DUR;
	case ROWS_ID:
		return 0;
	default:
		break;
	}
	return c->expr ? expr_columns(c->expr) : c->direct >= 0 ? 1ull << c->direct : 0;
}

static int choose_outputs(const struct duckdb_api *d, duckdb_init_info info, struct rows_shared *s,
			  struct error *err)
{
	const struct rows_bind *b = s->bind;
	int r = 0;

	s->output_count = d->init_get_column_count(info);
	assert(s->output_count <= ROWS_COLUMNS_MAX);
	for (size_t i = 0; i < s->output_count; i++) {
		idx_t column = d->init_get_column_index(info, i);

		/* count(*): a nonexistent column */
		s->outputs[i] = column < b->column_count ? &b->columns[column] : NULL;
	}
	if (b->of)
		r = rows_table_names(b, s->outputs, s->output_count, &s->names, err);
	if (s->names)
		s->x = s->names;
	return r;
}

static void weir_rows_choose_columns(struct rows_shared *s)
{
	const struct rows_bind *b = s->bind;
	bool single = false; /* an individual row is selected */

	s->preaggregated = 1ull << SUMMARY_CALLS;
	for (size_t i = 0; i < s->output_count; i++) {
		if (!s->outputs[i])
			continue;
		s->rest |= columns_of(b, s->outputs[i]);
		s->ends |= s->outputs[i]->cell == ROWS_END;
		s->sums |= rows_sums_of_cell(s->outputs[i]->cell);
		single |= s->outputs[i]->cell == ROWS_NUMBER || s->outputs[i]->cell == ROWS_END;
		if (s->outputs[i]->expr)
			s->preaggregated |= sums_columns_of(expr_columns(s->outputs[i]->expr));
	}
	s->preaggregated =
		b->from_summaries && !single && !b->top.count ? s->preaggregated | s->sums : 0;
	s->first = b->filter_columns;
	if (b->top.count)
		s->first |= columns_of(b, &b->x->columns[0]);
	if (!s->first) { /* nothing to decode before selection */
		s->first = s->rest;
		s->rest = 0;
	}
	s->rest &= ~s->first;
	s->sums |= sums_columns_of(s->first | s->rest);
}

static void weir_rows_add_block(struct rows_shared *s, size_t block, size_t at)
{
	if (rows_block_passes(s->bind, block))
		s->blocks[s->block_count++] =
			(struct rows_block){.block = block, .sums = SIZE_MAX, .at = at};
}

static int weir_rows_choose_blocks(struct rows_shared *s)
{
	const struct rows_bind *b = s->bind;

	if (grow((void **)&s->blocks, &s->block_cap, b->pin + 1, sizeof(*s->blocks)) < 0)
		return -ENOMEM;
	if (b->picked) {
		for (size_t i = 0; i < b->pick.count; i++) {
			size_t block = order_number_block(b->pick.numbers[i]);

			if (block < b->pin &&
			    (!i || order_number_block(b->pick.numbers[i - 1]) != block))
				weir_rows_add_block(s, block, i);
		}
		return 0;
	}
	if (b->live) {
		for (size_t i = 0; i < b->live->block_count; i++) {
			if (b->live->from[i] != b->live->from[i + 1])
				weir_rows_add_block(s, b->live->blocks[i], i);
		}
		return 0;
	}
	for (size_t i = b->first_block; i < b->pin; i++)
		weir_rows_add_block(s, i, 0);
	for (size_t i = 0; b->of && i < b->of->part_count; i++) {
		const struct store_made *m = b->of->parts[i];

		if (grow((void **)&s->blocks, &s->block_cap, s->block_count + m->block_count,
			 sizeof(*s->blocks)) < 0)
			return -ENOMEM;
		for (size_t k = m->first_block; k < m->first_block + m->block_count; k++) {
			if (!store_block(b->e->store, k)->damaged)
				s->blocks[s->block_count++] =
					(struct rows_block){.block = k, .sums = SIZE_MAX};
		}
	}
	return 0;
}

static int prepare_top(struct rows_shared *s)
{
	const struct rows_bind *b = s->bind;
	const struct rows_column *key = &b->columns[0];
	int r;

	if (!b->top.count || key->cell != ROWS_INT)
		return 0;
	r = top_new(&s->top, b->top.count, b->top.desc, key->type == DUCKDB_TYPE_UBIGINT);
	if (r >= 0 && key->direct >= 0)
		top_sort_blocks(s->top, b->e->store, (unsigned int)key->direct, s->blocks,
				s->block_count, sizeof(*s->blocks));
	return r;
}

/* Determines what to read, given the outputs. 0 or -ENOMEM. */
static int weir_rows_prepare(struct rows_shared *s)
{
	int r;

	weir_rows_choose_columns(s);
	r = weir_rows_choose_blocks(s);
	if (r >= 0 && !s->bind->from_summaries && !s->bind->picked)
		r = rows_sums_leave_out(s);
	if (r >= 0)
		r = prepare_top(s);
	if (r >= 0 && s->bind->from_summaries)
		r = rows_sums_choose(s);
	if (r < 0)
		return r;
	atomic_fetch_add(&s->bind->e->blocks_total, s->block_count);
	return r;
}

/* A zeroed state for all threads or for one; DuckDB frees it with free_state. NULL: no memory, already reported. */
static void *state_new(duckdb_init_info info, size_t size, duckdb_delete_callback_t free_state)
{
	const struct duckdb_api *d = duckdb_loaded();
	void *state = calloc(1, size);

	if (state)
		d->init_set_init_data(info, state, free_state);
	else
		d->init_set_error(info, "out of memory");
	return state;
}

static void weir_rows_on_init(duckdb_init_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct rows_bind *b = d->init_get_bind_data(info);
	struct rows_shared *s = state_new(info, sizeof(*s), rows_shared_free);
	struct error err = {0};
	size_t threads;
	int r;

	if (!s)
		return;
	s->bind = b;
	s->x = b->x;
	pthread_mutex_lock(&b->e->names_lock);
	r = choose_outputs(d, info, s, &err);
	if (r >= 0 && !b->live && b->table != TABLE_OWN && schema_is_dimension(b->table))
		r = names_live(b->e, b->table, &b->live, &err);
	pthread_mutex_unlock(&b->e->names_lock);
	if (r >= 0)
		r = weir_rows_prepare(s);
	if (r < 0) {
		d->init_set_error(info, err.message[0] ? err.message : "out of memory");
		return;
	}
	threads = MIN(s->block_count, (size_t)b->e->threads);
	d->init_set_max_threads(info, MAX(threads, (size_t)1));
}

static void weir_rows_local_free(struct rows_local *l)
{
	store_cursor_free(l->cursor);
	sums_view_free(l->sums);
	preagg_free(l->gather);
	batch_free(l->seconds);
	batch_free(l->seconds_sums);
	if (l->scratch)
		eval_scratch_free(l->scratch);
	free(l->chosen);
	free(l->identity);
	free(l->ends);
	buf_free(&l->text);
}

static void rows_local_free(void *p)
{
	if (p)
		weir_rows_local_free(p);
	free(p);
}

static int local_new(const struct rows_bind *b, struct rows_local *l)
{
	l->chosen = malloc(BATCH_ROWS_MAX * sizeof(*l->chosen));
	l->identity = malloc(BATCH_ROWS_MAX * sizeof(*l->identity));
	l->ends = malloc(BATCH_ROWS_MAX * sizeof(*l->ends));
	if (!l->chosen || !l->identity || !l->ends)
		return -ENOMEM;
	for (uint32_t i = 0; i < BATCH_ROWS_MAX; i++)
		l->identity[i] = i;
	if (b->from_summaries && sums_view_new(&l->sums) < 0)
		return -ENOMEM;
	if (b->each_file && (batch_new(&l->seconds, TABLE_OP) < 0 ||
			     batch_new(&l->seconds_sums, TABLE_SUMMARY) < 0))
		return -ENOMEM;
	return store_cursor_new(&l->cursor, b->e->store);
}

static void weir_rows_on_local_init(duckdb_init_info info)
{
	const struct duckdb_api *d = duckdb_loaded();
	const struct rows_bind *b = d->init_get_bind_data(info);
	struct rows_local *l = state_new(info, sizeof(*l), rows_local_free);

	if (!l)
		return;
	if (local_new(b, l) < 0)
		d->init_set_error(info, "out of memory");
}

/* Creates the table at the first summary, because the shared state is not complete before. 0 or -ENOMEM. */
static int preagg_need(const struct rows_shared *s, struct rows_local *l)
{
	return !s->preaggregated || l->gather ? 0 : preagg_new(&l->gather, s->preaggregated);
}

/* The rows of the block listed in `numbers`, from index `at` on. */
static size_t picked_rows(const struct rows_bind *b, size_t block, size_t at, size_t rows,
			  uint32_t *out)
{
	size_t n = 0;

	for (; at < b->pick.count && order_number_block(b->pick.numbers[at]) == block; at++) {
		uint32_t row = order_number_row(b->pick.numbers[at]);

		if (row < rows && (!n || out[n - 1] != row) && n < BATCH_ROWS_MAX)
			out[n++] = row;
	}
	return n;
}

/* Keeps rows that can be among the first `top`. */
static ssize_t choose_top(struct rows_shared *s, struct rows_local *l, const uint32_t *in, size_t n)
{
	const struct rows_column *key = &s->bind->x->columns[0];
	const struct column *c;
	struct vector v;
	int r;

	if (key->direct >= 0) {
		c = &l->slice.batch->columns[key->direct];
		return (ssize_t)top_choose(s->top, c->val, c->nulls, in, n, l->chosen, true);
	}
	r = eval_rows(s->bind->x->eval, l->scratch, key->k, l->slice.batch, in, n, &v);
	return r < 0 ? r : (ssize_t)top_choose(s->top, v.i, v.nulls, in, n, l->chosen, false);
}

/* Selects the rows of the batch to output; negative on failure. */
static int weir_rows_choose_rows(struct rows_shared *s, struct rows_local *l,
				 const struct rows_block *block)
{
	const struct rows_bind *b = s->bind;
	const struct batch *batch = l->slice.batch;
	const uint32_t *in = l->identity;
	ssize_t n = (ssize_t)batch->rows;

	if (b->picked) {
		n = (ssize_t)picked_rows(b, block->block, block->at, batch->rows, l->chosen);
		in = l->chosen;
	} else if (b->live) {
		in = b->live->rows + b->live->from[block->at];
		n = (ssize_t)(b->live->from[block->at + 1] - b->live->from[block->at]);
	}
	if (!order_open(b->from, b->to) && !l->slice.sums) {
		n = (ssize_t)order_rows_in(batch, b->from, b->to, false, in, (size_t)n, l->chosen);
		in = l->chosen;
	}
	if (n > 0 && s->x->filter) {
		n = eval_filter(s->x->eval, l->scratch, 0, batch, in, (size_t)n, l->chosen);
		in = l->chosen;
	}
	if (n > 0 && s->top) {
		n = choose_top(s, l, in, (size_t)n);
		in = l->chosen;
	}
	if (n < 0)
		return (int)n;
	l->slice.rows = in;
	l->slice.count = (size_t)n;
	return 0;
}

/* The histogram column, if it is decoded after row selection; not with `top`, which must not see rows twice. */
static uint64_t hists_later(const struct rows_shared *s)
{
	return s->top ? 0 : s->sums & 1ull << SUMMARY_HIST;
}

/* True if the summary counts every call, and its decoded histograms do, too. */
static bool counts_all(const struct rows_shared *s, const struct rows_local *l,
		       const struct batch *summary)
{
	return store_summary_counts(summary, l->slice.block->rows,
				    s->sums & ~hists_later(s) & 1ull << SUMMARY_HIST);
}

/*
 * Decodes the histograms of the selected rows of a summary, which is expensive and often needed for few rows.
 * `numbers`: the rows of `summary` that correspond to the slice; NULL: the same. 1, or 0 if rows of op must be read.
 */
static int take_hists(struct rows_shared *s, struct rows_local *l, const struct batch *summary,
		      const uint32_t *numbers, struct error *err)
{
	int r;

	if (!l->slice.count || !hists_later(s))
		return 1;
	r = store_decode_more(l->cursor, 1ull << SUMMARY_HIST, err);
	if (r == -EBADMSG) {
		*err = (struct error){0};
		return 0;
	}
	for (size_t i = 0; r >= 0 && i < l->slice.count; i++) {
		uint32_t row = l->slice.rows[i];

		if (!store_summary_row_counts(summary, numbers ? numbers[row] : row))
			return 0;
	}
	return r < 0 ? r : 1;
}

/* Reads the block's summary instead of its rows. 1, or 0 if the rows must be read. */
static int weir_rows_take_sums(struct rows_shared *s, struct rows_local *l,
			       const struct rows_block *block, struct error *err)
{
	const struct batch *summary;
	int r = store_decode(l->cursor, block->sums, s->sums & ~hists_later(s), &summary, err);

	if (r == -EBADMSG) { /* counted as damage; the rows are intact */
		*err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	if (!counts_all(s, l, summary))
		return 0;
	l->slice.batch = sums_view_rows(l->sums, summary);
	l->slice.sums = summary;
	r = weir_rows_choose_rows(s, l, block);
	if (r < 0)
		return error_errno(err, r, "cannot evaluate the expressions of weir_rows()");
	r = take_hists(s, l, summary, NULL, err);
	if (r > 0)
		l->slice.batch = sums_view_rows(l->sums, summary);
	else
		l->slice.sums = NULL;
	return r;
}

/* Reads a digest instead of its blocks. 1, or 0 if the blocks must be read. */
static int take_digest(struct rows_shared *s, struct rows_local *l, const struct rows_block *block,
		       struct error *err)
{
	const struct store_digest *d = block->digest;
	bool by_file = s->sums >> SUMMARY_FILE_ID & 1;
	const struct batch *sums;
	int r = store_decode_digest(l->cursor, d, by_file ? STORE_DIGEST_FILES : STORE_DIGEST_TIMES,
				    rows_digest_columns(s), &sums, err);

	if (r >= 0 && s->ask.of_files && !sums_digest_has_files(&s->filter, sums))
		r = -EBADMSG;
	if (r == -EBADMSG || (r >= 0 && !by_file && s->sums >> SUMMARY_HIST & 1 &&
			      !store_summary_counts(sums, d->calls, true))) {
		*err = (struct error){0};
		l->failed = d;
		l->failed_next = 0;
		return 0;
	}
	if (r < 0)
		return r;
	l->slice.batch = sums_view_rows(l->sums, sums);
	l->slice.sums = sums;
	r = weir_rows_choose_rows(s, l, block);
	return r < 0 ? error_errno(err, r, "cannot evaluate the expressions of weir_rows()") : 1;
}

/* Decodes one block and chooses its rows; slice.count may be 0. */
static int weir_rows_take_block(struct rows_shared *s, struct rows_local *l,
				const struct rows_block *block, struct error *err)
{
	const struct store_block *facts = store_block(s->bind->e->store, block->block);
	int r;

	l->at = 0;
	l->slice =
		(struct rows_slice){.block = facts, .block_number = block->block, .ends = l->ends};
	if (s->top && s->bind->x->columns[0].direct >= 0 &&
	    !top_block(s->top, facts, (unsigned int)s->bind->x->columns[0].direct))
		return 0;
	if (block->digest)
		return MIN(take_digest(s, l, block, err), 0);
	atomic_fetch_add(&s->bind->e->blocks_read[facts->table], 1);
	if (block->sums != SIZE_MAX) {
		r = weir_rows_take_sums(s, l, block, err);
		if (r)
			return MIN(r, 0);
	}
	r = store_decode(l->cursor, block->block, s->first, &l->slice.batch, err);
	if (r < 0)
		return r;
	r = weir_rows_choose_rows(s, l, block);
	if (r < 0)
		return error_errno(err, r, "cannot evaluate the expressions of weir_rows()");
	if (l->slice.count && s->rest)
		r = store_decode_more(l->cursor, s->rest, err);
	if (r >= 0 && l->slice.count && s->ends)
		order_ends(l->slice.batch, l->ends);
	return r;
}

/* Sets the slice to the groups of a summary as seen from their second file. 0 or negative. */
static int slice_second_sums(struct rows_local *l, const struct batch *summary, struct error *err)
{
	int r = batch_seconds(summary, l->seconds_sums);

	if (r < 0)
		return error_errno(err, r, "cannot read the second files of calls");
	l->slice.sums = l->seconds_sums;
	l->slice.batch = sums_view_rows(l->sums, l->seconds_sums);
	return 0;
}

/* Selects rows of the summary among those. 1, or 0 if the rows must be read. */
static int take_second_sums(struct rows_shared *s, struct rows_local *l,
			    const struct rows_block *block, struct error *err)
{
	uint64_t columns = seconds_columns(TABLE_SUMMARY, s->sums);
	const struct batch *summary;
	int r = block->digest ? store_decode_digest(l->cursor, block->digest, STORE_DIGEST_FILES,
						    columns, &summary, err)
			      : store_decode(l->cursor, block->sums, columns & ~hists_later(s),
					     &summary, err);

	if (r == -EBADMSG) {
		*err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	if (!block->digest && !counts_all(s, l, summary))
		return 0;
	r = slice_second_sums(l, summary, err);
	if (r >= 0 && weir_rows_choose_rows(s, l, block) < 0)
		r = error_set(err, -EINVAL, "cannot evaluate the expressions of weir_rows()");
	if (r < 0 || block->digest)
		return r < 0 ? r : 1;
	r = take_hists(s, l, summary, l->seconds_sums->numbers, err);
	if (r > 0 && l->slice.count && slice_second_sums(l, summary, err) < 0)
		return -ENOMEM;
	if (!r)
		l->slice.sums = NULL;
	return r;
}

/* Reads the calls of a block as seen from their second file. */
static int take_second(struct rows_shared *s, struct rows_local *l, const struct rows_block *block,
		       struct error *err)
{
	const struct batch *batch;
	int r = 0;

	l->at = 0;
	l->slice = (struct rows_slice){.block = store_block(s->bind->e->store, block->block),
				       .block_number = block->block,
				       .ends = l->ends};
	if (block->sums != SIZE_MAX)
		r = take_second_sums(s, l, block, err);
	if (r < 0)
		return r;
	if (r == 0) {
		r = store_decode(l->cursor, block->block,
				 seconds_columns(TABLE_OP, s->first | s->rest), &batch, err);
		if (r < 0)
			return r;
		r = batch_seconds(batch, l->seconds);
		if (r < 0)
			return error_errno(err, r, "cannot read the second files of calls");
		l->slice.batch = l->seconds;
		r = weir_rows_choose_rows(s, l, block);
		if (r < 0)
			return error_errno(err, r,
					   "cannot evaluate the expressions of weir_rows()");
	}
	if (l->slice.count && s->ends && !l->slice.sums)
		order_ends(l->slice.batch, l->ends);
	return 0;
}

/* Outputs the preaggregated sums. 1, 0 if there are none, or negative. */
static int give_gathered(struct rows_local *l, struct error *err)
{
	const struct batch *sums;

	if (!l->gather || !preagg_count(l->gather))
		return 0;
	if (preagg_batch(l->gather, &sums) < 0)
		return error_errno(err, -ENOMEM, "cannot return sums");
	l->preagg_out = true;
	l->at = 0;
	l->slice = (struct rows_slice){.batch = sums_view_rows(l->sums, sums),
				       .rows = l->identity,
				       .count = sums->rows,
				       .block = l->more.block,
				       .block_number = l->more.block_number,
				       .ends = l->ends,
				       .sums = sums};
	return 1;
}

/* Adds up the remaining rows of a summary. 1 if the sums must be output first, 0, or negative. */
static int preagg_more(struct rows_local *l, struct error *err)
{
	ssize_t n;

	if (l->preagg_out)
		preagg_clear(l->gather);
	l->preagg_out = false;
	if (!l->more.count)
		return 0;
	n = preagg_add(l->gather, l->more.sums, l->more.rows, l->more.count);
	if (n < 0)
		return error_errno(err, (int)n, "cannot add up summaries");
	l->more.rows += n;
	l->more.count -= (size_t)n;
	return l->more.count ? give_gathered(l, err) : 0;
}

/* Preaggregates a slice of a summary instead of outputting it. */
static int take_slice(struct rows_shared *s, struct rows_local *l, struct error *err)
{
	if (!l->slice.sums || !s->preaggregated)
		return 1;
	if (preagg_need(s, l) < 0)
		return error_errno(err, -ENOMEM, "cannot add up summaries");
	l->more = l->slice;
	l->slice.count = 0;
	return preagg_more(l, err);
}

/* A digest already counts successful calls for both of their files; only failed ones are still to be seen from the second. */
static bool has_second(const struct rows_shared *s, const struct rows_local *l,
		       const struct rows_block *block)
{
	if (!s->bind->each_file || (block->digest && l->failed == block->digest))
		return false;
	return block->digest ? rows_digest_has_seconds(s, block->digest)
			     : store_block_has_seconds(s->bind->e->store, block->block);
}

/* The next block of an unreadable digest; NULL: no more. */
static const struct rows_block *next_failed(struct rows_shared *s, struct rows_local *l)
{
	const struct store *store = s->bind->e->store;

	while (l->failed && l->failed_next < l->failed->count) {
		size_t block = l->failed->blocks[l->failed_next++];

		if (!rows_block_passes(s->bind, block) || !sums_block_can(&s->ask, block))
			continue;
		l->instead =
			(struct rows_block){.block = block, .sums = store_summary_of(store, block)};
		return &l->instead;
	}
	l->failed = NULL;
	return NULL;
}

/* The block that comes next; NULL at the end. */
static const struct rows_block *next_block(struct rows_shared *s, struct rows_local *l)
{
	const struct rows_block *b = next_failed(s, l);
	size_t i = b ? 0 : atomic_fetch_add(&s->next, 1);

	return b ? b : i < s->block_count ? &s->blocks[i] : NULL;
}

/* Advances to the next slice, which may be empty. 1, 0 at the end, or negative. */
static int next_slice(struct rows_shared *s, struct rows_local *l, struct error *err)
{
	const struct rows_block *second = TAKE_PTR(l->second);
	struct duck *e = s->bind->e;
	int r;

	if (second) {
		r = take_second(s, l, second, err);
	} else {
		const struct rows_block *b = next_block(s, l);

		if (!b)
			return 0;
		if (atomic_load(&e->interrupted))
			return error_set(err, -EINTR, "interrupted");
		r = weir_rows_take_block(s, l, b, err);
		if (r >= 0 && has_second(s, l, b))
			l->second = b;
		atomic_fetch_add(&e->blocks_done, b != &l->instead);
	}
	if (r == -EBADMSG) { /* the store counts it as damage, which is reported */
		*err = (struct error){0};
		l->slice.count = 0;
		r = 0;
	}
	return r < 0 ? r : 1;
}

/* Advances to the next block with rows to output. 1, 0 at the end, or negative. */
static int weir_rows_next_block(struct rows_shared *s, struct rows_local *l, struct error *err)
{
	int r = preagg_more(l, err);

	if (r)
		return r;
	for (;;) {
		r = next_slice(s, l, err);
		if (r == 0)
			return give_gathered(l, err);
		if (r > 0 && l->slice.count)
			r = take_slice(s, l, err);
		if (r < 0 || l->slice.count)
			return r < 0 ? r : 1;
	}
}

static int fill_chunk(struct rows_shared *s, struct rows_local *l, size_t count,
		      duckdb_data_chunk chunk)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct rows_slice slice = l->slice;
	int r = 0;

	slice.rows += l->at;
	slice.count = count;
	for (size_t i = 0; i < s->output_count && r >= 0; i++) {
		if (s->outputs[i])
			r = rows_fill(s->x, s->outputs[i], l->scratch, &slice,
				      d->data_chunk_get_vector(chunk, i), &l->text);
	}
	return r;
}

static void weir_rows_on_scan(duckdb_function_info info, duckdb_data_chunk chunk)
{
	const struct duckdb_api *d = duckdb_loaded();
	struct rows_shared *s = d->function_get_init_data(info);
	struct rows_local *l = d->function_get_local_init_data(info);
	struct error err = {0};
	size_t count = 0;
	int r = 1;

	/* not earlier: a thread's init does not know which expressions there will be */
	if (s->x->eval && !l->scratch)
		r = MIN(eval_scratch_new(&l->scratch, s->x->eval), 0) + 1;
	if (r > 0 && l->at >= l->slice.count)
		r = weir_rows_next_block(s, l, &err);
	if (r > 0) {
		count = MIN(l->slice.count - l->at, (size_t)VECTOR_ROWS);
		r = fill_chunk(s, l, count, chunk);
		l->at += count;
	}
	if (r < 0) {
		d->function_set_error(info, err.message[0] ? err.message : strerror(-r));
		count = 0;
	}
	d->data_chunk_set_size(chunk, count);
}

void rows_set_scan(const struct duckdb_api *d, duckdb_table_function f)
{
	d->table_function_set_init(f, weir_rows_on_init);
	d->table_function_set_local_init(f, weir_rows_on_local_init);
	d->table_function_set_function(f, weir_rows_on_scan);
	d->table_function_supports_projection_pushdown(f, true);
}
