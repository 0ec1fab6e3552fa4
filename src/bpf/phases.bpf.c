// SPDX-License-Identifier: GPL-2.0-only
/*
 * phases.bpf.c: the phases of a call (lib/call/phases.h), taken when threads lose and get CPUs and when they are woken up.
 * These programs run for every switch and wake-up of the host: a thread outside a recorded call costs one look-up of
 * its storage, a kernel thread not even that.
 *
 * Wake-ups are taken at sched_waking, which runs in the waker: sched_wakeup is later by the duration of an
 * inter-processor interrupt, and the thread waits for its CPU from the former on. A wake-up may come while the thread
 * is about to leave, before its switch.
 */
#include "bpf/lib/thread/selected.h"
#include "bpf/lib/thread/thread_state.h"

#define TASK_RUNNING 0

char LICENSE[] SEC("license") = "GPL";

/* The state of a thread in a recorded call; else NULL. */
static __always_inline struct thread_state *phases_of(struct task_struct *task)
{
	struct thread_state *ts = thread_of(task);

	return ts && thread_in_call(ts) ? ts : NULL;
}

static __always_inline void phases_out(struct call_phases *ph, struct task_struct *prev,
				       bool preempt, __u64 now)
{
	if (ph->out) /* its return to a CPU was missed */
		ph->unknown = 1;
	ph->outs++;
	ph->out = now;
	/* Not the argument prev_state: if a signal is pending and the thread keeps running, 6.1 passes the earlier
	 * state. */
	if (preempt || prev->__state == TASK_RUNNING)
		ph->how = OUT_READY;
	else
		ph->how = BPF_CORE_READ_BITFIELD_PROBED(prev, in_iowait) ? OUT_IO : OUT_SLEEP;
}

static __always_inline void phases_waited(struct call_phases *ph, __u64 from, __u64 to)
{
	__u32 n = ph->wait_count++;

	ph->io_wait += to - from;
	if (n < WIRE_WAITS_MAX) {
		ph->waits[n & (WIRE_WAITS_MAX - 1)].from = from;
		ph->waits[n & (WIRE_WAITS_MAX - 1)].to = to;
	}
}

static __always_inline void phases_in(struct call_phases *ph, __u64 now)
{
	__u64 ready = ph->out;

	if (!ready)
		return;
	if (ph->how != OUT_READY) {
		__u64 woken = *(volatile __u64 *)&ph->woken;

		/* missed; the value may be that of an earlier wake-up, before it slept */
		if (woken + PHASES_AHEAD_NS < ready)
			ph->unknown = 1;
		if (woken > now)
			woken = now;
		if (woken > ready) { /* otherwise it was woken while it was leaving */
			if (ph->how == OUT_IO)
				phases_waited(ph, ready, woken);
			else
				ph->sleep += woken - ready;
			ready = woken;
		}
	}
	ph->runq += now - ready;
	ph->out = 0;
	ph->woken = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(weir_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread_state *out = phases_of(prev), *in = phases_of(next);
	__u64 now;

	if (!out && !in)
		return 0;
	now = bpf_ktime_get_ns();
	if (out)
		phases_out(&out->phases, prev, preempt, now);
	if (in)
		phases_in(&in->phases, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(weir_phase_waking, struct task_struct *sleeper)
{
	struct thread_state *ts = phases_of(sleeper);

	if (ts)
		*(volatile __u64 *)&ts->phases.woken = bpf_ktime_get_ns();
	return 0;
}

/* In the reading thread, for each folio; in a call that writes, these are the folios written. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(weir_miss)
{
	struct thread_state *ts = phases_of(bpf_get_current_task_btf());

	if (ts)
		ts->phases.misses++;
	return 0;
}
