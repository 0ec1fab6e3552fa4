// SPDX-License-Identifier: GPL-2.0-only
/*
 * floor.bpf.c: the least that a tracer of calls can do: the same hooks as weir's, one raw record of 64 bytes per
 * call, paired through task storage, a ring per CPU. No file, no path, no position, no proof of losslessness. weir's
 * cost is measured against this.
 */
#include <linux/bpf.h>
#include <linux/types.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "floor.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct task_struct {
	int pid, tgid;
};
struct pt_regs {
	unsigned long di, si, dx, orig_ax;
};
#pragma clang attribute pop

struct call {
	__u64 start;
	__u64 args[3];
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call);
} calls SEC(".maps");

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, FLOOR_RING_BYTES);
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, FLOOR_CPUS_MAX);
	__type(key, __u32);
	__array(values, struct ring);
} rings SEC(".maps");

volatile int target_tgid;
__u64 lost[FLOOR_CPUS_MAX];
__u64 waked[FLOOR_CPUS_MAX];

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	if (parent->tgid == target_tgid || bpf_task_storage_get(&calls, parent, 0, 0))
		bpf_task_storage_get(&calls, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_enter, struct pt_regs *regs, long nr)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 make = task->tgid == target_tgid ? BPF_LOCAL_STORAGE_GET_F_CREATE : 0;
	struct call *c = bpf_task_storage_get(&calls, task, 0, make);

	if (!c)
		return 0;
	c->args[0] = regs->di;
	c->args[1] = regs->si;
	c->args[2] = regs->dx;
	c->start = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct call *c = bpf_task_storage_get(&calls, task, 0, 0);
	__u32 cpu = bpf_get_smp_processor_id();
	struct floor_record *r;
	__u64 now, flags = BPF_RB_NO_WAKEUP, bit;
	void *ring;

	if (!c || !c->start)
		return 0;
	now = bpf_ktime_get_ns();
	ring = bpf_map_lookup_elem(&rings, &cpu);
	if (!ring)
		return 0;
	r = bpf_ringbuf_reserve(ring, sizeof(*r), 0);
	if (!r) {
		lost[cpu & (FLOOR_CPUS_MAX - 1)]++;
		c->start = 0;
		return 0;
	}
	r->start = c->start;
	r->dur = now - c->start;
	r->tid = task->pid;
	r->cpu = cpu;
	r->nr = regs->orig_ax;
	r->ret = ret;
	r->args[0] = c->args[0];
	r->args[1] = c->args[1];
	r->args[2] = c->args[2];
	c->start = 0;
	/* One wake-up per eighth of the ring. */
	bit = bpf_ringbuf_query(ring, BPF_RB_PROD_POS) / (FLOOR_RING_BYTES / 8);
	if (bit != waked[cpu & (FLOOR_CPUS_MAX - 1)]) {
		waked[cpu & (FLOOR_CPUS_MAX - 1)] = bit;
		flags = BPF_RB_FORCE_WAKEUP;
	}
	bpf_ringbuf_submit(r, flags);
	return 0;
}

char _license[] SEC("license") = "GPL";
