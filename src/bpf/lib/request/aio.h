/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * aio.h: requests of libaio, for which the kernel has no tracepoint. io_submit gets addresses of requests, which are
 * read when the call begins: another thread may fetch a result and reuse the request before the call ends. A request is
 * identified by its context and its address in the program's memory. Its end is known when a thread fetches the result
 * by io_getevents. Some programs do so without a call; then its end is noticed when it is reused.
 */
#pragma once

#include "bpf/lib/request/aio_map.h"
#include "bpf/lib/call/call.h"
#include "bpf/lib/request/request_record.h"
#include "bpf/lib/call/vector.h"

/* Set before loading, by IOCB_CMD_*. */
const volatile struct wire_request_op aio_ops[WIRE_AIO_OPS];

/* Read by the recorder. */
struct wire_requests aio_counts;

static __always_inline const volatile struct wire_request_op *aio_op_of(__u32 opcode)
{
	if (opcode >= WIRE_AIO_OPS)
		opcode = WIRE_AIO_OPS - 1;
	barrier_var(opcode); /* keep the mask, which 6.1's verifier needs */
	return &aio_ops[opcode & (WIRE_AIO_OPS - 1)];
}

/* Sends a request that has ended; its position is that at submission. */
static __always_inline void aio_send(struct wire_live *p, __s64 ret, __u32 status, __u64 now)
{
	struct request_end e = {.now = now,
				.ret = ret,
				.pos = p->pos,
				.file = p->file,
				.status = status,
				.fd2 = -1};

	if (end_left_out(p, &e))
		cpu_count(filtered);
	else
		request_record(p, &e, KIND_LIBAIO);
}

/* The requests or events of a call, in a scratch buffer, as the stack is small. */
struct aio_room {
	struct wire_live one; /* the current one */
	__u64 context, at, now;
	__s64 first;
	__s32 tgid;
	__u32 pad;
};

struct aio_call {
	struct scratch *room; /* its data contains struct aio_room */
	struct thread_state *ts;
};

static __always_inline struct aio_room *aio_room(struct aio_call *c)
{
	return (struct aio_room *)c->room->data;
}

/* Unless it returns false, scratch_put() must follow. */
static __always_inline bool aio_begin(struct aio_call *c, __u64 context, __u64 at)
{
	context = aio_context(context);
	c->room = context ? request_room() : NULL;
	if (!c->room)
		return false;
	aio_room(c)->context = context;
	aio_room(c)->at = at;
	aio_room(c)->now = bpf_ktime_get_ns();
	return true;
}

/* Reads what the program wrote; 0: not recorded. The stack is small, so the file look-up gets it to itself. */
verified_alone int aio_describe(struct wire_live *p, __u64 at)
{
	const volatile struct wire_request_op *op;
	struct iocb cb;

	if (!p)
		return 0;
	if (bpf_probe_read_user(&cb, sizeof(cb), (void *)at)) {
		cpu_count(unread);
		return 0;
	}
	op = aio_op_of(cb.opcode);
	if (!(op->what & WIRE_REQUEST_RECORD))
		return 0;
	p->pos = op->what & WIRE_REQUEST_POS ? cb.offset : WIRE_NONE;
	p->pos2 = WIRE_NONE;
	p->file = 0;
	p->status = 0;
	p->parts = 0;
	p->size = WIRE_SIZE_UNKNOWN;
	p->fd = cb.fd;
	p->fd2 = -1;
	p->opcode = cb.opcode;
	p->flags = cb.rw_flags;
	p->memory.at = cb.buf;
	p->memory.count = cb.bytes;
	p->memory.mm = (__u64)tread(struct task_struct, bpf_get_current_task_btf(), mm);
	p->memory.hashed = 0;
	p->memory_state = WIRE_MEMORY_UNSEEN;
	if (op->size == WIRE_REQUEST_LEN) {
		p->size = cb.bytes;
		p->memory_state = WIRE_MEMORY_BUFFER;
	}
	if (op->size == WIRE_REQUEST_VECTOR && !is_compat(bpf_get_current_task_btf())) {
		p->size = vector_sum(cb.buf, cb.bytes);
		p->memory_state = WIRE_MEMORY_VECTOR;
	}
	return 1;
}

static __always_inline void aio_file(struct wire_live *p, struct thread_state *ts)
{
	__u64 file = fd_file_apart(p->fd);
	struct last_file *l;

	if (!file)
		return;
	l = file_of(ts, file, p->fd);
	p->file = l->key;
	if (content)
		p->memory.sample = kread(struct inode, kread(struct file, file, f_inode), i_ino);
	if (!(l->kind & FILE_SEEKABLE))
		p->pos = WIRE_NONE;
	/* The file's end, where the kernel will write, is unknown until then. */
	else if ((aio_op_of(p->opcode)->what & WIRE_REQUEST_APPENDS) &&
		 ((p->flags & RWF_APPENDS) || (kread(struct file, file, f_flags) & FLAGS_APPEND)))
		p->pos = WIRE_NONE;
}

/* A request not known to have ended is reused: its result was fetched without a call. */
verified_alone int aio_replaced(__u64 context, __u64 iocb)
{
	struct aio_key k = {.context = context, .iocb = iocb};
	struct wire_live *old;

	old = bpf_map_lookup_elem(&aio_requests, &k);
	if (!old)
		return 0;
	__sync_fetch_and_add(&aio_counts.silent, 1);
	aio_send(old, 0, STATUS_NO_END, bpf_ktime_get_ns());
	bpf_map_delete_elem(&aio_requests, &k);
	return 0;
}

static long submit_step(__u32 i, struct aio_call *c)
{
	struct aio_room *room = aio_room(c);
	struct wire_live *p = &room->one;
	struct aio_key k = {.context = room->context};
	int r;

	if (bpf_probe_read_user(&k.iocb, sizeof(k.iocb), (void *)(room->at + 8 * (__u64)i))) {
		cpu_count(unread);
		return 0;
	}
	if (!aio_describe(p, k.iocb))
		return 0;
	p->thread = c->ts->version;
	p->tid = c->ts->tid;
	p->tgid = room->tgid;
	aio_file(p, c->ts);
	p->start = bpf_ktime_get_ns(); /* distinct for all requests of a thread */
	r = bpf_map_update_elem(&aio_requests, &k, p, BPF_NOEXIST);
	__sync_fetch_and_add(&aio_counts.submitted, 1);
	if (r == -EEXIST) {
		aio_replaced(k.context, k.iocb);
		r = bpf_map_update_elem(&aio_requests, &k, p, BPF_NOEXIST);
	}
	if (r)
		__sync_fetch_and_add(&aio_counts.full, 1);
	return 0;
}

/* Separate, as 6.1 has no stack left during the file look-up. */
verified_alone int aio_tgid(struct scratch *room)
{
	if (room)
		((struct aio_room *)room->data)->tgid = tgid_of(bpf_get_current_task_btf());
	return 0;
}

/* The enter of io_submit. */
verified_alone int aio_submit(struct thread_state *ts)
{
	struct aio_call c = {.ts = ts};
	__u64 count;

	if (!ts || !aio_begin(&c, ts->call.args[0], ts->call.args[2]))
		return 0;
	aio_tgid(c.room);
	count = ts->call.args[1];
	bpf_loop(count < AIO_BATCH ? count : AIO_BATCH, submit_step, &c, 0);
	scratch_put(c.room);
	return 0;
}

static long refused_step(__u32 i, struct aio_call *c)
{
	struct aio_room *room = aio_room(c);
	struct aio_key k = {.context = room->context};

	if (!bpf_probe_read_user(&k.iocb, sizeof(k.iocb),
				 (void *)(room->at + 8 * (room->first + (__u64)i))) &&
	    !bpf_map_delete_elem(&aio_requests, &k))
		__sync_fetch_and_add(&aio_counts.submitted, -1);
	return 0;
}

/* The exit of io_submit: requests from the first one that the kernel rejected on were not submitted. */
static __always_inline void aio_submitted(struct thread_state *ts, __s64 ret)
{
	struct aio_call c = {.ts = ts};
	__s64 count = ts->call.args[1], first = ret > 0 ? ret : 0;

	if (first > AIO_BATCH) { /* only this many were read */
		__sync_fetch_and_add(&aio_counts.submitted, first - AIO_BATCH);
		__sync_fetch_and_add(&aio_counts.full, first - AIO_BATCH);
	}
	if (count > AIO_BATCH)
		count = AIO_BATCH;
	if (first >= count || !aio_begin(&c, ts->call.args[0], ts->call.args[2]))
		return;
	aio_room(&c)->first = first;
	bpf_loop(count - first, refused_step, &c, 0);
	scratch_put(c.room);
}

static long reap_step(__u32 i, struct aio_call *c)
{
	struct aio_room *room = aio_room(c);
	struct aio_key k = {.context = room->context};
	struct aio_event e;
	struct wire_live *p;

	if (bpf_probe_read_user(&e, sizeof(e), (void *)(room->at + sizeof(e) * (__u64)i))) {
		cpu_count(unread);
		return 0;
	}
	k.iocb = e.obj;
	p = bpf_map_lookup_elem(&aio_requests, &k);
	if (p) {
		aio_send(p, e.res, STATUS_REAPED, room->now);
		bpf_map_delete_elem(&aio_requests, &k);
		__sync_fetch_and_add(&aio_counts.ended, 1);
		return 0;
	}
	/* Submitted before recording began: the program's request is still there. */
	p = &room->one;
	if (selection.tids || !aio_describe(p, e.obj))
		return 0;
	__sync_fetch_and_add(&aio_counts.unstarted, 1);
	p->start = 0;
	p->thread = c->ts->version;
	p->tid = c->ts->tid;
	aio_send(p, e.res, STATUS_REAPED | STATUS_NO_START, room->now);
	return 0;
}

/* The exit of a libaio call. */
verified_alone int aio_exit(struct thread_state *ts, struct wire_plan *p, __s64 ret)
{
	struct aio_call c = {.ts = ts};

	if (!ts || !p)
		return 0;
	if (p->flags & WIRE_PLAN_SUBMITS) {
		aio_submitted(ts, ret);
		return 0;
	}
	if (ret <= 0 || !aio_begin(&c, ts->call.args[0], ts->call.args[3]))
		return 0;
	if (content && ts->content.fetched) {
		aio_room(&c)->now = ts->content.fetched;
		ts->content.fetched = 0;
	}
	bpf_loop(ret < AIO_BATCH ? ret : AIO_BATCH, reap_step, &c, 0);
	if (ret > AIO_BATCH)
		__sync_fetch_and_add(&this_cpu()->unread, ret - AIO_BATCH);
	scratch_put(c.room);
	return 0;
}
