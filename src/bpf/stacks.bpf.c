// SPDX-License-Identifier: GPL-2.0-only
/*
 * stacks.bpf.c: the kernel stack of a thread that sleeps during a call. At the exit of the call it is gone: only the
 * frames of the exit itself are left. Of several sleeps the longest is kept.
 *
 * The storage is created at the call's enter (lib/call/stack.h): here, under the run queue's lock, nothing is allocated.
 * Measured (Linux 6.18): 70 ns for a switch of unrecorded threads, 2.3 us for a recorded one, 8 us with cold caches.
 */
#include "bpf/lib/call/sleep.h"

char LICENSE[] SEC("license") = "GPL";

static __always_inline void falls_asleep(void *ctx, struct task_struct *task)
{
	struct thread_state *ts = thread_of(task);
	struct sleeps *k;

	if (!ts || !thread_in_call(ts))
		return;
	k = bpf_task_storage_get(&sleeping, task, 0, 0);
	if (!k)
		return;
	if (k->start != ts->call.op.start) {
		k->start = ts->call.op.start;
		k->longest = 0;
	}
	if (k->kept)
		k->bytes[0] = bpf_get_stack(ctx, k->frames[0], sizeof(k->frames[0]), 0);
	else
		k->bytes[1] = bpf_get_stack(ctx, k->frames[1], sizeof(k->frames[1]), 0);
	k->since = bpf_ktime_get_ns();
}

static __always_inline void goes_on(struct task_struct *task)
{
	struct sleeps *k = bpf_task_storage_get(&sleeping, task, 0, 0);
	__u64 slept;

	if (!k || !k->since)
		return;
	slept = bpf_ktime_get_ns() - k->since;
	k->since = 0;
	if (slept <= k->longest)
		return;
	k->longest = slept;
	k->kept = !k->kept;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(weir_sleep, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	if (!preempt && prev->__state)
		falls_asleep(ctx, prev);
	goes_on(next);
	return 0;
}
