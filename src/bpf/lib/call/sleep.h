/* SPDX-License-Identifier: GPL-2.0-only */
/* sleep.h: where in the kernel a thread sleeps during its call: written by stacks.bpf.c, read at the call's exit. */
#pragma once

#include "bpf/lib/thread/thread_state.h"

/* The kernel stacks of two sleeps: that of the longest so far, and that of the present one. */
struct sleeps {
	__u64 frames[2][WIRE_STACK_SLEEPS];
	__s32 bytes[2];	 /* what bpf_get_stack() returned */
	__u64 start;	 /* of the call that they belong to */
	__u64 since;	 /* when the present one began, 0: none */
	__u64 longest;	 /* ns, of kept */
	__u32 kept, pad; /* which of the two is the longest */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sleeps);
} sleeping SEC(".maps");
