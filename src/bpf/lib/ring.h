/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * ring.h: writes to the ring of this CPU, counts every call, wakes the reader once per crossing of the fill mark. The
 * rings are weir's own (schema/wire.h): only this CPU writes to its ring, and no program interrupts another one there,
 * so that nothing needs locks or reservations. The kernel's ring buffer costs 32 to 39 ns more for each record.
 */
#pragma once

#include "bpf/lib/state.h"

/* The space that must be free in a leaf for a record of variable size. */
#define ROOM_SMALL 512
#define ROOM_LARGE (256 + WIRE_WALK_MAX)

/* Linux 6.10 and later. Older kernels do not preempt a program, newer ones may, which must not happen while a record is
 * being written. No separately verified function may be called meanwhile: before 6.15 that is rejected. */
static void (*bpf_preempt_disable)(void) = KERNEL_FUNCTION(bpf_preempt_disable);
static void (*bpf_preempt_enable)(void) = KERNEL_FUNCTION(bpf_preempt_enable);

/* A position in a ring. */
struct ring_place {
	struct wire_cpu *cpu;
	__u64 end;
};

static __always_inline void ring_begin(void)
{
	if (KERNEL_CASTS) /* older kernels have neither */
		bpf_preempt_disable();
}

static __always_inline void ring_end(void)
{
	if (KERNEL_CASTS)
		bpf_preempt_enable();
}

/* Publishes the head: a reader that sees it also sees everything written before. */
static __always_inline void head_move(struct wire_cpu *c, __u64 head)
{
#if defined(__TARGET_ARCH_x86)
	barrier();
	*(volatile __u64 *)&c->head = head;
#else
	__sync_lock_test_and_set(&c->head, head);
#endif
}

/* The number of bytes in this CPU's ring that the reader has not copied. */
static __always_inline __u64 ring_fill(struct wire_cpu *c)
{
	return *(volatile __u64 *)&c->head - *(volatile __u64 *)&c->tail;
}

static __always_inline struct ring_leaf *leaf_at(__u32 cpu, __u64 head)
{
	__u32 index = cpu * ring_leaves + ((__u32)(head / WIRE_LEAF_BYTES) & (ring_leaves - 1));

	return bpf_map_lookup_elem(&rings, &index);
}

/* Skips the rest of a leaf, unless the ring is full. */
static noinline int leaf_end(void)
{
	__u32 cpu = bpf_get_smp_processor_id(), at, rest;
	struct wire_cpu *c = this_cpu();
	__u64 head = c->head;
	struct ring_leaf *leaf;

	at = head & (WIRE_LEAF_BYTES - 8);
	rest = WIRE_LEAF_BYTES - at;
	if (head + rest - *(volatile __u64 *)&c->tail > ring_bytes)
		return 0;
	leaf = leaf_at(cpu, head);
	if (!leaf)
		return 0;
	*(volatile __u32 *)(leaf->data + at) = WIRE_SKIP | rest << 16; /* type, parts, size */
	head_move(c, head + rest);
	return 0;
}

/*
 * Takes the next sequence number of this CPU's ring, and space for a record. NULL: the ring is full. Otherwise
 * ring_commit() must follow, after nothing but filling the record.
 */
static __always_inline void *ring_take(struct ring_place *p, __u32 size, __u32 room, __u32 *ret_seq)
{
	struct ring_leaf *leaf = NULL;
	struct wire_cpu *c;
	__u64 head, at;
	__u32 cpu;

	ring_begin();
	cpu = bpf_get_smp_processor_id();
	c = &cpus[cpu & (WIRE_CPUS_MAX - 1)];
	*ret_seq = c->seq;
	head = *(volatile __u64 *)&c->head;
	if (unlikely((head & (WIRE_LEAF_BYTES - 1)) > WIRE_LEAF_BYTES - room)) {
		leaf_end();
		head = *(volatile __u64 *)&c->head;
	}
	p->cpu = c;
	p->end = head + size;
	if (likely(p->end - *(volatile __u64 *)&c->tail <= ring_bytes))
		leaf = leaf_at(cpu, head);
	at = head & (WIRE_LEAF_BYTES - 1);
	barrier_var(at); /* check and use must be adjacent for 6.1's verifier */
	if (likely(leaf && at <= WIRE_LEAF_BYTES - room)) {
		c->seq++;
		return leaf->data + at;
	}
	ring_end();
	return NULL;
}

/* Counts how often the reader was away for longer than calls are held. */
static __always_inline void hold_failed(struct wire_cpu *c)
{
	struct wire_hold *h = &holds[bpf_get_smp_processor_id() & (WIRE_CPUS_MAX - 1)];

	if (!h->over)
		c->hold_limits++;
	h->over = 1;
}

/* There was no room for a call, or for its thread: it still takes a number. Records of threads and files do not, as
 * they are sent again. */
verified_alone int call_lost(void)
{
	struct wire_cpu *c;

	ring_begin();
	c = this_cpu();
	c->seq++;
	c->lost++;
	if (lossless)
		hold_failed(c);
	ring_end();
	missing_count(WIRE_MISSING_RING);
	return 0;
}

static noinline int bell_ring(void)
{
	__u64 nothing = 0;

	this_cpu()->above = 1; /* the reader resets it after copying */
	bpf_ringbuf_output(&bell, &nothing, sizeof(nothing), BPF_RB_FORCE_WAKEUP);
	return 0;
}

static __always_inline void ring_commit(struct ring_place *p)
{
	struct wire_cpu *c = p->cpu;

	head_move(c, p->end);
	if (unlikely(p->end - *(volatile __u64 *)&c->tail >= fill_mark) &&
	    !*(volatile __u64 *)&c->above)
		bell_ring();
	ring_end();
}

static __always_inline void head_fill(struct wire_head *h, __u8 type, __u8 parts, __u16 size,
				      __u32 seq, __u64 time)
{
	h->type = type;
	h->parts = parts;
	h->size = size;
	h->seq = seq;
	h->time = time;
}

/* Sends the record at the start of a scratch buffer's data; completes its head. 0: the ring was full. */
verified_alone int ring_send(struct scratch *s, __u32 size)
{
	struct wire_head *h;
	struct ring_place p;
	__u64 len;
	void *to;

	if (!s)
		return 0;
	h = (struct wire_head *)s->data;
	size = (size + 7) & ~7u;
	if (size < sizeof(*h) || size > ROOM_LARGE)
		return 0;
	h->size = size;
	to = size <= ROOM_SMALL ? ring_take(&p, size, ROOM_SMALL, &h->seq)
				: ring_take(&p, size, ROOM_LARGE, &h->seq);
	if (!to)
		return 0;
	len = size;
	barrier_var(len); /* check and use must be adjacent for 6.1's verifier */
	if (len <= ROOM_SMALL)
		bpf_probe_read_kernel(to, len, h);
	else if (len <= ROOM_LARGE)
		bpf_probe_read_kernel(to, len, h);
	ring_commit(&p);
	return 1;
}
