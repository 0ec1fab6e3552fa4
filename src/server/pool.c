// SPDX-License-Identifier: Apache-2.0
#include "server/pool.h"

#include <errno.h>

#include "engine/held.h"
#include "server/index.h"

struct pool {
	pthread_mutex_t lock;
	struct held held;
	struct engine *engines[QUESTIONS_MAX];
	bool busy[QUESTIONS_MAX];
	struct engine *wide; /* of who has all of the room */
};

/* ---- what the index holds, for the engines ---- */

/* Who asks right after the start takes what there is by now. */
static bool at_once(const void *arg)
{
	return true;
}

static void *held_take(void *arg)
{
	const struct server *s = arg;

	return index_view(s->index, at_once, NULL);
}

static void held_give(void *view)
{
	index_view_free(view);
}

static size_t held_count(const void *view)
{
	return ((const struct index_view *)view)->count;
}

static struct held_part held_part(const void *view, size_t i)
{
	const struct segment *s = ((const struct index_view *)view)->segments[i];

	return (struct held_part){s->block, s->count, s->sums};
}

static size_t held_file_batches(const void *view, size_t i)
{
	return ((const struct index_view *)view)->segments[i]->part_count;
}

static int held_put_files(const void *view, size_t i, size_t k, uint64_t columns, struct batch *to)
{
	return segment_put_files(((const struct index_view *)view)->segments[i], k, columns, to);
}

/* ---- engines ---- */

int pool_new(struct pool **ret, struct server *s)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	p->held = (struct held){held_take,	   held_give,	   held_count, held_part,
				held_file_batches, held_put_files, s};
	*ret = p;
	return 0;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < QUESTIONS_MAX; i++) {
		if (p->engines[i])
			engine_free(p->engines[i]);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* A place that nobody uses, one with an engine first; -1: none, which turns make impossible. */
static int find_place(struct pool *p)
{
	int found = -1;

	pthread_mutex_lock(&p->lock);
	for (int i = 0; i < (int)QUESTIONS_MAX; i++) {
		if (!p->busy[i] && (found < 0 || (p->engines[i] && !p->engines[found])))
			found = i;
	}
	if (found >= 0)
		p->busy[found] = true;
	pthread_mutex_unlock(&p->lock);
	return found;
}

static void leave_place(struct pool *p, int i)
{
	pthread_mutex_lock(&p->lock);
	p->busy[i] = false;
	pthread_mutex_unlock(&p->lock);
}

static void interrupt(void *arg)
{
	engine_interrupt(arg);
}

static int open_engine(struct question *q, struct engine **ret)
{
	struct server *s = q->server;
	const struct engine_options options = {.library = s->opt.library,
					       .memory_max = q->room,
					       .threads = s->opt.threads,
					       .annotations = s->annotations,
					       .held = &s->pool->held,
					       .borrowed = true};
	int r = engine_open(ret, s->store, &options, &q->err);

	if (r < 0)
		q->status = 503;
	return r;
}

/* One with half of the memory stays open for who comes next. */
static int take_half(struct question *q, struct engine **ret)
{
	struct pool *p = q->server->pool;
	int i = find_place(p), r = 0;

	if (i < 0)
		return question_error(q, -EAGAIN, "too many questions at once");
	if (!p->engines[i])
		r = open_engine(q, &p->engines[i]);
	if (r < 0)
		leave_place(p, i);
	else
		*ret = p->engines[i];
	return r;
}

int pool_take(struct question *q, struct engine **ret)
{
	struct server *s = q->server;
	int r = room_take(q, q->wide ? s->room.all : s->room.all / 2);

	if (r >= 0 && q->wide) {
		assert(!s->pool->wide);
		r = open_engine(q, &s->pool->wide);
		*ret = s->pool->wide;
	} else if (r >= 0) {
		r = take_half(q, ret);
	}
	if (r < 0) {
		room_give(q);
		return r;
	}
	http_on_stop(q->request, interrupt, *ret);
	return 0;
}

void pool_give(struct question *q, struct engine *e)
{
	struct pool *p = q->server->pool;

	http_on_stop(q->request, NULL, NULL);
	if (q->wide) {
		engine_free(e);
		p->wide = NULL;
	}
	for (int i = 0; i < (int)QUESTIONS_MAX; i++) {
		if (p->engines[i] == e)
			leave_place(p, i);
	}
	room_give(q);
}

bool pool_again(struct question *q, int r)
{
	if (r != -ENOMEM || q->wide || question_stopped(q))
		return false;
	buf_clear(&q->out);
	q->err = (struct error){0};
	return q->wide = true;
}
