// SPDX-License-Identifier: Apache-2.0
#include "server/sums/index.h"

#include <errno.h>

#include "base/clock.h"
#include "base/map.h"

#define TRACES_MAX 256u

/* Blocks of one trace that become one segment. */
struct group {
	struct segment_source sources[SEGMENT_BLOCKS];
	unsigned int count;	 /* of sources */
	struct segment *segment; /* NULL: not yet */
	bool queued, busy, failed;
};

struct index {
	const struct store *store;
	pthread_rwlock_t *store_lock;

	pthread_mutex_t lock; /* of all below */
	pthread_cond_t work, done;
	bool stopping, settled; /* settled: what was there at the start is done */
	size_t known;		/* blocks of the store that were looked at */
	struct group **groups;
	size_t group_count, group_cap;
	size_t filling[TRACES_MAX]; /* group + 1 of the trace that takes more; 0: none */
	size_t *queue;		    /* of groups */
	size_t queue_count, queue_cap;
	unsigned int busy;
	uint64_t bytes;
	struct index_view *view; /* NULL: something changed since */

	pthread_t threads[INDEX_THREADS_MAX];
	unsigned int thread_count;
};

/* ---- views ---- */

void index_view_free(struct index_view *v)
{
	if (!v || atomic_fetch_sub(&v->refs, 1) > 1)
		return;
	for (size_t i = 0; i < v->count; i++)
		segment_unref(v->segments[i]);
	free(v);
}

/* With the lock held. */
static struct index_view *make_view(const struct index *x)
{
	struct index_view *v = malloc(sizeof(*v) + x->group_count * sizeof(struct segment *));

	if (!v)
		return NULL;
	v->refs = 1;
	v->count = 0;
	for (size_t i = 0; i < x->group_count; i++) {
		if (x->groups[i]->segment)
			v->segments[v->count++] = segment_ref(x->groups[i]->segment);
	}
	return v;
}

/* With the lock held. */
static struct index_view *take_view(struct index *x)
{
	if (!x->view)
		x->view = make_view(x);
	if (x->view)
		atomic_fetch_add(&x->view->refs, 1);
	return x->view;
}

struct index_view *index_view_now(struct index *x)
{
	struct index_view *v;

	pthread_mutex_lock(&x->lock);
	v = take_view(x);
	pthread_mutex_unlock(&x->lock);
	return v;
}

static bool index_is_late(const struct index *x, int64_t until)
{
	return until && x->bytes && clock_monotonic_ns() >= until;
}

struct index_view *index_view_until(struct index *x, int64_t until, bool *ret_all,
				    bool (*stopped)(const void *arg), const void *arg)
{
	struct index_view *v;

	pthread_mutex_lock(&x->lock);
	while (!x->settled && !x->stopping && !stopped(arg) && !index_is_late(x, until)) {
		struct timespec at;

		clock_after(50 * NSEC_PER_MSEC, &at);
		pthread_cond_timedwait(&x->done, &x->lock, &at);
	}
	*ret_all = x->settled;
	v = take_view(x);
	pthread_mutex_unlock(&x->lock);
	return v;
}

struct index_view *index_view(struct index *x, bool (*stopped)(const void *arg), const void *arg)
{
	bool ignored;

	return index_view_until(x, 0, &ignored, stopped, arg);
}

/* ---- making segments ---- */

static int enqueue(struct index *x, size_t group)
{
	struct group *g = x->groups[group];
	int r;

	if (g->queued || g->busy || g->failed)
		return 0;
	r = grow((void **)&x->queue, &x->queue_cap, x->queue_count + 1, sizeof(*x->queue));
	if (r < 0)
		return r;
	x->queue[x->queue_count++] = group;
	g->queued = true;
	return 0;
}

/* With the lock held: takes what was made of the group's first `count` blocks. */
static void index_publish(struct index *x, size_t group, unsigned int count, struct segment *s)
{
	struct group *g = x->groups[group];

	g->busy = false;
	if (!s) {
		g->failed = true;
		return;
	}
	if (g->segment)
		x->bytes -= g->segment->bytes;
	segment_unref(g->segment);
	g->segment = s;
	x->bytes += s->bytes;
	index_view_free(x->view);
	x->view = NULL;
	/* where there is no memory for the queue, its newest blocks are read by who asks */
	if (g->count > count && enqueue(x, group) < 0)
		g->failed = true;
}

/* With the lock held. At the start from all over the trace, so that a part shows all of its time. */
static size_t take_group(struct index *x)
{
	size_t *last = &x->queue[x->queue_count - 1], group;

	if (!x->settled) {
		size_t *other = &x->queue[hash_u64(x->queue_count) % x->queue_count];

		group = *other;
		*other = *last;
		*last = group;
	}
	x->queue_count--;
	return *last;
}

/* With the lock held, which is let go meanwhile. */
static void make_one(struct index *x, struct segment_maker *m)
{
	struct segment_source sources[SEGMENT_BLOCKS];
	size_t group = take_group(x);
	struct group *g = x->groups[group];
	unsigned int count = g->count;
	struct segment *s = NULL;
	struct error err = {0};

	for (unsigned int i = 0; i < count; i++)
		sources[i] = g->sources[i];
	g->queued = false;
	g->busy = true;
	x->busy++;
	if (x->bytes < INDEX_BYTES_MAX) {
		pthread_mutex_unlock(&x->lock);
		pthread_rwlock_rdlock(x->store_lock);
		/* what cannot be summed up is read by who asks, who tells why it cannot be read */
		if (segment_make(m, sources, count, &s, &err) < 0)
			s = NULL;
		pthread_rwlock_unlock(x->store_lock);
		pthread_mutex_lock(&x->lock);
	}
	index_publish(x, group, count, s);
	x->busy--;
}

static void *index_work(void *arg)
{
	struct index *x = arg;
	_cleanup_(segment_maker_freep) struct segment_maker *m = NULL;
	int r = segment_maker_new(&m, x->store);

	pthread_mutex_lock(&x->lock);
	while (!x->stopping && r >= 0) {
		if (x->queue_count) {
			make_one(x, m);
			continue;
		}
		if (!x->busy && x->known) {
			x->settled = true;
			pthread_cond_broadcast(&x->done);
		}
		pthread_cond_wait(&x->work, &x->lock);
	}
	x->settled |= r < 0;
	pthread_cond_broadcast(&x->done);
	pthread_mutex_unlock(&x->lock);
	return NULL;
}

/* ---- blocks that came ---- */

/* The group that takes the next block of a trace. */
static int find_group(struct index *x, uint64_t trace, size_t *ret)
{
	size_t *filling = &x->filling[trace % TRACES_MAX];
	int r;

	if (*filling && x->groups[*filling - 1]->count < SEGMENT_BLOCKS &&
	    !x->groups[*filling - 1]->failed) {
		*ret = *filling - 1;
		return 0;
	}
	r = grow((void **)&x->groups, &x->group_cap, x->group_count + 1, sizeof(*x->groups));
	if (r < 0)
		return r;
	x->groups[x->group_count] = calloc(1, sizeof(struct group));
	if (!x->groups[x->group_count])
		return -ENOMEM;
	*ret = x->group_count++;
	*filling = x->group_count;
	return 0;
}

static int take_pair(struct index *x, size_t block, size_t summary)
{
	const struct store_block *b = store_block(x->store, block);
	size_t group;
	struct group *g;
	int r;

	if (b->trace >= TRACES_MAX || !segment_takes(x->store, block))
		return 0;
	r = find_group(x, b->trace, &group);
	if (r < 0)
		return r;
	g = x->groups[group];
	g->sources[g->count++] = (struct segment_source){block, summary};
	return enqueue(x, group);
}

static int index_take_block(struct index *x, size_t i)
{
	const struct store_block *b = store_block(x->store, i);
	size_t op = b->table == TABLE_SUMMARY && !b->damaged ? b->pair : SIZE_MAX;

	return op == SIZE_MAX ? 0 : take_pair(x, op, i);
}

int index_extend(struct index *x)
{
	size_t count = store_block_count(x->store);
	int r = 0;

	pthread_mutex_lock(&x->lock);
	for (; x->known < count && r >= 0; x->known++)
		r = index_take_block(x, x->known);
	if (!x->known)
		x->settled = true;
	pthread_cond_broadcast(&x->work);
	pthread_mutex_unlock(&x->lock);
	return r;
}

/* ---- life ---- */

int index_new(struct index **ret, const struct store *s, pthread_rwlock_t *lock,
	      unsigned int threads)
{
	struct index *x = calloc(1, sizeof(*x));

	if (!x)
		return -ENOMEM;
	x->store = s;
	x->store_lock = lock;
	pthread_mutex_init(&x->lock, NULL);
	clock_cond_init(&x->work);
	clock_cond_init(&x->done);
	threads = MAX(threads, 1u);
	threads = MIN(threads, INDEX_THREADS_MAX);
	while (x->thread_count < threads &&
	       pthread_create(&x->threads[x->thread_count], NULL, index_work, x) == 0)
		x->thread_count++;
	/* without a thread there is nothing to wait for */
	x->settled = !x->thread_count;
	*ret = x;
	return 0;
}

void index_free(struct index *x)
{
	if (!x)
		return;
	pthread_mutex_lock(&x->lock);
	x->stopping = true;
	pthread_cond_broadcast(&x->work);
	pthread_cond_broadcast(&x->done);
	pthread_mutex_unlock(&x->lock);
	for (unsigned int i = 0; i < x->thread_count; i++)
		pthread_join(x->threads[i], NULL);
	index_view_free(x->view);
	for (size_t i = 0; i < x->group_count; i++) {
		segment_unref(x->groups[i]->segment);
		free(x->groups[i]);
	}
	free(x->groups);
	free(x->queue);
	pthread_cond_destroy(&x->work);
	pthread_cond_destroy(&x->done);
	pthread_mutex_destroy(&x->lock);
	free(x);
}
