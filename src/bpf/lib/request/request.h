/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * request.h: requests of io_uring that have not ended, and the record of one that has. All of this runs where the
 * kernel submits and completes requests: in a thread of the program, in a kernel worker or poller of its ring, or in a
 * kernel thread that ends a ring; never in an interrupt.
 */
#pragma once

#include "bpf/lib/request/request_record.h"
#include "bpf/lib/thread/thread.h"
#include "bpf/lib/call/vector.h"

#define AT_OWN_POS (-1) /* the file's current position */

/* Set before loading. */
const volatile struct wire_request_op request_ops[WIRE_REQUEST_OPS];

/* Read by the recorder. */
struct wire_requests request_counts[WIRE_CPUS_MAX] __attribute__((aligned(64)));

/* By the address of the kernel's request. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, struct wire_live);
} requests SEC(".maps");

struct shot_key {
	__u64 ctx, user_data;
};

struct shot {
	__u64 request; /* 0: several have that user_data */
	__u64 count;
};

/* Multishot requests: for these the kernel reports ring and user_data, not the request. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct shot_key);
	__type(value, struct shot);
} shots SEC(".maps");

/* A tracepoint's pointer as a number; the verifier must see it as a pointer here. */
verified_alone __u64 number_at(const __u64 *pointer)
{
	return pointer ? *pointer : 0;
}

static __always_inline struct wire_requests *counts(void)
{
	return &request_counts[bpf_get_smp_processor_id() & (WIRE_CPUS_MAX - 1)];
}

static __always_inline const volatile struct wire_request_op *op_of(__u32 opcode)
{
	if (opcode >= WIRE_REQUEST_OPS)
		opcode = WIRE_REQUEST_OPS - 1;
	barrier_var(opcode); /* keep the mask, which 6.1's verifier needs */
	return &request_ops[opcode & (WIRE_REQUEST_OPS - 1)];
}

/* The current thread's state, if its requests are recorded. */
static __always_inline struct thread_state *thread_recorded(void)
{
	struct thread_state *ts = thread_get(bpf_get_current_task_btf());

	if (unlikely(!ts)) {
		cpu_count(storage);
		return NULL;
	}
	if (unlikely(thread_needs_look(ts)))
		thread_look(ts);
	return ts->flags & THREAD_SELECTED ? ts : NULL;
}

/* The same, NULL also if that is not known yet: without what finds it out, which is most of a program. */
static __always_inline struct thread_state *thread_recorded_before(void)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);

	return ts && !thread_needs_look(ts) && (ts->flags & THREAD_SELECTED) ? ts : NULL;
}

/* The file of a descriptor that a request names. */
static __always_inline void request_file(struct thread_state *ts, struct wire_live *p)
{
	__u64 file = fd_file_apart(p->fd);

	if (file)
		p->file = file_of(ts, file, p->fd)->key;
}

/* The file that a request worked on. */
static __always_inline void end_file(struct thread_state *ts, struct wire_live *p,
				     struct request_end *e)
{
	__u64 file = knum(struct io_kiocb, e->request, file);
	struct last_file *l;

	if (!file)
		return;
	l = file_of(ts, file, p->fd);
	e->kind = l->kind;
	if (op_of(p->opcode)->what & WIRE_REQUEST_SPLICE) {
		e->file2 = l->key;
		return;
	}
	e->file = l->key;
	if (!(l->kind & FILE_SEEKABLE)) {
		e->pos = WIRE_NONE;
		return;
	}
	if (p->pos == WIRE_NONE)
		return;
	/* The kernel advances it. */
	if ((op_of(p->opcode)->what & WIRE_REQUEST_APPENDS) && e->ret > 0 &&
	    ((p->flags & RWF_APPENDS) || (kread(struct file, file, f_flags) & FLAGS_APPEND)))
		e->status |= STATUS_APPEND;
	else if (p->pos != AT_OWN_POS)
		return;
	e->pos = kread(struct kiocb, e->request, ki_pos);
	if (e->ret > 0)
		e->pos -= e->ret;
	if (e->pos < 0)
		e->pos = WIRE_NONE;
}

/* The file behind a descriptor that a request returned. */
static __always_inline void end_descriptor(struct thread_state *ts, struct wire_live *p,
					   struct request_end *e)
{
	__u64 file = fd_file_apart(e->ret);
	struct last_file *l;

	e->fd2 = e->ret;
	if (!file)
		return;
	l = file_of(ts, file, e->ret);
	e->file2 = l->key;
	e->kind |= l->kind & FILE_WANTED;
}

/* Completes the end of a request by its file and position. 0: it is not recorded. */
verified_alone int request_end_fill(struct wire_live *p, struct request_end *e)
{
	struct thread_state *ts;
	__u32 what;

	if (!p || !e)
		return 0;
	if (end_left_out(p, e)) {
		cpu_count(filtered);
		return 0;
	}
	what = op_of(p->opcode)->what;
	ts = thread_get(bpf_get_current_task_btf());
	if (unlikely(p->parts & WIRE_REQUEST_LATE)) {
		p->parts &= ~WIRE_REQUEST_LATE;
		if (ts)
			request_file(ts, p);
	}
	e->file = p->file;
	e->file2 = 0;
	e->pos = p->pos == AT_OWN_POS ? WIRE_NONE : p->pos;
	e->fd2 = p->fd2;
	e->kind = 0;
	if (ts && e->request && (what & WIRE_REQUEST_FILE))
		end_file(ts, p, e);
	/* An index into the fixed files is not a descriptor. */
	if (ts && e->ret >= 0 && (what & WIRE_REQUEST_RETURNS) && !(p->parts & WIRE_REQUEST_SLOT))
		end_descriptor(ts, p, e);
	return 1;
}

/* Sends a request that has ended. */
verified_alone int request_send(struct wire_live *p, struct request_end *e)
{
	return p && e ? request_record(p, e, KIND_IO_URING) : 0;
}
