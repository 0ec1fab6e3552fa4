// SPDX-License-Identifier: GPL-2.0-only
/*
 * details.bpf.c: what arguments of calls point to, as far as a line of `weir trace` shows it: structures, texts, the
 * first bytes of buffers; and signals. Like the content object, it is attached before the calls object, so that its
 * records precede that of their call in the ring, and it takes the end time of the call, so that reading does not count
 * as part of the call.
 *
 * Memory is read at the exit of the call: data that the call overwrites is seen as the call left it. There are two
 * exceptions, which the calls object saves at enter: the sets of select, and the size of an address buffer.
 */
#include "bpf/lib/call/filter.h"
#include "bpf/lib/ring.h"
#include "bpf/lib/call/vector.h"
#include "schema/wire_detail.h"

char LICENSE[] SEC("license") = "GPL";

/* Set before loading. */
const volatile struct wire_detail_plan detail_plans[WIRE_CALLS_MAX];
const volatile __u32 detail_limit; /* bytes per buffer */
const volatile __u32 detail_argv;  /* also the arguments of an executed program */

#define IOV_PARTS      8  /* vector elements whose bytes are read */
#define IOV_ELEMENTS   64 /* vector elements that are read */
#define MSG_BYTES      56
#define MMSG_BYTES     64
#define MSG_PARTS      4
#define MSG_CONTROL    256
#define ARGV_PARTS     32 /* arguments of a program that could not be executed */
#define SIGNAL_IGNORED 1  /* TRACE_SIGNAL_IGNORED */
#define SIGNAL_KILL    9
#define SIGNAL_CHILD   17
#define CODE_KERNEL    0x80

/* Finishes a region with `len` bytes that were read to offset `at` of the record. */
static __always_inline void region_close(struct scratch *s, struct wire_region *r, __u64 at,
					 __u64 user, __u64 len, __u32 was)
{
	r->address = user;
	r->len = len;
	r->was = was;
	s->len = at + sizeof(*r) + ((len + 7) & ~7ull);
}

/* Reads memory of the program into a further region. */
verified_alone int detail_read(struct scratch *s, __u64 user, __u32 bytes, __u32 was)
{
	struct wire_region *r;
	__u64 at, len = bytes;

	if (!s || !user || !len)
		return 0;
	at = s->len;
	barrier_var(at);
	if (at > WIRE_DETAIL_MOST)
		return 0;
	if (len > WIRE_DETAIL_MOST)
		len = WIRE_DETAIL_MOST;
	r = (struct wire_region *)(s->data + at);
	barrier_var(len); /* check and use must be adjacent for 6.1's verifier */
	if (len > WIRE_DETAIL_MOST || bpf_probe_read_user(r + 1, len, (void *)user))
		return 0;
	region_close(s, r, at, user, len, was);
	return 1;
}

/* The same for text, which ends at a NUL or at the limit. */
verified_alone int detail_text(struct scratch *s, __u64 user, __u32 most)
{
	struct wire_region *r;
	char after = 0;
	__u64 at;
	long len;

	if (!s || !user)
		return 0;
	at = s->len;
	barrier_var(at);
	if (at > WIRE_DETAIL_MOST)
		return 0;
	if (most > WIRE_DETAIL_MOST)
		most = WIRE_DETAIL_MOST;
	r = (struct wire_region *)(s->data + at);
	len = bpf_probe_read_user_str(r + 1, most & (2 * WIRE_DETAIL_MOST - 1), (void *)user);
	if (len <= 0 || len > WIRE_DETAIL_MOST)
		return 0;
	/* a truncated text has no NUL */
	if (len == most && !bpf_probe_read_user(&after, 1, (void *)(user + most - 1)) && after)
		len = most - 1;
	region_close(s, r, at, user, len, 0);
	return 1;
}

/* The texts of an array terminated by NULL, in one region. */
verified_alone int detail_strings(struct scratch *s, __u64 user)
{
	struct wire_region *r;
	__u64 at, text, len = 0;
	long n;

	if (!s || !user)
		return 0;
	at = s->len;
	barrier_var(at);
	if (at > WIRE_DETAIL_MOST)
		return 0;
	r = (struct wire_region *)(s->data + at);
	for (int i = 0; i < ARGV_PARTS; i++) {
		if (bpf_probe_read_user(&text, sizeof(text), (void *)(user + i * sizeof(text))))
			break;
		barrier_var(len); /* as above */
		if (!text || len > WIRE_DETAIL_LIST)
			break;
		n = bpf_probe_read_user_str((__u8 *)(r + 1) + len, WIRE_DETAIL_TEXT, (void *)text);
		if (n <= 0 || n > WIRE_DETAIL_TEXT)
			break;
		len += n;
	}
	if (!len || len > WIRE_DETAIL_MOST)
		return 0;
	region_close(s, r, at, user, len, 0);
	return 1;
}

/* The same for an executed program: its texts are on its new stack; the region has their old address. */
verified_alone int detail_executed(struct scratch *s, __u64 user, __u64 from, __u64 to)
{
	struct wire_region *r;
	__u64 at, len = to - from;

	if (!s)
		return 0;
	at = s->len;
	barrier_var(at);
	if (at > WIRE_DETAIL_MOST)
		return 0;
	r = (struct wire_region *)(s->data + at);
	if (len > WIRE_DETAIL_MOST)
		len = WIRE_DETAIL_MOST;
	barrier_var(len);
	if (!len || len > WIRE_DETAIL_MOST || bpf_probe_read_user(r + 1, len, (void *)from))
		return 0;
	region_close(s, r, at, user, len, 0);
	return 1;
}

/* A set of descriptors: as passed to the call, saved by the calls object, and as the call left it. */
verified_alone int detail_set(struct scratch *s, struct thread_state *ts, __u32 arg_of)
{
	struct fd_sets *k = bpf_task_storage_get(&select_sets, bpf_get_current_task_btf(), 0, 0);
	__u32 len, which = (arg_of - 1) & 3;
	struct wire_region *r;
	__u64 at, user;

	if (!s || !ts || which > 2)
		return 0;
	user = arg(&ts->call, arg_of);
	len = sets_bytes(ts->call.args[0]);
	at = s->len;
	barrier_var(at);
	if (!user || !len || at > WIRE_DETAIL_MOST)
		return 0;
	if (k && k->version == ts->version && k->call == ts->call.op.call && !k->unread) {
		r = (struct wire_region *)(s->data + at);
		bpf_probe_read_kernel(r + 1, sizeof(k->words[0]), k->words[which]);
		region_close(s, r, at, user, len, 1);
	}
	return detail_read(s, user, len, 0);
}

static __always_inline __u32 detail_least(__u64 a, __u64 b)
{
	return a < b ? a : b;
}

/* The bytes of a vector element; s->size is the remaining number of bytes moved. 0: none are left. */
verified_alone int detail_element(struct scratch *s, __u64 at)
{
	struct iov e;
	__u64 len;

	if (!s || !s->size || bpf_probe_read_user(&e, sizeof(e), (void *)at))
		return 0;
	len = detail_least(e.len, s->size);
	s->size -= len;
	detail_read(s, e.base, detail_least(len, detail_limit), 0);
	return 1;
}

/* A vector, and what its elements point to, up to the number of bytes moved. */
verified_alone int detail_vector(struct scratch *s, __u64 user, __u64 count, __u64 moved)
{
	__u64 len;

	if (!s)
		return 0;
	if (count > IOV_ELEMENTS)
		count = IOV_ELEMENTS;
	len = count * sizeof(struct iov);
	if (!detail_read(s, user, len, 0) || !detail_limit)
		return 0;
	s->size = moved;
	for (int i = 0; i < IOV_PARTS; i++) {
		if (i >= count || !detail_element(s, user + i * sizeof(struct iov)))
			break;
	}
	return 0;
}

/* A message, whose header was already read. */
verified_alone int detail_message(struct scratch *s, __u64 user, __u64 moved)
{
	struct msg m;

	if (!s || bpf_probe_read_user(&m, sizeof(m), (void *)user))
		return 0;
	detail_vector(s, m.iov, m.iovlen, moved);
	detail_read(s, m.control, detail_least(m.controllen, MSG_CONTROL), 0);
	return 0;
}

verified_alone int detail_messages(struct scratch *s, __u64 user, __s64 count)
{
	__u64 at = user;
	__u32 len;

	if (!s || count <= 0)
		return 0;
	detail_read(s, user, detail_least(count, MSG_PARTS) * MMSG_BYTES, 0);
	for (int i = 0; i < MSG_PARTS; i++) {
		if (i >= count || bpf_probe_read_user(&len, sizeof(len), (void *)(at + MSG_BYTES)))
			break;
		detail_message(s, at, len);
		at += MMSG_BYTES;
	}
	return 0;
}

/* The bytes of a vector or message that the call moved; for a failed one, those it tried to send. */
static __always_inline __u64 detail_moved(__u32 flags, __s64 ret)
{
	return (flags & WIRE_DETAIL_OUT) ? (ret > 0 ? ret : 0) : ~0ull;
}

verified_alone int detail_step(struct scratch *s, struct thread_state *ts, __u32 i, __s64 ret)
{
	const volatile struct wire_detail_step *p;
	__u64 user, len = 0, count;
	__u32 flags, at = 0;

	if (!s || !ts || i >= WIRE_DETAIL_STEPS)
		return 0;
	p = &detail_plans[ts->call.op.nr & (WIRE_CALLS_MAX - 1)].steps[i];
	flags = p->flags;
	user = arg(&ts->call, p->arg);
	count = arg(&ts->call, p->len);
	if (!user || ((flags & WIRE_DETAIL_OUT) && ret < 0 && p->how != WIRE_DETAIL_ROOM))
		return 0;
	switch (p->how) {
	case WIRE_DETAIL_STRING:
		return detail_text(s, user, p->size);
	case WIRE_DETAIL_STRINGS:
		return detail_strings(s, user);
	case WIRE_DETAIL_SET:
		return detail_set(s, ts, p->arg);
	case WIRE_DETAIL_VECTOR:
		return detail_vector(s, user, count, detail_moved(flags, ret));
	case WIRE_DETAIL_MESSAGE:
		detail_read(s, user, MSG_BYTES, ts->call.room);
		return detail_message(s, user, detail_moved(flags, ret));
	case WIRE_DETAIL_MESSAGES:
		return detail_messages(s, user,
				       ret >= 0 ? ret : (__s64)detail_least(count, MSG_PARTS));
	case WIRE_DETAIL_ROOM:
		return detail_read(s, user, sizeof(at), ts->call.room);
	case WIRE_DETAIL_FIXED:
		len = p->size;
		break;
	case WIRE_DETAIL_COUNTED:
		len = count > WIRE_DETAIL_MOST ? WIRE_DETAIL_MOST : count * p->size;
		break;
	case WIRE_DETAIL_RETURNED:
		len = ret > WIRE_DETAIL_MOST ? WIRE_DETAIL_MOST : ret * p->size;
		break;
	case WIRE_DETAIL_LENGTH_AT:
		if (bpf_probe_read_user(&at, sizeof(at), (void *)count))
			return 0;
		len = at;
		break;
	default:
		return 0;
	}
	if (flags & WIRE_DETAIL_DATA)
		len = detail_least(len, detail_limit);
	else if (p->how != WIRE_DETAIL_FIXED)
		len = detail_least(len, WIRE_DETAIL_LIST);
	return detail_read(s, user, len, 0);
}

verified_alone int detail_call(struct thread_state *ts, __s64 ret, __u64 end)
{
	struct wire_detail *r;
	struct scratch *s;
	__u32 count, nr;

	if (!ts)
		return 0;
	s = scratch_get();
	if (!s) {
		__sync_fetch_and_add(&shared.details_lost, 1);
		return 0;
	}
	nr = ts->call.op.nr & (WIRE_CALLS_MAX - 1);
	count = detail_plans[nr].count;
	s->len = sizeof(*r);
	for (__u32 i = 0; i < WIRE_DETAIL_STEPS && i < count; i++)
		detail_step(s, ts, i, ret);
	if (s->len > sizeof(*r)) {
		r = (struct wire_detail *)s->data;
		head_fill(&r->head, WIRE_DETAIL, 0, 0, 0, end);
		r->thread = ts->call.op.thread;
		r->call = ts->call.op.call;
		r->nr = nr;
		r->pad[0] = r->pad[1] = r->pad[2] = 0;
		/* the last eighth of the ring is reserved for calls: details must not cause their loss */
		if (ring_fill(this_cpu()) > ring_bytes - ring_bytes / 8 || !ring_send(s, s->len))
			__sync_fetch_and_add(&shared.details_lost, 1);
	}
	scratch_put(s);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(weir_details, struct pt_regs *regs, long ret)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);
	struct wire_plan *p;
	__u64 end;
	__u32 nr;

	if (!ts || (ts->flags & (THREAD_IN_CALL | THREAD_SKIPPED)) != THREAD_IN_CALL)
		return 0;
	nr = ts->call.op.nr;
	p = plan_of(nr);
	if (!p || !detail_plans[nr & (WIRE_CALLS_MAX - 1)].count || call_is_unsent(ts))
		return 0;
	/* The arguments of an execve are gone with the old program. */
	if ((p->flags & WIRE_PLAN_EXEC) && ret >= 0)
		return 0;
	end = ts->content.end ? ts->content.end : bpf_ktime_get_ns();
	if (!call_selected(ts, p, ret, end))
		return 0;
	ts->content.end = end;
	detail_call(ts, ret, end);
	return 0;
}

/* The name under which a program is executed, its arguments, and the number of its variables. */
verified_alone int detail_exec(struct thread_state *ts, __u64 filename, __u32 variables, __u64 from,
			       __u64 to)
{
	struct wire_region *g;
	struct wire_detail *r;
	struct scratch *s;
	long len;

	if (!ts)
		return 0;
	s = scratch_get();
	if (!s) {
		__sync_fetch_and_add(&shared.details_lost, 1);
		return 0;
	}
	r = (struct wire_detail *)s->data;
	r->thread = ts->call.op.thread;
	r->call = ts->call.op.call;
	r->nr = ts->call.op.nr & (WIRE_CALLS_MAX - 1);
	r->pad[0] = r->pad[1] = r->pad[2] = 0;
	head_fill(&r->head, WIRE_DETAIL, 0, 0, 0, bpf_ktime_get_ns());
	g = (struct wire_region *)(r + 1);
	g->address = ts->call.args[2];
	g->len = sizeof(variables);
	g->was = 0;
	*(__u64 *)(g + 1) = variables;
	g = (struct wire_region *)((__u8 *)(g + 1) + 8);
	g->address = ts->call.args[0];
	g->was = 0;
	len = bpf_probe_read_kernel_str(g + 1, WIRE_DETAIL_MOST, (void *)filename);
	if (len > 0 && len <= WIRE_DETAIL_MOST) {
		g->len = len;
		s->len = (__u8 *)(g + 1) - s->data + ((len + 7) & ~7ul);
		if (detail_argv)
			detail_executed(s, ts->call.args[1], from, to);
		if (!ring_send(s, s->len))
			__sync_fetch_and_add(&shared.details_lost, 1);
	}
	scratch_put(s);
	return 0;
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(weir_details_exec, struct task_struct *task, int old_pid, struct linux_binprm *bprm)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, bpf_get_current_task_btf(), 0, 0);
	struct wire_plan *p;
	__u64 filename = 0, from = 0, to = 0;
	struct mm_struct *mm = tread(struct task_struct, task, mm);

	if (!ts || !thread_in_call(ts))
		return 0;
	p = plan_of(ts->call.op.nr);
	/* the first argument of execveat is a descriptor */
	if (!p || !(p->flags & WIRE_PLAN_EXEC) || p->path != 0 || call_is_unsent(ts) ||
	    !detail_plans[ts->call.op.nr & (WIRE_CALLS_MAX - 1)].count)
		return 0;
	/* copied, because functions verified separately take numbers */
	bpf_core_read(&filename, sizeof(filename), &bprm->filename);
	if (mm) {
		from = tread(struct mm_struct, mm, arg_start);
		to = tread(struct mm_struct, mm, arg_end);
	}
	return detail_exec(ts, filename, bprm->envc, from, to);
}

/* ---- signals ---- */

/* struct kernel_siginfo, whose layout equals user space's. */
struct signal_info {
	__s32 number, error, code, pad;
	union {
		struct {
			__s32 pid;
			__u32 uid;
			__s32 status, pad2;
			__s64 utime, stime;
		};
		__u64 address;
	};
};

static __always_inline void signal_send(struct task_struct *task, int number, __u64 info,
					__u32 ignored)
{
	struct thread_state *ts = thread_of(task);
	struct wire_signal_taken *r;
	struct signal_info i = {.number = number};

	if (!ts || !thread_is_known(ts) || number == SIGNAL_KILL)
		return;
	if (info > 1) {
		bpf_probe_read_kernel(&i, sizeof(i), (void *)info);
	} else if (info) {
		i.code = CODE_KERNEL;
	} else {
		i.pid = tgid_of(bpf_get_current_task_btf());
		i.uid = BPF_CORE_READ(bpf_get_current_task_btf(), cred, euid.val);
	}
	r = side_take(WIRE_SIGNAL, sizeof(*r), bpf_ktime_get_ns());
	if (!r)
		return;
	r->address = i.address;
	r->utime = number == SIGNAL_CHILD ? i.utime : 0;
	r->stime = number == SIGNAL_CHILD ? i.stime : 0;
	r->thread = ts->version;
	r->number = number;
	r->code = i.code;
	r->error = i.error;
	r->pid = i.pid;
	r->uid = i.uid;
	r->status = i.status;
	r->ignored = ignored;
	side_commit(r);
}

/* A thread is about to handle a signal, or to end by it. */
SEC("tp_btf/signal_deliver")
int BPF_PROG(weir_signal_taken, int sig, struct kernel_siginfo *info)
{
	signal_send(bpf_get_current_task_btf(), sig, (__u64)info, 0);
	return 0;
}

/*
 * A signal that the process ignores is never delivered, nor is one that ends it: SIGKILL is delivered instead. The
 * kernel drops signals to a process that is ending or has ended as if they were ignored (prepare_signal()).
 */
SEC("tp_btf/signal_generate")
int BPF_PROG(weir_signal_sent, int sig, struct kernel_siginfo *info, struct task_struct *task,
	     int group, int result)
{
	struct signal_struct *s = task->signal;
	bool ends = s->flags & SIGNAL_GROUP_EXIT;

	if (ends ? !result && s->group_exit_code == sig : result == SIGNAL_IGNORED)
		signal_send(task, sig, (__u64)info, !ends);
	return 0;
}
