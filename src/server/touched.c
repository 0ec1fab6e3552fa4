// SPDX-License-Identifier: Apache-2.0
#include "server/touched.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "query/expr.h"
#include "schema/ops.h"
#include "server/catalog.h"
#include "server/names.h"
#include "server/sums.h"

#define SPREAD 16u

struct touched_store {
	pthread_mutex_t lock;
	pthread_cond_t given_back;
	struct touched *kept[TOUCHED_FILES_MAX]; /* that asked for last first; NULL behind them */
};

/* ---- which calls ---- */

#define VERSIONS_MAX 256u

/* The ids of the file, ascending; 0: they are too many. */
static size_t list_versions(const struct server *s, int64_t file, int64_t ids[static VERSIONS_MAX])
{
	const struct dims *d = store_dims(s->store);
	struct catalog_walk w = {0};
	int64_t id, ignored;
	size_t n = 0;

	ids[n++] = file;
	while (names_next_other(s, &w, &id, &ignored)) {
		if (id == file || names_inode(d, id) != file)
			continue;
		if (n == VERSIONS_MAX)
			return 0;
		ids[n++] = id;
	}
	return n;
}

/* Numbers need nothing worked out for each file of the trace, as "the file" does. */
static int put_condition(const struct question *q, int64_t file, const int64_t *ids, size_t count,
			 struct buf *to)
{
	const struct dims *d = store_dims(q->server->store);
	int r = count ? buf_printf(to, "file_id in (%" PRId64, ids[0])
		      : buf_printf(to, "id(file) == %" PRId64,
				   query_entity_id(TABLE_FILE, d, file));

	for (size_t i = 1; i < count && r >= 0; i++)
		r = buf_printf(to, ", %" PRId64, ids[i]);
	if (r >= 0 && count)
		r = buf_printf(to, ")");
	if (r >= 0 && q->filter)
		r = buf_printf(to, " && (%s)", q->filter);
	return r;
}

int touched_sieve(struct question *q, int64_t file, struct sieve *ret)
{
	_cleanup_buf_ struct buf text = {0};
	int64_t ids[VERSIONS_MAX];
	size_t count;
	int r = sieve_check(q, q->filter); /* by itself first, for the places of errors */

	if (r >= 0)
		r = names_prepare(q->server);
	if (r < 0)
		return r;
	count = list_versions(q->server, file, ids);
	r = put_condition(q, file, ids, count, &text);
	if (r >= 0)
		r = sieve_make(q, buf_str(&text), ret);
	return r < 0 || !count ? r : sieve_name_files(ret, ids, count);
}

/* ---- one worker ---- */

void touched_free(struct touched *t)
{
	if (!t)
		return;
	free(t->order);
	touches_free(&t->calls);
	touches_free(&t->open);
	free(t->filter);
	free(t);
}

int touched_new(struct touched **ret)
{
	struct touched *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->first = t->pos_first = INT64_MAX;
	t->last = t->last_end = t->pos_last = INT64_MIN;
	*ret = t;
	return 0;
}

#define WRITES_MAX 7u

/* Which operations write to the file; those that it has no word for are -1. */
struct writes {
	int64_t ops[WRITES_MAX];
};

static void writes_find(struct writes *ret)
{
	static const char *const words[WRITES_MAX] = {
		"write", "pwrite64", "writev", "pwritev", "pwritev2", "fallocate", "ftruncate"};

	for (size_t i = 0; i < WRITES_MAX; i++)
		ret->ops[i] = op_find(words[i]);
}

static bool is_write(const struct writes *w, int64_t op, bool second)
{
	bool found = false;

	if (second || op_copy((uint32_t)op) != OP_COPY_NONE)
		return op_copy((uint32_t)op) == (second ? OP_COPY_TO_SECOND : OP_COPY_TO_FIRST);

	for (size_t i = 0; i < WRITES_MAX; i++)
		found |= op == w->ops[i];
	return found && op >= 0;
}

static void limit(struct touched *t)
{
	t->too_many |= t->calls.packed.len + t->open.packed.len > TOUCHED_FILE_MAX;
	if (t->too_many) {
		touches_free(&t->calls);
		touches_free(&t->open);
	}
}

static int add(void *arg, const struct touch *touch)
{
	struct touched *t = arg;
	int r;

	t->pos_first = MIN(t->pos_first, touch->pos);
	t->pos_last = MAX(t->pos_last, touch->pos + (int64_t)touch->bytes);
	if (t->too_many)
		return 0;
	r = touches_add(touch->open ? &t->open : &t->calls, touch);
	limit(t);
	return r;
}

/* As engine/order.h tells which calls are in a range. */
static bool is_open(const struct batch *b, size_t row)
{
	int64_t end;

	return batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED ||
	       batch_is_null(b, OP_DUR, row) || batch_is_null(b, OP_START, row) ||
	       __builtin_add_overflow(batch_get(b, OP_START, row, 0), batch_get(b, OP_DUR, row, 0),
				      &end);
}

uint64_t touched_columns(void)
{
	return 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_STATUS | 1ull << OP_POS |
	       1ull << OP_BYTES | 1ull << OP_OP;
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
			r = take(arg, &(struct touch){.end = rollup_end(b, i),
						      .pos = pos,
						      .bytes = (uint64_t)bytes,
						      .write = is_write(&writes, op, rows->second),
						      .open = is_open(b, i)});
	}
	return r;
}

int touched_add(struct touched *t, const struct pass_rows *rows)
{
	const struct batch *b = rows->batch;

	for (size_t k = 0; k < rows->count; k++) {
		size_t i = rows->rows[k];
		int64_t start = batch_get(b, OP_START, i, INT64_MIN), end;

		if (start == INT64_MIN)
			continue;
		end = rollup_end(b, i);
		t->first = MIN(t->first, start);
		t->last = MAX(t->last, end);
		if (!is_open(b, i))
			t->last_end = MAX(t->last_end, end);
	}
	return touched_rows(rows, add, t);
}

static int take(void *state, const struct pass_rows *rows)
{
	return touched_add(state, rows);
}

/* ---- all of it ---- */

int touched_merge(struct touched *a, const struct touched *b)
{
	int r = 0;

	a->first = MIN(a->first, b->first);
	a->last = MAX(a->last, b->last);
	a->last_end = MAX(a->last_end, b->last_end);
	a->pos_first = MIN(a->pos_first, b->pos_first);
	a->pos_last = MAX(a->pos_last, b->pos_last);
	a->too_many |= b->too_many;
	if (!a->too_many)
		r = touches_append(&a->calls, &b->calls);
	if (r >= 0 && !a->too_many)
		r = touches_append(&a->open, &b->open);
	limit(a);
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
		.columns = touched_columns(),
		.seconds = true,
		.until = until,
		.take = take,
		.workers = pass_workers(q),
	};
	int r = list_blocks(q, sieve, t);

	t->version = q->version;
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
			r = touched_merge(t, p.states[i]);
		touched_free(p.states[i]);
	}
	t->read += p.taken;
	return r;
}

/* ---- what is kept ---- */

static bool is_same(const struct touched *t, int64_t file, int64_t from, int64_t to,
		    const char *filter)
{
	return t->file == file && t->from == from && t->to == to &&
	       strcmp(t->filter, filter ? filter : "") == 0;
}

/* The place of what is the same, or the first free one; TOUCHED_FILES_MAX: there is neither. */
static size_t find(const struct touched_store *s, int64_t file, int64_t from, int64_t to,
		   const char *filter)
{
	size_t i = 0;

	while (i < TOUCHED_FILES_MAX && s->kept[i] && !is_same(s->kept[i], file, from, to, filter))
		i++;
	return i;
}

static struct touched *get_at(struct touched_store *s, size_t at)
{
	return at < TOUCHED_FILES_MAX ? s->kept[at] : NULL;
}

static void drop(struct touched *t)
{
	if (t && --t->refs == 0)
		touched_free(t);
}

static void forget(struct touched_store *s, size_t at)
{
	drop(s->kept[at]);
	memmove(&s->kept[at], &s->kept[at + 1],
		(TOUCHED_FILES_MAX - at - 1) * sizeof(struct touched *));
	s->kept[TOUCHED_FILES_MAX - 1] = NULL;
}

static void move_to_front(struct touched_store *s, size_t at)
{
	struct touched *t = s->kept[at];

	memmove(&s->kept[1], &s->kept[0], at * sizeof(struct touched *));
	s->kept[0] = t;
}

/* Those that were not asked for longest go first; the newest stays. */
static void make_room(struct touched_store *s)
{
	size_t sum = 0;

	for (size_t i = 0; i < TOUCHED_FILES_MAX && s->kept[i]; i++) {
		sum += s->kept[i]->bytes;
		while (i && s->kept[i] && sum > TOUCHED_BYTES_MAX) {
			sum -= s->kept[i]->bytes;
			forget(s, i);
			if (s->kept[i])
				sum += s->kept[i]->bytes;
		}
	}
}

void touched_keep(struct touched_store *s, struct touched *t)
{
	size_t at, sum = t->calls.packed.cap;

	t->refs = 1;
	t->bytes = t->calls.packed.cap;
	pthread_mutex_lock(&s->lock);
	at = find(s, t->file, t->from, t->to, t->filter);
	for (size_t i = 0; i < TOUCHED_FILES_MAX && s->kept[i]; i++)
		sum += s->kept[i]->bytes;
	/* what was asked for is worth more than what may be */
	if (at == TOUCHED_FILES_MAX || s->kept[at] || sum > TOUCHED_BYTES_MAX)
		drop(t);
	else
		s->kept[at] = t;
	pthread_mutex_unlock(&s->lock);
}

/* Never for long: who reads has let it go. */
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
	t->damaged = q->known.blocks;
	t->file = file;
	t->from = q->from;
	t->to = q->to;
	t->filter = strdup(q->filter ? q->filter : "");
	if (!t->filter)
		return -ENOMEM;
	*ret = TAKE_PTR(t);
	return 0;
}

/* A filter may read names, which may be others by now; calls of a block that is damaged by now are not taken out again. */
static bool can_go_on(const struct question *q, const struct touched *t)
{
	return (!q->filter || t->version == q->version) && t->damaged == q->known.blocks;
}

/* What was only just made is of no version yet. */
static bool is_complete(const struct question *q, const struct touched *t)
{
	return !t->busy && t->version == q->version && t->read == t->order_count;
}

/*
 * What is known of the whole of the file, where that tells what is asked: all but when the first call of a range began
 * that is open on that side alone.
 */
static struct touched *find_whole(const struct question *q, int64_t file, struct touched_store *s)
{
	size_t at = find(s, file, INT64_MIN, INT64_MAX, NULL);
	struct touched *t = get_at(s, at);

	if (q->filter || !t || !is_complete(q, t) || t->too_many ||
	    (q->from == INT64_MIN && q->to != INT64_MAX))
		return NULL;
	move_to_front(s, at);
	return t;
}

/* With the lock, let go meanwhile: who has what is to be read on still looks at it. */
static int wait_readers(struct question *q, int64_t file)
{
	struct touched_store *s = q->server->touched;
	struct touched *t;

	for (;;) {
		struct timespec until;

		t = get_at(s, find(s, file, q->from, q->to, q->filter));
		if (!t || (!t->busy && (!can_go_on(q, t) || is_complete(q, t) || t->refs == 1)))
			return 0;
		if (question_stopped(q))
			return -EINTR;
		clock_after(50 * NSEC_PER_MSEC, &until);
		pthread_cond_timedwait(&s->given_back, &s->lock, &until);
	}
}

/* With the lock: what is known by now comes to the front, made where nothing is. */
static int find_or_make(struct question *q, int64_t file)
{
	struct touched_store *s = q->server->touched;
	size_t at = find(s, file, q->from, q->to, q->filter);
	struct touched *t;
	int r;

	if (get_at(s, at) && !can_go_on(q, s->kept[at])) {
		forget(s, at);
		at = find(s, file, q->from, q->to, q->filter);
	}
	if (get_at(s, at)) {
		move_to_front(s, at);
		return 0;
	}
	r = make(q, file, &t);
	if (r < 0)
		return r;
	if (at == TOUCHED_FILES_MAX)
		forget(s, --at);
	s->kept[at] = t;
	move_to_front(s, at);
	return 0;
}

/* With the lock, let go meanwhile: reads on, where it is not complete. Nobody else looks at it, for it is busy. */
static int bring_up(struct question *q, const struct sieve *sieve, int64_t until, struct touched *t)
{
	struct touched_store *s = q->server->touched;
	size_t at;
	int r;

	if (is_complete(q, t))
		return 0;
	assert(t->refs == 2 && !t->busy); /* the store's and ours */
	t->busy = true;
	pthread_mutex_unlock(&s->lock);
	r = read_on(q, sieve, until, t);
	if (r >= 0 && t->read == t->order_count)
		touches_trim(&t->calls);
	pthread_mutex_lock(&s->lock);
	t->busy = false;
	t->bytes = t->calls.packed.cap;
	pthread_cond_broadcast(&s->given_back);
	for (at = 0; at < TOUCHED_FILES_MAX && s->kept[at] != t; at++)
		;
	if (r < 0 && at < TOUCHED_FILES_MAX)
		forget(s, at);
	make_room(s);
	return r;
}

int touched_get(struct question *q, int64_t file, const struct sieve *sieve, int64_t until,
		struct touched **ret)
{
	struct touched_store *s = q->server->touched;
	struct touched *t;
	int r = lock(q, s);

	if (r < 0)
		return r;
	t = find_whole(q, file, s);
	if (t) {
		t->refs++;
	} else {
		r = wait_readers(q, file);
		if (r >= 0)
			r = find_or_make(q, file);
		if (r >= 0) {
			t = s->kept[0];
			t->refs++;
			r = bring_up(q, sieve, until, t);
		}
	}
	if (r >= 0)
		*ret = t;
	else
		drop(t);
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

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	clock_cond_init(&s->given_back);
	*ret = s;
	return 0;
}

void touched_store_free(struct touched_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < TOUCHED_FILES_MAX; i++)
		touched_free(s->kept[i]);
	pthread_cond_destroy(&s->given_back);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
