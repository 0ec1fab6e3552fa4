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

struct flow_counter {
	struct flow_moment writes[EVENTS_FEW], reads[EVENTS_FEW]; /* in order */
	unsigned int write_count;
	/* number of reads that returned before the write they waited for */
	unsigned int read_count;
	bool semaphore;
};

void flow_eventfds_free(struct flow_state *s)
{
	free(s->counters.all);
	map_free(&s->counters.by_fd);
}

static void event_add(struct flow_moment *list, unsigned int *count, const struct flow_moment *e)
{
	if (*count == EVENTS_FEW) { /* drop the oldest, which is the least likely to match */
		memmove(list, list + 1, (EVENTS_FEW - 1) * sizeof(*list));
		--*count;
	}
	list[(*count)++] = *e;
}

void flow_eventfd_made(struct flow_state *s, struct flow_call *c)
{
	struct flow_counters *l = &s->counters;
	struct flow_counter *n;

	if (c->failed)
		return;
	n = array_of_key(l->all, l->count, l->cap, &l->by_fd, flow_fd_key(s, c->task, c->ret),
			 NULL);
	if (n)
		*n = (struct flow_counter){.semaphore = (c->flags & EFD_SEMAPHORE) != 0};
	else
		flow_failed(s, -ENOMEM);
}

void flow_eventfd_move(struct flow_state *s, struct flow_call *c, enum flow_side side)
{
	struct flow_counter *l;
	struct flow_moment me;
	unsigned int left = 0;
	uint64_t at;

	/* created before recording, or by another process */
	if (!map_get(&s->counters.by_fd, flow_fd_key(s, c->task, c->fd), &at))
		return;
	l = &s->counters.all[at];
	flow_call_node(s, c);
	me = flow_call_moment(c);
	if (side == FLOW_SEND) {
		for (unsigned int i = 0; i < l->read_count; i++) {
			if (l->reads[i].end > c->start)
				flow_edge_of_calls(s, VIA_EVENTFD, me.node, l->reads[i].node,
						   c->file_id, !l->semaphore && l->read_count == 1);
		}
		l->read_count = 0;
		event_add(l->writes, &l->write_count, &me);
		return;
	}
	for (unsigned int i = 0; i < l->write_count; i++) {
		bool before = l->writes[i].end <= c->start;

		flow_edge_of_calls(s, VIA_EVENTFD, l->writes[i].node, me.node, c->file_id,
				   !l->semaphore && (before || l->write_count == 1));
		if (!before && l->write_count > 1)
			l->writes[left++] = l->writes[i];
	}
	if (!l->write_count)
		event_add(l->reads, &l->read_count, &me);
	l->write_count = left;
}
