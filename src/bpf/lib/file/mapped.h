/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * mapped.h: the file mapped at an address of the current thread, and the position in it. The tree of mappings is walked
 * as the kernel does without a lock: bpf_find_vma() takes 13 us in a page fault, as it releases its lock through an
 * interrupt, and fails while another thread maps or unmaps anything.
 */
#pragma once

#include "bpf/lib/file/file.h"

#define VM_SHARED 0x8
#define ENOENT	  2
#define EBUSY	  16

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct maple_tree {
	void *ma_root;
};

struct maple_range_64 { /* also a leaf */
	void *parent;
	unsigned long pivot[15];
	void *slot[16];
};

struct maple_arange_64 {
	unsigned long pivot[9];
	void *slot[10];
};

struct mm_struct___mapped {
	struct maple_tree mm_mt; /* since 6.1 */
};

struct backing_file { /* since 6.5 */
	struct file file;
	struct path user_path;
};

#pragma clang attribute pop

struct mapping {
	__u64 address;
	__u64 file; /* struct file *; 0: none */
	__u64 pos;  /* of the page that contains the address */
	__u64 flags;
	__u64 start, end; /* the mapped address range */
};

#define MAPLE_MASK   0xffull /* bits of an entry that are not part of the node's address */
#define MAPLE_ROOT   2
#define MAPLE_RANGE  2 /* types of nodes; smaller types are leaves */
#define MAPLE_ARANGE 3
#define MAPLE_LEVELS 10 /* at least ten mappings per node: far more than a process can have */
#define MAPLE_PIVOTS 15 /* per node, at most */
#define MAPLE_DEAD   1ull

static __always_inline __u32 maple_type(__u64 entry)
{
	return entry >> 3 & 0xf;
}

/* The entry of a node at an address; in a leaf, a mapping. MAPLE_DEAD: the node was removed from the tree. */
verified_alone __u64 maple_next(__u64 entry, __u64 address)
{
	__u64 node = entry & ~MAPLE_MASK, pivots, slots, next;
	__u32 count, i;

	if (maple_type(entry) == MAPLE_ARANGE) {
		pivots = node + bpf_core_field_offset(struct maple_arange_64, pivot);
		slots = node + bpf_core_field_offset(struct maple_arange_64, slot);
		count = bpf_core_field_size(struct maple_arange_64, pivot) / 8;
	} else {
		pivots = node + bpf_core_field_offset(struct maple_range_64, pivot);
		slots = node + bpf_core_field_offset(struct maple_range_64, slot);
		count = bpf_core_field_size(struct maple_range_64, pivot) / 8;
	}
	for (i = 0; i < MAPLE_PIVOTS && i < count; i++) {
		if (kread_ptr(pivots + 8 * i) >= address)
			break;
	}
	next = kread_ptr(slots + 8 * i);
	if ((kread_ptr(node + bpf_core_field_offset(struct maple_range_64, parent)) &
	     ~MAPLE_MASK) == node)
		return MAPLE_DEAD;
	return next;
}

/* Finds the mapping at m->address. 0; -ENOENT: nothing is mapped there; -EBUSY: another thread is mapping or unmapping. */
static __always_inline long mapping_find(struct task_struct *task, struct mapping *m)
{
	__u64 page = page_bytes, vma = 0, entry, mm;
	__u32 type = MAPLE_RANGE;

	m->file = 0;
	m->pos = 0;
	m->flags = 0;
	m->start = 0;
	m->end = 0;
	mm = (__u64)tread(struct task_struct, task, mm);
	if (!mm || !bpf_core_field_exists(struct mm_struct___mapped, mm_mt))
		return -ENOENT;
	entry = kread_ptr(mm + bpf_core_field_offset(struct mm_struct___mapped, mm_mt.ma_root));
	if ((entry & 3) != MAPLE_ROOT)
		return -ENOENT;
	for (int i = 0; i < MAPLE_LEVELS && type >= MAPLE_RANGE && entry > MAPLE_MASK; i++) {
		type = maple_type(entry);
		entry = maple_next(entry, m->address);
	}
	vma = entry;
	if (type >= MAPLE_RANGE || vma <= MAPLE_MASK)
		return vma == MAPLE_DEAD ? -EBUSY : -ENOENT;
	m->start = kread(struct vm_area_struct, vma, vm_start);
	m->end = kread(struct vm_area_struct, vma, vm_end);
	if (m->address < m->start || m->address >= m->end)
		return -EBUSY;
	/* as a number, for separately verified functions */
	m->file = kread_ptr(vma + bpf_core_field_offset(struct vm_area_struct, vm_file));
	m->pos = kread(struct vm_area_struct, vma, vm_pgoff) * page +
		 ((m->address - m->start) & ~(page - 1));
	m->flags = kread(struct vm_area_struct, vma, vm_flags);
	return 0;
}

#define ERROR_POINTERS 4095 /* the highest addresses are error codes */

/*
 * The path of a mapped file as seen by the program. For a file of overlayfs the kernel maps the one in the layer, on a
 * private mount in no namespace; it is embedded in struct backing_file, which contains the path in the overlay.
 */
static __always_inline __u64 mapped_path(__u64 file)
{
	__u64 path = file + bpf_core_field_offset(struct file, f_path), user, inode;
	__u64 mnt = kread_ptr(path + bpf_core_field_offset(struct path, mnt));

	if (!bpf_core_field_exists(struct backing_file, user_path) ||
	    (__u64)kread(struct mount, mount_of(mnt), mnt_ns) < -(__u64)ERROR_POINTERS)
		return path;
	user = file + bpf_core_field_offset(struct backing_file, user_path);
	inode = (__u64)kread(struct dentry,
			     kread_ptr(user + bpf_core_field_offset(struct path, dentry)), d_inode);
	if (kread(struct super_block, kread(struct inode, inode, i_sb), s_magic) != MAGIC_OVERLAY)
		return path; /* memory not backed by a file */
	return user;
}

/* The number of a mapped file. */
verified_alone __u64 mapped_file(struct thread_state *ts, __u64 file)
{
	__u64 path, dentry, mnt, inode;

	if (!ts)
		return 0;
	path = mapped_path(file);
	dentry = kread_ptr(path + bpf_core_field_offset(struct path, dentry));
	mnt = kread_ptr(path + bpf_core_field_offset(struct path, mnt));
	inode = (__u64)kread(struct dentry, dentry, d_inode);
	if (!inode)
		inode = (__u64)kread(struct file, file, f_inode);
	ident_fill(&ts->ident, inode, dentry, mnt);
	ts->ident.thread = ts->version;
	return file_version(&ts->ident);
}
