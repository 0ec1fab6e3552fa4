// SPDX-License-Identifier: Apache-2.0
#include "server/http/admission.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "server/internal.h"

struct admission_waiter {
	struct admission_waiter *next;
	const struct question *question;
};

static const char *client_of(const struct question *q)
{
	const char *name = http_header(q->request, "Weir-Client");

	return name ? name : "";
}

/* ---- with the lock held ---- */

static unsigned int running_of(const struct server *s, const char *client)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < RUNNING_MAX; i++)
		n += s->running[i] && strcmp(s->running[i]->client, client) == 0;
	return n;
}

/*
 * SQL may take arbitrarily long, so one turn always remains for the pages. Light questions may use all turns, and a
 * few that are theirs alone.
 */
static bool may_run(const struct server *s, const struct question *q)
{
	unsigned int apart = 0, heavy = 0;

	for (unsigned int i = 0; i < RUNNING_MAX; i++) {
		apart += s->running[i] && s->running[i]->apart;
		heavy += s->running[i] && !s->running[i]->light;
	}
	return s->questions < RUNNING_MAX &&
	       (q->light || (heavy < QUESTIONS_MAX && (!q->apart || apart < QUESTIONS_MAX - 1)));
}

static bool is_next(const struct server *s, const struct admission_waiter *me)
{
	const struct admission_waiter *best = NULL;
	unsigned int least = 0;

	for (const struct admission_waiter *w = s->admission.first; w; w = w->next) {
		unsigned int n = running_of(s, w->question->client);

		if (may_run(s, w->question) && (!best || n < least)) {
			best = w;
			least = n;
		}
	}
	return best == me;
}

static int admission_wait_for(struct server *s, struct question *q,
			      const struct admission_waiter *me)
{
	int64_t until = clock_monotonic_ns() + ADMISSION_WAIT_NS;

	while (!is_next(s, me)) {
		struct timespec at;

		clock_after(50 * NSEC_PER_MSEC, &at);
		pthread_cond_timedwait(&s->news, &s->news_lock, &at);
		if (http_stopped(q->request))
			return -EINTR;
		if (clock_monotonic_ns() > until)
			return question_error(q, -EAGAIN,
					      "%u requests are in progress; try again in a second",
					      QUESTIONS_MAX);
	}
	return 0;
}

/* Call with the lock held when what it depends on has changed. */
static void admission_put_off_names(struct server *s)
{
	atomic_store(&s->names_later, s->stopping || (s->questions && !s->names_wanted));
}

/* Starts a question, and gives the running ones more time, up to RUNNING_MAX shares. */
static void admission_begin(struct server *s, struct question *q)
{
	unsigned int place = RUNNING_MAX;

	for (unsigned int i = 0; i < RUNNING_MAX; i++) {
		if (s->running[i])
			question_share(s->running[i]);
		else
			place = i;
	}
	assert(place < RUNNING_MAX);
	s->running[place] = q;
	s->questions++;
	admission_put_off_names(s);
	atomic_store(&q->shares, s->questions);
}

static void leave_queue(struct admission *t, struct admission_waiter *me)
{
	struct admission_waiter **at = &t->first;

	while (*at != me)
		at = &(*at)->next;
	*at = me->next;
	t->waiting--;
}

static int queue_up(struct server *s, struct question *q)
{
	struct admission_waiter me = {.question = q}, **at = &s->admission.first;
	int r;

	while (*at)
		at = &(*at)->next;
	*at = &me;
	s->admission.waiting++;
	r = admission_wait_for(s, q, &me);
	leave_queue(&s->admission, &me);
	return r;
}

int admission_take(struct question *q)
{
	struct server *s = q->server;
	int r = 0;

	q->client = client_of(q);
	pthread_mutex_lock(&s->news_lock);
	if (s->admission.waiting >= ADMISSION_WAIT_MAX)
		r = question_error(q, -EAGAIN, "%u requests are queued; try again in a second",
				   ADMISSION_WAIT_MAX);
	else
		r = queue_up(s, q);
	if (r >= 0)
		admission_begin(s, q);
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->news_lock);
	return r;
}

void admission_end(struct question *q)
{
	struct server *s = q->server;

	pthread_mutex_lock(&s->news_lock);
	for (unsigned int i = 0; i < RUNNING_MAX; i++) {
		if (s->running[i] == q)
			s->running[i] = NULL;
	}
	s->questions--;
	admission_put_off_names(s);
	pthread_cond_broadcast(&s->news);
	pthread_mutex_unlock(&s->news_lock);
}

/* ---- for background work ---- */

/* Waits until no question is running, or *wanted is true. False: the server stops. */
static bool wait_idle(struct server *s, const bool *wanted)
{
	bool stopping;

	pthread_mutex_lock(&s->news_lock);
	while (s->questions && !s->stopping && !(wanted && *wanted))
		pthread_cond_wait(&s->news, &s->news_lock);
	stopping = s->stopping;
	pthread_mutex_unlock(&s->news_lock);
	return !stopping;
}

bool admission_idle(struct server *s)
{
	return wait_idle(s, NULL);
}

bool admission_idle_or_wanted(struct server *s)
{
	return wait_idle(s, &s->names_wanted);
}

void admission_want_names(struct server *s)
{
	pthread_mutex_lock(&s->news_lock);
	if (!s->names_wanted)
		pthread_cond_broadcast(&s->news);
	s->names_wanted = true;
	admission_put_off_names(s);
	pthread_mutex_unlock(&s->news_lock);
}
