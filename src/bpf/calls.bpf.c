// SPDX-License-Identifier: GPL-2.0-only
/*
 * calls.bpf.c: the programs that record calls. All are on BTF tracepoints, which every supported kernel allows.
 *
 * The cost of a call is counted in instructions (bench/ratio.py shows a change of 3 ns). Reading a field through a
 * pointer that the verifier does not know takes ten of them (about 2.5 ns), a locked counter 7 ns, a helper 5 to 20 ns;
 * the size of the record hardly matters. So plain fields of the task are read directly, sequence numbers are not locked
 * where programs cannot be preempted (before Linux 6.19), and a missing argument is a slot that contains 0 or -1,
 * instead of a branch.
 */
#include "bpf/lib/request/aio.h"
#include "bpf/lib/thread/announce.h"
#include "bpf/lib/call/rich.h"
#include "bpf/lib/call/stack.h"

/* The call number of a thread that is not in a call, or whose call changed the registers (rt_sigreturn). */
#define NR_NONE 0xffffffffu

char LICENSE[] SEC("license") = "GPL";

SEC("tp_btf/sys_enter")
int BPF_PROG(weir_enter, struct pt_regs *regs, long id)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = thread_get(task);

	if (unlikely(!ts)) {
		cpu_count(storage);
		return 0;
	}
	if (unlikely(thread_needs_look(ts)))
		thread_look(ts);
	if (!(ts->flags & THREAD_SELECTED))
		return 0;
	stacks_enter(task);
	call_enter(task, ts, regs, id);
	return 0;
}

/* The effects that a successful call may have on files that other processes have open; for every process of the host. */
verified_alone int call_effects(struct wire_plan *p, long ret)
{
	__u64 file;

	if (!p || ret < 0)
		return 0;
	if (p->flags & WIRE_PLAN_NAMES)
		__sync_fetch_and_add(&epochs.names, 1);
	if (p->flags & WIRE_PLAN_UNLINK)
		__sync_fetch_and_add(&epochs.unlinks, 1);
	if ((p->flags & WIRE_PLAN_CREATE) && p->ret == RET_FD) {
		file = fd_file_apart(ret);
		if (file)
			file_created(file);
	}
	return 0;
}

/* The same for 32-bit calls, which are not recorded; they use i386's numbers. */
static noinline void compat_effects(long nr, long ret)
{
	if (ret < 0)
		return;
	switch (nr) {
	case 38:  /* rename */
	case 302: /* renameat */
	case 353: /* renameat2 */
	case 10:  /* unlink */
	case 301: /* unlinkat */
	case 40:  /* rmdir */
	case 21:  /* mount */
	case 22:  /* umount */
	case 52:  /* umount2 */
	case 217: /* pivot_root */
		__sync_fetch_and_add(&epochs.names, 1);
		__sync_fetch_and_add(&epochs.unlinks, 1);
	}
}

/* Whether an execve that began in 64 bits returns to a 32-bit program. */
static __always_inline bool execs_compat(struct thread_state *ts)
{
	struct wire_plan *p = plan_of(ts->call.op.nr);

	return (ts->flags & (THREAD_IN_CALL | THREAD_SKIPPED)) == THREAD_IN_CALL && p &&
	       (p->flags & WIRE_PLAN_EXEC);
}

/* The exit of a 32-bit call, or of a thread without storage. */
static __always_inline int exit_other(struct task_struct *task, struct thread_state *ts,
				      struct pt_regs *regs, long ret)
{
	if (!is_compat(task))
		return 0;
	compat_effects(call_nr(regs), ret);
	if (ts)
		ts->flags &= ~(THREAD_IN_CALL | THREAD_SKIPPED | THREAD_NEWBORN);
	return 0;
}

/*
 * An exit without a recorded enter: does what the enter would have done. Returns the call's status, 0: the call must
 * not be recorded.
 */
static noinline __u16 exit_unpaired(struct task_struct *task, struct thread_state *ts,
				    struct pt_regs *regs, struct wire_plan *p, __u64 end)
{
	__u16 status;

	if (!task || !ts || !regs || !p || stopping)
		return 0;
	if (ts->flags & THREAD_NEWBORN) { /* the child's side of fork and clone */
		ts->flags &= ~THREAD_NEWBORN;
		return 0;
	}
	status = (ts->flags & THREAD_ENTERED) ? STATUS_DENIED : STATUS_NO_START;
	ts->flags |= THREAD_ENTERED;
	if (!(p->flags & (WIRE_PLAN_RECORD | WIRE_PLAN_SENT)))
		return 0;
	call_begin(tread(struct task_struct, task, files), ts, regs, p, call_index(call_nr(regs)));
	ts->call.op.start = status == STATUS_DENIED ? end : 0;
	if (!(p->flags & WIRE_PLAN_RICH))
		ts->call.kind &= ~FILE_SEEKABLE; /* its initial position is unknown */
	return status;
}

/* True if the selection rejects the call, now that its end is known. */
static __always_inline bool exit_left_out(struct thread_state *ts, struct wire_plan *p, long ret,
					  __u64 end)
{
	if (call_selected(ts, p, ret, end))
		return false;
	if (!(p->flags & WIRE_PLAN_RECORD) || call_has_fate(ts, p, ret))
		return false; /* left to rich_send() */
	if (unlikely(p->flags & WIRE_PLAN_SOCK) && !select_paths)
		sock_changed(ts, p);
	call_leave_out(ts);
	return true;
}

/*
 * The plan index of a call that ends; WIRE_CALLS_MAX: none. A successful execve or rt_sigreturn changed the registers,
 * so the number is that at enter. A call that was selected at enter becomes a row even if an execve removed the thread
 * from the selection.
 */
static __always_inline __u32 exit_index(struct thread_state *ts, struct pt_regs *regs)
{
	__u32 nr;

	if (ts->flags & THREAD_IN_CALL)
		return ts->call.op.nr;
	nr = call_nr(regs);
	return unlikely(nr == NR_NONE) ? WIRE_CALLS_MAX : call_index(nr);
}

/* The exit of a call that was not selected at its enter. */
static __always_inline int exit_skipped(struct thread_state *ts, struct pt_regs *regs,
					struct wire_plan *p)
{
	ts->flags &= ~(THREAD_IN_CALL | THREAD_SKIPPED);
	if (unlikely(context_wanted(ts)) && waits_on_many(p, regs))
		context_take(ts, 1, 0);
	if (unlikely(p->flags & WIRE_PLAN_SOCK) && !select_paths)
		sock_skipped(ts, call_arg_at(regs, 0));
	return 0;
}

/* Tries again to send the call's thread. True if there is still no room, which is counted. */
verified_alone int exit_unsent(struct thread_state *ts, struct wire_plan *p, __s64 ret)
{
	if (!ts || !p)
		return 0;
	if (call_is_unsent(ts) && thread_needs_look(ts))
		thread_look(ts);
	if (!call_is_unsent(ts))
		return 0;
	marker_lost(ts, p, ret);
	if ((p->flags & WIRE_PLAN_RECORD) && !(ts->call.kind & CALL_LEFT_OUT))
		call_lost();
	else
		cpu_count(fates);
	return 1;
}

/* Handles the exit of calls that are handled whether recorded or not. */
static __always_inline void exit_ever(struct task_struct *task, struct thread_state *ts,
				      struct pt_regs *regs, struct wire_plan *p, long ret)
{
	const __u32 in_call = THREAD_SELECTED | THREAD_IN_CALL;

	call_effects(p, ret);
	if (p->flags & WIRE_PLAN_CREDS)
		ts->flags |= THREAD_STALE;
	if ((p->flags & WIRE_PLAN_AIO) && (ts->flags & in_call) == in_call)
		aio_exit(ts, p, ret);
	if ((p->flags & WIRE_PLAN_ANNOUNCES) && (ts->flags & in_call) == in_call)
		announce_exit(task, ts, regs);
}

/* When the call ended, before its content was hashed. */
static __always_inline __u64 exit_time(struct thread_state *ts)
{
	return content && (ts->flags & THREAD_IN_CALL) && ts->content.end ? ts->content.end
									  : bpf_ktime_get_ns();
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_exit, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = thread_get(task);
	struct wire_plan *p;
	__u16 status = 0;
	__s64 pos = WIRE_NONE;
	__u64 held = 0, end;
	__u32 flags, nr;

	if (unlikely(!ts || (is_compat(task) && !execs_compat(ts))))
		return exit_other(task, ts, regs, ret);
	flags = ts->flags;
	nr = exit_index(ts, regs);
	p = plan_of(nr);
	if (unlikely(!p))
		return 0;
	if (unlikely(p->flags & WIRE_PLAN_EVER))
		exit_ever(task, ts, regs, p, ret);
	if (flags & THREAD_SKIPPED)
		return exit_skipped(ts, regs, p);
	if (!(flags & (THREAD_SELECTED | THREAD_IN_CALL)) && !thread_needs_look(ts))
		return 0;
	end = exit_time(ts); /* not earlier: untraced threads must not pay for it */
	if (likely(flags & THREAD_IN_CALL)) {
		if (unlikely(is_restart(ret)) && call_is_last(task))
			return 0;
		ts->flags &= ~THREAD_IN_CALL;
		if ((__u32)task->nvcsw != ts->call.switches)
			status = STATUS_SLEPT;
		if (unlikely(status || run_delay_of(task) != ts->call.run_delay))
			call_was_away(task, ts);
		if (phases && phases_end(task, ts))
			ts->call.kind |= CALL_PHASED;
	} else {
		if (thread_needs_look(ts))
			thread_look(ts);
		if (ts->flags & THREAD_SELECTED)
			status = exit_unpaired(task, ts, regs, p, end);
		else
			ts->flags &= ~THREAD_NEWBORN;
		if (!status)
			return 0;
	}
	if (exit_left_out(ts, p, ret, end))
		return 0;
	if (lossless) {
		held = hold(end);
		end += held;
	}
	if (unlikely(ts->flags & THREAD_UNSENT) && exit_unsent(ts, p, ret))
		return 0;
	if (unlikely(context_wanted(ts)))
		context_take(ts, waits_on_many(p, regs), end);
	stacks_take(ts, p, regs, ret, end);
	if ((p->flags & WIRE_PLAN_RICH) || held || call_on_several(ts, p)) {
		ts->call.op.status = status;
		rich_send(ts, p, ret, end, held);
		return 0;
	}
	if (unlikely(is_restart(ret)))
		status |= STATUS_INTERRUPTED;
	if ((ts->call.kind & FILE_SEEKABLE) || has(p->pos) || p->ret == RET_POS)
		pos = call_pos(task, &ts->call, p, ret, &status);
	if (unlikely(ts->call.kind & (CALL_AWAY | CALL_PHASED))) {
		ts->call.op.status = status;
		op_send_away(ts, ret, end, pos);
	} else {
		op_send(ts, p, ret, end, pos, status);
	}
	return 0;
}

SEC("tp_btf/sched_process_fork")
int BPF_PROG(weir_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_state *ts;
	__u32 tgid = child->tgid, one = 1;

	/* Only a new process: with CLONE_THREAD the child shares its parent's tgid. */
	if (selection.follow && selection.pids && child->pid == child->tgid) {
		__u32 ptgid = tgid_of(parent);

		tgid = tgid_of(child);
		if (bpf_map_lookup_elem(&select_pids, &ptgid) &&
		    bpf_map_update_elem(&select_pids, &tgid, &one, BPF_ANY))
			cpu_count(unfollowed);
	}
	ts = bpf_task_storage_get(&threads, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (ts) {
		ts->flags |= THREAD_NEWBORN | THREAD_STALE;
		if (publisher_count && child->pid == child->tgid)
			context_inherit(parent, ts);
		return 0;
	}
	/* No storage for the child: its exit from the fork will be taken for a separate call. */
	ts = bpf_task_storage_get(&threads, parent, 0, 0);
	if (ts && (ts->flags & THREAD_SELECTED))
		cpu_count(storage);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(weir_exec, struct task_struct *p, int old_pid, struct linux_binprm *bprm)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = thread_get(task);

	if (!ts)
		return 0;
	if (publisher_count) /* the new program must announce itself again */
		context_forget(ts);
	ts->flags = (ts->flags | THREAD_STALE | THREAD_EXECED) & ~THREAD_SENT;
	/* Now, while the new argument vector is still as execve created it. */
	if (thread_needs_look(ts))
		thread_look(ts);
	/* This call removed it from the selection; its row shows what was started. */
	if (unlikely((ts->flags & (THREAD_IN_CALL | THREAD_SKIPPED | THREAD_SELECTED)) ==
		     THREAD_IN_CALL))
		ts->exe = exe_key(ts);
	return 0;
}

SEC("tp_btf/task_rename")
int BPF_PROG(weir_rename, struct task_struct *task, const char *comm)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);

	if (ts)
		__sync_fetch_and_add(&ts->changes, 1);
	return 0;
}

SEC("tp_btf/cgroup_attach_task")
int BPF_PROG(weir_cgroup, struct cgroup *dst, const char *path, struct task_struct *task)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);

	if (ts)
		__sync_fetch_and_add(&ts->changes, 1);
	return 0;
}

static noinline void thread_end_send(struct task_struct *task, struct thread_state *ts, bool dead)
{
	__u64 now = bpf_ktime_get_ns(), start;
	struct wire_thread_end *r;
	struct ring_place p;
	__u32 seq, tgid;

	if (!task || !ts)
		return;
	tgid = tgid_of(task);
	start = BPF_CORE_READ(task, group_leader, start_boottime);
	r = ring_take(&p, sizeof(*r), sizeof(*r), &seq);
	if (!r) {
		cpu_count(unsent);
		return;
	}
	head_fill(&r->head, WIRE_THREAD_END, 0, sizeof(*r), seq, now);
	r->thread = ts->version;
	r->tgid = tgid;
	r->process_start = start;
	r->process_ended = dead;
	r->status = tread(struct task_struct, task, exit_code);
	r->run_delay = run_delay_sent(task);
	ring_commit(&p);
}

#define KILLED_BY_KILL 9  /* in strict mode, seccomp ends a thread like this */
#define KILLED_BY_SYS  31 /* and a filter like this */
#define RET_NOT_BEGUN  (-38)

/* A call for which seccomp ended the thread: neither enter nor exit was traced. */
static noinline void end_denied(struct task_struct *task, struct thread_state *ts)
{
	struct pt_regs *regs;
	struct wire_plan *p;
	__u32 code;
	long nr;

	if (!task || !ts)
		return;
	code = tread(struct task_struct, task, exit_code) & 0x7f;
	if (code != KILLED_BY_KILL && code != KILLED_BY_SYS)
		return;
	regs = (struct pt_regs *)bpf_task_pt_regs(task);
	nr = call_nr(regs);
	if ((__u32)nr == NR_NONE || call_ret(regs) != RET_NOT_BEGUN)
		return;
	nr = call_index(nr);
	p = plan_of(nr);
	if (!p || !(p->flags & WIRE_PLAN_RECORD))
		return;
	call_begin(tread(struct task_struct, task, files), ts, regs, p, nr);
	ts->call.op.start = bpf_ktime_get_ns();
	if (call_is_unsent(ts))
		call_lost();
	else
		op_send(ts, p, 0, ts->call.op.start, WIRE_NONE, STATUS_DENIED | STATUS_NORETURN);
}

/* The call in which a thread ends, if it also spent time off CPU. */
static __always_inline void end_send_away(struct task_struct *task, struct thread_state *ts,
					  __u64 end)
{
	call_was_away(task, ts);
	ts->call.op.status = STATUS_NORETURN;
	op_send_away(ts, 0, end, WIRE_NONE);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(weir_end)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);
	bool dead = BPF_CORE_READ(task, signal, live.counter) == 0;
	struct wire_plan *p;
	__u64 end;
	__u32 tid;

	if (dead && selection.pids) {
		tid = tgid_of(task);
		bpf_map_delete_elem(&select_pids, &tid);
	}
	if (selection.tids) {
		tid = tid_of(task);
		bpf_map_delete_elem(&select_tids, &tid);
	}
	if (dead && publisher_count) {
		tid = tgid_of(task);
		bpf_map_delete_elem(&publishers, &tid);
	}
	if (!ts || !(ts->flags & THREAD_SELECTED))
		return 0;
	context_close(ts);
	if ((ts->flags & (THREAD_IN_CALL | THREAD_SKIPPED)) == THREAD_IN_CALL) {
		p = plan_of(ts->call.op.nr);
		end = bpf_ktime_get_ns();
		if (!p || !(p->flags & WIRE_PLAN_RECORD) || failed_only ||
		    call_too_short(ts, end) || call_unwanted(&ts->call, p))
			;
		else if (call_is_unsent(ts))
			call_lost();
		else if (phases && phases_end(task, ts))
			end_send_away(task, ts, end);
		else
			op_send(ts, p, 0, end, WIRE_NONE, STATUS_NORETURN);
	} else if (!(ts->flags & THREAD_IN_CALL) && !failed_only && !min_dur_ns)
		end_denied(task, ts);
	ts->flags &= ~THREAD_IN_CALL;
	if (ts->flags & THREAD_SENT)
		thread_end_send(task, ts, dead);
	return 0;
}

#define CONTROLLER(number, id)                                     \
	if (selection.controller == (number) &&                    \
	    bpf_core_enum_value_exists(enum cgroup_subsys_id, id)) \
	shared.cgroup_subsys = bpf_core_enum_value(enum cgroup_subsys_id, id)

/* Finds where tasks store the control group of the chosen v1 hierarchy. */
static __always_inline void controller_find(void)
{
	CONTROLLER(WIRE_CONTROLLER_PIDS, pids_cgrp_id);
	CONTROLLER(WIRE_CONTROLLER_MEMORY, memory_cgrp_id);
	CONTROLLER(WIRE_CONTROLLER_CPU, cpu_cgrp_id);
	CONTROLLER(WIRE_CONTROLLER_BLKIO, io_cgrp_id);
	CONTROLLER(WIRE_CONTROLLER_DEVICES, devices_cgrp_id);
	CONTROLLER(WIRE_CONTROLLER_FREEZER, freezer_cgrp_id);
	CONTROLLER(WIRE_CONTROLLER_CPUSET, cpuset_cgrp_id);
	CONTROLLER(WIRE_CONTROLLER_CPUACCT, cpuacct_cgrp_id);
}

/* The recorder examines itself: its pid namespace, and how its probe files were opened, for created_bit. */
SEC("iter/task")
int weir_self(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *self = bpf_get_current_task_btf();
	struct pid *pid;

	if (!task || task->pid != task->tgid || task->tgid != self->tgid)
		return 0;
	pid = BPF_CORE_READ(task, thread_pid);
	shared.pidns_level = BPF_CORE_READ(pid, level);
	shared.pidns = pid_ns(pid, shared.pidns_level);
	controller_find();
	shared.io_counted = bpf_core_field_exists(task->ioac.read_bytes);
	own_root = root_of(tread(struct task_struct, self, fs));
	own_mnt_ns = BPF_CORE_READ(self, nsproxy, mnt_ns, ns.inum);
	for (int i = 0; i < 2; i++) {
		__u64 file = fd_file(tread(struct task_struct, task, files), probe_fds[i]);

		probe_modes[i] = file ? kread(struct file, file, f_mode) : 0;
	}
	return 0;
}

/* How long threads have waited for a CPU so far; run when recording stops. */
SEC("iter/task")
int weir_waited(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_state *ts;
	struct wire_waited r = {};

	if (!task)
		return 0;
	ts = bpf_task_storage_get(&threads, task, 0, 0);
	if (!ts || !(ts->flags & THREAD_SENT))
		return 0;
	r.thread = ts->version;
	r.run_delay = run_delay_sent(task);
	r.context_until = ts->context.until;
	r.context_flags = ts->context.flags;
	if (r.run_delay != WIRE_TIME_UNKNOWN || r.context_until)
		bpf_seq_write(ctx->meta->seq, &r, sizeof(r));
	return 0;
}

/* Calls that are still running; run when recording stops. */
SEC("iter/task")
int weir_running(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct call_phases so_far = {};
	struct thread_state *ts;
	struct wire_plan *p;
	struct with_phases {
		struct wire_op op;
		__u64 args[WIRE_ARGS];
		struct wire_away away;
		struct wire_phases phases;
	} r = {};
	__u64 now;

	if (!task)
		return 0;
	ts = bpf_task_storage_get(&threads, task, 0, 0);
	if (!ts || (ts->flags & (THREAD_SELECTED | THREAD_IN_CALL | THREAD_SKIPPED)) !=
			   (THREAD_SELECTED | THREAD_IN_CALL))
		return 0;
	p = plan_of(ts->call.op.nr);
	if (!p || !(p->flags & WIRE_PLAN_RECORD))
		return 0;
	if (phases)
		phases_copy(&so_far, task, ts);
	now = bpf_ktime_get_ns();
	if (failed_only || call_too_short(ts, now))
		return 0;
	if (call_is_unsent(ts)) {
		running_unsent++;
		return 0;
	}
	op_fill(&r.op, ts, 0, now, has(p->pos) ? (__s64)arg(&ts->call, p->pos) : WIRE_NONE,
		STATUS_UNFINISHED);
	r.op.head.parts = WIRE_PART_ARGS;
	r.op.head.size = __builtin_offsetof(struct with_phases, away);
	__builtin_memcpy(r.args, ts->call.args, sizeof(r.args));
	if (phases) {
		r.op.head.parts |= WIRE_PART_AWAY;
		r.op.head.size = sizeof(r);
		r.away.phases = 1;
		r.away.runq = WIRE_TIME_UNKNOWN;
		phases_until(&so_far, now);
		phases_fill(&r.phases, &so_far);
	}
	bpf_seq_write(ctx->meta->seq, &r,
		      phases ? sizeof(r) : __builtin_offsetof(struct with_phases, away));
	return 0;
}
