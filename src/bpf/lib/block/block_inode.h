/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * block_inode.h: the files of requests: a number for each inode, sent once with its identity and its path within the
 * file system, since possibly no call opened it while recording.
 */
#pragma once

#include "bpf/lib/block/block_owner.h"

#define INODE_SLOTS	 4 /* per CPU: programs may be preempted */
#define INODE_NAME_MAX	 256
#define INODE_NAME_STEPS 256 /* folders */

__u32 next_inode = 1;

struct inode_seen {
	__u64 ino;
	__u32 generation;
	__u32 number;
};

/* By address. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct inode_seen);
} inodes SEC(".maps");

/* Space for one record. */
struct inode_space {
	__u64 dentry;
	__u32 busy;
	__u32 len;
	__u32 done;
	__u32 pad;
	struct wire_block_inode r;
	__u8 names[WIRE_BLOCK_NAMES + INODE_NAME_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, INODE_SLOTS);
	__type(key, __u32);
	__type(value, struct inode_space);
} inode_spaces SEC(".maps");

static __always_inline struct inode_space *inode_space_get(void)
{
	for (__u32 i = 0; i < INODE_SLOTS; i++) {
		__u32 at = i;
		struct inode_space *s = bpf_map_lookup_elem(&inode_spaces, &at);

		if (s && __sync_val_compare_and_swap(&s->busy, 0, 1) == 0)
			return s;
	}
	return NULL;
}

struct names_ctx {
	struct inode_space *s;
};

/* bpf_loop: adds a dentry's name, up to the root of the file system. */
static long names_step(__u32 i, struct names_ctx *ctx)
{
	struct inode_space *s = ctx->s;
	__u64 dentry = s->dentry, parent = knum(struct dentry, dentry, d_parent);
	__u32 at = s->len;
	long n;

	if (parent == dentry || !parent) {
		s->done = 1;
		return 1;
	}
	if (at > WIRE_BLOCK_NAMES - INODE_NAME_MAX)
		return 1;
	n = bpf_probe_read_kernel_str(s->names + at, INODE_NAME_MAX,
				      (void *)knum(struct dentry, dentry, d_name.name));
	if (n > 0)
		s->len = at + (n & 0x1ff);
	s->dentry = parent;
	return 0;
}

/* The path of any dentry of the inode. */
static __always_inline void names_walk(struct inode_space *s, __u64 inode)
{
	__u64 alias =
		kread_ptr(inode + bpf_core_field_offset(struct inode___names, i_dentry.first));
	struct names_ctx ctx = {.s = s};

	s->len = 0;
	s->done = 0;
	if (!alias)
		return;
	s->dentry = alias - bpf_core_field_offset(struct dentry___names, d_u.d_alias);
	if (!kread(struct dentry, s->dentry, d_hash.pprev) &&
	    knum(struct dentry, s->dentry, d_parent) != s->dentry)
		s->r.flags |= WIRE_FILE_DELETED;
	bpf_loop(INODE_NAME_STEPS, names_step, &ctx, 0);
}

/* The inode that a thread's call works on, if it is a file of overlayfs; else 0. */
static __always_inline __u64 call_on_overlay(struct thread_state *ts)
{
	__u64 file, inode, sb;

	if (!thread_in_call(ts))
		return 0;
	file = ts->call.file;
	if (!file || !ts->call.op.file)
		return 0;
	inode = knum(struct file, file, f_inode);
	sb = inode ? knum(struct inode, inode, i_sb) : 0;
	return sb && kread(struct super_block, sb, s_magic) == MAGIC_OVERLAY ? inode : 0;
}

/* The number of the overlayfs file that the current call works on, if this inode holds its content. */
static __always_inline __u64 overlay_file(__u64 inode)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);
	__u64 over = ts ? call_on_overlay(ts) : 0, upper;

	if (!over)
		return 0;
	upper = overlay_upper(over);
	return !upper || upper == inode ? ts->call.op.file : 0;
}

/* Sends an inode. 0: no room. */
verified_alone int inode_send(__u64 inode, __u32 number)
{
	struct inode_space *s = inode_space_get();
	__u64 sb, sent;
	__u32 size;

	if (!s)
		return 0;
	sb = knum(struct inode, inode, i_sb);
	s->r.head.type = WIRE_BLOCK_INODE;
	s->r.head.seq = bpf_get_smp_processor_id();
	s->r.head.time = bpf_ktime_get_ns();
	s->r.flags = 0;
	s->r.ino = kread(struct inode, inode, i_ino);
	s->r.size = kread(struct inode, inode, i_size);
	s->r.inode = number;
	s->r.generation = kread(struct inode, inode, i_generation);
	s->r.mode = kread(struct inode, inode, i_mode);
	s->r.rdev = kread(struct inode___names, inode, i_rdev);
	s->r.fs_dev = s->r.dev = kread(struct super_block, sb, s_dev);
	if (kread(struct super_block, sb, s_magic) == MAGIC_BTRFS)
		s->r.dev = subvolume_dev(inode, s->r.dev);
	bpf_probe_read_kernel_str(
		s->r.fs, sizeof(s->r.fs),
		(void *)knum(struct file_system_type, knum(struct super_block, sb, s_type), name));
	s->r.file = overlay_file(inode);
	names_walk(s, inode);
	if (!s->done)
		s->r.flags |= WIRE_FILE_CUT;
	s->r.names_len = s->len;
	size = (sizeof(s->r) + (s->len & 0x1fff) + 7) & ~7u;
	s->r.head.size = size;
	sent = 0;
	if (size <= sizeof(s->r) + WIRE_BLOCK_NAMES) {
		sent = !bpf_ringbuf_output(&side, &s->r, size, side_wake());
		if (!sent)
			side_lose(WIRE_SIDE_FULL, WIRE_BLOCK_INODE);
	}
	s->busy = 0;
	return sent;
}

/* The number of an inode; 0: it could not be sent. */
verified_alone __u32 inode_number(__u64 inode)
{
	struct inode_seen *known, n = {};
	__u64 key = inode;

	if (!inode)
		return 0;
	n.ino = kread(struct inode, inode, i_ino);
	n.generation = kread(struct inode, inode, i_generation);
	known = bpf_map_lookup_elem(&inodes, &key);
	if (known && known->ino == n.ino && known->generation == n.generation)
		return known->number;
	n.number = __sync_fetch_and_add(&next_inode, 1);
	if (!inode_send(inode, n.number))
		return 0;
	bpf_map_update_elem(&inodes, &key, &n, BPF_ANY);
	return n.number;
}
