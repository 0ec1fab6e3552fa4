// SPDX-License-Identifier: Apache-2.0
#include "server/sums/pass.h"

#include <errno.h>
#include <string.h>

#include "analysis/rollup/rollup.h"
#include "base/clock.h"
#include "batch/seconds.h"
#include "engine/facts.h"
#include "engine/order.h"

/* ---- workers ---- */

struct item {
	size_t block;
	const struct store_digest *digest; /* of this block and others; NULL: this block alone */
	bool all;			   /* of its calls pass the filter */
};

struct run {
	struct pass *p;
	const struct store *store;
	uint64_t sums;	  /* columns of summary */
	uint64_t columns; /* of op */
	struct item *items;
	size_t count, first; /* first: of this part */
	atomic_size_t next;
	atomic_int failed;
};

struct worker {
	struct run *run;
	void *state;
	struct store_cursor *cursor;
	struct eval_scratch *scratch;
	struct batch *as_op; /* rows of summary, as the filter reads them */
	struct batch *times; /* the part of a digest, while the other one is read */
	struct batch *seconds, *seconds_sums; /* of op, of summary; where they are wanted */
	uint32_t *rows;			      /* [BATCH_ROWS_MAX] */
	struct error err;
	int code;
};

static bool within(const struct pass *p, int64_t start, int64_t end)
{
	return (p->from == INT64_MIN || start >= p->from) && (p->to == INT64_MAX || end < p->to);
}

bool pass_block_within(const struct store_block *b, int64_t from, int64_t to)
{
	int64_t start, end;

	facts_times(b, &start, &end);
	return !b->nulls[OP_START] && !b->nulls[OP_DUR] && !b->nulls[OP_RET] &&
	       b->min[OP_DUR] >= 0 && start >= from && end < to;
}

bool pass_block_overlaps(const struct store_block *b, int64_t from, int64_t to)
{
	int64_t start, end;

	facts_times(b, &start, &end);
	return start < to && end >= from;
}

static bool block_in_range(const struct pass *p, const struct store_block *b)
{
	return p->range == PASS_ENDED ? order_block_in(b, p->from, p->to)
				      : pass_block_overlaps(b, p->from, p->to);
}

static bool pass_names_any(const struct store *s, const struct pass_filter *pass_filter,
			   size_t block)
{
	bool any = !pass_filter->files || store_block_has_seconds(s, block);

	for (size_t i = 0; i < pass_filter->file_count && !any; i++)
		any = store_block_has_id(s, block, OP_FILE_ID, pass_filter->files[i]);
	return any;
}

/* Whether any call of the block can pass, as its header and its ids know. */
static bool may_pass(const struct store *s, const struct pass_filter *pass_filter, size_t block)
{
	return !pass_filter ||
	       (pass_names_any(s, pass_filter, block) &&
		(!pass_filter->eval || facts_may_pass(pass_filter->eval, s, block)));
}

/* Columns that differ for a call that is seen from its second file. */
#define OF_FILES                                                                     \
	(1ull << OP_FILE_ID | 1ull << OP_FILE2_ID | 1ull << OP_FD | 1ull << OP_FD2 | \
	 1ull << OP_POS | 1ull << OP_POS2)

/* Whether headers say the same of the block's calls from whichever file they are seen. */
static bool seen_alike(const struct run *run, size_t block)
{
	const struct pass *p = run->p;

	return !p->seconds || !p->pass_filter || !(p->pass_filter->columns & OF_FILES) ||
	       !store_block_has_seconds(run->store, block);
}

/* Whether all of them are known to. */
static bool all_pass(const struct run *run, size_t block)
{
	const struct pass_filter *pass_filter = run->p->pass_filter;

	return !pass_filter || !pass_filter->eval ||
	       (facts_all_pass(pass_filter->eval, run->store, block) && seen_alike(run, block));
}

bool pass_block_can(const struct question *q, const struct pass_filter *pass_filter, int64_t from,
		    int64_t to, size_t block)
{
	const struct store_block *b = store_block(q->server->store, block);

	return b->table == TABLE_OP && b->rows && !b->damaged && order_block_in(b, from, to) &&
	       may_pass(q->server->store, pass_filter, block);
}

static bool pass_block_can_pass(const struct run *run, size_t block)
{
	const struct pass *p = run->p;
	const struct store_block *b = store_block(run->store, block);

	return !b->damaged && block_in_range(p, b) && (!p->wants || p->wants(p->arg, b, block)) &&
	       (may_pass(run->store, p->pass_filter, block) || !seen_alike(run, block));
}

/* True where all of the block is in the range and its summary says what is asked. */
static bool block_is_whole(const struct run *run, size_t block)
{
	const struct pass *p = run->p;
	const struct store_block *b = store_block(run->store, block);
	int64_t start, end;

	if (!p->summaries || b->nulls[OP_RET] || (p->long_rows && b->long_calls))
		return false;
	facts_times(b, &start, &end);
	return within(p, start, end);
}

/* True where its summary can say which of its calls pass. */
static bool summary_filters(const struct run *run, size_t block)
{
	const struct pass_filter *pass_filter = run->p->pass_filter;

	return !pass_filter || pass_filter->by_summary || all_pass(run, block);
}

/* ---- rows ---- */

static size_t overlapping(const struct pass *p, const struct batch *b, uint32_t *out)
{
	size_t n = 0;

	for (size_t i = 0; i < b->rows; i++) {
		int64_t start = batch_get(b, OP_START, i, INT64_MIN);

		if (start < p->to && (start == INT64_MIN || rollup_end(b, i) >= p->from))
			out[n++] = (uint32_t)i;
	}
	return n;
}

/* True where every row of the block ended within the range, as its header knows. */
static bool rows_are_in(const struct pass *p, const struct store_block *b)
{
	return (p->range == PASS_ENDED && order_open(p->from, p->to)) ||
	       pass_block_within(b, p->from, p->to);
}

static ssize_t pass_choose_rows(struct worker *w, const struct batch *b, bool all)
{
	const struct pass *p = w->run->p;
	size_t n = b->rows;

	if (all && w->scratch)
		return eval_filter(p->pass_filter->eval, w->scratch, 0, b, NULL, n, w->rows);
	if (all) {
		for (size_t i = 0; i < n; i++)
			w->rows[i] = (uint32_t)i;
		return (ssize_t)n;
	}
	n = p->range == PASS_OVERLAP ? overlapping(p, b, w->rows)
				     : order_rows_in(b, p->from, p->to, NULL, n, w->rows);
	return n && w->scratch
		       ? eval_filter(p->pass_filter->eval, w->scratch, 0, b, w->rows, n, w->rows)
		       : (ssize_t)n;
}

/* Gives the rows of the batch that pass; of those `more` columns are decoded. */
static int take_chosen(struct worker *w, struct pass_rows *rows, bool all, uint64_t more)
{
	ssize_t n = pass_choose_rows(w, rows->batch, all);
	int r = n > 0 && more ? store_decode_more(w->cursor, more, &w->err) : 0;

	if (r < 0 || n <= 0)
		return r < 0 ? r : (int)n;
	rows->count = (size_t)n;
	return w->run->p->take(w->state, rows);
}

/* The same seen from their second file, where that is wanted. */
static int take_seconds(struct worker *w, struct pass_rows *rows, bool all)
{
	int r = w->run->p->seconds ? batch_seconds(rows->batch, w->seconds) : 0;

	if (r < 0 || !w->run->p->seconds || !w->seconds->rows)
		return r;
	rows->batch = w->seconds;
	rows->second = true;
	return take_chosen(w, rows, all, 0);
}

static int pass_take_rows(struct worker *w, size_t block)
{
	const struct pass *p = w->run->p;
	bool all = rows_are_in(p, store_block(w->run->store, block));
	bool twice = p->seconds && store_block_has_seconds(w->run->store, block);
	uint64_t wanted = w->run->columns, first = all ? 0 : order_columns(TABLE_OP);
	struct pass_rows rows = {.block = block, .rows = w->rows};
	int r;

	first |= w->scratch && !twice ? p->pass_filter->columns : wanted;
	r = store_decode(w->cursor, block, first, &rows.batch, &w->err);
	if (r >= 0)
		r = take_chosen(w, &rows, all, wanted & ~first);
	if (r >= 0 && twice)
		r = take_seconds(w, &rows, all);
	if (r == -EBADMSG) { /* counted as damage by the store */
		w->err = (struct error){0};
		return 0;
	}
	return r;
}

/* ---- summaries ---- */

static int copy_column(struct batch *to, unsigned int column, const struct batch *from,
		       unsigned int source)
{
	const struct column *c = &from->columns[source];
	int r;

	if (!c->val)
		return 0;
	r = batch_make_column(to, column, c->nulls != NULL);
	if (r < 0)
		return r;
	memcpy(to->columns[column].val, c->val, from->rows * sizeof(*c->val));
	if (c->nulls)
		memcpy(to->columns[column].nulls, c->nulls,
		       (from->rows + 63) / 64 * sizeof(*c->nulls));
	return 0;
}

/* The columns of summary that a filter reads; SUMMARY_CALLS tells whether it is complete. */
static uint64_t pass_summary_columns(const struct pass_filter *pass_filter)
{
	uint64_t set = 1ull << SUMMARY_CALLS;

	for (size_t i = 0; i < SIEVE_SHARED; i++) {
		if (pass_filter && pass_filter->columns & 1ull << pass_filter_shared[i][0])
			set |= 1ull << pass_filter_shared[i][1];
	}
	return set;
}

/* `all`: the filter lets every call pass that they tell of. */
static ssize_t pass_filter_summary(struct worker *w, const struct batch *sums, bool all)
{
	int r = 0;

	if (!w->scratch || all) {
		for (size_t i = 0; i < sums->rows; i++)
			w->rows[i] = (uint32_t)i;
		return (ssize_t)sums->rows;
	}
	batch_clear(w->as_op);
	batch_resize(w->as_op, sums->rows);
	for (size_t i = 0; i < SIEVE_SHARED && r >= 0; i++)
		r = copy_column(w->as_op, pass_filter_shared[i][0], sums, pass_filter_shared[i][1]);
	return r < 0 ? r
		     : eval_filter(w->run->p->pass_filter->eval, w->scratch, 0, w->as_op, NULL,
				   sums->rows, w->rows);
}

/* True where the histograms of what passed count its calls. */
static bool hists_count(const struct pass_rows *rows)
{
	/* in the part by file most rows have none */
	bool some = rows->digest && rows->part == STORE_DIGEST_FILES;

	for (size_t k = 0; k < rows->count; k++) {
		if (some && batch_is_null(rows->batch, SUMMARY_HIST, rows->rows[k]))
			continue;
		if (!store_summary_row_counts(rows->batch, rows->rows[k]))
			return false;
	}
	return true;
}

/* Filters rows of summary. 1; 0 where their histograms do not count their calls; or negative. */
static int pass_choose_sums(struct worker *w, struct pass_rows *rows, bool all)
{
	ssize_t n = pass_filter_summary(w, rows->batch, all);

	if (n < 0)
		return (int)n;
	rows->count = (size_t)n;
	return !(w->run->sums >> SUMMARY_HIST & 1) || hists_count(rows);
}

static int pass_give(struct worker *w, const struct pass_rows *rows)
{
	int r = rows->count ? w->run->p->take(w->state, rows) : 0;

	return r < 0 ? r : 1;
}

/* The same rows seen from their second file, where that is wanted. 1, 0 where rows of op must be read, or negative. */
static int pass_second_sums(struct worker *w, struct pass_rows *rows, bool all)
{
	int r = w->run->p->seconds ? batch_seconds(rows->batch, w->seconds_sums) : 0;

	if (r < 0 || !w->run->p->seconds || !w->seconds_sums->rows)
		return r < 0 ? r : 1;
	rows->batch = w->seconds_sums;
	rows->second = true;
	r = pass_choose_sums(w, rows, all);
	return r <= 0 ? r : pass_give(w, rows);
}

/* 1 where the summary was taken, 0 where the rows must be read. */
static int pass_take_summary(struct worker *w, size_t block, size_t summary)
{
	bool all = !w->run->p->pass_filter || !w->run->p->pass_filter->by_summary;
	struct pass_rows rows = {.block = block, .rows = w->rows};
	int r = store_decode(w->cursor, summary, w->run->sums, &rows.batch, &w->err);

	if (r == -EBADMSG) {
		w->err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	if (!store_summary_counts(rows.batch, store_block(w->run->store, block)->rows, false))
		return 0;
	r = pass_choose_sums(w, &rows, all);
	if (r > 0)
		r = pass_give(w, &rows);
	return r <= 0 ? r : pass_second_sums(w, &rows, all);
}

/* ---- digests ---- */

/* 1, 0 where its blocks must be read, or negative. */
static int pass_decode_digest(struct worker *w, const struct store_digest *d,
			      enum store_digest_part part, uint64_t columns, struct pass_rows *ret)
{
	int r = store_decode_digest(w->cursor, d, part, columns, &ret->batch, &w->err);

	*ret = (struct pass_rows){.block = SIZE_MAX,
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

static bool pass_is_of_files(const struct pass_filter *f, int64_t id)
{
	size_t low = 0, high = f->file_count;

	if (!high || id < f->files[0] || id > f->files[high - 1])
		return false;
	while (low < high) {
		size_t mid = (low + high) / 2;

		if (f->files[mid] < id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < f->file_count && f->files[low] == id;
}

/* True where each row of the filter's files has op, thread and histogram. */
static bool digest_tells_files(const struct pass_filter *f, const struct batch *b)
{
	for (size_t i = 0; i < b->rows; i++) {
		if (batch_is_null(b, SUMMARY_THREAD_ID, i) &&
		    (pass_is_of_files(f, batch_get(b, SUMMARY_FILE_ID, i, -1)) ||
		     pass_is_of_files(f, batch_get(b, SUMMARY_FILE2_ID, i, -1))))
			return false;
	}
	return true;
}

/* The part by file, once it is decoded. 1, 0 where the blocks must be read, or negative. */
static int pass_take_files(struct worker *w, struct pass_rows *rows, bool all)
{
	int r = pass_choose_sums(w, rows, all);

	if (r > 0)
		r = pass_give(w, rows);
	return r <= 0 ? r : pass_second_sums(w, rows, all);
}

static int pass_take_of_files(struct worker *w, const struct item *item)
{
	const uint64_t first =
		1ull << SUMMARY_FILE_ID | 1ull << SUMMARY_FILE2_ID | 1ull << SUMMARY_THREAD_ID;
	const struct pass_filter *f = w->run->p->pass_filter;
	struct pass_rows rows;
	bool named = false;
	int r;

	for (size_t i = 0; i < item->digest->count && !named; i++)
		named = pass_names_any(w->run->store, f, item->digest->blocks[i]);
	if (!named)
		return 1;
	r = pass_decode_digest(w, item->digest, STORE_DIGEST_FILES, first, &rows);
	if (r <= 0 || !digest_tells_files(f, rows.batch))
		return MIN(r, 0);
	r = pass_decode_digest(w, item->digest, STORE_DIGEST_FILES, w->run->sums, &rows);
	return r <= 0 ? r : pass_take_files(w, &rows, item->all);
}

/* Both parts, or neither: that by time is chosen, and copied, before that by file is taken. */
static int pass_take_parts(struct worker *w, const struct item *item)
{
	const struct pass *p = w->run->p;
	struct pass_rows times, files;
	int r = pass_decode_digest(w, item->digest, STORE_DIGEST_TIMES, w->run->sums, &times);

	if (r <= 0)
		return r;
	if (p->files) {
		batch_clear(w->times);
		r = batch_append(w->times, times.batch, 0, times.batch->rows);
		if (r < 0)
			return r;
		times.batch = w->times;
		r = pass_choose_sums(w, &times, item->all);
		if (r > 0)
			r = pass_decode_digest(w, item->digest, STORE_DIGEST_FILES, w->run->sums,
					       &files);
		if (r > 0)
			r = pass_take_files(w, &files, item->all);
		if (r <= 0)
			return r;
	}
	r = p->times ? pass_choose_sums(w, &times, item->all) : 0;
	if (r > 0)
		r = pass_give(w, &times);
	return r < 0 || !p->files ? r : 1;
}

/* ---- running ---- */

static int take_block(struct worker *w, size_t block)
{
	struct run *run = w->run;
	size_t summary;
	int r = 0;

	if (question_stopped(run->p->q))
		return -EINTR;
	if (!pass_block_can_pass(run, block))
		return 0;
	summary = block_is_whole(run, block) && summary_filters(run, block)
			  ? store_summary_of(run->store, block)
			  : SIZE_MAX;
	if (summary != SIZE_MAX)
		r = pass_take_summary(w, block, summary);
	return r ? r : pass_take_rows(w, block);
}

static int take_item(struct worker *w, const struct item *item)
{
	int r = 0;

	if (!item->digest)
		return take_block(w, item->block);
	if (question_stopped(w->run->p->q))
		return -EINTR;
	r = w->run->p->of_files ? pass_take_of_files(w, item) : pass_take_parts(w, item);
	for (size_t i = 0; i < item->digest->count && r == 0; i++)
		r = MIN(take_block(w, item->digest->blocks[i]), 0);
	return r;
}

/* At least one is taken, so that who asks again and again comes to an end. */
static bool pass_is_late(const struct run *run)
{
	return run->p->until && atomic_load(&run->next) > run->first &&
	       clock_monotonic_ns() >= run->p->until;
}

static void *pass_work(void *arg)
{
	struct worker *w = arg;
	struct run *run = w->run;

	while (!pass_is_late(run)) {
		size_t i = atomic_fetch_add(&run->next, 1);
		int r;

		if (i >= run->count || atomic_load(&run->failed))
			return NULL;
		r = take_item(w, &run->items[i]);
		if (r < 0) {
			w->code = r;
			atomic_store(&run->failed, 1);
			return NULL;
		}
	}
	return NULL;
}

/* True where the digest says all that is asked of its blocks; *ret_all: each of their calls passes the filter. */
static bool digest_is_whole(const struct run *run, const struct store_digest *d, bool *ret_all)
{
	const struct pass *p = run->p;
	const struct pass_filter *f = p->pass_filter;
	bool filters =
		!f || (p->of_files ? f->by_summary
				   : (!p->times || f->by_times) && (!p->files || f->by_files));

	*ret_all = true;
	for (size_t i = 0; i < d->count; i++) {
		if (!block_is_whole(run, d->blocks[i]))
			return false;
		*ret_all = *ret_all && all_pass(run, d->blocks[i]);
	}
	return filters || *ret_all;
}

/* The digest of a block, where it is to be taken instead; NULL. */
static const struct store_digest *digest_for(const struct run *run, size_t block, bool *ret_all)
{
	const struct pass *p = run->p;
	const struct store_digest *d;

	if (!p->summaries || !(p->times || p->files || p->of_files))
		return NULL;
	d = store_digest_of(run->store, block);
	if (!d || ((p->files || p->of_files) && !store_digest_has_files(d)) ||
	    !digest_is_whole(run, d, ret_all))
		return NULL;
	return d;
}

static int list_only(struct run *run)
{
	const struct pass *p = run->p;

	assert(!p->summaries);
	run->items = calloc(p->only_count + 1, sizeof(*run->items));
	if (!run->items)
		return -ENOMEM;
	for (; run->count < p->only_count; run->count++)
		run->items[run->count] = (struct item){.block = p->only[run->count]};
	return 0;
}

static int list_items(struct run *run)
{
	size_t blocks = store_block_count(run->store);
	_cleanup_free_ uint8_t *done = calloc(blocks + 1, 1);

	run->items = calloc(blocks + 1, sizeof(*run->items));
	if (!run->items || !done)
		return -ENOMEM;
	for (size_t i = 0; i < blocks; i++) {
		const struct store_block *b = store_block(run->store, i);
		struct item item = {.block = i};

		if (b->table != TABLE_OP || !b->rows || done[i])
			continue;
		item.digest = digest_for(run, i, &item.all);
		run->items[run->count++] = item;
		for (size_t k = 0; item.digest && k < item.digest->count; k++)
			done[item.digest->blocks[k]] = 1;
	}
	return 0;
}

static int worker_init(struct worker *w, struct run *run, void *state)
{
	int r;

	w->run = run;
	w->state = state;
	w->rows = malloc(BATCH_ROWS_MAX * sizeof(*w->rows));
	if (!w->rows)
		return -ENOMEM;
	r = store_cursor_new(&w->cursor, run->store);
	if (r >= 0 && run->p->seconds)
		r = batch_new(&w->seconds, TABLE_OP);
	if (r >= 0 && run->p->seconds)
		r = batch_new(&w->seconds_sums, TABLE_SUMMARY);
	if (r >= 0 && run->p->files)
		r = batch_new(&w->times, TABLE_SUMMARY);
	if (r >= 0 && run->p->pass_filter && run->p->pass_filter->eval) {
		r = eval_scratch_new(&w->scratch, run->p->pass_filter->eval);
		if (r >= 0)
			r = batch_new(&w->as_op, TABLE_OP);
	}
	return r;
}

static void pass_worker_free(struct worker *w)
{
	free(w->rows);
	if (w->cursor)
		store_cursor_free(w->cursor);
	if (w->scratch)
		eval_scratch_free(w->scratch);
	batch_free(w->as_op);
	batch_free(w->seconds);
	batch_free(w->seconds_sums);
	batch_free(w->times);
}

unsigned int server_workers(const struct server *s)
{
	long online = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned int n = s->opt.threads ? s->opt.threads : (unsigned int)MAX(online, 1L);

	return MIN(n, (unsigned int)PASS_THREADS_MAX);
}

unsigned int pass_workers(const struct question *q)
{
	return server_workers(q->server);
}

static int run_workers(struct run *run, struct worker *workers)
{
	pthread_t threads[PASS_THREADS_MAX];
	unsigned int started = 1, n = run->p->workers;

	/* Where a thread cannot be had, the others do its share. */
	while (started < n &&
	       !pthread_create(&threads[started], NULL, pass_work, &workers[started]))
		started++;
	pass_work(&workers[0]);
	for (unsigned int i = 1; i < started; i++)
		pthread_join(threads[i], NULL);
	for (unsigned int i = 0; i < n; i++) {
		if (workers[i].code)
			return workers[i].err.code ? question_error(run->p->q, workers[i].code,
								    "%s", workers[i].err.message)
						   : workers[i].code;
	}
	return 0;
}

/* ---- in parts ---- */

#define SPREAD 16u

void pass_list_free(struct pass_list *l)
{
	free(l->items);
	*l = (struct pass_list){0};
}

static size_t pass_blocks_of(const struct item *i)
{
	return i->digest ? i->digest->count : 1;
}

double pass_list_share(const struct pass_list *l)
{
	size_t all = 0, taken = 0;

	for (size_t i = 0; i < l->count; i++) {
		all += pass_blocks_of(&l->items[i]);
		taken += i < l->next ? pass_blocks_of(&l->items[i]) : 0;
	}
	return l->next < l->count ? (double)taken / (double)all : 1;
}

/* Digests first, which take no time; then every SPREADth block, and so on. */
static int spread(struct run *run)
{
	struct item *items = calloc(run->count + 1, sizeof(*items));
	size_t n = 0;

	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < run->count; i++) {
		if (run->items[i].digest)
			items[n++] = run->items[i];
	}
	for (size_t k = 0; k < SPREAD; k++) {
		for (size_t i = k; i < run->count; i += SPREAD) {
			if (!run->items[i].digest)
				items[n++] = run->items[i];
		}
	}
	assert(n == run->count);
	free(run->items);
	run->items = items;
	return 0;
}

static int pass_do_list(struct run *run)
{
	struct pass_list *l = run->p->list;
	int r;

	if (l && l->items) {
		run->items = l->items;
		run->count = l->count;
		run->first = l->next;
		atomic_store(&run->next, l->next);
		return 0;
	}
	r = run->p->only ? list_only(run) : list_items(run);
	return r >= 0 && l ? spread(run) : r;
}

static void keep_list(const struct run *run)
{
	struct pass_list *l = run->p->list;

	if (l) {
		*l = (struct pass_list){run->items, run->count, run->p->taken};
		return;
	}
	free(run->items);
}

int pass_run(struct pass *p)
{
	struct run run = {
		.p = p,
		.store = p->q->server->store,
		.sums = p->sums ? p->sums | pass_summary_columns(p->pass_filter) : ~0ull,
		.columns = p->columns,
	};
	struct worker workers[PASS_THREADS_MAX] = {0};
	int r;

	if (p->seconds) {
		run.sums = seconds_columns(TABLE_SUMMARY, run.sums);
		run.columns = seconds_columns(
			TABLE_OP, p->columns | (p->pass_filter ? p->pass_filter->columns : 0));
	}
	r = pass_do_list(&run);

	assert(p->workers > 0 && p->workers <= PASS_THREADS_MAX);
	for (unsigned int i = 0; i < p->workers && r >= 0; i++)
		r = worker_init(&workers[i], &run, p->states[i]);
	if (r >= 0)
		r = run_workers(&run, workers);
	p->taken = MIN(atomic_load(&run.next), run.count);
	for (unsigned int i = 0; i < p->workers; i++)
		pass_worker_free(&workers[i]);
	keep_list(&run);
	return r;
}
