// SPDX-License-Identifier: GPL-2.0-only
/*
 * polled.bpf.c: which processes have an io_uring that a thread of the kernel polls (IORING_SETUP_SQPOLL). Their requests
 * are made without a call, so that nothing of them is recorded: the recorder names these processes.
 */
#include "bpf/lib/thread/selected.h"

#define SETUP_SQPOLL  2 /* IORING_SETUP_SQPOLL */
#define PF_IO_WORKER  0x10
#define SQPOLL_THREAD "iou-sqp-" /* and the number of the thread that made the ring */

char LICENSE[] SEC("license") = "GPL";

/* A process that finds no room is one of very many. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct wire_polled_key);
	__type(value, struct wire_polled);
} polled SEC(".maps");

static __always_inline void polled_note(struct task_struct *task, bool sure)
{
	struct wire_polled_key k = {.process_start =
					    BPF_CORE_READ(task, group_leader, start_boottime),
				    .tgid = tgid_of(task)};
	struct wire_polled p = {.sure = sure};

	BPF_CORE_READ_STR_INTO(&p.comm, task, group_leader, comm);
	if (bpf_map_update_elem(&polled, &k, &p, BPF_NOEXIST) == 0)
		__sync_fetch_and_add(&shared.polled, 1);
}

/* A ring is made while recording. */
SEC("tp_btf/io_uring_create")
int BPF_PROG(weir_ring, int fd, void *ring, __u32 sq_entries, __u32 cq_entries, __u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if ((flags & SETUP_SQPOLL) && selected(task, (__u64)task, false))
		polled_note(task, true);
	return 0;
}

/*
 * Rings that are there when recording starts and stops, by the kernel's threads that poll them: these belong to the process
 * of the ring.
 */
SEC("iter/task")
int weir_polled(struct bpf_iter__task *ctx)
{
	char comm[16], of_poller[] = SQPOLL_THREAD;
	struct task_struct *task = ctx->task;

	if (!task)
		return 0;
	BPF_CORE_READ_STR_INTO(&comm, task, comm);
	if (!(task->flags & PF_IO_WORKER) || *(__u64 *)comm != *(__u64 *)of_poller)
		return 0;
	/* With a selection by thread user space knows whether one is of the process. */
	if (selected(task, (__u64)BPF_CORE_READ(task, group_leader), true))
		polled_note(task, !selection.tids);
	return 0;
}
