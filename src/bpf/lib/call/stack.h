/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * stack.h: the stacks of a call, taken at its exit: the user stack by weir's own walk over a copy of the memory above
 * the stack pointer (0.2 us for 21 frames; bpf_get_stack() takes 1.8 us), the kernel stack as saved by stacks.bpf.c.
 *
 * A stack is sent once, under a hash of its frames and the process's image; afterwards only the hash is. The mappings
 * are looked up when it is sent, while the process exists: it may have ended by the time the recorder could look. If
 * this fails, the stack is sent again at its next use.
 *
 * The walk follows frame pointers, but functions of libraries often have none: the innermost ones are skipped by what
 * they pop before they return (site.h). The recorder detects wrong frames and missing functions by the modules' unwind
 * tables (symbols/chain.c).
 */
#pragma once

#include "bpf/lib/file/mapped.h"
#include "bpf/lib/call/site.h"
#include "bpf/lib/call/sleep.h"
#include "bpf/lib/thread/thread.h"

#define STACK_COPY	 2048 /* bytes copied at once */
#define STACK_COPY_AT	 4096 /* in struct scratch's data; the record is at the start */
#define STACK_WALK_AT	 3072
#define STACK_POPS_MAX	 12 /* frames found by what functions pop */
#define STACK_COPIES_MAX 16 /* per stack */
#define STACK_TRIES	 4  /* attempts to find a mapping while another thread changes the tree */
#define STACK_SEEN	 16384
#define USER_LEAST	 0x1000
#define USER_END	 (1ull << 56)
#define HASH_FACTOR	 0x9e3779b97f4a7c15ull

OPTION struct wire_stacks stacks = {};
__u64 stacks_unsent; /* calls whose stack found no room */

/* Stacks already sent. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, STACK_SEEN);
	__type(key, __u64);
	__type(value, __u32);
} stacks_seen SEC(".maps");

/* A walk; in map memory, since the verifier treats values read there as unknown, which loops need. */
struct stack_walk {
	__u64 ip, sp, fp;
	__u64 image, hash; /* hash of the process's image; of the frames */
	__u64 base, low;   /* start of the copy; frames can no longer be below `low` */
	__u32 frames, flags;
	__u32 copied, copies;
	__u32 busy; /* a mapping was not found because another thread changed them */
};

static __always_inline __u64 stack_mix(__u64 hash, __u64 v)
{
	hash = (hash ^ v) * HASH_FACTOR;
	return hash ^ hash >> 29;
}

static __always_inline __u64 *stack_frame(struct scratch *s, __u32 i)
{
	return (__u64 *)(s->data + sizeof(struct wire_stack)) + (i & (WIRE_STACK_FRAMES - 1));
}

static __always_inline __u64 stack_word(struct scratch *s, __u64 at)
{
	return *(__u64 *)(s->data + STACK_COPY_AT + (at & (STACK_COPY - 8)));
}

/* Copies memory above an address. Returns how much, 0: unreadable. */
verified_alone __u32 stack_copy(struct scratch *s, __u64 from)
{
	__u32 rest = 4096 - (from & 4095);

	if (!s)
		return 0;
	if (!bpf_probe_read_user(s->data + STACK_COPY_AT, STACK_COPY, (void *)from))
		return STACK_COPY;
	/* The readable memory ends with this page. */
	if (rest < STACK_COPY &&
	    !bpf_probe_read_user(s->data + STACK_COPY_AT, rest & (STACK_COPY - 1), (void *)from))
		return rest;
	return 0;
}

static __always_inline volatile struct stack_walk *stack_walk(struct scratch *s)
{
	return (volatile struct stack_walk *)(s->data + STACK_WALK_AT);
}

/* The next frame. 0: none. Not inlined: the verifier would check each frame for every path through the previous ones. */
verified_alone int stack_step(struct scratch *s)
{
	volatile struct stack_walk *w;
	__u64 fp, ret;
	__u32 n;

	if (!s)
		return 0;
	w = stack_walk(s);
	fp = w->fp;
	n = w->frames;
	if (!fp)
		w->flags |= WIRE_STACK_BOTTOM;
	if (fp < w->low || fp & 7 || fp >= USER_END)
		return 0;
	if (n >= WIRE_STACK_FRAMES - 1 || w->copies > STACK_COPIES_MAX) {
		w->flags |= WIRE_STACK_DEEP;
		return 0;
	}
	if (fp - w->base + 16 > w->copied) {
		w->copied = stack_copy(s, fp);
		w->copies++;
		w->base = fp;
		if (w->copied < 16) {
			w->flags |= WIRE_STACK_UNREAD;
			return 0;
		}
	}
	ret = stack_word(s, fp - w->base + 8);
	if (ret < USER_LEAST || ret >= WIRE_FRAME_ADDRESS)
		return 0;
	*stack_frame(s, n) = ret;
	w->frames = n + 1;
	w->hash = stack_mix(w->hash, ret);
	w->low = fp + 16;
	w->fp = stack_word(s, fp - w->base);
	return 1;
}

static long module_take(struct task_struct *task, struct vm_area_struct *vma, struct wire_module *m)
{
	m->start = vma->vm_start;
	m->end = vma->vm_end;
	m->pos = vma->vm_pgoff << 12;
	m->file = (__u64)vma->vm_file;
	return 0;
}

/* The mapping at an address of the current thread: 0, -ENOENT, -EBUSY. */
verified_alone int module_find(__u64 address, struct wire_module *m)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct mapping at = {.address = address};
	__u64 page = page_bytes;
	long r = -EBUSY;

	if (!m)
		return -ENOENT;
	if (!bpf_core_field_exists(struct mm_struct___mapped, mm_mt))
		return (int)bpf_find_vma(task, address, module_take, m, 0);
	for (int i = 0; i < STACK_TRIES && r == -EBUSY; i++)
		r = mapping_find(task, &at);
	m->start = at.start;
	m->end = at.end;
	m->pos = at.pos - ((address - at.start) & ~(page - 1));
	m->file = at.file;
	return (int)r;
}

static __always_inline struct wire_module *module_at(struct scratch *s, struct wire_stack *r,
						     __u32 i)
{
	return (struct wire_module *)(s->data + sizeof(*r) +
				      (r->frames & (WIRE_STACK_FRAMES - 1)) * 8) +
	       (i & (WIRE_STACK_MODULES - 1));
}

/* 1 + the index of the module of an address, added if new; 0: unknown. */
verified_alone __u32 module_of(struct scratch *s, __u64 address)
{
	struct wire_module m = {};
	struct wire_stack *r;
	__u32 count;
	int found;

	if (!s)
		return 0;
	r = (struct wire_stack *)s->data;
	count = r->modules;
	for (__u32 i = 0; i < WIRE_STACK_MODULES && i < count; i++) {
		struct wire_module *known = module_at(s, r, i);

		if (address >= known->start && address < known->end)
			return 1 + i;
	}
	if (count >= WIRE_STACK_MODULES)
		return 0;
	found = module_find(address, &m);
	if (found == -EBUSY)
		stack_walk(s)->busy = 1;
	if (found || address < m.start)
		return 0;
	*module_at(s, r, count) = m;
	r->modules = count + 1;
	return count + 1;
}

/* The number of a mapped file; 0: no room. */
verified_alone __u64 module_file(struct thread_state *ts, __u64 file)
{
	__u64 key;

	if (!ts)
		return 0;
	ident_fill(&ts->ident, (__u64)kread(struct file, file, f_inode),
		   (__u64)kread(struct file, file, f_path.dentry),
		   (__u64)kread(struct file, file, f_path.mnt));
	ts->ident.thread = ts->version;
	key = file_version(&ts->ident);
	return ts->ident.unsent ? 0 : key;
}

/* Finds the mappings of the frames of a user stack; modules contain the address of the file at first. */
verified_alone int stack_modules(struct scratch *s)
{
	struct wire_stack *r;

	if (!s)
		return 0;
	r = (struct wire_stack *)s->data;
	for (__u32 i = 0; i < WIRE_STACK_FRAMES && i < r->frames; i++) {
		__u64 frame = *stack_frame(s, i);

		*stack_frame(s, i) = frame | (__u64)module_of(s, frame & (WIRE_FRAME_ADDRESS - 1))
						     << WIRE_FRAME_MODULE;
	}
	return 0;
}

/* Replaces these by the numbers of the files. False: one found no room. */
static __always_inline bool stack_files(struct scratch *s, struct thread_state *ts)
{
	struct wire_stack *r = (struct wire_stack *)s->data;

	for (__u32 i = 0; i < WIRE_STACK_MODULES && i < r->modules; i++) {
		struct wire_module *m = module_at(s, r, i);
		__u64 file = m->file;

		if (!file)
			continue;
		file = module_file(ts, file);
		if (!file)
			return false;
		m->file = file;
	}
	return true;
}

/* Fills the head of the record at the start of a scratch buffer that contains the frames. */
static __always_inline struct wire_stack *stack_head(struct scratch *s, struct thread_state *ts,
						     volatile struct stack_walk *w)
{
	struct wire_stack *r = (struct wire_stack *)s->data;

	head_fill(&r->head, WIRE_STACK, 0, 0, 0, bpf_ktime_get_ns());
	r->stack = w->hash;
	r->thread = ts->version;
	r->flags = w->flags;
	r->frames = w->frames & (WIRE_STACK_FRAMES - 1);
	r->modules = 0;
	w->busy = 0;
	return r;
}

/* Sends the record begun by stack_head() unless it was sent before. False: no room. */
static __always_inline bool stack_send(struct scratch *s, struct thread_state *ts,
				       volatile struct stack_walk *w)
{
	__u64 hash = w->hash;
	struct wire_stack *r;
	__u32 one = 1;

	if (likely(bpf_map_lookup_elem(&stacks_seen, &hash)))
		return true;
	/* The rest takes some microseconds, in vain if the ring is full, and every call would retry. */
	if (ring_fill(this_cpu()) > ring_bytes - ring_bytes / 8)
		return false;
	r = stack_head(s, ts, w);
	if (!(w->flags & WIRE_STACK_KERNEL)) {
		stack_modules(s);
		if (!stack_files(s, ts))
			return false;
	}
	if (!ring_send(s, sizeof(*r) + (r->frames & (WIRE_STACK_FRAMES - 1)) * 8 +
				  (r->modules & (2 * WIRE_STACK_MODULES - 1)) *
					  sizeof(struct wire_module)))
		return false;
	if (!w->busy)
		bpf_map_update_elem(&stacks_seen, &hash, &one, BPF_ANY);
	return true;
}

/*
 * The caller of the last frame, found by what the function pops before it returns. 0: unknown, or the function has a
 * frame pointer, at which the chain begins.
 */
verified_alone int stack_pop(struct scratch *s)
{
	volatile struct stack_walk *w;
	__u32 site, word, fp, n;
	__u64 at, v;

	if (!s)
		return 0;
	w = stack_walk(s);
	site = site_of(s, w->image, w->ip);
	word = site & 0xff;
	fp = site >> 8 & 0xff;
	n = w->frames;
	at = w->sp - w->base;
	if (site == SITE_UNKNOWN || site == SITE_FRAME || at + word * 8 + 8 > w->copied)
		return 0;
	if (fp != SITE_NONE) {
		if (w->fp == w->sp + fp * 8)
			return 0; /* its own frame pointer */
		w->fp = stack_word(s, at + fp * 8);
	}
	v = stack_word(s, at + word * 8);
	if (v < USER_LEAST || v >= WIRE_FRAME_ADDRESS)
		return 0;
	*stack_frame(s, n) = v | (__u64)(word + 1) << WIRE_FRAME_WORDS;
	w->frames = n + 1;
	w->hash = stack_mix(w->hash, v + word);
	w->ip = v;
	w->sp += word * 8 + 8;
	w->low = w->sp;
	return 1;
}

static __always_inline void stack_first(struct scratch *s, struct thread_state *ts,
					volatile struct stack_walk *w, __u64 mm)
{
	__u64 ip = w->ip;

	w->image = stack_mix(stack_mix(mm, ts->exe), kread(struct mm_struct, mm, exec_vm));
	*stack_frame(s, 0) = ip;
	w->hash = stack_mix(w->image, ip);
	w->frames = 1;
	w->flags = 0;
	w->copies = 1;
	w->base = w->low = w->sp;
	w->copied = stack_copy(s, w->sp);
	for (__u32 i = 0; i < STACK_POPS_MAX && stack_pop(s); i++)
		;
}

/* The hash of the current thread's user stack, 0: no room. */
verified_alone __u64 stack_user(struct scratch *s, struct thread_state *ts, __u64 ip, __u64 sp,
				__u64 fp)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 mm = kread_ptr((__u64)task + bpf_core_field_offset(struct task_struct, mm));
	volatile struct stack_walk *w;

	if (!s || !ts || !mm)
		return 0;
	w = stack_walk(s);
	w->ip = ip;
	w->sp = sp;
	w->fp = fp;
	stack_first(s, ts, w, mm);
	for (__u32 i = 0; i < WIRE_STACK_FRAMES && stack_step(s); i++)
		;
	return stack_send(s, ts, w) ? w->hash : 0;
}

/* The hash of the stack of the thread's longest sleep during the call that ends, 0: no sleep, or no room. */
verified_alone __u64 stack_kernel(struct scratch *s, struct thread_state *ts)
{
	struct task_struct *task = bpf_get_current_task_btf();
	volatile struct stack_walk *w;
	struct sleeps *k;
	__s32 bytes;

	if (!s || !ts)
		return 0;
	k = bpf_task_storage_get(&sleeping, task, 0, 0);
	if (!k || !k->longest || k->start != ts->call.op.start)
		return 0;
	bytes = k->kept ? k->bytes[1] : k->bytes[0];
	if (bytes <= 0)
		return 0;
	w = stack_walk(s);
	w->flags = WIRE_STACK_KERNEL;
	w->frames = (__u32)bytes / 8;
	if (w->frames >= WIRE_STACK_SLEEPS) {
		w->frames = WIRE_STACK_SLEEPS;
		w->flags |= WIRE_STACK_DEEP;
	}
	w->hash = stack_mix(WIRE_STACK_KERNEL, w->frames);
	for (__u32 i = 0; i < WIRE_STACK_SLEEPS && i < w->frames; i++) {
		__u64 v = k->kept ? k->frames[1][i] : k->frames[0][i];

		*stack_frame(s, i) = v;
		w->hash = stack_mix(w->hash, v);
	}
	return stack_send(s, ts, w) ? w->hash : 0;
}

/* Sends the stacks of a call that is about to be sent. */
verified_alone int stacks_send(struct thread_state *ts, __u64 ip, __u64 sp, __u64 fp, __u64 end)
{
	struct wire_call_stacks *r;
	struct scratch *s = scratch_get();
	struct ring_place at;
	__u64 user, kernel;
	__u32 seq;

	if (!s) {
		__sync_fetch_and_add(&stacks_unsent, 1);
		return 0;
	}
	if (!ts) {
		scratch_put(s);
		return 0;
	}
	user = stack_user(s, ts, ip, sp, fp);
	kernel = ts->call.kind & CALL_AWAY ? stack_kernel(s, ts) : 0;
	scratch_put(s);
	r = user ? ring_take(&at, sizeof(*r), sizeof(*r), &seq) : NULL;
	if (!r) {
		__sync_fetch_and_add(&stacks_unsent, 1);
		return 0;
	}
	head_fill(&r->head, WIRE_CALL_STACKS, 0, sizeof(*r), seq, end);
	r->thread = ts->call.op.thread;
	r->call = ts->call.op.call;
	r->user = user;
	r->kernel = kernel;
	ring_commit(&at);
	return 0;
}

/* Whether a call that ends gets stacks. */
static __always_inline bool stacks_wanted(struct thread_state *ts, __s64 ret, __u64 end)
{
	if (stacks.of & WIRE_STACKS_ALL)
		return true;
	if ((stacks.of & WIRE_STACKS_FAILED) && ret < 0 && !is_restart(ret))
		return true;
	return (stacks.of & WIRE_STACKS_SLOW) && ts->call.op.start &&
	       end - ts->call.op.start >= stacks.slow_ns;
}

/* A successful execve has no stack: that of its program is gone. */
static __always_inline void stacks_take(struct thread_state *ts, struct wire_plan *p,
					struct pt_regs *regs, __s64 ret, __u64 end)
{
	if (!stacks.of || !stacks_wanted(ts, ret, end) || ((p->flags & WIRE_PLAN_EXEC) && ret >= 0))
		return;
#if defined(__TARGET_ARCH_x86)
	stacks_send(ts, regs->ip, regs->sp, regs->bp, end);
#else
	stacks_send(ts, regs->pc, regs->sp, regs->regs[29], end);
#endif
}

/* Before a thread makes a call: space for the kernel stacks of its sleeps. */
static __always_inline void stacks_enter(struct task_struct *task)
{
	if (stacks.of)
		bpf_task_storage_get(&sleeping, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
}
