/* SPDX-License-Identifier: GPL-2.0-only */
/* request_kernel.h: the structures of io_uring and libaio that the programs read, declared as in kernel.h. */
#pragma once

#include "bpf/lib/kernel.h"

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct kiocb {
	struct file *ki_filp;
	long long ki_pos;
};

struct io_event {
	__u64 obj;
	__s64 res;
};

struct kioctx {
	unsigned long user_id;
};

struct kioctx_table {
	unsigned int nr;
	struct kioctx *table[];
};

struct aio_kiocb {
	struct kioctx *ki_ctx;
	struct io_event ki_res;
};

struct io_cqe {
	__u64 user_data;
};

struct io_uring_cqe {
	__u64 user_data;
	__s32 res;
	__u32 flags;
};

struct io_ring_ctx {
	unsigned int flags;
	__u32 *sq_array;
	void *sq_sqes;
	unsigned int cached_sq_head, sq_entries;
	struct task_struct *submitter_task;
};

struct io_kiocb {
	struct file *file;
	__u8 opcode;
	struct io_cqe cqe;
	struct io_ring_ctx *ctx;
};

/* The private part of a request for these operations, in place of struct io_kiocb's own fields. */
struct io_rw {
	__u64 addr;
};

struct io_sr_msg {
	void *buf;
};

/* Async data of a request that receives. */
struct iov_iter___given {
	__u8 iter_type;
	void *ubuf;
};

struct msghdr___given {
	struct iov_iter___given msg_iter;
};

struct io_async_msghdr {
	struct msghdr___given msg;
};

struct io_kiocb___given {
	void *async_data;
};

enum iter_type___given { ITER_UBUF___given };

/* Further members of struct mm_struct. */
struct mm_struct___aio {
	struct kioctx_table *ioctx_table;
};

#pragma clang attribute pop

/* An entry of the submission queue, from include/uapi/linux/io_uring.h. */
struct sqe {
	__u8 opcode, flags;
	__u16 ioprio;
	__s32 fd;
	__u64 off, addr;
	__u32 len, op_flags;
	__u64 user_data;
	__u16 buf_index, personality;
	__u32 file_index;
	__u64 rest[2];
};
_Static_assert(sizeof(struct sqe) == 64, "struct io_uring_sqe");
