// SPDX-License-Identifier: Apache-2.0
#include "analysis/features/feature_crew.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#define CREW_STRETCHES 32
#define CREW_WAKE      8 /* batches, or free ones, for which a waiting thread is woken */
#define CREW_THREADS   2
#define CREW_FEATURES  8

/*
 * A thread that waits for a free batch has handed over all of them; readers report a multiple as done before they wait
 * themselves.
 */
static_assert(CREW_STRETCHES >= 2 * CREW_WAKE, "neither side waits for the other");

struct crew_member {
	struct feature_crew *crew;
	struct feature_world world; /* of its current batch */
	size_t number;
	uint64_t done; /* number of batches; protected by the lock */
	bool runs;
	pthread_t thread;
};

struct feature_crew {
	struct feature_stretch stretches[CREW_STRETCHES];
	struct crew_member members[CREW_THREADS];
	void *states[CREW_FEATURES];
	size_t feature_count;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* signalled when a batch was handed over or done */
	uint64_t given;
	bool over;
	int failed; /* the first failure */
};

/* The first feature, `use`, takes about as long as all others together. */
static size_t crew_member_of(size_t feature)
{
	return feature ? 1 : 0;
}

/* Feeds a feature: the calls, and between them the events of the other table that it reads. */
static int crew_feed_one(const struct feature *f, void *state, const struct feature_stretch *s)
{
	const struct batch *b = s->events;
	size_t rows = b && f->more == b->table ? b->rows : 0, done = 0, to;
	int r = 0;

	for (size_t from = 0; from < rows && r >= 0; from = to) {
		size_t before = s->before[from];

		for (to = from + 1; to < rows && s->before[to] == before;)
			to++;
		if (before > done)
			r = f->calls(state, s->calls + done, before - done);
		if (r >= 0)
			r = f->events(state, b, s->files, from, to);
		done = before;
	}
	if (r >= 0 && done < s->count)
		r = f->calls(state, s->calls + done, s->count - done);
	return r;
}

static int crew_feed(struct crew_member *m, const struct feature_stretch *s)
{
	int r = 0;

	m->world = s->world;
	for (size_t i = 0; i < m->crew->feature_count && r >= 0; i++) {
		if (crew_member_of(i) == m->number)
			r = crew_feed_one(features[i], m->crew->states[i], s);
	}
	return r;
}

static void *crew_member_run(void *arg)
{
	struct crew_member *m = arg;
	struct feature_crew *c = m->crew;

	pthread_mutex_lock(&c->lock);
	for (;;) {
		int r;

		while (m->done == c->given && !c->over)
			pthread_cond_wait(&c->moved, &c->lock);
		if (m->done == c->given)
			break;
		if (c->failed >= 0) {
			pthread_mutex_unlock(&c->lock);
			r = crew_feed(m, &c->stretches[m->done % CREW_STRETCHES]);
			pthread_mutex_lock(&c->lock);
			c->failed = MIN(c->failed, r);
		}
		if (++m->done % CREW_WAKE == 0)
			pthread_cond_broadcast(&c->moved);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

int feature_crew_new(struct feature_crew **ret, const struct feature_world *world)
{
	struct feature_crew *c = calloc(1, sizeof(*c));
	int r = 0;

	*ret = c;
	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->moved, NULL);
	for (size_t i = 0; i < CREW_STRETCHES && r >= 0; i++)
		r = feature_stretch_init(&c->stretches[i]);
	for (size_t i = 0; i < CREW_THREADS; i++) {
		c->members[i].crew = c;
		c->members[i].number = i;
		c->members[i].world = *world;
	}
	while (r >= 0 && features[c->feature_count]) {
		size_t i = c->feature_count;

		assert(i < CREW_FEATURES);
		r = features[i]->begin(&c->states[i], &c->members[crew_member_of(i)].world);
		c->feature_count++;
	}
	for (size_t i = 0; i < CREW_THREADS && r >= 0; i++) {
		r = -pthread_create(&c->members[i].thread, NULL, crew_member_run, &c->members[i]);
		c->members[i].runs = r == 0;
	}
	return r;
}

struct feature_stretch *feature_crew_next(struct feature_crew *c)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < CREW_THREADS; i++) {
		while (c->given - c->members[i].done >= CREW_STRETCHES)
			pthread_cond_wait(&c->moved, &c->lock);
	}
	pthread_mutex_unlock(&c->lock);
	return &c->stretches[c->given % CREW_STRETCHES];
}

int feature_crew_give(struct feature_crew *c)
{
	int r;

	pthread_mutex_lock(&c->lock);
	r = c->failed;
	if (++c->given % CREW_WAKE == 0)
		pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	return r;
}

int feature_crew_end(struct feature_crew *c)
{
	pthread_mutex_lock(&c->lock);
	c->over = true;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
	for (size_t i = 0; i < CREW_THREADS; i++) {
		if (c->members[i].runs)
			pthread_join(c->members[i].thread, NULL);
		c->members[i].runs = false;
	}
	for (size_t i = 0; i < CREW_STRETCHES; i++)
		feature_stretch_free(&c->stretches[i]);
	return c->failed;
}

void *feature_crew_state(const struct feature_crew *c, size_t i)
{
	assert(i < c->feature_count);
	return c->states[i];
}

void feature_crew_free(struct feature_crew *c)
{
	if (!c)
		return;
	(void)feature_crew_end(c);
	for (size_t i = 0; i < c->feature_count; i++) {
		if (c->states[i])
			features[i]->free(c->states[i]);
	}
	pthread_mutex_destroy(&c->lock);
	pthread_cond_destroy(&c->moved);
	free(c);
}
