/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * published.h: the span context that a thread publishes in its own memory, as OpenTelemetry's thread context: a
 * thread-local pointer to a record. The recorder located that variable for a process that announced itself
 * (capture/ebpf/contexts/otel_process.c) and put it into the map of publishers. The record is read at the exit of each
 * recorded call and sent if it changed; a thread that publishes nothing pays for a test of its flags.
 *
 * A further call with the same context costs two reads of the program's memory. They never fault a page in: what is not
 * in memory counts as unknown.
 *
 * For a process that publishes nothing, contexts come from the map in which OpenTelemetry's eBPF instrumentation (OBI)
 * stores the request that a thread serves, if that is pinned: one look-up for each call.
 */
#pragma once

#include "bpf/lib/ring.h"

#define DTV_POINTER   8 /* offset from the thread's base to the pointer to its vector of TLS blocks */
#define DTV_ENTRY     16      /* bytes; the first entry holds the number of entries */
#define DTV_UNTOUCHED (~0ull) /* for a module whose variables this thread has not used yet */
#define DTV_MAX	      4096    /* modules */

/* The part of the program's record that is read. */
struct published {
	__u64 ids[3]; /* trace id, 16 bytes, and span id */
	__u8 valid;   /* 1 */
	__u8 pad[7];
};
#define PUBLISHED_BYTES 25 /* up to and including `valid` */

/* The thread's base address as known to the kernel, which is right if it was set by a system call. 0: unknown. */
static __always_inline __u64 thread_base(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread.fsbase;
#else
	return 0;
#endif
}

static __always_inline __u64 user_word(__u64 at)
{
	__u64 v = 0;

	bpf_probe_read_user(&v, sizeof(v), (void *)at);
	return v;
}

/* The address of the current thread's variable; 0: none yet, as it was not used. */
static __always_inline __u64 published_find(struct wire_publisher *p, __u64 base)
{
	__u64 dtv, block;

	if (!base)
		return 0;
	if (!p->module)
		return base + p->offset;
	dtv = user_word(base + DTV_POINTER);
	if (!dtv || p->module > DTV_MAX || user_word(dtv - DTV_ENTRY) < p->module)
		return 0;
	block = user_word(dtv + (__u64)p->module * DTV_ENTRY);
	return block && block != DTV_UNTOUCHED ? block + p->offset : 0;
}

/* Sends that another context begins or, with ids of 0, that there is none; until: when the previous one was last seen. */
static __always_inline bool context_send(struct thread_state *ts, __u64 ids[3], __u64 start,
					 __u64 end)
{
	struct wire_context *r;
	struct ring_place p;
	__u32 seq;

	r = ring_take(&p, sizeof(*r), sizeof(*r), &seq);
	if (!r) {
		cpu_count(unsent);
		return false;
	}
	head_fill(&r->head, WIRE_CONTEXT, 0, sizeof(*r), seq, end);
	r->start = start;
	r->until = ts->context.until;
	r->ids[0] = ids[0];
	r->ids[1] = ids[1];
	r->ids[2] = ids[2];
	r->thread = ts->version;
	r->flags = ts->context.flags;
	ring_commit(&p);
	return true;
}

/* The thread's version ends, and with it its context row. */
verified_alone int context_close(struct thread_state *ts)
{
	__u64 none[3] = {};

	if (!ts)
		return 0;
	if (ts->context.until)
		context_send(ts, none, 0, bpf_ktime_get_ns());
	ts->context.until = 0;
	return 0;
}

/* Whether the thread's process publishes contexts, and where. */
verified_alone int context_look(struct thread_state *ts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct wire_publisher *p;
	__u32 tgid = tgid_of(task);

	if (!ts)
		return 0;
	p = bpf_map_lookup_elem(&publishers, &tgid);
	if (p && p->process_start != BPF_CORE_READ(task, group_leader, start_boottime))
		p = NULL;
	if (!p || p->number != ts->context.publisher) {
		__u64 inherited = ts->context.inherited;

		context_close(ts);
		__builtin_memset(&ts->context, 0, sizeof(ts->context));
		ts->context.inherited = inherited;
	}
	ts->flags &= ~THREAD_PUBLISHES;
	if (!p)
		return 0;
	ts->context.publisher = p->number;
	ts->flags |= THREAD_PUBLISHES;
	return 0;
}

/* A new process has a copy of its parent's memory, which contains the parent's context. */
static __always_inline void context_inherit(struct task_struct *parent, struct thread_state *child)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, parent, 0, 0);

	if (ts && ts->context.until)
		child->context.inherited = ts->context.ids[2];
}

/* The process executes another program. */
verified_alone int context_forget(struct thread_state *ts)
{
	__u32 tgid = tgid_of(bpf_get_current_task_btf());

	if (!ts)
		return 0;
	context_close(ts);
	__builtin_memset(&ts->context, 0, sizeof(ts->context));
	ts->flags &= ~THREAD_PUBLISHES;
	bpf_map_delete_elem(&publishers, &tgid);
	return 0;
}

static __always_inline bool context_find(struct thread_state *ts, struct task_struct *task)
{
	__u32 tgid;
	struct wire_publisher *p;

	if (likely(ts->context.at))
		return true;
	tgid = tgid_of(task);
	p = bpf_map_lookup_elem(&publishers, &tgid);
	if (p)
		ts->context.at = published_find(p, thread_base(task));
	return ts->context.at;
}

/* Reads the record; ids of 0: none, or unknown. */
static __always_inline void context_read(struct thread_state *ts, struct published *ret)
{
	__u64 record = 0;
	long r;

	r = bpf_probe_read_user(&record, sizeof(record), (void *)ts->context.at);
	if (!r && record)
		r = bpf_probe_read_user(ret, PUBLISHED_BYTES, (void *)record);
	if (r && !(ts->context.flags & WIRE_CONTEXT_UNREAD)) {
		ts->context.flags |= WIRE_CONTEXT_UNREAD;
		__sync_fetch_and_add(&contexts_unread, 1);
	} else if (!r) {
		ts->context.flags &= ~WIRE_CONTEXT_UNREAD;
	}
	if (r || ret->valid != 1)
		ret->ids[0] = ret->ids[1] = ret->ids[2] = 0;
}

static __always_inline bool context_is(const struct published *p)
{
	return (p->ids[0] | p->ids[1]) && p->ids[2];
}

static __always_inline void obi_read(struct published *ret)
{
	__u64 key = bpf_get_current_pid_tgid();
	struct wire_obi_context *o = bpf_map_lookup_elem(&obi_contexts, &key);

	if (!o)
		return;
	ret->ids[0] = o->ids[0];
	ret->ids[1] = o->ids[1];
	ret->ids[2] = o->ids[2];
}

/* Whether the exit of a call must look for a context. */
static __always_inline bool context_wanted(const struct thread_state *ts)
{
	return obi || ts->flags & THREAD_PUBLISHES;
}

/* The exit of a call in a thread whose context is known. end 0: the call is not recorded. */
verified_alone int context_take(struct thread_state *ts, __u32 waits, __u64 end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct published now = {};
	struct thread_context *c;

	if (!ts)
		return 0;
	c = &ts->context;
	if (obi && !(ts->flags & THREAD_PUBLISHES)) {
		obi_read(&now);
		c->flags |= WIRE_CONTEXT_OBI;
	} else {
		if (!context_find(ts, task))
			return 0;
		context_read(ts, &now);
		c->flags &= ~WIRE_CONTEXT_OBI;
	}
	/* It waits for events with a context set: it runs an event loop, and the context may belong to a suspended
	 * task. */
	if (waits && context_is(&now))
		c->flags |= WIRE_CONTEXT_LOOP;
	if (!end)
		return 0;
	if (likely(c->until && now.ids[0] == c->ids[0] && now.ids[1] == c->ids[1] &&
		   now.ids[2] == c->ids[2])) {
		c->until = end;
		return 0;
	}
	if (!c->until && !context_is(&now))
		return 0;
	if (!context_is(&now)) {
		context_close(ts);
		return 0;
	}
	c->flags &= ~WIRE_CONTEXT_INHERITED;
	if (c->inherited == now.ids[2])
		c->flags |= WIRE_CONTEXT_INHERITED;
	else
		c->inherited = 0;
	/* If there is no room the next call tries again; until then the context is unknown. */
	if (!context_send(ts, now.ids, ts->call.op.start ? ts->call.op.start : end, end)) {
		c->ids[2] = 0;
		return 0;
	}
	c->ids[0] = now.ids[0];
	c->ids[1] = now.ids[1];
	c->ids[2] = now.ids[2];
	c->until = end;
	return 0;
}
