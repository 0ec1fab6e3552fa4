/* SPDX-License-Identifier: GPL-2.0-only */
/* call.h: the enter and the exit of a call, combined into one record at the exit. */
#pragma once

#include "bpf/lib/content/content_begin.h"
#include "bpf/lib/call/vector.h"
#include "bpf/lib/call/hold.h"
#include "bpf/lib/file/mapped.h"
#include "bpf/lib/call/phases.h"
#include "bpf/lib/thread/thread.h"
#include "schema/wire_content.h"

#define FILE_APPEND	  02000 /* O_APPEND of struct file's f_flags */
#define RWF_APPEND	  0x10
#define RWF_NOAPPEND	  0x20 /* since 6.9 */
#define SIGNAL_GROUP_EXIT 4    /* signal_struct.flags: the process is ending */
#define SIGKILL_BIT	  (1ul << 8)
#define ENOTDIR		  20
#define RET_RESTART_FIRST (-516)
#define RET_RESTART_LAST  (-512)

static __always_inline void args_fill(struct call *c, struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	c->args[0] = regs->di;
	c->args[1] = regs->si;
	c->args[2] = regs->dx;
	c->args[3] = regs->r10;
	c->args[4] = regs->r8;
	c->args[5] = regs->r9;
#else
	c->args[0] = regs->orig_x0;
	c->args[1] = regs->regs[1];
	c->args[2] = regs->regs[2];
	c->args[3] = regs->regs[3];
	c->args[4] = regs->regs[4];
	c->args[5] = regs->regs[5];
#endif
}

static __always_inline long call_nr(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->orig_ax;
#else
	return regs->syscallno;
#endif
}

/* An argument, also valid after the call has ended; n: 0 to 4, a constant. */
static __always_inline __u64 call_arg_at(struct pt_regs *regs, int n)
{
#if defined(__TARGET_ARCH_x86)
	return n == 0	? regs->di
	       : n == 1 ? regs->si
	       : n == 2 ? regs->dx
	       : n == 3 ? regs->r10
			: regs->r8;
#else
	return n == 0 ? regs->orig_x0 : regs->regs[n];
#endif
}

/* Whether the call waits on several descriptors, as event loops do; any program may wait on a single one. */
static __always_inline __u32 waits_on_many(struct wire_plan *p, struct pt_regs *regs)
{
	if (!(p->flags & WIRE_PLAN_SEVERAL))
		return 0;
	return !(p->flags & WIRE_PLAN_POLL) || (__u32)call_arg_at(regs, 1) > 1;
}

static __always_inline long call_ret(struct pt_regs *regs)
{
#if defined(__TARGET_ARCH_x86)
	return regs->ax;
#else
	return regs->regs[0];
#endif
}

static __always_inline struct wire_plan *plan_of(__u32 nr)
{
	if (nr >= WIRE_CALLS_MAX)
		return NULL;
	barrier_var(
		nr); /* otherwise the compiler checks after an addition, which the verifier does not track */
	return &plans[nr & (WIRE_CALLS_MAX - 1)];
}

/* The plan index of a call; user space may pass any 32-bit number. */
static __always_inline __u32 call_index(__u32 nr)
{
	return likely(nr < WIRE_CALLS_KNOWN) ? nr : WIRE_CALL_OTHER;
}

static __always_inline __u64 arg(struct call *c, __u8 n)
{
	return c->args[n & 7];
}

/* Whether a call has an argument; cheaper than n >= 0, which sign-extends. */
static __always_inline bool has(__s8 n)
{
	return (__u8)n < WIRE_ARGS;
}

static __always_inline bool is_restart(__s64 ret)
{
	return ret <= RET_RESTART_LAST && ret >= RET_RESTART_FIRST;
}

/* A call interrupted by a deadly signal never returns to the program; it is recorded when the thread ends. */
static __always_inline bool call_is_last(struct task_struct *task)
{
	return (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT) ||
	       (tread(struct task_struct, task, pending.signal.sig[0]) & SIGKILL_BIT);
}

/* Whether the record can name the only descriptor that the call waited on. */
static __always_inline bool waits_on_one(struct wire_plan *p)
{
	return p->flags & (WIRE_PLAN_POLL | WIRE_PLAN_SELECT);
}

/*
 * Whether the path selection certainly excludes the call: none of its files passes, and none can be added by a path
 * argument, which the recorder resolves, or by a descriptor that the call returned.
 */
static __always_inline bool call_unwanted(struct call *c, struct wire_plan *p)
{
	return select_paths && !(c->kind & FILE_WANTED) && p->path < 0 && p->path2 < 0 &&
	       p->ret != RET_FD && p->fdpair < 0 && !(p->flags & WIRE_PLAN_EXEC);
}

/* Takes the call's number back. */
static __always_inline void call_uncount(struct thread_state *ts)
{
	/* An exec began a new version with its own count. */
	if (ts->call.op.thread == ts->version)
		ts->calls--;
}

static __always_inline void call_leave_out(struct thread_state *ts)
{
	__sync_fetch_and_add(&this_cpu()->filtered, 1);
	call_uncount(ts);
}

/* For a call that the selection rejects: true if it is sent nevertheless, because it may change names or marks a span. */
static __always_inline bool call_has_fate(struct thread_state *ts, struct wire_plan *p, __s64 ret)
{
	if (!(p->flags & (ret >= 0 ? WIRE_PLAN_FATE : WIRE_PLAN_MARKS)) ||
	    (ret < 0 && ret != -ENOTDIR))
		return false;
	ts->call.kind |= CALL_LEFT_OUT;
	return true;
}

#define MARKER_PREFIX "/dev/null/weir/" /* capture/ebpf/spans/markers.h */

/* There was no room for a call: counts it if it would have marked a span, even if it is not a row. */
verified_alone int marker_lost(struct thread_state *ts, struct wire_plan *p, __s64 ret)
{
	char text[sizeof(MARKER_PREFIX) - 1] = {};

	if (!ts || !p || ret != -ENOTDIR || !(p->flags & WIRE_PLAN_MARKS))
		return 0;
	bpf_probe_read_user(text, sizeof(text), (void *)arg(&ts->call, p->path));
	for (unsigned int i = 0; i < sizeof(text); i++) {
		if (text[i] != MARKER_PREFIX[i])
			return 0;
	}
	__sync_fetch_and_add(&markers_lost, 1);
	return 0;
}

/* Resolves a descriptor at enter: at exit it may be closed or refer to another file. */
static __always_inline void call_file(struct files_struct *files_, struct thread_state *ts, int fd,
				      bool own_pos)
{
	struct call *c = &ts->call;
	struct last_file *l;
	__u64 file = fd_file(files_, fd);

	if (!file)
		return;
	l = file_of(ts, file, fd);
	c->file = file;
	c->op.file = l->key;
	c->kind = l->kind;
	if ((l->kind & FILE_SEEKABLE) && own_pos)
		c->pos = kread(struct file, file, f_pos);
}

verified_alone int call_file2(struct thread_state *ts, int fd)
{
	struct last_file *l;
	struct call *c;
	__u64 file;

	if (!ts)
		return 0;
	c = &ts->call;
	file = fd_file_apart(fd);
	if (!file)
		return 0;
	l = file_of(ts, file, fd + 1);
	c->file2 = file;
	c->key2 = l->key;
	c->kind2 = l->kind;
	c->kind |= l->kind & FILE_WANTED;
	if (l->kind & FILE_SEEKABLE)
		c->pos2 = kread(struct file, file, f_pos);
	return 0;
}

#define ROOM_UNREAD 0xffffffffu /* the size of the address buffer could not be read */

struct names_room {
	__u64 at;
	__u32 least;
};

static long names_room_step(__u32 i, struct names_room *n)
{
	struct msg m;

	if (bpf_probe_read_user(&m, sizeof(m), (void *)(n->at + i * sizeof(struct mmsg))))
		return 1; /* nor can the kernel: it receives no more */
	if (m.name && m.namelen < n->least)
		n->least = m.namelen;
	return 0;
}

/* For the content object: the smallest address buffer of the messages of a call. */
static __always_inline __u32 names_room(__u64 at, __u32 count)
{
	struct names_room n = {.at = at, .least = WIRE_ADDR_MAX};

	bpf_loop(count < WIRE_CONTENT_NAMES ? count : WIRE_CONTENT_NAMES, names_room_step, &n, 0);
	return n.least;
}

/* The size of an address buffer, which the kernel overwrites with the length of the address. */
verified_alone int call_room(struct thread_state *ts, struct wire_plan *p)
{
	struct {
		__u64 name;
		__u32 len, pad;
	} head; /* start of struct msghdr */
	struct call *c;
	__u64 user;
	__u32 room;

	if (!ts || !p)
		return 0;
	c = &ts->call;
	room = 0;
	if (has(p->addrout)) {
		if (arg(c, p->addrout) &&
		    bpf_probe_read_user(&room, sizeof(room), (void *)arg(c, p->addrout + 1)))
			room = ROOM_UNREAD;
	} else if (has(p->msg) || has(p->mmsg)) {
		user = has(p->msg) ? arg(c, p->msg) : arg(c, p->mmsg);
		if (bpf_probe_read_user(&head, sizeof(head), (void *)user))
			room = ROOM_UNREAD;
		else
			room = head.name ? head.len : 0;
	}
	c->room = room;
	if (content && has(p->mmsg))
		ts->content.room = names_room(arg(c, p->mmsg), arg(c, p->mmsg + 1));
	return 0;
}

/*
 * Saves the descriptor sets passed to select, which overwrites them. A thread that never calls it needs no space; if
 * there is no room, its descriptors are unknown.
 */
verified_alone int sets_keep(struct thread_state *ts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fd_sets *k;
	__u32 len;

	if (!ts)
		return 0;
	k = bpf_task_storage_get(&select_sets, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!k)
		return 0;
	k->call = ts->call.op.call;
	k->version = ts->version;
	k->unread = 0;
	len = sets_bytes(ts->call.args[0]);
	__builtin_memset(k->words, 0, sizeof(k->words));
	for (int i = 0; i < 3; i++) {
		__u64 user = ts->call.args[1 + i];

		if (user && bpf_probe_read_user(k->words[i], len, (void *)user))
			k->unread = 1;
	}
	return 0;
}

/* The file mapped at the address in the first argument. */
verified_alone int call_mapped(struct thread_state *ts)
{
	struct mapping m = {};
	struct call *c;

	if (!ts)
		return 0;
	c = &ts->call;
	c->pos = WIRE_NONE;
	m.address = c->args[0];
	if (mapping_find(bpf_get_current_task_btf(), &m) || !m.file)
		return 0;
	c->op.file = mapped_file(ts, m.file);
	c->pos = m.pos;
	c->kind = (ts->ident.wanted & FILTER_WANTED_SELECTED ? FILE_WANTED : 0) |
		  (__u32)ts->ident.wanted << KIND_WANTED_SHIFT;
	return 0;
}

/* Requests of libaio submitted by io_submit: see bpf/lib/request/aio.h. */
verified_alone int aio_submit(struct thread_state *ts);

/* Sets what is known when a call begins; nr from call_index(). */
static __always_inline void call_begin(struct files_struct *files_, struct thread_state *ts,
				       struct pt_regs *regs, struct wire_plan *p, __u32 nr)
{
	struct call *c = &ts->call;

	args_fill(c, regs);
	c->op.file = 0;
	c->op.size = arg(c, p->op_size);
	c->op.thread = ts->version;
	c->op.call = ts->calls++;
	c->op.tid = ts->tid;
	c->op.fd = arg(c, p->op_fd);
	c->op.flags = arg(c, p->op_flags);
	c->op.nr = nr;
	if (unlikely(nr == WIRE_CALL_OTHER))
		c->op.flags = call_nr(regs);
	c->file = 0;
	c->kind = 0;
	if (has(p->fd))
		call_file(files_, ts, c->op.fd, p->flags & WIRE_PLAN_OWNPOS);
	if (p->flags & WIRE_PLAN_RICH) {
		c->file2 = 0;
		c->key2 = 0;
		c->kind2 = 0;
		c->base = 0;
		c->room = 0;
	}
}

static __always_inline void call_enter(struct task_struct *task, struct thread_state *ts,
				       struct pt_regs *regs, long id)
{
	struct call *c = &ts->call;
	struct wire_plan *p;
	__u32 nr = call_index(id);

	if (is_compat(task)) {
		missing_count(WIRE_MISSING_COMPAT);
		cpu_count(compat);
		/* Also if it ends in 64 bits, as an execve may: it was counted. */
		c->op.nr = WIRE_CALL_OTHER;
		ts->flags |= THREAD_IN_CALL | THREAD_SKIPPED | THREAD_ENTERED;
		return;
	}
	p = plan_of(nr);
	if (!p || !(p->flags & (WIRE_PLAN_RECORD | WIRE_PLAN_SENT))) {
		if (p && (p->flags & WIRE_PLAN_AIO)) {
			args_fill(c, regs);
			if (p->flags & WIRE_PLAN_SUBMITS)
				aio_submit(ts);
		}
		c->op.nr = nr;
		ts->flags |= THREAD_IN_CALL | THREAD_SKIPPED | THREAD_ENTERED;
		return;
	}
	call_begin(tread(struct task_struct, task, files), ts, regs, p, nr);
	if (p->flags & WIRE_PLAN_RICH) {
		if (has(p->fd2))
			call_file2(ts, arg(c, p->fd2));
		if (p->flags & WIRE_PLAN_CHDIR)
			c->base = cwd_key(ts);
		if (has(p->addrout) || (p->flags & WIRE_PLAN_RECEIVES))
			call_room(ts, p);
		if (unlikely(p->flags & (WIRE_PLAN_SELECT | WIRE_PLAN_MAPPED))) {
			if (p->flags & WIRE_PLAN_SELECT)
				sets_keep(ts);
			else
				call_mapped(ts);
		}
		if (p->flags & WIRE_PLAN_SUBMITS)
			aio_submit(ts);
	}
	/* already decided: its end is not even timed */
	if (call_unwanted(c, p) && !waits_on_one(p)) {
		call_leave_out(ts);
		ts->flags |= THREAD_IN_CALL | THREAD_SKIPPED | THREAD_ENTERED;
		return;
	}
	ts->flags =
		(ts->flags | THREAD_IN_CALL | THREAD_ENTERED) & ~(THREAD_SKIPPED | THREAD_NEWBORN);
	c->switches = task->nvcsw;
	c->run_delay = run_delay_of(task);
	if (content) {
		ts->content.end = 0;
		ts->content.tcp = 0;
		if (c->kind & FILE_SOCKET)
			content_begin(ts);
	}
	c->op.start = bpf_ktime_get_ns();
	if (phases)
		phases_begin(task, ts);
}

/*
 * The initial position of a call that advances the file's own position. f_pos after the call minus ret was wrong for
 * none of 240,000 shared reads and 12 of 240,000 shared writes; if it equals f_pos at enter it is certain, otherwise it
 * may belong to another thread's call and is marked.
 */
static __always_inline __s64 pos_shared(struct call *c, __u64 file, __s64 before, __s64 ret,
					__u16 *status)
{
	__s64 after = kread(struct file, file, f_pos), pos = ret > 0 ? after - ret : after;

	if (kread(struct file, file, f_flags) & FILE_APPEND) {
		if (ret > 0 && pos != before)
			*status |= STATUS_APPEND;
		return pos;
	}
	if (pos != before)
		*status |= STATUS_CONTESTED;
	return pos;
}

static __always_inline __s64 pos_append(__u64 file, __s64 ret)
{
	return kread(struct inode, kread(struct file, file, f_inode), i_size) - ret;
}

/* The position of a call on a seekable file. */
static __always_inline __s64 call_pos(struct task_struct *task, struct call *c, struct wire_plan *p,
				      __s64 ret, __u16 *status)
{
	__u64 rwf = 0;
	__s64 pos;

	if (has(p->pos)) {
		pos = arg(c, p->pos);
		if (!(p->flags & (WIRE_PLAN_PWRITE | WIRE_PLAN_CURPOS)) ||
		    !(c->kind & FILE_SEEKABLE))
			return pos;
		if ((p->flags & WIRE_PLAN_CURPOS) && has(p->opflags))
			rwf = arg(c, p->opflags);
		if ((p->flags & WIRE_PLAN_PWRITE) && ret > 0 &&
		    ((rwf & RWF_APPEND) ||
		     (!(rwf & RWF_NOAPPEND) &&
		      (kread(struct file, c->file, f_flags) & FILE_APPEND)))) {
			*status |= STATUS_APPEND;
			return pos_append(c->file, ret);
		}
		if (pos != -1 || !(p->flags & WIRE_PLAN_CURPOS))
			return pos;
	} else if (p->ret == RET_POS) {
		return ret < 0 ? WIRE_NONE : ret;
	} else if (p->ret != RET_BYTES) {
		return WIRE_NONE;
	}
	if (!(c->kind & FILE_SEEKABLE) || has(p->posp))
		return WIRE_NONE;
	if (fd_file(tread(struct task_struct, task, files), arg(c, p->fd)) !=
	    c->file) /* closed meanwhile: the struct may have been reused */
		return c->pos;
	return pos_shared(c, c->file, c->pos, ret, status);
}

/* The thread was off CPU during its call. */
static __always_inline void call_was_away(struct task_struct *task, struct thread_state *ts)
{
	ts->call.kind |= CALL_AWAY;
	ts->call.run_delay = run_delay_of(task) - ts->call.run_delay;
}

/* Whether the record includes the descriptors that the call waited on. */
static __always_inline bool call_on_several(struct thread_state *ts, struct wire_plan *p)
{
	return (ts->call.kind & CALL_AWAY) && (p->flags & WIRE_PLAN_SEVERAL);
}

/* Whether the record will name the descriptor that the call slept on, if there is only one. */
static __always_inline bool call_may_name_one(struct thread_state *ts, struct wire_plan *p)
{
	return (ts->call.kind & CALL_AWAY) && waits_on_one(p);
}

static __always_inline void away_fill(struct wire_away *a, struct thread_state *ts, __s64 ret)
{
	struct task_struct *task = NULL;

	a->runq = bpf_core_field_exists(task->sched_info.run_delay) ? ts->call.run_delay
								    : WIRE_TIME_UNKNOWN;
	if (phases && !(ts->call.kind & CALL_AWAY))
		a->runq = 0;
	/* If a timer or signal intervened, the call's result shows it. */
	a->waker = ret >= 0 && ts->woken_start == ts->call.op.start ? ts->waker : 0;
	ts->waker = 0;
	a->count = 0;
	a->left = 0;
	a->phases = phases;
}

/* Whether the recorder lacks the call's thread, without which it cannot use the call. */
static __always_inline bool call_is_unsent(struct thread_state *ts)
{
	return unlikely(ts->flags & THREAD_UNSENT) && ts->call.op.thread == ts->version;
}

/* Does not set the head's parts, size and sequence number. */
static __always_inline void op_fill(struct wire_op *r, struct thread_state *ts, __s64 ret,
				    __u64 end, __s64 pos, __u16 status)
{
	*r = ts->call.op;
	r->head.type = WIRE_OP;
	r->head.time = end;
	r->ret = ret;
	r->pos = pos;
	r->status = status;
}

/* Writes a record without variable-size parts in place. */
static __always_inline void op_send(struct thread_state *ts, struct wire_plan *p, __s64 ret,
				    __u64 end, __s64 pos, __u16 status)
{
	struct ring_place at;
	struct wire_op *r;
	__u32 seq;

	if (p->raw || raw_args) {
		struct with_args {
			struct wire_op op;
			__u64 args[WIRE_ARGS];
		} *w = ring_take(&at, sizeof(*w), sizeof(*w), &seq);

		if (!w) {
			call_lost();
			return;
		}
		op_fill(&w->op, ts, ret, end, pos, status);
		w->op.head.parts = WIRE_PART_ARGS;
		w->op.head.size = sizeof(*w);
		w->op.head.seq = seq;
		__builtin_memcpy(w->args, ts->call.args, sizeof(w->args));
		ring_commit(&at);
		return;
	}
	r = ring_take(&at, sizeof(*r), sizeof(*r), &seq);
	if (!r) {
		call_lost();
		return;
	}
	op_fill(r, ts, ret, end, pos, status);
	r->head.parts = 0;
	r->head.size = sizeof(*r);
	r->head.seq = seq;
	ring_commit(&at);
}

/* The same for a call whose thread was off CPU or read from a device. Its status is in the state. */
verified_alone int op_send_away(struct thread_state *ts, __s64 ret, __u64 end, __s64 pos)
{
	struct with_away {
		struct wire_op op;
		__u64 args[WIRE_ARGS];
		struct wire_away away;
		struct wire_phases phases;
		struct wire_wait waits[WIRE_WAITS_MAX];
	} *w;
	__u32 size = __builtin_offsetof(struct with_away, phases), seq;
	struct ring_place at;

	if (!ts)
		return 0;
	if (phases)
		size += phases_bytes(&ts->phases);
	w = ring_take(&at, size, sizeof(*w), &seq);
	if (!w) {
		call_lost();
		return 0;
	}
	op_fill(&w->op, ts, ret, end, pos, ts->call.op.status);
	w->op.head.parts = WIRE_PART_ARGS | WIRE_PART_AWAY;
	w->op.head.size = size;
	w->op.head.seq = seq;
	__builtin_memcpy(w->args, ts->call.args, sizeof(w->args));
	away_fill(&w->away, ts, ret);
	if (phases)
		phases_fill_all(&w->phases, &ts->phases);
	ring_commit(&at);
	return 0;
}
