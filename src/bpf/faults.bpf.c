// SPDX-License-Identifier: GPL-2.0-only
/*
 * faults.bpf.c: major page faults, which read a page of a mapped file (or of swap) without any call.
 *
 * The end of a fault is a perf software event, to which weir_fault is attached on every CPU: it costs nothing for other
 * faults. The start is seen in mm_filemap_fault (since Linux 6.14), which runs if a page missing in the page tables
 * cannot simply be mapped; on older kernels, at about 110 ns for each fault of any kind, at the exception entry. A
 * fault that waits for its page is retried, so the first start counts as long as the thread's own fault counters do not
 * change.
 *
 * Both run in the thread, outside of all other programs, since faults within a program are refused. So they write to
 * the rings of calls.
 */
#include "bpf/lib/file/mapped.h"
#include "bpf/lib/thread/thread.h"
#ifdef FAULTS_CONTENT
#	include "bpf/lib/content/content_fault.h"
#else
static __always_inline void fault_content(struct wire_fault *f, __u64 file, __u64 inode, __u64 end)
{
}
#endif

char LICENSE[] SEC("license") = "GPL";

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct address_space {
	struct inode *host;
};

#pragma clang attribute pop

typedef void (*btf_trace_mm_filemap_fault)(void *, struct address_space *, unsigned long);

/* struct bpf_perf_event_data, which is ABI */
struct fault_context {
#if defined(__TARGET_ARCH_x86)
	__u64 before_ip[16], ip, cs, flags, sp, ss;
#else
	__u64 regs[31], sp, ip, pstate;
#endif
	__u64 sample_period, addr;
};

/* State of a thread's fault before it ends, and of the last one. */
struct fault_begun {
	__u64 start;
	__u64 count; /* number of the thread's completed faults at that time */
	__u64 inode; /* of the page cache; 0: unknown */
	__u64 page;
	__u64 last_inode, last_key; /* file of the last fault */
	__u32 last_wanted, pad;	    /* whether the path selection contains it */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct fault_begun);
} faults_begun SEC(".maps");

/* How often weir_fault ran, for comparison with perf's event count. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} fault_runs SEC(".maps");

static __always_inline __u64 faults_ended(struct task_struct *task)
{
	return task->min_flt + task->maj_flt;
}

/* Selected, or not yet decided. */
static __always_inline bool fault_may_count(struct task_struct *task)
{
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);

	return !ts || (ts->flags & THREAD_SELECTED) || thread_needs_look(ts);
}

static __always_inline void fault_begin(__u64 inode, __u64 page)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct fault_begun *b;
	__u64 count;

	if (!select_epoch || !fault_may_count(task))
		return;
	b = bpf_task_storage_get(&faults_begun, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!b)
		return;
	count = faults_ended(task);
	if (b->start && b->count == count)
		return; /* retried */
	b->start = bpf_ktime_get_ns();
	b->count = count;
	b->inode = inode;
	b->page = page;
}

SEC("?tp_btf/mm_filemap_fault")
int BPF_PROG(weir_fault_page, struct address_space *mapping, unsigned long index)
{
	fault_begin((__u64)mapping->host, index);
	return 0;
}

SEC("?tp_btf/page_fault_user")
int BPF_PROG(weir_fault_user)
{
	fault_begin(0, 0);
	return 0;
}

SEC("?tp_btf/page_fault_kernel")
int BPF_PROG(weir_fault_kernel)
{
	fault_begin(0, 0);
	return 0;
}

static __always_inline __u32 fault_flags(struct fault_context *ctx)
{
	__u32 flags = ctx->addr == ctx->ip ? WIRE_FAULT_EXEC : 0;

#if defined(__TARGET_ARCH_x86)
	return flags | (ctx->cs & 3 ? 0 : WIRE_FAULT_IN_CALL);
#else
	return flags | (ctx->pstate & 0xf ? WIRE_FAULT_IN_CALL : 0);
#endif
}

/* Fills the record with what is mapped at the faulting address. */
static __always_inline void fault_look(struct task_struct *task, struct thread_state *ts,
				       struct fault_begun *b, bool seen, struct mapping *m,
				       struct wire_fault *f)
{
	__u64 inode;

	f->wanted = 0;
	if (mapping_find(task, m)) {
		/* The page cache's inode is known, its name may be cached from the last fault. */
		if (!seen || !b->inode || b->inode != b->last_inode) {
			f->flags |= WIRE_FAULT_UNREAD;
			return;
		}
		f->file = b->last_key;
		f->wanted = b->last_wanted;
		f->pos = b->page * page_bytes;
		f->file_bytes = kread(struct inode, b->inode, i_size);
		return;
	}
	/* A private page that was written and swapped out no longer belongs to the file. */
	if (!m->file || (bpf_core_type_exists(btf_trace_mm_filemap_fault) && !seen &&
			 !(m->flags & VM_SHARED))) {
		f->flags |= WIRE_FAULT_SWAP;
		return;
	}
	inode = (__u64)kread(struct file, m->file, f_inode);
	f->file = mapped_file(ts, m->file);
	f->wanted = ts->ident.wanted & FILTER_WANTED_SELECTED;
	f->pos = m->pos;
	f->file_bytes = kread(struct inode, inode, i_size);
	if (b) {
		b->last_inode = inode;
		b->last_key = f->file;
		b->last_wanted = f->wanted;
	}
}

static __always_inline void fault_lost(void)
{
	struct wire_cpu *c;

	ring_begin();
	c = this_cpu();
	c->seq++;
	c->faults++;
	ring_end();
}

static __always_inline void fault_send(const struct wire_fault *f, __u64 end)
{
	struct ring_place at;
	struct wire_fault *r;
	__u32 seq;

	r = ring_take(&at, sizeof(*r), sizeof(*r), &seq);
	if (!r) {
		fault_lost();
		return;
	}
	*r = *f;
	head_fill(&r->head, WIRE_FAULT, 0, sizeof(*r), seq, end);
	ring_commit(&at);
}

/* As for a call: only failed ones, slow ones, those of some files. */
static __always_inline bool fault_left_out(const struct wire_fault *f, __u64 end)
{
	return failed_only || (min_dur_ns && (!f->start || end - f->start < min_dur_ns)) ||
	       (select_paths && !f->wanted);
}

SEC("perf_event")
int weir_fault(struct fault_context *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 end = bpf_ktime_get_ns(), *runs;
	struct mapping m = {.address = ctx->addr};
	struct wire_fault f = {};
	struct thread_state *ts;
	struct fault_begun *b;
	__u32 zero = 0;
	bool seen;

	runs = bpf_map_lookup_elem(&fault_runs, &zero);
	if (runs)
		(*runs)++;
	ts = thread_get(task);
	if (!ts) {
		cpu_count(storage);
		return 0;
	}
	if (thread_needs_look(ts))
		thread_look(ts);
	if (!(ts->flags & THREAD_SELECTED))
		return 0;
	b = bpf_task_storage_get(&faults_begun, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	seen = b && b->start && b->count + 1 == faults_ended(task);
	f.start = seen ? b->start : 0;
	f.address = ctx->addr;
	f.thread = ts->version;
	f.tid = ts->tid;
	f.flags = fault_flags(ctx);
	fault_look(task, ts, b, seen, &m, &f);
	if (b)
		b->start = 0;
	if (fault_left_out(&f, end)) {
		cpu_count(filtered);
		return 0;
	}
	if (ts->flags & THREAD_UNSENT) {
		fault_lost();
		return 0;
	}
	fault_content(&f, m.file, b ? b->inode : 0, end);
	fault_send(&f, end);
	return 0;
}
