/* SPDX-License-Identifier: Apache-2.0 */
/* trace_beside.c: finds the rows that belong to a call: they have its thread and start, and are consecutive. */
#include "cli/trace/trace_beside.h"

#include <string.h>

#include "schema/ops.h"
#include "schema/vocab.h"

static const struct {
	enum table_id table;
	unsigned int start, dur, thread;
} beside_kinds[BESIDE_KINDS] = {
	[BESIDE_POLL] = {TABLE_POLL, POLL_START, POLL_DUR, POLL_THREAD_ID},
	[BESIDE_DETAIL] = {TABLE_DETAIL, DETAIL_START, DETAIL_DUR, DETAIL_THREAD_ID},
	[BESIDE_CONTENT] = {TABLE_CHUNK, CHUNK_START, CHUNK_DUR, CHUNK_THREAD_ID},
};

/* Calls that did not sleep waited on nothing. */
static bool may_have_rows(enum beside_kind kind, const struct batch *op, size_t row)
{
	int64_t code = batch_get(op, OP_OP, row, -1);
	const struct op_def *def = code >= 0 && code < OP_CODE_MAX ? op_def((uint32_t)code) : NULL;

	if (!def || batch_is_null(op, OP_START, row))
		return false;
	return kind != BESIDE_POLL ||
	       (def->class == CLASS_WAIT && batch_get(op, OP_STATUS, row, 0) & STATUS_SLEPT);
}

static bool is_of_call(enum beside_kind kind, const struct batch *b, size_t at,
		       const struct batch *op, size_t row)
{
	return batch_get(b, beside_kinds[kind].start, at, -1) == batch_get(op, OP_START, row, -1) &&
	       batch_get(b, beside_kinds[kind].thread, at, -1) ==
		       batch_get(op, OP_THREAD_ID, row, -1);
}

/* Searches from `at` on. */
static void beside_collect(struct trace_beside *ret, enum beside_kind kind, const struct batch *b,
			   size_t at, const struct batch *op, size_t row)
{
	struct call_rows *c = &ret->tables[kind];

	for (size_t i = at; i < b->rows; i++) {
		bool of_call = is_of_call(kind, b, i, op, row);

		if (!of_call && c->count) /* they are consecutive */
			break;
		if (!of_call)
			continue;
		if (c->count < BESIDE_ROWS)
			ret->rows[kind][c->count++] = (uint32_t)i;
	}
	c->batch = b;
	c->rows = ret->rows[kind];
}

void trace_beside_begin(struct trace_beside *b)
{
	memset(b->at, 0, sizeof(b->at));
}

static int64_t row_end(enum beside_kind kind, const struct batch *b, size_t row)
{
	return beside_end(batch_get(b, beside_kinds[kind].start, row, 0),
			  batch_get(b, beside_kinds[kind].dur, row, 0));
}

void trace_beside_in(struct trace_beside *b, const struct batch_set *set, const struct batch *op,
		     size_t row)
{
	int64_t end = beside_end(batch_get(op, OP_START, row, 0), batch_get(op, OP_DUR, row, 0));

	memset(b->tables, 0, sizeof(b->tables));
	for (int kind = 0; kind < BESIDE_KINDS; kind++) {
		const struct batch *rows = set->tables[beside_kinds[kind].table];
		size_t at = b->at[kind];

		if (!rows || !may_have_rows(kind, op, row))
			continue;
		while (at < rows->rows && row_end(kind, rows, at) < end)
			at++; /* rows of calls that are not shown */
		/* rows of other calls that ended at the same time may precede its own */
		b->at[kind] = at;
		if (at < rows->rows && row_end(kind, rows, at) == end)
			beside_collect(b, kind, rows, at, op, row);
	}
}

int beside_scan_new(struct beside_scan *s, struct store *store, int64_t from, int64_t to,
		    struct error *err)
{
	int r = 0;

	for (int kind = 0; kind < BESIDE_KINDS && r >= 0; kind++) {
		const struct scan_request q = {.table = beside_kinds[kind].table,
					       .columns = ~0ull,
					       .from = from,
					       .to = to};

		r = batch_new(&s->tables[kind].held, beside_kinds[kind].table);
		if (r < 0)
			return error_errno(err, r, "reading the details of calls");
		r = engine_scan_new(&s->tables[kind].scan, store, &q, err);
	}
	return r;
}

void beside_scan_free(struct beside_scan *s)
{
	for (int kind = 0; kind < BESIDE_KINDS; kind++) {
		engine_scan_free(s->tables[kind].scan);
		batch_free(s->tables[kind].held);
	}
	*s = (struct beside_scan){0};
}

ssize_t beside_peek(struct beside_table *t, struct error *err)
{
	if (t->at == t->count && !t->ended) {
		t->count = engine_scan_next(t->scan, &t->batch, &t->rows, err);
		t->at = 0;
		t->ended = t->count <= 0;
	}
	return t->ended ? MIN(t->count, (ssize_t)0) : 1;
}

/* Tables are ordered by the end of calls: rows that ended with this call are held, earlier ones are skipped. */
static int scan_find(struct beside_table *t, enum beside_kind kind, int64_t end, struct error *err)
{
	ssize_t n;
	int r = 0;

	if (t->held_end != end)
		batch_clear(t->held);
	t->held_end = end;
	while ((n = beside_peek(t, err)) > 0 && row_end(kind, t->batch, t->rows[t->at]) <= end) {
		size_t at = t->rows[t->at++];

		/* a line shows only the bytes of content */
		if (kind == BESIDE_CONTENT &&
		    batch_get(t->batch, CHUNK_FORM, at, -1) != FORM_PAYLOAD)
			continue;
		r = row_end(kind, t->batch, at) == end ? batch_append(t->held, t->batch, at, at + 1)
						       : 0;
		if (r < 0)
			return error_errno(err, r, "reading the details of calls");
	}
	return (int)MIN(n, (ssize_t)0);
}

int beside_scan_find(struct beside_scan *s, const struct batch *op, size_t row,
		     struct trace_beside *ret, struct error *err)
{
	int64_t end = beside_end(batch_get(op, OP_START, row, 0), batch_get(op, OP_DUR, row, 0));
	int r = 0;

	memset(ret->tables, 0, sizeof(ret->tables));
	for (int kind = 0; kind < BESIDE_KINDS && r >= 0; kind++) {
		if (!may_have_rows(kind, op, row))
			continue;
		r = scan_find(&s->tables[kind], kind, end, err);
		if (r >= 0)
			beside_collect(ret, kind, s->tables[kind].held, 0, op, row);
	}
	return r;
}
