/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * announce.h: programs that publish data for other processes name its memory by prctl(PR_SET_VMA): contexts of
 * OpenTelemetry, rings of spans. The call is examined whatever it returned, as kernels without CONFIG_ANON_VMA_NAME
 * refuse it, and whatever operations are selected. The kernel does not read the name in a call that it refuses, so its
 * page may not be in memory yet: then the recorder reads it. Its plan has WIRE_PLAN_EVER, so that no other call pays
 * for this.
 */
#pragma once

#include "bpf/lib/ring.h"

#define OPTION_SET_VMA 0x53564d41	     /* PR_SET_VMA */
#define VMA_NAME       0		     /* PR_SET_VMA_ANON_NAME */
#define NAME_OTEL      0x5854435f4c45544full /* "OTEL_CTX", read as a little-endian number */
#define NAME_SPAN      0x6170732d72696577ull /* "weir-spa" */
#define NAME_SPAN_LAST 'n'

/* Which of the known names is at an address of the program; -1: none. */
static __always_inline int announce_kind(__u64 name)
{
	__u64 word = 0;
	char last = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)name))
		return name ? WIRE_ANNOUNCE_UNREAD : -1;
	if (word == NAME_OTEL)
		return WIRE_ANNOUNCE_OTEL;
	if (word == NAME_SPAN &&
	    !bpf_probe_read_user(&last, sizeof(last), (void *)(name + sizeof(word))) &&
	    last == NAME_SPAN_LAST)
		return WIRE_ANNOUNCE_SPAN;
	return -1;
}

/* The exit of a prctl of a recorded thread. */
static noinline void announce_exit(struct task_struct *task, struct thread_state *ts,
				   struct pt_regs *regs)
{
	struct wire_announce *r;
	struct ring_place p;
	__u32 seq, tgid;
	int kind;
	__u64 start;

	if (!task || !ts || !regs || (__u32)call_arg_at(regs, 0) != OPTION_SET_VMA ||
	    call_arg_at(regs, 1) != VMA_NAME)
		return;
	kind = announce_kind(call_arg_at(regs, 4));
	if (kind < 0)
		return;
	tgid = tgid_of(task);
	start = BPF_CORE_READ(task, group_leader, start_boottime);
	r = ring_take(&p, sizeof(*r), sizeof(*r), &seq);
	if (!r) {
		cpu_count(unsent);
		return;
	}
	head_fill(&r->head, WIRE_ANNOUNCE, 0, sizeof(*r), seq, bpf_ktime_get_ns());
	r->thread = ts->version;
	r->tgid = tgid;
	r->process_start = start;
	r->addr = call_arg_at(regs, 2);
	r->len = call_arg_at(regs, 3);
	r->name = call_arg_at(regs, 4);
	r->kind = kind;
	r->pad = 0;
	ring_commit(&p);
	bell_ring(); /* the process may end soon */
}
