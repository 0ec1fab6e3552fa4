/* SPDX-License-Identifier: GPL-2.0-only */
/* content_uring.h: the bytes of io_uring requests, which end in a thread of the program or in one that shares its
 * memory. */
#pragma once

#include "bpf/lib/content/content_begin.h"
#include "bpf/lib/content/content_request.h"
#include "bpf/lib/request/request.h"

#define SQE_BUFFER_SELECT (1u << 5)
#define GIVES_READV	  1
#define GIVES_READ	  22
#define GIVES_RECV	  27
#define GIVES_READ_MULTI  49
#define RECV_BUNDLE	  (1u << 4) /* IORING_RECVSEND_BUNDLE: into several buffers */
#define RECV_TRUNC	  (1u << 5) /* MSG_TRUNC: may return more than the buffer holds */

/* Whether the kernel stores the address of the buffer that it chose, as it does for a single one. */
static __always_inline __u32 memory_given(const struct sqe *s)
{
	switch (s->opcode) {
	case GIVES_READV:
	case GIVES_READ:
	case GIVES_READ_MULTI:
		return bpf_core_field_exists(struct io_rw, addr) ? WIRE_MEMORY_GIVEN
								 : WIRE_MEMORY_CHOSEN;
	case GIVES_RECV:
		return (s->ioprio & RECV_BUNDLE) || (s->op_flags & RECV_TRUNC) ? WIRE_MEMORY_CHOSEN
									       : WIRE_MEMORY_GIVEN;
	default:
		return WIRE_MEMORY_CHOSEN;
	}
}

/*
 * The receive buffer of a request. Since Linux 6.10 it is in the request's async data, which is gone at its last
 * completion: only earlier ones, of a multishot receive, are read.
 */
static __always_inline __u64 memory_received(__u64 request)
{
	__u64 at = bpf_core_field_exists(struct io_sr_msg, buf)
			   ? knum(struct io_sr_msg, request, buf)
			   : 0;
	__u8 type;

	if (at || !bpf_core_field_exists(struct io_async_msghdr, msg) ||
	    !bpf_core_field_exists(struct iov_iter___given, ubuf))
		return at;
	at = knum(struct io_kiocb___given, request, async_data);
	if (!at)
		return 0;
	at += bpf_core_field_offset(struct io_async_msghdr, msg) +
	      bpf_core_field_offset(struct msghdr___given, msg_iter);
	if (bpf_probe_read_kernel(
		    &type, 1,
		    (void *)(at + bpf_core_field_offset(struct iov_iter___given, iter_type))) ||
	    type != bpf_core_enum_value(enum iter_type___given, ITER_UBUF___given))
		return 0;
	return knum(struct iov_iter___given, at, ubuf);
}

/* The buffer of a completed request, of which the program is not notified yet; 0: not visible. */
static __always_inline __u64 memory_chosen(struct wire_live *p, __u64 request)
{
	if (p->opcode == GIVES_RECV)
		return memory_received(request);
	return bpf_core_field_exists(struct io_rw, addr) ? knum(struct io_rw, request, addr) : 0;
}

/* Takes the location of the bytes from the queue entry. */
static __always_inline void memory_fill(struct wire_live *p, const struct sqe *s,
					const volatile struct wire_request_op *op)
{
	struct task_struct *task = bpf_get_current_task_btf();

	p->memory.at = s->addr;
	p->memory.count = s->len;
	p->memory.mm = (__u64)tread(struct task_struct, task, mm);
	if (s->flags & SQE_BUFFER_SELECT)
		p->memory_state = memory_given(s);
	else if (op->size == WIRE_REQUEST_LEN)
		p->memory_state = WIRE_MEMORY_BUFFER;
	else if (op->size == WIRE_REQUEST_VECTOR && !is_compat(task))
		p->memory_state = WIRE_MEMORY_VECTOR;
	else if (op->size == WIRE_REQUEST_MSG && !is_compat(task))
		p->memory_state = WIRE_MEMORY_MESSAGE;
}

/* Saves what may change once the request is submitted: its vector, and the position of a stream. */
verified_alone int memory_keep(struct wire_live *p, __u64 request)
{
	struct vector_key k = {.of = request};
	struct thread_content c;
	struct thread_state *ts;
	__u64 file;

	if (!p || p->memory_state == WIRE_MEMORY_UNSEEN)
		return 0;
	vector_save(p, &k);
	if (p->fd < 0 || (p->parts & WIRE_REQUEST_FIXED))
		return 0;
	ts = thread_get(bpf_get_current_task_btf());
	file = ts ? fd_file_apart(p->fd) : 0;
	if (!file || !(file_of(ts, file, p->fd)->kind & FILE_SOCKET) ||
	    !content_sequences(file, &c))
		return 0;
	p->memory.tcp = file;
	p->memory.in = c.in;
	p->memory.out = c.out;
	return 0;
}

/* Sends the bytes of a request that has ended. */
static __always_inline int memory_take(struct wire_live *p, struct request_end *e)
{
	struct vector_key k = {.of = e->request};
	bool out = op_of(p->opcode)->what & WIRE_REQUEST_OUT;
	struct content_room *m;
	__u64 file, inode;

	if (!memory_is_here(p, e))
		return 0;
	m = memory_begin(p, e, KIND_IO_URING, out);
	if (!m)
		return 0;
	file = knum(struct io_kiocb, e->request, file);
	if (e->kind & FILE_SOCKET) {
		/* for sockets among the ring's fixed files, the stream position is unknown */
		content_pos_tcp(m, file, p->memory.tcp == file, out ? p->memory.out : p->memory.in,
				out, e->ret);
	} else if (m->pos != WIRE_NONE) {
		inode = (__u64)kread(struct file, file, f_inode);
		if (!out)
			m->end = kread(struct inode, inode, i_size);
		if (content_how.parts > 1)
			m->sample = kread(struct inode, inode, i_ino);
	}
	if (p->memory_state == WIRE_MEMORY_GIVEN)
		p->memory.at = memory_chosen(p, e->request);
	memory_end(m, p, &k);
	return 0;
}

/* The request continues, with another buffer. */
static __always_inline void memory_again(struct wire_live *p, struct request_end *e)
{
	p->memory.hashed = 0;
	p->memory.in += (__u32)e->ret;
	if ((p->sqe_flags & SQE_BUFFER_SELECT) && p->memory_state != WIRE_MEMORY_CHOSEN)
		p->memory_state = WIRE_MEMORY_GIVEN;
}

/* Drops what was saved for a request that has ended. */
static __always_inline void memory_forget(__u64 request)
{
	struct vector_key k = {.of = request};

	bpf_map_delete_elem(&content_vectors, &k);
}
