/* SPDX-License-Identifier: Apache-2.0 */
/* trace_waited.c: the rows of the table poll that belong to a call, found beside its row. */
#include "cli/trace/trace_waited.h"

#include <string.h>

#include "schema/ops.h"
#include "schema/vocab.h"

/* Calls that did not sleep have no rows. */
static bool may_have_rows(const struct batch *op, size_t row)
{
	int64_t code = batch_get(op, OP_OP, row, -1);
	const struct op_def *def = code >= 0 && code < OP_CODE_MAX ? op_def((uint32_t)code) : NULL;

	return def && def->class == CLASS_WAIT && batch_get(op, OP_STATUS, row, 0) & STATUS_SLEPT &&
	       !batch_is_null(op, OP_START, row);
}

static bool is_of_call(const struct batch *poll, size_t at, const struct batch *op, size_t row)
{
	return batch_get(poll, POLL_START, at, -1) == batch_get(op, OP_START, row, -1) &&
	       batch_get(poll, POLL_THREAD_ID, at, -1) == batch_get(op, OP_THREAD_ID, row, -1);
}

static void collect(struct trace_waited *w, const struct batch *poll, const struct batch *op,
		    size_t row)
{
	for (size_t i = 0; i < poll->rows && w->count < ARRAY_SIZE(w->rows); i++) {
		if (is_of_call(poll, i, op, row))
			w->rows[w->count++] = i;
		else if (w->count) /* they stand together */
			break;
	}
	w->poll = poll;
}

void trace_waited_in(struct trace_waited *w, const struct batch *poll, const struct batch *op,
		     size_t row)
{
	*w = (struct trace_waited){0};
	if (poll && poll->rows && may_have_rows(op, row))
		collect(w, poll, op, row);
}

int waited_scan_new(struct waited_scan *s, struct store *store, int64_t from, int64_t to,
		    struct error *err)
{
	const struct scan_request q = {
		.table = TABLE_POLL, .columns = ~0ull, .from = from, .to = to};
	int r = batch_new(&s->held, TABLE_POLL);

	if (r < 0)
		return error_errno(err, r, "reading what calls waited on");
	return engine_scan_new(&s->scan, store, &q, err);
}

void waited_scan_free(struct waited_scan *s)
{
	engine_scan_free(s->scan);
	batch_free(s->held);
	*s = (struct waited_scan){0};
}

/* A damaged trace may have any numbers. */
static int64_t call_end(int64_t start, int64_t dur)
{
	int64_t end;

	return __builtin_add_overflow(start, dur, &end) ? INT64_MAX : end;
}

static int64_t poll_end(const struct batch *b, size_t row)
{
	return call_end(batch_get(b, POLL_START, row, 0), batch_get(b, POLL_DUR, row, 0));
}

/* The next row of the scan; 0: there is none. */
static ssize_t scan_peek(struct waited_scan *s, struct error *err)
{
	if (s->at == s->count && !s->ended) {
		s->count = engine_scan_next(s->scan, &s->batch, &s->rows, err);
		s->at = 0;
		s->ended = s->count <= 0;
	}
	return s->ended ? MIN(s->count, (ssize_t)0) : 1;
}

/* Both tables come in the order of the ends of calls: what ended with this call is held, what ended before is not wanted. */
int waited_scan_find(struct waited_scan *s, const struct batch *op, size_t row,
		     struct trace_waited *ret, struct error *err)
{
	int64_t end = call_end(batch_get(op, OP_START, row, 0), batch_get(op, OP_DUR, row, 0));
	ssize_t n;
	int r;

	*ret = (struct trace_waited){0};
	if (!may_have_rows(op, row))
		return 0;
	if (s->held_end != end)
		batch_clear(s->held);
	s->held_end = end;
	while ((n = scan_peek(s, err)) > 0 && poll_end(s->batch, s->rows[s->at]) <= end) {
		size_t at = s->rows[s->at++];

		r = poll_end(s->batch, at) == end ? batch_append(s->held, s->batch, at, at + 1) : 0;
		if (r < 0)
			return error_errno(err, r, "reading what calls waited on");
	}
	if (n < 0)
		return (int)n;
	collect(ret, s->held, op, row);
	return 0;
}
