// SPDX-License-Identifier: GPL-2.0-only
/*
 * phases.bpf.c: the phases of a call (lib/phases.h), taken where threads lose and get CPUs and where they are woken. These run
 * for every switch and wake-up of the host: a thread that is in no recorded call costs one look into its storage, one of the
 * kernel's own not even that.
 *
 * A wake-up is taken at sched_waking, which runs in whoever wakes: sched_wakeup comes later, by what an interrupt to another
 * CPU takes, and the thread waits for its CPU from the former on. It may come while the thread is on its way out, before its
 * switch.
 */
#include "bpf/lib/thread/selected.h"
#include "bpf/lib/thread/thread_state.h"

#define TASK_RUNNING 0

char LICENSE[] SEC("license") = "GPL";

/* What is remembered of a thread that is in a recorded call; else NULL. */
static __always_inline struct thread_state *phases_of(struct task_struct *task)
{
	struct thread_state *ts = thread_of(task);

	return ts && thread_in_call(ts) ? ts : NULL;
}

static __always_inline void phases_out(struct call_phases *ph, struct task_struct *prev,
				       bool preempt, __u64 now)
{
	if (ph->out) /* that it got a CPU again since was not seen */
		ph->unknown = 1;
	ph->outs++;
	ph->out = now;
	/* Not by the argument prev_state: of a thread with a pending signal, which runs on, 6.1 gives what it was before. */
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

		/* not seen; what is there may be of an earlier time, when it was woken before it slept */
		if (woken + PHASES_AHEAD_NS < ready)
			ph->unknown = 1;
		if (woken > now)
			woken = now;
		if (woken > ready) { /* else it was woken on its way out */
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

/* In the thread that reads, for a folio each: of a call that writes it is what it wrote. */
SEC("tp_btf/mm_filemap_add_to_page_cache")
int BPF_PROG(weir_miss)
{
	struct thread_state *ts = phases_of(bpf_get_current_task_btf());

	if (ts)
		ts->phases.misses++;
	return 0;
}
