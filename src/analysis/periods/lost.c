/* SPDX-License-Identifier: Apache-2.0 */
#include "analysis/periods/lost.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "query/expr.h"
#include "schema/vocab.h"

/* False for rows of op with missing properties, rows of other tables, and notes about the recording: no call is missing. */
static bool lost_is_calls(int64_t cause)
{
	switch (cause) {
	case CAUSE_PATH_CUT:
	case CAUSE_ARG_UNREAD:
	case CAUSE_NO_FILE:
	case CAUSE_UNSENT:
	case CAUSE_STACK:
	case CAUSE_SIDE_FULL:
	case CAUSE_SIDE_SKIPPED:
	case CAUSE_STOPPED:
	case CAUSE_HOLD_LIMIT:
	case CAUSE_RUNNING_UNREAD:
		return false;
	default:
		return true;
	}
}

/* Losses in other tables do not affect periods, which calls begin and end. */
static bool lost_is_of_op(struct bytes table)
{
	return !table.len || bytes_is(table, "op");
}

static int lost_order(const void *a, const void *b)
{
	const struct period_lost *x = a, *y = b;

	return ORDER(x->at, y->at);
}

struct losses_reading {
	struct period_losses *to;
	const struct analysis_run *run;
	const struct dims *dims;
	uint64_t seen;
};

static int lost_row(void *arg, const struct batch *b, uint32_t row, int64_t end _unused_)
{
	struct losses_reading *reading = arg;
	const struct analysis_run *run = reading->run;
	struct period_losses *l = reading->to;
	int64_t start = batch_get(b, LOSS_START, row, INT64_MIN),
		stop = batch_get(b, LOSS_STOP, row, start),
		thread = batch_get(b, LOSS_THREAD_ID, row, -1);

	if (reading->seen++ < l->rows ||
	    !lost_is_calls(batch_get(b, LOSS_CAUSE, row, CAUSE_DECODE)) ||
	    !lost_is_of_op(batch_get_bytes(b, LOSS_OF, row)) ||
	    batch_get(b, LOSS_EVENTS, row, 1) == 0 || start >= run->to || stop < run->from)
		return 0;
	if (grow((void **)&l->items, &l->cap, l->count + 2, sizeof(*l->items)) < 0)
		return -ENOMEM;
	if (thread >= 0)
		thread = query_entity_id(TABLE_THREAD, reading->dims, thread);
	l->items[l->count++] = (struct period_lost){start, start, thread};
	l->items[l->count++] = (struct period_lost){MAX(start, stop), start, thread};
	return 0;
}

int period_losses_read(struct period_losses *ret, const struct analysis_run *run,
		       const struct dims *dims, struct error *err)
{
	const struct scan_request q = {
		.table = TABLE_LOSS, .columns = ~0ull, .from = INT64_MIN, .to = INT64_MAX};
	struct losses_reading reading = {.to = ret, .run = run, .dims = dims};
	int r = analysis_scan(NULL, run, &q, lost_row, &reading, err);

	if (r < 0)
		return error_errno(err, r, "reading what is missing");
	ret->rows = MAX(reading.seen, ret->rows);
	array_sort(ret->items + ret->at, ret->count - ret->at, lost_order);
	return 0;
}

void period_losses_free(struct period_losses *l)
{
	free(l->items);
	*l = (struct period_losses){0};
}

bool period_losses_next(struct period_losses *l, int64_t until, struct period_lost *ret)
{
	if (l->at == l->count || l->items[l->at].at > until)
		return false;
	*ret = l->items[l->at++];
	return true;
}
