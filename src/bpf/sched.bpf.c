// SPDX-License-Identifier: GPL-2.0-only
/*
 * sched.bpf.c: each period in which a recorded thread had no CPU: why, who woke it up, and who ran instead. The
 * programs run for every switch and wake-up of the host; an unrecorded thread costs a look-up of its storage.
 *
 * Wake-ups are taken at sched_waking, which runs in the waker. A wake-up may come while the thread is about to leave,
 * before its switch, and is then the last one before it.
 */
#include "bpf/lib/thread/context.h"
#include "bpf/lib/thread/selected.h"
#include "bpf/lib/side.h"
#include "bpf/lib/thread/thread_state.h"

#define TASK_RUNNING 0
#define TASK_GONE    0x80 /* TASK_DEAD */

#if defined(__TARGET_ARCH_x86)
#	define NR_SCHED_YIELD 24
#else
#	define NR_SCHED_YIELD 124
#endif

/* enum sched_why of schema/vocab.h; enum woken_by + 1 is enum context: checked by capture/ebpf/side/host_sums.c. */
#define WHY_SLEEP     0
#define WHY_IO	      1
#define WHY_PREEMPTED 2
#define WHY_YIELD     3

char LICENSE[] SEC("license") = "GPL";

/* The state of a recorded thread; else NULL. */
static __always_inline struct thread_state *recorded(struct task_struct *task)
{
	struct thread_state *ts = thread_of(task);

	return ts && thread_is_known(ts) ? ts : NULL;
}

static __always_inline bool yields(struct thread_state *ts)
{
	return thread_in_call(ts) && ts->call.op.nr == NR_SCHED_YIELD;
}

/* A thread that loses its CPU as it returns to user mode is not preempted in the kernel's terms: it is running, and
 * switches. */
static __always_inline void sched_out(struct thread_state *ts, struct task_struct *prev,
				      bool preempt, __u64 now)
{
	struct thread_sched *s = &ts->sched;
	unsigned int state = prev->__state;

	if (s->out) /* its return was missed */
		side_lose(WIRE_SIDE_UNSEEN, WIRE_SCHED);
	s->seen = 1;
	s->out = state & TASK_GONE ? 0 : now;
	if (preempt || state == TASK_RUNNING)
		s->why = yields(ts) ? WHY_YIELD : WHY_PREEMPTED;
	else
		s->why = BPF_CORE_READ_BITFIELD_PROBED(prev, in_iowait) ? WHY_IO : WHY_SLEEP;
}

/* Which threads had a CPU last. */
#define RUNS 16 /* a power of two */

struct run {
	__u64 began, ended;
	__u64 task; /* its memory may belong to another task by now, with another tid */
	__u32 pid;
	__u32 version; /* 0: not recorded; */
	__s32 tid;     /* otherwise in the recorder's pid namespace */
};

struct cpu_runs {
	__u64 since; /* of the current run */
	__u64 count;
	struct run last[RUNS];
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cpu_runs);
} cpu_runs SEC(".maps");

static __always_inline void run_ended(struct cpu_runs *c, struct task_struct *prev,
				      struct thread_state *ts, __u64 now)
{
	struct run *r = &c->last[c->count & (RUNS - 1)];

	if (prev->pid) { /* otherwise the CPU was idle */
		r->began = c->since;
		r->ended = now;
		r->task = (__u64)prev;
		r->pid = prev->pid;
		r->version = ts ? ts->version : 0;
		r->tid = ts ? ts->tid : 0;
		c->count++;
	}
	c->since = now;
}

/* The number of the run that took most of the time between `ready` and now; RUNS: none. */
verified_alone __u32 run_longest(struct cpu_runs *c, __u64 ready)
{
	__u32 best = RUNS;
	__u64 most = 0;

	for (__u32 i = 0; c && i < RUNS; i++) {
		struct run *r = &c->last[i];
		__u64 from = r->began > ready ? r->began : ready;

		if (r->ended > from && r->ended - from > most) {
			most = r->ended - from;
			best = i;
		}
	}
	return best;
}

/* Which thread had the CPU instead; if it has ended, there is no name. */
static __always_inline void instead_fill(struct wire_sched *w, struct cpu_runs *c, __u64 ready)
{
	__u32 longest = run_longest(c, ready);
	struct run *r = &c->last[longest & (RUNS - 1)];
	struct task_struct *task;

	w->instead = w->instead_tid = 0;
	w->instead_comm[0] = 0;
	if (longest >= RUNS)
		return;
	w->instead = r->version;
	w->instead_tid = r->tid;
	if (r->version)
		return;
	task = (struct task_struct *)r->task;
	if ((__u32)BPF_CORE_READ(task, pid) != r->pid)
		return;
	w->instead_tid = tid_of(task);
	BPF_CORE_READ_INTO(&w->instead_comm, task, comm);
}

static __always_inline void sched_in(struct thread_state *ts, struct task_struct *next,
				     struct cpu_runs *runs, __u64 now)
{
	struct thread_sched *s = &ts->sched;
	struct wire_sched *r;

	if (!s->out) {
		if (s->seen) /* its switch was missed */
			side_lose(WIRE_SIDE_UNSEEN, WIRE_SCHED);
		return;
	}
	r = side_take(WIRE_SCHED, sizeof(*r), now);
	if (r) {
		bool woken = s->why < WHY_PREEMPTED && s->waking;
		bool in_call = thread_in_call(ts);

		r->start = s->out;
		r->woken = woken ? s->waking : 0;
		r->op_start = in_call ? ts->call.op.start : 0;
		r->thread = ts->version;
		r->waker = woken ? s->waker : 0;
		r->waker_tid = woken ? s->waker_tid : 0;
		r->woken_by = woken ? s->woken_by : 0;
		__builtin_memcpy(r->waker_comm, s->waker_comm, sizeof(r->waker_comm));
		instead_fill(r, runs, woken && s->waking > s->out ? s->waking : s->out);
		r->nr = in_call ? ts->call.op.nr : 0;
		r->prio = (__s16)next->prio;
		r->why = s->why;
		__builtin_memset(r->pad, 0, sizeof(r->pad));
		side_commit(r);
	}
	s->out = 0;
	s->waking = 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(weir_sched_switch, bool preempt, struct task_struct *prev, struct task_struct *next)
{
	struct thread_state *out = recorded(prev), *in = recorded(next);
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;
	struct cpu_runs *runs = bpf_map_lookup_elem(&cpu_runs, &zero);

	if (!runs || shared.over)
		return 0;
	run_ended(runs, prev, out, now);
	if (out)
		sched_out(out, prev, preempt, now);
	if (in)
		sched_in(in, next, runs, now);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(weir_sched_waking, struct task_struct *sleeper)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = recorded(sleeper), *waker;
	struct thread_sched *s;

	if (!ts)
		return 0;
	s = &ts->sched;
	waker = recorded(task);
	s->waker = waker ? waker->version : 0;
	s->waker_tid = waker ? waker->tid : task->pid ? tid_of(task) : 0;
	s->waker_comm[0] = 0;
	if (!waker && task->pid)
		BPF_CORE_READ_INTO(&s->waker_comm, task, comm);
	s->woken_by = context_now();
	s->waking = bpf_ktime_get_ns();
	return 0;
}
