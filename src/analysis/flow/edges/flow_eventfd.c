// SPDX-License-Identifier: Apache-2.0
/*
 * flow_eventfd.c: edges through eventfd. A read returns the sum of all writes since the previous read, so it follows
 * all of them. Descriptors are matched by number, within one process.
 */
#include <errno.h>
#include <string.h>
#include <sys/eventfd.h>

#include "base/array.h"

#include "analysis/flow/flow_pass.h"

#define EVENTS_FEW 8

struct flow_event {
	uint32_t node;
	int64_t start, end;
};

struct flow_counter {
	struct flow_event writes[EVENTS_FEW], reads[EVENTS_FEW]; /* in order */
	unsigned int write_count;
	/* number of reads that returned before the write they waited for */
	unsigned int read_count;
	bool semaphore;
};

struct flow_counters {
	struct flow_counter *all;
	size_t count, cap;
	struct map by_fd;
};

void flow_eventfds_free(struct flow_state *s)
{
	if (!s->counters)
		return;
	free(s->counters->all);
	map_free(&s->counters->by_fd);
	free(s->counters);
	s->counters = NULL;
}

static void event_add(struct flow_event *list, unsigned int *count, const struct flow_event *e)
{
	if (*count == EVENTS_FEW) { /* drop the oldest, which is the least likely to match */
		memmove(list, list + 1, (EVENTS_FEW - 1) * sizeof(*list));
		--*count;
	}
	list[(*count)++] = *e;
}

int flow_eventfd_made(struct flow_state *s, const struct flow_call *c)
{
	struct flow_counters *l;
	struct flow_counter *n;
	uint64_t key = flow_fd_key(s, c->task, c->ret);

	if (c->failed)
		return 0;
	if (!s->counters)
		s->counters = calloc(1, sizeof(*s->counters));
	l = s->counters;
	if (!l)
		return -ENOMEM;
	n = array_of_key(l->all, l->count, l->cap, &l->by_fd, key, NULL);
	if (!n)
		return -ENOMEM;
	*n = (struct flow_counter){.semaphore = (c->flags & EFD_SEMAPHORE) != 0};
	return 0;
}

int flow_eventfd_move(struct flow_state *s, struct flow_call *c, enum flow_side side)
{
	struct flow_counter *l;
	int64_t n;
	unsigned int left = 0;
	int r = 0;
	uint64_t at;

	/* created before recording, or by another process */
	if (!s->counters || !map_get(&s->counters->by_fd, flow_fd_key(s, c->task, c->fd), &at))
		return 0;
	l = &s->counters->all[at];
	n = flow_call_node(s, c);
	if (n < 0)
		return (int)n;
	const struct flow_event me = {(uint32_t)n, c->start, c->end};

	if (side == FLOW_SEND) {
		for (unsigned int i = 0; i < l->read_count && r >= 0; i++) {
			if (l->reads[i].end > c->start)
				r = flow_edge_of_calls(s, VIA_EVENTFD, me.node, l->reads[i].node,
						       c->file_id,
						       !l->semaphore && l->read_count == 1);
		}
		l->read_count = 0;
		event_add(l->writes, &l->write_count, &me);
		return r;
	}
	for (unsigned int i = 0; i < l->write_count && r >= 0; i++) {
		bool before = l->writes[i].end <= c->start;

		r = flow_edge_of_calls(s, VIA_EVENTFD, l->writes[i].node, me.node, c->file_id,
				       !l->semaphore && (before || l->write_count == 1));
		if (!before && l->write_count > 1)
			l->writes[left++] = l->writes[i];
	}
	if (!l->write_count)
		event_add(l->reads, &l->read_count, &me);
	l->write_count = left;
	return r;
}
