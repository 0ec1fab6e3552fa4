// SPDX-License-Identifier: Apache-2.0
/*
 * scan_rows.c: rows of a table in the trace's order, directly from the store. Blocks of events follow each other by the
 * end of their rows, but long calls have blocks of their own. Each trace is therefore one stream (two for op), and the
 * scan merges the streams, in runs of rows of one block.
 *
 * A scan of events that needs a second block starts a thread, which decodes the next block of a stream while the caller
 * works on the current one.
 */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "base/array.h"
#include "engine/ask.h"
#include "sums/facts.h"
#include "engine/live_rows.h"
#include "sums/order.h"
#include "query/eval/eval.h"

/* A decoded block. */
struct scan_block {
	struct store_cursor *cursor;
	const struct batch *batch; /* NULL: none */
	uint32_t *rows;		   /* [BATCH_ROWS_MAX]: rows that passed */
	int64_t *ends;		   /* [BATCH_ROWS_MAX]: of all rows of the batch */
	size_t count;		   /* of rows */
};

struct stream {
	uint32_t trace;
	bool long_calls;
	size_t next; /* next block to examine */
	struct scan_block now;
	size_t at;		 /* of now.rows: the first that is still to be returned */
	struct scan_block ahead; /* the block after it */
	enum {
		AHEAD_IDLE,
		AHEAD_WANTED, /* only then the thread uses `ahead` */
		AHEAD_READY,
	} state; /* protected by the lock */
};

/* The thread that decodes in advance. While it runs, it alone uses the filter and the streams' `next`. */
struct scan_reader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* signalled when a stream's state changed, or on `over` */
	bool runs;
	atomic_bool over;
	int failed; /* the first failure, with its error */
	struct error error;
};

struct scan_rows {
	struct engine_scan head;
	struct store *store;
	struct scan_request q;
	uint64_t filter_columns, columns;
	struct eval *eval; /* NULL: no filter */
	struct eval_scratch *scratch;
	struct live live; /* for dimension tables */
	bool dimension;
	bool events; /* rows are ordered by time */
	bool begun;
	bool names_due; /* eval must resolve new ids */
	struct stream *streams;
	size_t stream_count;
	struct scan_reader reader;
	const struct stream *given; /* stream of the last rows returned */
	_Atomic uint64_t done, total;
};

static void scan_block_free(struct scan_block *b)
{
	store_cursor_free(b->cursor);
	free(b->rows);
	free(b->ends);
}

static void streams_free(struct scan_rows *s)
{
	for (size_t i = 0; i < s->stream_count; i++) {
		scan_block_free(&s->streams[i].now);
		scan_block_free(&s->streams[i].ahead);
	}
	free(s->streams);
}

static void scan_reader_stop(struct scan_reader *d)
{
	if (!d->runs)
		return;
	pthread_mutex_lock(&d->lock);
	atomic_store(&d->over, true);
	pthread_cond_broadcast(&d->moved);
	pthread_mutex_unlock(&d->lock);
	pthread_join(d->thread, NULL);
	pthread_cond_destroy(&d->moved);
	pthread_mutex_destroy(&d->lock);
}

static struct scan_rows *scan_rows_of(struct engine_scan *scan)
{
	return (struct scan_rows *)scan;
}

static void scan_rows_free(struct engine_scan *scan)
{
	struct scan_rows *s = scan_rows_of(scan);

	scan_reader_stop(&s->reader);
	streams_free(s);
	live_free(&s->live);
	if (s->scratch)
		eval_scratch_free(s->scratch);
	if (s->eval)
		eval_free(s->eval);
	free(s);
}

static int make_streams(struct scan_rows *s)
{
	size_t per_trace = s->q.table == TABLE_OP ? 2 : 1;
	size_t traces = store_trace_count(s->store), count = traces * per_trace;
	bool made = schema_table(s->q.table)->kind == TABLE_IS_MADE;

	count += made;

	s->streams = calloc(count + 1, sizeof(*s->streams));
	if (!s->streams)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct stream *t = &s->streams[i];

		t->trace = made && i == traces ? TRACE_ASIDE : (uint32_t)(i / per_trace);
		t->long_calls = i % per_trace;
		s->stream_count++;
	}
	return 0;
}

static void count_blocks(struct scan_rows *s)
{
	uint64_t total = 0;

	for (size_t i = 0; i < store_block_count(s->store); i++)
		total += store_block(s->store, i)->table == s->q.table;
	atomic_store(&s->total, total);
}

/* False if no row of the block can pass. */
static bool scan_rows_block_can_pass(const struct scan_rows *s, size_t block)
{
	const struct store_block *b = store_block(s->store, block);

	if (s->q.part ? !order_block_part(b, s->q.from, s->q.to)
		      : !order_block_in(b, s->q.from, s->q.to) &&
				!(s->q.unended && order_block_unended(b)))
		return false;
	return !s->eval || facts_may_pass(s->eval, s->store, block);
}

/* The current rows in a dimension table's block. */
static size_t live_rows(const struct scan_rows *s, size_t block, uint32_t *out)
{
	for (size_t k = 0; k < s->live.block_count; k++) {
		size_t n = s->live.from[k + 1] - s->live.from[k];

		if (s->live.blocks[k] != block)
			continue;
		memcpy(out, s->live.rows + s->live.from[k], n * sizeof(*out));
		return n;
	}
	return 0;
}

/* Selects the rows of the current batch; returns their number, or negative. */
static ssize_t scan_rows_choose_rows(struct scan_rows *s, struct scan_block *t, size_t block)
{
	ssize_t n = (ssize_t)t->batch->rows;
	const uint32_t *in = NULL;

	if (s->dimension) {
		n = (ssize_t)live_rows(s, block, t->rows);
		in = t->rows;
	}
	if (s->q.part) {
		order_ends(t->batch, t->ends);
		n = (ssize_t)order_rows_part(t->batch, t->ends, s->q.from, s->q.to, t->rows);
	} else {
		n = (ssize_t)order_rows_in(t->batch, s->q.from, s->q.to, s->q.unended, in,
					   (size_t)n, t->rows);
	}
	if (n > 0 && s->eval)
		n = eval_filter(s->eval, s->scratch, 0, t->batch, t->rows, (size_t)n, t->rows);
	return n;
}

static int scan_block_room(struct scan_rows *s, struct scan_block *t)
{
	int r = 0;

	if (!t->cursor)
		r = store_cursor_new(&t->cursor, s->store);
	if (r >= 0 && !t->rows) {
		t->rows = malloc(BATCH_ROWS_MAX * sizeof(*t->rows));
		t->ends = malloc(BATCH_ROWS_MAX * sizeof(*t->ends));
		if (!t->rows || !t->ends)
			r = -ENOMEM;
	}
	return r;
}

static int by_end(const void *a, const void *b, void *ends)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const int64_t *e = ends;

	return ORDER(e[x], e[y]) ?: ORDER(x, y);
}

/* Calls are already in order; sources may report other events late. */
static void sort_rows(uint32_t *rows, size_t n, int64_t *ends)
{
	for (size_t i = 1; i < n; i++) {
		if (ends[rows[i]] >= ends[rows[i - 1]])
			continue;
		qsort_r(rows, n, sizeof(*rows), by_end, ends);
		return;
	}
}

/* Decodes a block and selects its rows. 0 (t->batch stays NULL if none passed) or negative. */
static int scan_block_take(struct scan_rows *s, struct scan_block *t, size_t block,
			   struct error *err)
{
	ssize_t n;
	int r = scan_block_room(s, t);

	if (r < 0)
		return error_errno(err, r, "cannot read the trace");
	r = store_decode(t->cursor, block, s->filter_columns, &t->batch, err);
	n = r < 0 ? r : scan_rows_choose_rows(s, t, block);
	if (n > 0) {
		if (!s->q.part)
			order_ends(t->batch, t->ends);
		sort_rows(t->rows, (size_t)n, t->ends);
		r = store_decode_more(t->cursor, s->columns, err);
	}
	if (n <= 0 || r < 0)
		t->batch = NULL;
	if (r == -EBADMSG) { /* the store has counted it as damage */
		*err = (struct error){0};
		return 0;
	}
	if (r < 0)
		return r;
	if (n < 0)
		return error_errno(err, (int)n, "cannot apply the filter");
	t->count = (size_t)n;
	return 0;
}

/* Decodes the stream's next block with rows that pass; batch is NULL if there is none yet. */
static int stream_decode(struct scan_rows *s, struct stream *t, struct scan_block *to,
			 struct error *err)
{
	size_t blocks = store_block_count(s->store);

	to->batch = NULL;
	while (!to->batch && t->next < blocks && !atomic_load(&s->reader.over)) {
		size_t block = t->next++;
		const struct store_block *b = store_block(s->store, block);
		int r = 0;

		if (b->table != s->q.table || b->trace != t->trace ||
		    (b->table == TABLE_OP && b->long_calls != t->long_calls))
			continue;
		atomic_fetch_add(&s->done, 1);
		if (store_block_counts(b) && scan_rows_block_can_pass(s, block))
			r = scan_block_take(s, to, block, err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* ---- the reading thread ---- */

static struct stream *scan_reader_due(struct scan_rows *s)
{
	for (size_t i = 0; i < s->stream_count; i++) {
		if (s->streams[i].state == AHEAD_WANTED)
			return &s->streams[i];
	}
	return NULL;
}

static void *scan_reader_run(void *arg)
{
	struct scan_rows *s = arg;
	struct scan_reader *d = &s->reader;

	pthread_mutex_lock(&d->lock);
	while (!atomic_load(&d->over) && d->failed >= 0) {
		struct stream *t = scan_reader_due(s);
		int r;

		if (!t) {
			pthread_cond_wait(&d->moved, &d->lock);
			continue;
		}
		pthread_mutex_unlock(&d->lock);
		r = stream_decode(s, t, &t->ahead, &d->error);
		pthread_mutex_lock(&d->lock);
		t->state = AHEAD_READY;
		d->failed = r;
		pthread_cond_broadcast(&d->moved);
	}
	pthread_mutex_unlock(&d->lock);
	return NULL;
}

static int scan_reader_start(struct scan_rows *s, struct error *err)
{
	struct scan_reader *d = &s->reader;
	int r;

	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->moved, NULL);
	r = -pthread_create(&d->thread, NULL, scan_reader_run, s);
	d->runs = r == 0;
	return r < 0 ? error_errno(err, r, "cannot read the trace") : 0;
}

/* Has the block after the stream's current one decoded. */
static void scan_reader_want(struct scan_reader *d, struct stream *t)
{
	pthread_mutex_lock(&d->lock);
	if (t->state == AHEAD_IDLE) {
		t->state = AHEAD_WANTED;
		pthread_cond_broadcast(&d->moved);
	}
	pthread_mutex_unlock(&d->lock);
}

/* Replaces the stream's block by the one after it. */
static int scan_reader_take(struct scan_reader *d, struct stream *t, struct error *err)
{
	struct scan_block old = t->now;
	int r;

	scan_reader_want(d, t);
	pthread_mutex_lock(&d->lock);
	while (t->state != AHEAD_READY && d->failed >= 0)
		pthread_cond_wait(&d->moved, &d->lock);
	r = d->failed;
	if (r >= 0) {
		t->now = t->ahead;
		t->ahead = old;
		t->ahead.batch = NULL;
		t->state = t->now.batch ? AHEAD_IDLE : AHEAD_READY; /* it has ended */
	}
	pthread_mutex_unlock(&d->lock);
	if (r < 0)
		*err = d->error;
	return r;
}

/* Advances the stream to its next row; now.batch is NULL if there is none yet. */
static int stream_advance(struct scan_rows *s, struct stream *t, struct error *err)
{
	int r = 0;

	if (t->now.batch && t->at < t->now.count)
		return 0;
	/* rows of a table that has no order by time, and rows to come, are read when they are needed */
	if (t->now.batch && s->events && !s->q.follow && !s->reader.runs)
		r = scan_reader_start(s, err);
	if (r < 0)
		return r;
	t->at = 0;
	return s->reader.runs ? scan_reader_take(&s->reader, t, err)
			      : stream_decode(s, t, &t->now, err);
}

static int64_t stream_end(const struct stream *t)
{
	return t->now.ends[t->now.rows[t->at]];
}

/* True if stream a's row that ended at `end` comes before the first remaining row of b. */
static bool comes_first(const struct stream *a, int64_t end, const struct stream *b)
{
	int64_t other = stream_end(b);

	return end < other || (end == other && a < b);
}

/* The number of rows of t that come before the next row of any other stream. */
static size_t run_length(const struct scan_rows *s, const struct stream *t)
{
	const struct stream *next = NULL;
	size_t n = 1;

	for (size_t i = 0; i < s->stream_count; i++) {
		const struct stream *other = &s->streams[i];

		if (other != t && other->now.batch &&
		    (!next || comes_first(other, stream_end(other), next)))
			next = other;
	}
	if (!next)
		return t->now.count - t->at;
	while (t->at + n < t->now.count &&
	       comes_first(t, t->now.ends[t->now.rows[t->at + n]], next))
		n++;
	return n;
}

/* Prepares the first call, and with `follow` each call after one that found nothing: looks for new blocks. */
static int scan_rows_look_again(struct scan_rows *s, struct error *err)
{
	int r = 0;

	if (s->begun && s->q.follow) {
		ssize_t more = store_refresh(s->store, err);

		if (more < 0)
			return (int)more;
		if (more > 0) {
			count_blocks(s);
			s->names_due = s->eval != NULL;
		}
		if (more > 0 && s->dimension) {
			live_free(&s->live);
			r = live_make(&s->live, s->store, store_block_count(s->store), s->q.table,
				      err);
		}
	}
	s->begun = true;
	if (r >= 0 && s->names_due) {
		r = eval_names(s->eval, store_dims(s->store), err);
		if (r < 0)
			return error_errno(err, r, "cannot look up the names used in the filter");
		s->names_due = false;
	}
	return r;
}

static struct stream *first_stream(struct scan_rows *s)
{
	struct stream *first = NULL;

	for (size_t i = 0; i < s->stream_count; i++) {
		struct stream *t = &s->streams[i];

		if (t->now.batch && (!first || comes_first(t, stream_end(t), first)))
			first = t;
	}
	return first;
}

static int advance_all(struct scan_rows *s, struct error *err)
{
	for (size_t i = 0; i < s->stream_count; i++) {
		int r = stream_advance(s, &s->streams[i], err);

		if (r < 0)
			return r;
		/* rows without an order by time are returned trace after trace */
		if (!s->events && s->streams[i].now.batch)
			break;
	}
	return 0;
}

static ssize_t scan_rows_next(struct engine_scan *scan, const struct batch **ret_batch,
			      const uint32_t **ret_rows, struct error *err)
{
	struct scan_rows *s = scan_rows_of(scan);
	struct stream *t;
	size_t n;
	int r = s->begun ? 0 : scan_rows_look_again(s, err);

	if (r >= 0)
		r = advance_all(s, err);
	if (r < 0)
		return r;
	t = first_stream(s);
	if (!t && s->q.follow) {
		r = scan_rows_look_again(s, err);
		if (r >= 0)
			r = advance_all(s, err);
		if (r < 0)
			return r;
		t = first_stream(s);
	}
	if (!t)
		return 0;
	n = run_length(s, t);
	s->given = t;
	*ret_batch = t->now.batch;
	*ret_rows = t->now.rows + t->at;
	if (!t->at && s->reader.runs) /* not for traces that begin later */
		scan_reader_want(&s->reader, t);
	t->at += n;
	return (ssize_t)n;
}

static const int64_t *scan_rows_ends(const struct engine_scan *scan)
{
	return ((const struct scan_rows *)scan)->given->now.ends;
}

static void scan_rows_progress(const struct engine_scan *scan, uint64_t *ret_done,
			       uint64_t *ret_total)
{
	const struct scan_rows *s = (const struct scan_rows *)scan;

	*ret_done = atomic_load(&s->done);
	*ret_total = atomic_load(&s->total);
}

static const struct engine_scan_ops scan_rows_ops = {
	.next = scan_rows_next,
	.ends = scan_rows_ends,
	.progress = scan_rows_progress,
	.free = scan_rows_free,
};

int engine_scan_new(struct engine_scan **ret, struct store *store, const struct scan_request *q,
		    struct error *err)
{
	_cleanup_(engine_scan_freep) struct engine_scan *scan = NULL;
	struct scan_rows *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_errno(err, -ENOMEM, "cannot read the trace");
	s->head.ops = &scan_rows_ops;
	scan = &s->head;
	s->store = store;
	s->q = *q;
	s->columns = q->columns;
	s->dimension = schema_is_dimension(q->table);
	s->events = schema_table(q->table)->kind == TABLE_IS_EVENTS;
	if (s->events || !order_open(q->from, q->to))
		s->filter_columns = order_columns(q->table);
	r = make_streams(s);
	if (r < 0)
		return error_errno(err, r, "cannot read the trace");
	if (q->filter) {
		s->filter_columns |= expr_columns(q->filter);
		r = eval_new(&s->eval, &q->filter, 1, err);
		if (r >= 0)
			r = eval_scratch_new(&s->scratch, s->eval);
		if (r < 0)
			return error_errno(err, r, "cannot prepare the filter");
		s->names_due = true;
	}
	if (s->dimension)
		r = live_make(&s->live, store, store_block_count(store), q->table, err);
	if (r < 0)
		return r;
	count_blocks(s);
	*ret = TAKE_PTR(scan);
	return 0;
}
