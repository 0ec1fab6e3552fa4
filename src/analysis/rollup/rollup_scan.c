/* SPDX-License-Identifier: Apache-2.0 */
/* rollup_scan.c: a rollup over the blocks of a trace, in parallel. The slowest and the running calls:
 * pick.c. */
#include "analysis/rollup/rollup_scan.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "analysis/rollup/rollup_scan_internal.h"
#include "base/clock.h"
#include "batch/seconds.h"
#include "engine/facts.h"

/* ---- the filter ---- */

static bool ended_within(const struct scan_filter *f, int64_t end)
{
	return end >= f->from && (end < f->to || f->to == INT64_MAX);
}

bool scan_filter_time(const struct scan_filter *f, const struct batch *b, size_t row)
{
	return !f || ended_within(f, rollup_end(b, row));
}

/* ---- what a block can hold ---- */

uint64_t rollup_scan_columns(const struct scan *scan)
{
	const struct scan_filter *f = scan->opt->filter;

	uint64_t columns = rollup_op_columns | 1ull << OP_FILE2_ID |
			   (f && f->where ? query_rows_columns(f->where->op) : 0);

	return scan->opt->seconds ? seconds_columns(TABLE_OP, columns) : columns;
}

ssize_t scan_rows(struct worker *w, const struct batch *b, const uint32_t **ret_rows,
		  struct error *err)
{
	*ret_rows = NULL;
	return w->filter_cursor ? query_cursor_rows(w->filter_cursor, b, ret_rows, err)
				: (ssize_t)b->rows;
}

enum how {
	HOW_SKIP,
	HOW_SUMMARY, /* those rows of its summary that the filter takes */
	HOW_WHOLE,   /* its summary, as every call of it is chosen */
	HOW_ROWS,
};

/* What the filter's expression leaves to be read of a block. */
static enum how block_where(const struct scan *scan, const struct scan_where *w, size_t i)
{
	bool seconds = scan->opt->seconds && store_block_has_seconds(scan->store, i);

	if (!w)
		return HOW_WHOLE;
	/* Calls may pass as seen from one of their files and not from the other. */
	if (!seconds && scan_where_all(w, scan->store, i))
		return HOW_WHOLE;
	if (!seconds && !scan_where_block(w, scan->store, i))
		return HOW_SKIP;
	return scan_where_summary(w, scan->store, i) ? HOW_SUMMARY : HOW_ROWS;
}

static enum how block_how(const struct scan *scan, size_t i)
{
	const struct store_block *b = store_block(scan->store, i);
	const struct scan_filter *f = scan->opt->filter;
	bool sums = b->nulls[OP_RET] == 0 && !scan->opt->rows_only;
	enum how how;
	int64_t start, end;

	if (!f)
		return sums ? HOW_WHOLE : HOW_ROWS;
	if (!facts_times(b, &start, &end))
		end = INT64_MIN; /* rollup_end(): a call without a start ended before all ranges */
	/* A call that never ended is in every range. */
	if (!b->nulls[OP_RET] && (end < f->from || (start >= f->to && f->to != INT64_MAX)))
		return HOW_SKIP;
	how = block_where(scan, f->where, i);
	if (how == HOW_SKIP)
		return HOW_SKIP;
	sums = sums && (f->from == INT64_MIN || start >= f->from) &&
	       (f->to == INT64_MAX || end < f->to);
	return sums ? how : HOW_ROWS;
}

/* ---- one block ---- */

static int clip_add(struct worker *w, const struct batch *b, size_t row, int64_t ns)
{
	uint64_t key = (uint64_t)batch_get(b, OP_THREAD_ID, row, 0) << 4 |
		       ((uint64_t)batch_get(b, OP_CLASS, row, 0) & 15);
	uint64_t sum = 0;

	map_get(&w->clip, key, &sum);
	return map_set(&w->clip, key, sum + (uint64_t)ns);
}

/* Keeps the time of a call that crosses an edge of the range; see struct scan_result. */
static int clip_row(struct worker *w, const struct scan_filter *f, const struct batch *b,
		    size_t row, int64_t end)
{
	int64_t start = batch_get(b, OP_START, row, INT64_MIN);
	bool counted = ended_within(f, end);

	if (counted && start < f->from)
		return clip_add(w, b, row, start == INT64_MIN ? 0 : clock_between(f->from, start));
	if (!counted && end >= f->to && start < f->to)
		return clip_add(w, b, row, clock_between(MAX(start, f->from), f->to));
	return 0;
}

static int note_running(struct worker *w, size_t block, size_t row, const struct batch *b)
{
	int r;

	if (w->running_count >= BATCH_ROWS_MAX)
		return 0;
	r = grow((void **)&w->running, &w->running_cap, w->running_count + 1, sizeof(*w->running));
	if (r >= 0)
		w->running[w->running_count++] = (struct row_ref){batch_get(b, OP_DUR, row, 0),
								  (uint32_t)block, (uint32_t)row};
	return r;
}

static void note_max(struct scan *scan, size_t block, int64_t dur)
{
	uint64_t mark = dur > 0 ? (uint64_t)dur + 1 : 1;

	scan->block_max[block] = MAX(scan->block_max[block], mark);
}

static int rollup_scan_add_row(struct worker *w, size_t block, const struct batch *b, size_t row)
{
	const struct scan_filter *f = w->scan->opt->filter;
	int64_t end = rollup_end(b, row);
	int r;

	if (batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED) {
		/* Still running at the end of the trace: in the range where that end is. */
		r = note_running(w, block, row, b);
		return r < 0 ? r : rollup_add_op(w->rollup, b, row);
	}
	if (f) {
		r = clip_row(w, f, b, row, end);
		if (r < 0 || !ended_within(f, end))
			return r;
	}
	if (class_counts(w->scan->opt, batch_get(b, OP_CLASS, row, CLASS_OTHER)))
		note_max(w->scan, block, batch_get(b, OP_DUR, row, 0));
	return rollup_add_op(w->rollup, b, row);
}

/* Counted and named by store_damage(); the rest is still worth telling. */
static int damaged(int r)
{
	return r == -EBADMSG ? 0 : r;
}

/* The calls of the block, seen from their second files: they count for those alone. */
static int read_seconds(struct worker *w, const struct batch *b, struct error *err)
{
	const struct scan_filter *f = w->scan->opt->filter;
	const uint32_t *rows;
	ssize_t count;
	int r = batch_seconds(b, w->seconds);

	if (r < 0)
		return error_errno(err, r, "summing a block");
	count = w->seconds->rows ? scan_rows(w, w->seconds, &rows, err) : 0;
	if (count < 0)
		return (int)count;
	rollup_seconds(w->rollup, true);
	for (size_t k = 0; k < (size_t)count && r >= 0; k++) {
		size_t i = rows ? rows[k] : k;

		if (scan_filter_time(f, w->seconds, i))
			r = rollup_add_op(w->rollup, w->seconds, i);
	}
	rollup_seconds(w->rollup, false);
	return r < 0 ? error_errno(err, r, "summing a block") : 0;
}

static int rollup_scan_read_rows(struct worker *w, size_t block, struct error *err)
{
	const struct batch *b;
	struct error unread = {0};
	const uint32_t *rows;
	ssize_t count;
	int r = store_decode(w->cursor, block, rollup_scan_columns(w->scan), &b, &unread);

	if (r < 0)
		return damaged(r) < 0 ? error_set(err, r, "%s", unread.message) : 0;
	w->read++;
	count = scan_rows(w, b, &rows, err);
	if (count < 0)
		return (int)count;
	for (size_t i = 0; i < (size_t)count; i++) {
		r = rollup_scan_add_row(w, block, b, rows ? rows[i] : i);
		if (r < 0)
			return error_errno(err, r, "summing a block");
	}
	return w->scan->opt->seconds ? read_seconds(w, b, err) : 0;
}

static int add_summary(struct worker *w, const struct item *item, bool whole, const struct batch *b,
		       struct error *err)
{
	const uint32_t *rows = NULL;
	ssize_t count = (ssize_t)b->rows;

	if (!whole)
		count = query_cursor_rows(w->summary_cursor, b, &rows, err);
	if (count < 0)
		return (int)count;
	for (size_t k = 0; k < (size_t)count; k++) {
		size_t i = rows ? rows[k] : k;
		int r;

		if (class_counts(w->scan->opt, batch_get(b, SUMMARY_CLASS, i, CLASS_OTHER)))
			note_max(w->scan, item->block, batch_get(b, SUMMARY_MAX, i, 0));
		r = rollup_add_summary(w->rollup, b, i);
		if (r < 0)
			return error_errno(err, r, "summary block %zu", item->summary);
	}
	return 0;
}

/* 1 where the summary of the block was added, 0 where its rows must be read. */
static int read_summary(struct worker *w, const struct item *item, bool whole, struct error *err)
{
	const struct batch *b;
	struct error unread = {0};
	int r;

	if (item->summary == SIZE_MAX)
		return 0;
	r = store_decode(w->cursor, item->summary, ~0ull, &b, &unread);
	if (r < 0)
		return damaged(r) < 0 ? error_set(err, r, "%s", unread.message) : 0;
	if (!store_summary_counts(b, store_block(w->scan->store, item->block)->rows, true))
		return 0;
	w->summed++;
	r = add_summary(w, item, whole, b, err);
	if (r < 0 || !w->scan->opt->seconds)
		return r < 0 ? r : 1;
	r = batch_seconds(b, w->seconds_sums);
	if (r < 0)
		return error_errno(err, r, "summary block %zu", item->summary);
	rollup_seconds(w->rollup, true);
	r = add_summary(w, item, whole, w->seconds_sums, err);
	rollup_seconds(w->rollup, false);
	return r < 0 ? r : 1;
}

/* 1 where the digest was added, 0 where its blocks must be read. */
static int read_digest(struct worker *w, const struct store_digest *d, struct error *err)
{
	struct error unread = {0};
	const struct batch *b;
	int r = store_decode_digest(w->cursor, d, STORE_DIGEST_TIMES, ~0ull, &b, &unread);

	if (r < 0)
		return damaged(r) < 0 ? error_set(err, r, "%s", unread.message) : 0;
	if (!store_summary_counts(b, d->calls, true))
		return 0;
	w->summed += d->count;
	r = rollup_add(w->rollup, b);
	return r < 0 ? error_errno(err, r, "summing blocks") : 1;
}

static int rollup_scan_read_block(struct worker *w, const struct item *item)
{
	enum how how = block_how(w->scan, item->block);
	int r = 0;

	if (how == HOW_SKIP)
		w->skipped++;
	if (how == HOW_SUMMARY || how == HOW_WHOLE)
		r = read_summary(w, item, how == HOW_WHOLE, &w->err);
	return how == HOW_SKIP || r ? r : rollup_scan_read_rows(w, item->block, &w->err);
}

static int rollup_scan_read_item(struct worker *w, const struct item *item)
{
	const struct store_digest *d = item->digest;
	int r = d ? read_digest(w, d, &w->err) : 0;

	if (!d)
		return rollup_scan_read_block(w, item);
	for (size_t i = 0; i < d->count && r == 0; i++) {
		const struct item one = {.block = d->blocks[i],
					 .summary = store_summary_of(w->scan->store, d->blocks[i])};

		r = MIN(rollup_scan_read_block(w, &one), 0);
	}
	return r;
}

static void *rollup_scan_work(void *arg)
{
	struct worker *w = arg;
	struct scan *scan = w->scan;

	for (;;) {
		size_t i = atomic_fetch_add(&scan->next_item, 1);
		int r;

		if (i >= scan->item_count || atomic_load(&scan->failed))
			return NULL;
		r = rollup_scan_read_item(w, &scan->items[i]);
		if (r < 0) {
			atomic_store(&scan->failed, true);
			return NULL;
		}
	}
}

/* ---- which blocks, by whom ---- */

/* The digest of a block, where it says all that is asked of its blocks: nothing of files, nothing of single calls. */
static const struct store_digest *rollup_scan_digest(const struct scan *scan, size_t block)
{
	const struct scan_options *o = scan->opt;
	const struct store_digest *d;

	if (o->keys & (ROLLUP_FILE | ROLLUP_CPU) || o->file_alias || o->seconds || o->slowest)
		return NULL;
	d = store_digest_of(scan->store, block);
	for (size_t i = 0; d && i < d->count; i++) {
		if (block_how(scan, d->blocks[i]) != HOW_WHOLE)
			return NULL;
	}
	return d;
}

static int rollup_scan_list_blocks(struct scan *scan)
{
	size_t count = store_block_count(scan->store);
	_cleanup_free_ uint8_t *done = calloc(count + 1, 1);

	if (!done)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct store_block *b = store_block(scan->store, i);
		const struct store_digest *d;

		if (b->table != TABLE_OP || !b->rows || done[i])
			continue;
		d = rollup_scan_digest(scan, i);
		scan->items[scan->item_count++] =
			(struct item){i, store_summary_of(scan->store, i), d};
		for (size_t k = 0; d && k < d->count; k++)
			done[d->blocks[k]] = 1;
	}
	return 0;
}

static void rollup_scan_worker_free(struct worker *w)
{
	rollup_free(w->rollup);
	if (w->cursor)
		store_cursor_free(w->cursor);
	query_cursor_free(w->filter_cursor);
	query_cursor_free(w->summary_cursor);
	batch_free(w->seconds);
	batch_free(w->seconds_sums);
	map_free(&w->clip);
	free(w->running);
	free(w->seen);
}

static void scan_close(struct scan *scan)
{
	for (unsigned int i = 0; i < scan->worker_count; i++)
		rollup_scan_worker_free(&scan->workers[i]);
	free(scan->workers);
	free(scan->items);
	free(scan->block_max);
}

static unsigned int thread_count(unsigned int wanted)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);

	if (!wanted)
		wanted = online > 0 ? (unsigned int)online : 1;
	return MIN(wanted, (unsigned int)SCAN_THREADS_MAX);
}

static int worker_prepare(struct scan *scan, struct worker *w)
{
	const struct scan_filter *f = scan->opt->filter;
	int r = rollup_new(&w->rollup, scan->opt->keys);

	w->scan = scan;
	if (r < 0)
		return r;
	if (scan->opt->window_ns)
		rollup_window(w->rollup, scan->opt->window_ns);
	if (scan->opt->file_alias) {
		w->seen = calloc(scan->opt->file_alias_count + 1, 1);
		if (!w->seen)
			return -ENOMEM;
		rollup_alias(w->rollup, scan->opt->file_alias, w->seen,
			     scan->opt->file_alias_count);
	}
	if (scan->opt->seconds)
		r = batch_new(&w->seconds, TABLE_OP);
	if (scan->opt->seconds && r >= 0)
		r = batch_new(&w->seconds_sums, TABLE_SUMMARY);
	if (r >= 0 && f && f->where)
		r = query_cursor_new(&w->filter_cursor, f->where->op);
	if (r >= 0 && f && f->where && f->where->summary)
		r = query_cursor_new(&w->summary_cursor, f->where->summary);
	return r < 0 ? r : store_cursor_new(&w->cursor, scan->store);
}

static int scan_prepare(struct scan *scan)
{
	size_t blocks = MAX(store_block_count(scan->store), (size_t)1);
	int r = 0;

	/* One more item than there are: rollup_scan_work() looks before it checks. */
	scan->items = calloc(blocks + 1, sizeof(*scan->items));
	scan->block_max = calloc(blocks, sizeof(*scan->block_max));
	scan->worker_count = thread_count(scan->opt->threads);
	scan->workers = calloc(scan->worker_count, sizeof(*scan->workers));
	if (!scan->items || !scan->block_max || !scan->workers) {
		scan->worker_count = 0;
		return -ENOMEM;
	}
	r = rollup_scan_list_blocks(scan);
	for (unsigned int i = 0; i < scan->worker_count && r >= 0; i++) {
		r = worker_prepare(scan, &scan->workers[i]);
	}
	return r;
}

static void scan_work(struct scan *scan)
{
	pthread_t threads[SCAN_THREADS_MAX];
	unsigned int started = 1;

	/* Where a thread cannot be had, the others do its share. */
	while (started < scan->worker_count &&
	       !pthread_create(&threads[started], NULL, rollup_scan_work, &scan->workers[started]))
		started++;
	rollup_scan_work(&scan->workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
}

static int scan_collect(struct scan *scan, struct scan_result *ret, struct error *err)
{
	int r;

	for (unsigned int i = 0; i < scan->worker_count; i++) {
		struct worker *w = &scan->workers[i];
		size_t pos = 0;
		uint64_t key, value, sum;

		if (w->err.code)
			return error_set(err, w->err.code, "%s", w->err.message);
		if (i == 0) {
			ret->rollup = TAKE_PTR(w->rollup);
			ret->file_seen = TAKE_PTR(w->seen);
			rollup_alias(ret->rollup, NULL, NULL, 0);
		} else {
			r = rollup_merge(ret->rollup, w->rollup);
			for (size_t k = 0; w->seen && k < scan->opt->file_alias_count; k++)
				ret->file_seen[k] |= w->seen[k];
			if (r < 0)
				return error_errno(err, r, "merging sums");
		}
		while (map_next(&w->clip, &pos, &key, &value)) {
			sum = 0;
			map_get(&ret->clip, key, &sum);
			r = map_set(&ret->clip, key, sum + value);
			if (r < 0)
				return error_errno(err, r, "merging sums");
		}
		ret->blocks_summed += w->summed;
		ret->blocks_read += w->read;
		ret->blocks_skipped += w->skipped;
	}
	return 0;
}

int scan_run(const struct store *s, const struct scan_options *opt, struct scan_result *ret,
	     struct error *err)
{
	struct scan scan = {.store = s, .opt = opt};
	int r = scan_prepare(&scan);

	*ret = (struct scan_result){0};
	if (r < 0) {
		error_errno(err, r, "reading the trace");
	} else {
		scan_work(&scan);
		r = scan_collect(&scan, ret, err);
	}
	if (r >= 0)
		r = pick_running(&scan, ret, err);
	if (r >= 0)
		r = pick_slowest(&scan, ret, err);
	scan_close(&scan);
	return r < 0 ? r : 0;
}

void scan_result_free(struct scan_result *r)
{
	rollup_free(r->rollup);
	map_free(&r->clip);
	batch_free(r->running);
	batch_free(r->slowest);
	free(r->file_seen);
	*r = (struct scan_result){0};
}
