// SPDX-License-Identifier: Apache-2.0
#include "sums/walk.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "batch/seconds.h"
#include "sums/order.h"
#include "sums/rollup.h"

struct walk_item {
	size_t block;
	/* covers this block and others; NULL: this block alone */
	const struct store_digest *digest;
	bool all; /* all of its calls pass the filter */
};

/* State shared by the workers. */
struct walk_run {
	struct walk *walk;
	const struct sums_ask *ask;
	uint64_t sums;	  /* columns of summary */
	uint64_t columns; /* of op */
	struct walk_item *items;
	size_t count, first; /* first: the first item of this part */
	atomic_size_t next;
	atomic_bool failed;
};

struct walker {
	struct walk_run *run;
	void *state;
	struct store_cursor *cursor;
	struct eval_scratch *scratch;
	struct sums_view *view; /* rows of summary as the filter sees them */
	struct batch *times;	/* by-time part of a digest, kept while the by-file part is read */
	struct batch *seconds, *seconds_sums; /* of op and of summary; NULL if not wanted */
	uint32_t *rows;			      /* [BATCH_ROWS_MAX] */
	struct error err;
	int code;
};

/* ---- rows ---- */

static size_t walk_overlapping(const struct sums_ask *a, const struct batch *b, uint32_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < b->rows; i++) {
		int64_t start = batch_get(b, OP_START, i, INT64_MIN);

		if (start < a->to && (start == INT64_MIN || rollup_end(b, i) >= a->from))
			out[n++] = (uint32_t)i;
	}
	return n;
}

/* True if the block's header shows that every row is in the range. */
static bool walk_rows_are_in(const struct sums_ask *a, const struct store_block *b)
{
	return (a->range == SUMS_ENDED && order_open(a->from, a->to)) ||
	       sums_block_within(b, a->from, a->to);
}

static ssize_t walk_choose_rows(struct walker *w, const struct batch *b, bool all)
{
	const struct sums_ask *a = w->run->ask;
	size_t n = b->rows;

	if (all)
		return sums_filter_rows(a->filter, w->scratch, b, NULL, n, w->rows, &w->err);
	n = a->range == SUMS_OVERLAP ? walk_overlapping(a, b, w->rows)
				     : order_rows_in(b, a->from, a->to, false, NULL, n, w->rows);
	return sums_filter_rows(a->filter, w->scratch, b, w->rows, n, w->rows, &w->err);
}

/* Passes on the rows of the batch that pass the filter, after decoding the columns `more` of these rows. */
static int walk_take_chosen(struct walker *w, struct walk_rows *rows, bool all, uint64_t more)
{
	ssize_t n = walk_choose_rows(w, rows->batch, all);
	int r = n > 0 && more ? store_decode_more(w->cursor, more, &w->err) : 0;

	if (r < 0 || n <= 0)
		return r < 0 ? r : (int)n;
	rows->count = (size_t)n;
	return w->run->walk->take(w->state, rows);
}

/* Passes on the same rows as seen from their second file. */
static int walk_take_seconds(struct walker *w, struct walk_rows *rows, bool all)
{
	int r = batch_seconds(rows->batch, w->seconds);

	if (r < 0 || !w->seconds->rows)
		return r;
	rows->batch = w->seconds;
	rows->second = true;
	return walk_take_chosen(w, rows, all, 0);
}

static int walk_take_rows(struct walker *w, size_t block)
{
	const struct sums_ask *a = w->run->ask;
	bool all = walk_rows_are_in(a, store_block(a->store, block));
	bool twice = a->seconds && store_block_has_seconds(a->store, block);
	uint64_t wanted = w->run->columns, first = all ? 0 : order_columns(TABLE_OP);
	struct walk_rows rows = {.block = block, .rows = w->rows};
	int r;

	first |= w->scratch && !twice ? a->filter->columns : wanted;
	r = store_decode(w->cursor, block, first, &rows.batch, &w->err);
	if (r >= 0)
		r = walk_take_chosen(w, &rows, all, wanted & ~first);
	if (r >= 0 && twice)
		r = walk_take_seconds(w, &rows, all);
	if (r == -EBADMSG) { /* the store has counted it as damage */
		w->err = (struct error){0};
		return 0;
	}
	return r;
}

/* ---- summaries ---- */

/* `all`: every call summed in these rows passes the filter. */
static ssize_t walk_filter_sums(struct walker *w, const struct batch *sums, bool all)
{
	return sums_filter_rows(all ? NULL : w->run->ask->filter, w->scratch,
				sums_view_rows(w->view, sums), NULL, sums->rows, w->rows, &w->err);
}

/*
 * True if the histograms of the rows that passed count all of their calls. If rows are passed on a second time, all
 * rows are checked: after the first time it is too late to fall back to rows of op.
 */
static bool walk_hists_count(const struct walker *w, const struct walk_rows *rows)
{
	/* most rows of the by-file part have no histogram */
	bool some = rows->digest && rows->part == STORE_DIGEST_FILES;
	bool all = w->run->ask->seconds;
	size_t count = rows->second ? 0 : all ? rows->batch->rows : rows->count;

	for (size_t k = 0; k < count; k++) {
		size_t row = all ? k : rows->rows[k];

		if (some && batch_is_null(rows->batch, SUMMARY_HIST, row))
			continue;
		if (!store_summary_row_counts(rows->batch, row))
			return false;
	}
	return true;
}

/* Filters rows of summary. 1; 0 if their histograms do not count all of their calls; or negative. */
static int walk_choose_sums(struct walker *w, struct walk_rows *rows, bool all)
{
	ssize_t n = walk_filter_sums(w, rows->batch, all);

	if (n < 0)
		return (int)n;
	rows->count = (size_t)n;
	return !(w->run->sums >> SUMMARY_HIST & 1) || walk_hists_count(w, rows);
}

static int walk_give(struct walker *w, const struct walk_rows *rows)
{
	int r = rows->count ? w->run->walk->take(w->state, rows) : 0;

	return r < 0 ? r : 1;
}

/* Chooses the same rows as seen from their second file, if wanted. 1; 0 if rows of op must be read; or negative. */
static int walk_second_sums(struct walker *w, struct walk_rows *rows, bool all)
{
	int r = w->run->ask->seconds ? batch_seconds(rows->batch, w->seconds_sums) : 0;

	if (r < 0 || !w->run->ask->seconds || !w->seconds_sums->rows)
		return r < 0 ? r : 1;
	rows->batch = w->seconds_sums;
	rows->second = true;
	r = walk_choose_sums(w, rows, all);
	return r <= 0 ? r : walk_give(w, rows);
}

/* 1 if the summary was used, 0 if rows must be read. */
static int walk_take_summary(struct walker *w, size_t block, size_t summary)
{
	const struct sums_ask *a = w->run->ask;
	const struct store_block *b = store_block(a->store, block);
	bool all = !sums_filter_in_summary(a->filter, b); /* otherwise it would not be read */
	struct walk_rows rows = {.block = block, .rows = w->rows};
	int r = store_decode(w->cursor, summary, w->run->sums, &rows.batch, &w->err);

	if (r == -EBADMSG) {
		w->err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	if (!store_summary_counts(rows.batch, b->rows, false))
		return 0;
	r = walk_choose_sums(w, &rows, all);
	if (r > 0)
		r = walk_give(w, &rows);
	return r <= 0 ? r : walk_second_sums(w, &rows, all);
}

/* ---- digests ---- */

/* 1, 0 if its blocks must be read instead, or negative. */
static int walk_decode_digest(struct walker *w, const struct store_digest *d,
			      enum store_digest_part part, uint64_t columns, struct walk_rows *ret)
{
	int r = store_decode_digest(w->cursor, d, part, columns, &ret->batch, &w->err);

	*ret = (struct walk_rows){.block = SIZE_MAX,
				  .digest = d,
				  .part = part,
				  .batch = r < 0 ? NULL : ret->batch,
				  .rows = w->rows};
	if (r == -EBADMSG) {
		w->err = (struct error){0};
		return 0;
	}
	return r < 0 ? r : 1;
}

/* Passes on the decoded by-file part. 1, 0 if the blocks must be read instead, or negative. */
static int walk_take_files(struct walker *w, struct walk_rows *rows, bool all)
{
	int r = walk_choose_sums(w, rows, all);

	if (r > 0)
		r = walk_give(w, rows);
	return r <= 0 ? r : walk_second_sums(w, rows, all);
}

static int walk_take_of_files(struct walker *w, const struct walk_item *item)
{
	const struct sums_ask *a = w->run->ask;
	struct walk_rows rows;
	bool named = false;
	int r;

	for (size_t i = 0; i < item->digest->count && !named; i++)
		named = sums_filter_has_file(a->filter, a->store, item->digest->blocks[i]);
	if (!named)
		return 1;
	r = walk_decode_digest(w, item->digest, STORE_DIGEST_FILES, SUMS_OF_FILES_COLUMNS, &rows);
	if (r <= 0 || !sums_digest_has_files(a->filter, rows.batch))
		return MIN(r, 0);
	r = walk_decode_digest(w, item->digest, STORE_DIGEST_FILES, w->run->sums, &rows);
	return r <= 0 ? r : walk_take_files(w, &rows, item->all);
}

/* Passes on both wanted parts or neither: the by-time part is filtered and copied before the by-file part is passed on. */
static int walk_take_parts(struct walker *w, const struct walk_item *item)
{
	const struct sums_ask *a = w->run->ask;
	struct walk_rows times, files;
	int r = 1;

	if (a->times) {
		r = walk_decode_digest(w, item->digest, STORE_DIGEST_TIMES, w->run->sums, &times);
		if (r > 0)
			r = walk_choose_sums(w, &times, item->all);
	}
	if (r <= 0 || !a->files)
		return r <= 0 ? r : walk_give(w, &times);
	if (a->times) {
		batch_clear(w->times);
		r = batch_append(w->times, times.batch, 0, times.batch->rows);
		if (r < 0)
			return r;
		times.batch = w->times;
	}
	r = walk_decode_digest(w, item->digest, STORE_DIGEST_FILES, w->run->sums, &files);
	if (r > 0)
		r = walk_take_files(w, &files, item->all);
	if (r <= 0 || !a->times)
		return r;
	r = walk_choose_sums(w, &times, item->all);
	return r < 0 ? r : walk_give(w, &times);
}

/* ---- running ---- */

static bool walk_is_stopped(const struct walk_run *run)
{
	return run->walk->stopped && run->walk->stopped(run->walk->stopped_arg);
}

static int walk_take_block(struct walker *w, size_t block)
{
	const struct walk *walk = w->run->walk;
	const struct store_block *b = store_block(walk->ask.store, block);
	enum sums_level level;
	size_t summary;
	int r = 0;

	if (walk_is_stopped(w->run))
		return -EINTR;
	if (walk->wants && !walk->wants(walk->arg, b, block))
		return 0;
	level = sums_level(&walk->ask, block, &summary);
	if (level == SUMS_SUMMARY)
		r = walk_take_summary(w, block, summary);
	return r || level == SUMS_NOTHING ? r : walk_take_rows(w, block);
}

static int walk_take_item(struct walker *w, const struct walk_item *item)
{
	int r;

	if (!item->digest)
		return walk_take_block(w, item->block);
	assert(item->digest->count > 0);
	if (walk_is_stopped(w->run))
		return -EINTR;
	r = w->run->ask->of_files ? walk_take_of_files(w, item) : walk_take_parts(w, item);
	for (size_t i = 0; i < item->digest->count && r == 0; i++)
		r = MIN(walk_take_block(w, item->digest->blocks[i]), 0);
	return r;
}

/* Each part processes at least one item, so that a caller who repeats it terminates. */
static bool walk_is_late(const struct walk_run *run)
{
	return run->walk->until && atomic_load(&run->next) > run->first &&
	       clock_monotonic_ns() >= run->walk->until;
}

static void *walk_work(void *arg)
{
	struct walker *w = arg;
	struct walk_run *run = w->run;

	while (!walk_is_late(run)) {
		size_t i = atomic_fetch_add(&run->next, 1);
		int r;

		if (i >= run->count || atomic_load(&run->failed))
			return NULL;
		r = walk_take_item(w, &run->items[i]);
		if (r < 0) {
			w->code = r;
			atomic_store(&run->failed, true);
			return NULL;
		}
	}
	return NULL;
}

/* ---- list of items to read ---- */

static int walk_list_only(struct walk_run *run)
{
	const struct walk *w = run->walk;

	assert(!w->ask.summaries);
	run->items = calloc(w->only_count + 1, sizeof(*run->items));
	if (!run->items)
		return -ENOMEM;
	for (; run->count < w->only_count; run->count++)
		run->items[run->count] = (struct walk_item){.block = w->only[run->count]};
	return 0;
}

static int walk_list_all(struct walk_run *run)
{
	const struct store *s = run->ask->store;
	size_t blocks = run->ask->end ? run->ask->end : store_block_count(s);
	_cleanup_free_ uint8_t *done = calloc(blocks + 1, 1);

	run->items = calloc(blocks + 1, sizeof(*run->items));
	if (!run->items || !done)
		return -ENOMEM;
	for (size_t i = 0; i < blocks; i++) {
		const struct store_block *b = store_block(s, i);
		struct walk_item item = {.block = i};

		if (b->table != TABLE_OP || !b->rows || done[i])
			continue;
		item.digest = sums_level_digest(run->ask, i, &item.all);
		run->items[run->count++] = item;
		for (size_t k = 0; item.digest && k < item.digest->count; k++)
			done[item.digest->blocks[k]] = 1;
	}
	return 0;
}

/* ---- workers ---- */

static int walker_init(struct walker *w, struct walk_run *run, void *state)
{
	const struct sums_ask *a = run->ask;
	int r;

	w->run = run;
	w->state = state;
	w->rows = malloc(BATCH_ROWS_MAX * sizeof(*w->rows));
	r = w->rows ? store_cursor_new(&w->cursor, a->store) : -ENOMEM;
	if (r >= 0 && a->summaries)
		r = sums_view_new(&w->view);
	if (r >= 0 && a->seconds)
		r = batch_new(&w->seconds, TABLE_OP);
	if (r >= 0 && a->seconds)
		r = batch_new(&w->seconds_sums, TABLE_SUMMARY);
	if (r >= 0 && a->times && a->files)
		r = batch_new(&w->times, TABLE_SUMMARY);
	if (r >= 0 && a->filter && a->filter->eval)
		r = eval_scratch_new(&w->scratch, a->filter->eval);
	return r;
}

static void walker_free(struct walker *w)
{
	free(w->rows);
	if (w->cursor)
		store_cursor_free(w->cursor);
	if (w->scratch)
		eval_scratch_free(w->scratch);
	sums_view_free(w->view);
	batch_free(w->seconds);
	batch_free(w->seconds_sums);
	batch_free(w->times);
}

unsigned int walk_workers(unsigned int wanted)
{
	long online = wanted ? (long)wanted : sysconf(_SC_NPROCESSORS_ONLN);

	return online < 1 ? 1 : MIN((unsigned int)online, WALK_THREADS_MAX);
}

static int walk_run_workers(struct walk_run *run, struct walker *workers, struct error *err)
{
	pthread_t threads[WALK_THREADS_MAX];
	unsigned int started = 1, n = run->walk->workers;

	/* if a thread cannot be started, the others do its share */
	while (started < n &&
	       !pthread_create(&threads[started], NULL, walk_work, &workers[started]))
		started++;
	walk_work(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < n; i++) {
		if (workers[i].err.code)
			return error_set(err, workers[i].code, "%s", workers[i].err.message);
		if (workers[i].code == -EINTR)
			return -EINTR;
		if (workers[i].code)
			return error_errno(err, workers[i].code, "summing calls");
	}
	return 0;
}

/* ---- in parts ---- */

#define WALK_SPREAD 16u

void walk_list_free(struct walk_list *l)
{
	free(l->items);
	*l = (struct walk_list){0};
}

static size_t walk_blocks_of(const struct walk_item *i)
{
	return i->digest ? i->digest->count : 1;
}

double walk_list_share(const struct walk_list *l)
{
	size_t all = 0, taken = 0;

	assert(l->next <= l->count);
	for (size_t i = 0; i < l->count; i++) {
		all += walk_blocks_of(&l->items[i]);
		taken += i < l->next ? walk_blocks_of(&l->items[i]) : 0;
	}
	return l->next < l->count ? (double)taken / (double)all : 1;
}

/* Puts digests first, which cost almost nothing; then every WALK_SPREADth block, starting from each offset in turn. */
static int walk_spread(struct walk_run *run)
{
	struct walk_item *items = calloc(run->count + 1, sizeof(*items));
	size_t n = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < run->count; i++) {
		if (run->items[i].digest)
			items[n++] = run->items[i];
	}
	for (size_t k = 0; k < WALK_SPREAD; k++) {
		for (size_t i = k; i < run->count; i += WALK_SPREAD) {
			if (!run->items[i].digest)
				items[n++] = run->items[i];
		}
	}
	assert(n == run->count);
	free(run->items);
	run->items = items;
	return 0;
}

static int walk_make_list(struct walk_run *run)
{
	struct walk_list *l = run->walk->list;
	int r;

	if (l && l->items) {
		run->items = l->items;
		run->count = l->count;
		run->first = l->next;
		atomic_store(&run->next, l->next);
		return 0;
	}
	r = run->walk->only ? walk_list_only(run) : walk_list_all(run);
	return r >= 0 && l ? walk_spread(run) : r;
}

static void walk_keep_list(const struct walk_run *run)
{
	struct walk_list *l = run->walk->list;

	if (l) {
		*l = (struct walk_list){run->items, run->count, run->walk->taken};
		return;
	}
	free(run->items);
}

int walk_run(struct walk *w, struct error *err)
{
	uint64_t filter = w->ask.filter ? w->ask.filter->columns : 0;
	struct walk_run run = {
		.walk = w,
		.ask = &w->ask,
		.sums = w->sums ? w->sums | sums_columns_of(filter) : ~0ull,
		.columns = w->columns,
	};
	struct walker workers[WALK_THREADS_MAX] = {0};
	int r;

	assert(w->workers > 0 && w->workers <= WALK_THREADS_MAX);
	assert(w->ask.store && w->take);
	/* a digest covers many files: the filter must select its rows */
	assert(!w->ask.of_files || (w->ask.filter && !w->ask.times && !w->ask.files));
	if (w->ask.seconds) {
		run.sums = seconds_columns(TABLE_SUMMARY, run.sums);
		run.columns = seconds_columns(TABLE_OP, w->columns | filter);
	}
	r = walk_make_list(&run);
	for (unsigned int i = 0; i < w->workers && r >= 0; i++)
		r = walker_init(&workers[i], &run, w->states[i]);
	if (r < 0)
		error_errno(err, r, "reading the trace");
	else
		r = walk_run_workers(&run, workers, err);
	w->taken = MIN(atomic_load(&run.next), run.count);
	for (unsigned int i = 0; i < w->workers; i++)
		walker_free(&workers[i]);
	walk_keep_list(&run);
	return r;
}
