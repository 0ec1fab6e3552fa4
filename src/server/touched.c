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

struct touched_store {
	pthread_mutex_t lock;
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
	rollup_free(t->rollup);
	free(t->touches);
	free(t->filter);
	free(t);
}
DEFINE_CLEANUP(struct touched *, touched_free)

static int touched_new(struct touched **ret)
{
	_cleanup_(touched_freep) struct touched *t = calloc(1, sizeof(*t));
	int r = t ? rollup_new(&t->rollup, ROLLUP_OP | ROLLUP_CLASS | ROLLUP_THREAD) : -ENOMEM;

	if (r < 0)
		return r;
	t->first = t->pos_first = INT64_MAX;
	t->last = t->pos_last = INT64_MIN;
	*ret = TAKE_PTR(t);
	return 0;
}

static bool is_write(int64_t op)
{
	static const char *const words[] = {"write",	"pwrite64", "writev",	 "pwritev",
					    "pwritev2", "sendfile", "fallocate", "ftruncate"};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (op == op_find(words[i]))
			return true;
	}
	return false;
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
	int64_t op_known = -1;
	bool write = false;
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++) {
		size_t i = rows->rows[k];
		int64_t pos = batch_get(b, OP_POS, i, -1), op = batch_get(b, OP_OP, i, -1);
		int64_t bytes = batch_get(b, OP_BYTES, i, 0), last;

		if (pos < 0)
			continue;
		bytes = MAX(bytes, (int64_t)0);
		if (op != op_known)
			write = is_write(op);
		op_known = op;
		if (!__builtin_add_overflow(pos, bytes, &last))
			r = take(arg,
				 &(struct touch){rollup_end(b, i), pos, (uint64_t)bytes, write});
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
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++) {
		const struct batch *b = rows->batch;
		size_t i = rows->rows[k];
		int64_t start = batch_get(b, OP_START, i, INT64_MIN), end = rollup_end(b, i);

		r = rollup_add_op(t->rollup, b, i);
		if (start == INT64_MIN)
			continue;
		t->first = MIN(t->first, start);
		t->last = MAX(t->last, end);
	}
	return r < 0 ? r : touched_rows(rows, take_touch, t);
}

/* ---- all of it ---- */

static int merge(struct touched *a, const struct touched *b)
{
	int r = rollup_merge(a->rollup, b->rollup);

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

static bool is_new(void *arg, const struct store_block *b, size_t block)
{
	return block >= *(const size_t *)arg;
}

/* Reads the blocks that `t` has not seen. */
static int read_on(struct question *q, const struct sieve *sieve, struct touched *t)
{
	struct pass p = {
		.q = q,
		.sieve = sieve,
		.from = q->from,
		.to = q->to,
		.columns = sums_columns() | 1ull << OP_POS | 1ull << OP_BYTES,
		.wants = is_new,
		.arg = &t->blocks,
		.take = take,
		.workers = pass_workers(q),
	};
	int r = 0;

	for (unsigned int i = 0; i < p.workers && r >= 0; i++)
		r = touched_new((struct touched **)&p.states[i]);
	if (r >= 0)
		r = pass_run(&p);
	for (unsigned int i = 0; i < p.workers; i++) {
		if (r >= 0)
			r = merge(t, p.states[i]);
		touched_free(p.states[i]);
	}
	t->blocks = store_block_count(q->server->store);
	t->generation = q->server->generation;
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

static int make(struct question *q, int64_t file, const struct sieve *sieve, struct touched **ret)
{
	_cleanup_(touched_freep) struct touched *t = NULL;
	int r = touched_new(&t);

	if (r < 0)
		return r;
	t->refs = 1;
	t->file = file;
	t->from = q->from;
	t->to = q->to;
	t->filter = strdup(q->filter ? q->filter : "");
	r = t->filter ? read_on(q, sieve, t) : -ENOMEM;
	if (r >= 0)
		*ret = TAKE_PTR(t);
	return r;
}

static void drop(struct touched *t)
{
	if (t && --t->refs == 0)
		touched_free(t);
}

int touched_get(struct question *q, int64_t file, const struct sieve *sieve, struct touched **ret)
{
	struct touched_store *s = q->server->touched;
	struct touched *t;
	int r = lock(q, s);

	if (r < 0)
		return r;
	t = s->last;
	/* a filter may read names, which may be others by now; who has it still reads it */
	if (is_same(q, file, t) && t->generation != q->server->generation && !q->filter &&
	    t->refs == 1) {
		r = read_on(q, sieve, t);
		if (r < 0) {
			drop(t);
			s->last = NULL;
		}
	}
	if (r >= 0 && (!is_same(q, file, s->last) || t->generation != q->server->generation)) {
		r = make(q, file, sieve, &t);
		if (r >= 0) {
			drop(s->last);
			s->last = t;
		}
	}
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
	pthread_mutex_unlock(&s->lock);
}

int touched_store_new(struct touched_store **ret)
{
	struct touched_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	*ret = s;
	return 0;
}

void touched_store_free(struct touched_store *s)
{
	if (!s)
		return;
	touched_free(s->last);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
