/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * block_owner.h: the owners of requests: a number for each task, and each version of a recorded thread, that submitted
 * a request or dirtied a page. Unselected tasks have one too, so that the sums over all owners equal the device's.
 *
 * The task that dirtied a page is stored by page frame: a word in an array costs 10 to 15 ns, a hash by file and index
 * 370 to 430.
 */
#pragma once

#include "bpf/lib/block/block_kernel.h"
#include "bpf/lib/side.h"
#include "bpf/lib/thread/thread_state.h"
#include "schema/wire_block.h"

const volatile struct wire_block_constants constants SEC(".rodata.block");

__u32 next_owner = 1;

/* State of a task. */
struct block_task {
	__u32 owner; /* the last number sent for it; 0: none */
	__u32 version;
	__u64 comm[2];
	__u64 bio, queued; /* the last bio queued, and when */
	/* The last bio that it queued for a device without requests; the bios for the devices below follow. */
	__u64 upper, upper_sector;
	__u32 upper_dev, upper_sectors;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct block_task);
} block_tasks SEC(".maps");

/* For tasks known only by their address. */
struct task_key {
	__u64 task, start;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct task_key);
	__type(value, __u32);
} other_owners SEC(".maps");

/* By page frame: who dirtied it, and a check value of the file. The loader sets the size. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} frames SEC(".maps");

/* Sends the identity of a task. False: no room. */
verified_alone int owner_send(__u64 at, __u32 owner, __u32 version, __u32 first)
{
	struct task_struct *task = (struct task_struct *)at;
	struct pid *pid = BPF_CORE_READ(task, thread_pid),
		   *leader = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level = pid ? BPF_CORE_READ(pid, level) : 0;
	struct nsproxy *ns = BPF_CORE_READ(task, nsproxy);
	__u64 now = bpf_ktime_get_ns();
	struct cgroup *g = cgroup_of(task);
	struct wire_block_owner *r = side_take(WIRE_BLOCK_OWNER, sizeof(*r), now);

	if (!r) /* immediately, for 6.1's verifier */
		return 0;
	r->owner = owner;
	r->pad = 0;
	r->thread.thread = version ? version : WIRE_OWNER_THREADS | owner;
	r->thread.task = version && first ? first : r->thread.thread;
	r->thread.tid = tid_of(task);
	r->thread.tgid = tgid_of(task);
	r->thread.tid_ns = pid ? pid_nr(pid, level) : r->thread.tid;
	r->thread.tgid_ns = leader ? pid_nr(leader, level) : r->thread.tgid;
	r->thread.ppid = pid_here(BPF_CORE_READ(task, real_parent, group_leader, thread_pid));
	r->thread.uid = BPF_CORE_READ(task, cred, euid.val);
	r->thread.pid_ns = pid ? pid_ns(pid, level) : 0;
	r->thread.mnt_ns = ns ? BPF_CORE_READ(ns, mnt_ns, ns.inum) : 0;
	r->thread.net_ns = ns ? BPF_CORE_READ(ns, net_ns, ns.inum) : 0;
	r->thread.reason =
		BPF_CORE_READ(task, flags) & PF_KTHREAD ? WIRE_THREAD_KERNEL : WIRE_THREAD_SEEN;
	r->thread.cgroup = g ? BPF_CORE_READ(g, kn, id) : 0;
	r->thread.process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	r->thread.start = BPF_CORE_READ(task, start_boottime);
	r->thread.exe = 0;
	r->thread.run_delay = WIRE_TIME_UNKNOWN;
	bpf_probe_read_kernel(r->thread.comm, sizeof(r->thread.comm), task->comm);
	r->thread.argv_len = 0;
	r->thread.argv_cut = 0;
	side_commit(r);
	return 1;
}

/* A new number for the current task's present identity. */
verified_alone int owner_new(struct block_task *t, __u32 version, __u32 first)
{
	__u32 owner = __sync_fetch_and_add(&next_owner, 1);
	struct task_struct *task = bpf_get_current_task_btf();

	if (!t)
		return 0;
	t->owner = 0;
	if (!owner_send(bpf_get_current_task(), owner, version, first))
		return 0;
	t->version = version;
	bpf_probe_read_kernel(t->comm, sizeof(t->comm), task->comm);
	t->owner = owner;
	return 0;
}

static __always_inline struct block_task *task_get(struct task_struct *task)
{
	return bpf_task_storage_get(&block_tasks, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

/* The owner number of the current task; 0: it could not be sent. */
static __always_inline __u32 owner_current(struct task_struct *task, struct block_task *t,
					   struct thread_state *ts)
{
	__u32 version = ts && (ts->flags & THREAD_SENT) ? ts->version : 0;

	if (t->owner && t->version == version &&
	    (version ||
	     (t->comm[0] == *(__u64 *)task->comm && t->comm[1] == *(__u64 *)(task->comm + 8))))
		return t->owner;
	owner_new(t, version, ts ? ts->task : 0);
	return *(volatile __u32 *)&t->owner;
}

/* The same for a task known only by its address. */
verified_alone __u32 owner_of(__u64 task)
{
	struct task_key k = {.task = task};
	__u32 owner, *known;

	if (!task)
		return 0;
	k.start = kread(struct task_struct, task, start_boottime);
	known = bpf_map_lookup_elem(&other_owners, &k);
	if (known)
		return *known;
	owner = __sync_fetch_and_add(&next_owner, 1);
	if (!owner_send(task, owner, 0, 0))
		return 0;
	bpf_map_update_elem(&other_owners, &k, &owner, BPF_ANY);
	return owner;
}

/* The check value stored with the owner of a frame, as frames are reused for other files. */
static __always_inline __u32 frame_check(__u64 inode)
{
	return (__u32)(inode * 0x9e3779b97f4a7c15ull >> 32);
}

static __always_inline __u64 *frame_of(__u64 folio)
{
	__u32 at = (__u32)(folio / PAGE_STRUCT) & constants.frame_mask;

	return constants.frame_mask ? bpf_map_lookup_elem(&frames, &at) : NULL;
}

/* Who dirtied a folio of a file; 0: unknown. */
static __always_inline __u32 frame_owner(__u64 folio, __u64 inode)
{
	__u64 *frame = frame_of(folio), v = frame ? *frame : 0;

	return v >> 32 == frame_check(inode) ? (__u32)v : 0;
}
