/* SPDX-License-Identifier: GPL-2.0-only */
/* context.h: what runs on this CPU: a thread, or an interrupt. */
#pragma once

#include "bpf/lib/thread/selected.h"

#define SOFTIRQ_RUNS  0x100 /* in preempt_count(), include/linux/preempt.h */
#define INTERRUPT_ANY 0xff0000

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq;

struct cfs_rq {
	struct rq *rq;
};

struct sched_entity {
	struct cfs_rq *cfs_rq;
};

struct task_struct___queued {
	struct sched_entity se;
};

#pragma clang attribute pop

enum context { CONTEXT_UNKNOWN, CONTEXT_THREAD, CONTEXT_SOFTIRQ, CONTEXT_INTERRUPT };

/*
 * By the CPU's preempt_count. Not every kernel has its symbol in BTF, but its offset from this CPU's run queue is known
 * (capture/ebpf/side/host_sums.h), to which the current thread leads.
 */
static __always_inline enum context context_now(void)
{
	__u64 task = (__u64)bpf_get_current_task(), queue, rq;
	__u32 count;

	if (!shared.preempt_from_rq || !bpf_core_field_exists(struct cfs_rq, rq))
		return CONTEXT_UNKNOWN;
	queue = kread_ptr(task + bpf_core_field_offset(struct task_struct___queued, se.cfs_rq));
	rq = kread_ptr(queue + bpf_core_field_offset(struct cfs_rq, rq));
	if (!rq)
		return CONTEXT_UNKNOWN;
	count = (__u32)kread_ptr(rq + shared.preempt_from_rq);
	return count & INTERRUPT_ANY  ? CONTEXT_INTERRUPT
	       : count & SOFTIRQ_RUNS ? CONTEXT_SOFTIRQ
				      : CONTEXT_THREAD;
}
