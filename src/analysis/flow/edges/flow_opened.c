// SPDX-License-Identifier: Apache-2.0
/*
 * flow_opened.c: which descriptors share an open file description, as open(2) defines it: duplicates made by dup(), and
 * descriptors inherited by a child. A descriptor obtained in another way (from a process that was not recorded, over a
 * socket) is treated as having a description of its own.
 */
#include <errno.h>

#include "base/array.h"

#include "analysis/flow/flow_pass.h"

#define OPENED_MAX (1u << 20) /* 80 MiB; further descriptors are unknown */

/* The last description that a process's descriptor referred to. */
struct flow_descriptor {
	struct flow_opened of;
	int64_t since, until;
};

void flow_opened_free(struct flow_state *s)
{
	free(s->descriptors.all);
	map_free(&s->descriptors.by_fd);
}

static uint64_t fd_key(int64_t process_id, int64_t fd)
{
	const uint64_t key[] = {(uint64_t)process_id, (uint64_t)fd};

	return hash_bytes(key, sizeof(key)) | 1;
}

uint64_t flow_fd_key(const struct flow_state *s, uint32_t task, int64_t fd)
{
	return fd_key(s->tasks[task].process_id, fd);
}

static struct flow_descriptor *descriptor_of(const struct flow_state *s, uint64_t key)
{
	uint64_t at;

	return map_get(&s->descriptors.by_fd, key, &at) ? &s->descriptors.all[at] : NULL;
}

static void descriptor_put(struct flow_state *s, uint64_t key, int64_t fd,
			   const struct flow_opened *of, int64_t since, int64_t until)
{
	struct flow_descriptors *l = &s->descriptors;
	struct flow_descriptor *d;

	if (!descriptor_of(s, key) && l->count == OPENED_MAX)
		return;
	d = array_of_key(l->all, l->count, l->cap, &l->by_fd, key, NULL);
	if (!d) {
		flow_failed(s, -ENOMEM);
		return;
	}
	*d = (struct flow_descriptor){*of, since, until};
	l->last = MAX(l->last, fd);
}

void flow_opened_new(struct flow_state *s, const struct flow_call *c)
{
	const uint64_t name[] = {(uint64_t)s->tasks[c->task].process_id, (uint64_t)c->ret,
				 (uint64_t)c->end};
	uint32_t object = flow_object(s, c->file_id);
	const struct flow_opened of = {hash_bytes(name, sizeof(name)), object, false};

	if (object != FLOW_NONE)
		descriptor_put(s, flow_fd_key(s, c->task, c->ret), c->ret, &of, c->start,
			       INT64_MAX);
}

void flow_opened_same(struct flow_state *s, const struct flow_call *c)
{
	struct flow_opened of;

	if (flow_opened_find(s, c, c->fd, &of))
		descriptor_put(s, flow_fd_key(s, c->task, c->ret), c->ret, &of, c->start,
			       INT64_MAX);
}

void flow_opened_end(struct flow_state *s, const struct flow_call *c, int64_t fd)
{
	uint64_t key = flow_fd_key(s, c->task, fd);
	struct flow_descriptor *d = descriptor_of(s, key);
	struct flow_opened of;

	if (d)
		d->until = c->end;
	else if (flow_opened_has(s, s->tasks[c->task].process_id, fd, &of))
		/* its parent still has it */
		descriptor_put(s, key, fd, &of, INT64_MIN, c->end);
}

bool flow_opened_has(struct flow_state *s, int64_t process_id, int64_t fd, struct flow_opened *ret)
{
	for (int64_t at = process_id, born = INT64_MAX; at >= 0;) {
		const struct flow_descriptor *d = descriptor_of(s, fd_key(at, fd));
		const struct dims_process *p = dims_process(s->dims, at);
		int64_t parent;

		if (d) {
			*ret = d->of;
			return born == INT64_MAX ? d->until == INT64_MAX
						 : d->since <= born && born <= d->until;
		}
		parent = flow_task_parent(s, at);
		if (!p || parent == at)
			break;
		born = p->started;
		at = parent;
	}
	return false;
}

bool flow_opened_find(struct flow_state *s, const struct flow_call *c, int64_t fd,
		      struct flow_opened *ret)
{
	uint64_t key = flow_fd_key(s, c->task, fd);
	const struct flow_descriptor *d = descriptor_of(s, key);

	if (flow_opened_has(s, s->tasks[c->task].process_id, fd, ret)) {
		if (!d) /* keep an inherited one */
			descriptor_put(s, key, fd, ret, INT64_MIN, INT64_MAX);
		return true;
	}
	if (d && d->until >= c->start && d->until != INT64_MAX) { /* another thread is closing it */
		*ret = d->of;
		return true;
	}
	*ret = (struct flow_opened){key, flow_object(s, c->file_id), true};
	if (ret->object == FLOW_NONE)
		return false;
	descriptor_put(s, key, fd, ret, INT64_MIN, INT64_MAX);
	return true;
}
