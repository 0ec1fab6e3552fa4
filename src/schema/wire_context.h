/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_context.h: the part of wire.h about what programs publish for others to read: their announcements, and the contexts
 * that their threads carry.
 */
#pragma once

#include "schema/wire.h"

/* What a program announced, by the name that it gave to its memory. */
enum wire_announce_kind {
	WIRE_ANNOUNCE_OTEL, /* "OTEL_CTX": a process context of OpenTelemetry */
	WIRE_ANNOUNCE_SPAN, /* "weir-span": rings of spans */
	WIRE_ANNOUNCE_KINDS,
	WIRE_ANNOUNCE_UNREAD = WIRE_ANNOUNCE_KINDS, /* the name is not in memory: it may be any */
};

/* A prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, addr, len, name) with one of these names, which the kernel may have refused. */
struct wire_announce {
	struct wire_head head;
	__u32 thread;
	__s32 tgid;
	__u64 process_start; /* as in struct wire_thread */
	__u64 addr, len;     /* as the program said */
	__u64 name;	     /* where the name is */
	__u32 kind;	     /* enum wire_announce_kind */
	__u32 pad;
};
_Static_assert(sizeof(struct wire_announce) == 64, "struct wire_announce");

/* Where a process has the thread-local variable by which it publishes contexts. */
struct wire_publisher {
	__u64 process_start;
	__s64 offset; /* from the thread's base, or with a module from where its block begins */
	__u32 module; /* 0: none */
	__u32 number; /* another one whenever this is set anew */
};

enum wire_context_flag {
	WIRE_CONTEXT_LOOP = 1 << 0, /* the thread was seen to wait for many with a context set */
	WIRE_CONTEXT_INHERITED = 1 << 2, /* this context was its parent's when it was forked */
	WIRE_CONTEXT_UNREAD = 1 << 1,	 /* the record could not be read, which was counted */
	WIRE_CONTEXT_OBI = 1 << 3, /* of the map that OpenTelemetry's eBPF instrumentation pins */
};

/* What that map holds, by bpf_get_current_pid_tgid(). */
#define WIRE_OBI_MAP "otel/traces_ctx_v1" /* where, in the file system of BPF */
struct wire_obi_context {
	__u64 ids[3]; /* as in struct wire_context */
};

/* A thread carries another context than at its last recorded call. */
struct wire_context {
	struct wire_head head; /* time: end of the call that carries it */
	__u64 start;	       /* of that call */
	__u64 until; /* the end of the last call that carried the context before; 0: there was none */
	__u64 ids[3]; /* of the trace, 16 bytes, and of the span; all 0: none */
	__u32 thread;
	__u32 flags; /* enum wire_context_flag */
};
_Static_assert(sizeof(struct wire_context) == 64, "struct wire_context");
