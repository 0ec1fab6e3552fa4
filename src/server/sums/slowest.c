// SPDX-License-Identifier: Apache-2.0
#include "server/sums/slowest.h"

#include <errno.h>
#include <string.h>

struct slow_call {
	int64_t dur;
	size_t block;
	uint32_t row;
};

struct search {
	struct slow_call *calls; /* longest first */
	size_t count, max;
};

/* True where a comes before b: longer, or as long and earlier in the trace. */
static bool is_before(const struct slow_call *a, const struct slow_call *b)
{
	if (a->dur != b->dur)
		return a->dur > b->dur;
	return a->block != b->block ? a->block < b->block : a->row < b->row;
}

static void slowest_offer(struct search *s, const struct slow_call *c)
{
	size_t at = s->count;

	while (at > 0 && is_before(c, &s->calls[at - 1]))
		at--;
	if (at == s->max)
		return;
	if (s->count < s->max)
		s->count++;
	memmove(&s->calls[at + 1], &s->calls[at], (s->count - 1 - at) * sizeof(*s->calls));
	s->calls[at] = *c;
}

static int slowest_take(void *state, const struct pass_rows *rows)
{
	struct search *s = state;

	for (size_t i = 0; i < rows->count; i++) {
		uint32_t row = rows->rows[i];
		const struct slow_call c = {MAX(batch_get(rows->batch, OP_DUR, row, 0), 0),
					    rows->block, row};

		if (sums_is_io(batch_get(rows->batch, OP_CLASS, row, CLASS_OTHER)) &&
		    !(batch_get(rows->batch, OP_STATUS, row, 0) & STATUS_UNFINISHED))
			slowest_offer(s, &c);
	}
	return 0;
}

static int by_max(const void *a, const void *b)
{
	const struct sums_slow *x = a, *y = b;

	if (x->max != y->max)
		return x->max < y->max ? 1 : -1;
	return (x->block > y->block) - (x->block < y->block);
}

/* ---- rows, whole ---- */

static int slowest_fetch(struct question *q, const struct search *s, struct batch *to,
			 int64_t *numbers)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	int r = store_cursor_new(&cursor, q->server->store);

	for (size_t i = 0; i < s->count && r >= 0; i++) {
		const struct slow_call *c = &s->calls[i];
		const struct batch *b;

		numbers[i] = server_row_number(q->server, c->block, c->row);
		r = store_decode(cursor, c->block, ~0ull, &b, &q->err);
		if (r >= 0)
			r = batch_append(to, b, c->row, c->row + 1);
	}
	return r;
}

/* ---- blocks ---- */

static int search_blocks(struct question *q, const struct pass_filter *pass_filter,
			 const struct sums *sums, struct search *s)
{
	_cleanup_free_ struct sums_slow *blocks = calloc(sums->slow_count + 1, sizeof(*blocks));
	struct pass p = {
		.q = q,
		.pass_filter = pass_filter,
		.from = q->from,
		.to = q->to,
		.columns = 1ull << OP_DUR | 1ull << OP_CLASS | 1ull << OP_STATUS,
		.take = slowest_take,
		.only_count = 1,
		.states = {s},
		.workers = 1,
	};
	int r = 0;

	if (!blocks)
		return -ENOMEM;
	if (sums->slow_count)
		memcpy(blocks, sums->slow, sums->slow_count * sizeof(*blocks));
	qsort(blocks, sums->slow_count, sizeof(*blocks), by_max);
	for (size_t i = 0; i < sums->slow_count && r >= 0; i++) {
		if (s->count == s->max && s->calls[s->count - 1].dur > blocks[i].max)
			break;
		p.only = &blocks[i].block;
		r = pass_run(&p);
	}
	return r;
}

int slowest_find(struct question *q, const struct pass_filter *pass_filter, const struct sums *sums,
		 size_t max, struct batch **ret, int64_t **ret_rows)
{
	_cleanup_free_ struct slow_call *calls = calloc(max + 1, sizeof(*calls));
	_cleanup_free_ int64_t *numbers = calloc(max + 1, sizeof(*numbers));
	_cleanup_(batch_freep) struct batch *b = NULL;
	struct search s = {.calls = calls, .max = max};
	int r = calls && numbers ? batch_new(&b, TABLE_OP) : -ENOMEM;

	if (r >= 0)
		r = search_blocks(q, pass_filter, sums, &s);
	if (r >= 0)
		r = slowest_fetch(q, &s, b, numbers);
	if (r < 0)
		return r;
	*ret = TAKE_PTR(b);
	*ret_rows = TAKE_PTR(numbers);
	return 0;
}
