/* SPDX-License-Identifier: GPL-2.0-only */
/* request_record.h: the record of an io_uring or libaio request, written in thread context. */
#pragma once

#include "bpf/lib/request/request_kernel.h"
#include "bpf/lib/ring.h"

#define STATUS_NO_END \
	(1 << 16) /* enum op_status of schema/vocab.h, checked by capture/ebpf/calls/request.c */
#define STATUS_SHOT	(1 << 17)
#define STATUS_POLLED	(1 << 18)
#define STATUS_REAPED	(1 << 19)
#define STATUS_OVERFLOW (1 << 20)
#define STATUS_UNSURE	(1 << 21)

#define KIND_IO_URING 1 /* enum call_kind */
#define KIND_LIBAIO   2

#define FLAGS_APPEND 02000 /* O_APPEND of struct file's f_flags */
#define RWF_APPENDS  0x10  /* RWF_APPEND */
#define REQUESTS_MAX 65536
#define EEXIST	     17

/* What is known of a request only at its end. */
struct request_end {
	__u64 request; /* 0: unknown */
	__u64 now;
	__s64 ret, pos;
	__u64 file, file2;
	__u32 status;
	__s32 fd2;
	__u32 kind; /* enum file_kind */
	__u32 pad;
};

static __always_inline bool end_left_out(struct wire_live *p, struct request_end *e)
{
	if (failed_only && e->ret >= 0)
		return true;
	return min_dur_ns && e->now - (p->start ? p->start : attached_at) < min_dur_ns;
}

static __always_inline int request_lost(void)
{
	struct wire_cpu *c;

	ring_begin();
	c = this_cpu();
	c->seq++;
	c->lost++;
	c->requests++;
	ring_end();
	return 0;
}

/* A buffer to assemble a request: there is no room on the stack during file look-ups. scratch_put() must follow. */
static __always_inline struct scratch *request_room(void)
{
	struct scratch *s = scratch_get();

	if (s)
		__builtin_memset(s->data, 0, sizeof(struct wire_live));
	else
		cpu_count(scratch);
	return s;
}

/* 0: no room. Must not call separately verified functions. */
static __always_inline int request_record(struct wire_live *p, struct request_end *e, __u8 kind)
{
	struct wire_request *r;
	struct ring_place at;
	__u32 seq;

	r = ring_take(&at, sizeof(*r), sizeof(*r), &seq);
	if (!r)
		return request_lost();
	head_fill(&r->head, WIRE_REQUEST, 0, sizeof(*r), seq, e->now);
	r->start = p->start;
	r->ret = e->ret;
	r->file = e->file;
	r->file2 = e->file2;
	r->pos = e->pos;
	r->pos2 = p->pos2;
	r->size = p->size;
	r->thread = p->thread;
	r->tid = p->tid;
	r->fd = p->parts & WIRE_REQUEST_FIXED ? -1 : p->fd;
	r->fd2 = e->fd2;
	r->flags = p->flags;
	r->status = p->status | e->status;
	r->kind = kind;
	r->opcode = p->opcode;
	r->parts = p->parts;
	r->memory = p->memory_state;
	__builtin_memset(r->pad, 0, sizeof(r->pad));
	r->hashed = p->memory.hashed;
	ring_commit(&at);
	return 0;
}
