// SPDX-License-Identifier: Apache-2.0
#include "sums/clip.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/clock.h"
#include "schema/vocab.h"
#include "sums/order.h"
#include "sums/rollup.h"

void clip_free(struct clip *c)
{
	map_free(&c->by);
	free(c->running);
	*c = (struct clip){0};
}

static int clip_add(struct clip *c, uint64_t key, int64_t ns)
{
	uint64_t sum = 0;

	map_get(&c->by, key, &sum);
	return map_set(&c->by, key, sum + (uint64_t)ns);
}

int64_t clip_part(const struct store *s, int64_t from, int64_t to, const struct batch *op,
		  size_t row)
{
	int64_t start = batch_get(op, OP_START, row, INT64_MIN), end = rollup_end(op, row);

	/* started before the trace and was still running at its end */
	if (start == INT64_MIN)
		store_range(s, &start, &end);
	/* the open side of a range clips no call */
	start = from == INT64_MIN ? start : MAX(start, from);
	end = to == INT64_MAX ? end : MIN(end, to);
	return MAX(clock_between(start, end), (int64_t)0);
}

/* ---- one worker ---- */

struct clip_worker {
	const struct sums_ask *ask;
	struct clip clip;
};

static int clip_note_running(struct clip *c, const struct walk_rows *rows, uint32_t row)
{
	c->running_all++;
	if (c->running_count >= BATCH_ROWS_MAX)
		return 0;
	return array_add(
		c->running, c->running_count, c->running_cap,
		(struct call_ref){batch_get(rows->batch, OP_DUR, row, 0), rows->block, row});
}

static int clip_take_row(struct clip_worker *w, const struct walk_rows *rows, uint32_t row)
{
	const struct sums_ask *a = w->ask;
	const struct batch *b = rows->batch;
	int64_t thread = batch_get(b, OP_THREAD_ID, row, -1), end = rollup_end(b, row);
	int64_t class = batch_get(b, OP_CLASS, row, CLASS_OTHER), ns;
	bool running = batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED;
	int r = running ? clip_note_running(&w->clip, rows, row) : 0;

	if (r < 0 || (!running && (batch_is_null(b, OP_START, row) || order_open(a->from, a->to))))
		return r;
	ns = clip_part(a->store, a->from, a->to, b, row);
	/* the sums already include these calls with their full time */
	if (!running && end >= a->from && end < a->to)
		ns -= MAX(batch_get(b, OP_DUR, row, 0), (int64_t)0);
	return ns && thread >= 0
		       ? clip_add(&w->clip, (uint64_t)thread << 4 | ((uint64_t) class & 15), ns)
		       : 0;
}

static int clip_take(void *state, const struct walk_rows *rows)
{
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++)
		r = clip_take_row(state, rows, rows->rows[k]);
	return r;
}

/* ---- all of them ---- */

/* True if a call of the block may have been running at that time. */
static bool clip_crosses(const struct store_block *b, int64_t at)
{
	return at != INT64_MIN && at != INT64_MAX && sums_block_overlaps(b, at, at + 1);
}

static bool clip_wants(void *arg, const struct store_block *b, size_t block _unused_)
{
	const struct sums_ask *a = arg;

	return store_block_may_run(b) || clip_crosses(b, a->from) || clip_crosses(b, a->to);
}

static int clip_merge(struct clip *to, const struct clip *from)
{
	uint64_t key, ns;
	size_t pos = 0;
	int r = grow((void **)&to->running, &to->running_cap,
		     to->running_count + from->running_count + 1, sizeof(*to->running));

	while (r >= 0 && map_next(&from->by, &pos, &key, &ns))
		r = clip_add(to, key, (int64_t)ns);
	for (size_t i = 0; r >= 0 && i < from->running_count; i++)
		to->running[to->running_count++] = from->running[i];
	to->running_all += from->running_all;
	return r;
}

int clip_find(const struct walk *walk, struct clip *ret, struct error *err)
{
	struct sums_ask ask = walk->ask;
	struct clip_worker workers[WALK_THREADS_MAX] = {0};
	struct walk w = {
		.ask = {.store = ask.store,
			.filter = ask.filter,
			.from = INT64_MIN,
			.to = INT64_MAX},
		.columns = order_columns(TABLE_OP) | 1ull << OP_THREAD_ID | 1ull << OP_CLASS,
		.wants = clip_wants,
		.arg = &ask,
		.stopped = walk->stopped,
		.stopped_arg = walk->stopped_arg,
		.take = clip_take,
		.workers = walk->workers,
	};
	int r;

	assert(w.workers > 0 && w.workers <= WALK_THREADS_MAX);
	assert(!ret->running_count && !ret->by.count);
	for (unsigned int i = 0; i < w.workers; i++) {
		workers[i].ask = &ask;
		w.states[i] = &workers[i];
	}
	r = walk_run(&w, err);
	for (unsigned int i = 0; i < w.workers; i++) {
		if (r >= 0 && clip_merge(ret, &workers[i].clip) < 0)
			r = error_errno(err, -ENOMEM, "summing calls");
		clip_free(&workers[i].clip);
	}
	array_sort(ret->running, ret->running_count, slowest_order);
	ret->running_count = MIN(ret->running_count, (size_t)BATCH_ROWS_MAX);
	return r;
}
