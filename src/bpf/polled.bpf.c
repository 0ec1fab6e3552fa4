// SPDX-License-Identifier: GPL-2.0-only
/*
 * polled.bpf.c: which processes have an io_uring polled by a kernel thread (IORING_SETUP_SQPOLL). Their requests need
 * no call and are therefore not recorded: the recorder lists these processes.
 */
#include "bpf/lib/thread/selected.h"

#define SETUP_SQPOLL  2 /* IORING_SETUP_SQPOLL */
#define PF_IO_WORKER  0x10
#define SQPOLL_THREAD "iou-sqp-" /* followed by the tid of the ring's creator */

char LICENSE[] SEC("license") = "GPL";

/* If it is full, there are very many such processes. */
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

/* A ring is created while recording. */
SEC("tp_btf/io_uring_create")
int BPF_PROG(weir_ring, int fd, void *ring, __u32 sq_entries, __u32 cq_entries, __u32 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();

	if ((flags & SETUP_SQPOLL) && selected(task, (__u64)task, false))
		polled_note(task, true);
	return 0;
}

/*
 * Rings that exist when recording starts and stops, found by the kernel threads that poll them: these belong to the
 * ring's process.
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
	/* If threads are selected, user space decides whether one belongs to the process. */
	if (selected(task, (__u64)BPF_CORE_READ(task, group_leader), true))
		polled_note(task, !selection.tids);
	return 0;
}
