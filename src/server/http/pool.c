// SPDX-License-Identifier: Apache-2.0
#include "server/http/pool.h"

#include <errno.h>
#include <inttypes.h>

struct pool {
	pthread_mutex_t lock;
	struct engine *engines[RUNNING_MAX];
	bool busy[RUNNING_MAX];
	struct engine *wide; /* uses all of the memory */
};

/* ---- engines ---- */

int pool_new(struct pool **ret, struct server *s)
{
	struct pool *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	*ret = p;
	return 0;
}

void pool_free(struct pool *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < RUNNING_MAX; i++) {
		if (p->engines[i])
			engine_free(p->engines[i]);
	}
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* A free slot, preferably with an engine; -1: none, which admission makes impossible. */
static int pool_find_place(struct pool *p)
{
	int found = -1;

	pthread_mutex_lock(&p->lock);
	for (int i = 0; i < (int)RUNNING_MAX; i++) {
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
					       .borrowed = true};
	int r = engine_open(ret, s->store, &options, &q->err);

	/* no usable library: on 503 the pages stop asking */
	if (r == -ENOENT || r == -ELIBBAD || r == -EPROTONOSUPPORT)
		q->status = 503;
	return r;
}

/* An engine with half of the memory stays open for the next question. */
static int take_half(struct question *q, struct engine **ret)
{
	struct pool *p = q->server->pool;
	int i = pool_find_place(p), r = 0;

	if (i < 0)
		return question_error(q, -EAGAIN, "too many concurrent requests");
	if (!p->engines[i])
		r = open_engine(q, &p->engines[i]);
	if (r < 0)
		leave_place(p, i);
	else
		*ret = p->engines[i];
	return r;
}

int pool_take_for_text(struct question *q, struct engine **ret)
{
	int r;

	q->room = q->server->memory_budget.all /
		  2; /* the memory limit of an engine that is opened now */
	r = take_half(q, ret);
	q->room = 0;
	return r;
}

int pool_take(struct question *q, struct engine **ret)
{
	struct server *s = q->server;
	int r = memory_budget_take(q, q->wide ? s->memory_budget.all : s->memory_budget.all / 2);

	if (r >= 0 && q->wide) {
		assert(!s->pool->wide);
		r = open_engine(q, &s->pool->wide);
		*ret = s->pool->wide;
	} else if (r >= 0) {
		r = take_half(q, ret);
	}
	if (r < 0) {
		memory_budget_give(q);
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
	for (int i = 0; i < (int)RUNNING_MAX; i++) {
		if (p->engines[i] == e)
			leave_place(p, i);
	}
	memory_budget_give(q);
}

bool pool_again(struct question *q, int r)
{
	if (r != -ENOMEM || question_stopped(q))
		return false;
	q->err = (struct error){0};
	if (q->wide) {
		question_error(q, r,
			       "this needs more memory than the %" PRIu64
			       " MiB that weir serve has for requests (--memory): use a filter, a "
			       "shorter time range or fewer rows",
			       q->server->memory_budget.all >> 20);
		return false;
	}
	buf_clear(&q->out);
	return q->wide = true;
}
