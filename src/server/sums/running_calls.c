// SPDX-License-Identifier: Apache-2.0
#include "server/sums/running_calls.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/map.h"
#include "names/names.h"
#include "schema/ops.h"

#define MARK_COLUMNS (1ull << MARK_AT | 1ull << MARK_NAME | 1ull << MARK_TEXT)

void running_calls_free(struct running_calls *r)
{
	free(r->calls);
	*r = (struct running_calls){0};
}

int64_t running_calls_dur(const struct running_call *c)
{
	return MAX(clock_between(c->start, c->until), (int64_t)0);
}

/* Finds the thread of each of calls[from ..] by its tid: if several had it, the latest. */
static int find_threads(struct running_calls *all, size_t from, const struct dims *d,
			uint64_t recording)
{
	_cleanup_(map_free) struct map wanted = {0};
	size_t n = from;
	uint64_t at;
	int r = 0;

	for (size_t i = from; i < all->count && r >= 0; i++)
		r = map_set(&wanted, (uint64_t)all->calls[i].tid, i);
	for (size_t i = dims_rows(d, TABLE_THREAD); i-- > 0 && wanted.count && r >= 0;) {
		int64_t id = dims_id_at(d, TABLE_THREAD, i);
		uint64_t tid = (uint64_t)dims_thread(d, id)->tid;

		if (id_recording(id) != recording || !map_get(&wanted, tid, &at))
			continue;
		all->calls[at].thread_id = dims_latest_thread(d, id);
		map_del(&wanted, tid);
	}
	for (size_t i = from; i < all->count; i++) {
		if (all->calls[i].thread_id >= 0)
			all->calls[n++] = all->calls[i];
	}
	all->count = n;
	return r;
}

/* "4711 read 1763881234567890123, 4712 futex ..." */
static int running_calls_parse(struct running_calls *ret, const struct dims *d, uint64_t recording,
			       int64_t at, struct bytes text)
{
	_cleanup_free_ char *copy = strndup((const char *)text.data, text.len);
	char op[32], *rest = copy, *one;
	size_t from = ret->count;
	int r = copy ? 0 : -ENOMEM;

	while (r >= 0 && (one = strsep(&rest, ","))) {
		struct running_call c = {.thread_id = -1, .until = at};

		if (sscanf(one, "%ld %31s %ld", &c.tid, op, &c.start) != 3)
			continue;
		c.op = op_find(op);
		if (c.op < 0)
			continue;
		r = array_add(ret->calls, ret->count, ret->cap, c);
	}
	return r < 0 ? r : find_threads(ret, from, d, recording);
}

/* The last mark of each recording counts; a recording that has stopped has a row for each call. */
static int take_marks(struct running_calls *ret, const struct dims *d, uint64_t recording,
		      const struct batch *b, struct map *done)
{
	for (size_t i = b->rows; i-- > 0;) {
		bool running = bytes_is(batch_get_bytes(b, MARK_NAME, i), "weir.running");
		int r;

		if (!running && !bytes_is(batch_get_bytes(b, MARK_NAME, i), "weir.stopped"))
			continue;
		r = map_set(done, recording, 1);
		if (r < 0 || !running)
			return r;
		return running_calls_parse(ret, d, recording, batch_get(b, MARK_AT, i, 0),
					   batch_get_bytes(b, MARK_TEXT, i));
	}
	return 0;
}

/* Removes calls that returned according to a row after the mark. `tasks`: threads -> indexes of their calls. */
static void take_rows(struct running_calls *all, const struct map *tasks, const struct dims *d,
		      const struct batch *b)
{
	for (size_t row = 0; row < b->rows; row++) {
		int64_t task = names_task(d, batch_get(b, OP_THREAD_ID, row, -1));
		uint64_t k;

		if (map_get(tasks, (uint64_t)task, &k) &&
		    batch_get(b, OP_START, row, INT64_MIN) >= all->calls[k].start)
			all->calls[k].op = -1;
	}
}

/* Updates the remaining calls to have run as long as the rows show. */
static int drop_returned(const struct store *s, struct store_cursor *cursor,
			 struct running_calls *all, struct error *err)
{
	const struct dims *d = store_dims_few(s);
	_cleanup_(map_free) struct map tasks = {0};
	int64_t since = INT64_MAX;
	size_t n = 0;
	int r = 0;

	for (size_t k = 0; k < all->count && r >= 0; k++) {
		since = MIN(since, all->calls[k].until);
		r = map_set(&tasks, (uint64_t)names_task(d, all->calls[k].thread_id), k);
	}
	if (r < 0)
		return r;
	for (size_t i = store_block_count(s); all->count && i-- > 0;) {
		const struct store_block *block = store_block(s, i);
		const struct batch *b;
		bool named = false;

		if (block->table != TABLE_OP || !sums_block_overlaps(block, since, INT64_MAX))
			continue;
		for (size_t k = 0; k < all->count; k++) {
			struct running_call *c = &all->calls[k];

			if (id_recording(c->thread_id) != block->recording)
				continue;
			c->until = MAX(c->until, block->max[OP_START]);
			named |= store_block_has_id(s, i, OP_THREAD_ID, c->thread_id);
		}
		r = named ? store_decode(cursor, i, 1ull << OP_START | 1ull << OP_THREAD_ID, &b,
					 err)
			  : 0;
		if (r >= 0 && named)
			take_rows(all, &tasks, d, b);
		if (r < 0 && r != -EBADMSG)
			return r;
	}
	for (size_t k = 0; k < all->count; k++) {
		if (all->calls[k].op >= 0)
			all->calls[n++] = all->calls[k];
	}
	all->count = n;
	return 0;
}

static int running_calls_rows(const struct running_calls *all, struct batch **ret)
{
	int r = batch_new(ret, TABLE_OP);

	for (size_t i = 0; i < all->count && r >= 0; i++) {
		const struct running_call *c = &all->calls[i];
		const struct op_def *def = op_def((uint32_t)c->op);
		const int64_t values[][2] = {
			{OP_START, c->start},
			{OP_DUR, running_calls_dur(c)},
			{OP_THREAD_ID, c->thread_id},
			{OP_TID, c->tid},
			{OP_OP, c->op},
			{OP_CLASS, def ? def->class : CLASS_OTHER},
			{OP_STATUS, STATUS_UNFINISHED},
		};

		r = batch_add_row(*ret) < 0 ? -ENOMEM : 0;
		for (size_t k = 0; k < ARRAY_SIZE(values) && r >= 0; k++)
			r = batch_set(*ret, (unsigned int)values[k][0], i, values[k][1]);
	}
	return r;
}

static int running_calls_filter(const struct sums_filter *filter, struct running_calls *all)
{
	_cleanup_(eval_scratch_freep) struct eval_scratch *scratch = NULL;
	_cleanup_(batch_freep) struct batch *b = NULL;
	_cleanup_free_ uint32_t *rows = NULL;
	ssize_t count;
	int r;

	if (!filter->eval || !all->count)
		return 0;
	r = running_calls_rows(all, &b);
	if (r >= 0)
		r = eval_scratch_new(&scratch, filter->eval);
	if (r < 0)
		return r;
	rows = calloc(all->count, sizeof(*rows));
	if (!rows)
		return -ENOMEM;
	count = eval_filter(filter->eval, scratch, 0, b, NULL, all->count, rows);
	for (ssize_t i = 0; i < count; i++)
		all->calls[i] = all->calls[rows[i]];
	all->count = (size_t)MAX(count, 0);
	return (int)MIN(count, 0);
}

int running_calls_find(struct question *q, const struct sums_filter *filter,
		       struct running_calls *ret)
{
	const struct store *s = q->server->store;
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	_cleanup_(map_free) struct map done = {0};
	int r = q->server->live ? store_cursor_new(&cursor, s) : 0;

	for (size_t i = store_block_count(s); q->server->live && i-- > 0 && r >= 0;) {
		const struct store_block *block = store_block(s, i);
		const struct batch *b;

		if (block->table != TABLE_MARK || map_get(&done, block->recording, NULL))
			continue;
		r = store_decode(cursor, i, MARK_COLUMNS, &b, &q->err);
		if (r >= 0)
			r = take_marks(ret, store_dims_few(s), block->recording, b, &done);
		else if (r == -EBADMSG) /* was counted as damage */
			r = 0;
	}
	if (r < 0)
		return r;
	r = drop_returned(s, cursor, ret, &q->err);
	return r < 0 ? r : running_calls_filter(filter, ret);
}
