/* SPDX-License-Identifier: GPL-2.0-only */
/* ring.h: writing into the ring of this CPU, counting every attempt, waking the reader once per crossing. */
#pragma once

#include "bpf/state.h"

/* Asking how full the ring is costs as much as a clock read, so only every so many records. */
#define FILL_EVERY 16

static __always_inline void *ring_of_cpu(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/*
 * The next number of this CPU's ring, for one attempt to write. Programs cannot be preempted before
 * Linux 6.19, so that the number needs no locked instruction, which costs 7 ns.
 */
static __always_inline __u32 seq_take(struct wire_cpu *c)
{
	return preemptible ? __sync_fetch_and_add(&c->seq, 1) : c->seq++;
}

static __always_inline __u64 ring_wakeup(void *ring, struct wire_cpu *c, __u32 seq)
{
	__u64 above;

	if (seq % FILL_EVERY)
		return BPF_RB_NO_WAKEUP;
	above = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= fill_mark;
	if (above == c->above)
		return BPF_RB_NO_WAKEUP;
	c->above = above;
	return above ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
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

/* Sends the record at the start of a scratch's data; its head is completed here. 0: the ring was full. */
verified_alone int ring_send(struct scratch *s, __u32 size)
{
	struct wire_cpu *c = this_cpu();
	void *ring = ring_of_cpu();
	struct wire_head *h;
	__u32 seq;

	if (!ring || !s)
		return 0;
	h = (struct wire_head *)s->data;
	size = (size + 7) & ~7u;
	if (size > 256 + WIRE_WALK_MAX)
		return 0;
	seq = seq_take(c);
	h->seq = seq;
	h->size = size;
	if (bpf_ringbuf_output(ring, h, size, ring_wakeup(ring, c, seq))) {
		__sync_fetch_and_add(&c->lost, 1);
		return 0;
	}
	return 1;
}
