// SPDX-License-Identifier: Apache-2.0
/* cache.c: answers that were given lately, for who asks the same of the same trace. */
#include <errno.h>
#include <string.h>

#include "server/internal.h"

#define ENTRY_MAX  (CACHE_BYTES / 8)
#define CLAIMS_MAX (2 * QUESTIONS_MAX) /* of answers: a question may work out two */

struct kept {
	struct kept *next; /* newest first */
	char *key;
	uint64_t generation;
	struct buf body;
	const char *type;
};

struct cache {
	pthread_mutex_t lock;
	pthread_cond_t done;		 /* a claim was given back */
	const char *claimed[CLAIMS_MAX]; /* keys; their owners' texts */
	struct kept *first;
	size_t bytes;
};

int cache_new(struct cache **ret)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->done, NULL);
	*ret = c;
	return 0;
}

static void kept_free(struct kept *k)
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
		kept_free(k);
	}
	pthread_cond_destroy(&c->done);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

/* Takes an entry out of the row; with the lock held. */
static void unlink_kept(struct cache *c, struct kept **at)
{
	struct kept *k = *at;

	*at = k->next;
	c->bytes -= k->body.len;
}

/* With the lock held. */
static bool find(struct cache *c, uint64_t generation, const char *key, struct cache_entry *ret)
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
	found = find(c, generation, key, ret);
	pthread_mutex_unlock(&c->lock);
	return found;
}

/* The place of a claim of the key (NULL: a free place); NULL: there is none. With the lock held. */
static const char **claim_of(struct cache *c, const char *key)
{
	for (size_t i = 0; i < CLAIMS_MAX; i++) {
		if (key ? c->claimed[i] && strcmp(c->claimed[i], key) == 0 : !c->claimed[i])
			return &c->claimed[i];
	}
	return NULL;
}

bool cache_claim(struct cache *c, uint64_t generation, const char *key, struct cache_entry *ret)
{
	const char **place;
	bool found;

	pthread_mutex_lock(&c->lock);
	while (claim_of(c, key))
		pthread_cond_wait(&c->done, &c->lock);
	found = find(c, generation, key, ret);
	place = found ? NULL : claim_of(c, NULL);
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

/* What is of another generation, and the oldest beyond the bound. */
static void make_room(struct cache *c, uint64_t generation, size_t more)
{
	struct kept **at = &c->first;
	size_t sum = more;

	while (*at) {
		struct kept *k = *at;

		if (k->generation == generation && sum + k->body.len <= CACHE_BYTES) {
			sum += k->body.len;
			at = &k->next;
			continue;
		}
		unlink_kept(c, at);
		kept_free(k);
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
		kept_free(k);
		return;
	}
	pthread_mutex_lock(&c->lock);
	make_room(c, generation, body->len);
	k->next = c->first;
	c->first = k;
	c->bytes += body->len;
	pthread_mutex_unlock(&c->lock);
}
