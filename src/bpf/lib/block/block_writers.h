/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * block_writers.h: files with several writers. A folio, which may be large, becomes dirty once: later writers are not
 * seen there. So once a file is written by a different task than before, the writers of its pages are tracked by page.
 * Earlier data belongs to the task that dirtied its folio.
 */
#pragma once

#include "bpf/lib/block/block_owner.h"

#define WRITE_PAGES_MAX 16384 /* pages per write: 64 MiB */

__u64 next_shared = 1;

struct written {
	__u64 shared; /* its key in `pages_written` if it has several writers; 0: it has one */
	__u64 ino;
	__u32 generation;
	__u32 owner; /* the last writer */
};

/* Files written by calls, by the address of their inode. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct written);
} files_written SEC(".maps");

struct page_key {
	__u64 shared, index;
};

/* The last writer of a page. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct page_key);
	__type(value, __u32);
} pages_written SEC(".maps");

struct write_ctx {
	struct page_key k;
	__u32 owner, left;
};

/* bpf_loop */
static long write_step(__u32 i, struct write_ctx *c)
{
	struct page_key k = c->k;
	__u32 owner = c->owner;

	if (!c->left)
		return 1;
	c->left--;
	bpf_map_update_elem(&pages_written, &k, &owner, BPF_ANY);
	c->k.index++;
	return 0;
}

/* The current task writes to a file by a call. */
static __always_inline int file_written(__u64 inode, __u64 pos, __u64 len)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct block_task *t = task_get(task);
	struct written *f, n = {};
	struct write_ctx c = {};
	__u64 key = inode;

	if (!t || !len)
		return 0;
	n.owner = owner_current(task, t, bpf_task_storage_get(&threads, task, 0, 0));
	n.ino = kread(struct inode, inode, i_ino);
	n.generation = kread(struct inode, inode, i_generation);
	f = bpf_map_lookup_elem(&files_written, &key);
	if (!f || f->ino != n.ino || f->generation != n.generation) {
		bpf_map_update_elem(&files_written, &key, &n, BPF_ANY);
		return 0;
	}
	if (f->owner == n.owner && !f->shared)
		return 0;
	f->owner = n.owner;
	if (!f->shared)
		f->shared = __sync_fetch_and_add(&next_shared, 1);
	c.owner = n.owner;
	c.k.shared = f->shared;
	c.k.index = pos >> constants.page_shift;
	c.left = (((pos + len - 1) >> constants.page_shift) - c.k.index + 1) & 0xffffffff;
	bpf_loop(WRITE_PAGES_MAX, write_step, &c, 0);
	return 0;
}

/* A file's writers, looked up at its first folio. */
struct writers {
	__u64 shared;
	__u32 seen; /* writes by calls were seen */
	__u32 pad;
};

static __always_inline void writers_of(__u64 inode, struct writers *ret)
{
	__u64 key = inode;
	struct written *f = bpf_map_lookup_elem(&files_written, &key);
	bool same = f && f->ino == kread(struct inode, inode, i_ino) &&
		    f->generation == kread(struct inode, inode, i_generation);

	ret->seen = same;
	ret->shared = same ? f->shared : 0;
}

/* The last writer of the page at a position; 0: unknown. */
static __always_inline __u32 page_writer(__u64 shared, __u64 pos)
{
	struct page_key k = {.shared = shared, .index = pos >> constants.page_shift};
	__u32 *owner = bpf_map_lookup_elem(&pages_written, &k);

	return owner ? *owner : 0;
}
