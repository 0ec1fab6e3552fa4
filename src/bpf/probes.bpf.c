// SPDX-License-Identifier: GPL-2.0-only
/*
 * probes.bpf.c: threads that hit a probe in their program: the entry or return of a function, or a probe placed by the
 * program's author (USDT). The recorder interprets them (capture/ebpf/probes/probe_rows.h). The programs run for every
 * process that uses the file; an unrecorded one costs a look-up of its thread's storage.
 *
 * They may sleep (Linux 6.0): a string that is not in memory is paged in. Other programs may run on the CPU meanwhile,
 * so records go through the side ring. A thread without a call so far has no version, and is identified by its tid and
 * pid.
 */
#include "bpf/lib/state.h"
#include "schema/wire_probe.h"

#define BPF_USDT_MAX_SPEC_CNT 1024 /* locations: a probe may have many */
/* Its alternative for kernels without cookies, which are too old to be supported here, and what that needs. */
#define BPF_USDT_MAX_IP_CNT 1
#undef PT_REGS_IP
#define PT_REGS_IP(ctx) 0
#include <bpf/usdt.bpf.h>

char LICENSE[] SEC("license") = "GPL";

/* Set before loading. */
const volatile struct wire_probe_how hows[2 * WIRE_PROBE_SPANS] SEC(".rodata.probes") = {};

enum hit { HIT_ENTRY, HIT_RETURN, HIT_USDT };

#if defined(__TARGET_ARCH_x86)
#	define RETURNED 8 /* a return pops its address off the stack */

#	pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)
struct pt_regs___program {
	unsigned long di, si, dx, cx, r8, r9, ax, sp, ip;
};
#	pragma clang attribute pop

#	define REG(ctx, name) \
		kread_ptr((__u64)(ctx) + bpf_core_field_offset(struct pt_regs___program, name))
#	define STACK(ctx)  REG(ctx, sp)
#	define PLACE(ctx)  REG(ctx, ip)
#	define RESULT(ctx) REG(ctx, ax)

static __always_inline __u64 function_arg(void *ctx, __u32 number)
{
	switch (number) {
	case 0:
		return REG(ctx, di);
	case 1:
		return REG(ctx, si);
	case 2:
		return REG(ctx, dx);
	case 3:
		return REG(ctx, cx);
	case 4:
		return REG(ctx, r8);
	default:
		return REG(ctx, r9);
	}
}
#else
#	define RETURNED    0
#	define STACK(ctx)  kread(struct pt_regs, ctx, sp)
#	define PLACE(ctx)  kread(struct pt_regs, ctx, pc)
#	define RESULT(ctx) kread(struct pt_regs, ctx, regs[0])

static __always_inline __u64 function_arg(void *ctx, __u32 number)
{
	return kread_ptr((__u64)ctx + bpf_core_field_offset(struct pt_regs, regs) +
			 8 * (__u64)(number & 7));
}
#endif

static __always_inline bool probe_selected(struct task_struct *task, struct thread_state *ts)
{
	if (ts && ts->select_epoch == select_epoch)
		return ts->flags & THREAD_SELECTED;
	return selected(task, (__u64)task, false);
}

struct taken {
	struct pt_regs *ctx;
	__u64 index;
	__u64 values[WIRE_PROBE_ARGS];
	__u32 unread;
	__u32 hit; /* enum hit */
};

/* Reads the value of an argument, and the string that it points to. Nonzero: there are no more. */
static long value_take(__u32 i, struct taken *t)
{
	const volatile struct wire_probe_how *how = &hows[t->index & (2 * WIRE_PROBE_SPANS - 1)];
	__u32 number, type;
	long value = 0;
	char byte;

	if (i >= WIRE_PROBE_ARGS || i >= how->count)
		return 1;
	number = how->args[i].number;
	type = how->args[i].type;
	if (t->hit == HIT_USDT) {
		if (bpf_usdt_arg(t->ctx, number, &value)) {
			t->unread |= 1u << i;
			value = -1; /* do not read from a null pointer */
		}
	} else {
		value = t->hit == HIT_RETURN ? RESULT(t->ctx) : function_arg(t->ctx, number);
	}
	if (type == WIRE_PROBE_INT)
		value = (__s32)value;
	else if (type == WIRE_PROBE_STRING)
		bpf_copy_from_user(&byte, sizeof(byte), (void *)value);
	barrier_var(i); /* check and use must be adjacent for 6.1's verifier */
	if (i < WIRE_PROBE_ARGS)
		t->values[i] = value;
	return 0;
}

/* texts: the number of slots in the record, a constant. */
static __always_inline void probe_send(struct wire_probe *r, __u32 texts,
				       const volatile struct wire_probe_how *how, struct taken *t)
{
	r->head.parts = texts;
	r->unread = t->unread;
	r->cut = 0;
	__builtin_memcpy(r->values, t->values, sizeof(r->values));
	for (__u32 slot = 0; slot < texts; slot++) {
		char *text = (char *)(r + 1) + slot * WIRE_PROBE_TEXT;
		__u32 i = how->text_args[slot];
		char after = 0;
		__u64 from;
		long len;

		barrier_var(i);
		if (i >= WIRE_PROBE_ARGS)
			break;
		from = r->values[i];
		len = bpf_probe_read_user_str(text, WIRE_PROBE_TEXT, (void *)from);
		if (len <= 0)
			r->unread |= 1u << i;
		else
			r->values[i] = len - 1;
		if (len == WIRE_PROBE_TEXT &&
		    !bpf_probe_read_user(&after, 1, (void *)(from + len - 1)) && after)
			r->cut |= 1u << i;
	}
	side_commit(r);
}

static __always_inline int probe_hit(struct pt_regs *ctx, __u64 index, enum hit hit)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_state *ts = bpf_task_storage_get(&threads, task, 0, 0);
	const volatile struct wire_probe_how *how;
	__u64 now = bpf_ktime_get_ns();
	struct taken t = {.ctx = ctx, .hit = hit};
	struct wire_probe *r;
	__u32 texts;

	if (!select_epoch || shared.over || !probe_selected(task, ts))
		return 0;
	index &= 2 * WIRE_PROBE_SPANS - 1;
	how = &hows[index];
	t.index = index;
	if (how->count)
		bpf_loop(WIRE_PROBE_ARGS, value_take, &t, 0);
	texts = how->texts;
	if (!texts)
		r = side_take(WIRE_PROBE, sizeof(*r), now);
	else if (texts == 1)
		r = side_take(WIRE_PROBE, sizeof(*r) + WIRE_PROBE_TEXT, now);
	else
		r = side_take(WIRE_PROBE, sizeof(*r) + WIRE_PROBE_TEXTS * WIRE_PROBE_TEXT, now);
	if (!r)
		return 0;
	r->start = tread(struct task_struct, task, start_boottime);
	if (ts && thread_is_known(ts)) {
		r->thread = ts->version;
		r->tid = ts->tid;
		r->tgid = 0;
		r->process_start = 0;
	} else {
		r->thread = 0;
		r->tid = tid_of(task);
		r->tgid = tgid_of(task);
		r->process_start = BPF_CORE_READ(task, group_leader, start_boottime);
	}
	r->stack = STACK(ctx) - (hit == HIT_RETURN ? RETURNED : 0);
	r->place = PLACE(ctx);
	r->index = index;
	if (!texts)
		probe_send(r, 0, how, &t);
	else if (texts == 1)
		probe_send(r, 1, how, &t);
	else
		probe_send(r, WIRE_PROBE_TEXTS, how, &t);
	return 0;
}

SEC("uprobe.s")
int weir_probe_entry(struct pt_regs *ctx)
{
	return probe_hit(ctx, bpf_get_attach_cookie(ctx), HIT_ENTRY);
}

SEC("uretprobe.s")
int weir_probe_return(struct pt_regs *ctx)
{
	return probe_hit(ctx, bpf_get_attach_cookie(ctx), HIT_RETURN);
}

SEC("uprobe.s")
int weir_probe_usdt(struct pt_regs *ctx)
{
	return probe_hit(ctx, bpf_usdt_cookie(ctx), HIT_USDT);
}
