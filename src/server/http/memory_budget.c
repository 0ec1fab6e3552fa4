// SPDX-License-Identifier: Apache-2.0
#include "server/http/memory_budget.h"

#include <errno.h>

#include "base/clock.h"
#include "server/api/overview_parts.h"
#include "server/sums/pass.h"

struct memory_budget_waiter {
	struct memory_budget_waiter *next;
};

void memory_budget_init(struct memory_budget *r, uint64_t bytes)
{
	r->all = r->left = bytes - MIN(bytes / MEMORY_BUDGET_PASSES_SHARE, MEMORY_BUDGET_PASSES);
	pthread_mutex_init(&r->lock, NULL);
	clock_cond_init(&r->changed);
}

void memory_budget_free(struct memory_budget *r)
{
	assert(!r->first);
	pthread_cond_destroy(&r->changed);
	pthread_mutex_destroy(&r->lock);
}

/* With the lock held, which is released while waiting. */
static int memory_budget_wait_for(struct memory_budget *r, const struct memory_budget_waiter *me,
				  const struct question *q, uint64_t bytes)
{
	while (r->first != me || r->left < bytes) {
		struct timespec at;

		clock_after(50 * NSEC_PER_MSEC, &at);
		pthread_cond_timedwait(&r->changed, &r->lock, &at);
		pthread_mutex_unlock(&r->lock);
		overview_parts_drop(q->server, OVERVIEW_PARTS_YIELD_NS);
		pthread_mutex_lock(&r->lock);
		if (question_stopped(q))
			return -EINTR;
	}
	return 0;
}

static int memory_budget_wait_and_take(struct question *q, uint64_t bytes)
{
	struct memory_budget *r = &q->server->memory_budget;
	struct memory_budget_waiter me = {0}, **at;
	int e;

	pthread_mutex_lock(&r->lock);
	for (at = &r->first; *at; at = &(*at)->next)
		;
	*at = &me;
	e = memory_budget_wait_for(r, &me, q, bytes);
	for (at = &r->first; *at != &me; at = &(*at)->next)
		;
	*at = me.next;
	if (e >= 0) {
		r->left -= bytes;
		q->room = bytes;
	}
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
	return e;
}

int memory_budget_take(struct question *q, uint64_t bytes)
{
	int e;

	assert(!q->room);
	bytes = MIN(bytes, q->server->memory_budget.all);
	if (q->allowed_ns)
		http_deadline(q->request, 0);
	e = memory_budget_wait_and_take(q, bytes);
	if (e >= 0 && q->allowed_ns)
		question_deadline(q, q->allowed_ns);
	return e;
}

int memory_budget_take_files(struct question *q)
{
	return memory_budget_take(
		q, question_workers(q) * MEMORY_BUDGET_WORKER +
			   MEMORY_BUDGET_PER_FILE * store_table_rows(q->server->store, TABLE_FILE));
}

void memory_budget_return(struct server *s, uint64_t bytes)
{
	struct memory_budget *r = &s->memory_budget;

	if (!bytes)
		return;
	pthread_mutex_lock(&r->lock);
	r->left += bytes;
	assert(r->left <= r->all);
	pthread_cond_broadcast(&r->changed);
	pthread_mutex_unlock(&r->lock);
}

void memory_budget_give(struct question *q)
{
	memory_budget_return(q->server, q->room);
	q->room = 0;
}
