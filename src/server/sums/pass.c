// SPDX-License-Identifier: Apache-2.0
#include "server/sums/pass.h"

#include <errno.h>
#include <string.h>

#include "analysis/rollup/rollup.h"
#include "base/clock.h"
#include "batch/seconds.h"
#include "engine/facts.h"
#include "engine/order.h"
#include "server/sums/slow_cache.h"

/* ---- workers ---- */

struct item {
	size_t block, summary;	       /* summary: SIZE_MAX where there is none */
	const struct segment *segment; /* instead of both */
	bool all;		       /* of the segment pass the filter */
	bool hot;		       /* what it tells of single files is meant */
};

struct run {
	struct pass *p;
	const struct store *store;
	struct index_view *view;
	const struct slow_cache *kept; /* NULL: rows are read */
	uint64_t sums;		       /* columns of summary */
	uint64_t columns;	       /* of op */
	bool some;		       /* not all segments are there yet: no block is read */
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
	struct batch *as_op;		      /* rows of summary, as the filter reads them */
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
	return !pass_filter || !pass_filter->eval ||
	       (pass_names_any(s, pass_filter, block) &&
		facts_may_pass(pass_filter->eval, s, block));
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
static bool block_is_whole(const struct run *run, const struct item *item)
{
	const struct pass *p = run->p;
	const struct store_block *b = store_block(run->store, item->block);
	int64_t start, end;

	if (!p->summaries || item->summary == SIZE_MAX || b->nulls[OP_RET] ||
	    (p->long_rows && b->long_calls) ||
	    (p->pass_filter && !p->pass_filter->by_summary && !all_pass(run, item->block)))
		return false;
	facts_times(b, &start, &end);
	return within(p, start, end);
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

/* 1 where the block's are in memory, 0 where they must be read. */
static int pass_take_kept(struct worker *w, size_t block)
{
	bool all = rows_are_in(w->run->p, store_block(w->run->store, block));
	struct pass_rows rows = {.block = block, .rows = w->rows};
	int r;

	if (!slow_cache_rows(w->run->kept, block, &rows.batch))
		return 0;
	if (!rows.batch)
		return 1;
	r = take_chosen(w, &rows, all, 0);
	if (r >= 0)
		r = take_seconds(w, &rows, all);
	return r < 0 ? r : 1;
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
	for (size_t k = 0; k < rows->count; k++) {
		if (!store_summary_row_counts(rows->batch, rows->rows[k]))
			return false;
	}
	return true;
}

/* 1 where the rows were taken, 0 where those of op must be read. */
static int pass_take_sums(struct worker *w, struct pass_rows *rows)
{
	const struct pass *p = w->run->p;
	ssize_t n =
		pass_filter_summary(w, rows->batch, !p->pass_filter || !p->pass_filter->by_summary);
	int r;

	if (n < 0)
		return (int)n;
	rows->count = (size_t)n;
	if (w->run->sums >> SUMMARY_HIST & 1 && !hists_count(rows))
		return 0;
	r = n ? p->take(w->state, rows) : 0;
	return r < 0 ? r : 1;
}

/* 1 where the summary was taken, 0 where the rows must be read. */
static int pass_take_summary(struct worker *w, const struct item *item)
{
	struct pass_rows rows = {.block = item->block, .rows = w->rows};
	int r = store_decode(w->cursor, item->summary, w->run->sums, &rows.batch, &w->err);

	if (r == -EBADMSG) {
		w->err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	if (!store_summary_counts(rows.batch, store_block(w->run->store, item->block)->rows, false))
		return 0;
	r = pass_take_sums(w, &rows);
	if (r <= 0 || !w->run->p->seconds)
		return r;
	r = batch_seconds(rows.batch, w->seconds_sums);
	if (r < 0)
		return r;
	rows.batch = w->seconds_sums;
	rows.second = true;
	r = pass_take_sums(w, &rows);
	return r == 0 ? 1 : r;
}

static int pass_take_segment(struct worker *w, const struct item *item)
{
	const struct segment *s = item->segment;
	struct pass_rows rows = {.block = SIZE_MAX,
				 .segment = s,
				 .batch = item->hot ? s->hot : s->sums,
				 .rows = w->rows};
	ssize_t n = pass_filter_summary(w, rows.batch, item->all);

	if (n <= 0)
		return (int)n;
	rows.count = (size_t)n;
	return w->run->p->take(w->state, &rows);
}

/* ---- running ---- */

static int take_item(struct worker *w, const struct item *item)
{
	struct run *run = w->run;
	int r = 0;

	if (question_stopped(run->p->q))
		return -EINTR;
	if (item->segment)
		return pass_take_segment(w, item);
	if (!pass_block_can_pass(run, item->block))
		return 0;
	if (block_is_whole(run, item))
		r = pass_take_summary(w, item);
	if (!r && run->kept)
		r = pass_take_kept(w, item->block);
	return r ? r : pass_take_rows(w, item->block);
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

static bool pass_is_stopped(const void *arg)
{
	return question_stopped(arg);
}

/* True where the segment stands for all of its blocks, as they are now. */
static bool segment_is_whole(const struct run *run, const struct segment *s)
{
	for (unsigned int i = 0; i < s->count; i++) {
		if (store_block(run->store, s->block[i])->damaged)
			return false;
	}
	return within(run->p, s->start, s->end);
}

static bool segment_passes(const struct run *run, const struct segment *s)
{
	for (unsigned int i = 0; i < s->count; i++) {
		if (!all_pass(run, s->block[i]))
			return false;
	}
	return true;
}

static void pass_add_segment(struct run *run, struct item item, uint8_t *done)
{
	run->items[run->count++] = item;
	for (unsigned int k = 0; k < item.segment->count; k++)
		done[item.segment->block[k]] = 1;
}

/* Segments that lie within the range; done[block] tells which blocks need no other look. */
static void list_segments(struct run *run, uint8_t *done)
{
	const struct pass *p = run->p;
	bool by_segment = !p->pass_filter || (p->pass_filter->by_segment && !p->whole_segments);
	bool all_there;

	if (!p->segments || !p->summaries)
		return;
	run->view = index_view_until(p->q->server->index, by_segment ? p->early : 0, &all_there,
				     pass_is_stopped, p->q);
	run->some = !all_there;
	for (size_t i = 0; run->view && i < run->view->count; i++) {
		const struct segment *s = run->view->segments[i];
		bool all = segment_is_whole(run, s) && segment_passes(run, s);

		if (!all && (!by_segment || !segment_is_whole(run, s)))
			continue;
		pass_add_segment(run, (struct item){.segment = s, .all = all}, done);
	}
}

static bool tells_files(const struct run *run, const struct segment *s)
{
	const struct pass_filter *pass_filter = run->p->pass_filter;
	bool told = segment_is_whole(run, s);

	for (size_t i = 0; i < pass_filter->file_count && told; i++)
		told = segment_tells_file(s, run->store, pass_filter->files[i]);
	return told;
}

/* Those of them that tell all of the files which the filter asks for; what is not there yet is read. */
static void list_of_files(struct run *run, uint8_t *done)
{
	const struct pass *p = run->p;

	if (!p->of_files || !p->pass_filter || !p->pass_filter->files ||
	    !p->pass_filter->by_summary)
		return;
	run->view = index_view_now(p->q->server->index);
	for (size_t i = 0; run->view && i < run->view->count; i++) {
		const struct segment *s = run->view->segments[i];

		if (tells_files(run, s))
			pass_add_segment(run, (struct item){.segment = s, .hot = true}, done);
	}
}

static int list_only(struct run *run)
{
	const struct pass *p = run->p;

	assert(!p->summaries);
	run->items = calloc(p->only_count + 1, sizeof(*run->items));
	if (!run->items)
		return -ENOMEM;
	for (; run->count < p->only_count; run->count++)
		run->items[run->count] =
			(struct item){.block = p->only[run->count], .summary = SIZE_MAX};
	return 0;
}

/* Of the blocks in the range, those that segments tell of. */
static double share_of(const struct run *run, const uint8_t *done)
{
	size_t all = 0, told = 0;

	for (size_t i = 0; i < store_block_count(run->store); i++) {
		const struct store_block *b = store_block(run->store, i);

		if (b->table != TABLE_OP || !b->rows || !block_in_range(run->p, b))
			continue;
		all++;
		told += done[i];
	}
	return told < all ? (double)told / (double)all : 1;
}

static int list_items(struct run *run)
{
	size_t blocks = store_block_count(run->store);
	_cleanup_free_ uint8_t *done = calloc(blocks + 1, 1);

	run->items = calloc(blocks + 1, sizeof(*run->items));
	if (!run->items || !done)
		return -ENOMEM;
	list_segments(run, done);
	list_of_files(run, done);
	if (run->some && run->p->early) {
		run->p->share = share_of(run, done);
		return 0;
	}
	for (size_t i = 0; i < blocks; i++) {
		const struct store_block *b = store_block(run->store, i);

		if (b->table == TABLE_OP && b->rows && !done[i])
			run->items[run->count++] = (struct item){
				.block = i,
				.summary = run->p->summaries ? store_summary_of(run->store, i)
							     : SIZE_MAX};
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
	index_view_free(l->view);
	free(l->items);
	*l = (struct pass_list){0};
}

static size_t pass_blocks_of(const struct item *i)
{
	return i->segment ? i->segment->count : 1;
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

/* Segments first, which take no time; then every SPREADth block, and so on. */
static int spread(struct run *run)
{
	struct item *items = calloc(run->count + 1, sizeof(*items));
	size_t first = 0, n;

	if (!items)
		return -ENOMEM;
	while (first < run->count && run->items[first].segment) {
		items[first] = run->items[first];
		first++;
	}
	n = first;
	for (size_t k = 0; k < SPREAD; k++) {
		for (size_t i = first + k; i < run->count; i += SPREAD)
			items[n++] = run->items[i];
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
		run->view = l->view;
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
		*l = (struct pass_list){run->items, run->count, run->p->taken, run->view};
		return;
	}
	index_view_free(run->view);
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

	assert(!p->early || !p->list);
	if (p->seconds) {
		run.sums = seconds_columns(TABLE_SUMMARY, run.sums);
		run.columns = seconds_columns(
			TABLE_OP, p->columns | (p->pass_filter ? p->pass_filter->columns : 0));
	}
	p->share = 1;
	r = pass_do_list(&run);
	if (p->kept)
		run.kept = slow_cache_for(p->q->server, p->pass_filter, run.columns);

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
