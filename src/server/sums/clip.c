// SPDX-License-Identifier: Apache-2.0
#include "server/sums/clip.h"

#include <errno.h>

#include "analysis/rollup/rollup.h"
#include "base/clock.h"
#include "engine/order.h"
#include "server/http/js.h"
#include "server/sums/who.h"
#include "server/sums/sums.h"

void clip_free(struct clip *c)
{
	map_free(&c->io);
	map_free(&c->wait);
}

static int clip_do_add(struct map *m, int64_t task, int64_t ns)
{
	uint64_t sum = 0;

	map_get(m, (uint64_t)task, &sum);
	return map_set(m, (uint64_t)task, sum + (uint64_t)ns);
}

/* How long the call ran within the range. */
static int64_t clip_part_of(const struct question *q, const struct batch *b, size_t row)
{
	int64_t start = batch_get(b, OP_START, row, INT64_MIN), end = rollup_end(b, row);

	if (start == INT64_MIN)
		store_range(q->server->store, &start, &end); /* it ran before, and still did */
	/* what the range leaves open cuts no call */
	start = q->from == INT64_MIN ? start : MAX(start, q->from);
	end = q->to == INT64_MAX ? end : MIN(end, q->to);
	return MAX(clock_between(start, end), (int64_t)0);
}

static int take_row(struct clip *c, const struct batch *b, size_t row)
{
	const struct question *q = c->q;
	int64_t thread = batch_get(b, OP_THREAD_ID, row, -1), ns = clip_part_of(q, b, row);
	int64_t class = batch_get(b, OP_CLASS, row, CLASS_OTHER), end = rollup_end(b, row);
	bool running = batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED;

	if (!running && batch_is_null(b, OP_START, row))
		return 0;
	/* those are in the sums already, whole */
	if (!running && end >= q->from && end < q->to)
		ns -= MAX(batch_get(b, OP_DUR, row, 0), (int64_t)0);
	if (!ns || thread < 0 || (class != CLASS_WAIT && !sums_is_io(class)))
		return 0;
	return clip_do_add(class == CLASS_WAIT ? &c->wait : &c->io,
			   names_task(store_dims_few(q->server->store), thread), ns);
}

static int clip_take(void *state, const struct pass_rows *rows)
{
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++)
		r = take_row(state, rows->batch, rows->rows[k]);
	return r;
}

/* Some call may have been running at that time. */
static bool crosses(const struct store_block *b, int64_t at)
{
	return at != INT64_MIN && at != INT64_MAX && pass_block_overlaps(b, at, at + 1);
}

static bool has_edge(void *arg, const struct store_block *b, size_t block)
{
	const struct question *q = arg;

	return b->nulls[OP_RET] || crosses(b, q->from) || crosses(b, q->to);
}

static int clip_merge(struct map *to, const struct map *from)
{
	uint64_t task, ns;
	size_t pos = 0;
	int r = 0;

	while (r >= 0 && map_next(from, &pos, &task, &ns))
		r = clip_do_add(to, (int64_t)task, (int64_t)ns);
	return r;
}

int clip_find(struct question *q, const struct pass_filter *pass_filter, struct clip *ret)
{
	struct clip workers[PASS_THREADS_MAX] = {0};
	struct pass p = {
		.q = q,
		.pass_filter = pass_filter,
		.range = PASS_OVERLAP,
		.from = q->from,
		.to = q->to,
		.columns = order_columns(TABLE_OP) | 1ull << OP_THREAD_ID | 1ull << OP_CLASS,
		.wants = has_edge,
		.arg = q,
		.take = clip_take,
		.workers = pass_workers(q),
	};
	int r;

	for (unsigned int i = 0; i < p.workers; i++) {
		workers[i].q = q;
		p.states[i] = &workers[i];
	}
	r = pass_run(&p);
	for (unsigned int i = 0; i < p.workers; i++) {
		if (r >= 0)
			r = clip_merge(&ret->io, &workers[i].io);
		if (r >= 0)
			r = clip_merge(&ret->wait, &workers[i].wait);
		clip_free(&workers[i]);
	}
	return r;
}

uint64_t clip_time(const struct map *m, int64_t task, uint64_t whole)
{
	uint64_t more = 0;

	map_get(m, (uint64_t)task, &more);
	return (int64_t)more < 0 && -more > whole ? 0 : whole + more;
}
