/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * fs.h: fields that some file systems keep around struct inode: the creation time, and the device of a btrfs subvolume.
 * Their types may be in a module or missing; missing values are unknown. bpf_rdonly_cast() does not accept types of
 * modules, so fields are read as numbers at an address.
 *
 * They are read once per version of a file. Asking by name from user space would be too late for deleted files, and
 * could hang on a network file system.
 */
#pragma once

#include "bpf/lib/kernel.h"

#define MAGIC_EXT4    0xef53 /* also ext2 and ext3 */
#define MAGIC_XFS     0x58465342
#define MAGIC_BTRFS   0x9123683e
#define MAGIC_TMPFS   0x01021994
#define MAGIC_OVERLAY 0x794c7630

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct timespec64 {
	long long tv_sec;
	long tv_nsec;
};

struct ext4_inode_info {
	struct inode vfs_inode;
	struct timespec64 i_crtime;
};

struct xfs_inode {
	struct inode i_vnode;
	struct timespec64 i_crtime;
};

struct shmem_inode_info { /* i_crtime: since 6.0 */
	struct inode vfs_inode;
	struct timespec64 i_crtime;
};

struct btrfs_root {
	__u32 anon_dev;
};

struct btrfs_inode {
	struct btrfs_root *root;
	struct inode vfs_inode;
	__u64 i_otime_sec;	   /* since 6.8 */
	struct timespec64 i_otime; /* before */
};

struct ovl_path {
	struct dentry *dentry;
};

struct ovl_entry {
	unsigned int __numlower;
	struct ovl_path __lowerstack[1]; /* since 6.5 */
};

struct ovl_inode {
	struct inode vfs_inode;
	struct dentry *__upperdentry;
	struct ovl_entry *oe;	   /* since 6.5 */
	struct ovl_path lowerpath; /* from 5.19 on, before */
};

#pragma clang attribute pop

/* The address of a field in a file system's struct around a struct inode. */
#define around(type, inode_field, inode, field) \
	((inode)-bpf_core_field_offset(type, inode_field) + bpf_core_field_offset(type, field))

/*
 * The device of a btrfs inode as in stat(). Subvolumes share the device of the file system, and the same inode number
 * refers to different files in them: each has a device number of its own. `dev` if it is unknown.
 */
static __always_inline __u32 subvolume_dev_here(__u64 inode, __u32 dev)
{
	__u64 root = 0;

	if (bpf_core_field_exists(struct btrfs_root, anon_dev))
		root = kread_ptr(around(struct btrfs_inode, vfs_inode, inode, root));
	return root ? kread_ptr(root + bpf_core_field_offset(struct btrfs_root, anon_dev)) : dev;
}

/* The same as a function, for callers with stack to spare. */
verified_alone __u32 subvolume_dev(__u64 inode, __u32 dev)
{
	return subvolume_dev_here(inode, dev);
}

/* The inode in the upper layer, if the file is there; else 0. */
static __always_inline __u64 overlay_upper(__u64 inode)
{
	__u64 upper = 0;

	if (bpf_core_field_exists(struct ovl_inode, __upperdentry))
		upper = kread_ptr(around(struct ovl_inode, vfs_inode, inode, __upperdentry));
	return upper ? kread_ptr(upper + bpf_core_field_offset(struct dentry, d_inode)) : 0;
}

/* The inode in a layer that holds the content of a file of overlayfs; 0: unknown. */
static __always_inline __u64 overlay_real(__u64 inode)
{
	__u64 real = overlay_upper(inode), oe;

	if (real)
		return real;
	if (bpf_core_field_exists(struct ovl_inode, oe)) {
		oe = kread_ptr(around(struct ovl_inode, vfs_inode, inode, oe));
		if (oe && kread_ptr(oe + bpf_core_field_offset(struct ovl_entry, __numlower)) << 32)
			real = kread_ptr(oe + bpf_core_field_offset(struct ovl_entry,
								    __lowerstack[0].dentry));
	} else if (bpf_core_field_exists(struct ovl_inode, lowerpath)) {
		real = kread_ptr(around(struct ovl_inode, vfs_inode, inode, lowerpath.dentry));
	}
	return real ? kread_ptr(real + bpf_core_field_offset(struct dentry, d_inode)) : 0;
}

/* When a file was created, ns since the epoch; 0: not provided by its file system. */
verified_alone __u64 inode_birth(__u64 inode)
{
	__u64 at = 0, magic, sb;
	char type[8] = {};

	sb = (__u64)kread(struct inode, inode, i_sb);
	magic = kread(struct super_block, sb, s_magic);
	if (magic == MAGIC_OVERLAY) {
		inode = overlay_upper(inode);
		if (!inode)
			return 0;
		sb = (__u64)kread(struct inode, inode, i_sb);
		magic = kread(struct super_block, sb, s_magic);
	}
	if (magic == MAGIC_EXT4 && bpf_core_field_exists(struct ext4_inode_info, i_crtime)) {
		/* The ext2 driver's inodes have a different layout. */
		bpf_probe_read_kernel_str(
			type, sizeof(type),
			(void *)BPF_CORE_READ((struct super_block *)sb, s_type, name));
		if (type[3] == '4')
			at = around(struct ext4_inode_info, vfs_inode, inode, i_crtime);
	} else if (magic == MAGIC_XFS && bpf_core_field_exists(struct xfs_inode, i_crtime)) {
		at = around(struct xfs_inode, i_vnode, inode, i_crtime);
	} else if (magic == MAGIC_TMPFS &&
		   bpf_core_field_exists(struct shmem_inode_info, i_crtime)) {
		at = around(struct shmem_inode_info, vfs_inode, inode, i_crtime);
	} else if (magic == MAGIC_BTRFS && bpf_core_field_exists(struct btrfs_inode, i_otime_sec)) {
		at = around(struct btrfs_inode, vfs_inode, inode, i_otime_sec);
	} else if (magic == MAGIC_BTRFS && bpf_core_field_exists(struct btrfs_inode, i_otime)) {
		at = around(struct btrfs_inode, vfs_inode, inode, i_otime);
	}
	if (!at)
		return 0;
	/* i_otime_nsec has half the width of tv_nsec, at the same offset. */
	return kread_ptr(at) * 1000000000ull + (__u32)kread_ptr(at + 8);
}
