/* SPDX-License-Identifier: GPL-2.0-only */
/* aio_map.h: requests of libaio that have not ended, for the calls object, which maintains them (aio.h), and the
 * content object. */
#pragma once

#include "bpf/lib/request/request_kernel.h"
#include "bpf/lib/request/request_record.h"

#define AIO_BATCH    65536 /* requests processed per call: as many as may be in flight */
#define AIO_CONTEXTS 1024  /* per process */

/* struct iocb of include/uapi/linux/aio_abi.h, little-endian. */
struct iocb {
	__u64 data;
	__u32 key, rw_flags;
	__u16 opcode;
	__s16 priority;
	__u32 fd;
	__u64 buf, bytes;
	__s64 offset;
	__u64 reserved;
	__u32 flags, event_fd;
};
_Static_assert(sizeof(struct iocb) == 64, "struct iocb");

/* struct io_event */
struct aio_event {
	__u64 data, obj;
	__s64 res, res2;
};

struct aio_key {
	__u64 context, iocb;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, REQUESTS_MAX);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct aio_key);
	__type(value, struct wire_live);
} aio_requests SEC(".maps");

struct context_search {
	__u64 table, id, found;
};

static long context_step(__u32 i, struct context_search *s)
{
	__u64 context = kread_ptr(s->table + bpf_core_field_offset(struct kioctx_table, table) +
				  8 * (__u64)i);

	if (!context || kread(struct kioctx, context, user_id) != s->id)
		return 0;
	s->found = context;
	return 1;
}

/* The context with a given id in the current process; 0: none. */
verified_alone __u64 aio_context(__u64 id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm = tread(struct task_struct, task, mm);
	struct context_search s = {.id = id};
	__u32 count;

	if (!mm)
		return 0;
	s.table = knum(struct mm_struct___aio, mm, ioctx_table);
	if (!s.table)
		return 0;
	count = kread(struct kioctx_table, s.table, nr);
	bpf_loop(count < AIO_CONTEXTS ? count : AIO_CONTEXTS, context_step, &s, 0);
	return s.found;
}
