/* SPDX-License-Identifier: GPL-2.0-only */
/* thread.h: which threads are recorded, and their versions. */
#pragma once

#include "bpf/lib/thread/published.h"
#include "bpf/lib/file/sock.h"

#define PF_IO_WORKER 0x10

verified_alone int thread_selected(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 named = (__u64)task;

	/* A kernel thread of an io_uring has its own name ("iou-sqp-4711"): test that of the process. */
	if (task->flags & PF_IO_WORKER)
		named = (__u64)BPF_CORE_READ(task, group_leader);
	return selected(task, named, false);
}

/* The file version of a process's executable. */
verified_alone __u64 exe_key(struct thread_state *ts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mm_struct *mm;
	__u64 file;

	mm = tread(struct task_struct, task, mm);
	if (!mm || !ts)
		return 0;
	file = (__u64)tread(struct mm_struct, mm, exe_file);
	if (!file)
		return 0;
	ident_fill(&ts->ident, (__u64)kread(struct file, file, f_inode),
		   (__u64)kread(struct file, file, f_path.dentry),
		   (__u64)kread(struct file, file, f_path.mnt));
	ts->ident.thread = ts->version;
	file = file_version(&ts->ident);
	ts->exe_tests = ts->ident.wanted / FILTER_WANTED_TEST(0);
	return file;
}

static __always_inline bool has_slash(__u64 word)
{
	__u64 x = word ^ 0x2f2f2f2f2f2f2f2full; /* a zero byte is a slash */

	return (x - 0x0101010101010101ull) & ~x & 0x8080808080808080ull;
}

/* The filter's name tests applied to the name of a version: bits by number. */
verified_alone __u32 comm_tests(__u64 first, __u64 second)
{
	bool slash = has_slash(first) || has_slash(second);
	__u32 passed = 0;

	for (__u32 i = 0; i < FILTER_NAMES_MAX; i++) {
		const volatile struct wire_name_test *t = &tests[i];
		bool fits;

		if (t->field != FILTER_COMM)
			continue;
		fits = !((first ^ *(const volatile __u64 *)t->names) & t->mask[0]) &&
		       !((second ^ *(const volatile __u64 *)(t->names + 8)) & t->mask[1]);
		if (fits != !!t->opposite || (t->pattern && slash))
			passed |= 1u << i;
	}
	return passed;
}

/* The total time a thread has been runnable but not running; 0 if the kernel does not count. */
static __always_inline __u64 run_delay_of(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay) ? task->sched_info.run_delay : 0;
}

/* The same in the form of a record. */
static __always_inline __u64 run_delay_sent(struct task_struct *task)
{
	return bpf_core_field_exists(task->sched_info.run_delay)
		       ? tread(struct task_struct, task, sched_info.run_delay)
		       : WIRE_TIME_UNKNOWN;
}

/* The current thread has a struct pid; a read through NULL yields 0. */
static __always_inline void thread_fill(struct wire_thread *r, struct task_struct *task,
					struct thread_state *ts, __u32 reason)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid),
		   *leader = BPF_CORE_READ(task, group_leader, thread_pid);
	struct cgroup *g = cgroup_of(task);
	struct nsproxy *ns = tread(struct task_struct, task, nsproxy);
	__u32 level = BPF_CORE_READ(pid, level);

	r->head.type = WIRE_THREAD;
	r->head.parts = 0;
	r->head.time = bpf_ktime_get_ns();
	/* If sent late, at the exit of a call: date it before the call, which the recorder must not see first. */
	if ((ts->flags & THREAD_UNSENT) && ts->call.op.start)
		r->head.time = ts->call.op.start;
	r->thread = ts->version;
	r->task = ts->task;
	r->tid = ts->tid;
	r->tgid = tgid_of(task);
	r->tid_ns = pid_nr(pid, level);
	r->tgid_ns = pid_nr(leader, level);
	r->ppid = pid_number((__u64)BPF_CORE_READ(task, real_parent, group_leader, thread_pid));
	r->uid = BPF_CORE_READ(task, cred, euid.val);
	ts->uid = r->uid;
	r->pid_ns = pid_ns(pid, level);
	r->mnt_ns = BPF_CORE_READ(ns, mnt_ns, ns.inum);
	r->net_ns = BPF_CORE_READ(ns, net_ns, ns.inum);
	r->reason = reason;
	r->cgroup = BPF_CORE_READ(g, kn, id);
	r->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	r->start = tread(struct task_struct, task, start_boottime);
	r->exe = ts->exe;
	r->run_delay = run_delay_sent(task);
	bpf_probe_read_kernel(r->comm, sizeof(r->comm), task->comm);
	if (filter.fields & 1 << FILTER_COMM)
		ts->comm_tests =
			comm_tests(*(volatile __u64 *)r->comm, *(volatile __u64 *)(r->comm + 8));
	r->argv_len = 0;
	r->argv_cut = 0;
}

/* Sends a version of the current thread; after an exec with its arguments. */
verified_alone int thread_send(struct thread_state *ts, __u32 reason)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct scratch *s = scratch_get();
	struct mm_struct *mm;
	struct wire_thread *r;
	int sent;

	if (!s)
		return 0;
	if (!ts) {
		scratch_put(s);
		return 0;
	}
	r = (struct wire_thread *)s->data;
	thread_fill(r, task, ts, reason);
	mm = tread(struct task_struct, task, mm);
	if (!no_argv && mm) {
		__u64 from = tread(struct mm_struct, mm, arg_start),
		      to = tread(struct mm_struct, mm, arg_end);
		__u64 len = to - from;

		if (len > WIRE_ARGV_MAX) {
			len = WIRE_ARGV_MAX;
			r->argv_cut = 1;
		}
		if (len && len <= WIRE_ARGV_MAX &&
		    !bpf_probe_read_user(s->data + sizeof(*r), len, (void *)from))
			r->argv_len = len;
	}
	sent = ring_send(s, sizeof(*r) + (r->argv_len & 0x1fff));
	scratch_put(s);
	return sent;
}

/* A new thread, or one of its properties changed. */
verified_alone int thread_look(struct thread_state *ts)
{
	__u32 reason = WIRE_THREAD_CHANGED, changes;

	if (!ts || !select_epoch)
		return 0;
	changes = ts->changes;
	if (ts->changes_seen != changes) {
		ts->changes_seen = changes;
		ts->flags |= THREAD_STALE;
	}
	if (ts->select_epoch != select_epoch || (ts->flags & THREAD_STALE)) {
		ts->select_epoch = select_epoch;
		if (thread_selected())
			ts->flags |= THREAD_SELECTED;
		else /* if it is selected again, the enter of its current call was not seen */
			ts->flags =
				(ts->flags & ~(THREAD_SELECTED | THREAD_ENTERED)) | THREAD_WAS_OUT;
	}
	if (ts->flags & THREAD_STALE)
		ts->flags &= ~THREAD_SENT;
	ts->flags &= ~THREAD_STALE;
	if (!(ts->flags & THREAD_SELECTED) || (ts->flags & THREAD_SENT)) {
		if (publisher_count)
			context_look(ts);
		return 0;
	}
	if (!(ts->flags & THREAD_UNSENT)) {
		context_close(ts);
		ts->version = __sync_fetch_and_add(&next_thread, 1);
		ts->calls = 0;
	}
	ts->tid = tid_of(bpf_get_current_task_btf());
	ts->call.args[WIRE_ARG_ZERO] = 0;
	ts->call.args[WIRE_ARG_MINUS_ONE] = -1;
	if (!ts->task || ts->task == ts->version) {
		ts->task = ts->version;
		reason = WIRE_THREAD_SEEN;
	}
	ts->ident.unsent = 0;
	if (!ts->exe || (ts->flags & (THREAD_EXECED | THREAD_UNSENT)))
		ts->exe = exe_key(ts);
	if (ts->flags & THREAD_EXECED)
		reason = WIRE_THREAD_EXEC;
	if (!ts->ident.unsent && thread_send(ts, reason))
		ts->flags = (ts->flags | THREAD_SENT) & ~(THREAD_EXECED | THREAD_UNSENT);
	else
		ts->flags |= THREAD_UNSENT;
	if (publisher_count)
		context_look(ts);
	return 0;
}

static __always_inline bool thread_needs_look(struct thread_state *ts)
{
	__u32 about = ts->flags & (THREAD_STALE | THREAD_SELECTED | THREAD_SENT);

	if (unlikely(ts->select_epoch != select_epoch || ts->changes_seen != ts->changes))
		return true;
	return about != (THREAD_SELECTED | THREAD_SENT) &&
	       ((about & THREAD_STALE) || about == THREAD_SELECTED);
}

static __always_inline struct thread_state *thread_get(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}
