// SPDX-License-Identifier: Apache-2.0
#include "server/touched.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "query/expr.h"
#include "schema/ops.h"
#include "server/names.h"
#include "server/sums.h"

#define SPREAD 16u

struct touched_store {
	pthread_mutex_t lock;
	pthread_cond_t given_back;
	struct touched *last;
};

/* As text, so that blocks without the file are skipped. */
int touched_sieve(struct question *q, int64_t file, struct sieve *ret)
{
	const struct dims *d = store_dims(q->server->store);
	_cleanup_sieve_ struct sieve given = {0};
	_cleanup_buf_ struct buf text = {0};
	int r = sieve_make(q, q->filter, &given); /* by itself first, for the places of errors */

	if (r >= 0)
		r = buf_printf(&text, "id(file) == %" PRId64, query_entity_id(TABLE_FILE, d, file));
	if (r >= 0 && q->filter)
		r = buf_printf(&text, " && (%s)", q->filter);
	return r < 0 ? r : sieve_make(q, buf_str(&text), ret);
}

/* ---- one worker ---- */

static void touched_free(struct touched *t)
{
	if (!t)
		return;
	free(t->order);
	free(t->touches);
	free(t->filter);
	free(t);
}
DEFINE_CLEANUP(struct touched *, touched_free)

static int touched_new(struct touched **ret)
{
	_cleanup_(touched_freep) struct touched *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->first = t->pos_first = INT64_MAX;
	t->last = t->pos_last = INT64_MIN;
	*ret = TAKE_PTR(t);
	return 0;
}

#define WRITES_MAX 8u

/* Which operations write to the file; those that it has no word for are -1. */
struct writes {
	int64_t ops[WRITES_MAX];
};

static void writes_find(struct writes *ret)
{
	static const char *const words[WRITES_MAX] = {"write",	   "pwrite64", "writev",
						      "pwritev",   "pwritev2", "sendfile",
						      "fallocate", "ftruncate"};

	for (size_t i = 0; i < WRITES_MAX; i++)
		ret->ops[i] = op_find(words[i]);
}

static bool is_write(const struct writes *w, int64_t op)
{
	bool found = false;

	for (size_t i = 0; i < WRITES_MAX; i++)
		found |= op == w->ops[i];
	return found && op >= 0;
}

static int keep(struct touched *t, const struct touch *touch)
{
	int r;

	if (t->too_many)
		return 0;
	t->too_many = t->count >= TOUCHES_MAX;
	if (t->too_many) {
		free(t->touches);
		t->touches = NULL;
		t->count = t->cap = 0;
		return 0;
	}
	r = grow((void **)&t->touches, &t->cap, t->count + 1, sizeof(*t->touches));
	if (r >= 0)
		t->touches[t->count++] = *touch;
	return r;
}

int touched_rows(const struct pass_rows *rows, int (*take)(void *arg, const struct touch *t),
		 void *arg)
{
	const struct batch *b = rows->batch;
	struct writes writes;
	int r = 0;

	writes_find(&writes);
	for (size_t k = 0; k < rows->count && r >= 0; k++) {
		size_t i = rows->rows[k];
		int64_t pos = batch_get(b, OP_POS, i, -1), op = batch_get(b, OP_OP, i, -1);
		int64_t bytes = batch_get(b, OP_BYTES, i, 0), last;

		if (pos < 0)
			continue;
		bytes = MAX(bytes, (int64_t)0);
		if (!__builtin_add_overflow(pos, bytes, &last))
			r = take(arg, &(struct touch){rollup_end(b, i), pos, (uint64_t)bytes,
						      is_write(&writes, op)});
	}
	return r;
}

static int take_touch(void *arg, const struct touch *touch)
{
	struct touched *t = arg;

	t->pos_first = MIN(t->pos_first, touch->pos);
	t->pos_last = MAX(t->pos_last, touch->pos + (int64_t)touch->bytes);
	return keep(t, touch);
}

static int take(void *state, const struct pass_rows *rows)
{
	struct touched *t = state;

	for (size_t k = 0; k < rows->count; k++) {
		const struct batch *b = rows->batch;
		size_t i = rows->rows[k];
		int64_t start = batch_get(b, OP_START, i, INT64_MIN);

		if (start == INT64_MIN)
			continue;
		t->first = MIN(t->first, start);
		t->last = MAX(t->last, rollup_end(b, i));
	}
	return touched_rows(rows, take_touch, t);
}

/* ---- all of it ---- */

static int merge(struct touched *a, const struct touched *b)
{
	int r = 0;

	a->first = MIN(a->first, b->first);
	a->last = MAX(a->last, b->last);
	a->pos_first = MIN(a->pos_first, b->pos_first);
	a->pos_last = MAX(a->pos_last, b->pos_last);
	for (size_t i = 0; i < b->count && r >= 0; i++)
		r = keep(a, &b->touches[i]);
	if (b->too_many && !a->too_many) {
		free(a->touches);
		a->touches = NULL;
		a->count = a->cap = 0;
		a->too_many = true;
	}
	return r;
}

/* Which of the blocks that came may name the file: every SPREADth first, so that a part shows all of the range. */
static int list_blocks(struct question *q, const struct sieve *sieve, struct touched *t)
{
	const struct store *s = q->server->store;
	size_t count = store_block_count(s);
	int r = 0;

	for (size_t first = 0; first < SPREAD; first++) {
		for (size_t i = t->blocks + first; i < count && r >= 0; i += SPREAD) {
			if (!pass_block_can(q, sieve, q->from, q->to, i))
				continue;
			r = grow((void **)&t->order, &t->order_cap, t->order_count + 1,
				 sizeof(*t->order));
			if (r >= 0)
				t->order[t->order_count++] = i;
		}
	}
	t->blocks = count;
	return r;
}

/* Reads the blocks that `t` has not seen, as many as there is time for. */
static int read_on(struct question *q, const struct sieve *sieve, int64_t until, struct touched *t)
{
	struct pass p = {
		.q = q,
		.sieve = sieve,
		.from = q->from,
		.to = q->to,
		.columns = 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_OP | 1ull << OP_POS |
			   1ull << OP_BYTES,
		.until = until,
		.take = take,
		.workers = pass_workers(q),
	};
	int r = list_blocks(q, sieve, t);

	t->generation = q->server->generation;
	p.only = t->order + t->read;
	p.only_count = t->order_count - t->read;
	if (r < 0 || !p.only_count)
		return r;
	for (unsigned int i = 0; i < p.workers && r >= 0; i++)
		r = touched_new((struct touched **)&p.states[i]);
	if (r >= 0)
		r = pass_run(&p);
	for (unsigned int i = 0; i < p.workers; i++) {
		if (r >= 0)
			r = merge(t, p.states[i]);
		touched_free(p.states[i]);
	}
	t->read += p.taken;
	return r;
}

static bool is_same(const struct question *q, int64_t file, const struct touched *t)
{
	return t && t->file == file && t->from == q->from && t->to == q->to &&
	       strcmp(t->filter, q->filter ? q->filter : "") == 0;
}

/* Waits its turn: two questions about one file come together, and the second finds what the first made. */
static int lock(struct question *q, struct touched_store *s)
{
	for (;;) {
		struct timespec until;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += 50 * NSEC_PER_MSEC;
		until.tv_sec += until.tv_nsec / NSEC_PER_SEC;
		until.tv_nsec %= NSEC_PER_SEC;
		if (pthread_mutex_timedlock(&s->lock, &until) == 0)
			return 0;
		if (question_stopped(q))
			return -EINTR;
	}
}

static int make(struct question *q, int64_t file, struct touched **ret)
{
	_cleanup_(touched_freep) struct touched *t = NULL;
	int r = touched_new(&t);

	if (r < 0)
		return r;
	t->refs = 1;
	t->file = file;
	t->from = q->from;
	t->to = q->to;
	t->generation = q->server->generation;
	t->filter = strdup(q->filter ? q->filter : "");
	if (!t->filter)
		return -ENOMEM;
	*ret = TAKE_PTR(t);
	return 0;
}

static void drop(struct touched *t)
{
	if (t && --t->refs == 0)
		touched_free(t);
}

/* A filter may read names, which may be others by now. */
static bool can_go_on(const struct question *q, const struct touched *t)
{
	return !q->filter || t->generation == q->server->generation;
}

static bool is_complete(const struct question *q, const struct touched *t)
{
	return t->generation == q->server->generation && t->read == t->order_count;
}

/* With the lock, let go meanwhile: who has what is to be read on still looks at it. */
static int wait_readers(struct question *q, int64_t file)
{
	struct touched_store *s = q->server->touched;

	while (is_same(q, file, s->last) && can_go_on(q, s->last) && !is_complete(q, s->last) &&
	       s->last->refs > 1) {
		struct timespec until;

		if (question_stopped(q))
			return -EINTR;
		clock_after(50 * NSEC_PER_MSEC, &until);
		pthread_cond_timedwait(&s->given_back, &s->lock, &until);
	}
	return 0;
}

/* With the lock: what is known by now, read on. */
static int bring_up(struct question *q, int64_t file, const struct sieve *sieve, int64_t until)
{
	struct touched_store *s = q->server->touched;
	struct touched *t = NULL;
	bool known = is_same(q, file, s->last) && can_go_on(q, s->last);
	int r = 0;

	if (known && is_complete(q, s->last))
		return 0;
	if (!known)
		r = make(q, file, &t);
	assert(!known || s->last->refs == 1);
	if (t) {
		drop(s->last);
		s->last = t;
	}
	if (r >= 0)
		r = read_on(q, sieve, until, s->last);
	if (r < 0 && s->last) {
		drop(s->last);
		s->last = NULL;
	}
	return r;
}

int touched_get(struct question *q, int64_t file, const struct sieve *sieve, int64_t until,
		struct touched **ret)
{
	struct touched_store *s = q->server->touched;
	int r = lock(q, s);

	if (r < 0)
		return r;
	r = wait_readers(q, file);
	if (r >= 0)
		r = bring_up(q, file, sieve, until);
	if (r >= 0) {
		s->last->refs++;
		*ret = s->last;
	}
	pthread_mutex_unlock(&s->lock);
	return r;
}

void touched_put(struct question *q, struct touched *t)
{
	struct touched_store *s = q->server->touched;

	pthread_mutex_lock(&s->lock);
	drop(t);
	pthread_cond_broadcast(&s->given_back);
	pthread_mutex_unlock(&s->lock);
}

int touched_store_new(struct touched_store **ret)
{
	struct touched_store *s = calloc(1, sizeof(*s));
	pthread_condattr_t attr;

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&s->given_back, &attr);
	pthread_condattr_destroy(&attr);
	*ret = s;
	return 0;
}

void touched_store_free(struct touched_store *s)
{
	if (!s)
		return;
	touched_free(s->last);
	pthread_cond_destroy(&s->given_back);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
