/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * hold.h: back-pressure. A thread whose ring is more than half full waits, briefly, in its own exit from the call,
 * so that the reader catches up instead of losing. It needs no control group and works for any process. The bound
 * is short because the wait cannot be preempted and the reader may need this very CPU.
 */
#pragma once

#include "bpf/ring.h"

#define HOLD_NS	   50000
#define HOLD_STEPS 4096

struct hold_ctx {
	__u64 until;
};

static long hold_step(__u32 i, struct hold_ctx *ctx)
{
	if (ring_fill(this_cpu()) < ring_half)
		return 1;
	return bpf_ktime_get_ns() >= ctx->until;
}

/* How long this thread was held, in ns. */
verified_alone __u64 hold(__u64 now)
{
	struct hold_ctx ctx = {.until = now + HOLD_NS};
	__u64 held;

	if (likely(ring_fill(this_cpu()) < ring_half))
		return 0;
	bpf_loop(HOLD_STEPS, hold_step, &ctx, 0);
	held = bpf_ktime_get_ns() - now;
	__sync_fetch_and_add(&this_cpu()->held_ns, held);
	return held;
}
