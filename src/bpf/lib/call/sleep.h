/* SPDX-License-Identifier: GPL-2.0-only */
/* sleep.h: where in the kernel a thread slept during its call: written by stacks.bpf.c, read at the call's exit. */
#pragma once

#include "bpf/lib/thread/thread_state.h"

/* The kernel stacks of two sleeps: the longest so far, and the current one. */
struct sleeps {
	__u64 frames[2][WIRE_STACK_SLEEPS];
	__s32 bytes[2];	 /* what bpf_get_stack() returned */
	__u64 start;	 /* of the call they belong to */
	__u64 since;	 /* start of the current one, 0: none */
	__u64 longest;	 /* ns, of the longest */
	__u32 kept, pad; /* index of the longest */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sleeps);
} sleeping SEC(".maps");
