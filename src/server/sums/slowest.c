// SPDX-License-Identifier: Apache-2.0
#include "server/sums/slowest.h"

#include <errno.h>
#include <string.h>

#define KEPT_BLOCKS 1024u /* a third of a MiB */
#define KEPT_CALLS  256u
#define PER_BLOCK   20u /* of the slowest calls of a block; who wants more looks again */

struct slow_call {
	int64_t dur;
	size_t block;
	uint32_t row;
};

struct slow_store {
	pthread_mutex_t lock;
	struct kept_block {
		size_t block; /* + 1; 0: none */
		size_t count;
		struct slow_call calls[PER_BLOCK]; /* longest first */
	} blocks[KEPT_BLOCKS];			   /* by block % KEPT_BLOCKS */
	struct kept_call {
		size_t block; /* + 1; 0: none */
		uint32_t row;
		struct batch *call; /* one row, every column */
	} calls[KEPT_CALLS];
	size_t next_call; /* whose place the next takes */
};

int slow_store_new(struct slow_store **ret)
{
	struct slow_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void slow_store_free(struct slow_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < KEPT_CALLS; i++)
		batch_free(s->calls[i].call);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

struct search {
	const struct pass *pass;
	struct slow_call *calls; /* longest first */
	size_t count, max;
	size_t block; /* the only one that is wanted */
};

static bool is_wanted(void *arg, const struct store_block *b, size_t block)
{
	const struct search *s = arg;

	return block == s->block;
}

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

/* 1 where it was kept; it is then appended. */
static int fetch_kept(struct slow_store *kept, const struct slow_call *c, struct batch *to)
{
	int r = 0;

	pthread_mutex_lock(&kept->lock);
	for (size_t i = 0; i < KEPT_CALLS && r == 0; i++) {
		if (kept->calls[i].block != c->block + 1 || kept->calls[i].row != c->row)
			continue;
		r = batch_append(to, kept->calls[i].call, 0, 1);
		r = r < 0 ? r : 1;
	}
	pthread_mutex_unlock(&kept->lock);
	return r;
}

static int keep_call(struct slow_store *kept, const struct slow_call *c, const struct batch *b)
{
	_cleanup_(batch_freep) struct batch *one = NULL;
	struct kept_call *to;
	int r = batch_new(&one, TABLE_OP);

	if (r >= 0)
		r = batch_append(one, b, c->row, c->row + 1);
	if (r < 0)
		return r;
	pthread_mutex_lock(&kept->lock);
	to = &kept->calls[kept->next_call++ % KEPT_CALLS];
	batch_free(to->call);
	*to = (struct kept_call){c->block + 1, c->row, TAKE_PTR(one)};
	pthread_mutex_unlock(&kept->lock);
	return 0;
}

static int slowest_fetch(struct question *q, const struct search *s, struct batch *to,
			 int64_t *numbers)
{
	_cleanup_(store_cursor_freep) struct store_cursor *cursor = NULL;
	struct slow_store *kept = q->server->slow;
	int r = store_cursor_new(&cursor, q->server->store);

	for (size_t i = 0; i < s->count && r >= 0; i++) {
		const struct slow_call *c = &s->calls[i];
		const struct batch *b;

		numbers[i] = server_row_number(q->server, c->block, c->row);
		r = fetch_kept(kept, c, to);
		if (r)
			continue;
		r = store_decode(cursor, c->block, ~0ull, &b, &q->err);
		if (r >= 0)
			r = keep_call(kept, c, b);
		if (r >= 0)
			r = batch_append(to, b, c->row, c->row + 1);
	}
	return r;
}

/* ---- blocks ---- */

/* True where all calls of I/O of the block are wanted, so that its slowest are the same for everybody. */
static bool is_common(const struct question *q, const struct pass_filter *pass_filter, size_t block)
{
	const struct store_block *b = store_block(q->server->store, block);

	return !pass_filter->eval && !b->damaged && pass_block_within(b, q->from, q->to);
}

static bool slowest_find_kept(struct slow_store *kept, size_t block, struct kept_block *ret)
{
	pthread_mutex_lock(&kept->lock);
	*ret = kept->blocks[block % KEPT_BLOCKS];
	pthread_mutex_unlock(&kept->lock);
	return ret->block == block + 1;
}

static int search_block(struct question *q, struct pass *p, struct search *s, size_t block)
{
	struct slow_store *kept = q->server->slow;
	struct kept_block known = {.block = block + 1};
	struct search own = {.calls = known.calls, .max = PER_BLOCK, .block = block};
	int r = 0;

	s->block = block;
	if (s->max > PER_BLOCK || !is_common(q, p->pass_filter, block)) {
		p->arg = p->states[0] = s;
		return pass_run(p);
	}
	if (!slowest_find_kept(kept, block, &known)) {
		known = (struct kept_block){.block = block + 1};
		p->arg = p->states[0] = &own;
		r = pass_run(p);
		if (r < 0)
			return r;
		known.count = own.count;
		pthread_mutex_lock(&kept->lock);
		kept->blocks[block % KEPT_BLOCKS] = known;
		pthread_mutex_unlock(&kept->lock);
	}
	for (size_t i = 0; i < known.count; i++)
		slowest_offer(s, &known.calls[i]);
	return r;
}

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
		.wants = is_wanted,
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
		r = search_block(q, &p, s, blocks[i].block);
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
