// SPDX-License-Identifier: Apache-2.0
/*
 * conns.c: connections, and the choice of one to close when there are too many. Every user of the machine can
 * connect. A client that has not authenticated itself gets one of HTTP_STRANGERS_MAX places. When all are taken, the
 * next client replaces the oldest connection of the user with the most connections, so that holding connections does
 * not lock out a client with a token.
 */
#include <sys/socket.h>

#include "base/clock.h"
#include "net/internal.h"

/* With the lock held. The connection's thread then ends it. */
static void conns_drop(struct conn *c)
{
	c->dropped = true;
	shutdown(c->fd, SHUT_RDWR);
}

static bool is_stranger(const struct conn *c)
{
	return !c->dropped && !c->trusted;
}

static unsigned int strangers_of(const struct http *h, uid_t uid)
{
	unsigned int n = 0;

	for (const struct conn *c = h->conns; c; c = c->next)
		n += is_stranger(c) && c->peer == uid;
	return n;
}

/* The list is sorted by age, newest first. */
static struct conn *oldest_stranger(struct http *h)
{
	struct conn *found = NULL;
	unsigned int most = 0;

	for (struct conn *c = h->conns; c; c = c->next) {
		unsigned int n = most;

		if (!is_stranger(c))
			continue;
		if (!found || c->peer != found->peer)
			n = strangers_of(h, c->peer);
		if (n < most)
			continue;
		found = c;
		most = n;
	}
	return found;
}

static struct conn *oldest_idle(struct http *h)
{
	struct conn *found = NULL;

	for (struct conn *c = h->conns; c; c = c->next) {
		if (!c->dropped && c->trusted && c->state == CONN_IDLE &&
		    (!found || c->since < found->since))
			found = c;
	}
	return found;
}

/* With the lock held. */
static void conns_make_room(struct http *h)
{
	unsigned int strangers = 0, trusted = 0;
	struct conn *drop = NULL;

	for (const struct conn *c = h->conns; c; c = c->next) {
		strangers += is_stranger(c);
		trusted += !c->dropped && c->trusted;
	}
	if (strangers > HTTP_STRANGERS_MAX)
		drop = oldest_stranger(h);
	else if (trusted > HTTP_TRUSTED_MAX)
		drop = oldest_idle(h);
	if (drop)
		conns_drop(drop);
}

void conns_trust(struct http *h, struct conn *c)
{
	pthread_mutex_lock(&h->lock);
	if (!c->trusted) {
		c->trusted = true;
		conns_make_room(h);
	}
	pthread_mutex_unlock(&h->lock);
}

static void conns_add(struct http *h, struct conn *c)
{
	pthread_mutex_lock(&h->lock);
	c->next = h->conns;
	if (c->next)
		c->next->prev = c;
	h->conns = c;
	conns_make_room(h);
	pthread_mutex_unlock(&h->lock);
}

static void conns_remove(struct http *h, struct conn *c)
{
	pthread_mutex_lock(&h->lock);
	if (c->next)
		c->next->prev = c->prev;
	if (c->prev)
		c->prev->next = c->next;
	else if (h->conns == c)
		h->conns = c->next;
	pthread_mutex_unlock(&h->lock);
	free(c);
}

void conns_notify(void *arg, struct MHD_Connection *connection, void **socket_context,
		  enum MHD_ConnectionNotificationCode what)
{
	struct http *h = arg;
	struct conn *c = *socket_context;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		const union MHD_ConnectionInfo *info =
			h->mhd.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

		c = calloc(1, sizeof(*c));
		*socket_context = c;
		if (!c || !info)
			return;
		c->fd = info->connect_fd;
		c->peer = peer_uid(c->fd);
		c->since = clock_monotonic_ns();
		conns_add(h, c);
	} else if (c) {
		conns_remove(h, c);
		*socket_context = NULL;
	}
}
