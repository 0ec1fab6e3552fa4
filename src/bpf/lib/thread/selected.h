/* SPDX-License-Identifier: GPL-2.0-only */
/* selected.h: which tasks are recorded; used by every object, which share the declarations here
 * (capture/ebpf/load/objects.h). */
#pragma once

#include "bpf/lib/kernel.h"
#include "schema/wire.h"

/* Set before loading. */
const volatile struct wire_selection selection SEC(".rodata.shared");
struct wire_shared shared SEC(".data.shared") = {.cgroup_subsys = -1};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} select_pids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u32);
} select_tids SEC(".maps"), select_uids SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u64);
	__type(value, __u32);
} select_cgroups SEC(".maps");

struct comm_key {
	char comm[WIRE_COMM];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 128);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct comm_key);
	__type(value, __u32);
} select_comms SEC(".maps");

static __always_inline int pid_nr(struct pid *pid, __u32 level)
{
	return kread(struct upid,
		     (__u64)pid + bpf_core_field_offset(struct pid, numbers) +
			     (__u64)level * bpf_core_type_size(struct upid),
		     nr);
}

static __always_inline __u32 pid_ns(struct pid *pid, __u32 level)
{
	struct pid_namespace *ns = kread(struct upid,
					 (__u64)pid + bpf_core_field_offset(struct pid, numbers) +
						 (__u64)level * bpf_core_type_size(struct upid),
					 ns);

	return BPF_CORE_READ(ns, ns.inum);
}

/* The pid in the recorder's pid namespace; 0: it has none there. */
static __always_inline int pid_here(struct pid *pid)
{
	__u32 level = shared.pidns_level;

	if (!pid || BPF_CORE_READ(pid, level) < level || pid_ns(pid, level) != shared.pidns)
		return 0;
	return pid_nr(pid, level);
}

/* The same for the struct pid at an address. */
verified_alone int pid_number(__u64 at)
{
	return pid_here((void *)at);
}

static __always_inline int tid_of(struct task_struct *task)
{
	return pid_number((__u64)BPF_CORE_READ(task, thread_pid));
}

static __always_inline int tgid_of(struct task_struct *task)
{
	return pid_number((__u64)BPF_CORE_READ(task, group_leader, thread_pid));
}

static __always_inline struct cgroup *cgroup_of(struct task_struct *task)
{
	__u64 set = kread_ptr((__u64)task + bpf_core_field_offset(struct task_struct, cgroups));
	struct cgroup_subsys_state *css;

	if (!set)
		return NULL;
	if (shared.cgroup_subsys < 0)
		return kread(struct css_set, set, dfl_cgrp);
	/* On hosts that mount v1 and v2 side by side every task is at the root of v2. */
	css = (void *)kread_ptr(set + bpf_core_field_offset(struct css_set, subsys) +
				8 * (__u64)(shared.cgroup_subsys & 15));
	return css ? BPF_CORE_READ(css, cgroup) : NULL;
}

struct cgroup_ctx {
	__u64 cgroup;
	__u32 found;
};

static long cgroup_step(__u32 i, struct cgroup_ctx *ctx)
{
	struct cgroup *g = (void *)ctx->cgroup;
	struct cgroup_subsys_state *parent;
	__u64 id;

	if (!g)
		return 1;
	id = BPF_CORE_READ(g, kn, id);
	if (bpf_map_lookup_elem(&select_cgroups, &id)) {
		ctx->found = 1;
		return 1;
	}
	parent = BPF_CORE_READ(g, self.parent);
	ctx->cgroup = parent ? (__u64)BPF_CORE_READ(parent, cgroup) : 0;
	return 0;
}

/*
 * All given conditions must hold; for each kind, one entry of its list suffices. `named`: the task whose name is
 * tested. `any_thread`: a selection by thread is assumed to match.
 */
static __always_inline bool selected(struct task_struct *task, __u64 named, bool any_thread)
{
	__u32 tgid, tid, uid;

	tgid = tgid_of(task);
	tid = tid_of(task);
	if (!tgid) /* in an outer or a sibling pid namespace: it cannot be named from here, and is never selected */
		return false;
	if (!selection.own_traffic && (__s32)tgid == selection.own_tgid)
		return false;
	if (selection.pids || selection.tids) {
		if (!(selection.pids && bpf_map_lookup_elem(&select_pids, &tgid)) &&
		    !(selection.tids && (any_thread || bpf_map_lookup_elem(&select_tids, &tid))))
			return false;
	}
	if (selection.uids) {
		uid = BPF_CORE_READ(task, cred, euid.val);
		if (!bpf_map_lookup_elem(&select_uids, &uid))
			return false;
	}
	if (selection.comms) {
		struct comm_key k = {};

		bpf_probe_read_kernel_str(
			k.comm, sizeof(k.comm),
			(void *)(named + bpf_core_field_offset(struct task_struct, comm)));
		if (!bpf_map_lookup_elem(&select_comms, &k))
			return false;
	}
	if (selection.cgroups) {
		struct cgroup_ctx ctx = {.cgroup = (__u64)cgroup_of(task)};

		bpf_loop(64, cgroup_step, &ctx, 0);
		if (!ctx.found)
			return false;
	}
	return true;
}
