/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * kernel.h: the few kernel structs and fields that the programs read, declared by hand. Offsets are resolved when the
 * programs are loaded (preserve_access_index), so only names matter here, not order and size.
 */
#pragma once

#include <linux/types.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_endian.h>

#include "schema/wire_function.h"

#define noinline __attribute__((__noinline__))
/* A function that the verifier checks once, separately, instead of at every call: it must assume that pointers may be
 * NULL and results are unknown numbers. Without these, loading takes seconds instead of a tenth of one. */
#define verified_alone __attribute__((__noinline__))
#define unlikely(x)    __builtin_expect(!!(x), 0)
#define likely(x)      __builtin_expect(!!(x), 1)
/* An option set before loading. Recordings that set none load plain objects, in which each is a constant: the compiler
 * leaves out the code that the verifier would remove, which moves the rest of the program once per piece. */
#if PLAIN
#	define OPTION const
#else
#	define OPTION const volatile
#endif
#define NULL	     ((void *)0)
#define INODE_IFMT   0170000
#define INODE_IFSOCK 0140000
#define INODE_IFREG  0100000
#define INODE_IFBLK  0060000
#define INODE_IFDIR  0040000

/* A kernel function; libbpf's own method (__ksym) would read all of the kernel's BTF for each object. */
#define KERNEL_FUNCTION(name) ((void *)(WIRE_FUNCTION + WIRE_NUMBER_##name))

typedef _Bool bool;
#define true  1
#define false 0

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct pt_regs {
#if defined(__TARGET_ARCH_x86)
	unsigned long di, si, dx, r10, r8, r9, ax, orig_ax, ip, sp, bp;
#elif defined(__TARGET_ARCH_arm64)
	__u64 regs[31];
	__u64 sp, pc;
	__u64 orig_x0;
	__s32 syscallno;
#endif
};

struct qstr {
	__u64 hash_len;
	__u32 len;
	const unsigned char *name;
};

struct hlist_bl_node {
	struct hlist_bl_node *next, **pprev;
};

struct file_system_type {
	const char *name;
};

struct super_block {
	__u32 s_dev;
	unsigned long s_magic;
	struct file_system_type *s_type;
};

struct inode {
	__u16 i_mode;
	struct super_block *i_sb;
	unsigned long i_ino;
	unsigned int i_nlink;
	long long i_size;
	__u32 i_generation;
};

struct dentry {
	struct hlist_bl_node d_hash;
	struct dentry *d_parent;
	struct qstr d_name;
	struct inode *d_inode;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	__u32 f_mode;
	void *private_data;
	struct inode *f_inode;
	unsigned int f_flags;
	struct path f_path;
	long long f_pos;
};

struct ns_common {
	unsigned int inum;
};

struct mnt_namespace {
	struct ns_common ns;
};

struct net {
	struct ns_common ns;
};

typedef struct {
	struct net *net;
} possible_net_t;

struct pid_namespace {
	struct ns_common ns;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
	struct mnt_namespace *mnt_ns;
	__u64 mnt_id_unique; /* since 6.8 */
};

struct fdtable {
	unsigned int max_fds;
	struct file **fd;
};

struct files_struct {
	struct fdtable *fdt;
};

struct fs_struct {
	struct path root;
	struct path pwd;
};

struct upid {
	int nr;
	struct pid_namespace *ns;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

typedef struct {
	__u32 val;
} kuid_t;

struct cred {
	kuid_t euid;
};

struct nsproxy {
	struct mnt_namespace *mnt_ns;
	struct net *net_ns;
};

struct kernfs_node {
	__u64 id;
};

struct cgroup;

struct cgroup_subsys_state {
	struct cgroup *cgroup;
	struct cgroup_subsys_state *parent;
};

struct cgroup {
	struct cgroup_subsys_state self;
	struct kernfs_node *kn;
};

/* The controllers and their order depend on the kernel's configuration. */
enum cgroup_subsys_id {
	pids_cgrp_id,
	memory_cgrp_id,
	cpu_cgrp_id,
	io_cgrp_id,
	devices_cgrp_id,
	freezer_cgrp_id,
	cpuset_cgrp_id,
	cpuacct_cgrp_id,
};

struct css_set {
	struct cgroup_subsys_state *subsys[16];
	struct cgroup *dfl_cgrp;
};

struct mm_struct {
	unsigned long arg_start, arg_end;
	struct file *exe_file;
	unsigned long start_code, end_code;
	unsigned long exec_vm; /* executable pages */
};

struct vm_area_struct {
	unsigned long vm_start, vm_end, vm_pgoff, vm_flags;
	struct file *vm_file;
};

typedef struct {
	int counter;
} atomic_t;

struct signal_struct {
	atomic_t live;
	int group_exit_code;
	unsigned int flags;
};

typedef struct {
	unsigned long sig[1];
} sigset_t;

struct sigpending {
	sigset_t signal;
};

struct thread_info {
	unsigned long flags;
	__u32 status; /* x86 */
};

struct sched_info {
	unsigned long long run_delay;
};

struct task_io_accounting {
	__u64 read_bytes; /* with CONFIG_TASK_IO_ACCOUNTING */
};

#if defined(__TARGET_ARCH_x86)
struct thread_struct {
	unsigned long fsbase;
};
#endif

struct task_struct {
	struct thread_info thread_info;
#if defined(__TARGET_ARCH_x86)
	struct thread_struct thread;
#endif
	struct mm_struct *mm;
	int exit_code;
	int pid, tgid;
	unsigned int flags;
	unsigned int __state;
	int prio;
	unsigned int in_iowait : 1;
	struct task_struct *real_parent, *group_leader;
	struct pid *thread_pid;
	__u64 start_boottime;
	const struct cred *cred;
	char comm[16];
	struct fs_struct *fs;
	struct files_struct *files;
	struct nsproxy *nsproxy;
	struct signal_struct *signal;
	struct sigpending pending;
	unsigned long nvcsw, nivcsw;
	unsigned long min_flt, maj_flt; /* completed page faults */
	struct sched_info sched_info;	/* with CONFIG_SCHED_INFO */
	struct css_set *cgroups;
	struct task_io_accounting ioac;
};

struct rb_node {
	unsigned long __rb_parent_color;
	struct rb_node *rb_right, *rb_left;
};

struct rb_root {
	struct rb_node *rb_node;
};

struct rb_root_cached {
	struct rb_root rb_root;
};

struct epoll_event {
	__u32 events;
	__u64 data;
};

struct epoll_filefd {
	struct file *file;
	int fd;
};

struct epitem {
	struct rb_node rbn;
	struct epoll_filefd ffd;
	struct epoll_event event;
};

struct eventpoll {
	struct rb_root_cached rbr;
};

struct in6_addr {
	__u8 in6_u[16];
};

struct sock_common {
	__be32 skc_daddr, skc_rcv_saddr;
	__be16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	unsigned char skc_state;
	possible_net_t skc_net;
	unsigned long skc_flags;
	struct in6_addr skc_v6_daddr, skc_v6_rcv_saddr;
};

struct socket;

struct sock {
	struct sock_common __sk_common;
	__u16 sk_protocol;
	struct socket *sk_socket;
	atomic_t sk_drops;
	__u32 sk_ack_backlog, sk_max_ack_backlog;
};

struct socket {
	short type;
	struct sock *sk;
};

struct socket_alloc {
	struct socket socket;
	struct inode vfs_inode;
};

struct sockaddr_un {
	__u16 sun_family;
	char sun_path[108];
};

struct unix_address {
	int len;
	struct sockaddr_un name[1];
};

struct unix_sock {
	struct sock sk;
	struct unix_address *addr;
	struct sock *peer;
};

struct kernel_siginfo;

struct linux_binprm {
	int envc;
	const char *filename;
};

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/*
 * Reads a field through a pointer that the verifier does not know: a plain load from Linux 6.2 on, with
 * bpf_rdonly_cast(), else (6.1) a call of bpf_probe_read_kernel(). Each object is compiled for both (KERNEL_CASTS is 1
 * or 0): with a choice at load time the verifier would remove the other branch, hundreds of times, and move the whole
 * program each time. The loads are volatile: the verifier rejects them if merged with one through another kind of
 * pointer.
 */
static void *(*bpf_rdonly_cast)(const void *obj, __u32 btf_id) = KERNEL_FUNCTION(bpf_rdonly_cast);

/* The types used in casts, and flavours of these. */
#define KERNEL_TYPES(x)                                                                           \
	x(address_space) x(bio) x(bio_vec) x(block_device) x(block_device_operations) x(          \
		css_set) x(dentry) x(epitem) x(file) x(file_system_type) x(folio) x(fs_struct)    \
		x(gendisk) x(inode) x(io_kiocb) x(io_ring_ctx) x(iomap_dio) x(iov_iter) x(kiocb)  \
			x(kioctx) x(kioctx_table) x(mm_struct) x(mnt_namespace) x(mount) x(net)   \
				x(net_device) x(page) x(pt_regs) x(qstr) x(rb_node) x(request)    \
					x(request_queue) x(sk_buff) x(skb_shared_info) x(sock)    \
						x(socket) x(super_block) x(task_struct)           \
							x(tcp_sock) x(tcphdr) x(upid) x(vfsmount) \
								x(vm_area_struct) x(xa_node)
#define KERNEL_FLAVOURS(x) \
	x(file, cache) x(folio, cache) x(inode, cache) x(inode, names) x(mm_struct, aio)
#define type_declared(name) struct name;
#define type_id_of(name)    ID_OF_##name,
KERNEL_TYPES(type_declared)
/* The id of each type in the running kernel's BTF, set by kernel_btf.c. libbpf's own method would need all of the BTF. */
enum kernel_type_id { KERNEL_TYPES(type_id_of) };
#define type_case(name) struct name * : bpf_core_enum_value(enum kernel_type_id, ID_OF_##name),
#define flavour_case(name, flavour) \
	struct name##___##flavour * : bpf_core_enum_value(enum kernel_type_id, ID_OF_##name),
#define kernel_id(type)     \
	_Generic((type *)0, \
		KERNEL_TYPES(type_case) KERNEL_FLAVOURS(flavour_case) struct thread_state *: 0)

/* In a separate frame, so that many reads do not fill the stack of one function. */
static noinline __u64 probe_number(const void *at, __u32 size)
{
	__u64 v = 0;

	switch (size) {
	case 1:
		bpf_probe_read_kernel(&v, 1, at);
		break;
	case 2:
		bpf_probe_read_kernel(&v, 2, at);
		break;
	case 4:
		bpf_probe_read_kernel(&v, 4, at);
		break;
	default:
		bpf_probe_read_kernel(&v, 8, at);
	}
	return v; /* little-endian machines only: x86-64, arm64 */
}

#define kcast(type, ptr)                                           \
	({                                                         \
		type *c_ = (type *)(ptr);                          \
		if (KERNEL_CASTS)                                  \
			c_ = bpf_rdonly_cast(c_, kernel_id(type)); \
		c_;                                                \
	})
/* Reads a field of a pointer from kcast(), or of a field that was read through one. */
#define kfield(ptr, field)                                                                \
	({                                                                                \
		__typeof__(ptr) p_ = (ptr);                                               \
		__typeof__(p_->field) v_;                                                 \
		if (KERNEL_CASTS)                                                         \
			v_ = ((volatile __typeof__(*p_) *)p_)->field;                     \
		else                                                                      \
			v_ = (__typeof__(v_))probe_number(                                \
				__builtin_preserve_access_index(&p_->field), sizeof(v_)); \
		v_;                                                                       \
	})
/* Both in one: a single test of the kernel's features, of whose branches the verifier removes one. */
#define kread(type, ptr, field)                                                              \
	({                                                                                   \
		type *k_ = (type *)(ptr);                                                    \
		__typeof__(((type *)0)->field) v_;                                           \
		if (KERNEL_CASTS)                                                            \
			v_ = ((volatile type *)bpf_rdonly_cast(k_, kernel_id(type)))->field; \
		else                                                                         \
			v_ = (__typeof__(v_))probe_number(                                   \
				__builtin_preserve_access_index(&k_->field), sizeof(v_));    \
		v_;                                                                          \
	})

/*
 * Reads a field through a pointer whose type the verifier knows. For every such load newer verifiers check whether the
 * field is trusted by searching all of BTF for a name, which took half of the load time. An untrusted pointer avoids
 * that; 6.1, which has no cast, loads directly.
 */
#define tread(type, ptr, field)                                                              \
	({                                                                                   \
		type *t_ = (ptr);                                                            \
		__typeof__(((type *)0)->field) v_;                                           \
		if (KERNEL_CASTS)                                                            \
			v_ = ((volatile type *)bpf_rdonly_cast(t_, kernel_id(type)))->field; \
		else                                                                         \
			v_ = t_->field;                                                      \
		v_;                                                                          \
	})

/* Reads a pointer at an address as a plain number (through any struct with a 64-bit number). */
static __always_inline __u64 kread_ptr(__u64 at)
{
	return kread(struct qstr, at - bpf_core_field_offset(struct qstr, hash_len), hash_len);
}

/* A pointer in a field, as a plain number. */
#define knum(type, ptr, field) kread_ptr((__u64)(ptr) + bpf_core_field_offset(type, field))

/* Whether a task is in a 32-bit call. */
static __always_inline bool is_compat(struct task_struct *task)
{
#if defined(__TARGET_ARCH_x86)
	return task->thread_info.status & 2; /* TS_COMPAT, also correct for int 0x80 */
#else
	return task->thread_info.flags & (1 << 22); /* arm64: TIF_32BIT */
#endif
}
