/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * side.h: the side ring, for records of programs that may run in interrupts and interrupt each other: they need the
 * kernel's ring buffer with its lock (about 40 ns more than ring.h, which is for programs in thread context). A record
 * begins with a struct wire_head, whose seq is the CPU; the recorder merges it by time with those of all rings.
 */
#pragma once

#include "bpf/lib/thread/selected.h"

/* The loader sets its size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} side SEC(".maps");

/* Counts missing records by cause and type, to be stored as loss. */
static __always_inline void side_lose(enum wire_side_loss why, __u8 type)
{
	__sync_fetch_and_add(
		&shared.side_lost[why][(type - WIRE_SIDE_FIRST) & (WIRE_SIDE_TYPES - 1)], 1);
	if (type != WIRE_BLOCK)
		return;
	shared.block_lost_last = bpf_ktime_get_ns();
	if (!shared.block_lost_first)
		shared.block_lost_first = shared.block_lost_last;
}

/*
 * Reserves a record of a constant size, a multiple of 8, and fills its head; time: that of the record, on the monotonic
 * clock, taken just now. NULL: no room, and the next record must include the data. Otherwise side_commit() follows.
 */
static __always_inline void *side_try(__u8 type, __u32 size, __u64 time)
{
	struct wire_head *h = bpf_ringbuf_reserve(&side, size, 0);

	if (!h)
		return NULL;
	h->type = type;
	h->parts = 0;
	h->size = (__u16)size;
	h->seq = bpf_get_smp_processor_id();
	h->time = time;
	return h;
}

/* The same for data that is lost, and counted, if there is no room. */
static __always_inline void *side_take(__u8 type, __u32 size, __u64 time)
{
	void *record = side_try(type, size, time);

	if (!record)
		side_lose(WIRE_SIDE_FULL, type);
	return record;
}

/* Wakes the reader if the ring is half full; otherwise it comes within 20 ms. A wake-up for each record costs 6 us. */
static __always_inline __u64 side_wake(void)
{
	__u64 half = bpf_ringbuf_query(&side, BPF_RB_RING_SIZE) / 2;

	return bpf_ringbuf_query(&side, BPF_RB_AVAIL_DATA) > half ? BPF_RB_FORCE_WAKEUP
								  : BPF_RB_NO_WAKEUP;
}

static __always_inline void side_commit(void *record)
{
	bpf_ringbuf_submit(record, side_wake());
}

/* Sends a record whose head is filled; its size is a multiple of 8 up to WIRE_LEAF_BYTES. */
static __always_inline void side_send(struct wire_head *h, __u32 size)
{
	if (bpf_ringbuf_output(&side, h, size, side_wake()))
		side_lose(WIRE_SIDE_FULL, h->type);
}
