/* SPDX-License-Identifier: Apache-2.0 */
/*
 * wire_context.h: the part of wire.h about data that programs publish: their announcements, and the contexts that their
 * threads carry.
 */
#pragma once

#include "schema/wire.h"

/* What a program announced, by the name given to its memory. */
enum wire_announce_kind {
	WIRE_ANNOUNCE_OTEL, /* "OTEL_CTX": a process context of OpenTelemetry */
	WIRE_ANNOUNCE_SPAN, /* "weir-span": rings of spans */
	WIRE_ANNOUNCE_KINDS,
	WIRE_ANNOUNCE_UNREAD = WIRE_ANNOUNCE_KINDS, /* the name is not in memory: unknown */
};

/* A prctl(PR_SET_VMA, PR_SET_VMA_ANON_NAME, addr, len, name) with one of these names; the kernel may have refused it. */
struct wire_announce {
	struct wire_head head;
	__u32 thread;
	__s32 tgid;
	__u64 process_start; /* as in struct wire_thread */
	__u64 addr, len;     /* as passed by the program */
	__u64 name;	     /* address of the name */
	__u32 kind;	     /* enum wire_announce_kind */
	__u32 pad;
};
_Static_assert(sizeof(struct wire_announce) == 64, "struct wire_announce");

/* The thread-local variable through which a process publishes contexts. */
struct wire_publisher {
	__u64 process_start;
	__s64 offset; /* from the thread's base; with a module from the start of its block */
	__u32 module; /* 0: none */
	__u32 number; /* changes whenever this is set */
};

enum wire_context_flag {
	WIRE_CONTEXT_LOOP = 1 << 0,	 /* thread waited on many descriptors with a context set */
	WIRE_CONTEXT_INHERITED = 1 << 2, /* the context was inherited from the parent at fork */
	WIRE_CONTEXT_UNREAD = 1 << 1,	 /* the record could not be read, and was counted */
	WIRE_CONTEXT_OBI = 1 << 3, /* from the map pinned by OpenTelemetry's eBPF instrumentation */
};

/* The value of that map, by bpf_get_current_pid_tgid(). */
#define WIRE_OBI_MAP "otel/traces_ctx_v1" /* path in the BPF file system */
struct wire_obi_context {
	__u64 ids[3]; /* as in struct wire_context */
};

/* A thread carries a different context than at its last recorded call. */
struct wire_context {
	struct wire_head head; /* time: end of the call that carries the context */
	__u64 start;	       /* of that call */
	__u64 until;	       /* end of the last call that carried the previous context; 0: none */
	__u64 ids[3];	       /* trace id, 16 bytes, and span id; all 0: none */
	__u32 thread;
	__u32 flags; /* enum wire_context_flag */
};
_Static_assert(sizeof(struct wire_context) == 64, "struct wire_context");
