/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * content_request.h: the bytes of io_uring and libaio requests. They are read when a request has ended but the program
 * does not know it yet: until then the kernel owns the buffer, so that nobody else writes to it, and the number and
 * location of the bytes are known. A vector belongs to the program again once the request is submitted, so it is copied
 * then.
 */
#pragma once

#include "bpf/lib/content/content_take.h"
#include "bpf/lib/request/request_record.h"

#define VECTOR_PARTS 128 /* elements of a vector that is copied */
#define VECTORS_MAX  8192

/* Identifies a request: for io_uring its address and 0, for libaio its context and address. */
struct vector_key {
	__u64 of, at;
};

struct vector_copy {
	__u64 count;
	struct iov parts[VECTOR_PARTS];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, VECTORS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct vector_key);
	__type(value, struct vector_copy);
} content_vectors SEC(".maps");

static __always_inline int vector_copy(struct vector_copy *v, const struct vector_key *k, __u64 at,
				       __u64 count)
{
	__u64 bytes = count * sizeof(struct iov);

	v->count = count;
	barrier_var(bytes); /* check and use must be adjacent for 6.1's verifier */
	if (bytes > sizeof(v->parts) || bpf_probe_read_user(v->parts, bytes, (void *)at))
		return WIRE_MEMORY_LONG;
	return bpf_map_update_elem(&content_vectors, k, v, BPF_ANY) ? WIRE_MEMORY_LONG
								    : WIRE_MEMORY_SAVED;
}

/* Copies the vector, if any, of a request that is being submitted. */
verified_alone int vector_save(struct wire_live *p, const struct vector_key *k)
{
	struct content_room *m;
	struct vector_key key;
	struct msg msg;
	__u64 at, count;

	if (!p || !k)
		return 0;
	key = *k; /* 6.1 requires keys on the stack */
	at = p->memory.at;
	count = p->memory.count;
	if (p->memory_state == WIRE_MEMORY_MESSAGE) {
		if (bpf_probe_read_user(&msg, sizeof(msg), (void *)at)) {
			p->memory_state = WIRE_MEMORY_UNSEEN;
			return 0;
		}
		at = msg.iov;
		count = msg.iovlen;
	} else if (p->memory_state != WIRE_MEMORY_VECTOR) {
		return 0;
	}
	p->memory_state = WIRE_MEMORY_LONG;
	m = count <= VECTOR_PARTS ? content_room() : NULL;
	if (!m)
		return 0;
	p->memory_state = vector_copy((struct vector_copy *)m->piece, &key, at, count);
	m->busy = 0;
	return 0;
}

/* Sets up the location of the bytes. 0: unreadable, for the reason in the request's state. */
static __always_inline int memory_source(struct content_room *m, struct wire_live *p,
					 const struct vector_key *k)
{
	struct vector_copy *v;

	m->saved = 0;
	if (p->memory_state == WIRE_MEMORY_GIVEN) {
		if (!p->memory.at) {
			p->memory_state = WIRE_MEMORY_CHOSEN;
			return 0;
		}
		content_source(m, p->memory.at, m->total, 0, 0);
		return 1;
	}
	if (p->memory_state == WIRE_MEMORY_BUFFER) {
		/* MSG_TRUNC: the received message was longer than the buffer */
		if (m->total > p->size)
			m->total = p->size;
		content_source(m, p->memory.at, m->total, 0, 0);
		return 1;
	}
	if (p->memory_state == WIRE_MEMORY_VECTOR) {
		content_source(m, 0, 0, p->memory.at, p->memory.count);
		return 1;
	}
	v = bpf_map_lookup_elem(&content_vectors, k);
	if (!v) {
		p->memory_state = WIRE_MEMORY_LONG;
		return 0;
	}
	content_source(m, 0, 0, (__u64)v->parts, v->count);
	m->saved = 1;
	return 1;
}

/* Whether the bytes of an ended request can be read in this context. */
static __always_inline bool memory_is_here(struct wire_live *p, struct request_end *e)
{
	if (e->ret <= 0 || p->memory_state == WIRE_MEMORY_UNSEEN ||
	    p->memory_state >= WIRE_MEMORY_LONG)
		return false;
	if ((__u64)tread(struct task_struct, bpf_get_current_task_btf(), mm) == p->memory.mm)
		return true;
	p->memory_state = WIRE_MEMORY_FOREIGN;
	return false;
}

/* A room for the bytes of a request that has ended; memory_end() must follow. NULL: none is free. */
static __always_inline struct content_room *memory_begin(struct wire_live *p, struct request_end *e,
							 __u32 kind, bool out)
{
	struct content_room *m = content_room();

	if (!m) {
		content_lost();
		p->memory_state = WIRE_MEMORY_TAKEN;
		return NULL;
	}
	__builtin_memset(&m->c, 0, sizeof(m->c));
	m->c.head.type = WIRE_CONTENT;
	m->c.head.time = e->now;
	m->c.start = p->start;
	m->c.file = e->file;
	m->c.thread = p->thread;
	m->c.nr = kind << 8 | p->opcode;
	m->c.flags = WIRE_CONTENT_REQUEST | (out ? WIRE_CONTENT_OUT : 0);
	m->at = 0;
	m->end = 0;
	m->sample = p->memory.sample;
	m->stream = 0;
	m->cache = 0;
	m->counts = 1;
	m->sent = 0;
	m->total = e->ret;
	m->pos = e->pos < 0 ? WIRE_NONE : e->pos;
	return m;
}

/* Sends the remaining bytes. */
static __always_inline void memory_end(struct content_room *m, struct wire_live *p,
				       const struct vector_key *k)
{
	if (memory_source(m, p, k)) {
		content_bytes(m);
		p->memory.hashed = m->sent;
		p->memory_state = WIRE_MEMORY_TAKEN;
	}
	m->busy = 0;
}
