/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hold.h: back-pressure of --lossless. A thread whose ring is more than half full waits, in the exit of its own call,
 * so that the reader can catch up before records are lost. It works for any process and leaves nothing behind: when a
 * recorder is killed, its programs are unloaded and threads no longer wait.
 *
 * A wait cannot be preempted and the reader may need this very CPU, so each one is short: 50 us at first, then an
 * eighth of the time for which the reader has been away, at most 10 ms. Other threads run between two waits. The second
 * half of a ring is rationed evenly over hold_limit_ns, so that it lasts that long (64 KiB: about three seconds on a
 * CPU that makes only the cheapest calls, as its 370 records take 10 ms each; 1 MiB and more: the limit). After that,
 * no call waits until the reader has made progress: a program is slowed down for a bounded time, never stopped. Calls
 * that find no room are counted, and so are violations of the guarantee.
 */
#pragma once

#include "bpf/lib/ring.h"

#define HOLD_MIN_NS 50000
#define HOLD_MAX_NS 10000000
#define HOLD_SHARE  8	      /* fraction of the time for which the reader has been away */
#define HOLD_STEPS  (1 << 20) /* a step takes at least 20 ns */

struct hold_ctx {
	__u64 until;
};

static long hold_step(__u32 i, struct hold_ctx *ctx)
{
	if (ring_fill(this_cpu()) < ring_half)
		return 1;
	return bpf_ktime_get_ns() >= ctx->until;
}

/* The time until which a thread that arrived at `now` waits. */
static __always_inline __u64 hold_until(struct wire_hold *h, __u64 fill, __u64 now)
{
	__u64 longest = (now - h->since) / HOLD_SHARE, even;

	if (now - h->since >= hold_limit_ns)
		return now;
	if (longest < HOLD_MIN_NS)
		longest = HOLD_MIN_NS;
	if (longest > HOLD_MAX_NS)
		longest = HOLD_MAX_NS;
	even = h->since + (fill - ring_half) * (hold_limit_ns / ring_half);
	if (even < now + HOLD_MIN_NS)
		even = now + HOLD_MIN_NS;
	return even < now + longest ? even : now + longest;
}

/* Holds this thread if necessary; returns for how long, in ns. */
verified_alone __u64 hold(__u64 now)
{
	struct wire_hold *h = &holds[bpf_get_smp_processor_id() & (WIRE_CPUS_MAX - 1)];
	struct wire_cpu *c = this_cpu();
	__u64 fill = ring_fill(c), tail = *(volatile __u64 *)&c->tail, held;
	struct hold_ctx ctx;

	if (likely(fill < ring_half))
		return 0;
	if (h->tail != tail || !h->since)
		*h = (struct wire_hold){.tail = tail, .since = now};
	ctx.until = hold_until(h, fill, now);
	if (ctx.until <= now)
		return 0;
	bpf_loop(HOLD_STEPS, hold_step, &ctx, 0);
	held = bpf_ktime_get_ns() - now;
	__sync_fetch_and_add(&c->held_ns, held);
	return held;
}
