// SPDX-License-Identifier: Apache-2.0
/* cache.c: recent answers, for repeated requests. */
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "server/internal.h"

#define KEPT_MAX   1000u /* answers; each lookup compares with all of them */
#define ENTRY_MAX  (CACHE_BYTES / 8)
#define CLAIMS_MAX (2 * RUNNING_MAX) /* a question may compute two answers */

struct kept {
	struct kept *next; /* newest first */
	char *key;
	uint64_t generation;
	struct buf body;
	const char *type;
};

struct cache {
	pthread_mutex_t lock;
	pthread_cond_t done;		 /* a claim was released */
	const char *claimed[CLAIMS_MAX]; /* keys; their owners hold the texts */
	struct kept *first;
};

int cache_new(struct cache **ret)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	clock_cond_init(&c->done);
	*ret = c;
	return 0;
}

static void cache_kept_free(struct kept *k)
{
	buf_free(&k->body);
	free(k->key);
	free(k);
}

void cache_free(struct cache *c)
{
	if (!c)
		return;
	while (c->first) {
		struct kept *k = c->first;

		c->first = k->next;
		cache_kept_free(k);
	}
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* With the lock held. */
static bool cache_find(struct cache *c, uint64_t generation, const char *key,
		       struct cache_entry *ret)
{
	for (struct kept **at = &c->first; *at; at = &(*at)->next) {
		struct kept *k = *at;

		if (k->generation != generation || strcmp(k->key, key) != 0)
			continue;
		if (buf_append(&ret->body, k->body.data, k->body.len) < 0)
			return false;
		ret->type = k->type;
		*at = k->next;
		k->next = c->first;
		c->first = k;
		return true;
	}
	return false;
}

bool cache_get(struct cache *c, uint64_t generation, const char *key, struct cache_entry *ret)
{
	bool found;

	pthread_mutex_lock(&c->lock);
	found = cache_find(c, generation, key, ret);
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* The slot of the claim of a key (NULL: a free slot); NULL: none. With the lock held. */
static const char **claim_of(struct cache *c, const char *key)
{
	for (size_t i = 0; i < CLAIMS_MAX; i++) {
		if (key ? c->claimed[i] && strcmp(c->claimed[i], key) == 0 : !c->claimed[i])
			return &c->claimed[i];
	}
	return NULL;
}

/* With the lock held: waits until no question computes that answer. False: the question was stopped. */
static bool wait_claim(struct cache *c, struct question *q, const char *key)
{
	bool waited = false;

	while (claim_of(c, key)) {
		struct timespec at;

		if (question_stopped(q))
			return false;
		if (!waited)
			http_deadline(q->request, 0);
		waited = true;
		clock_after(50 * NSEC_PER_MSEC, &at);
		pthread_cond_timedwait(&c->done, &c->lock, &at);
	}
	if (waited)
		question_deadline(q, q->allowed_ns);
	return true;
}

bool cache_claim(struct cache *c, struct question *q, uint64_t generation, const char *key,
		 struct cache_entry *ret)
{
	const char **place;
	bool found, mine;

	pthread_mutex_lock(&c->lock);
	mine = wait_claim(c, q, key);
	found = mine && cache_find(c, generation, key, ret);
	place = found || !mine ? NULL : claim_of(c, NULL);
	if (place)
		*place = key;
	pthread_mutex_unlock(&c->lock);
	return found;
}

void cache_release(struct cache *c, const char *key)
{
	pthread_mutex_lock(&c->lock);
	for (size_t i = 0; i < CLAIMS_MAX; i++) {
		if (c->claimed[i] == key)
			c->claimed[i] = NULL;
	}
	pthread_cond_broadcast(&c->done);
	pthread_mutex_unlock(&c->lock);
}

/* Memory of an entry. */
static size_t cache_size_of(const struct kept *k)
{
	return sizeof(*k) + k->body.len + strlen(k->key);
}

/* Frees entries of other generations, and the oldest beyond the limits. */
static void cache_make_room(struct cache *c, uint64_t generation, size_t more)
{
	struct kept **at = &c->first;
	size_t sum = more, count = 1;

	while (*at) {
		struct kept *k = *at;

		if (k->generation == generation && sum + cache_size_of(k) <= CACHE_BYTES &&
		    count < KEPT_MAX) {
			sum += cache_size_of(k);
			count++;
			at = &k->next;
			continue;
		}
		*at = k->next;
		cache_kept_free(k);
	}
}

void cache_put(struct cache *c, uint64_t generation, const char *key, const struct buf *body,
	       const char *type)
{
	struct kept *k;

	if (body->len > ENTRY_MAX)
		return;
	k = calloc(1, sizeof(*k));
	if (!k)
		return;
	k->key = strdup(key);
	k->generation = generation;
	k->type = type;
	if (!k->key || buf_append(&k->body, body->data, body->len) < 0) {
		cache_kept_free(k);
		return;
	}
	pthread_mutex_lock(&c->lock);
	cache_make_room(c, generation, cache_size_of(k));
	k->next = c->first;
	c->first = k;
	pthread_mutex_unlock(&c->lock);
}
