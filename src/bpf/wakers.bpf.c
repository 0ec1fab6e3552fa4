// SPDX-License-Identifier: GPL-2.0-only
/*
 * wakers.bpf.c: which thread woke a futex waiter. Uses sched_waking, which runs in the waker; for more than half of the
 * wake-ups sched_wakeup runs in another thread, as the sleeper's CPU finishes the wake-up.
 *
 * The current thread is certain to be the waker only if it is in a futex call on the same address, or is ending (which
 * wakes threads that join it); otherwise an interrupt, such as a timer, may have occurred in any thread.
 */
#include "bpf/lib/thread/selected.h"
#include "bpf/lib/thread/thread_state.h"

#if defined(__TARGET_ARCH_x86)
#	define NR_FUTEX 202
#else
#	define NR_FUTEX 98
#endif
#define NR_FUTEX_WAKE 454 /* since 6.7, on all machines; likewise the next two */
#define NR_FUTEX_WAIT 455
#define PF_EXITING    0x4

char LICENSE[] SEC("license") = "GPL";

/* Whether a thread is in a call that wakes waiters at an address. */
static __always_inline bool wakes_at(struct thread_state *ts, __u64 address)
{
	__u32 nr = ts->call.op.nr;

	if (!thread_in_call(ts))
		return false;
	return (nr == NR_FUTEX && (ts->call.args[0] == address || ts->call.args[4] == address)) ||
	       (nr == NR_FUTEX_WAKE && ts->call.args[0] == address);
}

SEC("tp_btf/sched_waking")
int BPF_PROG(weir_waking, struct task_struct *sleeper)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = thread_of(sleeper), *waker;
	__u32 nr;

	if (!ts || !thread_in_call(ts))
		return 0;
	nr = ts->call.op.nr;
	if (nr != NR_FUTEX && nr != NR_FUTEX_WAIT)
		return 0;
	waker = bpf_task_storage_get(&threads, task, 0, 0);
	if (!waker || !(waker->flags & THREAD_SENT))
		return 0;
	if (!wakes_at(waker, ts->call.args[0]) &&
	    !((task->flags & PF_EXITING) && task->tgid == sleeper->tgid))
		return 0;
	ts->waker = waker->version;
	ts->woken_start = ts->call.op.start;
	return 0;
}
