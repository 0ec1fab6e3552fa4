/* SPDX-License-Identifier: Apache-2.0 */
/* wire_probe.h: the part of wire.h about spans that begin and end at probes in programs (record --span). */
#pragma once

#include "schema/wire.h"

#define WIRE_PROBE_SPANS 64  /* a power of two */
#define WIRE_PROBE_ARGS	 6   /* of a probe, which become attributes */
#define WIRE_PROBE_TEXTS 4   /* at most this many of them strings */
#define WIRE_PROBE_TEXT	 512 /* bytes of a string, with its NUL */

enum wire_probe_type {
	WIRE_PROBE_NUMBER, /* as wide as declared by the probe */
	WIRE_PROBE_INT,	   /* the lower 32 bits, signed */
	WIRE_PROBE_STRING, /* address of a NUL-terminated string */
};

/* What is read at a probe; the first of a pair is the start of its span, the second the end. */
struct wire_probe_how {
	__u8 count;
	__u8 texts; /* how many of them are strings */
	struct {
		__u8 number; /* index of the argument: 0, 1, ... */
		__u8 type;   /* enum wire_probe_type */
	} args[WIRE_PROBE_ARGS];
	__u8 text_args[WIRE_PROBE_TEXTS]; /* which of them are strings; WIRE_PROBE_ARGS: no more */
};
_Static_assert(sizeof(struct wire_probe_how) == 18, "struct wire_probe_how");

/* A thread hit a probe. head.parts slots of WIRE_PROBE_TEXT bytes follow, one for each string in order. */
struct wire_probe {
	struct wire_head head;
	__u64 start;	     /* as in struct wire_thread */
	__u64 process_start; /* with tgid, as there; 0 if `thread` is known */
	__u64 stack;	     /* the stack pointer; at a return its value at the entry */
	__u64 place;	     /* the instruction pointer */
	__u32 thread;	     /* 0: no call of it was seen yet */
	__s32 tid, tgid;
	__u16 index; /* of struct wire_probe_how: twice that of the span, plus 1 at its end */
	__u8 unread; /* one bit for each value that could not be read, */
	__u8 cut;    /* and for each that was truncated */
	__u64 values[WIRE_PROBE_ARGS]; /* a string's length without NUL; if unread its address */
};
_Static_assert(sizeof(struct wire_probe) == 112, "struct wire_probe");
