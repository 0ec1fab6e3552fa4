// SPDX-License-Identifier: Apache-2.0
/* route_events.c: /events: notifies each viewer when blocks were added. */
#include <errno.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "server/internal.h"

#define BEAT_NS	     (15 * NSEC_PER_SEC) /* interval of comments, which reveal a dead connection */
#define RETRY_MS     2000
#define EVENTS_EVERY (200 * NSEC_PER_MSEC) /* minimum interval of events to one viewer */

struct viewer {
	struct server *server;
	uint64_t told; /* generation last sent */
	bool greeted, ended;
	int64_t at; /* when the last event was sent */
};

static int route_events_put_event(struct server *s, const char *name, struct buf *out)
{
	struct error err = {0};
	int r;

	pthread_rwlock_rdlock(&s->lock);
	/* the document is one line: JSON escapes line breaks */
	buf_printf(out, "event: %s\ndata: ", name);
	r = trace_put(s, out, &err);
	if (r >= 0)
		r = buf_append(out, "\n\n", 2);
	pthread_rwlock_unlock(&s->lock);
	return r;
}

/* Waits for a change: 1, 0 if there was none within BEAT_NS, negative if the server stops. */
static int wait_news(struct viewer *v, bool *ret_end)
{
	struct server *s = v->server;
	struct timespec until;
	int r = 0;

	clock_after(BEAT_NS, &until);
	pthread_mutex_lock(&s->news_lock);
	while (!s->stopping && s->news_generation == v->told && !s->news_end && r == 0)
		r = pthread_cond_timedwait(&s->news, &s->news_lock, &until);
	r = s->stopping ? -ECANCELED : s->news_generation != v->told || s->news_end;
	v->told = s->news_generation;
	*ret_end = s->news_end;
	pthread_mutex_unlock(&s->news_lock);
	return r;
}

static int more(void *arg, struct buf *out)
{
	struct viewer *v = arg;
	int64_t since = clock_monotonic_ns() - v->at;
	bool end;
	int r;

	if (v->ended)
		return 0;
	if (!v->greeted) {
		v->greeted = true;
		return buf_printf(out, "retry: %d\n\n", RETRY_MS) < 0 ? -ENOMEM : 1;
	}
	if (since < EVENTS_EVERY) {
		const struct timespec pause = {.tv_nsec = EVENTS_EVERY - since};

		nanosleep(&pause, NULL);
	}
	r = wait_news(v, &end);
	if (r < 0)
		return r;
	v->at = clock_monotonic_ns();
	v->ended = end;
	if (r == 0)
		return buf_append(out, ":\n\n", 3) < 0 ? -ENOMEM : 1;
	return route_events_put_event(v->server, end ? "end" : "trace", out) < 0 ? -ENOMEM : 1;
}

static void done(void *arg)
{
	free(arg);
}

void events_get(void *arg, struct http_request *r)
{
	struct viewer *v = calloc(1, sizeof(*v));
	const struct http_stream stream = {.more = more, .done = done, .arg = v};

	if (!v) {
		http_reply_text(r, 500, "text/plain; charset=utf-8", "out of memory\n");
		return;
	}
	v->server = arg;
	http_add_header(r, "X-Accel-Buffering", "no");
	http_reply_stream(r, "text/event-stream", &stream);
}
