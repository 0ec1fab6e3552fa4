// SPDX-License-Identifier: Apache-2.0
/*
 * flow_opened.c: which descriptors share an open file description, as open(2) defines it: duplicates made by dup(), and
 * descriptors inherited by a child. A descriptor obtained in another way (from a process that was not recorded, over a
 * socket) is treated as having a description of its own.
 */
#include <errno.h>

#include "base/array.h"

#include "analysis/flow/flow_pass.h"

#define OPENED_MAX  (1u << 20) /* 80 MiB; further descriptors are unknown */
#define PARENTS_MAX 8

/* The last description that a process's descriptor referred to. */
struct flow_descriptor {
	struct flow_opened of;
	int64_t since, until;
};

struct flow_descriptors {
	struct flow_descriptor *all;
	size_t count, cap;
	struct map by_fd;
	int64_t last; /* highest descriptor */
};

int64_t flow_opened_last(const struct flow_state *s)
{
	return s->descriptors ? s->descriptors->last : -1;
}

void flow_opened_free(struct flow_state *s)
{
	if (!s->descriptors)
		return;
	free(s->descriptors->all);
	map_free(&s->descriptors->by_fd);
	free(s->descriptors);
	s->descriptors = NULL;
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

	return s->descriptors && map_get(&s->descriptors->by_fd, key, &at)
		       ? &s->descriptors->all[at]
		       : NULL;
}

static int descriptor_put(struct flow_state *s, uint64_t key, int64_t fd,
			  const struct flow_descriptor *d)
{
	struct flow_descriptor *old = descriptor_of(s, key);
	struct flow_descriptors *l;

	if (!s->descriptors)
		s->descriptors = calloc(1, sizeof(*s->descriptors));
	l = s->descriptors;
	if (!l)
		return -ENOMEM;
	if (!old && l->count == OPENED_MAX)
		return 0;
	old = array_of_key(l->all, l->count, l->cap, &l->by_fd, key, NULL);
	if (!old)
		return -ENOMEM;
	*old = *d;
	l->last = MAX(l->last, fd);
	return 0;
}

int flow_opened_new(struct flow_state *s, const struct flow_call *c)
{
	const uint64_t name[] = {(uint64_t)s->tasks[c->task].process_id, (uint64_t)c->ret,
				 (uint64_t)c->end};
	int64_t object = flow_object(s, c->file_id);

	if (object < 0 || object == FLOW_NONE)
		return object < 0 ? (int)object : 0;
	return descriptor_put(
		s, flow_fd_key(s, c->task, c->ret), c->ret,
		&(struct flow_descriptor){{hash_bytes(name, sizeof(name)), (uint32_t)object, false},
					  c->start,
					  INT64_MAX});
}

int flow_opened_same(struct flow_state *s, const struct flow_call *c)
{
	struct flow_opened of;
	int r = flow_opened_find(s, c, c->fd, &of);

	if (r < 0 || of.object == FLOW_NONE)
		return r;
	return descriptor_put(s, flow_fd_key(s, c->task, c->ret), c->ret,
			      &(struct flow_descriptor){of, c->start, INT64_MAX});
}

int flow_opened_end(struct flow_state *s, const struct flow_call *c, int64_t fd)
{
	uint64_t key = flow_fd_key(s, c->task, fd);
	struct flow_descriptor *d = descriptor_of(s, key);
	struct flow_opened of;

	if (!d) /* its parent still has it */
		return flow_opened_has(s, s->tasks[c->task].process_id, fd, &of)
			       ? descriptor_put(s, key, fd,
						&(struct flow_descriptor){of, INT64_MIN, c->end})
			       : 0;
	d->until = c->end;
	return 0;
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

int flow_opened_find(struct flow_state *s, const struct flow_call *c, int64_t fd,
		     struct flow_opened *ret)
{
	uint64_t key = flow_fd_key(s, c->task, fd);
	const struct flow_descriptor *d;
	int64_t object;

	d = descriptor_of(s, key);
	if (flow_opened_has(s, s->tasks[c->task].process_id, fd, ret)) /* keep an inherited one: */
		return d ? 0
			 : descriptor_put(s, key, fd,
					  &(struct flow_descriptor){*ret, INT64_MIN, INT64_MAX});
	if (d && d->until >= c->start && d->until != INT64_MAX) { /* another thread is closing it */
		*ret = d->of;
		return 0;
	}
	object = flow_object(s, c->file_id);
	if (object < 0)
		return (int)object;
	*ret = (struct flow_opened){key, (uint32_t)object, true};
	return object == FLOW_NONE
		       ? 0
		       : descriptor_put(s, key, fd,
					&(struct flow_descriptor){*ret, INT64_MIN, INT64_MAX});
}
