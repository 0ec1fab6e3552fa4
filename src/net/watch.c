// SPDX-License-Identifier: Apache-2.0
/*
 * watch.c: a thread that stops requests whose client went away or whose time is up, and closes connections whose
 * request does not arrive in time.
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>

#include "base/clock.h"
#include "net/internal.h"

#define TICK_NS	     (20 * NSEC_PER_MSEC) /* while a request is running */
#define TICK_IDLE_NS NSEC_PER_SEC

static bool went_away(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};

	return poll(&p, 1, 0) > 0 && (p.revents & (POLLRDHUP | POLLHUP | POLLERR));
}

static void watch_look_at(const struct http *h, const struct conn *c, int64_t now)
{
	struct http_request *r = c->request;
	int why = 0;

	if (c->state == CONN_IDLE && now - c->since > (HTTP_IDLE_S + 15) * NSEC_PER_SEC)
		shutdown(c->fd, SHUT_RDWR);
	/* receiving the first line of a request is not a separate state */
	if ((c->state == CONN_RECEIVING || (c->state == CONN_IDLE && !c->trusted)) &&
	    now - c->since > HTTP_RECEIVE_NS)
		shutdown(c->fd, SHUT_RDWR);
	if (!r || (c->state != CONN_WORKING && c->state != CONN_SENDING))
		return;
	if (h->stopping || (c->state == CONN_WORKING && went_away(c->fd)))
		why = -ECANCELED;
	else if (r->deadline && now > r->deadline)
		why = -ETIMEDOUT;
	if (why && !r->stopped)
		__atomic_store_n(&r->stopped, why, __ATOMIC_RELAXED);
	if (r->stopped && r->interrupt)
		r->interrupt(r->interrupt_arg);
}

void *http_watch(void *arg)
{
	struct http *h = arg;
	struct timespec until;

	pthread_mutex_lock(&h->lock);
	while (h->daemon) {
		int64_t now = clock_monotonic_ns();

		for (const struct conn *c = h->conns; c; c = c->next)
			watch_look_at(h, c, now);
		clock_after(h->working || h->stopping ? TICK_NS : TICK_IDLE_NS, &until);
		pthread_cond_timedwait(&h->wake, &h->lock, &until);
	}
	pthread_mutex_unlock(&h->lock);
	return NULL;
}
