// SPDX-License-Identifier: Apache-2.0
#include "server/sums/access_map.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"
#include "query/expr.h"
#include "schema/ops.h"
#include "server/sums/catalog.h"
#include "server/sums/who.h"
#include "server/sums/sums.h"

#define SPREAD 16u

struct access_map_store {
	pthread_mutex_t lock;
	pthread_cond_t given_back;
	struct access_map
		*kept[ACCESS_MAP_FILES_MAX]; /* most recently used first; NULL after the last */
};

/* ---- selecting calls ---- */

#define VERSIONS_MAX 256u

/* Lists the ids of the file's versions, ascending; 0: there are too many. */
static size_t access_map_list_versions(const struct server *s, int64_t file,
				       int64_t ids[static VERSIONS_MAX])
{
	struct file_lines_walk w = {0};
	int64_t id, one;
	size_t n = 0;

	ids[n++] = file;
	while (names_next_other(s, &w, &id, &one)) {
		if (id == file || one != file)
			continue;
		if (n == VERSIONS_MAX)
			return 0;
		ids[n++] = id;
	}
	return n;
}

/* The condition for a file with too many versions: those of the generation, and other ids merged with it. */
static int put_many(const struct question *q, int64_t file, struct buf *to)
{
	const struct dims *d = store_dims(q->server->store);
	struct file_lines_walk w = {0};
	int64_t id, one;

	buf_printf(to, "(id(file) == %" PRId64, query_entity_id(TABLE_FILE, d, file));
	while (names_next_other(q->server, &w, &id, &one)) {
		if (one == file && names_inode(d, id) != file)
			buf_printf(to, " || file_id == %" PRId64, id);
	}
	return buf_status(to);
}

/* A list of ids is cheaper than id(file), which is evaluated for each file of the trace. */
static int put_condition(const struct question *q, int64_t file, const int64_t *ids, size_t count,
			 struct buf *to)
{
	if (count)
		buf_printf(to, "file_id in (%" PRId64, ids[0]);
	else
		put_many(q, file, to);
	for (size_t i = 1; i < count; i++)
		buf_printf(to, ", %" PRId64, ids[i]);
	buf_printf(to, ")");
	if (q->filter)
		buf_printf(to, " && (%s)", q->filter);
	return buf_status(to);
}

int access_map_filter(struct question *q, int64_t file, struct sums_filter *ret)
{
	_cleanup_buf_ struct buf text = {0};
	int64_t ids[VERSIONS_MAX];
	size_t count;
	int r = question_filter_check(
		q, q->filter); /* checked alone first, so that error positions refer to its text */

	if (r >= 0)
		r = names_prepare_files(q->server);
	if (r < 0)
		return r;
	count = access_map_list_versions(q->server, file, ids);
	r = put_condition(q, file, ids, count, &text);
	if (r >= 0)
		r = question_filter(q, buf_str(&text), ret);
	return r < 0 || !count ? r : sums_filter_name_files(ret, ids, count);
}

/* ---- one worker ---- */

static void access_map_free(struct access_map *t)
{
	if (!t)
		return;
	free(t->order);
	access_list_free(&t->calls);
	access_list_free(&t->open);
	free(t->filter);
	free(t);
}
DEFINE_CLEANUP(struct access_map *, access_map_free)

static int access_map_new(struct access_map **ret)
{
	struct access_map *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->first = t->pos_first = INT64_MAX;
	t->last = t->last_end = t->pos_last = INT64_MIN;
	*ret = t;
	return 0;
}

static bool is_write(uint32_t op, bool second)
{
	enum op_copy copy = op_copy(op);

	if (second || copy != OP_COPY_NONE)
		return copy == (second ? OP_COPY_TO_SECOND : OP_COPY_TO_FIRST);
	return op_way(op) == OP_WAY_OUT;
}

static void access_map_limit(struct access_map *t)
{
	t->too_many |= t->calls.packed.len + t->open.packed.len > ACCESS_MAP_FILE_MAX;
	if (t->too_many) {
		access_list_free(&t->calls);
		access_list_free(&t->open);
	}
}

static int access_map_add_touch(void *arg, const struct touch *touch)
{
	struct access_map *t = arg;
	int r;

	t->pos_first = MIN(t->pos_first, touch->pos);
	t->pos_last = MAX(t->pos_last, touch->pos + (int64_t)touch->bytes);
	if (t->too_many)
		return 0;
	r = access_list_add(touch->open ? &t->open : &t->calls, touch);
	access_map_limit(t);
	return r;
}

/* In agreement with sums/order.h, which decides which calls are in a range. */
static bool access_map_is_open(const struct batch *b, size_t row)
{
	int64_t end;

	return batch_get(b, OP_STATUS, row, 0) & STATUS_UNFINISHED ||
	       batch_is_null(b, OP_DUR, row) || batch_is_null(b, OP_START, row) ||
	       __builtin_add_overflow(batch_get(b, OP_START, row, 0), batch_get(b, OP_DUR, row, 0),
				      &end);
}

/*
 * Excludes other calls with positions: lseek's target, fcntl's locks (SQLite locks at 1 GiB), fallocate's
 * reservations.
 */
static bool access_map_moves_bytes(int64_t op)
{
	const struct op_def *def = op_def((uint32_t)op);

	return def && def->ret == RET_BYTES;
}

uint64_t access_map_columns(void)
{
	return 1ull << OP_START | 1ull << OP_DUR | 1ull << OP_STATUS | 1ull << OP_POS |
	       1ull << OP_BYTES | 1ull << OP_OP;
}

int access_map_rows(const struct walk_rows *rows, int (*take)(void *arg, const struct touch *t),
		    void *arg)
{
	const struct batch *b = rows->batch;
	int r = 0;

	for (size_t k = 0; k < rows->count && r >= 0; k++) {
		size_t i = rows->rows[k];
		int64_t pos = batch_get(b, OP_POS, i, -1), op = batch_get(b, OP_OP, i, -1);
		int64_t bytes = batch_get(b, OP_BYTES, i, 0), last;

		if (pos < 0 || !access_map_moves_bytes(op))
			continue;
		bytes = MAX(bytes, (int64_t)0);
		if (!__builtin_add_overflow(pos, bytes, &last))
			r = take(arg, &(struct touch){.end = rollup_end(b, i),
						      .pos = pos,
						      .bytes = (uint64_t)bytes,
						      .write = is_write((uint32_t)op, rows->second),
						      .open = access_map_is_open(b, i)});
	}
	return r;
}

static int access_map_take(void *state, const struct walk_rows *rows)
{
	struct access_map *t = state;
	const struct batch *b = rows->batch;

	for (size_t k = 0; k < rows->count; k++) {
		size_t i = rows->rows[k];
		int64_t start = batch_get(b, OP_START, i, INT64_MIN), end;

		if (start == INT64_MIN)
			continue;
		end = rollup_end(b, i);
		t->first = MIN(t->first, start);
		t->last = MAX(t->last, end);
		if (!access_map_is_open(b, i))
			t->last_end = MAX(t->last_end, end);
	}
	return access_map_rows(rows, access_map_add_touch, t);
}

/* ---- reading ---- */

static int access_map_merge(struct access_map *a, const struct access_map *b)
{
	int r = 0;

	a->first = MIN(a->first, b->first);
	a->last = MAX(a->last, b->last);
	a->last_end = MAX(a->last_end, b->last_end);
	a->pos_first = MIN(a->pos_first, b->pos_first);
	a->pos_last = MAX(a->pos_last, b->pos_last);
	a->too_many |= b->too_many;
	if (!a->too_many)
		r = access_list_append(&a->calls, &b->calls);
	if (r >= 0 && !a->too_many)
		r = access_list_append(&a->open, &b->open);
	access_map_limit(a);
	return r;
}

/*
 * Lists the new blocks that may name the file: every SPREADth first, so that a partial reading covers the whole
 * range.
 */
static int access_map_list_blocks(const struct sums_ask *ask, struct access_map *t)
{
	size_t count = store_block_count(ask->store);
	int r = 0;

	for (size_t first = 0; first < SPREAD; first++) {
		for (size_t i = t->blocks + first; i < count && r >= 0; i += SPREAD) {
			if (!sums_block_can(ask, i))
				continue;
			r = array_add(t->order, t->order_count, t->order_cap, i);
		}
	}
	t->blocks = count;
	return r;
}

/* Reads the blocks that `t` lacks, as many as time allows. */
static int read_on(struct question *q, const struct sums_filter *filter, int64_t until,
		   struct access_map *t)
{
	struct walk p = {
		.ask = question_ask(q, filter),
		.columns = access_map_columns(),
		.until = until,
		.take = access_map_take,
		.workers = question_workers(q),
	};
	int r;

	p.ask.seconds = true;
	r = access_map_list_blocks(&p.ask, t);
	t->version = q->version;
	p.only = t->order + t->read;
	p.only_count = t->order_count - t->read;
	if (r < 0 || !p.only_count)
		return r;
	for (unsigned int i = 0; i < p.workers && r >= 0; i++)
		r = access_map_new((struct access_map **)&p.states[i]);
	if (r >= 0)
		r = question_walk(q, &p);
	for (unsigned int i = 0; i < p.workers; i++) {
		if (r >= 0)
			r = access_map_merge(t, p.states[i]);
		access_map_free(p.states[i]);
	}
	t->read += p.taken;
	return r;
}

/* ---- cached maps ---- */

static bool access_map_is_same(const struct access_map *t, int64_t file, int64_t from, int64_t to,
			       const char *filter)
{
	return t->file == file && t->from == from && t->to == to &&
	       strcmp(t->filter, filter ? filter : "") == 0;
}

/* The index of the map with the same key, or the first free one; ACCESS_MAP_FILES_MAX: neither. */
static size_t access_map_find(const struct access_map_store *s, int64_t file, int64_t from,
			      int64_t to, const char *filter)
{
	size_t i = 0;

	while (i < ACCESS_MAP_FILES_MAX && s->kept[i] &&
	       !access_map_is_same(s->kept[i], file, from, to, filter))
		i++;
	return i;
}

static struct access_map *get_at(struct access_map_store *s, size_t at)
{
	return at < ACCESS_MAP_FILES_MAX ? s->kept[at] : NULL;
}

static void access_map_drop(struct access_map *t)
{
	if (t && --t->refs == 0)
		access_map_free(t);
}

static void access_map_forget(struct access_map_store *s, size_t at)
{
	access_map_drop(s->kept[at]);
	memmove(&s->kept[at], &s->kept[at + 1],
		(ACCESS_MAP_FILES_MAX - at - 1) * sizeof(struct access_map *));
	s->kept[ACCESS_MAP_FILES_MAX - 1] = NULL;
}

static void move_to_front(struct access_map_store *s, size_t at)
{
	struct access_map *t = s->kept[at];

	memmove(&s->kept[1], &s->kept[0], at * sizeof(struct access_map *));
	s->kept[0] = t;
}

/* Drops the least recently used maps; keeps the newest. */
static void access_map_make_room(struct access_map_store *s)
{
	size_t sum = 0;

	for (size_t i = 0; i < ACCESS_MAP_FILES_MAX && s->kept[i]; i++) {
		sum += s->kept[i]->bytes;
		while (i && s->kept[i] && sum > ACCESS_MAP_BYTES_MAX) {
			sum -= s->kept[i]->bytes;
			access_map_forget(s, i);
			if (s->kept[i])
				sum += s->kept[i]->bytes;
		}
	}
}

static int access_map_make(struct question *q, int64_t file, struct access_map **ret)
{
	_cleanup_(access_map_freep) struct access_map *t = NULL;
	int r = access_map_new(&t);

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

/* A filter may depend on names, which may have changed; calls of a block found damaged since cannot be removed. */
static bool can_go_on(const struct question *q, const struct access_map *t)
{
	return (!q->filter || t->version == q->version) && t->damaged == q->known.blocks;
}

/* A map that was just created has no version yet. */
static bool access_map_is_complete(const struct question *q, const struct access_map *t)
{
	return !t->busy && t->version == q->version && t->read == t->order_count;
}

/*
 * The map of the whole file, if it can answer the question: it cannot for a range that is open only at its beginning,
 * as it does not have the time of that range's first call.
 */
static struct access_map *find_whole(const struct question *q, int64_t file,
				     struct access_map_store *s)
{
	size_t at = access_map_find(s, file, INT64_MIN, INT64_MAX, NULL);
	struct access_map *t = get_at(s, at);

	if (q->filter || !t || !access_map_is_complete(q, t) || t->too_many ||
	    (q->from == INT64_MIN && q->to != INT64_MAX))
		return NULL;
	move_to_front(s, at);
	return t;
}

/* With the lock held, released while waiting: waits for questions that still use a map which must be read further. */
static int wait_readers(struct question *q, int64_t file)
{
	struct access_map_store *s = q->server->access_map;
	struct access_map *t;

	for (;;) {
		struct timespec until;

		t = get_at(s, access_map_find(s, file, q->from, q->to, q->filter));
		if (!t || (!t->busy &&
			   (!can_go_on(q, t) || access_map_is_complete(q, t) || t->refs == 1)))
			return 0;
		if (question_stopped(q))
			return -EINTR;
		clock_after(50 * NSEC_PER_MSEC, &until);
		pthread_cond_timedwait(&s->given_back, &s->lock, &until);
	}
}

/* With the lock held: moves the map to the front, creating it if needed. */
static int find_or_make(struct question *q, int64_t file)
{
	struct access_map_store *s = q->server->access_map;
	size_t at = access_map_find(s, file, q->from, q->to, q->filter);
	struct access_map *t;
	int r;

	if (get_at(s, at) && !can_go_on(q, s->kept[at])) {
		access_map_forget(s, at);
		at = access_map_find(s, file, q->from, q->to, q->filter);
	}
	if (get_at(s, at)) {
		move_to_front(s, at);
		return 0;
	}
	r = access_map_make(q, file, &t);
	if (r < 0)
		return r;
	if (at == ACCESS_MAP_FILES_MAX)
		access_map_forget(s, --at);
	s->kept[at] = t;
	move_to_front(s, at);
	return 0;
}

/*
 * With the lock held, released meanwhile: reads further if the map is incomplete. It is busy, so no other question
 * uses it.
 */
static int bring_up(struct question *q, const struct sums_filter *filter, int64_t until,
		    struct access_map *t)
{
	struct access_map_store *s = q->server->access_map;
	size_t at;
	int r;

	if (access_map_is_complete(q, t))
		return 0;
	assert(t->refs == 2 && !t->busy); /* held by the store and by us */
	t->busy = true;
	pthread_mutex_unlock(&s->lock);
	r = read_on(q, filter, until, t);
	if (r >= 0 && t->read == t->order_count)
		access_list_trim(&t->calls);
	pthread_mutex_lock(&s->lock);
	t->busy = false;
	t->bytes = t->calls.packed.cap;
	pthread_cond_broadcast(&s->given_back);
	for (at = 0; at < ACCESS_MAP_FILES_MAX && s->kept[at] != t; at++)
		;
	if (r < 0 && at < ACCESS_MAP_FILES_MAX)
		access_map_forget(s, at);
	access_map_make_room(s);
	return r;
}

int access_map_get(struct question *q, int64_t file, const struct sums_filter *filter,
		   int64_t until, struct access_map **ret)
{
	struct access_map_store *s = q->server->access_map;
	struct access_map *t;
	int r = 0;

	pthread_mutex_lock(&s->lock); /* never held for long: readers release it while they read */
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
			r = bring_up(q, filter, until, t);
		}
	}
	if (r >= 0)
		*ret = t;
	else
		access_map_drop(t);
	pthread_mutex_unlock(&s->lock);
	return r;
}

void access_map_put(struct question *q, struct access_map *t)
{
	struct access_map_store *s = q->server->access_map;

	pthread_mutex_lock(&s->lock);
	access_map_drop(t);
	pthread_cond_broadcast(&s->given_back);
	pthread_mutex_unlock(&s->lock);
}

int access_map_store_new(struct access_map_store **ret)
{
	struct access_map_store *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	pthread_mutex_init(&s->lock, NULL);
	clock_cond_init(&s->given_back);
	*ret = s;
	return 0;
}

void access_map_store_free(struct access_map_store *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < ACCESS_MAP_FILES_MAX; i++)
		access_map_free(s->kept[i]);
	pthread_cond_destroy(&s->given_back);
	pthread_mutex_destroy(&s->lock);
	free(s);
}
