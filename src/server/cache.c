// SPDX-License-Identifier: Apache-2.0
/* cache.c: answers that were given lately, for who asks the same of the same trace. */
#include <errno.h>
#include <string.h>

#include "server/internal.h"

#define ENTRY_MAX (CACHE_BYTES / 8)

struct kept {
	struct kept *next; /* newest first */
	char *key;
	uint64_t generation;
	struct buf body;
	const char *type;
};

struct cache {
	pthread_mutex_t lock;
	struct kept *first;
	size_t bytes;
};

int cache_new(struct cache **ret)
{
	struct cache *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	pthread_mutex_init(&c->lock, NULL);
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

bool cache_get(struct cache *c, uint64_t generation, const char *key, struct cache_entry *ret)
{
	bool found = false;

	pthread_mutex_lock(&c->lock);
	for (struct kept **at = &c->first; *at && !found; at = &(*at)->next) {
		struct kept *k = *at;

		if (k->generation != generation || strcmp(k->key, key) != 0)
			continue;
		found = buf_append(&ret->body, k->body.data, k->body.len) == 0;
		ret->type = k->type;
		*at = k->next;
		k->next = c->first;
		c->first = k;
		break;
	}
	pthread_mutex_unlock(&c->lock);
	return found;
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
