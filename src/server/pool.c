// SPDX-License-Identifier: Apache-2.0
#include "server/pool.h"

#include <errno.h>

struct pool {
	pthread_mutex_t lock;
	struct engine *engines[QUESTIONS_MAX];
	bool busy[QUESTIONS_MAX];
};

int pool_new(struct pool **ret)
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

int pool_take(struct question *q, struct engine **ret)
{
	struct server *s = q->server;
	const struct engine_options options = {.library = s->opt.library,
					       .memory_max = s->opt.memory_max,
					       .threads = s->opt.threads,
					       .annotations = s->annotations};
	int i = find_place(s->pool), r;

	if (i < 0)
		return question_error(q, -EAGAIN, "too many questions at once");
	if (!s->pool->engines[i]) {
		r = engine_open(&s->pool->engines[i], s->store, &options, &q->err);
		if (r < 0) {
			leave_place(s->pool, i);
			q->status = 503;
			return r;
		}
	}
	*ret = s->pool->engines[i];
	http_on_stop(q->request, interrupt, *ret);
	return 0;
}

void pool_give(struct question *q, struct engine *e)
{
	struct pool *p = q->server->pool;

	http_on_stop(q->request, NULL, NULL);
	for (int i = 0; i < (int)QUESTIONS_MAX; i++) {
		if (p->engines[i] == e)
			leave_place(p, i);
	}
}
