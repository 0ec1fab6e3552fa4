// SPDX-License-Identifier: Apache-2.0
/*
 * click_scan.c: rows of one table in the trace's order. The server sorts them one time interval after the other, so
 * that it never sorts many at once. The part of the filter that the server cannot evaluate is evaluated here.
 */
#include <errno.h>
#include <stdio.h>

#include "engine/clickhouse/internal.h"
#include "query/eval/eval.h"
#include "query/eval/eval_rows.h"
#include "sums/order.h"

#define STRETCH_ROWS (1u << 20) /* approximate rows per statement */

struct click_scan {
	struct engine_scan head;
	struct click_engine *engine;
	struct clickhouse server; /* a separate connection: several scans may be open */
	struct native_reader in;
	struct scan_request q;
	uint64_t columns;
	struct eval *eval; /* NULL: the server evaluates the complete filter */
	struct eval_scratch *scratch;
	struct buf where, select;
	int64_t next, last, width; /* intervals: [next, next + width), until last */
	bool running, ended;
	size_t at; /* row in the current block of `in` */
	struct batch *batch;
	int64_t *ends;
	uint32_t *rows;
	/* for a dimension table: all rows, and the last one of each id */
	struct batch **kept;
	size_t kept_count, kept_cap, given;
	struct map newest; /* id -> index of batch * BATCH_ROWS_MAX + row */
	_Atomic uint64_t done, total;
};

static struct click_scan *click_scan_of(struct engine_scan *s)
{
	return (struct click_scan *)s;
}

static void click_scan_free(struct engine_scan *scan)
{
	struct click_scan *s = click_scan_of(scan);

	native_reader_free(&s->in);
	clickhouse_close(&s->server);
	eval_scratch_free(s->scratch);
	eval_free(s->eval);
	buf_free(&s->where);
	buf_free(&s->select);
	batch_free(s->batch);
	for (size_t i = 0; i < s->kept_count; i++)
		batch_free(s->kept[i]);
	free(s->kept);
	map_free(&s->newest);
	free(s->ends);
	free(s->rows);
	free(s);
}

static bool scan_by_time(const struct click_scan *s)
{
	return schema_table(s->q.table)->kind == TABLE_IS_EVENTS;
}

/* Queries the number of rows and their time range. */
static int scan_measure(struct click_scan *s, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0}, answer = {0};
	long long count, first, last, span;
	int r = buf_printf(&sql, "SELECT count(), min(ended), max(ended) FROM `%s`%s",
			   schema_table(s->q.table)->name, buf_str(&s->where));

	if (r >= 0)
		r = click_query_text(s->engine, &s->server, buf_str(&sql), &answer, err);
	if (r < 0)
		return r;
	if (sscanf(buf_str(&answer), "%lld %lld %lld", &count, &first, &last) != 3 || count < 0 ||
	    last < first || __builtin_sub_overflow(last, first, &span))
		return error_set(
			err, -EPROTO, "%s: no counts: '%.*s'", net_client_node(s->server.client),
			(int)MIN(strcspn(buf_str(&answer), "\r\n"), (size_t)100), buf_str(&answer));
	s->ended = count == 0;
	s->next = first;
	s->last = last;
	s->width = INT64_MAX;
	if (scan_by_time(s) && count > 2 * STRETCH_ROWS)
		s->width = (int64_t)((double)span / (double)count * STRETCH_ROWS) + 1;
	atomic_store(&s->total, (uint64_t)(span / s->width) + 1);
	return 0;
}

static int scan_start_stretch(struct click_scan *s, struct error *err)
{
	_cleanup_buf_ struct buf sql = {0};
	int64_t to;
	int r;

	buf_add(&sql, &s->select);
	buf_add(&sql, &s->where);
	if (__builtin_add_overflow(s->next, s->width, &to) || to > s->last)
		to = INT64_MAX;
	if (scan_by_time(s) && s->width != INT64_MAX)
		buf_printf(&sql, " AND ended >= %lld AND ended %s %lld", (long long)s->next,
			   to == INT64_MAX ? "<=" : "<",
			   (long long)(to == INT64_MAX ? s->last : to));
	buf_printf(&sql, " ORDER BY %s", scan_by_time(s) ? "ended, " : "");
	buf_fail(&sql, click_recording_order(s->engine, &sql));
	r = buf_printf(&sql, ", block_no, row_no FORMAT Native");
	if (r < 0)
		return error_errno(err, r, "a query");
	native_reader_free(&s->in);
	s->in.client = s->server.client;
	s->running = true;
	s->at = 0;
	s->next = to;
	return click_begin_query(s->engine, &s->server, buf_str(&sql), NULL, err);
}

/* The next rows from the server as a batch: returns their number; 0 at the end. */
static ssize_t click_scan_take(struct click_scan *s, struct error *err)
{
	int r;

	while (!s->running || s->at >= s->in.rows) {
		if (!s->running && (s->ended || s->next == INT64_MAX))
			return 0;
		r = s->running ? click_read(&s->server, &s->in, err) : scan_start_stretch(s, err);
		if (r < 0)
			return r;
		s->at = 0;
		if (s->running && r == 0 && s->in.ended) {
			s->running = false;
			s->in.rows = 0;
			atomic_fetch_add(&s->done, 1);
		}
	}
	r = click_batch(s->engine, &s->in, s->at, MIN(s->at + BATCH_ROWS_MAX, s->in.rows),
			s->columns, s->batch, s->ends);
	if (r < 0)
		return error_errno(err, r, "rows of %s", schema_table(s->q.table)->name);
	s->at += s->batch->rows;
	return (ssize_t)s->batch->rows;
}

/*
 * Reads all rows of a dimension table. The last row of an id is used; of something seen by several recordings, that of
 * the last recording.
 */
static int scan_keep(struct click_scan *s, struct error *err)
{
	ssize_t n;
	int r = 0;

	while (r >= 0 && (n = click_scan_take(s, err)) != 0) {
		uint64_t first = s->kept_count * BATCH_ROWS_MAX;

		if (n < 0)
			return (int)n;
		r = grow((void **)&s->kept, &s->kept_cap, s->kept_count + 1, sizeof(*s->kept));
		for (size_t i = 0; i < (size_t)n && r >= 0; i++) {
			if (!batch_is_null(s->batch, 0, i))
				r = map_set(&s->newest, (uint64_t)batch_get(s->batch, 0, i, 0),
					    first + i);
		}
		if (r < 0)
			break;
		s->kept[s->kept_count++] = TAKE_PTR(s->batch);
		r = batch_new(&s->batch, s->q.table);
	}
	return r < 0 ? error_errno(err, r, "rows of %s", schema_table(s->q.table)->name) : 0;
}

static ssize_t scan_next_kept(struct click_scan *s, const struct batch **ret_batch,
			      const uint32_t **ret_rows, struct error *err)
{
	uint64_t at;
	int r = s->kept ? 0 : scan_keep(s, err);

	for (; r >= 0 && s->given < s->kept_count; s->given++) {
		const struct batch *b = s->kept[s->given];
		ssize_t n = 0;

		for (size_t i = 0; i < b->rows; i++) {
			if (!batch_is_null(b, 0, i) &&
			    map_get(&s->newest, (uint64_t)batch_get(b, 0, i, 0), &at) &&
			    at == s->given * BATCH_ROWS_MAX + i)
				s->rows[n++] = (uint32_t)i;
		}
		if (s->eval && n)
			n = eval_filter(s->eval, s->scratch, 0, b, s->rows, (size_t)n, s->rows);
		if (n < 0)
			return error_errno(err, (int)n, "the filter");
		if (!n)
			continue;
		s->given++;
		*ret_batch = b;
		*ret_rows = s->rows;
		return n;
	}
	return r;
}

static ssize_t click_scan_next(struct engine_scan *scan, const struct batch **ret_batch,
			       const uint32_t **ret_rows, struct error *err)
{
	struct click_scan *s = click_scan_of(scan);
	ssize_t n, kept;

	if (schema_is_dimension(s->q.table))
		return scan_next_kept(s, ret_batch, ret_rows, err);
	while ((n = click_scan_take(s, err)) > 0) {
		kept = (ssize_t)order_rows_in(s->batch, s->q.from, s->q.to, false, NULL, (size_t)n,
					      s->rows);
		if (s->eval && kept > 0)
			kept = eval_filter(s->eval, s->scratch, 0, s->batch, s->rows, (size_t)kept,
					   s->rows);
		if (kept < 0)
			return error_errno(err, (int)kept, "the filter");
		if (!kept)
			continue;
		*ret_batch = s->batch;
		*ret_rows = s->rows;
		return kept;
	}
	return n;
}

static const int64_t *click_scan_ends(const struct engine_scan *scan)
{
	return ((const struct click_scan *)scan)->ends;
}

static void click_scan_progress(const struct engine_scan *scan, uint64_t *ret_done,
				uint64_t *ret_total)
{
	const struct click_scan *s = (const struct click_scan *)scan;

	*ret_done = atomic_load(&s->done);
	*ret_total = atomic_load(&s->total);
}

static const struct engine_scan_ops click_scan_ops = {
	.next = click_scan_next,
	.ends = click_scan_ends,
	.progress = click_scan_progress,
	.free = click_scan_free,
};

static int scan_filter(struct click_scan *s, struct error *err)
{
	struct click_writer w = {
		.engine = s->engine, .table = s->q.table, .out = &s->where, .err = err};
	const struct expr *filter = s->q.filter;
	bool all = true, events = !schema_is_dimension(s->q.table);
	/* the filter applies only to the rows of a dimension that are used */
	int r = click_where(&w, events ? filter : NULL, s->q.from, s->q.to, &all);

	if (r < 0 || !filter || (all && events))
		return r;
	s->columns |= expr_columns(filter);
	r = eval_new(&s->eval, &filter, 1, err);
	if (r < 0)
		return r;
	r = eval_names(s->eval, s->engine->dims, err);
	return r < 0 ? r : eval_scratch_new(&s->scratch, s->eval);
}

/* True if the columns include ids whose names are needed. */
static bool scan_refers(const struct click_scan *s)
{
	const struct table_def *t = schema_table(s->q.table);

	for (unsigned int i = 0; i < t->column_count; i++) {
		int to = schema_refers(t, i);

		if (to >= 0 && schema_is_dimension((enum table_id)to) && s->columns >> i & 1)
			return true;
	}
	return schema_is_dimension(s->q.table);
}

static int click_scan_open(struct click_scan *s, struct error *err)
{
	const struct table_def *t = schema_table(s->q.table);
	uint32_t tables = s->q.filter ? query_expr_tables(s->q.filter) : 0;
	int r;

	if (!s->engine->engine.ops || !clickhouse_has_table(s->q.table)) {
		s->ended = true;
		return 0;
	}
	if (s->q.follow)
		return error_set(err, -EOPNOTSUPP,
				 "%s cannot follow rows as they arrive: repeat the query, or "
				 "follow the trace file",
				 engine_name(&s->engine->engine));
	s->columns = s->q.columns & ((1ull << t->column_count) - 1);
	r = tables || scan_refers(s) ? click_dims(s->engine, tables, err)
				     : click_recordings(s->engine, err);
	if (!order_open(s->q.from, s->q.to))
		s->columns |= order_columns(s->q.table);
	if (schema_is_dimension(s->q.table))
		s->columns |= 1;
	s->ends = calloc(BATCH_ROWS_MAX, sizeof(*s->ends));
	s->rows = calloc(BATCH_ROWS_MAX, sizeof(*s->rows));
	if (r >= 0)
		r = s->ends && s->rows ? batch_new(&s->batch, s->q.table) : -ENOMEM;
	if (r >= 0)
		r = scan_filter(s, err);
	buf_printf(&s->select, "SELECT ");
	click_columns(t, s->columns, &s->select);
	buf_printf(&s->select, " FROM `%s`", t->name);
	if (r >= 0)
		r = buf_status(&s->select);
	if (r < 0)
		return error_errno(err, r, "rows of %s", t->name);
	r = click_open(s->engine, &s->server, err);
	return r < 0 ? r : scan_measure(s, err);
}

int click_scan(struct engine *engine, const struct scan_request *q, struct engine_scan **ret,
	       struct error *err)
{
	struct click_scan *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_errno(err, -ENOMEM, "rows");
	s->head.ops = &click_scan_ops;
	s->engine = click_engine_of(engine);
	s->q = *q;
	if (!s->engine->asking) {
		atomic_store(&s->engine->interrupted, false);
		buf_clear(&s->engine->narrow);
		s->engine->by_id = false;
	}
	r = click_scan_open(s, err);
	if (r < 0) {
		click_scan_free(&s->head);
		return r;
	}
	*ret = &s->head;
	return 0;
}
