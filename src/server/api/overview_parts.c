// SPDX-License-Identifier: Apache-2.0
#include "server/api/overview_parts.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "server/sums/file_sums.h"
#include "server/sums/who.h"

struct part {
	char *key;
	uint64_t version, room;
	int64_t used; /* when it was last requested */
	bool busy, begun;
	struct overview o;
	struct sums_job job;
};

struct overview_parts {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct part *kept[OVERVIEW_PARTS_MAX];
};

int overview_parts_new(struct overview_parts **ret)
{
	struct overview_parts *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	pthread_mutex_init(&p->lock, NULL);
	clock_cond_init(&p->changed);
	*ret = p;
	return 0;
}

static void overview_parts_part_free(struct part *p)
{
	if (!p)
		return;
	sums_job_free(&p->job);
	overview_free(&p->o);
	free(p->key);
	free(p);
}

void overview_parts_free(struct overview_parts *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < OVERVIEW_PARTS_MAX; i++)
		overview_parts_part_free(p->kept[i]);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- kept parts ---- */

/* With the lock held. */
static void overview_parts_drop_one(struct server *s, struct part **at)
{
	memory_budget_return(s, (*at)->room);
	overview_parts_part_free(*at);
	*at = NULL;
	pthread_cond_broadcast(&s->parts->changed);
}

void overview_parts_drop(struct server *s, int64_t idle_ns)
{
	struct overview_parts *parts = s->parts;
	int64_t now = clock_monotonic_ns();

	pthread_mutex_lock(&parts->lock);
	for (size_t i = 0; i < OVERVIEW_PARTS_MAX; i++) {
		struct part *p = parts->kept[i];

		if (p && !p->busy && now - p->used >= idle_ns)
			overview_parts_drop_one(s, &parts->kept[i]);
	}
	pthread_mutex_unlock(&parts->lock);
}

/* With the lock held: the slot of the part with the same key, or a free one; NULL: all are busy. */
static struct part **overview_parts_find(struct server *s, uint64_t version, const char *key)
{
	struct part **empty = NULL, **oldest = NULL;

	for (size_t i = 0; i < OVERVIEW_PARTS_MAX; i++) {
		struct part **at = &s->parts->kept[i];

		if (*at && !(*at)->busy && (*at)->version != version)
			overview_parts_drop_one(s, at);
		if (*at && strcmp((*at)->key, key) == 0)
			return at;
		if (!*at)
			empty = at;
		else if (!(*at)->busy && (!oldest || (*at)->used < (*oldest)->used))
			oldest = at;
	}
	if (!empty && oldest) {
		overview_parts_drop_one(s, oldest);
		empty = oldest;
	}
	return empty;
}

static int overview_parts_make(struct part **at, const char *key, uint64_t version)
{
	struct part *p = calloc(1, sizeof(*p));

	if (p)
		p->key = strdup(key);
	if (!p || !p->key) {
		overview_parts_part_free(p);
		return -ENOMEM;
	}
	p->version = version;
	*at = p;
	return 0;
}

/*
 * Waits for a request that works on the same part. 1 if there was one, so that the answer may be cached; then no part
 * is taken.
 */
static int overview_parts_take(struct question *q, const char *key, struct part **ret)
{
	struct overview_parts *parts = q->server->parts;
	bool waited = false;
	struct part **at;
	int r = 0;

	pthread_mutex_lock(&parts->lock);
	while (!(at = overview_parts_find(q->server, q->version, key)) || (*at && (*at)->busy)) {
		struct timespec until;

		waited = true;
		clock_after(50 * NSEC_PER_MSEC, &until);
		pthread_cond_timedwait(&parts->changed, &parts->lock, &until);
		if (question_stopped(q)) {
			r = -EINTR;
			break;
		}
	}
	if (r >= 0 && waited && !*at)
		r = 1;
	if (r == 0 && !*at)
		r = overview_parts_make(at, key, q->version);
	if (r == 0) {
		(*at)->busy = true;
		*ret = *at;
	}
	pthread_mutex_unlock(&parts->lock);
	return r;
}

/* Keeps the part and its memory for the next request, or frees it, which returns the memory to the question. */
static void overview_parts_give(struct question *q, struct part *p, bool keep)
{
	struct overview_parts *parts = q->server->parts;

	pthread_mutex_lock(&parts->lock);
	p->busy = false;
	p->used = clock_monotonic_ns();
	if (keep) {
		p->room = q->room;
		q->room = 0;
	}
	for (size_t i = 0; i < OVERVIEW_PARTS_MAX && !keep; i++) {
		if (parts->kept[i] == p)
			overview_parts_drop_one(q->server, &parts->kept[i]);
	}
	pthread_cond_broadcast(&parts->changed);
	pthread_mutex_unlock(&parts->lock);
}

/* ---- one part ---- */

static int overview_parts_begin(struct question *q, struct part *p, struct sums_filter *filter)
{
	int r = names_prepare(q->server);

	if (r < 0)
		return r;
	question_deadline(q,
			  QUESTION_NS); /* excludes the names: the next question will have them */
	overview_range(q, &p->o);
	p->o.filter = *filter;
	*filter = (struct sums_filter){0};
	p->begun = true;
	r = memory_budget_take_files(q);
	return r < 0 ? r
		     : sums_job_begin(&p->job, q, &p->o.filter,
				      &(struct sums_want){OVERVIEW_WANT(&p->o.axis)});
}

/* Caches the whole overview, and the brief one, for the next requests. */
static int keep_answers(struct question *q, struct part *p, const char *key, const char *own,
			bool brief)
{
	struct server *s = q->server;
	_cleanup_buf_ struct buf whole = {0};
	int r;

	p->o.sums = p->job.pass.states[0];
	p->job.pass.states[0] = NULL;
	r = file_sums_merge(s, p->o.sums, &p->o.files, &p->o.file_count);
	if (r >= 0)
		r = overview_put(q, &whole, &p->o, false, 1);
	if (r >= 0 && brief)
		r = overview_put(q, &q->out, &p->o, true, 1);
	if (r >= 0 && !question_stopped(q)) {
		cache_put(s->cache, q->version, key, &whole, q->type);
		if (brief)
			cache_put(s->cache, q->version, own, &q->out, q->type);
	}
	if (r >= 0 && !brief) {
		q->out = whole;
		whole = (struct buf){0};
	}
	return r;
}

/*
 * Returns 1 if the part is to be kept: there is more to read, or this request got the brief answer and its client
 * will request the whole one.
 */
static int overview_parts_go_on(struct question *q, struct part *p, const char *key,
				const char *own, bool brief, int64_t until)
{
	struct server *s = q->server;
	struct overview so_far = p->o;
	double share;
	int r = sums_job_part(&p->job, q, until, &so_far.sums);

	if (r < 0)
		return r;
	share = sums_job_share(&p->job);
	if (share >= 1 && (!brief || !until))
		return keep_answers(q, p, key, own, brief);
	q->unfinished = share < 1;
	r = overview_put(q, &q->out, &so_far, true, share);
	if (r >= 0 && share >= 1 && !question_stopped(q))
		cache_put(s->cache, q->version, own, &q->out, q->type);
	return r < 0 ? r : 1;
}

static bool overview_parts_is_known(struct question *q, const char *key)
{
	struct cache_entry known = {0};

	if (!cache_get(q->server->cache, q->version, key, &known))
		return false;
	q->out = known.body;
	q->type = known.type;
	return true;
}

static int overview_parts_work(struct question *q, struct sums_filter *filter, const char *key,
			       const char *own, bool brief, int64_t within)
{
	struct part *p = NULL;
	int r = overview_parts_take(q, key, &p);

	if (r)
		return r;
	if (p->begun) {
		q->room = p->room;
		p->room = 0;
	} else {
		r = overview_parts_begin(q, p, filter);
	}
	/* the wait does not count as the question's time */
	if (r >= 0)
		r = overview_parts_go_on(q, p, key, own, brief,
					 within ? clock_monotonic_ns() + within * NSEC_PER_MSEC
						: 0);
	overview_parts_give(q, p, r == 1);
	return MIN(r, 0);
}

int overview_parts_answer(struct question *q, struct sums_filter *filter, bool brief,
			  int64_t within)
{
	static const char *const both[] = {"brief", "within", NULL}, *const one[] = {"within",
										     NULL};
	_cleanup_buf_ struct buf key = {0}, own = {0};
	int r = question_key_without(q, both, &key);

	if (r >= 0)
		r = question_key_without(q, one, &own);
	if (r < 0)
		return r;
	do {
		if (overview_parts_is_known(q, buf_str(&own)))
			return 0;
		r = overview_parts_work(q, filter, buf_str(&key), buf_str(&own), brief,
					brief ? within : 0);
	} while (r == 1);
	return r;
}
