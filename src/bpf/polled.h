/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * polled.h: which processes have an io_uring that a thread of the kernel polls (IORING_SETUP_SQPOLL). Their requests are made
 * without a call, so that nothing of them is recorded: the recorder names these processes.
 */
#pragma once

#include "bpf/thread.h"

#define NR_IO_URING_SETUP 425 /* of every machine */
#define SETUP_SQPOLL	  2   /* IORING_SETUP_SQPOLL of struct io_uring_params.flags, */
#define PARAMS_FLAGS	  8   /* which lies there */
#define PF_IO_WORKER	  0x10
#define SQPOLL_THREAD	  "iou-sqp-" /* and the number of the thread that made the ring */

static __always_inline void polled_note(struct task_struct *task, bool sure)
{
	struct wire_polled_key k = {.process_start =
					    BPF_CORE_READ(task, group_leader, start_boottime),
				    .tgid = tgid_of(task)};
	struct wire_polled p = {.sure = sure};

	BPF_CORE_READ_STR_INTO(&p.comm, task, group_leader, comm);
	if (bpf_map_update_elem(&polled, &k, &p, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&polled_count, 1);
}

/* io_uring_setup has succeeded in a selected thread. */
verified_alone int polled_setup(__u64 params)
{
	__u32 flags = 0;

	if (!bpf_probe_read_user(&flags, sizeof(flags), (void *)(params + PARAMS_FLAGS)) &&
	    (flags & SETUP_SQPOLL))
		polled_note(bpf_get_current_task_btf(), true);
	return 0;
}

/* Rings that are there already, by the kernel's threads that poll them: these belong to the process of the ring. */
static __always_inline void polled_look(struct task_struct *task)
{
	char comm[16], of_poller[] = SQPOLL_THREAD;

	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	if (!(task->flags & PF_IO_WORKER) || *(__u64 *)comm != *(__u64 *)of_poller)
		return;
	/* With a selection by thread user space knows whether one is of the process. */
	if (selected(task, (__u64)BPF_CORE_READ(task, group_leader), true))
		polled_note(task, !want_tids);
}
